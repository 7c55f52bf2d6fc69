"""R̂, effective sample size, limit and trend are right where the truth is known, and are not stated
where draws cannot carry them."""

import numpy as np
import pytest
from fake_runs import autoregression

from topicmc.posterior.convergence import aligned, ess, limit, rhat, trend, worth

# ---- R̂


@pytest.mark.parametrize("size", [(1, 8), (1, 21), (2, 4), (2, 9), (4, 8)])
def test_one_in_a_hundred_sets_of_independent_draws_exceeds_the_limit(size):
    """Of 1,000 sets between 1 and 24; by chance fewer or more once in 10,000."""
    draws = np.random.default_rng(1).normal(size=(1000, *size))
    assert limit(*size) > 1.05
    assert 1 <= (rhat(draws) > limit(*size)).sum() <= 24


@pytest.mark.parametrize("correlation", [0.5, 0.9])
def test_the_limit_knows_of_effective_draws(correlation):
    """Of chains of one law 29 and 90 % exceed the limit for independent draws, but for its floor,
    and less than 1 % the one for as many draws as they are worth (by simulation with 3,000 sets);
    of 400 sets fewer than 15 % and more than 5 % would by chance once in 10^8."""
    n, chance = 200, 3.83  # the 1 % point of F with 3 and 396 degrees of freedom
    draws = autoregression(correlation, (400, 2, n), np.random.default_rng(3))
    effective = n * (1 - correlation) / (1 + correlation)
    found = rhat(draws)
    assert (found > np.sqrt((n / 2 - 1 + chance) / (n / 2))).mean() > 0.15
    assert (found > limit(2, n, effective)).mean() < 0.05
    assert limit(2, n, n) == limit(2, n)


def test_rhat_of_independent_draws_is_near_one():
    draws = np.random.default_rng(2).normal(size=(2, 1000))
    assert rhat(draws) == pytest.approx(1, abs=0.01)
    assert limit(2, 1000) == 1.05


@pytest.mark.parametrize("n", [4, 8, 30])
def test_chains_apart_exceed_it(n):
    draws = np.random.default_rng(3).normal(size=(200, 2, n))
    draws[:, 1] += 12
    assert (rhat(draws) > limit(2, n)).mean() > 0.95
    assert (rhat(draws) > 2).all()


def test_halves_of_one_chain_apart_exceed_it():
    draws = np.random.default_rng(4).normal(size=(100, 1, 17))
    draws[..., 8:] += 6
    assert (rhat(draws) > limit(1, 17)).all()


def test_too_few_draws_and_equal_draws_have_no_rhat():
    assert np.isnan(rhat(np.zeros((3, 2, 3)))).all()
    assert np.isnan(rhat(np.random.default_rng(0).normal(size=(1, 7))))
    assert np.isnan(rhat(np.ones((2, 8))))
    assert rhat(np.repeat([[1.0], [2.0]], 8, axis=1)) == np.inf


# ---- effective sample size


def true_size(correlation: float, n_chains: int, n: int) -> float:
    """Of an autoregression: the variance of its law over that of the mean of all draws."""
    lags = np.arange(1, n)
    return n_chains * n / (1 + 2 * np.sum((1 - lags / n) * correlation**lags))


@pytest.mark.parametrize("n_chains", [1, 2, 4])
def test_eight_draws_have_no_effective_size(n_chains):
    """ArviZ's is 19.3 for two chains of one law and for two that are 50 standard deviations apart,
    because it is a constant for so few."""
    draws = np.random.default_rng(0).normal(size=(n_chains, 8))
    assert np.isnan(ess(draws))
    assert np.isnan(ess(draws + 50 * np.arange(n_chains)[:, None]))


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.8, 0.9])
@pytest.mark.parametrize(("n_chains", "n"), [(1, 32), (2, 16), (2, 32), (4, 16), (4, 32), (2, 200)])
def test_effective_sample_size_of_an_autoregression(n_chains, n, correlation):
    """Over 300 sets of draws the median is 0.4 to 1.25 times the truth, and one in twenty-five at
    most is more than 4 times too large. Lone chains count where the truth is above 8: less cannot
    be told, mostly.

    By simulation with 3,000 sets medians are 0.62 to 0.98, of 300 with standard errors up to 0.05,
    and 0.6 % at most are so much too large: this fails by chance once in 10^6.
    """
    draws = autoregression(correlation, (300, n_chains, n), np.random.default_rng(1))
    found, truth = ess(draws), true_size(correlation, n_chains, n)
    assert np.nanmax(found) <= n_chains * n
    if n_chains > 1 or truth > 8:
        assert np.isnan(found).mean() < 0.1
        assert 0.4 < np.nanmedian(found) / truth < 1.25
        assert (found > 4 * truth).mean() <= 0.04


@pytest.mark.parametrize("correlation", [0.9, 0.97, 1.0])
def test_a_lone_chain_that_hardly_moves_has_none_mostly(correlation):
    """32 draws that are worth 2.4, 1.3 or, of a random walk, not one: more than 60 % cannot be
    told. By simulation with 3,000 sets it is 73 % and more; of 400 fewer than 60 % once in 10^8.
    """
    generator = np.random.default_rng(2)
    if correlation < 1:
        draws = autoregression(correlation, (400, 1, 32), generator)
    else:
        draws = generator.normal(size=(400, 1, 32)).cumsum(axis=-1)
    assert np.isnan(ess(draws)).mean() > 0.6


@pytest.mark.parametrize("correlation", [0.0, 0.9])
@pytest.mark.parametrize("n", [16, 32, 200])
@pytest.mark.parametrize("n_chains", [2, 3, 4])
def test_chains_apart_are_worth_as_many_as_they_are(n_chains, n, correlation):
    """50 standard deviations apart, however many draws they have."""
    draws = autoregression(correlation, (100, n_chains, n), np.random.default_rng(4))
    found = ess(draws + 50 * np.arange(n_chains)[:, None])
    assert (found >= 1).all()
    assert (found <= n_chains).all()


def test_modes_that_chains_share_count_once():
    """Four chains in two modes are worth a few draws, and not 128."""
    draws = np.random.default_rng(5).normal(size=(100, 4, 32))
    draws[:, 2:] += 50
    assert (ess(draws) < 4).all()


def test_equal_draws_and_such_as_are_no_numbers_have_none():
    assert np.isnan(ess(np.ones((2, 32))))
    assert np.isnan(ess(np.ones((1, 32))))
    assert 1 <= ess(np.repeat([[1.0], [2.0]], 32, axis=1)) <= 2
    draws = np.random.default_rng(6).normal(size=(3, 2, 32))
    draws[1, 0, 5], draws[2, 1, 31] = np.nan, np.inf
    assert np.isnan(ess(draws)).tolist() == [False, True, True]
    stuck = np.stack([np.zeros(32), draws[0, 0]])
    assert 1 <= ess(stuck) < 48


@pytest.mark.parametrize(("correlation", "n"), [(0.0, 32), (0.5, 32), (0.8, 32), (0.9, 200)])
def test_what_the_draws_of_one_chain_are_worth(correlation, n):
    """Estimates of 4,000 chains have their median within a tenth of the truth, twice as near as
    that by simulation; without the correction for bias of 32 draws at 0.8 it would be 6.5, not 4.1.
    The correlation of quantities that move alike is averaged, and so nearer; what does not move has
    no part in it."""
    draws = autoregression(correlation, (4000, n), np.random.default_rng(7)).T
    truth = true_size(correlation, 1, n)
    alone, together = worth(draws), worth(draws.reshape(n, 200, 20))
    assert np.median(alone) == pytest.approx(truth, rel=0.12)
    assert together.shape == (200, 1)
    assert np.median(together) == pytest.approx(truth, rel=0.15)
    if correlation > 0:
        assert np.std(np.log(together)) < np.std(np.log(alone)) / 2
    still = np.stack([draws[:, 0], np.ones(n)], axis=1)[:, None]
    assert worth(still) == pytest.approx(alone[0])
    assert (worth(draws[:4]) == 4).all()
    assert worth(np.ones((9, 2))).tolist() == [1, 1]


# ---- the rest


def test_trend():
    noise = np.random.default_rng(6).normal(size=(100, 12))
    assert sum(trend(draws)[1] < 0.01 for draws in noise) <= 6  # more once in 10,000
    rise, p = trend(np.arange(12) + 0.1 * noise[0])
    assert rise == pytest.approx(11, abs=0.3)
    assert p < 1e-6
    assert np.isnan(trend(noise[0, :3])).all()


def test_chains_are_aligned_at_their_ends():
    assert aligned([np.arange(5), np.arange(3)]).tolist() == [[2, 3, 4], [0, 1, 2]]
