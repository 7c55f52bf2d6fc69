"""`LDA` on documents as they come: its start, its samples, and calls that fail."""

import pickle
import warnings

import numpy as np
import pytest
from fitting_cases import TEXTS, TOKENS, WORDS, stream
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from topicmc import LDA
from topicmc.corpora import prepare
from topicmc.estimator.incremental import LEAST_START, MOST_START, Stream
from topicmc.models.lda.run import TopicRun
from topicmc.samplers.scir import Scir
from topicmc.samplers.steps import step_size


def draws(model: LDA) -> list[np.ndarray]:
    return [model._draw(i) for i in range(len(model.samples_))]


@pytest.mark.parametrize(
    ("total", "start"), [(None, LEAST_START), (40, LEAST_START), (2000, 100), (10**6, MOST_START)]
)
def test_a_start_follows_the_documents_and_warns_until_it_is_over(total, start):
    model = LDA(2, total_samples=total, vocabulary=WORDS, random_state=1, n_jobs=1)
    assert stream(model, start + 2) == list(range(start))
    assert min(model._stream.positions) > start


def test_after_fit_every_call_counts(fitted, own):
    model = own.set_params(total_samples=40)
    before, passes, n = model.components_, model.n_iter_, len(model.samples_)
    assert stream(model, 1) == []
    assert (model.components_ != before).any()
    assert model.n_iter_ == passes + 1
    stream(model, 3)
    assert model.n_iter_ == passes + 2
    kept = [phi for phi in model.samples_ if any((phi == draw).all() for draw in draws(fitted))]
    assert 0 < len(kept) < n
    stream(model, n)
    tea, rain = model.transform([["tea", "tea"], ["rain", "rain"]])
    assert tea.argmax() != rain.argmax()
    assert not any((phi == draw).all() for phi in model.samples_ for draw in draws(fitted))


def test_after_fit_the_prior_and_the_step_are_those_behind_a_start(own, monkeypatch):
    """They do not begin anew, for every state is a sample."""
    moves, move = [], Scir.move

    def noted(sampler, *args, **named):
        moves.append((sampler.prior.base, named["step"]))
        return move(sampler, *args, **named)

    monkeypatch.setattr(Scir, "move", noted)
    stream(own, 2)
    steps = [step_size(MOST_START + i, 0.5, 20.0, 0.6) for i in range(2)]
    np.testing.assert_allclose(moves, [(own.topic_word_prior_, step) for step in steps])
    new = LDA(2, total_samples=40, vocabulary=WORDS, random_state=1, n_jobs=1)
    moves.clear()
    stream(new, LEAST_START + 1)
    assert moves[0] == (1, 0.5)
    assert moves[-2][0] > moves[-1][0] == new.topic_word_prior_


def test_a_corpus_is_found_sound_once(tmp_path, monkeypatch):
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS) + "\n")
    options = {"min_df": 0, "max_df": 1.0, "n_heldout": 0}
    corpus = prepare([tmp_path / "texts.txt"], tmp_path / "corpus", **options)
    checked = []
    monkeypatch.setattr(type(corpus), "check", lambda corpus, shards: checked.append(corpus))
    with pytest.warns(ConvergenceWarning):
        LDA(2, random_state=1, n_jobs=1).partial_fit(corpus)
    assert checked == [corpus]


def test_samples_of_a_stream_are_put_together_when_they_are_read():
    model = LDA(2, total_samples=40, vocabulary=WORDS, random_state=1, n_jobs=1)
    assert not hasattr(model, "components_")
    stream(model, LEAST_START + 4)
    assert isinstance(model._record.phis, list)
    stored = pickle.loads(pickle.dumps(model))
    samples = model.samples_
    assert samples is model.samples_ and samples.shape == (4, 2, len(WORDS))
    np.testing.assert_array_equal(stored.components_, model.components_)
    assert all(np.shares_memory(phi, samples) for phi in model._stream.samples)
    stored = pickle.loads(pickle.dumps(model))
    assert stored._record.phis is stored._stream.samples
    stream(model, 1)
    assert len(model.samples_) == 5 and (model.samples_[:4] == samples).all()
    with pytest.raises(NotFittedError, match="not fitted yet"):
        LDA(2).components_  # noqa: B018


def test_a_call_that_fails_leaves_the_stream_as_it_was(monkeypatch):
    """Though it fails in the middle of a move."""
    model, other, new = (
        LDA(2, total_samples=40, vocabulary=WORDS, random_state=1, n_jobs=1) for _ in range(3)
    )
    for one in (model, other):
        stream(one, 3)
    move = Scir.move

    def torn(*args, **named):
        move(*args, **named)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Scir, "move", torn)
        for one in (model, new):
            with pytest.raises(KeyboardInterrupt):
                one.partial_fit(TOKENS)
    assert not hasattr(new, "n_features_in_")
    for one in (model, other):
        stream(one, 1)
    assert (model.samples_ == other.samples_).all() and model.n_iter_ == other.n_iter_


def test_a_fit_that_ended_in_its_start_goes_on_with_one():
    model = LDA(2, sampler="scir", max_iter=3, total_samples=40, random_state=0, n_jobs=1)
    with pytest.warns(ConvergenceWarning, match="during its start"):
        model.fit(TOKENS)
    before = model.components_
    assert stream(model, LEAST_START + 2) == list(range(LEAST_START))
    assert model._record.entries[-1]["burn_in"] is False and (model.components_ != before).any()


def test_topics_of_sgrld_keep_their_weight_in_further_documents():
    """SGRLD leaves Σ_w θ_wk to the prior; a chain of SCIR goes on from tokens and prior."""
    model = LDA(2, sampler="sgrld", max_iter=60, batch_size=10, random_state=0, n_jobs=1)
    model.fit(TOKENS * 20)
    before = model.components_.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.partial_fit([["tea", "rain"]] * 5)
    tokens = sum(map(len, TOKENS)) * 20
    assert model._record.sums[0].sum() == pytest.approx(tokens, rel=0.1)
    assert np.abs(model.samples_[-1] - before).max() < 0.2


def test_topics_of_a_stream_weigh_as_those_of_all_documents():
    """And not as those of one minibatch, with intervals that are too wide. Of 1,200 tokens a fifth
    is seven standard deviations."""
    model = LDA(2, total_samples=400, vocabulary=WORDS, random_state=1, n_jobs=1)
    stream(model, LEAST_START + 10)
    expected = 10 * sum(map(len, TOKENS))
    assert model._record.corpus["tokens"] == pytest.approx(expected, rel=0.2)


def test_documents_of_fit_are_among_those_that_a_minibatch_stands_for(own, monkeypatch):
    """Unless `total_samples` says how many there are; and a stream that begins has the prior of so
    many tokens."""
    scales, update = [], Stream.update

    def seen(self, documents, scale, threads):
        scales.append(scale)
        update(self, documents, scale, threads)

    monkeypatch.setattr(Stream, "update", seen)
    stream(own, 2)
    assert scales == [3, 4]  # of 20 documents, after 40
    new = LDA(2, total_samples=40, vocabulary=WORDS, random_state=1, n_jobs=1)
    stream(new, 1)
    assert scales[2:] == [2]
    assert new.topic_word_prior_ == pytest.approx(len(WORDS) / sum(map(len, TOKENS)))


@pytest.mark.parametrize("total", [40.0, np.int64(40)])
def test_a_total_may_be_any_whole_number(total, tmp_path):
    model = LDA(2, total_samples=total, vocabulary=WORDS, random_state=1, n_jobs=1)
    assert stream(model, 2) == [0, 1]
    model.save(tmp_path / "run")
    assert TopicRun.open(tmp_path / "run").facts()["corpus"]["documents"] == 40


@pytest.mark.parametrize("total", [0, -3, 2.5, float("nan"), float("inf"), "40", True])
def test_other_totals_are_refused(total):
    with pytest.raises(ValueError, match="total_samples .* is not a whole number from 1 on"):
        LDA(2, total_samples=total, vocabulary=WORDS).partial_fit(TOKENS)


def test_samples_are_kept_by_as_many_threads_as_jobs(monkeypatch):
    """Not by all cores."""
    monkeypatch.setattr("topicmc.models.lda.samples.available_cores", None)
    model = LDA(2, total_samples=40, vocabulary=WORDS, random_state=1, n_jobs=1)
    stream(model, LEAST_START + 1)
    assert model._stream.samples
