"""`LDA` with seed words and priors that are given."""

import pickle

import numpy as np
import pytest
from fitting_cases import COUNTS, TOKENS, WORDS
from scipy.sparse import csr_array
from sklearn import clone
from sklearn.exceptions import ConvergenceWarning

from topicmc import LDA
from topicmc.errors import DataError
from topicmc.models.lda.run import TopicRun
from topicmc.topics.editing import Edits, edit

TOKENS, COUNTS = TOKENS * 5, np.tile(COUNTS, (5, 1))
QUICK = {"n_components": 3, "max_iter": 30, "random_state": 3, "n_jobs": 1}
WEATHER = {"weather": ["rain", "win*"], "table": {"tea": 1, "cup": 2}}


def place(word):
    return WORDS.index(word)


@pytest.mark.parametrize("sampler", ["adlda", "scir"])
def test_seeded_topics_come_first_with_their_names(sampler):
    model = LDA(**QUICK, seeds=WEATHER, sampler=sampler).fit(TOKENS)
    assert model.topic_names_ == ["weather", "table", None]
    phi = model.components_
    assert phi[0, place("rain")] > 0.2 > phi[0, place("tea")]
    assert phi[1, place("tea")] > 0.2 > phi[1, place("rain")]
    weight = model.topic_word_prior_ - model.topic_word_prior_.min()
    assert weight[1, place("cup")] == pytest.approx(2 * weight[1, place("tea")])
    assert weight[0, place("wind")] == pytest.approx(weight[0, place("rain")])


def test_matrices_need_names_and_unknown_words_are_warned_of():
    with pytest.raises(ValueError, match="give vocabulary"):
        LDA(**QUICK, seeds=WEATHER).fit(csr_array(COUNTS))
    seeds = {"weather": ["rain", "rein"]}
    with pytest.warns(UserWarning, match=r"left out: rein \(weather; nearest: rain\)"):
        model = LDA(**QUICK, seeds=seeds, vocabulary=WORDS).fit(csr_array(COUNTS))
    assert model.topic_names_[0] == "weather"
    for seeds, told in [
        ({"a": ["zzz"]}, "seeds: no seed word of topic a is in the vocabulary"),
        ({"a": [["rain", -1]]}, "the weight -1 is no number above 0"),
        ({"a": []}, "topic a has no words"),
        ({"a": {"rain", "wind"}}, "the words of topic a are of type set, not list"),
        ({"\u200d": ["rain"]}, "is empty or has blanks at an end"),  # nobody sees it
        ("rain", "is not an object"),
        ({c: ["rain"] for c in "abcd"}, "names 4 topics and there are 3"),
    ]:
        with pytest.raises(ValueError, match=told):
            LDA(**QUICK, seeds=seeds).fit(TOKENS)
    told = "seeds names 4 topics and there are 3; give more n_components"
    with pytest.raises(ValueError, match=told):
        LDA(**QUICK, seeds=seeds, vocabulary=WORDS).partial_fit(TOKENS)
    with pytest.raises(ValueError, match="seed_weight is that of seed words"):
        LDA(**QUICK, seed_weight=3).fit(TOKENS)


def test_a_stream_of_documents_begins_with_the_seeds(tmp_path):
    model = LDA(**QUICK, seeds=WEATHER, vocabulary=WORDS, batch_size=50, total_samples=200)
    with pytest.warns(UserWarning):
        for _ in range(20):
            model.partial_fit(TOKENS)
    assert model.topic_names_ == ["weather", "table", None]
    assert model.components_[0, place("rain")] > 0.2 > model.components_[0, place("tea")]
    model.save(tmp_path / "run")
    again = LDA.from_run(tmp_path / "run")
    assert again.topic_names_ == model.topic_names_ and list(again.seeds) == list(WEATHER)
    np.testing.assert_allclose(again.topic_word_prior_, model.topic_word_prior_)


def test_a_seeded_stream_holds_no_prior_of_all_words():
    """But θ and the one sample, float32."""
    n_topics, words = 50, [f"word{i}" for i in range(4_000)]
    model = LDA(n_topics, seeds={"first": words[:1]}, vocabulary=words, random_state=0, n_jobs=1)
    with pytest.warns(ConvergenceWarning):
        model.partial_fit([words[:20]] * 30)
    assert model.topic_word_prior_.shape == (n_topics, len(words))
    assert model.topic_word_prior_ is model.topic_word_prior_  # and not made at each reading
    assert len(pickle.dumps(model)) < 3 * 4 * n_topics * len(words)


def test_priors_may_be_given_for_every_topic_and_word():
    prior = np.full((3, len(WORDS)), 0.1)
    prior[2, place("tea")] = 500
    alpha = [0.1, 0.2, 0.3]
    model = LDA(**QUICK, doc_topic_prior=alpha, topic_word_prior=prior).fit(TOKENS)
    np.testing.assert_allclose(model.doc_topic_prior_, alpha)
    np.testing.assert_allclose(model.topic_word_prior_, prior)
    assert model.components_[2, place("tea")] > 0.5
    for wrong in (prior[:2], -prior, 1e8 * prior, np.full(prior.shape, np.nan)):
        with pytest.raises(ValueError, match=r"topic_word_prior must be from 1e-20 to 1e\+09"):
            LDA(**QUICK, topic_word_prior=wrong).fit(TOKENS)
    with pytest.raises(ValueError, match="doc_topic_prior has 2 numbers for 3 topics"):
        LDA(**QUICK, doc_topic_prior=[0.1, 0.2]).fit(TOKENS)


def test_fit_begins_with_the_topics_of_a_run(tmp_path):
    """Matched by their words, in whatever order; further topics are fresh."""
    two, run = {**QUICK, "n_components": 2}, tmp_path / "run"
    LDA(**two, seeds=WEATHER).fit(TOKENS).save(run)
    model = LDA(**QUICK, init_run=run, vocabulary=WORDS[::-1]).fit(COUNTS[:, ::-1])
    assert model.topic_names_ == ["weather", "table", None]
    phi = model.components_[:, ::-1]
    assert phi[0, place("rain")] > 0.2 > phi[0, place("tea")]
    assert phi[1, place("tea")] > 0.2 > phi[1, place("rain")]
    model.save(tmp_path / "more")
    again = clone(LDA.from_run(tmp_path / "more"))
    assert again.init_run == str(run) and again.fit(TOKENS).topic_names_[:2] == [*WEATHER]
    model.partial_fit(COUNTS[:, ::-1]).save(tmp_path / "more", force=True)
    again = LDA.from_run(tmp_path / "more")
    assert again.init_run == str(run) and again.topic_word_prior is None
    as_many = LDA(**{**two, "n_components": None}, init_run=tmp_path / "more").fit(TOKENS)
    assert len(as_many.components_) == 3


def test_runs_with_whose_topics_no_fit_can_begin(tmp_path):
    LDA(**QUICK).fit(TOKENS).save(tmp_path / "run")
    with pytest.raises(DataError, match="no run here"):
        LDA(**QUICK, init_run=tmp_path / "none").fit(TOKENS)
    init = {"init_run": tmp_path / "run"}
    for X, settings, told in [
        (csr_array(COUNTS), {}, "init_run goes by words, .* give vocabulary"),
        (TOKENS, {"n_components": 2}, "n_components 2: .*run has 3 topics, .* as many or more"),
        (TOKENS, {"seeds": WEATHER}, "seeds and init_run both say with what topics begin"),
        (TOKENS, {"init_run": 3}, "init_run 3 is no path: give that of a run"),
        (TOKENS, {"init_run": ""}, "init_run '' is no path: give that of a run"),
        ([["a\nb", "c"]] * 9, {}, "'a.nb' cannot stand on a line"),
        ([["x", "y"]] * 9, {}, "init_run: .*run has none of the words of X"),
    ]:
        with pytest.raises(ValueError, match=told):
            LDA(**{**QUICK, **init, **settings}).fit(X)
    LDA(**{**QUICK, "n_components": 4}).fit(TOKENS).save(tmp_path / "four")
    edit(TopicRun.open(tmp_path / "four"), Edits(merges=[(0, 1)]), tmp_path / "view")
    with pytest.raises(ValueError, match="is a view that merges or drops topics; go on from its"):
        LDA(**{**QUICK, "n_components": 2}, init_run=tmp_path / "view").fit(TOKENS)
    with pytest.raises(ValueError, match="init_run is what fit begins with"):
        LDA(**QUICK, **init).partial_fit(TOKENS)


@pytest.mark.filterwarnings("ignore")
def test_seeds_that_are_set_later_wait_for_the_next_fit():
    model = LDA(**QUICK).fit(TOKENS)
    model.set_params(seeds=WEATHER).partial_fit(TOKENS)
    assert model.topic_names_ == [None] * 3 and model._record.config["seeds"] is None
    model = LDA(**QUICK, seeds=WEATHER).fit(TOKENS)
    model.set_params(seeds=None).partial_fit(TOKENS)
    assert model.topic_names_ == ["weather", "table", None]
    assert model._record.config["seeds"].keys() == WEATHER.keys()
