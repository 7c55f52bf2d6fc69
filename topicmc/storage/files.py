"""Writing files so that a reader sees the old content or the new one, never half of either."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import shutil
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, Any, Self

from topicmc.errors import DataError, TopicmcError, UsageError, is_full

MOST_TEXT = 1 << 30


@contextmanager
def atomic_write(path: Path, mode: str = "w") -> Iterator[IO[Any]]:
    """`raw_atomic_write`, with a sentence for people when the system refuses."""
    with user_errors_for(path), raw_atomic_write(path, mode) as stream:
        yield stream


@contextmanager
def raw_atomic_write(path: Path, mode: str = "w") -> Iterator[IO[Any]]:
    """A file that takes the place of ``path`` when the block ends, and vanishes if it fails. Then
    its bytes and its name have been handed to the disk. Raises OSError."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    text: dict[str, Any] = {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}
    try:
        temporary.unlink(missing_ok=True)
        with temporary.open(mode.replace("w", "x"), **text) as stream:  # follows no link
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        put_in_place(temporary, path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextmanager
def new_file(path: Path, mode: str = "w", *, force: bool = False) -> Iterator[IO[Any]]:
    """`atomic_write` of a file that people ask for: folders are made as needed, and go again if the
    block fails. UsageError where, without ``force``, a file is there by the end: it stays."""
    made = [folder for folder in path.parents if not folder.exists()]
    try:
        with user_errors_for(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path, mode) as stream:
            yield stream
            _check_free(path, force)
    except BaseException:
        for folder in made:
            with suppress(OSError):
                folder.rmdir()
        raise


@contextmanager
def temporary_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """A new folder in ``parent`` that is gone when the block ends, however it ends. Raises OSError.

    It is named before it is made, so that a signal that raises leaves none; one that arrives within
    `tempfile.mkdtemp` does.
    """
    folder = parent / f"{prefix}{secrets.token_hex(8)}"
    try:
        folder.mkdir(0o700)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def read_text(path: Path, option: str) -> str:
    """A file in UTF-8 that an option names; DataError when it is none, or too large to be one that
    people write."""
    where = f"{option} {path}"
    if not path.is_file():  # pipes and devices may never end
        if path.exists() and not path.is_dir():
            raise DataError(f"{where}: is a pipe or a device; save what it gives as a file")
        what = "is a folder" if path.is_dir() else "no such file"
        raise DataError(f"{where}: {what}; check the path")
    try:
        if path.stat().st_size > MOST_TEXT:
            raise DataError(f"{where}: is larger than {MOST_TEXT >> 20} MB; give a smaller file")
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(f"{where}: is no text in UTF-8; save it so") from None
    except OSError as error:
        raise DataError(f"{where}: cannot be read ({error.strerror}); check the path") from None


def check_new_file(path: Path, endings: Collection[str], force: bool = False) -> None:
    """UsageError where a file must not be written: a folder is there, its name ends otherwise, or,
    without ``force``, a file is there. TopicmcError where none can be, also in folders yet to be
    made. For whoever would otherwise find out after long work."""
    if path.is_dir():
        raise UsageError(f"-o {path}: is a folder; give the name of a file in it")
    if path.suffix.lower() not in endings:
        raise UsageError(f"-o {path}: the name must end in {' or '.join(endings)}")
    _check_free(path, force)
    with user_errors_for(path):
        folder = next(folder for folder in path.parents if folder.exists())
        temporary = folder / f".{path.name}.{os.getpid()}.tmp"
        temporary.unlink(missing_ok=True)
        temporary.touch(exist_ok=False)  # follows no link
        temporary.unlink()


def _check_free(path: Path, force: bool) -> None:
    if path.exists() and not force:
        raise UsageError(f"{path}: exists already; add --force to overwrite it, or give another -o")


def real_path(path: Path) -> Path:
    """As `Path.resolve`, which before Python 3.13 raises RuntimeError at a circle of links."""
    return Path(os.path.realpath(path))


def check_elsewhere(folder: Path) -> None:
    """UsageError where a folder that is to be replaced is or holds the current one, which would be
    no more."""
    here = Path.cwd()
    if real_path(folder) in (here, *here.parents):
        raise UsageError(
            f"{folder}: is or holds the folder that you are in, and would be replaced: go to"
            " another folder, and name it from there"
        )


def check_no_source(path: Path, sources: Iterable[Path]) -> None:
    """UsageError where what is to be written is one of the files and folders that are read for it,
    or lies in one: the next time it would be read, too."""
    for source in sources:
        place, read = real_path(path), real_path(source)
        there, held = _status(path), _status(source)
        if place == read or (there and held and os.path.samestat(there, held)):
            raise UsageError(f"-o {path}: is what is read, and would be lost; give another -o")
        inside = place.parts[len(read.parts) :]
        hidden = any(part.startswith(".") for part in inside)  # and never read
        is_folder = held is not None and stat.S_ISDIR(held.st_mode)
        if is_folder and read in place.parents and not hidden:
            raise UsageError(f"{path}: lies in {source}, whose files are read; write elsewhere")


def is_file(path: Path) -> bool:
    """Whether a file is there, and may be looked at; where not, or a name is too long,
    `Path.is_file` raises."""
    held = _status(path)
    return held is not None and stat.S_ISREG(held.st_mode)


def _status(path: Path) -> os.stat_result | None:
    """None where nothing is, or nobody may look: a run may name the corpus of someone else."""
    with suppress(OSError, ValueError):
        return path.stat()
    return None


def put_in_place(temporary: Path, place: Path) -> None:
    """Renames, and has the disk keep the new name. What is inside has been synced before."""
    temporary.replace(place)
    sync_folder(place.parent)


def sync_file(path: Path) -> None:
    """Has the disk keep the bytes of a file."""
    with path.open("rb") as stream:
        os.fsync(stream.fileno())


def sync_folder(folder: Path) -> None:
    """Has the disk keep the names in a folder, where the file system can."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EPERM):
            raise


def sync_tree(folder: Path) -> None:
    """Has the disk keep all files below a folder, and their names."""
    for name, _, files in os.walk(folder, topdown=False):
        for file in files:
            sync_file(Path(name) / file)
        sync_folder(Path(name))


@contextmanager
def user_errors_for(path: Path) -> Iterator[None]:
    """Turns the operating system's refusal to write ``path`` into a sentence for people."""
    try:
        yield
    except OSError as error:
        if is_full(error):
            raise DataError(f"{path}: no space left on the disk; free some and run again") from None
        raise TopicmcError(f"{path}: cannot be written ({error.strerror or error})") from None


def write_json(path: Path, value: Any, indent: int | None = 2) -> None:
    """Writes ``value`` as JSON, atomically: indented for people, or with None in one line, which is
    faster and takes less memory."""
    text = json.dumps(value, indent=indent, ensure_ascii=False) + "\n"
    with atomic_write(path, "wb") as stream:
        # Names of files may hold what UTF-8 cannot write; the escapes are those of JSON.
        stream.write(text.encode("utf-8", "backslashreplace"))


class JsonObject(dict[str, Any]):
    """An object of a JSON file; what it lacks is a DataError."""

    path: Path | None = None  # of the file

    @classmethod
    def of(cls, path: Path, fields: Mapping[str, Any]) -> Self:
        """One of a file, with these fields."""
        made = cls(fields)
        made.path = path
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)  # pickles and copies are plain, and name no file

    def __missing__(self, name: str) -> Any:
        raise DataError(f"{self.path}: damaged, it has no {name!r}; restore or remake it")


def read_json(path: Path, **expected: type) -> Any:
    """The content of a JSON file; DataError when it is missing or not JSON, or when it is not an
    object that holds the ``expected`` names with values of these types. Its objects are
    `JsonObject`s."""
    try:
        if path.exists() and not path.is_file():  # pipes and devices may never end
            raise DataError(f"{path}: is no file; restore or remake it")
        hook = partial(JsonObject.of, path)
        value = json.loads(path.read_text(encoding="utf-8-sig"), object_hook=hook)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; check the path, or restore it") from None
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path}: cannot be read as JSON ({error}); restore or remake it") from None
    for name, kind in expected.items():
        if not isinstance(value, dict) or not isinstance(value.get(name), kind):
            raise DataError(f"{path}: damaged, it has no {name!r}; restore or remake it")
    return value


def write_words(path: Path, words: Iterable[str]) -> str:
    """Writes a word a line, in UTF-8, atomically, and returns the checksum. Raises OSError."""
    with raw_atomic_write(path) as stream:
        stream.writelines(f"{word}\n" for word in words)
    return checksum(path)


def read_words(path: Path, expected: str | None, n_words: int | None) -> list[str]:
    """The words of a run by the lines of a file, so many where ``n_words`` is given; DataError when
    it is missing, or holds something else."""
    with suppress(OSError, DataError, UnicodeDecodeError):
        if checksum(path) == expected:
            words = path.read_bytes().decode().split("\n")[:-1]  # words may hold other line ends
            if n_words in (None, len(words)):
                return words
    raise DataError(f"{path}: missing or damaged; copy {path.name} from the corpus of the run")


def own_checksum(record: Mapping[str, Any]) -> str:
    """SHA-256 of a JSON object without its field ``checksum``, in hexadecimal digits."""
    rest = {key: value for key, value in record.items() if key != "checksum"}
    canonical = json.dumps(rest, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def read_back(path: Path, expected: str) -> None:
    """Reads a file back, from the disk where the system allows it; DataError where it cannot be
    read, or its checksum is another."""
    if hasattr(os, "posix_fadvise"):
        with suppress(OSError), path.open("rb") as stream:
            os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    if checksum(path) != expected:
        raise DataError(
            f"{path}: what was read back is not what was written; the disk is failing, so write to"
            " another"
        )


def checksum(path: Path) -> str:
    """``sha256:…`` of a file's bytes; DataError when it cannot be read."""
    try:
        with path.open("rb") as stream:
            return "sha256:" + hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise unreadable(path, error) from None


def unreadable(path: Path, error: OSError) -> DataError:
    """What is to be said of a file that the system does not let be read."""
    reason = os.strerror(error.errno) if error.errno else error  # PyArrow names the file there
    return DataError(f"{path}: cannot be read ({reason}); check the disk, and who may read")


def within(folder: Path, path: Path) -> Path:
    """``path``; DataError when it leaves the folder, for instance by a symbolic link."""
    if not real_path(path).is_relative_to(real_path(folder)):
        raise DataError(f"{path}: leads out of {folder}; put the file itself there")
    return path
