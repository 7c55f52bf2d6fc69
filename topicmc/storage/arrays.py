"""Arrays on disk, .npy and .npz: checked before memory is taken for them."""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile

import numpy as np
from numpy.lib import format as npy

from topicmc.errors import DataError
from topicmc.storage.files import atomic_write, checksum

_HEADERS = threading.Lock()
"""NumPy parses a header as Python. CPython counts the depth of that for all threads together, and
two that parse at once may end in a SystemError (python/cpython#106905)."""


def write_array(path: Path, array: np.ndarray) -> str:
    """Writes a ``.npy`` file, atomically, and returns the checksum of what was to be written."""
    with atomic_write(path, "wb") as stream:
        hashed = _Hashed(stream)
        save_array(hashed, array)
    return hashed.checksum


class _Hashed:
    """A file whose bytes are summed on their way."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._sum = stream, hashlib.sha256()

    def write(self, data: Any) -> None:
        self._sum.update(data)
        self._stream.write(data)

    @property
    def checksum(self) -> str:
        return f"sha256:{self._sum.hexdigest()}"


def save_array(stream: Any, array: np.ndarray) -> None:
    """As np.save, but a write that fails keeps its reason."""
    array = np.ascontiguousarray(array)
    npy.write_array_header_1_0(stream, npy.header_data_from_array_1_0(array))
    stream.write(array.data)


class GrowingArray:
    """A .npy array in a stream, of ``size`` rows so far; `finish` sets its header right.

    NumPy pads the header, so that a longer first axis fits into the same bytes.
    """

    def __init__(
        self, stream: IO[bytes], dtype: np.typing.DTypeLike, row: tuple[int, ...] = ()
    ) -> None:
        self.dtype = np.dtype(dtype)
        self.size = 0
        self._stream, self._row = stream, row
        self._write_header()

    def append(self, values: np.ndarray) -> None:
        """Adds rows, (n, *row), in the type of the array."""
        values = np.ascontiguousarray(values, dtype=self.dtype)
        self._stream.write(values.view(np.uint8).data)  # dates lend no buffer of their own
        self.size += len(values)

    def finish(self) -> None:
        """Writes how long it has become; the stream stays open."""
        self._stream.seek(0)
        self._write_header()

    def _write_header(self) -> None:
        descr = npy.dtype_to_descr(self.dtype)
        header = {"descr": descr, "fortran_order": False, "shape": (self.size, *self._row)}
        npy.write_array_header_1_0(self._stream, header)


def read_array(path: Path, expected: str | None = None, mmap: bool = False) -> np.ndarray:
    """A ``.npy`` array; DataError when it is missing, damaged or fails its checksum."""
    _check(path, expected)
    try:
        return load_array(path, mmap)
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: not a readable .npy array ({error})") from None


def _check(path: Path, expected: str | None) -> None:
    if not path.is_file():
        raise DataError(f"{path}: no such file; check the path, or restore it")
    if expected is not None and checksum(path) != expected:
        raise DataError(f"{path}: damaged, its checksum is wrong; restore or remake it")


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> str:
    """Writes a ``.npz`` file, atomically, and returns its checksum; equal arrays, equal bytes."""
    with atomic_write(path, "wb") as stream:
        np.savez(stream, allow_pickle=False, **arrays)
    return checksum(path)


def read_arrays(path: Path, expected: str) -> dict[str, np.ndarray]:
    """The arrays of a ``.npz`` file; DataError when it is missing or fails its checksum."""
    _check(path, expected)
    try:
        with _HEADERS, ZipFile(path) as archive:
            members = archive.infolist()
            packed = any(member.compress_type != ZIP_STORED for member in members)
            if packed or sum(member.file_size for member in members) > path.stat().st_size:
                raise ValueError("it unfolds to more than the file holds")
            for member in members:
                with archive.open(member) as stream:
                    _check_header(stream, member.file_size)
        with _HEADERS, np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (OSError, ValueError, EOFError, BadZipFile, RuntimeError) as error:
        raise DataError(f"{path}: not a readable .npz file ({error})") from None


def load_array(path: Path, mmap: bool) -> np.ndarray:
    """np.load of a ``.npy`` file that holds what its header claims. Raises OSError, ValueError."""
    with _HEADERS, path.open("rb") as stream:
        _check_header(stream, path.stat().st_size)
        return np.load(path, mmap_mode="r" if mmap else None, allow_pickle=False)


def _check_header(stream: IO[bytes], size: int) -> None:
    """ValueError unless a ``.npy`` file of so many bytes holds what its header claims: else a few
    bytes could have any amount of memory allocated."""
    try:
        version = npy.read_magic(stream)
        read = npy.read_array_header_1_0 if version[0] == 1 else npy.read_array_header_2_0
        shape, _, dtype = read(stream)
    except Exception as error:  # whatever NumPy's parser meets
        raise ValueError(f"no header: {error}") from None
    if any(n < 0 for n in shape):
        raise ValueError(f"its shape is {shape}")
    promised = stream.tell() + math.prod(map(int, shape)) * dtype.itemsize
    if dtype.hasobject or promised > size:
        raise ValueError("objects" if dtype.hasobject else "shorter than its header says")
