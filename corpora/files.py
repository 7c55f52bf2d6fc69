"""Files written so that they are whole or absent."""

import errno
import os
import re
import shutil
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

from topicmc.errors import DataError, TopicmcError, UsageError
from topicmc.host.interrupts import unwound
from topicmc.storage.files import (
    check_elsewhere,
    checksum,
    put_in_place,
    raw_atomic_write,
    real_path,
    sync_tree,
)


class NpyWriter:
    """A one-dimensional .npy file that grows; its header is set right when it is closed."""

    def __init__(self, path: Path, dtype: np.typing.DTypeLike) -> None:
        self.dtype = np.dtype(dtype)
        self.size = 0
        self._file = path.open("wb")
        self._write_header()

    def append(self, values: np.ndarray) -> None:
        values = np.ascontiguousarray(values, dtype=self.dtype)
        self._file.write(values.view(np.uint8).data)  # dates lend no buffer of their own
        self.size += len(values)

    def close(self) -> None:
        """NumPy pads the header so that a longer first axis fits into the same bytes."""
        self._file.seek(0)
        self._write_header()
        self._file.close()

    def abandon(self) -> None:
        self._file.close()

    def _write_header(self) -> None:
        descr = npy.dtype_to_descr(self.dtype)
        header = {"descr": descr, "fortran_order": False, "shape": (self.size,)}
        npy.write_array_header_1_0(self._file, header)


def sha256(path: Path) -> str:
    """The checksum of a file's bytes, in hexadecimal digits; DataError when it cannot be read."""
    return checksum(path).removeprefix("sha256:")


def write_text(path: Path, text: str) -> None:
    """Replaces path by text in UTF-8, at once. Raises OSError."""
    with raw_atomic_write(path) as stream:
        stream.write(text)


@contextmanager
def staging(output: Path, *, names: Sequence[str], force: bool) -> Iterator[Path]:
    """A temporary sibling folder that becomes ``output`` when the block ends well.

    On any exception, Ctrl-C included, and on SIGTERM unless the program handles it, it is removed
    and ``output`` is as it was. What exists is replaced only with ``force``, and only when it holds
    the first of ``names``, and nothing that none of these patterns fits.
    """
    output = real_path(output) if output.is_symlink() else output
    prefix = f".{output.name}.{socket.gethostname()}-"
    folder = output.parent / f"{prefix}{os.getpid()}.partial"
    check_elsewhere(output)
    try:
        _clear_up(output, prefix)
        _check_free(output, names, force)
        with unwound():
            output.parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir()
            yield folder
            _check_free(output, names, force)
            sync_tree(folder)
            _replace(folder, output)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DataError(
                f"No space left for {output}: free some or write to another disk with -o"
            ) from error
        named = Path(error.filename or folder)
        ours = folder in (named, *named.parents) or named in folder.parents
        why = error.strerror or error
        if ours:
            raise TopicmcError(f"{output}: cannot be written ({why})") from error
        raise DataError(f"{named}: cannot be used ({why})") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _check_free(output: Path, names: Sequence[str], force: bool) -> None:
    if not output.exists() and not output.is_symlink():
        return
    if output.is_dir() and not any(output.iterdir()):
        return
    if not (output / names[0]).is_file():
        raise UsageError(f"{output} exists and is not a corpus: choose another name with -o")
    if not force:
        raise UsageError(f"{output} exists: choose another name with -o, or replace it by --force")
    for name in sorted(path.name for path in output.iterdir()):
        if not any(fnmatch(name, pattern) for pattern in names):
            raise UsageError(
                f"{output}: holds {name}, which is no part of a corpus and would be lost: move it "
                "elsewhere, or choose another name with -o"
            )


def _replace(folder: Path, output: Path) -> None:
    if not output.exists():
        put_in_place(folder, output)
        return
    old = folder.with_suffix(".old")
    output.rename(old)
    try:
        put_in_place(folder, output)
    except BaseException:
        old.rename(output)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _clear_up(output: Path, prefix: str) -> None:
    """Of what killed processes of this machine left beside ``output``: halves go, and what one had
    put aside to replace it comes back if nothing took its place."""
    for path in output.parent.glob(re.sub(r"([\[*?])", r"[\1]", prefix) + "*"):
        number, _, kind = path.name[len(prefix) :].partition(".")
        if kind not in ("partial", "old") or not re.fullmatch(r"[0-9]{1,9}", number):
            continue
        if int(number) != os.getpid() and _alive(int(number)):
            continue
        if kind == "old" and not output.exists():
            path.rename(output)
        else:
            shutil.rmtree(path, ignore_errors=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
