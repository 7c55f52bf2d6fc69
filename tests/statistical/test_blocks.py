"""What blocks under frozen counts do to the law of collapsed Gibbs sampling.

Documents of one token and α without bound: the topic of a token is drawn in proportion to φ_kw
alone. With many words Σ_w n_kw hardly moves, so each word of n tokens is an urn: the exact law of
its n_kw is Beta-binomial(β, β).

With B = 1/f blocks the topics of a block are drawn with the mean p of those drawn last in each of
the B blocks, drawn to one half by 2β/n, and with noise of variance p (1 − p) / (fn). A chain whose
mean is that of its last B values keeps 2/(B + 1) of a shock for good. So a block moves p towards
one half by 2β/n · 2/(B + 1), with a variance of p (1 − p) / (fn) · 4/(B + 1)², and with many tokens
the law is Beta(β', β') with β' the ratio of the two, β (B + 1)/B = β (1 + f).
"""

from itertools import pairwise

import numpy as np
import pytest

from topicmc.kernels.random import stream_key
from topicmc.kernels.threads import Threads
from topicmc.models.lda.collapsed.worker import CollapsedWorker
from topicmc.samplers.row_prior import RowPrior

WORDS, TOKENS, BETA, SWEEPS = 400, 12, 0.5, 1800


def beta_binomial_variance(beta):
    """Of n_kw / n."""
    n = TOKENS
    return n * beta * beta * (2 * beta + n) / ((2 * beta) ** 2 * (2 * beta + 1)) / n**2


def spread(n_blocks, seed):
    """The mean of (n_kw / n − ½)² over words and sweeps, over its exact value."""
    tokens = np.repeat(np.arange(WORDS, dtype=np.uint16), TOKENS)
    tokens = np.random.default_rng(seed).permutation(tokens)
    n_docs = len(tokens)
    worker = CollapsedWorker(np.arange(n_docs + 1), tokens, 0, WORDS, 2, stream_key(seed, "blocks"))
    edges = np.arange(n_blocks + 1) * n_docs // n_blocks
    found = []
    for sweep in range(SWEEPS):
        for first, last in pairwise(edges):
            worker.draw(
                np.arange(first, last), np.full(2, 1e6), RowPrior(BETA), sweep=sweep,
                one_by_one=False, threads=Threads(),
            )  # fmt: skip
        if sweep >= 100:
            found.append(((worker.word_topic[:, 0] / TOKENS - 0.5) ** 2).mean())
    return np.mean(found) / beta_binomial_variance(BETA)


@pytest.mark.parametrize("n_blocks", [4, 16])
def test_blocks_narrow_what_is_sampled(n_blocks):
    """By 11 % of the variance of a word that is wholly in doubt with four blocks a sweep, by 3 %
    with sixteen. The mean of 400 words has a standard error below 0.0016, so a false failure has a
    probability below 1e-4. (With 64 it would be 1 %, which no run as short as this tells from 0.)
    """
    narrowed = (2 * BETA + 1) / (2 * BETA * (1 + 1 / n_blocks) + 1)
    assert spread(n_blocks, 1) == pytest.approx(narrowed, abs=0.007)
