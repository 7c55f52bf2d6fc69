"""Folders and files that take the place of what is there when they are whole."""

from __future__ import annotations

import errno
import glob
import os
import re
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from topicmc.host.interrupts import unwound
from topicmc.storage.files import put_in_place, real_path, sync_tree, user_errors_for


@contextmanager
def staged(place: Path, *, is_folder: bool = True, replace: bool | None = None) -> Iterator[Path]:
    """Where to write a folder, or a file of the same name, that takes the place of ``place`` when
    the block ends well.

    On any exception, Ctrl-C included, and on signals as of `unwound`, what was written is removed
    and ``place`` is as it was; folders that were made for it go again. Raises OSError, also where
    something is in its place that is not to be replaced: by default, what has come since the block
    began.
    """
    if replace is None:
        replace = place.exists()
    draft = draft_of(place)
    made = [folder for folder in place.parents if not folder.exists()]
    with unwound():
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            draft.mkdir()
            yield draft if is_folder else draft / place.name
            sync_tree(draft)
            if is_folder and replace and place.exists():
                _exchange(draft, place)
            elif is_folder or replace or not place.exists():
                put_in_place(draft if is_folder else draft / place.name, place)
            else:  # which a rename would replace
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(place))
        finally:
            shutil.rmtree(draft, ignore_errors=True)
            for folder in made:  # where nothing is in it
                with suppress(OSError):
                    folder.rmdir()


def draft_of(place: Path) -> Path:
    """The folder in which this process writes what is to take a place."""
    return place.parent / f"{_prefix(place)}{os.getpid()}.partial"


def clear_up(place: Path) -> None:
    """Of what killed processes of this machine left beside ``place``: halves go, and what one had
    put aside to replace it comes back if nothing took its place. A link is followed; errors as of
    `user_errors_for`."""
    with user_errors_for(place):
        _clear_up(real_path(place))


def _clear_up(place: Path) -> None:
    prefix = _prefix(place)
    for path in place.parent.glob(glob.escape(prefix) + "*"):
        number, _, kind = path.name[len(prefix) :].partition(".")
        if kind not in ("partial", "old") or not re.fullmatch(r"[0-9]{1,9}", number):
            continue
        if int(number) != os.getpid() and _alive(int(number)):
            continue
        if kind == "old" and not place.exists():
            path.rename(place)
        else:
            shutil.rmtree(path, ignore_errors=True)


def _prefix(place: Path) -> str:
    return f".{place.name}.{socket.gethostname()}-"


def _exchange(draft: Path, place: Path) -> None:
    """Both change places, or neither; what was there is then removed as a draft is."""
    old = draft.with_suffix(".old")
    try:
        place.rename(old)
        put_in_place(draft, place)
        old.rename(draft)
    except BaseException:
        if not draft.exists():  # it has come to its place
            place.rename(draft)
        if not place.exists():
            old.rename(place)
        raise


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
