"""What is known of documents beside their words: titles and times."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import accumulate
from typing import Any

import numpy as np

from topicmc.corpora.documents import offsets, spans

# The arrays of each kind, in files of their own; a part of a corpus may lack either kind.
FILES = {"titles": ("titles", "title_offsets"), "times": ("times",)}
TIME = np.dtype("datetime64[D]")
NO_DAY = int(np.iinfo(np.int64).min)  # NaT, as an integer

_MAX_TITLE = 200
# Control characters, those that turn the direction of what follows, and halves of characters.
_UNSHOWN = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_TIME = re.compile(r"(\d{4})(?:\.0|-(\d\d)(?:-(\d\d)(?:[T ]\d\d.*)?)?)?", re.DOTALL)
_EPOCH = date(1970, 1, 1).toordinal()


@dataclass(frozen=True)
class Metadata:
    """Titles and times of n documents.

    text     uint8 (B,): the titles in UTF-8, one after the other
    offsets  int64 (n + 1,): title d is ``text[offsets[d]:offsets[d + 1]]``; empty where unknown
    times    datetime64[D] (n,): NaT where unknown
    """

    text: np.ndarray
    offsets: np.ndarray
    times: np.ndarray

    @classmethod
    def of(cls, titles: Sequence[str], days: Sequence[int]) -> "Metadata":
        """From titles as they were read, and days since 1970."""
        raw = [clean_title(title).encode() for title in titles]
        lengths = np.fromiter(map(len, raw), dtype=np.int64, count=len(raw))
        text = np.frombuffer(b"".join(raw), dtype=np.uint8)
        return cls(text, offsets(lengths), np.array(days, dtype=np.int64).view(TIME))

    @classmethod
    def blank(cls, n_docs: int) -> "Metadata":
        empty = np.empty(0, dtype=np.uint8)
        times = np.full(n_docs, NO_DAY, dtype=np.int64).view(TIME)
        return cls(empty, np.zeros(n_docs + 1, dtype=np.int64), times)

    @property
    def n_docs(self) -> int:
        return len(self.times)

    @property
    def lengths(self) -> np.ndarray:
        """Bytes of each title, int64 (n,)."""
        return np.diff(self.offsets)

    def title(self, number: int) -> str:
        start, stop = self.offsets[number : number + 2]
        return self.text[start:stop].tobytes().decode()

    def select(self, mask: np.ndarray) -> "Metadata":
        """Of the documents where mask, bool (n,), is true."""
        lengths = self.lengths
        text = self.text[np.repeat(mask, lengths)]
        return Metadata(text, offsets(lengths[mask]), self.times[mask])

    def take(self, rows: np.ndarray) -> "Metadata":
        """Of some documents, int64 (n,), in the order given."""
        lengths = self.lengths[rows]
        text = self.text[spans(self.offsets[rows], lengths)]
        return Metadata(text, offsets(lengths), self.times[rows])

    def part(self, start: int, stop: int) -> "Metadata":
        """Of documents start to stop − 1."""
        first, last = self.offsets[start], self.offsets[stop]
        return Metadata(
            self.text[first:last], self.offsets[start : stop + 1] - first, self.times[start:stop]
        )


class Titles:
    """The titles of several shards as one sequence, decoded one by one; "" where unknown."""

    def __init__(self, shards: Sequence[Metadata]) -> None:
        self._shards = shards
        self._starts = [0, *accumulate(shard.n_docs for shard in shards)]

    def __len__(self) -> int:
        return self._starts[-1]

    @property
    def n_known(self) -> int:
        return sum(int(np.count_nonzero(shard.lengths)) for shard in self._shards)

    def __getitem__(self, number: int) -> str:
        number = range(len(self))[number]  # IndexError; negative numbers count from the end
        shard = bisect_right(self._starts, number) - 1
        return self._shards[shard].title(number - self._starts[shard])


def kinds(table: dict[str, Any]) -> list[str]:
    """Which of "titles" and "times" the part of a corpus has that corpus.json tells of here."""
    return [kind for kind, files in FILES.items() if files[0] in table["sha256"]]


def clean_title(title: str) -> str:
    """One line of at most 200 characters, without characters that a terminal would obey."""
    line = " ".join(_UNSHOWN.sub(" ", title).split())
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
