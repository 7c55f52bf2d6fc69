"""LDA in the natural parametrisation (Baker 2018, 3.5.3), as a figure of the papers runs it."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
from papers import natural


def test_the_gradient_is_that_of_the_log_posterior():
    """Given the topics of all tokens, by central differences."""
    generator = np.random.default_rng(1)
    theta, counts = generator.normal(size=(7, 3)), generator.poisson(5.0, (7, 3)).astype(float)

    def log_posterior(theta: np.ndarray) -> float:
        log_phi = theta - np.log(np.exp(theta).sum(axis=0))
        return float((natural.BETA * theta - np.exp(theta) + counts * log_phi).sum())

    found = natural.gradient(np.exp(theta), counts)
    for place in np.ndindex(theta.shape):
        step = np.zeros_like(theta)
        step[place] = 1e-6
        slope = (log_posterior(theta + step) - log_posterior(theta - step)) / 2e-6
        assert found[place] == pytest.approx(slope, abs=1e-6)


class Known:
    """Six documents whose c_d depends on the weights in a known way, one to a minibatch."""

    n_docs, offsets = natural.BATCH * 6, np.arange(7)

    def __init__(self) -> None:
        self.mixes = np.random.default_rng(2).gamma(1.0, size=(6, natural.WORDS, natural.TOPICS))
        self.next = 0

    def batch(self) -> int:
        return self.next

    def all_batches(self) -> range:
        return range(6)

    def drawn(self, batch: int, weights: np.ndarray, update: int) -> np.ndarray:
        return self.mixes[batch] * weights


@pytest.mark.parametrize("released", [False, True])
def test_control_variates_are_unbiased_but_as_released(released):
    """Over all minibatches: the mean is n(θ), and as released n(θ̂)."""
    known = Known()
    random = np.random.default_rng(3)
    anchor, weights = random.gamma(1.0, size=(2, natural.WORDS, natural.TOPICS))
    counts = natural.anchored(known, anchor, released)
    means = []
    for known.next in range(6):
        means.append(counts(weights, 1))
    expected = (known.mixes * (anchor if released else weights)).sum(axis=0)
    np.testing.assert_allclose(np.mean(means, axis=0), expected, rtol=1e-9)
