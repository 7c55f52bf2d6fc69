"""The one estimator of held-out perplexity, where its value is known or can be had otherwise."""

import tracemalloc
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from fake_runs import gamma_samples, make_run, topic_shapes

from topicmc.corpora import Documents
from topicmc.errors import DataError
from topicmc.kernels.threads import Threads
from topicmc.models.heldout import part_of, split_documents
from topicmc.models.lda.completion import check_topics, perplexity, token_probabilities
from topicmc.models.lda.scoring import _of_means, score_run


def random_documents(n_docs: int, n_words: int, seed: int = 0) -> Documents:
    generator = np.random.default_rng(seed)
    rows = [
        np.unique(generator.integers(n_words, size=generator.integers(1, 80)), return_counts=True)
        for _ in range(n_docs)
    ]
    return Documents(
        np.concatenate([[0], np.cumsum([len(words) for words, _ in rows])]).astype(np.int64),
        np.concatenate([words for words, _ in rows]).astype(np.uint16),
        np.concatenate([counts for _, counts in rows]).astype(np.uint16),
    )


def score(split, phi, alpha=0.1, threads=1, **more):
    phi = np.asarray(phi)
    return token_probabilities(
        split,
        np.ascontiguousarray(phi.T, np.float32),
        np.ones(len(phi)),
        np.full(len(phi), alpha),
        seed=0,
        threads=Threads(threads),
        **more,
    )


def test_a_tenth_of_each_document_is_scored_and_nothing_is_lost():
    documents = random_documents(200, 50)
    split = split_documents(documents, seed=1)
    lengths = np.add.reduceat(documents.counts.astype(int), documents.indptr[:-1])
    scored = np.bincount(split.scored_doc, minlength=200)
    expected = [0 if n < 2 else max(1, round(n / 10)) for n in lengths]
    assert (np.abs(scored - expected) <= (lengths % 10 == 5)).all()  # round half to even
    assert (scored + np.diff(split.observed.offsets) == lengths).all()
    everything = np.concatenate([split.observed.words[split.observed.tokens], split.scored_word])
    assert (
        np.bincount(everything, minlength=50)
        == np.bincount(documents.word_ids, documents.counts, minlength=50)
    ).all()


def test_the_split_depends_on_the_seed_alone():
    documents = random_documents(50, 30)
    assert (
        split_documents(documents, seed=1).fingerprint
        == split_documents(documents, seed=1, known=np.arange(30) % 2 == 0).fingerprint
    )
    one, two = split_documents(documents, seed=1), split_documents(documents, seed=2)
    assert one.fingerprint != two.fingerprint


def test_equal_topics_score_their_word_probabilities():
    """When all topics are alike the topic mix cannot matter: p(w) = φ_w exactly."""
    split = split_documents(random_documents(100, 40), seed=0)
    word = np.random.default_rng(1).dirichlet(np.ones(40))
    probabilities = score(split, np.tile(word, (7, 1)))
    np.testing.assert_allclose(probabilities, word[split.scored_word], rtol=1e-5)
    assert perplexity(probabilities) == pytest.approx(
        np.exp(-np.mean(np.log(word[split.scored_word]))), rel=1e-6
    )


def test_disjoint_topics_are_recognised_exactly():
    """Each document keeps to one half of the words, so z is certain and η̂ = (N + α) / (N + 2α)."""
    phi = np.zeros((2, 20))
    phi[0, :10] = phi[1, 10:] = 0.1
    rows = [np.arange(10) + 10 * (d % 2) for d in range(20)]
    documents = Documents(
        np.arange(0, 201, 10), np.concatenate(rows).astype(np.uint16), np.full(200, 2, np.uint16)
    )
    split = split_documents(documents, seed=3)
    n_observed = np.diff(split.observed.offsets)[split.scored_doc]
    expected = (n_observed + 0.5) / (n_observed + 1.0) * 0.1
    np.testing.assert_allclose(score(split, phi, alpha=0.5), expected, rtol=1e-5)


def test_the_topic_mix_agrees_with_its_exact_posterior():
    """One document of 9 observed tokens, K = 2: p̂ against a sum over all 2⁹ assignments.

    With 20,000 sweeps the mean of n_dk is within 0.005 of exact at more than six standard errors
    (false-failure rate below 1e-6). Sampling without the own token removed misses by 0.02 or more.
    """
    phi = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])
    counts = np.array([4, 3, 3], np.uint16)
    documents = Documents(np.array([0, 3]), np.arange(3, dtype=np.uint16), counts)
    split = split_documents(documents, seed=0)
    tokens = split.observed.words[split.observed.tokens]
    alpha, n = 0.3, len(tokens)
    assignments = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    ones = assignments.sum(axis=1)
    from scipy.special import gammaln

    log_weight = gammaln(ones + alpha) + gammaln(n - ones + alpha)
    log_weight += np.log(phi[assignments, tokens]).sum(axis=1)
    weight = np.exp(log_weight - log_weight.max())
    mean_ones = (weight * ones).sum() / weight.sum()
    mix = np.array([n - mean_ones + alpha, mean_ones + alpha]) / (n + 2 * alpha)
    exact = (mix @ phi)[split.scored_word]
    estimate = score(split, phi, alpha=alpha, sweeps=20_100, burn_in=100)
    np.testing.assert_allclose(estimate, exact, rtol=0.005)


def test_shares_and_threads_do_not_change_a_probability():
    split = split_documents(random_documents(60, 40), seed=0)
    phi = np.random.default_rng(2).dirichlet(np.full(40, 0.1), 6)
    whole = score(split, phi)
    assert (score(split, phi, threads=3) == whole).all()
    for n_parts in (2, 3, 7):
        parts = [score(part_of(split, i, n_parts), phi) for i in range(n_parts)]
        assert (np.concatenate(parts) == whole).all()


def test_a_run_is_scored_on_a_corpus_with_other_words(tmp_path):
    """In another order, and some that the run does not know. What topics hold of words that the
    corpus lacks stays with these."""
    generator = np.random.default_rng(1)
    theta = np.array(gamma_samples(topic_shapes(50, 4), 2, generator), np.float32)
    run = make_run(tmp_path / "run", {0: theta})
    own, order = run.vocabulary(), generator.permutation(50)[:30]
    words = ["alien", *(own[w] for w in order), "stranger"]
    documents = random_documents(40, len(words))
    corpus = SimpleNamespace(
        heldout=documents, vocabulary=words, path="corpus", fingerprint="other", check=list
    )
    found = score_run(run, corpus, own, Threads(1))
    known = np.array([word in own for word in words])
    split = split_documents(documents, seed=0, known=known)
    probabilities = []
    for of_run in theta:
        of_corpus = np.zeros((len(words), 4), np.float32)
        of_corpus[known] = of_run[order]
        sums = of_run.sum(axis=0, dtype=np.float64)
        options = {"seed": 0, "threads": Threads(1)}
        probabilities.append(
            token_probabilities(split, of_corpus, sums, np.full(4, 0.1), **options)
        )
    assert found.perplexity_averaged == pytest.approx(perplexity(np.mean(probabilities, axis=0)))
    assert found.perplexity == pytest.approx(perplexity(probabilities[1]))
    assert found.unknown_words == documents.counts[~known[documents.word_ids]].sum() > 0


def test_words_unknown_to_the_model_are_counted_and_left_out():
    documents = random_documents(60, 40)
    known = np.arange(40) != 7
    split = split_documents(documents, seed=0, known=known)
    assert split.unknown_words == documents.counts[documents.word_ids == 7].sum()
    assert 7 not in split.scored_word and 7 not in split.observed.words


@pytest.mark.parametrize(
    ("matrix", "complaint"),
    [
        (np.ones((3, 4)), "4 columns, but the vocabulary has 5 words"),
        (np.ones((5, 3)), "transpose it"),
        (np.ones(5), "not a K × W matrix"),
        (np.full((2, 5), np.nan), "non-finite"),
        (np.full((2, 5), -1.0), "negative"),
        (np.zeros((2, 5)), "topic 0 is all zeros"),
        (np.full((2, 5), "x"), "not a K × W matrix"),
    ],
)
def test_matrices_that_are_not_topics_are_refused(matrix, complaint):
    with pytest.raises(DataError, match=f"phi.npy: .*{complaint}"):
        check_topics(matrix, 5, "phi.npy")


def test_a_matrix_of_topics_is_copied_once():
    """Rows of the copy are divided in place."""
    phi = np.random.default_rng(0).random((50, 20_000))
    tracemalloc.start()
    try:
        found = check_topics(phi, 20_000, "phi.npy")
        assert tracemalloc.get_traced_memory()[1] < 1.5 * phi.nbytes
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(found, phi / phi.sum(axis=1, keepdims=True))


def test_the_error_of_the_perplexity_under_running_means(monkeypatch):
    """That of log p, in the mean over chains that are independent, times the perplexity; none where
    that of one chain is not known."""
    facts = {"corpus": {"fingerprint": "own"}}
    run = SimpleNamespace(view=None, path=Path("run"), trace=list, facts=lambda: facts)
    found, known = {0: np.full(4, 0.01), 2: np.full(4, 0.04)}, {0: 3e-3, 2: 4e-3}
    monkeypatch.setattr("topicmc.models.lda.scoring.running_errors", lambda trace: known)

    def told(fingerprint="own"):
        return _of_means(run, SimpleNamespace(fingerprint=fingerprint), found)

    assert told() == pytest.approx((50, 50 * 2.5e-3))
    assert told("other") == (pytest.approx(50), None)
    for known in ({0: 3e-3}, {0: 3e-3, 2: np.nan}):  # noqa: B007, which is looked up
        assert told() == (pytest.approx(50), None)
