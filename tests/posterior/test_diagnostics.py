"""Convergence is judged rightly where the truth is known: chains of one law, chains apart, chains
that still move, and too few draws to tell; and samples are not said to be worth more than they are.
"""

import json
import re

import numpy as np
import pytest
from fake_runs import autoregression, gamma_samples, make_run, topic_shapes

from topicmc.errors import UsageError
from topicmc.models.lda.run import TopicRun
from topicmc.topics.diagnostics import diagnose, log_likelihoods
from topicmc.topics.editing import unstable
from topicmc.topics.uncertainty import posterior_of

K, W = 5, 60
SHAPES = topic_shapes(W, K)


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
        "Converged as far as 8 kept samples of a chain can tell: the chains agree on fit, topic"
        " sizes and all topics"
    )
    assert set(found.rhat) == set(found.ess) == {
        "held-out log-likelihood", "largest share", "median share", "smallest share",
        "matched topics",
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
    assert "R̂ of the largest share" in found.verdict


def test_sizes_betray_chains_that_rank_alike(tmp_path):
    """Topics that both have found, a large one of one chain being a small one of the other."""
    run = make_run(tmp_path / "run", sampled(32, 2), scores(20, -7.0, -7.0))
    index, sizes = run.sample_index(), np.array([[4, 1, 3, 1, 2], [1, 4, 1, 2, 3]])
    largest = np.where(sizes == 4, 0.1, 0)
    shares = {e["file"]: sizes[e["chain"]] + e["round"] % 2 * largest[e["chain"]] for e in index}
    run.write_sample_index([{**e, "share": shares[e["file"]].tolist()} for e in index])
    found = diagnose([run])
    assert found.converged is False
    assert max(found.rhat[f"{rank} share"] for rank in ("largest", "median", "smallest")) < 1
    assert "found are not of one size in each (the median R̂ of their sizes is " in found.verdict
    assert found.verdict.endswith("words, not their shares, or train with fewer --topics.")


@pytest.mark.parametrize("other", ["adlda", "scir"])
def test_the_fit_of_means_and_that_of_draws_are_not_compared(tmp_path, other):
    """Means of φ given the topics of all tokens fit better than draws do, of one posterior."""
    still = np.tile([0.0, 1.0], (1, 50))
    trace = {"log likelihood": still, "largest share": still}
    runs = []
    for i, draws in sampled(32, 2).items():
        fit = [[-7 - 0.045 * i + 0.002 * (j % 2)] for j in range(20)]
        settings = {"sampler": other if i else "adlda", "seed": i}
        runs.append(make_run(tmp_path / str(i), {0: draws}, fit, trace=trace, **settings))
    found = diagnose(runs)
    assert ("in a mode of its own" in found.verdict) == (other == "adlda")
    if other == "scir":
        assert found.verdict.startswith("Converged: the chains agree on topic sizes and all topics")
        assert set(found.rhat) == {"largest share", "matched topics"}


@pytest.mark.parametrize("n", [4, 8, 30])
def test_a_trend_is_that_of_the_whole_run_whatever_is_named_beside_it(tmp_path, n):
    values = scores(100, -7.0, slope=0.0003), scores(n, -6.97)
    runs = [
        make_run(tmp_path / name, sampled(8), fit, seed=seed)
        for seed, (name, fit) in enumerate(zip(("a", "b"), values, strict=True))
    ]
    verdict = diagnose(runs).verdict
    assert re.search(rf"of {tmp_path / 'a'} still falls, by (2\.[6-9]|3\.[0-4])% over", verdict)
    assert diagnose(runs[::-1]).verdict == verdict


def test_a_chain_that_still_gains(tmp_path):
    found = told(
        tmp_path, sampled(8), scores(20, -7.0, slope=0.002), time_budget=60.0, updates=None
    )
    assert found.converged is False
    assert re.search(r"still falls, by [34]\.\d% over the second half", found.verdict)
    assert f"topicmc train -o {tmp_path / 'run'} --resume --time-budget 120s" in found.verdict


def test_evaluations_of_the_start_are_not_judged(tmp_path):
    """Of a run within a time budget it may have more than half."""
    run = make_run(tmp_path / "run", sampled(8), [])
    values = [[-9 + 0.07 * i] for i in range(28)] + [[-7.0], [-7.001]] * 6
    for i, score in enumerate(values):
        run.append_metrics(
            {"round": i + 1, "update": i + 1, "seconds": float(i), "perplexity": 10.0,
             "perplexity_averaged": None, "log_likelihood": score, "burn_in": i < 28}
        )  # fmt: skip
    (judged,) = log_likelihoods(run)
    assert judged.tolist() == [score for (score,) in values[28:]]
    assert "still falls" not in diagnose([run]).verdict


def test_a_gain_that_nobody_would_train_for_is_no_trend(tmp_path):
    steady = [[-7 + 1e-4 * i] for i in range(8)]  # 0.07 %, and significant
    found = told(tmp_path, sampled(8), steady)
    assert "still falls" not in found.verdict


def test_one_chain_at_rest(tmp_path):
    found = told(tmp_path, sampled(8), scores(20, -7.0))
    assert found.converged is True
    assert "as far as one chain of 8 kept samples can tell" in found.verdict
    assert "another --seed" in found.verdict


@pytest.mark.parametrize(("chains", "n"), [(1, 7), (2, 3), (1, 1), (1, 0)])
def test_too_few_to_tell(tmp_path, chains, n):
    found = told(tmp_path, sampled(8, chains), scores(n, *[-7.0] * chains) if n else [])
    assert found.converged is None
    needed = 8 if chains == 1 else 4
    told_so = "Cannot tell whether it has converged: too few evaluations of a chain since burn-in"
    assert found.verdict.startswith(f"{told_so} ({n}, and it takes {needed}); ")
    assert f"--resume --updates 200 --evaluate-every {100 if n else 1})" in found.verdict
    assert found.as_dict()["rhat"]["held-out log-likelihood"] is None


def test_sizes_speak_against_chains_before_there_are_evaluations(tmp_path):
    samples = sampled(8, 2)
    for theta in samples[1]:
        theta[:, 0] *= 3
    found = told(tmp_path, samples, scores(1, -7.0, -7.0))
    assert found.converged is False
    assert "R̂ of the largest share" in found.verdict


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


def test_the_scale_of_sgrld_says_nothing_of_tokens(tmp_path):
    """Its Σ_w θ_wk are of the prior alone, however many tokens a topic has."""
    small = {0: [theta / 1e4 for theta in sampled(8, 1)[0]]}
    run = make_run(tmp_path / "run", small, scores(9, -7.0), sampler="sgrld", beta=0.5)
    shares = {"share": [0.5, 0.3, 0.14, 0.033, 0.027]}  # of 1,000 tokens; 60 words count 30
    run.write_sample_index([{**entry, **shares} for entry in run.sample_index()])
    collapsed = [flag for flag in diagnose([run]).flags if "collapsed" in flag]
    assert len(collapsed) == 1 and collapsed[0].startswith("1 topic is collapsed (4)")


def test_of_many_duplicates_twelve_pairs_are_named(tmp_path):
    """Of 12 topics six are alike, which are 15 pairs."""
    shapes = topic_shapes(60, 12)
    shapes[:, :6] = shapes[:, :1]
    samples = {0: gamma_samples(shapes, 8, np.random.default_rng(1))}
    found = told(tmp_path, samples, scores(20, -7.0))
    (flag,) = (flag for flag in found.flags if "duplicates" in flag)
    pairs = [f"{a} and {b}" for a in range(6) for b in range(a + 1, 6)][:12]
    assert flag == f"near duplicates: topics {', '.join(pairs)}, …; train with fewer --topics"


def test_a_learned_prior_counts_as_it_was_learned(tmp_path):
    """Of 60 words β = 100 outweighs every topic, and 0.01 none."""
    run = make_run(tmp_path / "run", sampled(8), scores(9, -7.0), beta=0.01)
    assert not any("collapsed" in flag for flag in diagnose([run]).flags)
    run.append_metrics({**run.metrics()[-1], "beta": 100.0})
    assert any("5 topics are collapsed" in flag for flag in diagnose([run]).flags)


def test_several_runs_are_named_in_traces_and_everything_is_json(tmp_path):
    runs = [
        make_run(tmp_path / name, sampled(8), scores(9, -7.0), seed=seed)
        for seed, name in enumerate(("a", "b"))
    ]
    found = diagnose(runs)
    for run in runs:
        assert len(found.traces[f"perplexity of {run.path}"]) == 9
        assert found.traces[f"step_size of {run.path}"][2] == (2.0, 0.5)
    assert set(diagnose(runs[:1]).traces) == {"perplexity", "held-out log-likelihood", "step_size"}
    json.dumps(found.as_dict(), allow_nan=False)


def test_a_posterior_that_is_known_is_not_made_again(tmp_path, monkeypatch):
    run = make_run(tmp_path / "run", sampled(8, 2), scores(20, -7.0, -7.0))
    expected, posterior = diagnose([run]).as_dict(), posterior_of([run], level=0.5)
    monkeypatch.setattr("topicmc.topics.diagnostics.posterior_of", None)
    assert diagnose([run], posterior).as_dict() == expected


# ---- traces


def traced(tmp_path, correlation: float, n: int, *means: float, samples: int = 32, **settings):
    """Chains whose log joint and largest share are autoregressions about some means."""
    generator = np.random.default_rng(10)
    means = np.array(means)[:, None]
    trace = {
        name: means + autoregression(correlation, (len(means), n), generator)
        for name in ("log joint", "largest share")
    }
    kept = sampled(samples, len(means))
    return told(tmp_path, kept, scores(20, *[-7.0] * len(means)), trace=trace, **settings)


def test_traces_take_the_place_of_sizes_in_samples(tmp_path):
    """800 draws with a correlation of 0.5 are worth 267."""
    found = traced(tmp_path, 0.5, 400, 0, 0)
    names = ["log joint", "largest share", "held-out log-likelihood", "matched topics"]
    assert list(found.rhat) == list(found.ess) == names
    for name in names[:2]:
        assert found.rhat[name] < 1.05
        assert 130 < found.ess[name] < 400
    assert found.converged is True
    assert found.verdict.startswith("Converged: the chains agree")


@pytest.mark.parametrize("n", [15, 16])
def test_few_draws_are_named_where_the_verdict_rests_on_them(tmp_path, n):
    found = traced(tmp_path, 0.0, n, 0, 0)
    assert found.converged is True
    assert found.verdict.startswith(
        "Converged as far as 15 recorded states of a chain can tell: the chains agree"
        if n == 15
        else "Converged: the chains agree"
    )


@pytest.mark.parametrize("name", ["log joint", "log likelihood"])
def test_few_evaluations_are_named_where_no_trace_tells_of_the_fit(tmp_path, name):
    """A run that ends at the first look for convergence has about seven."""
    trace = {name: np.tile([0.0, 1.0], (2, 50))}
    found = told(tmp_path, sampled(32, 2), [[-7.0, -7.001], [-7.001, -7.0]] * 2, trace=trace)
    so_far = "" if name == "log likelihood" else " as far as 4 evaluations of a chain can tell"
    assert found.verdict.startswith(f"Converged{so_far}: the chains agree on fit, topic sizes and")


def test_few_draws_of_one_chain(tmp_path):
    found = traced(tmp_path, 0.0, 12, 0)
    assert "as far as one chain of 12 recorded states can tell (R̂" in found.verdict


@pytest.mark.parametrize(
    ("settings", "of_one_start"),
    [
        ({"groups": 1}, True),
        ({"groups": 2}, False),
        ({"groups": 1, "average_until": 0, "start": "stream"}, False),
        ({"groups": 1, "average_until": 0, "start": "subset"}, True),
        ({"groups": 1, "remember": True}, False),
        ({"groups": 1, "sampler": "adlda"}, False),
    ],
)
def test_chains_of_one_start_cannot_tell_of_another(tmp_path, settings, of_one_start):
    found = traced(tmp_path, 0.0, 100, 0, 0, **settings)
    assert found.converged is True
    assert found.verdict.startswith("Converged as far as chains of one start can") == of_one_start
    assert ("another --seed" in found.verdict) == of_one_start
    run = TopicRun(tmp_path / "run")
    told = posterior_of([run]).remark()
    assert ("The chains have one start: their agreement does not tell" in told) == of_one_start
    if of_one_start:
        with pytest.raises(UsageError, match="run has chains of one start, which cannot know what"):
            unstable(run, [])
    else:
        assert unstable(run, []) == []


@pytest.mark.parametrize(("states", "of_one_start"), [(1, True), (2, False)])
def test_chains_that_began_with_one_state_are_of_one_start(tmp_path, states, of_one_start):
    traced(tmp_path, 0.0, 100, 0, 0, groups=2, chains=2, workers=2)
    run = TopicRun.open(tmp_path / "run")
    alpha = [0.1] * run.n_topics
    told = [
        {
            "file": f"origin-{i:03d}.npz",
            "checksum": f"sha256:{i:064x}",
            "beta": 0.01,
            "alpha": alpha,
        }
        for i in range(states)
    ]
    run.update_facts(origin={"states": told})
    found = diagnose([run])
    assert found.verdict.startswith("Converged as far as chains of one start can") == of_one_start


@pytest.mark.parametrize(
    ("seeds", "settings", "of_one_start"),
    [
        ((0, 0), {"groups": 1}, True),
        ((0, 1), {"groups": 1}, False),
        ((0, 0, 1), {"groups": 1}, False),
        ((0, 0), {"groups": 2}, False),
        ((0, 0), {"sampler": "adlda"}, False),
    ],
)
def test_runs_have_one_start_where_all_their_chains_have(tmp_path, seeds, settings, of_one_start):
    draws = sampled(4, 2 * len(seeds))
    runs = [
        make_run(tmp_path / str(i), {c: draws[2 * i + c] for c in (0, 1)}, seed=seed, **settings)
        for i, seed in enumerate(seeds)
    ]
    assert posterior_of(runs).have_one_start == of_one_start


def test_saved_models_of_two_chains_of_a_run_have_two_starts(tmp_path):
    draws = sampled(4, 2).values()
    runs = [
        make_run(tmp_path / str(i), {0: own}, sampler="adlda", chains=2)
        for i, own in enumerate(draws)
    ]
    assert posterior_of(runs).have_one_start
    runs[1].update_facts(chain=1)
    assert not posterior_of(runs).have_one_start


def test_chains_apart_by_their_traces(tmp_path):
    found = traced(tmp_path, 0.5, 400, 0, 50)
    assert found.converged is False
    assert "in a mode of its own (R̂ of the log" in found.verdict
    assert found.ess["log joint"] <= 2


@pytest.mark.parametrize("seed", range(5))
def test_slow_chains_of_one_law_are_not_told_to_be_in_modes(tmp_path, seed):
    """Draws with a correlation of 0.95 have an R̂ above 1.05 and differ by chance no more."""
    generator = np.random.default_rng(seed)
    trace = {"log joint": autoregression(0.95, (2, 200), generator)}
    found = told(tmp_path, sampled(32, 2), None, trace=trace)
    assert "mode" not in found.verdict
    if found.rhat["log joint"] > 1.05:
        assert found.converged is False
        assert "continue training (" in found.verdict


def test_a_slow_chain_is_not_at_rest(tmp_path):
    """Random walks that have come apart: nobody knows whether they stay so."""
    walks = np.random.default_rng(11).normal(size=(2, 200)).cumsum(axis=1)
    walks[1] += 200
    found = told(tmp_path, sampled(32, 2), None, trace={"log joint": walks})
    assert found.converged is False
    assert "mode" not in found.verdict


@pytest.mark.parametrize(("chains", "n"), [(1, 7), (2, 3)])
def test_a_trace_too_short(tmp_path, chains, n):
    found = traced(tmp_path, 0.0, n, *[0.0] * chains)
    assert found.converged is None
    needed = 8 if chains == 1 else 4
    why = f"too few recorded states of a chain since burn-in ({n}, and it takes {needed}); "
    assert why in found.verdict
    assert found.verdict.endswith("--resume --updates 200).")


def test_few_draws_do_not_make_agreement_of_chains_apart(tmp_path):
    """R̂ of these four evaluations is 1.78, and chance alone explains up to 2.97."""
    fit = [[-7.0, -6.996], [-7.002, -6.998]] * 2
    trace = {"log joint": np.random.default_rng(12).normal(size=(2, 50))}
    found = told(tmp_path, sampled(32, 2), fit, trace=trace)
    assert found.converged is None
    assert found.verdict.startswith(
        "Cannot tell whether it has converged: R̂ of the held-out log-likelihood is 1.78, which 4"
        " draws of a chain do not tell from chance; continue training ("
    )


@pytest.mark.parametrize("value", [3.0, float("nan"), float("inf")])
def test_a_trace_that_says_nothing(tmp_path, value):
    draws = np.random.default_rng(12).normal(size=(2, 50))
    draws[0, 7] = value
    if value == 3:
        draws[:] = value
    found = told(tmp_path, sampled(32, 2), None, trace={"log joint": draws})
    assert found.converged is None
    assert "the log joint is the same throughout or no number; continue training (" in found.verdict
    assert found.as_dict()["rhat"]["log joint"] is found.as_dict()["ess"]["log joint"] is None


def test_chains_that_never_move_and_differ(tmp_path):
    trace = {"log joint": np.repeat([[1.0], [2.0]], 50, axis=1)}
    found = told(tmp_path, sampled(32, 2), None, trace=trace)
    assert found.converged is False
    assert "R̂ of the log joint is infinite, and the chains agree on 5 of 5 topics" in found.verdict
    assert "continue training (" in found.verdict
    json.dumps(found.as_dict(), allow_nan=False)


def test_a_run_without_a_trace_beside_one_that_has_one(tmp_path):
    trace = {"log joint": np.random.default_rng(13).normal(size=(1, 50))}
    runs = [
        make_run(tmp_path / name, {0: draws}, None, trace=mine, seed=seed)
        for seed, ((name, mine), draws) in enumerate(
            zip({"a": trace, "b": None}.items(), sampled(32, 2).values(), strict=True)
        )
    ]
    assert "log joint" not in diagnose(runs).rhat
    assert "log joint" in diagnose(runs[:1]).rhat
    found = diagnose(runs)
    assert found.converged is True and "one start" not in found.verdict
    runs[1].update_facts(config={**runs[1].facts()["config"], "seed": 0})
    assert diagnose(runs).verdict.startswith("Converged as far as chains of one start can tell")


def test_a_chain_with_fewer_draws_than_the_others(tmp_path):
    """Of samples and of the trace, as of a chain that another worker brought later."""
    samples = sampled(32, 2)
    samples[1] = samples[1][:20]
    run = make_run(tmp_path / "run", samples, scores(20, -7.0, -7.0))
    draws = autoregression(0.0, (2, 60), np.random.default_rng(14))
    for i in range(60):
        chains = {str(chain): {"log joint": draws[chain, i]} for chain in range(1 + (i >= 40))}
        run.append_trace({"position": 61 + i, "burn_in": False, "chains": chains})
    found = diagnose([run])
    assert found.converged is True
    assert 20 < found.ess["log joint"] <= 40
    assert 20 < found.ess["matched topics"] <= 40


@pytest.mark.parametrize("left", [1, 2])
def test_chains_that_were_given_up_take_no_part(tmp_path, left):
    """As on fewer workers, for as long as their samples are in the newer half of the run."""
    samples = sampled(32, 3)
    for chain in range(left, 3):
        samples[chain] = samples[chain][:5]
    run = make_run(tmp_path / "run", samples, scores(20, *[-7.0] * left))
    draws = autoregression(0.0, (3, 60), np.random.default_rng(14))
    for i in range(60):
        chains = {str(c): {"log joint": draws[c, i]} for c in range(3 if i < 20 else left)}
        run.append_trace({"position": 61 + i, "burn_in": False, "chains": chains})
    found = diagnose([run])
    assert found.converged is True
    assert ("as far as one chain can tell" in found.verdict) == (left == 1)
    assert 15 < found.ess["log joint"] <= 60 * left
    assert 8 < found.ess["matched topics"] <= 32 * left
    assert not any("kept samples, too few" in flag for flag in found.flags)


@pytest.mark.parametrize(
    ("settings", "asked", "of_one_start", "told"),
    [
        (
            {"chains": 1, "groups": 1, "average_until": 0},
            {"chains": 4, "average_until": 50},
            True,
            "Converged as far as one chain can tell",
        ),
        (
            {"chains": 2, "groups": 1, "average_until": 50},
            {"chains": 4, "groups": 2},
            False,
            "Converged as far as chains of one start can tell",
        ),
        (
            {"chains": 2, "groups": 2, "average_until": 0},
            {"chains": 4, "groups": 4},
            False,
            "Converged: the chains agree",
        ),
    ],
)
def test_chains_that_were_given_up_had_the_start_of_their_group(
    tmp_path, settings, asked, of_one_start, told
):
    """Their samples still count: of one start they are no evidence of another, and of another they
    say nothing of whether those that go on would agree with it."""
    left = settings["chains"]
    run = make_run(tmp_path / "run", sampled(32, 4), scores(20, *[-7.0] * left), **settings)
    run.update_facts(asked=asked)
    draws = autoregression(0.0, (4, 60), np.random.default_rng(14))
    for i in range(60):
        chains = {str(c): {"log joint": draws[c, i]} for c in range(4 if i < 20 else left)}
        run.append_trace({"position": 61 + i, "burn_in": False, "chains": chains})
    posterior = posterior_of([run])
    assert posterior.n_chains == 4
    assert posterior.have_one_start == of_one_start
    assert diagnose([run], posterior).verdict.startswith(told)


@pytest.mark.parametrize("n", [5, 8])
def test_a_chain_that_is_left_alone_needs_more_draws(tmp_path, n):
    """They are halved."""
    run = make_run(tmp_path / "run", sampled(8, 2), None)
    draws = np.random.default_rng(14).normal(size=(2, n))
    for i in range(n):
        chains = {str(c): {"log joint": draws[c, i]} for c in range(2 if i < 2 else 1)}
        run.append_trace({"position": 61 + i, "burn_in": False, "chains": chains})
    verdict = diagnose([run]).verdict
    assert ("too few recorded states of a chain since burn-in (5, and it takes 8)" in verdict) == (
        n == 5
    )


# ---- what samples are worth


@pytest.mark.parametrize("chains", [1, 2, 4])
@pytest.mark.parametrize("apart", [False, True])
def test_eight_samples_have_no_effective_size(tmp_path, chains, apart):
    """Two chains 50 standard deviations apart were worth 19 as two of one law were."""
    samples = sampled(8, chains)
    for chain, draws in samples.items():
        for theta in draws:
            theta[:, 0] *= 1 + 5 * chain * apart
    found = told(tmp_path, samples, scores(8, *(-7.0 - np.arange(chains) * apart)))
    assert set(found.as_dict()["ess"].values()) == {None}
    assert any(f"rest on {8 * chains} kept samples, too few to tell" in f for f in found.flags)


def test_samples_that_are_worth_something(tmp_path):
    """64 independent ones: neither stated to be more, nor called crude."""
    found = told(tmp_path, sampled(32, 2), scores(20, -7.0, -7.0))
    assert 40 < found.ess["matched topics"] <= 64
    assert not any("intervals rest" in flag for flag in found.flags)


def test_samples_of_chains_that_disagree_are_crude(tmp_path):
    samples = sampled(32, 2)
    for theta in samples[1]:
        theta *= [5, 0.2, 3, 0.3, 0.1]
    found = told(tmp_path, samples, scores(20, -7.0, -7.0))
    assert found.ess["matched topics"] < 3
    assert any("64 kept samples, worth about 1 independent one, and" in f for f in found.flags)


def test_samples_of_a_chain_that_hardly_moves_are_crude(tmp_path):
    start = np.random.default_rng(15).gamma(SHAPES)
    kept = [start * (1 + 0.01 * i * np.arange(K)) for i in range(32)]
    found = told(tmp_path, {0: kept}, scores(20, -7.0))
    assert found.as_dict()["ess"]["matched topics"] is None
    assert any("rest on 32 kept samples, too much alike to tell" in f for f in found.flags)


def test_few_samples_because_few_were_asked_for(tmp_path):
    run = make_run(tmp_path / "run", sampled(8), scores(20, -7.0))
    assert any(flag.endswith("worth; train for longer") for flag in diagnose([run]).flags)
    run.update_facts(config={**run.facts()["config"], "samples": 8})
    anew = "worth; train anew with --samples 32"
    assert any(flag.endswith(anew) for flag in diagnose([run]).flags)


@pytest.mark.parametrize("origins", [1, 2])
def test_runs_that_go_on_from_one_have_one_start(tmp_path, origins):
    """Whatever their seed: it takes one without --from to tell of another start."""
    trace = {name: np.tile([0.0, 1.0], (1, 50)) for name in ("log joint", "largest share")}
    runs = []
    for i, draws in sampled(32, 2).items():
        path, fit = tmp_path / f"run{i}", scores(20, -7.0)
        runs.append(make_run(path, {0: draws}, fit, trace=trace, sampler="adlda", seed=i))
        state = {"file": "origin-000.npz", "checksum": f"sha256:{i % origins:064x}", "beta": 0.01}
        runs[i].update_facts(origin={"states": [{**state, "alpha": [0.1] * K}]})
    advice = "another run with another --seed, without --from, and name it, too"
    for named, of_one_start in ((runs[:1], True), (runs, origins == 1)):
        posterior = posterior_of(named)
        assert (advice in diagnose(named).verdict) == of_one_start
        assert (advice in posterior.remark()) == of_one_start
        if of_one_start:
            with pytest.raises(UsageError, match="another --seed, without --from, by --with"):
                unstable(named[0], named[1:])
