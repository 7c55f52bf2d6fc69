"""Figures of several models on the same words and documents, and their topics side by side."""

import numpy as np
import pytest
from fake_runs import gamma_samples, make_run, topic_shapes

from topicmc.errors import DataError
from topicmc.kernels.threads import Threads
from topicmc.models.heldout import split_documents
from topicmc.models.lda.completion import perplexity, token_probabilities
from topicmc.models.lda.scoring import SPLIT_SEED, score_topics
from topicmc.topics.compare.comparison import compare
from topicmc.topics.compare.drift import _intervals, drift
from topicmc.topics.compare.models import MatrixModel, Model, RunModel, restricted
from topicmc.topics.compare.pairing import matching

THREADS = Threads(1)
ALPHA = 0.2


class Given(Model):
    """A model of one sample or several, its topics as they are."""

    n_samples = 1

    def samples(self):
        for _ in range(self.n_samples):
            yield self.phi.T.astype(np.float32), np.full(len(self.phi), ALPHA)


def topics(n_topics: int, n_words: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(n_words, 0.1), n_topics)


@pytest.fixture
def first(small_corpus) -> Given:
    return Given("first", small_corpus.vocabulary, topics(6, small_corpus.n_words, seed=1))


def test_words_are_matched_by_spelling_and_mass_on_others_is_stated(first, small_corpus):
    """The same topics over shuffled words, a quarter of each on words that only they have: rescaled
    to common words they are equal, so every figure must be."""
    order = np.random.default_rng(2).permutation(len(first.words))
    words = ["alien", *(first.words[w] for w in order), "stranger"]
    phi = np.full((6, len(words)), 0.125)
    phi[:, 1:-1] = 0.75 * first.phi[::-1, order]
    other = Given("other", words, phi, share=np.array([0.5, 0.1, 0.1, 0.1, 0.1, 0.1]))
    found = compare([first, other], small_corpus, THREADS)
    mine, theirs = found.models
    assert theirs.left_out == pytest.approx(0.25)
    assert mine.left_out == 0
    assert found.words == small_corpus.n_words
    assert found.unknown_words == 0
    assert any("25.0% of other" in remark for remark in found.remarks)
    for figure in ("npmi", "u_mass", "diversity"):
        assert getattr(theirs, figure) == pytest.approx(getattr(mine, figure), rel=1e-9)
    # Topics are in another order, so the Gibbs sweeps of the evaluation draw other numbers.
    assert theirs.perplexity == pytest.approx(mine.perplexity, rel=0.01)
    (found_again,) = found.matchings
    assert [
        (pair.first, pair.other) for pair in sorted(found_again.pairs, key=lambda p: p.first)
    ] == [(k, 5 - k) for k in range(6)]
    assert found_again.similar == 6
    assert found_again.mean_distance == pytest.approx(0, abs=1e-6)
    for pair in found_again.pairs:
        assert pair.first_words == pair.other_words


def test_perplexity_over_common_words_is_that_of_the_rescaled_topics(first, small_corpus, tmp_path):
    """A matrix without some words: both models are scored without them, by the plain estimator."""
    lost = [3, 50, 119]
    phi = topics(4, small_corpus.n_words, seed=3)
    phi[:, lost] = 0, 1e-50, 0  # as they are scored, in single precision
    np.save(tmp_path / "phi.npy", phi)
    phi[:, lost] = 0
    matrix = MatrixModel(str(tmp_path / "phi.npy"), small_corpus.vocabulary, ALPHA)
    assert score_topics(str(tmp_path / "phi.npy"), small_corpus, ALPHA, THREADS).samples == 1
    assert len(matrix.words) == small_corpus.n_words - 3
    found = compare([first, matrix], small_corpus, THREADS)
    known = np.ones(small_corpus.n_words, bool)
    known[lost] = False
    split = split_documents(small_corpus.heldout, seed=SPLIT_SEED, known=known)
    for model, given in zip(found.models, (first.phi, phi), strict=True):
        theta = np.where(known[:, None], given.T, 0).astype(np.float32)
        p = token_probabilities(
            split,
            theta,
            theta.sum(axis=0, dtype=np.float64),
            np.full(len(given), ALPHA),
            seed=SPLIT_SEED,
            threads=THREADS,
        )
        assert model.perplexity == pytest.approx(perplexity(p), rel=1e-5)
    assert found.unknown_words == split.unknown_words > 0
    assert found.models[0].left_out == pytest.approx(first.phi[:, lost].sum() / 6)
    assert found.models[1].left_out == 0


def test_models_without_common_words_are_refused(first, small_corpus):
    other = Given("other", ["alien", "stranger"], topics(2, 2, seed=4))
    with pytest.raises(DataError, match="none of the held-out words is known to all"):
        compare([first, other], small_corpus, THREADS)


def test_a_run_on_another_corpus_is_remarked_on(first, small_corpus):
    other = Given("other", small_corpus.vocabulary, first.phi)
    other.corpus = "another"
    remarks = compare([first, other], small_corpus, THREADS).remarks
    assert len(remarks) == 1
    assert "other was trained on another corpus" in remarks[0]
    other.corpus = small_corpus.fingerprint
    assert compare([first, other], small_corpus, THREADS).remarks == ()


@pytest.mark.parametrize("n", [2, 3])
def test_perplexities_of_means_and_of_draws_do_not_compare(first, small_corpus, n):
    kept, drawn = (Given(name, first.words, first.phi) for name in ("kept", "drawn"))
    kept.n_samples, kept.of_means, drawn.n_samples, drawn.of_means = 2, True, n, False
    newest, *averaged = compare([kept, drawn], small_corpus, THREADS).remarks
    assert "newest samples do not compare: those of kept are of means given" in newest
    assert "and those of drawn of draws" in newest
    assert newest.endswith("; compare the averaged ones") == (n == 2)
    assert len(averaged) == n - 2
    assert all(remark.endswith("samples, and more samples lower them") for remark in averaged)


def test_a_topic_without_common_words_is_unlike_every_other():
    phi = restricted(np.array([[0.2, 0.8, 0.0], [0.0, 0.0, 1.0]]), np.array([0, 1]))
    assert phi.tolist() == [[0.2, 0.8], [0, 0]]
    found = matching("other", phi, phi, ["a", "b"], limit=0.5)
    assert [pair.distance for pair in found.pairs] == pytest.approx([0, 1], abs=1e-6)
    assert found.similar == 1


def test_topics_over_all_words_are_not_copied():
    phi = topics(3, 10, seed=1)
    assert restricted(phi, np.arange(10)) is phi


def test_of_models_with_more_and_fewer_topics_each_pair_is_counted_once():
    many, few = topics(7, 40, seed=5), topics(7, 40, seed=5)[[4, 2]]
    words = [f"word{w}" for w in range(40)]
    for found in (matching("few", many, few, words, 0.5), matching("many", few, many, words, 0.5)):
        assert len(found.pairs) == found.similar == 2
    pairs = {(pair.first, pair.other) for pair in matching("few", many, few, words, 0.5).pairs}
    assert pairs == {(4, 0), (2, 1)}


def test_word_drift_is_that_of_the_common_words(first, small_corpus):
    """A topic that moved a tenth of itself from its second word to one that it lacked; over other
    words in another order, and with one that only the other model knows."""
    phi = first.phi.copy()
    likely = np.argsort(-phi[2])
    phi[2, likely[-1]] += 0.1 * phi[2, likely[0]]
    phi[2, likely[0]] *= 0.9
    order = np.random.default_rng(2).permutation(len(first.words))
    wider = np.concatenate([np.full((6, 1), 0.25), 0.75 * phi[:, order]], axis=1)
    other = Given("other", ["alien", *(first.words[w] for w in order)], wider)
    assert compare([first, other], small_corpus, THREADS).drifts == ()
    (found,) = compare([first, other], small_corpus, THREADS, drifts=True).drifts
    told = {topic.first: topic for topic in found.topics}
    assert [told[k].other for k in range(6)] == list(range(6))
    (gained,), (lost,) = (
        [change for change in changes if abs(change.after - change.before) > 1e-6]
        for changes in (told[2].gained, told[2].lost)
    )
    moved = 0.1 * first.phi[2, likely[0]]
    for change, w, by in ((gained, likely[-1], moved), (lost, likely[0], -moved)):
        assert change.word == first.words[w]
        assert change.before == pytest.approx(first.phi[2, w], abs=1e-9)
        assert change.after - change.before == pytest.approx(by, rel=1e-6)
        assert change.before_interval is None
    assert all(topic.new == (("alien", 0.25),) for topic in told.values())


def test_the_drift_of_one_topic_is_looked_at_a_time(first, small_corpus, monkeypatch):
    rows = []

    def counted(phi, columns):
        rows.append(len(phi))
        return restricted(phi, columns)

    monkeypatch.setattr("topicmc.topics.compare.drift.restricted", counted)
    other = Given("other", first.words, first.phi[::-1].copy())
    (found,) = compare([first, other], small_corpus, THREADS, drifts=True).drifts
    assert rows == [1] * 12 and len(found.topics) == 6


def test_intervals_of_a_drift_hold_what_the_samples_show(tmp_path, small_corpus):
    """Gamma draws of known shapes as samples: intervals are those of the draws, rescaled to the
    common words. Of 90 % intervals from 200 draws, 85 to 95 % hold a new draw but once in 10,000
    times."""
    generator = np.random.default_rng(3)
    shapes = generator.gamma(2.0, 20.0, (40, 3))
    samples = [generator.gamma(shapes) for _ in range(200)]
    make_run(tmp_path / "a", {0: samples}, workers=1, threads=1)
    model = RunModel(tmp_path / "a")
    columns = np.arange(5, 40)
    words = np.tile(np.arange(35), (3, 1))
    low, high = _intervals(model, np.arange(3), columns, words)
    hits = 0
    for _ in range(20):
        draw = generator.gamma(shapes)[5:]
        phi = (draw / draw.sum(axis=0)).T
        hits += ((phi >= low) & (phi <= high)).mean() / 20
    assert 0.85 < hits < 0.95


def test_intervals_of_a_drift_are_of_the_topics_that_were_matched(tmp_path):
    """Of two runs with their topics in other orders, the second with every other word twice as
    likely: each mean lies in its own interval, and not in that of the other run."""
    generator = np.random.default_rng(9)
    shapes = 20 * topic_shapes(60, 5)
    others = shapes[:, [3, 0, 4, 1, 2]] * np.tile([[0.5], [1.0]], (30, 1))
    for name, of in (("a", shapes), ("b", others)):
        make_run(tmp_path / name, {0: gamma_samples(of, 20, generator)}, workers=1, threads=1)
    one, two = (RunModel(tmp_path / name) for name in "ab")
    columns, matched = np.arange(60), matching("b", one.phi, two.phi, one.words, 0.5)
    assert [pair.other for pair in sorted(matched.pairs, key=lambda p: p.first)] == [1, 3, 4, 0, 2]
    for topic in drift(one, two, (columns, columns), matched).topics:
        assert len(topic.gained) == len(topic.lost) == 5
        for change in topic.gained + topic.lost:
            ends = change.before_interval, change.after_interval
            held = [
                [low < mean < high for low, high in ends] for mean in (change.before, change.after)
            ]
            assert held == [[True, False], [False, True]]


def test_intervals_of_a_drift_are_of_the_samples_that_topics_are_the_mean_of(tmp_path, monkeypatch):
    for module in ("models.lda.samples", "topics.compare.models"):
        monkeypatch.setattr(f"topicmc.{module}.at_rest", lambda run, entries: entries[-3:])
    samples = gamma_samples(topic_shapes(60, 5), 8, np.random.default_rng(9))
    make_run(tmp_path / "run", {0: samples}, workers=1, threads=1)
    model = RunModel(tmp_path / "run")
    drawn = [(theta / theta.sum(axis=0)).T for theta in model.draws()]
    assert len(drawn) == 3
    np.testing.assert_allclose(np.mean(drawn, axis=0), model.phi, rtol=1e-5)
