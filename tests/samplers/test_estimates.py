"""Estimates of the corpus's counts: without bias over all minibatches of six documents, with the
variance that sampling theory gives, and in runs."""

import itertools
from math import comb

import numpy as np
import pytest
from naive_gibbs import expected_counts
from trained import begun, ended, resumed

from topicmc.corpora.offsets import offsets
from topicmc.engine.schedule import batch_items
from topicmc.errors import UsageError
from topicmc.kernels.batch import gather
from topicmc.kernels.threads import Threads
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.minibatches import estimates
from topicmc.models.lda.minibatches.estimates import (
    AnchoredChain,
    ControlVariate,
    RecalledChain,
    Saga,
    plain,
)
from topicmc.models.lda.planning.defaults import resolve
from topicmc.models.lda.settings import TrainConfig
from topicmc.samplers.state import sum_topics

DOCUMENTS = [[0, 0, 1], [1, 2], [3], [0, 2, 3, 3], [0, 1, 1, 2], [2, 2, 3]]
N_DOCS, SIZE, ALPHA, N_WORDS, N_TOPICS = 6, 3, 0.3, 4, 2
SCALE = N_DOCS / SIZE
THETA = np.array([[6, 1], [2, 3], [1, 2], [1, 4]], np.float32)
TOWARDS = np.array([[-3, 1], [1, -2], [0.5, 1], [1, 1]], np.float32)
ONE = Threads(1)


def expected(document, phi):
    return expected_counts(document, phi, ALPHA)


class SixDocuments:
    """The corpus as `WorkerDocuments` shows it."""

    n_docs = N_DOCS

    def minibatch(self, ids, threads=None):
        pairs = [np.unique(d, return_counts=True) for d in DOCUMENTS]
        indptr = np.concatenate([[0], np.cumsum([len(w) for w, _ in pairs])])
        word_ids = np.concatenate([w for w, _ in pairs]).astype(np.uint16)
        counts = np.concatenate([c for _, c in pairs]).astype(np.uint16)
        return gather(indptr, word_ids, counts, np.array(ids), N_WORDS)

    def token_offsets(self):
        return offsets(np.array([len(d) for d in DOCUMENTS]))


class ExactDraws:
    """c_d itself; and topics of tokens that a generator named by θ and the document makes up."""

    def counts(self, theta, topic_sums, batch):
        phi = theta / topic_sums
        return sum(expected(DOCUMENTS[d], phi) for d in batch.doc_ids)[batch.words]

    def kept(self, theta, topic_sums, batch):
        parts = []
        for d in batch.doc_ids:
            generator = np.random.default_rng([int(1000 * theta[0, 0]), int(d)])
            parts.append(generator.integers(0, N_TOPICS, (len(DOCUMENTS[d]), 3)))
        return np.concatenate(parts).astype(np.uint16)


def anchored(kind, theta):
    """A chain at theta whose estimator began at THETA; and the estimator."""
    estimator = {AnchoredChain: ControlVariate, RecalledChain: Saga}[kind](
        SixDocuments(), SIZE, ONE
    )
    chain = kind(0, THETA.copy(), sum_topics(THETA))
    estimator(chain, SixDocuments().minibatch([0]), 1.0, ExactDraws())
    chain.theta, chain.topic_sums = theta, sum_topics(theta)
    return chain, estimator


def over_minibatches(kind, theta):
    """n̂ of each of the 20 minibatches, (20, W, K), each from the same memory."""
    found = []
    for ids in itertools.combinations(range(N_DOCS), SIZE):
        if kind is None:
            chain, estimator = AnchoredChain(0, theta, sum_topics(theta)), plain
        else:
            chain, estimator = anchored(kind, theta)
        got = estimator(chain, SixDocuments().minibatch(ids), SCALE, ExactDraws())
        whole = np.zeros((N_WORDS, N_TOPICS))
        whole[got.counts.words] = got.scale * got.counts.counts
        found.append(whole)
    assert len(found) == comb(N_DOCS, SIZE)
    return np.array(found)


def near(distance):
    return THETA + np.float32(distance) * TOWARDS


@pytest.fixture
def unclipped(monkeypatch):
    monkeypatch.setattr(estimates, "clip", lambda whole: 0.0)


@pytest.mark.parametrize("kind", [None, AnchoredChain, RecalledChain])
def test_the_mean_over_all_minibatches_is_the_corpus(kind, unclipped):
    theta = near(1.0)
    found = over_minibatches(kind, theta).mean(axis=0)
    if kind is RecalledChain:
        whole = SixDocuments().minibatch(range(N_DOCS))
        kept = ExactDraws().kept(theta, None, whole)
        corpus = np.zeros((N_WORDS, N_TOPICS))
        for topics in kept.T:
            np.add.at(corpus, (whole.words[whole.tokens], topics), 1 / 3)
    else:
        corpus = sum(expected(d, theta / theta.sum(axis=0)) for d in DOCUMENTS)
    np.testing.assert_allclose(found, corpus, rtol=1e-5, atol=1e-5)
    assert not np.allclose(corpus, sum(expected(d, THETA / THETA.sum(0)) for d in DOCUMENTS), 0.05)


def variance_of(values):
    """Of N̂ Σ_{d∈S} x_d for samples without replacement: D² (1/n − 1/D) S²(x)."""
    return N_DOCS**2 * (1 / SIZE - 1 / N_DOCS) * np.array(values).var(axis=0, ddof=1)


def test_the_variance_is_that_of_what_has_changed(unclipped):
    """And falls with the square of the distance to θ̂, where that is small."""

    def counts(theta):
        return np.array([expected(d, theta / theta.sum(axis=0)) for d in DOCUMENTS])

    found = {}
    for distance in (0.02, 0.04):
        theta = near(distance)
        found[distance] = over_minibatches(AnchoredChain, theta).var(axis=0)
        theory = variance_of(counts(theta) - counts(THETA))
        np.testing.assert_allclose(found[distance], theory, rtol=0.02, atol=1e-9)
    without = over_minibatches(None, near(0.02)).var(axis=0)
    np.testing.assert_allclose(without, variance_of(counts(near(0.02))), rtol=1e-4)
    assert (found[0.02] < 1e-3 * without).all()
    np.testing.assert_allclose(found[0.04].sum() / found[0.02].sum(), 4, rtol=0.05)


def test_what_is_negative_is_counted_and_taken_for_nothing():
    far = np.array([[1, 60], [30, 1], [1, 50], [40, 1]], np.float32)
    shares = []
    for ids in itertools.combinations(range(N_DOCS), SIZE):
        chain, estimator = anchored(AnchoredChain, far)
        got = estimator(chain, SixDocuments().minibatch(ids), SCALE, ExactDraws())
        assert (got.counts.counts >= 0).all()
        assert np.count_nonzero(got.counts.counts == 0) == round(chain.clipped * 8)
        shares.append(chain.clipped)
    assert max(shares) > 0


def trained(corpus, path, updates, **settings):
    config = TrainConfig(
        topics=4, seed=1, threads=1, batch_size=40, updates=updates, anneal_updates=5, samples=4,
        **settings,
    )  # fmt: skip
    return ended(begun(config, corpus, path))


@pytest.mark.parametrize("estimate", ["cv", "saga"])
def test_runs_resume_to_the_same_bits(small_corpus, tmp_path, estimate):
    whole = trained(small_corpus, tmp_path / "whole", 60, estimate=estimate)
    trained(small_corpus, tmp_path / "parted", 47, estimate=estimate)
    parted = ended(resumed(tmp_path / "parted", updates=60))
    one, other = (t.method.held["chains"][0] for t in (whole, parted))
    assert whole.config.sampler == "scir" and one.moved_at is None
    for name in ("theta", "counts_sum", "clipped"):
        assert np.array_equal(getattr(one, name), getattr(other, name))
    assert 0 <= whole.run.metrics()[-1]["clipped"] < 1
    # Another way to the same counts: they are those of the whole corpus.
    plainly = trained(small_corpus, tmp_path / "plain", 60, sampler="scir").method.held["chains"][0]
    assert not np.array_equal(plainly.theta, one.theta)
    if estimate == "cv":
        assert one.anchored_at == 37  # four passes of eight minibatches after the start
        assert one.anchor_counts.sum() == pytest.approx(small_corpus.n_tokens, rel=1e-5)


def test_the_sum_of_what_is_remembered_stays_exact(small_corpus, tmp_path):
    training = trained(small_corpus, tmp_path / "run", 40, estimate="saga")
    chain, documents = training.method.held["chains"][0], training.method.target.documents[0]
    batch = documents.minibatch(np.arange(documents.n_docs))
    counted = np.zeros_like(chain.recalled_sum)
    for topics in chain.recalled.T:
        np.add.at(counted, (batch.words[batch.tokens], topics), 1)
    assert np.array_equal(counted, chain.recalled_sum)
    assert counted.sum() == small_corpus.n_tokens * chain.recalled.shape[1]


def test_minibatches_of_saga_do_not_depend_on_its_memory(small_corpus, tmp_path, monkeypatch):
    """In passes two of a pass have no document in common; of 300 documents two that are drawn
    apart, of 40 each, have none with probability 0.002."""
    drawn = []

    def looking(*arguments):
        drawn.append(set(batch_items(*arguments).tolist()))
        return batch_items(*arguments)

    monkeypatch.setattr("topicmc.models.lda.minibatches.target.batch_items", looking)
    trained(small_corpus, tmp_path / "run", 40, estimate="saga")
    common = [bool(one & other) for one, other in itertools.pairwise(drawn)]
    assert not any(common[:3]) and sum(common[6:]) > 25


def test_remembered_is_the_name_of_kept_assignments():
    assert TrainConfig(estimate="remembered").remember
    assert TrainConfig(remember=True).estimate == "remembered"
    assert not TrainConfig(estimate="cv").keeps_assignments


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"estimate": "cv", "workers": 2}, "--workers"),
        ({"estimate": "saga", "remember": True}, "--remember"),
        ({"estimate": "cv", "sampler": "sgrld"}, "sgrld"),
        ({"estimate": "svrg"}, "plain"),
    ],
)
def test_what_does_not_go_together_is_said(settings, named):
    with pytest.raises(UsageError, match=named):
        resolve(TrainConfig(**settings), Extent(300, 9_000, 99))
