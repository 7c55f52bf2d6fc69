"""How documents are called: by their id, or by the file and the row that they come from."""

from __future__ import annotations

import json
import os
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from topicmc.corpora.metadata import clean_line, clean_title
from topicmc.errors import DataError


class Place(NamedTuple):
    """Where a row stands: a file, what its rows are called, and the number, counted from 1."""

    file: str
    unit: str
    row: int


class Places:
    """The places of rows that are counted through the sources of a corpus, from 1.

    ``sources`` have name, unit and rows each. Files are told by as much of their paths as they do
    not share.
    """

    def __init__(self, sources: Sequence[dict[str, Any]]) -> None:
        self.files = short_names([source["name"] for source in sources])
        self._units = [source["unit"] for source in sources]
        self._ends = [*accumulate(source["rows"] for source in sources)]

    @property
    def n_rows(self) -> int:
        return self._ends[-1] if self._ends else 0

    def place(self, row: int) -> Place | None:
        """None for a row that is not known."""
        if not 1 <= row <= self.n_rows:
            return None
        number = bisect_left(self._ends, row)
        before = self._ends[number - 1] if number else 0
        return Place(self.files[number], self._units[number], row - before)

    def name(self, row: int) -> str:
        place = self.place(row)
        return "?" if place is None else f"{place.file}, {place.unit} {place.row:,}"


class Named(NamedTuple):
    """What is known of a document.

    number   its number in the corpus
    columns  what is kept of its row, by the names of the columns
    """

    number: int
    id: str | None = None
    place: Place | None = None
    title: str | None = None
    columns: dict[str, Any] | None = None

    @property
    def name(self) -> str:
        """The id, or the place, or the number in the corpus where neither is known; one line."""
        if self.id:
            return clean_title(self.id)
        if self.place:
            return clean_title(f"{self.place.file}, {self.place.unit} {self.place.row:,}")
        return f"no. {self.number:,} of the corpus"

    @property
    def kept(self) -> list[tuple[str, Any]]:
        """Names and values of the columns that hold something."""
        return [(n, v) for n, v in (self.columns or {}).items() if v not in (None, "")]

    def as_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "document": self.number,
            "id": self.id,
            "file": self.place.file if self.place else None,
            "row": self.place.row if self.place else None,
            "title": self.title,
            **({"columns": self.columns} if self.columns is not None else {}),
        }


def one_line(value: Any) -> str:
    """A value of a column, in a short line that a terminal or a page may show."""
    return clean_title(whole_line(value))


def whole_line(value: Any) -> str:
    """The same, however long it is."""
    return clean_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def read_columns(text: str) -> dict[str, Any]:
    """What was kept of a row; DataError when it is none of our JSON."""
    try:
        found = json.loads(text or "{}")
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode()  # can be written again
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise DataError("What the corpus keeps of a row is damaged: prepare the corpus again")
    return found


def short_names(paths: Sequence[str]) -> list[str]:
    """Paths without the folders that they have in common, numbered where they are equal; bytes that
    are no UTF-8 become question marks."""
    names = [PurePosixPath(path).name or path for path in paths]
    if len(set(names)) < len(set(paths)):
        shared = os.path.commonpath(map(os.path.abspath, set(paths)))
        names = [os.path.relpath(path, shared) for path in paths]
    seen: Counter[str] = Counter()
    told = []
    for name in (name.encode("utf-8", "replace").decode() for name in names):
        seen[name] += 1
        told.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return told
