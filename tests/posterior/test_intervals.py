"""Credible intervals hold another draw at the stated rate, from few samples as from many.

The rate is estimated from 20,000 repetitions, with a standard error of 0.0021; the tolerance of
0.012 leaves room for the approximation of the gamma law, and fails by chance once in 10^7.
"""

import numpy as np
import pytest

from topicmc.posterior.intervals import credible_interval

REPEATS = 20_000


def rate(interval, shape: float, n_chains: int, n: int) -> float:
    generator = np.random.default_rng(7)
    chains = [generator.gamma(shape, size=(n, REPEATS)) for _ in range(n_chains)]
    low, high = interval(chains, 0.9)
    another = generator.gamma(shape, size=REPEATS)
    return float(((low <= another) & (another <= high)).mean())


@pytest.mark.parametrize("shape", [2.0, 50.0])
@pytest.mark.parametrize(("n_chains", "n"), [(1, 2), (1, 4), (1, 8), (2, 4), (2, 8)])
def test_another_draw_is_held_at_the_stated_rate(shape, n_chains, n):
    assert rate(credible_interval, shape, n_chains, n) == pytest.approx(0.9, abs=0.012)


def test_quantiles_of_four_samples_would_be_caught():
    def quantiles(chains, level):
        return np.quantile(np.concatenate(chains), [(1 - level) / 2, (1 + level) / 2], axis=0)

    assert rate(quantiles, 50.0, 1, 4) < 0.75


def test_chains_that_disagree_make_it_wide():
    generator = np.random.default_rng(1)
    low, high = credible_interval([m + generator.normal(0, 0.01, (8, 1)) for m in (1, 2)], 0.9)
    assert low[0] < 1 < 2 < high[0]
    alone, top = credible_interval([1 + generator.normal(0, 0.01, (8, 1))], 0.9)
    assert top[0] - alone[0] < 0.1


def test_one_sample_tells_nothing_and_two_chains_of_one_do():
    assert np.isnan(credible_interval([np.ones((1, 3))], 0.9)).all()
    low, high = credible_interval([np.full((1, 3), 1.0), np.full((1, 3), 2.0)], 0.9)
    assert (low < 1).all()
    assert (high > 2).all()


def test_ends_are_not_negative():
    low, _ = credible_interval([np.array([[0.0], [1e-9], [5.0]])], 0.99)
    assert low[0] == 0
