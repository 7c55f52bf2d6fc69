"""Priors of topics as kernels read them, for tests that know them as numbers or as matrices."""

import numpy as np

from topicmc.kernels.prior import Beta
from topicmc.samplers.row_prior import Additions, RowPrior


def prior(beta, n_words: int) -> RowPrior:
    """From one number, or from b (W, K) whose least entry becomes the base."""
    if np.ndim(beta) == 0:
        return RowPrior(beta)
    over = np.asarray(beta) - np.min(beta)
    words = np.flatnonzero(over.any(axis=1))
    return RowPrior(float(np.min(beta)), Additions.of_words(words, over[words], n_words))


def rows(beta, shape: tuple[int, int], dtype=np.float32) -> Beta:
    """The same as a kernel reads it, for counts of that shape."""
    return prior(beta, shape[0]).rows(*shape, dtype)


def uneven(base: float, n_words: int, n_topics: int, seed: int = 0) -> np.ndarray:
    """b (W, K): a third of the words have more in some topics, up to tens of tokens."""
    generator = np.random.default_rng(seed)
    more = generator.gamma(0.5, 20.0, (n_words, n_topics)) * (
        generator.random((n_words, n_topics)) < 0.2
    )
    more[generator.random(n_words) < 2 / 3] = 0
    return base + more
