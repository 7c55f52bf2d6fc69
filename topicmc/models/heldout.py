"""Held-out documents cut in two, an observed part and a scored one: alike for every model."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from topicmc.corpora import Documents
from topicmc.corpora.offsets import offsets as offsets_of
from topicmc.kernels.batch import Minibatch
from topicmc.kernels.random import stream_key

OBSERVED_SHARE = 0.9


@dataclass(frozen=True)
class Split:
    """Held-out documents cut into an observed and a scored part.

    Attributes:
        observed: the observed tokens as a minibatch of n documents.
        scored_doc: int64 (T,), the row in ``observed`` of each scored token's document.
        scored_word: int64 (T,), its word id.
        unknown_words: scored or observed tokens left out because the model has no such word.
        fingerprint: names the split; figures are comparable only when it is the same.
    """

    observed: Minibatch
    scored_doc: np.ndarray
    scored_word: np.ndarray
    unknown_words: int
    fingerprint: str

    @property
    def n_docs(self) -> int:
        """Documents with at least one scored token."""
        return len(np.unique(self.scored_doc))

    @property
    def n_scored(self) -> int:
        """Tokens scored."""
        return len(self.scored_word)


def split_documents(heldout: Documents, *, seed: int, known: np.ndarray | None = None) -> Split:
    """Cuts held-out documents in two, the same way for every model over the same vocabulary.

    Of each document of N ≥ 2 tokens N / 10 are scored, to the nearest and halves down, but at least
    1; one of a single token has none.

    Args:
        heldout: the documents.
        seed: of the cut.
        known: bool (W,), the words that the model knows; tokens of others are dropped after the
            cut, so that models with different vocabularies are cut alike.
    """
    tokens = np.repeat(heldout.word_ids.astype(np.int64), heldout.counts)
    lengths = heldout.sizes
    starts = offsets_of(lengths)
    scored = np.zeros(len(tokens), bool)
    generator = np.random.Generator(np.random.Philox(key=int(stream_key(seed, "split"))))
    for start, length in zip(starts[:-1], lengths, strict=True):
        if length >= 2:
            n_scored = max(1, round(length * (1 - OBSERVED_SHARE)))
            scored[start + generator.choice(length, n_scored, replace=False)] = True
    documents = np.repeat(np.arange(heldout.n_docs), lengths)
    digest = hashlib.sha256()
    for array in (starts, tokens, np.packbits(scored)):
        digest.update(np.ascontiguousarray(array).tobytes())

    usable = np.ones(len(tokens), bool) if known is None else known[tokens]
    observed = usable & ~scored
    words, rows = np.unique(tokens[observed], return_inverse=True)
    counts = np.bincount(documents[observed], minlength=heldout.n_docs)
    minibatch = Minibatch(
        doc_ids=np.arange(heldout.n_docs, dtype=np.int64),
        offsets=offsets_of(counts),
        tokens=rows.astype(np.uint32),
        words=words.astype(np.int32),
    )
    return Split(
        observed=minibatch,
        scored_doc=documents[usable & scored],
        scored_word=tokens[usable & scored],
        unknown_words=int((~usable).sum()),
        fingerprint=digest.hexdigest()[:16],
    )


def part_of(split: Split, part: int, n_parts: int) -> Split:
    """The ``part``-th of ``n_parts`` contiguous shares of the documents, near equal in tokens."""
    if n_parts == 1:
        return split
    offsets = split.observed.offsets
    targets = offsets[-1] * np.arange(1, n_parts) / n_parts
    bounds = np.concatenate([[0], np.searchsorted(offsets, targets), [len(offsets) - 1]])
    first, last = bounds[part], bounds[part + 1]
    inside = (split.scored_doc >= first) & (split.scored_doc < last)
    return Split(
        observed=Minibatch(
            doc_ids=split.observed.doc_ids[first:last],
            offsets=offsets[first : last + 1] - offsets[first],
            tokens=split.observed.tokens[offsets[first] : offsets[last]],
            words=split.observed.words,
        ),
        scored_doc=split.scored_doc[inside] - first,
        scored_word=split.scored_word[inside],
        unknown_words=split.unknown_words,
        fingerprint=split.fingerprint,
    )
