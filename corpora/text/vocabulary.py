"""Vocabularies: read from a file, grown from text, pruned."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from topicmc.corpora.streams import Stream, numbered_lines
from topicmc.corpora.text.stopwords import stop_words
from topicmc.errors import DataError, UsageError
from topicmc.storage.fields import UNSHOWN, shown

_MAX_WORDS = 10_000_000  # each takes some 150 bytes here, and K weights in training


def read_vocabulary(path: Path, strict: bool = False) -> list[str]:
    """One word a line, UTF-8. DataError names the line of an empty or repeated word, or, where it
    is ``strict``, of one that a terminal would obey."""
    seen: dict[str, int] = {}
    blank = 0
    with Stream(path) as stream:
        for number, line in numbered_lines(stream):
            word = line.strip()
            if not word:
                blank = blank or number
                continue
            if blank:
                raise DataError(f"{path}, line {blank}: no word; give one word a line")
            if strict and UNSHOWN.search(word):
                raise DataError(
                    f"{path}, line {number}: {shown(word)} holds control characters; remove them"
                )
            if word in seen:
                raise DataError(
                    f"{path}, line {number}: {word!r} stands on line {seen[word]} already; "
                    "give each word once"
                )
            seen[word] = number
            if len(seen) > _MAX_WORDS:
                raise DataError(f"{path} holds more than {_MAX_WORDS:,} words: prune it")
    if not seen:
        raise DataError(f"{path} holds no words: give one word a line")
    return list(seen)


def ids_in(vocabulary: Sequence[str], words: Iterable[str]) -> np.ndarray:
    """The id that each word has in a vocabulary: int64 (n,), −1 where it is not there."""
    ids = {word: i for i, word in enumerate(vocabulary)}
    return np.array([ids.get(word, -1) for word in words], np.int64)


class WordTable:
    """Words seen so far, the id of each and the number of documents that hold it.

    When more than ``limit`` words are held, the rarest are forgotten until half are left, so that
    memory is bounded; a forgotten word that comes back starts anew under another id.
    """

    def __init__(self, limit: int = 2_000_000) -> None:
        self.ids: dict[str, int] = {}
        self.n_forgotten = 0
        self._limit = limit
        self._n_ids = 0
        self._doc_freq = np.zeros(1 << 12, dtype=np.int64)

    def add(self, words: Sequence[str], doc_freq: np.ndarray) -> np.ndarray:
        """Ids, int64, of distinct words that are in doc_freq more documents."""
        ids = np.fromiter(map(self._id, words), dtype=np.int64, count=len(words))
        while self._n_ids > len(self._doc_freq):
            self._doc_freq = np.concatenate([self._doc_freq, np.zeros_like(self._doc_freq)])
        self._doc_freq[ids] += doc_freq
        if len(self.ids) > self._limit:
            self._forget()
        return ids

    def _id(self, word: str) -> int:
        number = self.ids.get(word)
        if number is None:
            number = self.ids[word] = self._n_ids
            self._n_ids += 1
        return number

    def _forget(self) -> None:
        held = np.fromiter(self.ids.values(), dtype=np.int64, count=len(self.ids))
        floor = np.partition(self._doc_freq[held], len(held) // 2)[len(held) // 2]
        before = len(self.ids)
        self.ids = {word: i for word, i in self.ids.items() if self._doc_freq[i] > floor}
        self.n_forgotten += before - len(self.ids)

    def columns(self) -> tuple[list[str], np.ndarray, np.ndarray, int]:
        """Words, their ids, their document frequencies, and the number of ids ever given."""
        ids = np.fromiter(self.ids.values(), dtype=np.int64, count=len(self.ids))
        return list(self.ids), ids, self._doc_freq[ids], self._n_ids


@dataclass(frozen=True)
class Pruning:
    """Which words stay: in ``min_df`` documents or more, in at most the share ``max_df`` of them,
    not a stop word, and among the ``keep`` in most documents."""

    min_df: int = 0
    max_df: float = 1.0
    keep: int | None = None
    stopwords: str = "none"

    def __post_init__(self) -> None:
        if self.min_df < 0:
            raise UsageError(f"--min-df {self.min_df}: give a number of documents, 0 or more")
        if not 0 < self.max_df <= 1:
            raise UsageError(f"--max-df {self.max_df:g}: give a share of the documents in (0, 1]")
        if self.keep is not None and self.keep < 1:
            raise UsageError(f"--keep {self.keep}: give a number of words, 1 or more")

    def mask(self, words: list[str], doc_freq: np.ndarray, n_docs: int) -> np.ndarray:
        """bool (W,): the words that stay; ties at ``keep`` go by the alphabet."""
        stop = stop_words(self.stopwords)
        # Shares are compared, since 0.29 * 100 is less than 29.
        mask = (doc_freq >= self.min_df) & (doc_freq / n_docs <= self.max_df)
        if stop:
            mask &= np.fromiter(
                (w.lower() not in stop for w in words), dtype=bool, count=len(words)
            )
        if self.keep is not None and mask.sum() > self.keep:
            ranked = sorted(np.flatnonzero(mask).tolist(), key=_rank(words, doc_freq))
            mask[ranked[self.keep :]] = False
        return mask


def _rank(words: list[str], doc_freq: np.ndarray) -> Callable[[int], tuple[int, str]]:
    return lambda i: (-int(doc_freq[i]), words[i])
