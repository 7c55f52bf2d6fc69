"""How sure a topic mix is: the posterior standard deviation of each η_dk.

It counts two reasons for doubt: the document is short, and the topics themselves are known from
samples only. Gibbs sampling of the document's topic assignments z goes from one draw of the topics
from their posterior to the next, and gives draws (φ, z)_r. With η | z ~ Dirichlet(α + n_d), by the
law of total variance,

    Var η_dk = mean_r Var(η_dk | z_r) + var_r E(η_dk | z_r),

the second term being the variance between the means of draws of φ, and of z around them.

It tells nothing of doubt that the samples of one chain do not show: that other topics, which
another chain would have found, describe the documents as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from topicmc.corpora import Documents
from topicmc.kernels.assignments import sample_assignments
from topicmc.kernels.batch import gather
from topicmc.kernels.gibbs import UNASSIGNED, topic_rows
from topicmc.kernels.padding import padded_topics
from topicmc.kernels.random import stream_key
from topicmc.kernels.threads import Threads

DRAWS = 32
"""Draws of z in all at most, shared out among the draws of the topics."""
MOST = DRAWS // 2
"""Draws of the topics at most, for each has two of z."""
_THIN = 2  # sweeps from one draw to the next
_BURN_IN = 10  # sweeps before the first
_SETTLE = 2  # sweeps after each change of φ


class Sample(NamedTuple):
    """One draw of the topics from their posterior."""

    theta: np.ndarray
    """float32 (W, K), positive: φ_kw = θ_wk / Σ_w θ_wk. May be a memory map."""
    sums: np.ndarray
    """float64 (K,): Σ_w θ_wk."""
    alpha: np.ndarray
    """float64 (K,): the prior of the mixes."""


def deviations(
    documents: Documents,
    samples: Sequence[Sample],
    *,
    seed: int,
    first: int,
    threads: Threads,
    summed: Callable[[np.ndarray], np.ndarray] = lambda mix: mix,
) -> np.ndarray:
    """Posterior standard deviations of the mixes of some documents: float64 (n, K), or of sums of
    shares, which ``summed`` makes of (n, K).

    They are estimates from 22 to 32 draws of z, under at most `MOST` samples, evenly spread. The
    randomness of a document is keyed by the seed and its number; the documents are numbered from
    ``first``.
    """
    n_words, n_topics = samples[0].theta.shape
    batch = gather(
        documents.indptr,
        documents.word_ids,
        documents.counts,
        np.arange(documents.n_docs),
        n_words,
        threads,
    )
    batch = batch._replace(doc_ids=batch.doc_ids + first)
    z = np.full(batch.n_tokens, UNASSIGNED)
    key = stream_key(seed, "deviations")
    n_draws = max(2, DRAWS // len(samples))
    total = np.zeros(summed(np.zeros((documents.n_docs, n_topics))).shape)
    squares, grouped, within = (np.zeros_like(total) for _ in range(3))
    update = 0
    for number, sample in enumerate(samples):
        rows = topic_rows(sample.theta, sample.sums, batch.words, threads)
        alpha = padded_topics(sample.alpha)
        before = total.copy()
        for draw in range(n_draws):
            sweeps = _THIN
            if draw == 0:
                sweeps += _SETTLE if number else _BURN_IN
            drawn = sample_assignments(
                batch, rows, alpha, sweeps=sweeps, burn_in=sweeps - 1, key=key, update=update,
                threads=threads, want_word_topic=False, want_doc_topic=True, z=z,
            )  # fmt: skip
            assert drawn.doc_topic is not None
            update += 1
            mix = drawn.doc_topic[:, :n_topics] + sample.alpha
            size = mix.sum(axis=1, keepdims=True)
            mix = summed(mix / size)
            total += mix
            squares += mix * mix
            within += mix * (1 - mix) / (size + 1)
        grouped += (total - before) ** 2 / n_draws
    between = (squares - grouped) / (update - len(samples))
    if len(samples) > 1:
        of_means = (grouped - total**2 / update) / (len(samples) - 1)
        between = (of_means + (n_draws - 1) * between) / n_draws
    return np.sqrt(within / update + np.maximum(between, 0))
