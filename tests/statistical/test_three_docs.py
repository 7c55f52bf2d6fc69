"""Every sampler on an exactly known posterior: Stan's posteriordb has three_docs1200-ldaK2, 1,200
tokens in four cells, without reference draws; `naive_three_docs` sums its 64 million terms.

Chains start in exact draws, independent of each other, and must keep the posterior; a mean is
judged by Student's t over chains, so correlation within them does not matter. Of the 1,200 tokens
all but a few always lie where they do (the largest topic has 800 ± 0.1), so the same posterior with
42 tokens, whose topics are in doubt, is sampled too.
"""

import naive_gibbs
import numpy as np
import pytest
from calibration.chains import Minibatch, Stacked, started
from calibration.models import Model, TinyCorpus
from kept_chains import KeptChains
from naive_three_docs import FULL, ThreeDocs
from scipy import stats

from topicmc.kernels.collapsed import collapsed_sweep, empty_counts
from topicmc.kernels.padding import padded_topics
from topicmc.kernels.random import stream_key
from topicmc.samplers.row_prior import RowPrior
from topicmc.samplers.scir import Scir
from topicmc.samplers.sgrld import Sgrld
from topicmc.samplers.state import sum_topics

SMALL = ThreeDocs(16, 2, 12, 12)
FALSE_ALARM = 1e-6  # of a test, shared among its quantities


@pytest.fixture(scope="module")
def full():
    return ThreeDocs(*FULL)


def corpus_of(docs):
    return TinyCorpus(np.diff(docs.offsets), docs.tokens.astype(np.int64), 3)


def judged(docs, means, which=(0, 1, 2, 3)):
    """The least p-value of the means of chains (n, 4), times the number of quantities."""
    found = [stats.ttest_1samp(means[:, q], docs.moments[q]).pvalue for q in which]
    return min(found) * len(which)


def test_the_sum_is_right():
    """Against all 256 assignments of eight tokens; draws against the sum, once in a million."""
    docs = ThreeDocs(3, 2, 2, 1)
    tokens = docs.tokens.astype(int)
    states, law = naive_gibbs.enumerate_collapsed(docs.offsets, tokens, 3, np.ones(2), 1.0)
    np.testing.assert_allclose(law @ docs.quantities(states), docs.moments, rtol=1e-12)
    drawn = SMALL.draw(20_000, np.random.default_rng(0))
    assert judged(SMALL, SMALL.quantities(drawn)) > FALSE_ALARM


def collapsed_means(docs, n_chains, n_sweeps, fault=None):
    starts = docs.draw(n_chains, np.random.default_rng(1))
    alpha = padded_topics(np.full(2, 2.0 if fault == "α twice" else 1.0))
    n_rows = 12 if fault == "β 12 for β W" else 3
    means = []
    for chain, z in enumerate(starts):
        word_topic, totals = empty_counts(n_rows, 2)
        np.add.at(word_topic, (docs.tokens, z), 1)
        totals[:] = word_topic.sum(axis=0)
        seen = []
        for sweep in range(n_sweeps):
            collapsed_sweep(
                docs.offsets, docs.tokens, z, word_topic, totals, alpha,
                RowPrior(1.0).rows(n_rows, 2), key=stream_key(1, "three"), sweep=sweep,
                first_id=3 * chain,
            )  # fmt: skip
            seen.append(z.copy())
        means.append(docs.quantities(np.array(seen)).mean(axis=0))
    return np.array(means)


@pytest.mark.parametrize("fault", [None, "α twice", "β 12 for β W"])
def test_collapsed_gibbs(fault):
    """300 chains of 60 sweeps over 42 tokens; fails by chance once in a million."""
    assert (judged(SMALL, collapsed_means(SMALL, 300, 60, fault)) < FALSE_ALARM) == (
        fault is not None
    )


@pytest.mark.parametrize("fault", [None, "α twice"])
def test_collapsed_gibbs_on_1200_tokens(full, fault):
    """100 chains of 200 sweeps; the largest topic and log p(z, w), once in a million."""
    means = collapsed_means(full, 100, 200, fault)
    assert (judged(full, means, (0, 3)) < FALSE_ALARM) == (fault is not None)


def kept_means(docs, n_chains, n_steps, step, fault=None):
    generator = np.random.default_rng(2)
    z = docs.draw(n_chains, generator)
    counts = np.einsum("nik,iw->nkw", np.eye(2)[z], np.eye(3)[docs.tokens])
    chains = KeptChains(
        np.ones(2), 1.0, docs.offsets, 3, np.tile(docs.tokens.astype(int), (n_chains, 1)), z,
        generator.gamma(1 + counts), step, seed=3, faults=(fault,) if fault else (),
    )  # fmt: skip
    means = np.zeros((n_chains, 4))
    for _ in range(n_steps):
        chains.draw()
        chains.move()
        means += docs.quantities(chains.z) / n_steps
    return means


@pytest.mark.parametrize("step", [0.3, 3.0])
@pytest.mark.parametrize("fault", [None, "alpha twice", "counts twice"])
def test_kept_assignments(step, fault):
    """1,000 chains of 60 moves over 42 tokens; fails by chance once in a million."""
    means = kept_means(SMALL, 1000, 60, step, fault)
    assert (judged(SMALL, means) < FALSE_ALARM) == (fault is not None)


def test_kept_assignments_on_1200_tokens(full):
    """200 chains of 60 moves; the largest topic and log p(z, w), once in a million."""
    assert judged(full, kept_means(full, 200, 60, 3.0), (0, 3)) > FALSE_ALARM


def trained_means(docs, n_chains, n_sweeps, options):
    """Means over sweeps of AD-LDA as it is trained: one method, put in one start after another."""
    generator = np.random.default_rng(4)
    model = Model(n_topics=2, n_words=3, n_docs=3, alpha=1.0, beta=1.0)
    method = started(model, corpus_of(docs), 5, {"sampler": "adlda", **options})
    method.round()
    means = []
    for z in docs.draw(n_chains, generator):
        at = 0
        for worker in method.samplers.values():
            worker.adopt(z[at : at + len(worker.z)])
            at += len(worker.z)
        method.reconciliation._total = np.zeros_like(method.reconciliation.counts())
        method._share_all()
        seen = []
        for _ in range(n_sweeps):
            method.round()
            seen.append(np.concatenate([worker.z for worker in method.samplers.values()]))
        means.append(docs.quantities(np.array(seen)).mean(axis=0))
    return np.array(means)


def minibatch_means(docs, chains, n_chains, n_states):
    """Means over states of minibatch chains that start in exact draws of φ."""
    generator = np.random.default_rng(6)
    model = Model(n_topics=2, n_words=3, n_docs=3, alpha=1.0, beta=1.0)
    stack = Stacked(chains, model, [corpus_of(docs)] * n_chains, seed=7)
    z = docs.draw(n_chains, generator)
    theta = generator.gamma(1 + np.einsum("nik,iw->wnk", np.eye(2)[z], np.eye(3)[docs.tokens]))
    if chains.sampler is Sgrld:
        theta *= generator.gamma(3.0, size=theta.shape[1:]) / theta.sum(axis=0)
    stack.chain.theta = theta.reshape(3, -1).astype(np.float32)
    stack.chain.topic_sums = sum_topics(stack.chain.theta)
    means = np.zeros((n_chains, 4))
    for _ in range(n_states):
        for _ in range(chains.thin):
            stack.update()
        z = np.array([state.z for state in stack.states()])
        means += docs.quantities(z) / n_states
    return means


def off(docs, means):
    """How far the means of chains lie from the truth, at most, in posterior standard deviations."""
    spread = docs.quantities(docs.draw(4000, np.random.default_rng(8))).std(axis=0)
    return np.abs((means.mean(axis=0) - docs.moments) / spread).max()


def test_adlda_document_by_document():
    """150 chains of 40 sweeps of a training run's rounds; fails by chance once in a million."""
    means = trained_means(SMALL, 150, 40, {"batch_size": 1, "trajectory": 3})
    assert judged(SMALL, means) > FALSE_ALARM


@pytest.mark.parametrize("options", [{"batch_size": 2}, {"batch_size": 3}, {"workers": 2}])
def test_adlda_in_blocks(options):
    """Approximate: counts as old as a block or a sweep. Here no mean is off by more than 0.25
    posterior standard deviations, six or more standard errors of 150 chains of 40 sweeps."""
    assert off(SMALL, trained_means(SMALL, 150, 40, {"trajectory": 1, **options})) < 0.25


@pytest.mark.parametrize(
    ("sampler", "step", "batch_size", "near"),
    [
        (Scir, 0.05, 3, True),
        (Scir, 0.02, 1, True),
        (Scir, 1.0, 1, False),
        (Sgrld, 0.02, 3, True),
        (Sgrld, 0.3, 3, False),
    ],
)
def test_minibatches(sampler, step, batch_size, near):
    """Approximate: small steps leave no mean off by more than 0.2 posterior standard deviations,
    large ones do. Six or more standard errors of 500 chains of 20 states."""
    chains = Minibatch(sampler, step, batch_size, 0, 20 if step < 0.1 else 8, sweeps=9)
    assert (off(SMALL, minibatch_means(SMALL, chains, 500, 20)) < 0.2) == near
