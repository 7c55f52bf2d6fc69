"""SciPy CSR matrices saved by ``scipy.sparse.save_npz``: rows are documents, columns are words."""

import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from tokenize import TokenError
from typing import IO

import numpy as np
from numpy.lib import format as npy

from topicmc.corpora.documents import Documents
from topicmc.corpora.pipes import local
from topicmc.corpora.readers import Tally
from topicmc.corpora.readers.fields import MAX_COUNT, MAX_ENTRIES, documents_of
from topicmc.corpora.streams import reason, require_file
from topicmc.errors import DataError
from topicmc.storage.files import unreadable

_BLOCK_ENTRIES = 1 << 20
_MAX_WHOLE = 1 << 30  # bytes of indptr: 134 million documents
_MAX_TOLD = 1 << 12  # bytes of what says of which kind and shape a matrix is
# What zipfile, zlib and numpy raise at broken archives: encrypted or patched members, headers that
# are no Python literal or ask for more memory than there is, and plain short reads.
DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    KeyError,
    IndexError,
    TypeError,
    ValueError,
    OverflowError,
    RuntimeError,
    MemoryError,
    SyntaxError,
    TokenError,
    lzma.LZMAError,
)


class NpzReader:
    """Streams the members of the archive side by side, so that the matrix never is in memory.

    ``scipy.sparse.load_npz`` would load all of it. No member is unpickled.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def blocks(self, n_words: int, tally: Tally) -> Iterator[Documents]:
        require_file(self.path)
        try:
            with zipfile.ZipFile(local(self.path)) as archive:
                indptr = self._indptr(archive, n_words)
                with (
                    archive.open("indices.npy") as indices,
                    archive.open("data.npy") as data,
                ):
                    yield from self._rows(indptr, indices, data, n_words, tally)
        except DAMAGE as error:
            if isinstance(error, OSError) and error.errno:
                raise unreadable(self.path, error) from error
            raise DataError(
                f"{self.path} is damaged or not a CSR matrix of scipy.sparse.save_npz"
                f" ({reason(error)}): save it again"
            ) from error

    def _indptr(self, archive: zipfile.ZipFile, n_words: int) -> np.ndarray:
        kind = _whole(archive, "format.npy", _MAX_TOLD).item()
        kind = kind.decode("ascii", "replace") if isinstance(kind, bytes) else str(kind)
        if kind != "csr":
            raise DataError(
                f"{self.path} holds a {kind} matrix: save matrix.tocsr() with one row a document"
            )
        shape = tuple(int(n) for n in _whole(archive, "shape.npy", _MAX_TOLD))
        if (size := archive.getinfo("indptr.npy").file_size) > _MAX_WHOLE:
            raise DataError(
                f"{self.path}: indptr.npy of {size} bytes, where {_MAX_WHOLE} are the most, for"
                f" {_MAX_WHOLE // 8:,} documents; split the matrix"
            )
        indptr = _whole(archive, "indptr.npy", _MAX_WHOLE)
        is_csr = indptr.dtype.kind in "iu" and len(shape) == 2 and len(indptr) == shape[0] + 1
        indptr = indptr.astype(np.int64, copy=False)
        # Compared, since differences may wrap.
        if not is_csr or indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
            raise DataError(f"{self.path} is damaged (indptr is not one of CSR): save it again")
        if shape[1] != n_words:
            raise DataError(
                f"{self.path} has {shape[1]} columns, but its vocabulary has {n_words} words; "
                "give the vocabulary that belongs to it with --vocab"
            )
        return indptr

    def _rows(
        self,
        indptr: np.ndarray,
        indices: IO[bytes],
        data: IO[bytes],
        n_words: int,
        tally: Tally,
    ) -> Iterator[Documents]:
        id_type = self._header(indices, "indices", int(indptr[-1]))
        count_type = self._header(data, "data", int(indptr[-1]))
        total, row = local(self.path).stat().st_size, 0
        while row < len(indptr) - 1:
            stop = int(np.searchsorted(indptr, indptr[row] + _BLOCK_ENTRIES, "right")) - 1
            stop = min(max(stop, row + 1), len(indptr) - 1)
            n_entries = int(indptr[stop] - indptr[row])
            if n_entries > MAX_ENTRIES:
                raise DataError(
                    f"{self.path}, row {row}: more than {MAX_ENTRIES} entries; save it again"
                )
            ids = _take(indices, id_type, n_entries)
            counts = _take(data, count_type, n_entries)
            lengths = np.diff(indptr[row : stop + 1])
            if n_entries:
                self._check(lengths, ids, counts, n_words, row)
            documents = documents_of(self.path, lengths, ids.astype(np.int64), counts, tally)
            tally.n_read += stop - row
            tally.row = stop
            tally.position = total * int(indptr[stop]) // max(1, int(indptr[-1]))
            yield documents
            row = stop
        # The archive's own checksum is compared at the end of each member.
        if indices.read(1) or data.read(1):
            raise DataError(f"{self.path} is damaged (more entries than indptr says)")

    def _header(self, member: IO[bytes], name: str, size: int) -> np.dtype:
        shape, _, dtype = _read_header(member)
        if shape != (size,) or dtype.kind not in ("iu" if name == "indices" else "iufb"):
            raise DataError(
                f"{self.path}: {name} holds {dtype} {shape} where {size} numbers should stand; "
                "save it again with scipy.sparse.save_npz"
            )
        return dtype

    def _check(
        self, lengths: np.ndarray, ids: np.ndarray, counts: np.ndarray, n_words: int, row: int
    ) -> None:
        """DataError names the first row and column that are wrong; both count from 0."""
        whole = counts == np.floor(counts) if counts.dtype.kind == "f" else True
        id_wrong = (ids < 0) | (ids >= n_words)
        wrong = id_wrong | ~((counts >= 1) & (counts <= MAX_COUNT) & whole)
        if not wrong.any():
            return
        first = int(np.argmax(wrong))
        where = row + int(np.searchsorted(np.cumsum(lengths), first, side="right"))
        if id_wrong[first]:
            raise DataError(
                f"{self.path}, row {where}: column {ids[first]}, but columns go from 0 to "
                f"{n_words - 1}; save it again"
            )
        raise DataError(
            f"{self.path}, row {where}, column {ids[first]}: count {counts[first]} is not a whole "
            f"number from 1 to {MAX_COUNT}; counts of words are needed "
            "(eliminate_zeros() drops explicit zeros)"
        )


def _read_header(member: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype]:
    version = npy.read_magic(member)
    if version == (1, 0):
        return npy.read_array_header_1_0(member)
    return npy.read_array_header_2_0(member)


def _whole(archive: zipfile.ZipFile, name: str, most: int) -> np.ndarray:
    """A member of at most so many bytes, without pickle (ValueError)."""
    size = archive.getinfo(name).file_size
    if size > most:
        raise ValueError(f"{name} of {size} bytes")
    with archive.open(name) as member:
        return npy.read_array(member, allow_pickle=False)


def _take(member: IO[bytes], dtype: np.dtype, size: int) -> np.ndarray:
    need = size * dtype.itemsize
    parts: list[bytes] = []
    while need and (part := member.read(need)):
        parts.append(part)
        need -= len(part)
    if need:
        raise EOFError("cut short")
    return np.frombuffer(b"".join(parts), dtype=dtype)
