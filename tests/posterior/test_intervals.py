"""Credible intervals hold a draw of a further chain at the stated rate at least, where chains agree
and where they differ, for independent samples and for such as resemble their neighbours.

Rates are estimated from 20,000 repetitions, with a standard error of 0.0021 at 0.9.
"""

import numpy as np
import pytest
from fake_runs import autoregression
from scipy.stats import t

from topicmc.posterior.convergence import worth
from topicmc.posterior.intervals import credible_interval, half_width

REPEATS = 20_000


def rate(interval, shape: float, n_chains: int, n: int) -> float:
    generator = np.random.default_rng(7)
    chains = [generator.gamma(shape, size=(n, REPEATS)) for _ in range(n_chains)]
    low, high = interval(chains, 0.9)
    another = generator.gamma(shape, size=REPEATS)
    return float(((low <= another) & (another <= high)).mean())


@pytest.mark.parametrize("shape", [2.0, 50.0])
@pytest.mark.parametrize(("n_chains", "n"), [(1, 2), (1, 4), (1, 8), (1, 32), (4, 8), (4, 32)])
def test_another_draw_of_a_gamma_law_is_held(shape, n_chains, n):
    """At 0.89 to 0.95: what samples are worth is not known, so from 8 of one chain it is 0.93. By
    chance it fails once in 10^6."""
    assert 0.888 < rate(credible_interval, shape, n_chains, n) < 0.95


def test_quantiles_of_four_samples_would_be_caught():
    def quantiles(chains, level):
        return np.quantile(np.concatenate(chains), [(1 - level) / 2, (1 + level) / 2], axis=0)

    assert rate(quantiles, 50.0, 1, 4) < 0.75


def held(n_chains: int, n: int, correlation: float, apart: float, seed: int) -> tuple[float, float]:
    """How often a draw of a further chain is held, and how wide the intervals are in the median,
    relative to those of somebody who knows the law. Chains are autoregressions of variance 1 about
    means of variance apart²; the quantity is the cube of what is normal."""
    generator = np.random.default_rng(seed)

    def cubed(normal: np.ndarray) -> np.ndarray:
        return (100 + normal + apart * generator.normal(size=REPEATS)) ** 3

    chains = [
        cubed(autoregression(correlation, (REPEATS, n), generator).T) for _ in range(n_chains)
    ]
    low, high = credible_interval(chains, 0.9)
    another = cubed(generator.normal(size=REPEATS))
    width = np.median(np.cbrt(high) - np.cbrt(low)) / (2 * 1.645 * np.hypot(1, apart))
    return float(((low <= another) & (another <= high)).mean()), float(width)


@pytest.mark.parametrize("apart", [0.0, 0.5, 1.0, 2.0, 5.0])
@pytest.mark.parametrize("n", [8, 32])
@pytest.mark.parametrize("n_chains", [2, 4])
def test_a_further_chain_is_held_where_chains_differ(n_chains, n, apart):
    """At 0.89 at least: by chance less once in 10^6 of a true 0.90, the least by simulation. With
    the freedom of all samples but one it would be 0.68 where two chains differ much."""
    found, width = held(n_chains, n, 0.0, apart, seed=n_chains)
    assert found > 0.89
    if apart == 0:  # and not for being wide without a reason
        assert width < {2: 1.5, 4: 1.2}[n_chains]


@pytest.mark.parametrize("apart", [0.0, 2.0])
@pytest.mark.parametrize("correlation", [0.5, 0.9])
@pytest.mark.parametrize("n", [8, 32])
@pytest.mark.parametrize("n_chains", [2, 4])
def test_neighbours_that_resemble_each_other(n_chains, n, correlation, apart):
    """At 0.885 at least; by simulation it is 0.90 or more."""
    assert held(n_chains, n, correlation, apart, seed=5)[0] > 0.885


@pytest.mark.parametrize(("correlation", "n", "least"), [
    (0.0, 8, 0.9), (0.5, 8, 0.9), (0.9, 8, 0.8), (0.5, 32, 0.9), (0.9, 32, 0.88), (0.97, 32, 0.82),
])  # fmt: skip
def test_a_lone_chain_allows_for_neighbours(correlation, n, least):
    """Samples taken to be independent would hold 0.53 at a correlation of 0.9 of 8, 0.70 of 32, and
    0.47 at 0.97. By simulation rates are 0.015 or more above those that are asked for."""
    assert held(1, n, correlation, 0.0, seed=6)[0] > least


def test_quantities_of_a_kind_share_what_their_samples_are_worth():
    """Of 20 alike intervals vary less in width than of each alone, and hold as much."""
    generator = np.random.default_rng(8)
    draws = np.moveaxis(10 + autoregression(0.5, (1000, 20, 16), generator), -1, 0) ** 3
    alone = credible_interval([draws.reshape(16, -1)], 0.9)
    together = credible_interval([draws], 0.9)
    assert together[0].shape == (1000, 20)
    assert worth(draws).shape == (1000, 1)
    spread = [np.std(np.log(np.cbrt(high) - np.cbrt(low))) for low, high in (alone, together)]
    assert spread[1] < 0.7 * spread[0]
    another = (10 + generator.normal(size=(1000, 20))) ** 3
    assert ((together[0] <= another) & (another <= together[1])).mean() > 0.88


def test_chains_that_disagree_make_it_wide():
    generator = np.random.default_rng(1)
    low, high = credible_interval([m + generator.normal(0, 0.01, (8, 1)) for m in (1, 2)], 0.9)
    assert low[0] < 1 < 2 < high[0]
    alone, top = credible_interval([1 + generator.normal(0, 0.01, (8, 1))], 0.9)
    assert top[0] - alone[0] < 0.2


def test_where_it_cannot_be_told():
    """One sample tells nothing, and samples that are all equal do not; two chains of one do."""
    assert np.isnan(credible_interval([np.ones((1, 3))], 0.9)).all()
    assert np.isnan(credible_interval([np.ones((8, 3))], 0.9)).all()
    assert np.isnan(credible_interval([np.ones((8, 3)), np.ones((8, 3))], 0.9)).all()
    for n in (1, 8):
        low, high = credible_interval([np.full((n, 3), 1.0), np.full((n, 3), 2.0)], 0.9)
        assert (low < 1).all()
        assert (high > 2).all()
    draws = np.random.default_rng(2).gamma(9, size=(8, 3))
    draws[4, 1] = np.nan
    assert np.isnan(credible_interval([draws], 0.9)[0]).tolist() == [False, True, False]


@pytest.mark.parametrize("n_chains", [1, 3])
def test_half_widths_are_those_of_students_t(n_chains):
    """By hand, of quantities of either sign."""
    chains = list(np.random.default_rng(3).normal(-0.4, 2, size=(n_chains, 9, 50)))
    within = np.mean([draws.var(axis=0) for draws in chains], axis=0)
    worths = np.array([np.maximum(worth(draws), 2) for draws in chains])
    factor = t.ppf(0.9, (worths - 1).sum(axis=0))
    if n_chains == 1:
        expected = factor * np.sqrt(within * (worths[0] + 1) / (worths[0] - 1))
    else:
        between = (1 + 1 / n_chains) * np.var([d.mean(axis=0) for d in chains], axis=0, ddof=1)
        expected = factor * within + t.ppf(0.9, n_chains - 1) * between
        expected /= np.sqrt(within + between)
    np.testing.assert_allclose(half_width(chains, 0.8), expected)
    assert (half_width([np.full((8, 2), -1.5)], 0.9) == 0).all()  # where nobody doubts
    assert np.isnan(half_width([np.ones((1, 2))], 0.9)).all()


@pytest.mark.parametrize(("n_chains", "n"), [(1, 4), (1, 32), (4, 8)])
def test_another_draw_of_a_normal_law_is_held(n_chains, n):
    """At rates as those of a gamma law, on the quantities' own scale."""
    generator = np.random.default_rng(7)
    chains = [generator.normal(-0.3, 2, size=(n, REPEATS)) for _ in range(n_chains)]
    middle, half = np.mean(chains, axis=(0, 1)), half_width(chains, 0.9)
    another = generator.normal(-0.3, 2, size=REPEATS)
    assert 0.888 < (abs(another - middle) < half).mean() < 0.95


def test_unlike_numbers_of_samples():
    """A chain of one sample and one of 32, of one law: as sure as two chains are."""
    generator = np.random.default_rng(9)
    chains = [(20 + generator.normal(size=(n, REPEATS))) ** 3 for n in (1, 32)]
    low, high = credible_interval(chains, 0.9)
    another = (20 + generator.normal(size=REPEATS)) ** 3
    assert ((low <= another) & (another <= high)).mean() > 0.885


def test_ends_are_not_negative():
    low, _ = credible_interval([np.array([[0.0], [1e-9], [5.0]])], 0.99)
    assert low[0] == 0
