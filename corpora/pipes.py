"""Sources that can be read only once, as pipes: their bytes are put into a file first, because the
format is told by a first look, and phrases are learned by a first pass."""

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from topicmc.errors import UsageError
from topicmc.storage.files import temporary_folder, unreadable, user_errors_for
from topicmc.storage.scratch import aside, naming_tmpdir

STDIN = Path("/dev/stdin")
_CHUNK = 1 << 20
_copies: dict[Path, Path] = {}  # of the sources that are being read, by the names users gave them


@contextmanager
def readable(sources: Sequence[Path]) -> Iterator[list[Path]]:
    """The sources, of which all can be opened again and again until the block ends; ``-`` is
    standard input.

    Errors go on to speak of the pipe by its own name: `local` tells where its bytes lie. Raises
    UsageError for what is neither a file, a folder nor a pipe.
    """
    paths = [STDIN if str(path) == "-" else path for path in sources]
    with ExitStack() as stack:
        for number, path in enumerate(paths):
            if not _is_pipe(path):
                continue
            if path in paths[:number]:
                raise UsageError(f"{path} can be read once only: name it once")
            if path not in _copies:
                _copies[path] = stack.enter_context(_copied(path))
                stack.callback(_copies.pop, path)
        yield paths


def local(path: Path) -> Path:
    """Where the bytes of a source lie: in the file itself, unless it is a pipe."""
    return _copies.get(path, path)


def opened(path: Path) -> Any:
    """A source as a file of pyarrow, which by itself opens names in UTF-8 only; DataError where it
    may not be read."""
    import pyarrow as pa

    try:
        return pa.OSFile(os.fsencode(local(path)))
    except OSError as error:
        raise unreadable(path, error) from error


def _is_pipe(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):  # who opens it says why
        return False
    if not (stat.S_ISCHR(mode) or stat.S_ISBLK(mode)):
        return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
    if path == STDIN and sys.stdin is not None and sys.stdin.isatty():
        raise UsageError("Standard input is a terminal: pipe documents into it, or name a file")
    if path.samefile(os.devnull):
        return True
    raise UsageError(f"{path} is a device: give a file, a folder or a pipe")


@contextmanager
def _copied(path: Path) -> Iterator[Path]:
    with temporary_folder(aside(), "topicmc-") as folder:
        place = folder / "copy"
        try:
            # A socket cannot be opened by its name.
            pipe = os.fdopen(os.dup(0), "rb") if path == STDIN else path.open("rb")
        except OSError as error:
            raise unreadable(path, error) from error
        # The last bytes are written when the copy is closed.
        with pipe, naming_tmpdir(), user_errors_for(place), place.open("wb") as copy:
            while chunk := _chunk(pipe, path):
                copy.write(chunk)
        yield place


def _chunk(pipe: IO[bytes], path: Path) -> bytes:
    """The next bytes of a pipe; DataError names it where it breaks."""
    try:
        return pipe.read(_CHUNK)
    except OSError as error:
        raise unreadable(path, error) from error
