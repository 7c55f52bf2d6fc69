"""Standard errors of running means, against how far the means of many chains are off."""

from functools import cache

import numpy as np
import pytest
from fake_runs import autoregression

from topicmc.posterior.running import RUNNING, WEIGHT, running_errors, standard_error

CHAINS, UPDATES, APART = 400, 4_000, 16


@cache
def recorded(rho):
    """Weights (n,) and running means (CHAINS, n) of autoregressions about 2, weighted by t³."""
    x = autoregression(rho, (CHAINS, UPDATES), np.random.default_rng(0))
    weights = np.arange(1.0, UPDATES + 1) ** 3
    sums, totals = np.cumsum(weights * (2 + x), axis=1), np.cumsum(weights)
    return totals[APART - 1 :: APART], (sums / totals)[:, APART - 1 :: APART]


@pytest.mark.parametrize("rho", [0.0, 0.9])
def test_it_is_what_means_are_off(rho):
    """400 chains with a fixed seed: both sides are known to some 4 %."""
    weights, means = recorded(rho)
    errors = np.array([standard_error(weights, chain) for chain in means])
    off = np.sqrt(((means[:, -1] - 2) ** 2).mean())
    assert np.sqrt((errors**2).mean()) == pytest.approx(off, rel=0.12)
    within = np.mean(abs(means[:, -1] - 2) < 2 * errors)
    assert 0.88 < within < 0.97


def test_records_may_be_left_out():
    """A trace grows thinner behind: means of the same updates are told by fewer records."""
    weights, means = recorded(0.9)
    every = [standard_error(weights, chain) for chain in means]
    fewer = [standard_error(weights[3::4], chain[3::4]) for chain in means]
    assert np.mean(fewer) == pytest.approx(np.mean(every), rel=0.1)


def test_a_mean_that_began_again_is_told_by_what_came_after():
    weights, means = recorded(0.0)

    def trace(chain, n):
        return [
            {"chains": {"0": {RUNNING: m, WEIGHT: w}}}
            for w, m in zip(weights[:n], means[chain, :n], strict=True)
        ]

    assert running_errors(trace(0, 40) + trace(1, 30)) == running_errors(trace(1, 30)) != {}
    assert running_errors(trace(0, 40) + trace(1, 15)) == {}


def test_a_mean_that_began_again_behind_averages_is_told_by_what_came_after():
    """Its first record may weigh more than the last of the mean before."""
    weights, means = recorded(0.0)

    def trace(chain, first, last):
        return [
            {"chains": {"0": {RUNNING: m, WEIGHT: w}}}
            for w, m in zip(weights[first:last], means[chain, first:last], strict=True)
        ]

    averaged = [{"chains": {"0": {"log likelihood": -7.0}}}] * 3
    found = running_errors(trace(0, 0, 40) + averaged + trace(1, 50, 90))
    assert found == running_errors(trace(1, 50, 90)) != {}
    assert running_errors(trace(0, 0, 40) + averaged) == {}


def test_a_trace_with_few_records_tells_nothing():
    def trace(n):
        weights, means = recorded(0.0)
        return [
            {"chains": {"0": {RUNNING: m, WEIGHT: w}, "1": {"log likelihood": -7.0}}}
            for w, m in zip(weights[:n], means[0, :n], strict=True)
        ]

    assert running_errors(trace(15)) == {}
    weights, means = recorded(0.0)
    assert running_errors(trace(50)) == {0: standard_error(weights[:50], means[0, :50])}
