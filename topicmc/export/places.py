"""Where an export is put: not over anything else, and whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path

from topicmc.errors import UsageError
from topicmc.storage.files import check_elsewhere, real_path, user_errors_for
from topicmc.storage.staging import clear_up, staged


def check_free(path: Path, format: str, files: tuple[str, ...], force: bool) -> None:
    """Clears up after exports that were killed, and raises UsageError where one must not be
    written: something is there, and ``force`` is not given or it is not an export of this kind, or
    it is a folder that is or holds the current one. ``files``: as in `topicmc.export.Format`."""
    clear_up(path)
    if not path.exists():
        return
    if path.is_dir() and files:
        check_elsewhere(path)
    if path.is_dir() != bool(files):
        kinds = ("a file", "a folder") if files else ("a folder", "a file")
        raise UsageError(f"{path}: is {kinds[0]}, and --to {format} writes {kinds[1]}; change -o")
    names = sorted(file.name for file in path.iterdir()) if files else [path.name]
    if names and not force:
        raise UsageError(f"{path}: exists already; add --force to overwrite it, or give another -o")
    for name in names if files else []:
        if not any(fnmatch(name, pattern) for pattern in files):
            raise UsageError(
                f"{path}: holds {name}, which no export to {format} has written, so --force leaves"
                " it alone; give another -o"
            )


@contextmanager
def staging(path: Path, is_folder: bool) -> Iterator[Path]:
    """As `staged`, with a sentence for people when the system refuses. A link is followed."""
    with user_errors_for(path), staged(real_path(path), is_folder=is_folder) as target:
        yield target
