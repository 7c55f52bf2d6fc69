"""Readers, one a format: each turns a source into blocks of documents, in bounded memory."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from topicmc.corpora.documents import Documents


@dataclass
class Tally:
    """What a reader met on its way, for the report and the progress bar."""

    n_read: int = 0  # documents, empty ones included
    merged: int = 0  # entries that repeated a word of their document and were summed
    passed_over: Counter[str] = field(default_factory=Counter)  # documents left out by rule, by why
    ids_repeated: int = 0  # rows that have the id of one before them, once all are read
    times_unread: int = 0  # documents whose time is there, but is none
    time_unread: str | None = None  # the first of them, and where it stands
    noticed: Counter[str] = field(default_factory=Counter)  # what `tokens.notice` says of the texts
    cut: str | None = None  # the end of the present source is missing: a sentence that says where
    position: int = 0  # bytes of the present source taken in
    finished: int = 0  # bytes of the sources before it
    row: int = 0  # of the present source: the last one read, counted from 1
    rows_before: int = 0  # of the sources before the present one
    sources: list[dict[str, Any]] = field(default_factory=list)  # name, unit and rows of each

    @property
    def skipped(self) -> int:
        """Documents that a reader passes over by rule, as Wikipedia's stubs."""
        return self.passed_over.total()

    def unread_time(self, time: str, where: str) -> None:
        """Counts a time that is none."""
        self.times_unread += 1
        self.time_unread = self.time_unread or f"{time[:40]!r} ({where})"

    def next_source(self, path: Path, unit: str) -> None:
        """The present source has been read; ``unit`` is what its rows are called."""
        self.finished += self.position
        self.rows_before += self.row
        self.sources.append({"name": str(path), "unit": unit, "rows": self.row})
        self.position = self.row = 0


Progress = Callable[[Tally], None]


class IdReader(Protocol):
    """A format that holds word ids; the vocabulary stands in a file of its own."""

    path: Path

    def blocks(self, n_words: int, tally: Tally) -> Iterator[Documents]:
        """Documents with ids below n_words, and with their rows if some documents have none;
        DataError names file and line of what is wrong."""
        ...
