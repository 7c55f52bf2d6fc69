"""Which files of a corpus were found sound, so that a large one is not read again at every start.

A file is taken as sound while its size, times and place on disk are what they were when its bytes
were last checked. ``topicmc corpus verify`` trusts no stamp.
"""

import json
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from topicmc.corpora.files import write_text

NAME = ".checked.json"
# Clocks of file systems are coarse: a file changed so lately may be changed again unseen.
_SETTLED = 2_000_000_000
_unwritten: dict[Path, dict[str, list[int | str]]] = {}  # of folders that cannot be written


def unchecked(root: Path, sums: dict[str, str]) -> list[str]:
    """The files, given as ``{name below root: checksum}``, for which no stamp speaks: also those
    that are missing."""
    known = _read(root)
    now = {name: _stamp(root, name, digest) for name, digest in sums.items()}
    return [name for name, found in now.items() if found is None or known.get(name) != found]


def stamp(root: Path, sums: dict[str, str], checked: Iterable[str]) -> None:
    """Notes that files were found sound; of a folder that cannot be written, for this process."""
    now = time.time_ns()
    known = _read(root)
    for name in checked:
        made = _stamp(root, name, sums[name])
        if made is not None and now - max(int(made[1]), int(made[2])) > _SETTLED:
            known[name] = made
    try:
        write_text(root / NAME, json.dumps(known))
    except OSError:
        _unwritten[root] = known


def _stamp(root: Path, name: str, digest: str) -> list[int | str] | None:
    try:
        facts = (root / name).stat()
    except OSError:
        return None
    return [facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino, digest]


def _read(root: Path) -> dict[str, list[int | str]]:
    known: Any = None
    with suppress(OSError, ValueError, RecursionError):
        known = json.loads((root / NAME).read_text(encoding="utf-8"))
    return {**(known if isinstance(known, dict) else {}), **_unwritten.get(root, {})}
