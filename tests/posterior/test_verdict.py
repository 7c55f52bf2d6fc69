"""Whether chains have converged, in a sentence: few draws tell nothing, whatever R̂ they have."""

import numpy as np
import pytest
from fake_runs import make_run

from topicmc.posterior.verdict import convergence


def judged(tmp_path, draws):
    theta = np.ones((5, 3), np.float32)
    chains = {chain: [theta] for chain in range(len(draws))}
    return convergence(make_run(tmp_path / "run", chains, trace={"groups": draws}))


@pytest.mark.parametrize("n_chains", [1, 2])
def test_few_draws_tell_nothing(tmp_path, n_chains):
    found = judged(tmp_path, np.random.default_rng(0).normal(size=(n_chains, 11)))
    assert found.converged is None
    assert "11 draws" in found.verdict and "cannot be told" in found.verdict


@pytest.mark.parametrize("n_chains", [1, 2])
def test_many_draws_that_agree_have_converged(tmp_path, n_chains):
    found = judged(tmp_path, np.random.default_rng(0).normal(size=(n_chains, 200)))
    assert found.converged is True and "converged, as far as" in found.verdict


def test_draws_that_drift_have_not(tmp_path):
    draws = np.linspace(0, 9, 200) + np.random.default_rng(0).normal(size=(1, 200))
    found = judged(tmp_path, draws)
    assert found.converged is False and "not converged: R̂ of groups" in found.verdict
