"""Vocabularies: read from a file, grown from text, pruned."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from unicodedata import normalize

import numpy as np

from topicmc.corpora.streams import Stream, numbered_lines
from topicmc.corpora.text.stopwords import stop_words
from topicmc.errors import DataError, UsageError
from topicmc.storage.fields import UNSHOWN, quoted

_MAX_WORDS = 10_000_000  # each takes some 150 bytes here, and K weights in training
_MAX_IDS = 1 << 32  # that a spool can hold


def read_vocabulary(path: Path, strict: bool = False) -> list[str]:
    """One word a line, UTF-8. DataError names the line of an empty or repeated word, or, where it
    is ``strict``, of one that a terminal would obey."""
    seen: dict[str, int] = {}
    blank = 0
    with Stream(path) as stream:
        for number, line in numbered_lines(stream, "save it as UTF-8"):
            word = line.strip()
            if not word:
                blank = blank or number
                continue
            if blank:
                raise DataError(f"{path}, line {blank}: no word; give one word a line")
            if strict and UNSHOWN.search(word):
                raise DataError(
                    f"{path}, line {number}: {quoted(word)} holds control characters; remove them"
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


def spelled(words: Sequence[str]) -> dict[str, int]:
    """Where each word is, also by its composed spelling, which is that of words in text."""
    composed = {normalize("NFC", word): i for i, word in enumerate(words)}
    return composed | {word: i for i, word in enumerate(words)}


class WordTable:
    """Words seen so far, the id of each and the number of documents that hold it.

    When more than ``limit`` words are held, the rarest are forgotten until half are left, so that
    memory is bounded; a forgotten word that comes back starts anew under another id.
    """

    def __init__(self, limit: int = 2_000_000) -> None:
        self.n_forgotten = 0
        self._limit = limit
        self._n_ids = 0
        self._places: dict[str, int] = {}  # of the words held, in order
        self._ids = np.zeros(1 << 12, dtype=np.int64)  # by place, as the frequencies
        self._doc_freq = np.zeros(1 << 12, dtype=np.int64)

    def __len__(self) -> int:
        return len(self._places)

    def add(self, words: Sequence[str], doc_freq: np.ndarray) -> np.ndarray:
        """Ids, int64, of distinct words that are in doc_freq more documents. DataError when there
        are too many ids for a spool."""
        before = len(self)
        known = self._places
        places = np.fromiter((known.setdefault(w, len(known)) for w in words), np.int64, len(words))
        while len(self) > len(self._ids):
            self._ids = np.concatenate([self._ids, np.zeros_like(self._ids)])
            self._doc_freq = np.concatenate([self._doc_freq, np.zeros_like(self._doc_freq)])
        n_new = len(self) - before
        self._ids[before : len(self)] = np.arange(self._n_ids, self._n_ids + n_new)
        self._n_ids += n_new
        if self._n_ids > _MAX_IDS:
            raise DataError(
                "The sources hold too many different words: take fewer by --token-pattern or"
                " --max-length"
            )
        self._doc_freq[places] += doc_freq
        ids = self._ids[places]
        if len(self) > self._limit:
            self._forget()
        return ids

    def _forget(self) -> None:
        n = len(self)
        doc_freq = self._doc_freq[:n]
        stays = doc_freq > np.partition(doc_freq, n // 2)[n // 2]
        self._places = {word: i for i, word in enumerate(compress(self._places, stays))}
        self._ids[: len(self)] = self._ids[:n][stays]
        self._doc_freq[: len(self)] = doc_freq[stays]
        self._doc_freq[len(self) : n] = 0
        self.n_forgotten += n - len(self)

    def columns(self) -> tuple[list[str], np.ndarray, np.ndarray, int]:
        """Words, their ids, their document frequencies, and the number of ids ever given."""
        n = len(self)
        return list(self._places), self._ids[:n], self._doc_freq[:n], self._n_ids


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


def default_pruning(n_docs: int) -> Pruning:
    """What a vocabulary built from text goes through unless options say otherwise.

    Words of very few documents teach a topic nothing; those of more than half the documents
    belong to every topic. A handful of documents is left as it is, stop words apart.
    """
    if n_docs < 20:
        return Pruning(stopwords="english")
    min_df = min(5, max(2, n_docs // 50))
    return Pruning(min_df=min_df, max_df=0.5, keep=50_000, stopwords="english")


def _rank(words: list[str], doc_freq: np.ndarray) -> Callable[[int], tuple[int, str]]:
    return lambda i: (-int(doc_freq[i]), words[i])
