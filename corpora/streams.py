"""Reading text files of any size and common compression, block by block."""

import codecs
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from topicmc.corpora.pipes import local, opened
from topicmc.errors import DataError
from topicmc.storage.files import unreadable

_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
# Far beyond any document; more would be a file that asks for all memory.
_MAX_LINE = 1 << 26
_MAX_HEADER = 1 << 20
_SEVEN_BIT = ("utf-7", "hz", "iso2022")  # all of it looks like ASCII
PDF = b"%PDF"
PARQUET = b"PAR1"
FROM_PDF = "extract its text first, for instance by pdftotext"
RTF = b"{\\rtf"
FROM_RTF = "save it as plain text (UTF-8)"
FROM_TAR = "unpack it first"
TO_LINE_FEEDS = "convert them to line feeds, for instance by tr '\\r' '\\n'"
IF_ONLY_RETURNS = f"if carriage returns end all lines, {TO_LINE_FEEDS}"
SUFFIXES = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zst": "zstd"}


def is_tar(head: bytes) -> bool:
    """Whether a file that begins so is a tar archive: it says so behind its first file's name."""
    return head[257:262] == b"ustar"


class CutShortError(DataError):
    """A compressed file that ends too early; what came before was sound."""


def require_file(path: Path) -> None:
    """Raises DataError when path is not a readable file."""
    if path.is_dir():
        raise DataError(f"{path} is a folder, where a file is needed")
    if not path.exists():
        raise DataError(f"{path} does not exist: check the name")


def compression(path: Path) -> str | None:
    """What the first bytes say; names may lie."""
    with local(path).open("rb") as file:
        head = file.read(6)
    return next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)


class Stream:
    """The decompressed bytes of a file: plain, gzip, bz2, xz or zstd, by content; in UTF-8, when
    the ``encoding`` that they are written in is given. A byte order mark at its start is dropped.

    Raises DataError when the file is missing, truncated, damaged or written in another encoding.
    """

    def __init__(self, path: Path, encoding: str | None = None) -> None:
        require_file(path)
        self.path = path
        self._ahead, self._at_start = b"", True
        self._decoder = codecs.getincrementaldecoder(encoding)() if encoding else None
        self._encoding, self._n_lines = encoding, 0
        self._raw: IO[bytes] | Any
        self._file: IO[bytes] | Any
        try:
            kind = compression(path)
            if kind in (None, "xz"):
                self._raw = local(path).open("rb")  # closed by close
                self._file = lzma.LZMAFile(self._raw) if kind else self._raw  # noqa: SIM115
            else:
                import pyarrow as pa

                self._raw = opened(path)
                self._file = pa.CompressedInputStream(self._raw, kind)
        except OSError as error:
            raise unreadable(path, error) from error

    @property
    def position(self) -> int:
        """Bytes of the file, as it lies on disk, that have been taken in."""
        return self._raw.tell()

    def read(self, size: int) -> bytes:
        """About size bytes, or what readline left; CutShortError where they end too early."""
        if self._ahead:
            ahead, self._ahead = self._ahead, b""
            return ahead
        text = self._next(size)
        if self._at_start:
            self._at_start = False
            text = text.removeprefix(codecs.BOM_UTF8) or self._next(size)
        return text

    def _next(self, size: int) -> bytes:
        if self._decoder is None:
            return self._read(size)
        text = b""
        while not text and (chunk := self._read(size)):
            text = self._decoded(chunk)
        return text or self._decoded(b"")

    def _decoded(self, chunk: bytes) -> bytes:
        assert self._decoder is not None
        try:
            text = self._decoder.decode(chunk, final=not chunk).encode()
        except UnicodeError as error:
            raise DataError(
                f"{self.path}, after line {self._n_lines}: not {self._encoding} "
                f"({reason(error)}); pass another --encoding"
            ) from error
        self._n_lines += text.count(b"\n")
        return text

    def _read(self, size: int) -> bytes:
        try:
            return self._file.read(size)
        except (OSError, EOFError, lzma.LZMAError) as error:
            if isinstance(error, OSError) and error.errno:
                raise unreadable(self.path, error) from error
            cut = isinstance(error, EOFError) or "truncated" in str(error).lower()
            raise (CutShortError if cut else DataError)(
                f"{self.path} is cut short or damaged ({reason(error)}): fetch it again"
            ) from error

    def read_all(self, limit: int) -> bytes:
        """The rest, if it is no more than limit bytes; else DataError."""
        parts: list[bytes] = []
        while chunk := self.read(1 << 20):
            parts.append(chunk)
            limit -= len(chunk)
            if limit < 0:
                raise DataError(f"{self.path} is too large for one document: split it")
        return b"".join(parts)

    def readline(self) -> bytes:
        """The next line with its end, for headers; the rest is kept for the next read."""
        line = b""
        while b"\n" not in line and (chunk := self.read(1 << 16)):
            line += chunk
            if len(line) > _MAX_HEADER:
                raise DataError(f"{self.path} has a header line without an end: check --format")
        line, end, self._ahead = line.partition(b"\n")
        return line + end

    def close(self) -> None:
        self._file.close()
        self._raw.close()

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def unless_utf8(path: Path, encoding: str | None) -> str | None:
    """The encoding, but None, which is UTF-8, where a file can be read as that: text in another
    encoding that is not ASCII can hardly be. Raises DataError as `Stream` does."""
    if encoding is None or encoding.startswith(_SEVEN_BIT):
        return encoding
    decoder = codecs.getincrementaldecoder("utf-8")()
    with Stream(path) as stream:
        while chunk := stream.read(1 << 20):
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError:
                return encoding
            if b"\0" in chunk:  # half of a UTF-16 letter
                return encoding
    return encoding if decoder.getstate()[0] else None


def reason(error: Exception) -> str:
    """The first line of what a library says of an error, without full stop."""
    said = str(error).strip()
    return said.splitlines()[0].rstrip(".") if said else "unexpected end"


def line_blocks(stream: Stream, size: int = 1 << 23) -> Iterator[bytes]:
    """Blocks of whole lines, about ``size`` bytes each; the last line may lack its newline.
    DataError at a line of more than 64 MiB."""
    rest: list[bytes] = []
    n_rest = 0
    while chunk := stream.read(size):
        cut = chunk.rfind(b"\n") + 1
        if cut:
            yield b"".join([*rest, chunk[:cut]])
            rest, n_rest = [], 0
        rest.append(chunk[cut:])
        n_rest += len(rest[-1])
        if n_rest > _MAX_LINE:
            raise DataError(
                f"{stream.path} has a line of more than {_MAX_LINE >> 20} MiB: check --format, or "
                "split its documents over lines"
            )
    if n_rest:
        yield b"".join(rest)


def numbered_lines(stream: Stream, advice: str | None = None) -> Iterator[tuple[int, str]]:
    """Line numbers from 1 and lines without their ends; DataError names a line not in UTF-8, and
    gives ``advice``, by default on --encoding."""
    number = 0
    for block in line_blocks(stream, 1 << 20):
        lines = block.split(b"\n")
        if block.endswith(b"\n"):
            lines.pop()
        for line in lines:
            number += 1
            yield number, decode(line, stream.path, number, advice).rstrip("\r")


def decode(line: bytes, path: Path, number: int, advice: str | None = None) -> str:
    """A line as text. DataError names path and line."""
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}, line {number}: not UTF-8 text (byte {error.start + 1}); "
            f"{advice or _advice(line, path, number)}"
        ) from error


def _advice(line: bytes, path: Path, number: int) -> str:
    """What to do about a line that is not UTF-8."""
    if number == 1 and line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "pass --encoding utf-16"
    with local(path).open("rb") as file:
        if file.read(len(PDF)) == PDF:
            return f"this is a PDF, so {FROM_PDF}"
    if b"\0" in line:
        return "pass --encoding utf-16-le if it is UTF-16, else it does not look like text"
    return "pass --encoding cp1252, if it is Western European text, or what it is in"
