"""Texts of many documents in two arrays: titles, ids, and what else is kept of their rows."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any, Generic, TypeVar, overload

import numpy as np

from topicmc.corpora.offsets import offsets as running
from topicmc.corpora.offsets import spans

T = TypeVar("T")
_BYTES = 1 << 20  # that are taken at a time, but for longer texts
_MAPPED = 8  # shards at a time


@dataclass(frozen=True)
class Strings:
    """n texts.

    text     uint8 (B,): the texts in UTF-8, one after the other
    offsets  int64 (n + 1,): text i is ``text[offsets[i]:offsets[i + 1]]``
    """

    text: np.ndarray
    offsets: np.ndarray

    @classmethod
    def of(cls, texts: Iterable[str]) -> Strings:
        """Halves of characters, which UTF-8 cannot write, become question marks."""
        raw = [text.encode("utf-8", "replace") for text in texts]
        lengths = np.fromiter(map(len, raw), dtype=np.int64, count=len(raw))
        return cls(np.frombuffer(b"".join(raw), dtype=np.uint8), running(lengths))

    @classmethod
    def blank(cls, n: int) -> Strings:
        return cls(np.empty(0, dtype=np.uint8), np.zeros(n + 1, dtype=np.int64))

    @classmethod
    def joined(cls, parts: Sequence[Strings]) -> Strings:
        lengths = np.concatenate([part.lengths for part in parts])
        return cls(np.concatenate([part.text for part in parts]), running(lengths))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, number: int) -> str:
        start, stop = self.offsets[number : number + 2]
        return self.text[start:stop].tobytes().decode()

    @property
    def lengths(self) -> np.ndarray:
        """Bytes of each text, int64 (n,)."""
        return np.diff(self.offsets)

    @property
    def n_known(self) -> int:
        """How many are not empty."""
        return int(np.count_nonzero(self.lengths))

    def take(self, rows: np.ndarray) -> Strings:
        """Some texts, int64 (n,), in the order given."""
        starts = self.offsets[rows]
        lengths = self.offsets[rows + 1] - starts
        offsets = running(lengths)
        text = np.empty(offsets[-1], np.uint8)
        for first, last in _pieces(offsets):
            here = slice(first, last)
            text[offsets[first] : offsets[last]] = self.text[spans(starts[here], lengths[here])]
        return Strings(text, offsets)

    def part(self, start: int, stop: int) -> Strings:
        """Texts start to stop − 1."""
        first, last = self.offsets[start], self.offsets[stop]
        return Strings(self.text[first:last], self.offsets[start : stop + 1] - first)

    def pieces(self) -> Iterator[Strings]:
        """All texts, some at a time."""
        for first, last in _pieces(self.offsets):
            yield self.part(first, last)


def _pieces(offsets: np.ndarray) -> Iterable[tuple[int, int]]:
    """Runs of texts, given where each begins, int64 (n + 1,), by their first number and that behind
    their last: some at a time, as the place of a byte takes eight."""
    edges = np.searchsorted(offsets, np.arange(0, offsets[-1], _BYTES))
    return pairwise(np.unique([0, *edges, len(offsets) - 1]).tolist())


class Texts(Sequence[T], Generic[T]):
    """The texts of several shards as one sequence, decoded one by one; "" where unknown.

    Args:
        sizes: how many each shard has.
        mapped: those of a shard. The last few are kept, as a process may open few files.
        read: makes of a text what the sequence holds.
    """

    def __init__(
        self, sizes: Iterable[int], mapped: Callable[[int], Strings], read: Callable[[str], T]
    ) -> None:
        self._starts = [0, *accumulate(sizes)]
        self._mapped = lru_cache(_MAPPED)(mapped)
        self._read = read

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled without what is mapped."""
        return Texts, (np.diff(self._starts).tolist(), self._mapped.__wrapped__, self._read)

    def __len__(self) -> int:
        return self._starts[-1]

    @property
    def n_known(self) -> int:
        return sum(self._mapped(shard).n_known for shard in range(len(self._starts) - 1))

    @overload
    def __getitem__(self, number: int) -> T: ...
    @overload
    def __getitem__(self, number: slice) -> list[T]: ...
    def __getitem__(self, number: int | slice) -> T | list[T]:
        if isinstance(number, slice):
            return [self[i] for i in range(len(self))[number]]
        number = range(len(self))[number]  # IndexError; negative numbers count from the end
        shard = bisect_right(self._starts, number) - 1
        return self._read(self._mapped(shard)[number - self._starts[shard]])
