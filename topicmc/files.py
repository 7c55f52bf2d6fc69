"""Writing files so that a reader sees the old content or the new one, never half of either."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from topicmc.errors import DataError, TopicmcError


@contextmanager
def replacing(path: Path, mode: str = "w") -> Iterator[IO[Any]]:
    """A file that takes the place of ``path`` when the block ends, and vanishes if it fails."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    encoding = None if "b" in mode else "utf-8"
    with speaking_of(path):
        try:
            with temporary.open(mode, encoding=encoding) as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(path)
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


def remove_temporaries(folder: Path) -> None:
    """Deletes what writers that were killed have left in a folder and those below it."""
    for path in folder.rglob(".*.tmp"):
        path.unlink(missing_ok=True)


@contextmanager
def speaking_of(path: Path) -> Iterator[None]:
    """Turns the operating system's refusal to write ``path`` into a sentence for people."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DataError(f"{path}: no space left on the disk; free some and run again") from None
        raise TopicmcError(f"{path}: cannot be written ({error.strerror or error})") from None


def write_json(path: Path, value: Any) -> None:
    """Writes ``value`` as indented JSON, atomically."""
    with replacing(path) as stream:
        json.dump(value, stream, indent=2, ensure_ascii=False)
        stream.write("\n")


def read_json(path: Path, **expected: type) -> Any:
    """The content of a JSON file; DataError when it is missing or not JSON, or when it is not an
    object that holds the ``expected`` names with values of these types."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; check the path, or restore it") from None
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read as JSON ({error}); restore or remake it") from None
    for name, kind in expected.items():
        if not isinstance(value, dict) or not isinstance(value.get(name), kind):
            raise DataError(f"{path}: damaged, it has no {name!r}; restore or remake it")
    return value


def own_checksum(record: Mapping[str, Any]) -> str:
    """SHA-256 of a JSON object without its field ``checksum``, in hexadecimal digits."""
    rest = {key: value for key, value in record.items() if key != "checksum"}
    canonical = json.dumps(rest, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def write_array(path: Path, array: np.ndarray) -> str:
    """Writes a ``.npy`` file, atomically, and returns its checksum."""
    with replacing(path, "wb") as stream:
        save_array(stream, array)
    return checksum(path)


def save_array(stream: IO[bytes], array: np.ndarray) -> None:
    """np.save, but for the reason why a write fails, which that one loses."""
    array = np.ascontiguousarray(array)
    npy.write_array_header_1_0(stream, npy.header_data_from_array_1_0(array))
    stream.write(array.data)


def read_array(path: Path, expected: str | None = None, mmap: bool = False) -> np.ndarray:
    """A ``.npy`` array; DataError when it is missing, damaged or fails its checksum."""
    if not path.is_file():
        raise DataError(f"{path}: no such file; check the path, or restore it")
    if expected is not None and checksum(path) != expected:
        raise DataError(f"{path}: damaged, its checksum is wrong; restore or remake it")
    try:
        return np.load(path, mmap_mode="r" if mmap else None, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"{path}: not a readable .npy array ({error})") from None


def checksum(path: Path) -> str:
    """``sha256:…`` of a file's bytes."""
    with path.open("rb") as stream:
        return "sha256:" + hashlib.file_digest(stream, "sha256").hexdigest()
