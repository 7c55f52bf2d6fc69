"""The demonstration of D-SGLD section 4.1: shards used unequally often must not bias the chain."""

import importlib.util
from pathlib import Path

import pytest

_path = Path(__file__).parents[2] / "bench" / "gaussian.py"
_spec = importlib.util.spec_from_file_location("bench_gaussian", _path)
gaussian = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(gaussian)


@pytest.mark.parametrize("corrected", [True, False])
def test_the_correction_removes_the_bias(corrected):
    """The stated error is the term of finite trajectories, known exactly, and a Monte Carlo error
    that is exceeded by chance once in 10⁶ runs. With N_s / (N q_s) the sample mean lies within it
    of the posterior mean; without, it does not, but where theory says that the bias puts it."""
    cluster, chains = gaussian.unequal_shards(corrected, n_cycles=20)
    step = gaussian.UNEQUAL["step"]
    trajectory_term = gaussian.distance(
        cluster, gaussian.long_run_mean(cluster, gaussian.UNEQUAL_PLAN, step, corrected=True)
    )
    error = gaussian.monte_carlo_error(cluster, chains)
    assert trajectory_term < 0.3  # posterior standard deviations: the error stated means something
    assert error < 0.8
    off = gaussian.distance(cluster, chains.mean(axis=(0, 1)))
    if corrected:
        assert off < trajectory_term + error
    else:
        assert off > trajectory_term + error
        biased = gaussian.long_run_mean(cluster, gaussian.UNEQUAL_PLAN, step, corrected=False)
        assert abs(off - gaussian.distance(cluster, biased)) < error


def test_long_trajectories_sample_a_mixture_of_local_posteriors():
    """10,000 updates per visit: the variance is that of the local posteriors (all of the width of
    the full one, as each gradient is scaled to N) plus that of their centers. 10 per visit: that
    of the full posterior. Both widths include what SGLD adds at this step size. Over chain seeds
    the variances spread by 0.10 and 0.026, so a band is left by chance less than once in 10⁶."""
    cluster, long = gaussian.trajectory_lengths(10_000)
    _, short = gaussian.trajectory_lengths(10)
    posterior_variance = cluster.posterior()[1]
    rate = gaussian.EQUAL["step"] / 2 / posterior_variance
    noise = gaussian.EQUAL["step"] + rate**2 / gaussian.EQUAL["batch_size"]
    width = noise / (2 * rate - rate**2) / posterior_variance
    centers = cluster.shard_means.var(axis=0).mean() / posterior_variance
    assert centers > 1
    assert gaussian.relative_variance(cluster, long) == pytest.approx(width + centers, abs=0.6)
    assert gaussian.relative_variance(cluster, short) == pytest.approx(width, abs=0.15)
