"""A report of runs: one page of HTML that holds all it shows and loads nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from topicmc.errors import UsageError
from topicmc.storage.files import check_new_file, new_file

_MARK = '<meta name="generator" content="topicmc '


ENDINGS = ".html", ".htm"


def check_free(path: Path, force: bool = False) -> None:
    """UsageError where a report must not be written: the name is not that of a page, a folder or
    another file is there, or, without ``force``, a report. TopicmcError where none can be."""
    check_new_file(path, ENDINGS, force)
    if not path.exists():
        return
    with path.open(encoding="utf-8", errors="replace") as stream:
        if _MARK not in stream.read(4096):
            raise UsageError(f"{path}: is not a report of topicmc, so --force leaves it alone")


def write_report(data: dict[str, Any], path: Path, force: bool = False) -> None:
    """Writes the page that shows what `topicmc.report.gather.gather` has gathered; folders are made
    as needed.

    Raises UsageError as `check_free` does.
    """
    from topicmc.report.page import assemble

    check_free(path, force)
    with new_file(path, force=force) as stream:
        stream.write(assemble(data))
