"""What is known of documents beside their words: where they come from, ids, titles, times, and
columns of their rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np

from topicmc.corpora.strings import Strings
from topicmc.storage.fields import UNSHOWN

# The arrays of each kind, in files of their own; a part of a corpus may lack any kind.
TEXTS = {
    "titles": ("titles", "title_offsets"),
    "ids": ("ids", "id_offsets"),
    "columns": ("columns", "column_offsets"),
}
FILES: dict[str, tuple[str, ...]] = {**TEXTS, "times": ("times",), "rows": ("rows",)}
TIME = np.dtype("datetime64[D]")
NO_DAY = int(np.iinfo(np.int64).min)  # NaT, as an integer
NO_ROW = 0

_MAX_TITLE = 200
_TIME = re.compile(r"(\d{4})(?:\.0|-(\d\d)(?:-(\d\d)(?:[T ]\d\d.*)?)?)?", re.DOTALL)
_EPOCH = date(1970, 1, 1).toordinal()


@dataclass(frozen=True)
class Metadata:
    """What is known of n documents.

    titles   one short line each; empty where unknown
    ids      as the source has them; empty where unknown
    columns  what is kept of the rows: a JSON object each, by the names of the columns, or empty
    times    datetime64[D] (n,): NaT where unknown
    rows     int64 (n,): where the document stands in the sources put one after the other, counted
             from 1 (`topicmc.corpora.naming` tells the file and the line); 0 where unknown
    """

    titles: Strings
    ids: Strings
    columns: Strings
    times: np.ndarray
    rows: np.ndarray

    @classmethod
    def of(
        cls,
        titles: Sequence[str],
        days: Sequence[int],
        rows: np.ndarray,
        ids: Sequence[str],
        columns: Sequence[str],
    ) -> Metadata:
        """Metadata of titles and the rest as they were read, and days since 1970."""
        times = np.array(days, dtype=np.int64).view(TIME)
        texts = map(Strings.of, (map(clean_title, titles), ids, columns))
        return cls.with_texts(texts, times, np.asarray(rows, dtype=np.int64))

    @classmethod
    def with_texts(cls, texts: Iterable[Strings], times: np.ndarray, rows: np.ndarray) -> Metadata:
        """``texts`` are those of `TEXTS`, in that order."""
        titles, ids, columns = texts
        return cls(titles, ids, columns, times, rows)

    @classmethod
    def blank(cls, n_docs: int, rows: np.ndarray | None = None) -> Metadata:
        """Metadata of documents of which nothing is known, or nothing but their rows."""
        nothing = Strings.blank(n_docs)
        times = np.full(n_docs, NO_DAY, dtype=np.int64).view(TIME)
        rows = np.full(n_docs, NO_ROW, dtype=np.int64) if rows is None else rows
        return cls(nothing, nothing, nothing, times, rows)

    @classmethod
    def joined(cls, parts: Sequence[Metadata]) -> Metadata:
        """The metadata of several parts, one after the other."""
        return cls.with_texts(
            (Strings.joined([getattr(part, kind) for part in parts]) for kind in TEXTS),
            np.concatenate([part.times for part in parts]),
            np.concatenate([part.rows for part in parts]),
        )

    @property
    def n_docs(self) -> int:
        return len(self.times)

    @property
    def n_bytes(self) -> int:
        """Bytes of all texts."""
        return sum(len(getattr(self, kind).text) for kind in TEXTS)

    @property
    def text_ends(self) -> np.ndarray:
        """Bytes of texts before each document and after the last, int64 (n + 1,)."""
        return np.sum([getattr(self, kind).offsets for kind in TEXTS], axis=0)

    def select(self, mask: np.ndarray) -> Metadata:
        """The metadata of documents where mask, bool (n,), is true."""
        return self if mask.all() else self.take(np.flatnonzero(mask))

    def take(self, rows: np.ndarray) -> Metadata:
        """The metadata of some documents, int64 (n,), in the order given."""
        return self._each(lambda strings: strings.take(rows), lambda array: array[rows])

    def part(self, start: int, stop: int) -> Metadata:
        """The metadata of documents start to stop − 1."""
        return self._each(lambda strings: strings.part(start, stop), lambda a: a[start:stop])

    def moved(self, by: int) -> Metadata:
        """The same metadata, its rows behind so many others."""
        rows = np.where(self.rows == NO_ROW, NO_ROW, self.rows + by)
        return Metadata(self.titles, self.ids, self.columns, self.times, rows)

    def _each(
        self,
        texts: Callable[[Strings], Strings],
        arrays: Callable[[np.ndarray], np.ndarray],
    ) -> Metadata:
        found = (texts(getattr(self, kind)) for kind in TEXTS)
        return Metadata.with_texts(found, arrays(self.times), arrays(self.rows))


def kinds(table: dict[str, Any]) -> list[str]:
    """Which kinds of metadata the part of a corpus has that corpus.json tells of here."""
    return [kind for kind, files in FILES.items() if files[0] in table["sha256"]]


def clean_line(text: str) -> str:
    """One line, without characters that a terminal would obey."""
    return " ".join(UNSHOWN.sub(" ", text).split())


def clean_title(title: str) -> str:
    """A title as one line of at most 200 characters."""
    line = clean_line(title)
    return line if len(line) <= _MAX_TITLE else line[: _MAX_TITLE - 1].rstrip() + "…"


def parse_day(text: str) -> int:
    """Days since 1970 of a year, a month, a date or a date with a time of day, as ISO 8601 writes
    them. Years and months stand for their first day; the time of day and its zone are passed over.
    Raises ValueError."""
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise ValueError("not a date of ISO 8601")
    year, month, day = map(int, match.groups(default="1"))
    return date(year, month, day).toordinal() - _EPOCH
