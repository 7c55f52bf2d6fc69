"""A report of runs: one page of HTML that holds all it shows and loads nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from topicmc.errors import UsageError
from topicmc.storage.files import check_writable, replacing

_MARK = '<meta name="generator" content="topicmc '


ENDINGS = ".html", ".htm"


def check_free(path: Path, force: bool = False) -> None:
    """UsageError where a report must not be written: the name is not that of a page, a folder or
    another file is there, or, without ``force``, a report. TopicmcError where none can be."""
    if path.is_dir():
        raise UsageError(f"{path}: is a folder; give -o the name of a file, as report.html")
    if path.suffix.lower() not in ENDINGS:
        raise UsageError(f"-o {path}: the name of a page ends in {' or '.join(ENDINGS)}")
    if not path.exists():
        check_writable(path)
        return
    if not force:
        raise UsageError(f"{path}: exists already; add --force to overwrite it, or give another -o")
    with path.open(encoding="utf-8", errors="replace") as stream:
        if _MARK not in stream.read(4096):
            raise UsageError(f"{path}: is not a report of topicmc, so --force leaves it alone")
    check_writable(path)


def write_report(data: dict[str, Any], path: Path, force: bool = False) -> None:
    """Writes the page that shows what `topicmc.report.gather.gather` has gathered.

    Raises UsageError as `check_free` does.
    """
    from topicmc.report.page import assemble

    check_free(path, force)
    with replacing(path) as stream:
        stream.write(assemble(data))
