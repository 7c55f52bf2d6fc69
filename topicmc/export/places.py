"""Where an export is put: not over anything else, and whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from pathlib import Path

from topicmc.errors import UsageError
from topicmc.storage.files import (
    check_elsewhere,
    put_in_place,
    real_path,
    sync_tree,
    user_errors_for,
)


def check_free(path: Path, format: str, files: tuple[str, ...], force: bool) -> None:
    """UsageError where an export must not be written: something is there, and ``force`` is not
    given or it is not an export of this kind, or it is a folder that is or holds the current one.
    ``files``: as in `topicmc.export.Format`."""
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
    """A place to write a folder, or a file of the same name, that takes the place of ``path`` when
    the block ends and vanishes if it fails."""
    place = real_path(path)
    is_new = not place.parent.exists()
    temporary = place.with_name(f".{place.name}.{os.getpid()}.tmp")
    target = temporary / place.name
    with user_errors_for(path):
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            (target if is_folder else temporary).mkdir(parents=True)
            yield target
            sync_tree(temporary)
            replaced = temporary / "replaced"
            if is_folder and place.exists():
                place.rename(replaced)
            try:
                put_in_place(target, place)
            except BaseException:
                if replaced.exists() and not place.exists():
                    replaced.rename(place)
                raise
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
            if is_new:
                with suppress(OSError):
                    place.parent.rmdir()
