"""Simulation-based calibration of trained samplers, a fast tier of bench/sbc.py: the truth, drawn
from the prior, has a uniform rank among posterior draws; χ² of the ranks of six quantities.

Neighbouring draws correlate by some hundredths, which moves a p-value little. What is stated is the
chance of a false alarm under new seeds.
"""

from dataclasses import replace

import numpy as np
import pytest
import sbc
from calibration.chains import Assigned, Minibatch, Stacked
from calibration.models import Model
from calibration.ranks import band, ecdf_difference, lag_one, p_value, rank

from topicmc.kernels import collapsed
from topicmc.kernels.batch import gather
from topicmc.kernels.padding import padded_topics
from topicmc.kernels.threads import Threads
from topicmc.models.lda.collapsed.worker import CollapsedWorker
from topicmc.models.lda.minibatches.updates import Updates
from topicmc.models.lda.settings import TrainConfig
from topicmc.samplers.row_prior import RowPrior
from topicmc.samplers.scir import Scir
from topicmc.samplers.sgrld import Sgrld
from topicmc.samplers.state import Chain, sum_topics

FALSE_ALARM = 1e-6  # of a test, shared among the six quantities
SHORT = {"burn_in": 24, "thin": 6}
CASES = {
    "adlda": sbc.Case("adlda", "adlda", "", Assigned(sbc.ONE_BY_ONE, **SHORT)),
    "remember": sbc.Case("remember", "scir", "", Assigned(sbc.KEPT, **SHORT)),
}


def least(case, n):
    """The least p-value of n replications, times the number of quantities; of ranks in five bins,
    so that 120 replications are 24 a bin, with which χ² holds (`calibration.ranks.p_value`)."""
    ranks, draws = sbc.ranked(case, 1, n)
    assert lag_one(draws).max() < 0.3
    return len(ranks.T) * min(p_value(of_one, sbc.N_DRAWS, n_bins=5) for of_one in ranks.T)


@pytest.mark.parametrize("name", CASES)
def test_trained_samplers_are_calibrated(name):
    """120 replications; fails by chance once in a million."""
    assert least(CASES[name], 120) > FALSE_ALARM


@pytest.mark.parametrize(("name", "n"), [("adlda", 200), ("remember", 130)])
def test_alpha_added_twice_is_seen(name, n, monkeypatch):
    doubled = lambda alpha: padded_topics(2 * alpha)  # noqa: E731
    monkeypatch.setattr("topicmc.models.lda.collapsed.worker.padded_topics", doubled)
    assert least(CASES[name], n) < FALSE_ALARM


def test_beta_k_in_place_of_beta_w_is_seen(monkeypatch):
    """Under β = 4, so that it matters."""
    case = replace(CASES["adlda"], model=replace(sbc.MODEL, beta=4.0))
    assert least(case, 120) > FALSE_ALARM
    right = collapsed._arguments

    def wrong(*arguments):
        *others, smooth, scratch = right(*arguments)
        return *others, smooth * np.float32(sbc.MODEL.n_topics / sbc.MODEL.n_words), scratch

    monkeypatch.setattr(collapsed, "_arguments", wrong)
    assert least(case, 120) < FALSE_ALARM


def test_counts_of_the_last_visit_left_in_are_seen(monkeypatch):
    """As if a sweep in 20 forgot them; left in by each, counts would outgrow everything."""
    count, calls = CollapsedWorker._count_by_word, [0]

    def wrong(self, tiles, changed, threads):
        count(self, tiles, changed, threads)
        calls[0] += 1
        if calls[0] % 20 == 0:
            for tile, (before, _, _) in zip(tiles, changed, strict=True):
                words = np.repeat(tile.words, np.diff(tile.ends, prepend=0))
                np.add.at(self.word_topic, (words, before), 1)
                self.topic_totals += np.bincount(before, minlength=len(self.topic_totals))

    monkeypatch.setattr(CollapsedWorker, "_count_by_word", wrong)
    assert least(CASES["remember"], 40) < FALSE_ALARM


@pytest.mark.parametrize("sampler", [Scir, Sgrld])
def test_side_by_side_is_an_update_of_training(sampler):
    """Five updates of one chain of `Stacked` have the bits of `Updates.move`."""
    model = Model(n_topics=3, n_words=12, n_docs=20)
    corpus, _ = model.draw(np.random.default_rng(2))
    stack = Stacked(Minibatch(sampler, 0.3, 15, 0, 1), model, [corpus], seed=9)
    config = TrainConfig(
        topics=3, sampler=sampler.__name__.lower(), alpha=model.alpha, beta=model.beta, sweeps=6,
        burn_in=2, step_size=0.3, step_offset=1.0, step_decay=0.0, start="plain", learn="none",
        anneal_updates=1, seed=9, batch_size=15,
    )  # fmt: skip
    updates = Updates(config, corpus.n_tokens, Threads(1), RowPrior(model.beta))
    theta = stack.chain.theta.copy()
    chain = Chain(0, theta, sum_topics(theta))
    shard = corpus.shard(0)
    for _ in range(5):
        docs = stack.minibatch()
        batch = gather(shard.indptr, shard.word_ids, shard.counts, docs[0], 12)
        assert len(batch.words) > 6  # so that training moves all words, too
        updates.move(chain, batch, 20 / 15, mean_update=0)
        stack.update(docs)
        np.testing.assert_array_equal(stack.chain.theta, chain.theta)


def test_minibatches_that_widen_are_seen():
    """3 of 20 documents: h = 2 fails, h = 0.05 does not; by chance once in a million."""
    for step, thin, fails in ((2.0, 8, True), (0.05, 100, False)):
        case = sbc.Case("minibatch", "scir", "", Minibatch(Scir, step, 3, 8 * thin, thin))
        assert (least(case, 150) < FALSE_ALARM) == fails


def test_the_band_holds_all_of_a_uniform_line():
    """At its level, within 5 standard errors over 4,000 lines."""
    generator = np.random.default_rng(0)
    low, high = band(300, 19, 0.95)
    held = 0
    for _ in range(4000):
        _, line = ecdf_difference(generator.integers(0, 20, 300), 19)
        held += bool(np.all((line >= low - 1e-12) & (line <= high + 1e-12)))
    assert 0.95 - 5 * np.sqrt(0.95 * 0.05 / 4000) < held / 4000 < 0.99


def test_ranks_with_ties_are_uniform():
    """Draws of three values only; χ² at once in a million."""
    generator = np.random.default_rng(0)
    values = generator.integers(0, 3, (2000, 20, 1))
    ranks = np.array([rank(v[0], v[1:], generator) for v in values])
    assert p_value(ranks[:, 0], 19) > FALSE_ALARM
