"""Files of one JSON object a line, in order of time. Each line is added in a single write, so that
a crash tears the last one at most."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from topicmc.errors import DataError
from topicmc.storage.files import atomic_write, user_errors_for

Check = Callable[[Path, int, Any], None]
"""Raises DataError for what is wrong in the object of a line, by file and number."""


def append(path: Path, record: Mapping[str, Any]) -> None:
    """Adds a line. Raises DataError where the disk is full, TopicmcError for other refusals of the
    system."""
    line = (json.dumps(record) + "\n").encode()
    with user_errors_for(path):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            if os.write(descriptor, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            os.close(descriptor)


def read(path: Path, check: Check) -> list[dict[str, Any]]:
    """The objects of a file, but for a last line cut short by a crash; none where there is no file.
    DataError for another line that is damaged."""
    return _records(path, _lines(path), check)


def rewind(path: Path, check: Check, **last: int) -> str | None:
    """Keeps the lines up to the last that is past none of these clocks. What follows may be
    damaged, as by a crash; a sentence tells of more than a torn end."""
    lines = _lines(path)
    n_lines, damaged = len(lines), 0
    while lines and ((record := _object(lines[-1])) is None or _is_past(record, last)):
        damaged = len(lines) if record is None else damaged
        lines.pop()
    kept = _records(path, lines, check)
    with atomic_write(path) as stream:
        stream.writelines(json.dumps(record) + "\n" for record in kept)
    return f"{path}, line {damaged}: not JSON, and left out" if 0 < damaged < n_lines else None


def _lines(path: Path) -> list[str]:
    """What is no UTF-8 is kept, to be found at its line."""
    if not path.exists():
        return []
    return path.read_text(encoding="utf-8", errors="surrogateescape").splitlines()


def _records(path: Path, lines: Sequence[str], check: Check) -> list[dict[str, Any]]:
    records = []
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            if number == len(lines):
                break
            raise DataError(f"{path}, line {number}: not JSON; restore or remake it") from None
        check(path, number, record)
        records.append(record)
    return records


def _object(line: str) -> dict[str, Any] | None:
    """The JSON object of a line; None where it is none."""
    with suppress(ValueError, RecursionError):
        record = json.loads(line)
        return record if isinstance(record, dict) else None
    return None


def _is_past(record: Mapping[str, Any], last: Mapping[str, int]) -> bool:
    """Whether a line, which may be damaged, is of a later time than one of these clocks."""
    times = ((record.get(clock), end) for clock, end in last.items())
    return any(type(now) is int and now > end for now, end in times)
