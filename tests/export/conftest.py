"""A run to export, and what its topics say of documents."""

from dataclasses import replace

import numpy as np
import pytest
from made_run import Made, make_run
from scipy.special import digamma


@pytest.fixture(scope="session")
def made(small_corpus, tmp_path_factory) -> Made:
    """Not to be changed."""
    return make_run(small_corpus, tmp_path_factory.mktemp("made") / "run", seed=5)


@pytest.fixture(scope="session")
def topics(made):
    """The topics of the first chain, with α as it is."""
    return made.source().topics


@pytest.fixture(scope="session")
def even(topics):
    """The same with one α for all topics."""
    return replace(topics, alpha=np.full(5, 0.3))


@pytest.fixture(scope="session")
def documents(small_corpus) -> np.ndarray:
    """Counts of some training documents: int (n, W)."""
    shard = small_corpus.shard(0)
    counts = np.zeros((20, small_corpus.n_words), int)
    for d in range(20):
        entries = slice(shard.indptr[d], shard.indptr[d + 1])
        counts[d, shard.word_ids[entries]] = shard.counts[entries]
    return counts


@pytest.fixture(scope="session")
def mixes():
    """Topic mixes of documents (n, W) by mean-field inference with φ fixed (Blei et al. 2003,
    eqns 6 and 7), to the fixed point: float64 (n, K)."""

    def infer(phi: np.ndarray, alpha: np.ndarray, documents: np.ndarray) -> np.ndarray:
        gamma = np.ones((len(documents), len(phi)))
        for _ in range(2000):
            weight = np.exp(digamma(gamma) - digamma(gamma.sum(axis=1, keepdims=True)))
            gamma = alpha + weight * (documents / (weight @ phi) @ phi.T)
        return gamma / gamma.sum(axis=1, keepdims=True)

    return infer
