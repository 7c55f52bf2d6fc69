"""numba's cache of compiled kernels, which knows of each the file that it is in, and not those from
which it takes functions."""

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from numba import config

from topicmc.errors import UsageError
from topicmc.kernels.gather import gather

_NOTE = "sources.sha256"  # beside what is compiled: of what it is compiled from


def check() -> None:
    """Has all kernels compiled anew if the file of any has changed, as an upgrade may have done.

    Raises UsageError where numba is told to compile nothing.
    """
    if config.DISABLE_JIT:  # type: ignore[attr-defined]  # which numba sets from the environment
        raise UsageError(
            "NUMBA_DISABLE_JIT is set, and the kernels cannot run without being compiled; unset it"
        )
    if gather.stats.cache_path is not None:
        with suppress(OSError):
            renew(Path(gather.stats.cache_path), Path(__file__).parent)


def renew(cache: Path, sources: Path) -> None:
    """Forgets what is compiled in a folder, unless it is from these sources. Raises OSError.

    Several processes may do so at a time: numba takes a file that is gone for one not made yet.
    """
    files = sorted(sources.glob("*.py"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files)).digest()
    note = cache / _NOTE
    if note.exists() and note.read_bytes() == digest:
        return
    for compiled in cache.glob("*.nb[ic]"):
        compiled.unlink(missing_ok=True)
    draft = note.with_name(f"{_NOTE}.{os.getpid()}")
    draft.write_bytes(digest)
    draft.replace(note)
