"""From text to words."""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import compress
from typing import NamedTuple

import numpy as np

# Letters of any script: digits and underscores part words and are dropped.
_WORD = re.compile(r"[^\W\d_]+")
_MIN_LETTERS, _MAX_LETTERS = 2, 40


def tokenize(text: str) -> list[str]:
    """Lower-cased runs of 2 to 40 letters, in order."""
    return [w for w in _WORD.findall(text.lower()) if _MIN_LETTERS <= len(w) <= _MAX_LETTERS]


class WordCounts(NamedTuple):
    """A batch of n documents over its own V distinct words: little to send between processes."""

    words: list[str]  # V, in order of first use
    doc_freq: np.ndarray  # int64 (V,): documents of the batch that hold the word
    lengths: np.ndarray  # int64 (n,): entries of each document
    word_ids: np.ndarray  # int64 (E,): positions in words
    counts: np.ndarray  # int64 (E,)
    kept: np.ndarray  # bool: which texts are the n documents; the others are under min_tokens
    digests: np.ndarray  # uint64 (n,): equal for documents of the same words in the same order

    @property
    def n_skipped(self) -> int:
        return len(self.kept) - len(self.lengths)


def token_lists(
    texts: Sequence[str], plain: Callable[[str], str] | None = None, min_tokens: int = 0
) -> list[list[str]]:
    """Words of each document that has min_tokens or more; ``plain`` strips markup first."""
    documents = (tokenize(plain(text) if plain else text) for text in texts)
    return [words for words in documents if len(words) >= min_tokens]


def count_words(
    texts: Sequence[str],
    plain: Callable[[str], str] | None = None,
    min_tokens: int = 0,
    join: Callable[[list[str]], list[str]] | None = None,
) -> WordCounts:
    """Counts of each document's words, those of `token_lists`; ``join`` makes phrases of some."""
    index: dict[str, int] = {}
    lengths: list[int] = []
    word_ids: list[int] = []
    counts: list[int] = []
    digests: list[int] = []
    documents = token_lists(texts, plain)
    kept = np.array([len(words) >= min_tokens for words in documents], dtype=bool)
    for words in compress(documents, kept):
        digests.append(digest(words))
        found = Counter(join(words) if join else words)
        lengths.append(len(found))
        word_ids.extend(index.setdefault(word, len(index)) for word in found)
        counts.extend(found.values())
    ids = np.array(word_ids, dtype=np.int64)
    return WordCounts(
        list(index),
        np.bincount(ids, minlength=len(index)),
        np.array(lengths, dtype=np.int64),
        ids,
        np.array(counts, dtype=np.int64),
        kept,
        np.array(digests, dtype=np.uint64),
    )


def digest(words: Sequence[str]) -> int:
    """64 bits of BLAKE2b of the words in order: those of two documents that differ are equal with
    probability 2⁻⁶⁴."""
    text = "\n".join(words).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")
