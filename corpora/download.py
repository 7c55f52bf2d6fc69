"""Downloading files so that they are whole or absent, and go on where they stopped.

A file grows under the name ``….part``, beside which ``….part.json`` notes of which version of the
remote file it is a part. It takes its own name only when its length, its checksum (where the source
publishes one) and the checksums inside compressed files are right.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import re
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from topicmc.corpora.streams import SUFFIXES, Stream, compression
from topicmc.errors import DataError, TopicmcError, UsageError, is_full
from topicmc.host.version import VERSION
from topicmc.storage.files import put_in_place, sync_file

Progress = Callable[[str, int, int | None], None]  # file, bytes so far, bytes in all

TIMEOUT = 60.0  # seconds without a byte
_CHUNK = 1 << 18
_SMALL = 1 << 22
_ATTEMPTS = 6  # in a row that bring nothing
_QUESTIONS = 3
_PAUSE = 1.0  # seconds before the second attempt, doubled each time
# What a connection that breaks looks like from here.
_CUT = (OSError, http.client.HTTPException, ValueError)  # the last at a redirect to no address


@dataclass(frozen=True)
class RemoteFile:
    """``checksum`` is ``algorithm:hex digits``, or None where the source publishes none."""

    url: str
    name: str
    checksum: str | None = None


class _Refused(Exception):
    """The server answered, but not with the file: trying again may help (``transient``) or not."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(f"HTTP {status} {reason}".strip())
        self.status = status
        self.transient = status >= 500 or status in (408, 425, 429)


def remote_size(file: RemoteFile) -> int | None:
    """Bytes of the file, when the server says so beforehand."""
    with _user_errors_for(file.url):
        try:
            response = _with_retries(lambda: _open(file.url, method="HEAD"))
        except _Refused as error:
            if error.status in (403, 405, 501):  # some servers answer to GET only
                return None
            raise
        with response:
            return _length(response.headers.get("Content-Length"))


def read_small(url: str) -> bytes:
    """A file of at most 4 MiB, in memory."""

    def read() -> bytes:
        with _open(url) as response:
            return response.read(_SMALL + 1)

    with _user_errors_for(url):
        body = _with_retries(read)
    if len(body) > _SMALL:
        raise DataError(f"{url} is too large for a list of checksums: check the address")
    return body


def download(
    file: RemoteFile, folder: Path, *, force: bool = False, progress: Progress | None = None
) -> Path:
    """Brings a file into folder, or goes on with what an earlier attempt left there.

    A whole file that is there already is checked and kept, or fetched anew with ``force``. Raises
    TopicmcError when the network fails (what came stays, for the next time) or the folder cannot be
    written, DataError when what came is wrong (it is removed) or the disk is full.
    """
    target = folder / file.name
    if target.exists() and not force:
        _check_existing(file, target)
        return target
    part = _Part(target)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _user_errors_for(file.url):
            _fill(file, part, progress or (lambda *_: None))
        try:
            _check(file, part.path)
        except DataError:
            part.remove()
            raise
        part.finish()
    except OSError as error:
        if is_full(error):
            raise DataError(
                f"No space left for {target}: free some and run the same command, which goes on"
            ) from error
        raise TopicmcError(f"{error.filename or target}: {error.strerror or error}") from error
    return target


class _Part:
    """The part of a file that is there, and the version of the remote file it belongs to."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.path = target.with_name(target.name + ".part")
        self.note = target.with_name(target.name + ".part.json")

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path.is_file() else 0

    def origin(self) -> dict[str, Any]:
        """``url`` and ``validator`` (an ETag or a date) of what is there; {} where they are not
        known."""
        try:
            note = json.loads(self.note.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        validator = note.get("validator") if isinstance(note, dict) else None
        fits = isinstance(validator, str) and validator.isascii() and validator.isprintable()
        return note if fits else {}

    def begin(self, url: str, validator: str | None) -> None:
        self.path.write_bytes(b"")
        with _naming(self.note):
            self.note.write_text(json.dumps({"url": url, "validator": validator}), encoding="utf-8")

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)
        self.note.unlink(missing_ok=True)

    def finish(self) -> None:
        sync_file(self.path)
        put_in_place(self.path, self.target)
        self.note.unlink(missing_ok=True)


def _fill(file: RemoteFile, part: _Part, progress: Progress) -> None:
    """Until the part is whole; each connection goes on where the last one broke off."""
    idle = 0
    while True:
        before = part.size
        try:
            if _receive(file, part, progress):
                return
            reason: Exception = ConnectionError("the connection broke off")
        except _Refused as error:
            if not error.transient:
                raise
            reason = error
        except _CUT as error:
            if _is_of_disk(error):
                raise
            reason = error
        idle = 0 if part.size > before else idle + 1
        if idle == _ATTEMPTS:
            raise reason
        time.sleep(_PAUSE * 2**idle / 2 if idle else 0)


def _receive(file: RemoteFile, part: _Part, progress: Progress) -> bool:
    """One connection; returns whether the part is whole now."""
    origin = part.origin()
    start = part.size if origin.get("url") == file.url and origin.get("validator") else 0
    headers = {}
    if start:
        headers = {"Range": f"bytes={start}-", "If-Range": origin["validator"]}
    with _open(file.url, headers=headers) as response:
        total = to_come = _length(response.headers.get("Content-Length"))
        if response.status == 206:
            match = re.fullmatch(
                r"bytes ([0-9]+)-[0-9]+/([0-9]+|\*)", response.headers["Content-Range"] or ""
            )
            if not match or _length(match[1]) != start:
                part.remove()
                return False
            total = _length(match[2])
            if total is None and to_come is not None:
                total = start + to_come
        elif response.status == 416:
            # Whole already, or no part of the file that is there now.
            whole = f"bytes */{start}" == response.headers.get("Content-Range")
            if not whole:
                part.remove()
            return whole
        else:
            # A changed file, or a server that knows no ranges: from the start.
            start = 0
            part.begin(file.url, _validator(response))
        _check_space(part.path, total, start)
        with part.path.open("ab", buffering=0) as out:
            while chunk := response.read(_CHUNK):
                start += len(chunk)
                with _naming(part.path):
                    while chunk:
                        chunk = chunk[out.write(chunk) :]
                progress(file.name, start, total)
    return total is None or part.size == total  # another process may have added to it


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Has the disk's refusal to write a file name it; those of the network name none."""
    try:
        yield
    except OSError as error:
        error.filename = str(path)
        raise


def _is_of_disk(error: Exception) -> bool:
    return isinstance(error, OSError) and error.filename is not None


def _validator(response: Any) -> str | None:
    """A strong ETag, else the date of the last change (RFC 9110, section 13.1.5)."""
    tag = response.headers.get("ETag")
    if tag and not tag.startswith("W/"):
        return tag
    return response.headers.get("Last-Modified")


def _open(url: str, method: str = "GET", headers: dict[str, str] | None = None) -> Any:
    """The response: 200, 206, or 416 to a range. Raises _Refused for any other."""
    own = {"User-Agent": f"topicmc/{VERSION}", "Accept-Encoding": "identity"}
    request = urllib.request.Request(url, method=method, headers=own | (headers or {}))
    try:
        response = urllib.request.build_opener(_ToHttp).open(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code == 416 and headers:
            return error
        with error:
            raise _Refused(error.code, error.reason) from None
    if response.status not in ((200, 206) if headers else (200,)):
        with response:
            raise _Refused(response.status, response.reason)
    return response


class _ToHttp(urllib.request.HTTPRedirectHandler):
    """Follows redirects, but none to FTP, whose answers have no status."""

    def redirect_request(self, *told: Any) -> urllib.request.Request | None:
        *_, url = told
        return None if url.startswith("ftp:") else super().redirect_request(*told)


def _with_retries(ask: Callable[[], Any]) -> Any:
    """The answer, asked for several times if need be; people wait for it."""
    for attempt in range(_QUESTIONS):
        try:
            return ask()
        except _Refused as error:
            if not error.transient or attempt == _QUESTIONS - 1:
                raise
        except _CUT:
            if attempt == _QUESTIONS - 1:
                raise
        time.sleep(_PAUSE * 2**attempt)
    raise AssertionError


@contextmanager
def _user_errors_for(url: str) -> Iterator[None]:
    """Failures of the network as sentences for people; those of the disk pass."""
    try:
        yield
    except _Refused as error:
        wait = "try again later" if error.transient else "check the name, --date or --mirror"
        raise TopicmcError(f"{url}: the server says {error}; {wait}") from error
    except _CUT as error:
        if _is_of_disk(error):
            raise
        reason = getattr(error, "reason", error)
        reason = getattr(reason, "strerror", None) or str(reason) or type(error).__name__
        raise TopicmcError(
            f"{url}: {str(reason).strip().rstrip('.')}; check the network and run the same command "
            "again, which goes on where this one stopped"
        ) from error


def _length(text: str | None) -> int | None:
    return int(text) if text and re.fullmatch(r"[0-9]{1,18}", text) else None


def _check_space(path: Path, total: int | None, start: int) -> None:
    free = shutil.disk_usage(path.parent).free
    if total is not None and total - start > free:
        raise DataError(
            f"{path.parent} has {free / 1e9:.1f} GB free, {(total - start) / 1e9:.1f} GB are to "
            "come: free some or choose another folder with -o"
        )


def _check_existing(file: RemoteFile, target: Path) -> None:
    try:
        _check(file, target)
    except DataError as error:
        raise UsageError(
            f"{target} exists and is not the file that would be fetched: move it away, or replace "
            "it by --force"
        ) from error


def _check(file: RemoteFile, path: Path) -> None:
    """DataError unless the bytes are what was promised."""
    if file.checksum is not None:
        algorithm, _, digits = file.checksum.partition(":")
        with path.open("rb") as stream:
            found = hashlib.file_digest(stream, algorithm).hexdigest()
        if found != digits.lower():
            raise DataError(
                f"{file.url}: the {algorithm} of what came is {found}, the source says {digits}; "
                "it was removed, fetch it again or from another mirror"
            )
        return
    if path.stat().st_size == 0:
        raise DataError(f"{file.url} is empty: fetch it from another mirror")
    wanted = SUFFIXES.get(Path(file.name).suffix)
    if wanted is None:
        return
    if compression(path) != wanted:
        raise DataError(f"{file.url}: what came is not {wanted}; fetch it from another mirror")
    try:
        with Stream(path) as stream:
            while stream.read(1 << 20):
                pass
    except DataError as error:
        raise DataError(
            f"{file.url}: what came is damaged {wanted}; it was removed, fetch it again or from "
            "another mirror"
        ) from error
