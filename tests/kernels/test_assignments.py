"""Which kernel draws: by the number of topics, what is remembered, and how often words come up."""

import numpy as np
import pytest

from topicmc.corpora import Documents
from topicmc.estimator.incremental import Stream
from topicmc.kernels import assignments, by_word_batch, gibbs, sparse
from topicmc.kernels.batch import Minibatch
from topicmc.kernels.gibbs import UNASSIGNED
from topicmc.kernels.padding import padded_topics
from topicmc.kernels.random import stream_key
from topicmc.kernels.threads import Threads
from topicmc.samplers.row_prior import RowPrior


@pytest.mark.parametrize(
    ("n_topics", "remembered", "kernel"),
    [(100, False, gibbs), (500, False, gibbs), (500, True, sparse), (1000, False, sparse)],
)
def test_the_cheaper_kernel_draws(n_topics, remembered, kernel):
    length = 50
    generator = np.random.default_rng(0)
    tokens = np.sort(generator.integers(0, 60, (4, length)), axis=1).astype(np.uint32).reshape(-1)
    batch = Minibatch(np.arange(4), length * np.arange(5), tokens, np.arange(60, dtype=np.int32))
    rows = np.array([padded_topics(row) for row in generator.dirichlet(np.ones(n_topics), 60)])
    alpha = padded_topics(np.full(n_topics, 0.1))
    z = np.full(4 * length, 3 if remembered else UNASSIGNED, np.uint16)
    options = {"sweeps": 2, "burn_in": 1, "key": stream_key(0, "gibbs"), "update": 3}
    got, expected = (
        draw.sample_assignments(
            batch, rows, alpha, z=z.copy(), threads=Threads(), want_doc_topic=True, **options
        )
        for draw in (assignments, kernel)
    )
    np.testing.assert_array_equal(got.word_topic, expected.word_topic)
    np.testing.assert_array_equal(got.doc_topic, expected.doc_topic)
    other = {gibbs: sparse, sparse: gibbs}[kernel].sample_assignments(
        batch, rows, alpha, z=z.copy(), threads=Threads(), **options
    )
    assert np.any(other.word_topic != got.word_topic)


def test_it_draws_for_partial_fit(monkeypatch):
    own, drawn = sparse.sample_assignments, []
    monkeypatch.setattr(
        sparse, "sample_assignments", lambda *a, **b: drawn.append(a[1].shape) or own(*a, **b)
    )
    options = {"n_tokens": 20, "n_batches": 1, "n_samples": 1, "seed": 0}
    stream = Stream.begin(20, np.full(700, 0.1), RowPrior(0.1), **options)
    words = np.arange(20, dtype=np.uint32)
    stream.update(Documents(np.array([0, 20]), words, np.ones_like(words)), 1.0, Threads())
    assert drawn == [(20, 704)]


@pytest.mark.parametrize("kernel", [gibbs, sparse, by_word_batch])
def test_only_the_sums_asked_for_are_made(kernel):
    tokens = np.sort(np.random.default_rng(0).integers(0, 9, (2, 200)), axis=1)
    tokens = tokens.astype(np.uint32).reshape(-1)
    batch = Minibatch(np.arange(2), np.array([0, 200, 400]), tokens, np.arange(9))
    rows, alpha = np.ones((9, 16), np.float32), padded_topics(np.ones(12))
    options = {"sweeps": 3, "burn_in": 1, "key": stream_key(0, "gibbs"), "update": 0}

    def draw(words, documents):
        return kernel.sample_assignments(
            batch, rows, alpha, threads=Threads(2), want_word_topic=words,
            want_doc_topic=documents, **options,
        )  # fmt: skip

    both, of_words, of_documents = draw(True, True), draw(True, False), draw(False, True)
    assert both.word_topic.sum() == both.doc_topic.sum() == 2 * len(tokens)
    np.testing.assert_array_equal(of_words.word_topic, both.word_topic)
    np.testing.assert_array_equal(of_documents.doc_topic, both.doc_topic)
    assert of_words.doc_topic is None and of_documents.word_topic is None


@pytest.mark.parametrize("n_threads", [1, 2])
def test_what_memory_held_before_does_not_matter(monkeypatch, n_threads):
    tokens = np.repeat(np.arange(0, 60, 2, dtype=np.uint32), 6)
    batch = Minibatch(np.arange(2), np.array([0, 90, 180]), tokens, np.arange(60, dtype=np.int32))
    theta = np.random.default_rng(0).gamma(0.5, size=(60, 20)).astype(np.float32)
    threads, options = Threads(n_threads), {"key": stream_key(0, "gibbs"), "update": 3}

    def drawn(held):
        def empty(shape, dtype):
            return np.full(shape, held, dtype)

        for module in (gibbs, by_word_batch):
            monkeypatch.setattr(module, "aligned_empty", empty)
        rows = gibbs.topic_rows(theta, theta.sum(axis=0), batch.words, threads)
        got = by_word_batch.sample_assignments(
            batch, rows, padded_topics(np.ones(20)), sweeps=3, burn_in=1, threads=threads, **options
        )
        return rows, got.word_topic

    for clean, dirty in zip(drawn(0), drawn(77), strict=True):
        np.testing.assert_array_equal(clean, dirty)
    nothing = Minibatch(np.arange(0), np.zeros(1, np.int64), tokens[:0], batch.words)
    none = by_word_batch.sample_assignments(
        nothing, drawn(77)[0], padded_topics(np.ones(20)), sweeps=3, burn_in=1, threads=threads,
        **options,
    )  # fmt: skip
    assert not none.word_topic.any()


def test_words_that_come_up_often_are_drawn_word_by_word(monkeypatch):
    tokens, drawn = np.repeat(np.arange(5, dtype=np.uint32), 6), []
    rows, alpha = np.ones((5, 16), np.float32), padded_topics(np.ones(4))
    own = by_word_batch.sample_assignments
    monkeypatch.setattr(
        by_word_batch, "sample_assignments", lambda *a, **b: drawn.append(b) or own(*a, **b)
    )

    def draws(tokens, sweeps, longest=65_535):
        monkeypatch.setattr(by_word_batch, "LONGEST", longest)
        batch = Minibatch(np.arange(1), np.array([0, len(tokens)]), tokens, np.arange(5))
        drawn.clear()
        options = {"key": stream_key(0, "gibbs"), "update": 3, "threads": Threads()}
        assignments.sample_assignments(batch, rows, alpha, sweeps=sweeps, burn_in=0, **options)
        return bool(drawn)

    assert draws(tokens, 3)
    assert not draws(tokens[1:], 3)  # fewer than six a word
    assert not draws(tokens, 2)  # to order them takes too long for two sweeps
    assert not draws(tokens, 3, longest=29)  # counts would need more bytes


def test_the_more_topics_the_more_tokens_pay_for_the_row_of_a_word():
    for n_padded, least in ((16, 6), (256, 6), (1_024, 9), (4_096, 18)):
        assert by_word_batch.come_up_often(10 * least, 10, n_padded, 3)
        assert not by_word_batch.come_up_often(10 * least - 4, 10, n_padded, 3)
