"""Draws at kept samples vary as the posterior does, whatever the sampler; they are the same
whenever a run is asked, and those of other runs are independent of them. Shares of topics are of
tokens."""

import numpy as np
import pytest
from fake_runs import make_run, topic_shapes
from scipy import stats
from synthetic import write_docword
from trained import train

from topicmc.corpora import prepare
from topicmc.kernels.simplex import FLOOR
from topicmc.kernels.threads import Threads
from topicmc.models.lda.draws import draw_of, gamma_draw
from topicmc.models.lda.samples import beta_of, posterior_mean, samples_of, share_of
from topicmc.models.lda.settings import TrainConfig
from topicmc.posterior.traces import traces

K, W = 5, 60
SHAPES = topic_shapes(W, K).astype(np.float32)


def drawn(run, i: int = 0) -> np.ndarray:
    return draw_of(run, samples_of(run)[i], Threads())


def correlation(one: np.ndarray, other: np.ndarray) -> float:
    """Of how far draws are from their means, over 300 entries: its standard error is 0.06 for
    independent ones, so it is above 0.3 once in 10^6."""
    away = [((theta - SHAPES) / np.sqrt(SHAPES)).ravel() for theta in (one, other)]
    return float(np.corrcoef(away)[0, 1])


@pytest.mark.parametrize("settings", [{"sampler": "adlda"}, {"sampler": "asynclda"},
                                      {"sampler": "scir", "remember": True}])  # fmt: skip
def test_counts_are_drawn_from(tmp_path, settings):
    """The variance of 16 draws over that of the law, in the mean over 100 entries or more with
    shapes above 5: a standard error of 0.05 at most, so away from 1 by 0.3 once in 10^8."""
    run = make_run(tmp_path / "run", {0: [SHAPES] * 16}, **settings)
    draws = np.array([drawn(run, i) for i in range(16)])
    assert draws.dtype == np.float32
    large = SHAPES > 5
    assert large.sum() > 100
    assert (draws.var(axis=0, ddof=1) / SHAPES)[large].mean() == pytest.approx(1, abs=0.3)


def test_other_samplers_keep_draws(tmp_path):
    run = make_run(tmp_path / "run", {0: [SHAPES]})
    np.testing.assert_array_equal(drawn(run), SHAPES)


@pytest.mark.parametrize("shape", [1e-5, 0.01, 0.3, 0.7, 1.0, 30.0, 2e6])
def test_counts_are_drawn_from_a_gamma_law(shape):
    """Above `FLOOR`, and as often at it as the law is below. By chance one of them fails once in
    10^5."""
    law = stats.gamma(shape)
    draws = gamma_draw(np.full((999, 33), shape, np.float32), np.uint64(5), Threads(2)).ravel()
    above, below = draws[draws > FLOOR], float(law.cdf(FLOOR))
    assert stats.binomtest(len(draws) - len(above), len(draws), below).pvalue > 1e-6
    uniform = (law.cdf(above.astype(np.float64)) - below) / (1 - below)
    assert stats.kstest(uniform, "uniform").pvalue > 1e-6


def test_draws_do_not_depend_on_threads():
    drawn = []
    for threads in (1, 3):
        shapes = np.tile(SHAPES, (5, 1))
        drawn.append(gamma_draw(shapes, np.uint64(1), Threads(threads)))
        assert drawn[-1] is shapes  # in place
    np.testing.assert_array_equal(*drawn)


def test_shapes_that_must_stay_are_copied():
    shapes = SHAPES.copy()
    shapes.flags.writeable = False
    assert gamma_draw(shapes, np.uint64(1), Threads()) is not shapes
    np.testing.assert_array_equal(shapes, SHAPES)


def test_no_draw_is_zero():
    """Of Gamma(0.01) four in ten float32 would be."""
    draws = gamma_draw(np.full((100, 100), 0.01, np.float32), np.uint64(0), Threads())
    assert draws.min() == FLOOR
    assert (draws[:, :1] / draws[:, :1].sum() > 0).all()


def test_a_run_gives_the_same_draws_whenever_it_is_asked(tmp_path):
    """Also when it has gone on meanwhile, with other settings of the kind that may change."""
    run = make_run(tmp_path / "run", {0: [SHAPES] * 2}, sampler="adlda", workers=1)
    before = drawn(run, 1)
    config = {**run.facts()["config"], "workers": 4, "time_budget": 60.0, "updates": None}
    run.update_facts(config=config, topicmc="later")
    run.write_sample_index(run.sample_index()[1:])
    np.testing.assert_array_equal(drawn(run), before)


@pytest.mark.parametrize("other", [{"seed": 1}, {"fingerprint": "another corpus"}, {"beta": 0.5},
                                   {"sampler": "asynclda"}, {"from_run": "first"}])  # fmt: skip
def test_draws_of_other_runs_are_independent(tmp_path, other):
    settings = {"sampler": "adlda", "seed": 0, "fingerprint": "a corpus"}
    one = make_run(tmp_path / "a", {0: [SHAPES] * 2, 1: [SHAPES]}, **settings)
    two = make_run(tmp_path / "b", {0: [SHAPES]}, **settings | other)
    assert correlation(drawn(one), drawn(two)) < 0.3


def test_draws_of_one_run_are_independent(tmp_path):
    """Those of another sample, and of another chain at the same place."""
    run = make_run(tmp_path / "a", {0: [SHAPES] * 2, 1: [SHAPES]}, sampler="adlda")
    places = [(entry["chain"], entry["round"]) for entry in samples_of(run)]
    assert places == [(0, 100), (1, 100), (0, 101)]
    draws = [drawn(run, i) for i in range(3)]
    assert max(correlation(draws[0], draws[1]), correlation(draws[0], draws[2])) < 0.3
    twin = make_run(tmp_path / "b", {0: [SHAPES]}, sampler="adlda")
    np.testing.assert_array_equal(drawn(twin), draws[0])


# ---- shares, and β


@pytest.mark.parametrize("sampler", ["adlda", "scir"])
def test_shares_are_of_tokens(tmp_path, sampler):
    """200 tokens, and 0.5 × 60 in each topic that are of the prior."""
    counts = np.zeros((W, 3))
    counts[:10, 0], counts[10:40, 1], counts[50, 2] = 15, 1, 20
    run = make_run(tmp_path / "run", {0: [counts + 0.5]}, sampler=sampler, beta=0.5)
    entry = samples_of(run)[0]
    expected = [0.75, 0.15, 0.1]
    np.testing.assert_allclose(share_of(run, entry, run.read_sample(entry)), expected, rtol=1e-6)
    np.testing.assert_allclose(posterior_mean(run).share, expected, rtol=1e-6)


def test_shares_are_of_all_documents_whichever_worker_came_last(tmp_path):
    """Each of two workers has the documents of one topic alone. By recent minibatches the topic of
    the worker that a chain was on last would have 0.74 of the tokens or more. Noise of θ moves a
    share of one half by 0.01, and what is left of the trajectories by 0.05 at most."""
    documents = [np.tile(np.arange(5) + 5 * topic, 20) for topic in (0, 1) for _ in range(40)]
    source = write_docword(tmp_path, documents, 10)
    corpus = prepare([source], tmp_path / "corpus", n_heldout=0, n_shards=2, stopwords="none")
    seeds = {
        name: {f"word{w:03d}": 1.0 for w in range(first, first + 5)}
        for name, first in (("first", 0), ("second", 5))
    }
    config = TrainConfig(
        topics=2, sampler="scir", alpha=0.01, beta=0.1, learn="none", seeds=seeds, seed_weight=20.0,
        workers=2, trajectory=10, batch_size=10, sweeps=2, burn_in=1, step_size=0.5,
        step_offset=2.0, step_decay=1.0, anneal_updates=30, updates=600, samples=16, balance=False,
        threads=1, evaluate_every="10m", checkpoint_every="10m",
    )  # fmt: skip
    run, _ = train(config, corpus, tmp_path / "run")
    entries = run.sample_index()
    assert len(entries) >= 16 and not any(entry["burn_in"] for entry in entries)
    np.testing.assert_allclose([entry["share"] for entry in entries], 0.5, atol=0.12)
    assert all(max(draws) < 0.62 for draws in traces(run)["largest share"].values())


def test_an_entry_that_says_its_share_is_believed(tmp_path):
    run = make_run(tmp_path / "run", {0: [SHAPES]})
    entry = {**samples_of(run)[0], "share": [1, 2, 3, 4, 0], "beta": 0.25}
    np.testing.assert_allclose(share_of(run, entry, SHAPES), np.array([1, 2, 3, 4, 0]) / 10)
    assert beta_of(run, entry) == 0.25


def test_beta_of_entries_that_do_not_say_it(tmp_path):
    """As it was set, or as it was learned last."""
    run = make_run(tmp_path / "run", {0: [SHAPES]}, beta=0.02)
    entry = samples_of(run)[0]
    assert beta_of(run, entry) == 0.02
    run.append_metrics({**run.metrics()[-1], "beta": 0.03})
    assert beta_of(run, entry) == 0.03


def test_a_topic_with_less_than_its_prior_has_no_tokens(tmp_path):
    """Draws of θ may be; and where all are, nothing is known of shares."""
    run = make_run(tmp_path / "run", {0: [SHAPES]}, beta=10.0)
    theta = np.full((W, 2), [9.0, 11.0])
    entry = samples_of(run)[0]
    assert share_of(run, entry, theta).tolist() == [0, 1]
    assert share_of(run, entry, theta - 5).tolist() == [0.5, 0.5]
