"""Convergence is judged rightly where the truth is known: chains of one law, chains apart, chains
that still move, and too few draws to tell."""

import json
import re

import numpy as np
import pytest
from fake_runs import gamma_samples, make_run, topic_shapes

from topicmc.posterior.convergence import aligned, ess, limit, rhat, trend
from topicmc.posterior.diagnostics import diagnose

K, W = 5, 60
SHAPES = topic_shapes(W, K)


@pytest.mark.parametrize("size", [(1, 8), (1, 21), (2, 4), (2, 9), (4, 8)])
def test_one_in_a_hundred_sets_of_independent_draws_exceeds_the_limit(size):
    """Of 1,000 sets between 1 and 24; by chance fewer or more once in 10,000."""
    draws = np.random.default_rng(1).normal(size=(1000, *size))
    assert limit(*size) > 1.05
    assert 1 <= (rhat(draws) > limit(*size)).sum() <= 24


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
    assert np.isnan(ess(np.zeros((2, 3))))


def test_effective_sample_size_of_an_autoregression():
    """With correlation 0.9 from one draw to the next, one draw in 19 counts."""
    noise = np.random.default_rng(5).normal(size=(2, 20_000))
    draws = noise.copy()
    for i in range(1, draws.shape[1]):
        draws[:, i] += 0.9 * draws[:, i - 1]
    assert ess(noise) == pytest.approx(40_000, rel=0.1)
    assert ess(draws) == pytest.approx(40_000 / 19, rel=0.25)


def test_trend():
    noise = np.random.default_rng(6).normal(size=(100, 12))
    assert sum(trend(draws)[1] < 0.01 for draws in noise) <= 6  # more once in 10,000
    rise, p = trend(np.arange(12) + 0.1 * noise[0])
    assert rise == pytest.approx(11, abs=0.3)
    assert p < 1e-6
    assert np.isnan(trend(noise[0, :3])).all()


def test_chains_are_aligned_at_their_ends():
    assert aligned([np.arange(5), np.arange(3)]).tolist() == [[2, 3, 4], [0, 1, 2]]


# ---- verdicts


def scores(n: int, *means: float, slope: float = 0.0) -> list[list[float]]:
    """Log-likelihoods of chains around some means, n evaluations."""
    noise = np.random.default_rng(8).normal(0, 0.002, (n, len(means)))
    return (noise + np.array(means) + slope * np.arange(n)[:, None]).tolist()


def sampled(n: int = 8, chains: int = 1, shapes: np.ndarray = SHAPES) -> dict[int, list]:
    generator = np.random.default_rng(9)
    return {chain: gamma_samples(shapes, n, generator) for chain in range(chains)}


def told(tmp_path, samples, values, **settings):
    return diagnose([make_run(tmp_path / "run", samples, values, **settings)])


def test_chains_of_one_law_have_converged(tmp_path):
    found = told(tmp_path, sampled(8, 2), scores(20, -7.0, -7.0))
    assert found.converged is True
    assert found.verdict.startswith(
        "Converged: the chains agree in fit, topic sizes and all topics"
    )
    assert set(found.rhat) == set(found.ess) == {
        "held-out log-likelihood", "largest topic's size", "median topic's size",
        "smallest topic's size", "matched topics",
    }  # fmt: skip
    assert max(found.rhat.values()) < 1.5
    assert not any("collapsed" in flag or "duplicate" in flag for flag in found.flags)


def test_chains_in_modes_of_their_own(tmp_path):
    found = told(tmp_path, sampled(8, 2), scores(20, -7.0, -7.05))
    assert found.converged is False
    assert "in a mode of its own" in found.verdict
    assert "perplexities differ by 5." in found.verdict
    assert "5 of 5 topics" in found.verdict
    assert found.rhat["held-out log-likelihood"] > 5


def test_sizes_betray_chains_that_fit_alike(tmp_path):
    samples = sampled(8, 2)
    for theta in samples[1]:
        theta[:, 0] *= 3
    found = told(tmp_path, samples, scores(20, -7.0, -7.0))
    assert found.converged is False
    assert "topic's size" in found.verdict


def test_a_chain_that_still_gains(tmp_path):
    found = told(
        tmp_path, sampled(8), scores(20, -7.0, slope=0.002), time_budget=60.0, updates=None
    )
    assert found.converged is False
    assert re.search(r"still falls, by [34]\.\d% over the second half", found.verdict)
    assert f"topicmc train -o {tmp_path / 'run'} --resume --time-budget 120s" in found.verdict


def test_a_gain_that_nobody_would_train_for_is_no_trend(tmp_path):
    steady = [[-7 + 1e-4 * i] for i in range(8)]  # 0.07 %, and significant
    found = told(tmp_path, sampled(8), steady)
    assert "still falls" not in found.verdict


def test_one_chain_at_rest(tmp_path):
    found = told(tmp_path, sampled(8), scores(20, -7.0))
    assert found.converged is True
    assert "as far as one chain can tell" in found.verdict
    assert "another --seed" in found.verdict


@pytest.mark.parametrize(("chains", "n"), [(1, 7), (2, 3), (1, 1), (1, 0)])
def test_too_few_to_tell(tmp_path, chains, n):
    found = told(tmp_path, sampled(8, chains), scores(n, *[-7.0] * chains) if n else [])
    assert found.converged is None
    needed = 8 if chains == 1 else 4
    told_so = f"Cannot tell whether it has converged: it takes {needed} evaluations of a chain"
    assert found.verdict.startswith(told_so)
    assert f"--resume --updates 200 --evaluate-every {100 if n else 1})" in found.verdict
    assert found.as_dict()["rhat"]["held-out log-likelihood"] is None


def test_sizes_speak_against_chains_before_there_are_evaluations(tmp_path):
    samples = sampled(8, 2)
    for theta in samples[1]:
        theta[:, 0] *= 3
    found = told(tmp_path, samples, scores(1, -7.0, -7.0))
    assert found.converged is False
    assert "topic's size" in found.verdict


def test_without_held_out_documents_topic_sizes_decide(tmp_path):
    found = told(tmp_path, sampled(8, 2), None)
    assert found.converged is True
    assert "held-out log-likelihood" not in found.rhat


def test_a_chain_in_its_start(tmp_path):
    found = told(tmp_path, sampled(8), scores(20, -7.0), burn_in=True)
    assert found.converged is False
    assert "has not left its start" in found.verdict


def test_collapsed_and_duplicate_topics_are_flagged(tmp_path):
    shapes = SHAPES.copy()
    shapes[:, 1] = 0.01  # no token beyond its prior
    shapes[:, 3] = shapes[:, 4]
    found = told(tmp_path, sampled(8, 1, shapes), scores(20, -7.0))
    assert any(flag.startswith("1 topic is collapsed (1)") for flag in found.flags)
    assert any("duplicates: topics 3 and 4;" in flag for flag in found.flags)


def test_a_learned_prior_counts_as_it_was_learned(tmp_path):
    """Of 60 words β = 100 outweighs every topic, and 0.01 none."""
    run = make_run(tmp_path / "run", sampled(8), scores(9, -7.0), beta=0.01)
    assert not any("collapsed" in flag for flag in diagnose([run]).flags)
    run.append_metrics({**run.metrics()[-1], "beta": 100.0})
    assert any("5 topics are collapsed" in flag for flag in diagnose([run]).flags)


def test_several_runs_are_named_in_traces_and_everything_is_json(tmp_path):
    runs = [make_run(tmp_path / name, sampled(8), scores(9, -7.0)) for name in ("a", "b")]
    found = diagnose(runs)
    for run in runs:
        assert len(found.traces[f"perplexity of {run.path}"]) == 9
        assert found.traces[f"step_size of {run.path}"][2] == (2.0, 0.5)
    assert set(diagnose(runs[:1]).traces) == {"perplexity", "held-out log-likelihood", "step_size"}
    json.dumps(found.as_dict(), allow_nan=False)
