"""Working memory that the system can put aside: large arrays lie in files without a name.

Pages of such a file that nobody has touched for a while make room for others when memory is short,
while plain memory would have to stay. Nothing is left of the file when its process ends, however it
does. Where the folder is memory itself, as /tmp is on some systems, files make no room: `aside`
names one on a disk.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from typing import IO

import numpy as np
from numpy.typing import DTypeLike

from topicmc.errors import DataError, is_full
from topicmc.host.machine import lies_in_memory
from topicmc.storage.files import user_errors_for

IN_MEMORY = 1 << 26
"""Arrays of at most so many bytes stay in memory: files would free little, on disks that may be
slow."""
_USUAL, _ON_DISK = Path("/tmp"), Path("/var/tmp")


def aside() -> Path:
    """The folder for large files that are soon gone: that for temporary files, but /var/tmp where
    nobody has named one, and /tmp is memory."""
    folder = Path(gettempdir())
    is_named = folder != _USUAL or "TMPDIR" in os.environ
    if is_named or not lies_in_memory(folder) or lies_in_memory(_ON_DISK):
        return folder
    return _ON_DISK if os.access(_ON_DISK, os.W_OK) else folder


@contextmanager
def naming_tmpdir() -> Iterator[None]:
    """A block that writes to `aside`: where that is full, the error says that another can be
    named."""
    try:
        yield
    except DataError as error:
        cause = error.__context__
        if isinstance(cause, OSError) and is_full(cause):
            raise DataError(f"{error}, or have TMPDIR name a folder on another disk") from None
        raise


def scratch_array(n: int, dtype: DTypeLike, folder: Path | None) -> np.ndarray:
    """Zeros (n,): in a nameless file of ``folder`` if they are many, in memory otherwise, or if the
    folder is None.

    Raises DataError when the disk is full. The space is taken here, so that writing later cannot
    fail for lack of it.
    """
    n_bytes = n * np.dtype(dtype).itemsize
    if folder is None or n_bytes <= IN_MEMORY:
        return np.zeros(n, dtype)
    hint = naming_tmpdir() if folder == aside() else nullcontext()
    with hint, user_errors_for(folder), TemporaryFile(dir=folder) as file:
        _reserve(file, n_bytes)
        return np.asarray(np.memmap(file, dtype, "r+", shape=n))


def _reserve(file: IO[bytes], n_bytes: int) -> None:
    """Has the disk set space aside: a map of a file with holes would crash when it is full."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, n_bytes)
        return
    for start in range(0, n_bytes, IN_MEMORY):
        file.write(bytes(min(IN_MEMORY, n_bytes - start)))
    file.flush()
