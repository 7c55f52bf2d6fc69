"""`topicmc.LDA` as scikit-learn's users expect it, on everything that it reads."""

import io
import json
import pickle
import subprocess
import sys
import tempfile
import types
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from fitting_cases import COUNTS, QUICK, TEXTS, TOKENS, WORDS, stream
from scipy.sparse import coo_array, csr_array, csr_matrix
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import topicmc
from topicmc import LDA
from topicmc.corpora import prepare
from topicmc.corpora.documents import from_entries
from topicmc.estimator.incremental import LEAST_START as START
from topicmc.estimator.inputs import from_matrix
from topicmc.kernels.threads import Threads
from topicmc.models.heldout import split_documents
from topicmc.models.lda.completion import token_probabilities

ONE_TOPIC = "the check sets n_components=1, and a topic model needs two topics"
EXPECTED_FAILURES = {
    "check_dont_overwrite_parameters": ONE_TOPIC,
    "check_methods_sample_order_invariance": f"{ONE_TOPIC}; tested here with two",
    "check_methods_subset_invariance": f"{ONE_TOPIC}; tested here with two",
    "check_fit2d_1sample": f"{ONE_TOPIC}; tested here with two",
    "check_fit2d_1feature": f"{ONE_TOPIC}; tested here with two",
    "check_fit2d_predict1d": ONE_TOPIC,
}


@pytest.fixture(scope="module", autouse=True)
def memory_for_temporary_files():
    """Each fit leaves files for a moment; in memory they cost less."""
    usual, memory = tempfile.tempdir, Path("/dev/shm")
    tempfile.tempdir = str(memory) if memory.is_dir() else usual
    yield
    tempfile.tempdir = usual


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [LDA(n_components=2, max_iter=2, n_samples=1, random_state=0, n_jobs=1)],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
    xfail_strict=True,
)
def test_scikit_learn_agrees(estimator, check):
    check(estimator)


# --- what it reads --------------------------------------------------------------------------------


def separates(model: LDA, X) -> bool:
    """Whether the two subjects of TEXTS have a topic each, and rows sum to one."""
    mix = model.transform(X)
    np.testing.assert_allclose(mix.sum(axis=1), 1)
    tea = mix[0].argmax()
    return bool((mix[[0, 2], tea] > 0.8).all() and (mix[[1, 3, 4], tea] < 0.2).all())


@pytest.mark.parametrize(
    "X",
    [
        COUNTS, csr_matrix(COUNTS), csr_array(COUNTS.astype(np.float32)), COUNTS.tolist(), TOKENS,
        COUNTS.astype(np.float16),
    ],
    ids=["array", "csr matrix", "csr array of floats", "lists of numbers", "tokens", "float16"],
)  # fmt: skip
def test_counts_and_tokens_give_the_same_topics(fitted, X):
    model = LDA(**QUICK).fit(X)
    assert separates(model, X)
    assert (model.components_ == fitted.components_).all()
    assert (model.transform(X) == fitted.transform(TOKENS)).all()
    np.testing.assert_allclose(model.components_.sum(axis=1), 1)


def test_a_data_frame_gives_its_names():
    frame = pytest.importorskip("pandas").DataFrame(COUNTS, columns=WORDS)
    model = LDA(**QUICK).set_output(transform="pandas").fit(frame)
    assert model.feature_names_in_.tolist() == model.vocabulary_ == WORDS
    assert model.transform(frame).columns.tolist() == ["lda0", "lda1"]
    assert (model.transform(frame).to_numpy() == model.transform(TOKENS).to_numpy()).all()


def test_gensim_corpora_with_their_dictionary():
    from gensim.corpora import Dictionary

    dictionary = Dictionary(TOKENS)
    bags = [dictionary.doc2bow(tokens) for tokens in TOKENS]
    model = LDA(**QUICK, vocabulary=dictionary).fit(bags)
    assert separates(model, bags)
    assert model.vocabulary_ == [dictionary[i] for i in range(len(dictionary))]
    assert (model.transform(TOKENS) == model.transform(bags)).all()
    unknown = [*bags[0], (99, 5)]
    assert (model.transform([unknown]) == model.transform(bags[:1])).all()


def test_a_prepared_corpus_or_its_path(tmp_path):
    source = tmp_path / "texts.txt"
    source.write_text("\n".join(TEXTS) + "\n")
    corpus = prepare([source], tmp_path / "corpus", min_df=0, max_df=1.0, n_heldout=10)
    model = LDA(**QUICK).fit(corpus)
    assert model.vocabulary_ == corpus.vocabulary == WORDS
    mix = model.transform(corpus.path)
    assert mix.shape == (40 - corpus.n_heldout, 2)
    heldout = np.zeros((corpus.n_heldout, len(WORDS)))
    part = corpus.heldout
    heldout[np.repeat(np.arange(corpus.n_heldout), part.lengths), part.word_ids] = part.counts
    assert model.score(corpus) == pytest.approx(model.score(heldout))


def test_a_pipeline_after_count_vectorizer(fitted):
    pipeline = make_pipeline(CountVectorizer(), LDA(**QUICK))
    assert (pipeline.fit_transform(TEXTS) == fitted.transform(TOKENS)).all()
    assert pipeline.get_feature_names_out().tolist() == ["lda0", "lda1"]
    assert pipeline.score(TEXTS) == fitted.score(TOKENS)


def test_the_vocabulary_that_is_given_is_kept():
    model = LDA(**QUICK, vocabulary=["tea", "rain", "snow", "milk", "wind"]).fit(TOKENS)
    assert model.components_.shape == (2, 5)
    assert model.vocabulary_[2] == "snow" and (model.components_[:, 2] < 0.05).all()


def test_empty_documents_and_unknown_words_have_the_mean_of_the_prior(fitted):
    prior = fitted.doc_topic_prior_ / fitted.doc_topic_prior_.sum()
    mix, std = fitted.transform([[], ["unheard", "of"], ["tea"]], return_std=True)
    np.testing.assert_allclose(mix[:2], [prior, prior], rtol=1e-6)
    assert (std > 0).all()
    with_empty = LDA(**QUICK).fit([[], *TOKENS, []])
    assert (with_empty.components_ == fitted.components_).all()


@pytest.mark.parametrize(
    ("X", "settings", "complaint"),
    [
        (TEXTS, {}, "holds texts"),
        (iter(TOKENS), {}, "only once"),
        ([[], []], {}, "n_features = 0"),
        (COUNTS[:, :1], {}, "n_features = 1"),
        (COUNTS[:1], {}, "too few for topics"),
        (-COUNTS, {}, "Negative values"),
        (np.zeros((5, 4)), {}, "no words to train on"),
        ([[(0, 1), (1, -1)]], {}, "negative"),
        ([[(0, 0.5), (1, 2)]], {}, "fractions"),
        ([[(0, 2**32 + 1), (1, 2)]] * 9, {}, "2147483647 is the most"),
        ([[(0, 1), (7, 2)]] * 9, {"vocabulary": WORDS}, "holds the id 7"),
        (COUNTS, {"vocabulary": WORDS[1:]}, "5 words, and X has 6 columns"),
        (COUNTS, {"vocabulary": ["a"] * 6}, "a word twice"),
        (COUNTS, {"vocabulary": []}, "0 words, and X has 6 columns"),
        (COUNTS, {"n_components": 1}, "n_components 1 is out of range"),
        (COUNTS, {"n_components": 30}, "n_components 30 is more than"),
        (COUNTS, {"doc_topic_prior": -1.0}, "doc_topic_prior -1"),
        (COUNTS, {"sampler": "magic"}, "sampler 'magic'"),
        (COUNTS, {"max_iter": 0}, "max_iter 0"),
        ("no/such/corpus", {}, "no/such/corpus does not exist"),
    ],
)
def test_what_cannot_be_fitted_is_refused_in_the_words_of_the_estimator(X, settings, complaint):
    with pytest.raises((ValueError, TypeError, topicmc.errors.DataError), match=complaint):
        LDA(**{**QUICK, **settings}).fit(X)


def test_columns_without_names_cannot_read_words():
    with pytest.raises(ValueError, match="columns without names"):
        LDA(**QUICK).fit(COUNTS).transform(TOKENS)


def test_fractions_are_used_and_said():
    """Halves of doubled counts, shifted by chance: training warns, transforming takes them as they
    are."""
    halves = COUNTS + np.where(COUNTS > 0, 0.5, 0)
    with pytest.warns(UserWarning, match="fractions are rounded"):
        model = LDA(**QUICK).fit(halves)
    assert separates(model, halves)
    assert not np.array_equal(model.transform(halves), model.transform(COUNTS))


def test_warnings_name_the_line_that_called(fitted):
    halves = COUNTS + np.where(COUNTS > 0, 0.5, 0)
    for call in (
        lambda: LDA(**QUICK).fit(halves),
        lambda: make_pipeline(LDA(**QUICK)).fit_transform(halves),
        lambda: make_pipeline(LDA(**QUICK), StandardScaler()).fit(halves),  # by joblib
        lambda: fitted.transform(halves, return_std=True),
        lambda: fitted.perplexity(halves),
        lambda: streaming(seeds={"table": ["tea", "tee"]}).partial_fit(COUNTS),
    ):
        with pytest.warns(UserWarning) as caught:
            call()
        told = [warning for warning in caught if issubclass(warning.category, UserWarning)]
        assert {warning.filename for warning in told} == {__file__}


# --- what it gives --------------------------------------------------------------------------------


def test_seeds_threads_and_clones(fitted):
    again = clone(fitted).set_params(n_jobs=2).fit(TOKENS)
    assert (again.samples_ == fitted.samples_).all()
    assert (clone(fitted).set_params(random_state=4).fit(TOKENS).samples_ != again.samples_).any()


def test_without_a_random_state_every_fit_is_another(fitted):
    """Two fits to so few words come out equal once in 35 (measured); ten do so less than once in
    10 million, as the most frequent outcome has at most the probability 0.17 = √(1/35)."""
    free = clone(fitted).set_params(random_state=None)
    assert len({free.fit(TOKENS).samples_.tobytes() for _ in range(10)}) > 1


def test_samples_scatter_about_the_components(fitted):
    assert fitted.samples_.dtype == np.float32 and 1 < len(fitted.samples_) <= 32
    mean = fitted.samples_.mean(axis=0, dtype=float)
    np.testing.assert_allclose(fitted.components_, mean, rtol=1e-5)
    assert (fitted.samples_.std(axis=0) > 0).any()


def test_a_mix_depends_on_its_document_alone(fitted):
    """Order and company change nothing, as two of scikit-learn's checks would say."""
    whole = fitted.transform(COUNTS)
    order = np.random.default_rng(0).permutation(len(COUNTS))
    assert (fitted.transform(COUNTS[order]) == whole[order]).all()
    assert (np.vstack([fitted.transform(row[None]) for row in COUNTS]) == whole).all()


def test_pickles_are_small_plain_and_faithful(fitted):
    stored = pickle.dumps(fitted)
    read = pickle.loads(stored)
    assert (read.transform(TOKENS) == fitted.transform(TOKENS)).all()
    assert len(stored) < 20_000
    code = "import pickle, sys; print(pickle.load(sys.stdin.buffer).transform([['tea']])[0].max())"
    done = subprocess.run([sys.executable, "-P", "-c", code], input=stored, capture_output=True)
    assert float(done.stdout) == fitted.transform([["tea"]]).max(), done.stderr


def test_the_score_is_that_of_held_out_tokens(fitted):
    """Higher than what word frequencies alone would give, and exp(−score) is the perplexity."""
    share = COUNTS.sum(axis=0) / COUNTS.sum()
    assert fitted.score(TOKENS) > (share * np.log(share)).sum() + 0.2
    assert fitted.perplexity(TOKENS) == pytest.approx(np.exp(-fitted.score(TOKENS)))
    with pytest.raises(ValueError, match="nothing can be predicted"):
        fitted.score([["tea"], []])


def test_the_score_is_that_of_the_samples_at_the_price_of_the_mean(fitted):
    """Document completion by Gibbs sampling under each sample gives the same figure."""
    ids = [WORDS.index(word) for tokens in TOKENS for word in tokens]
    lengths = np.array([len(tokens) for tokens in TOKENS])
    documents = from_entries(lengths, np.array(ids), np.ones(len(ids), np.int64))[0]
    split = split_documents(documents, seed=0)
    ones, threads = np.ones(2), Threads(1)
    found = [
        token_probabilities(
            split, np.ascontiguousarray(phi.T), ones, fitted.doc_topic_prior_, seed=0,
            threads=threads, sweeps=300,
        )
        for phi in fitted.samples_
    ]  # fmt: skip
    expected = np.log(np.mean(found, axis=0)).mean()
    assert fitted.score(TOKENS) == pytest.approx(expected, abs=0.02)


def test_fractions_are_scored_alike_whatever_the_seed(fitted):
    halves = COUNTS + np.where(COUNTS > 0, 0.5, 0)
    other = pickle.loads(pickle.dumps(fitted))
    other._seed += 1
    with pytest.warns(UserWarning, match="fractions are rounded"):
        assert other.score(halves) == fitted.score(halves)


def test_a_start_that_was_cut_short_is_said():
    with pytest.warns(ConvergenceWarning, match="ended during its start"):
        model = LDA(2, sampler="scir", max_iter=3, random_state=0, n_jobs=1).fit(TOKENS)
    assert model.transform(TOKENS).shape == (40, 2)
    with pytest.raises(ValueError, match="return_std: there is no posterior sample yet"):
        model.transform(TOKENS, return_std=True)


def test_a_parameter_that_is_set_later_waits_for_the_next_fit(fitted):
    other = pickle.loads(pickle.dumps(fitted)).set_params(n_components=5)
    assert other.get_feature_names_out().tolist() == ["lda0", "lda1"]
    for mix, expected in zip(
        other.transform(TOKENS, return_std=True),
        fitted.transform(TOKENS, return_std=True),
        strict=True,
    ):
        assert (mix == expected).all()


def test_a_fit_that_fails_leaves_the_model_as_it_was(fitted, tmp_path):
    """Not the words of one with the topics of another."""
    model = pickle.loads(pickle.dumps(fitted))
    before = model.transform(TOKENS)
    model.set_params(callback=lambda now: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.fit([["ant", "bee"], ["cow", "bee"]] * 20)
    assert model.vocabulary_ == WORDS and np.array_equal(model.transform(TOKENS), before)
    model.save(tmp_path / "run")
    assert LDA.from_run(tmp_path / "run").vocabulary_ == WORDS
    new = LDA(**QUICK, callback=lambda now: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        new.fit(TOKENS)
    assert not hasattr(new, "n_features_in_")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_samples_that_do_not_fit_in_memory_are_refused_before_training(monkeypatch):
    """48 bytes each. A short run, of 12 sweeps, has at most as many."""
    monkeypatch.setattr("topicmc.host.machine.available_memory", lambda: 1_000)
    monkeypatch.setattr("topicmc.host.machine.too_little", lambda *_: None)  # training fits
    with pytest.raises(ValueError, match="32 samples of n_components 2 .* keep fewer n_samples"):
        LDA(**{**QUICK, "max_iter": 200}).fit(TOKENS)
    assert len(LDA(**QUICK, n_samples=4).fit(TOKENS).samples_) <= 4
    assert len(LDA(**{**QUICK, "max_iter": 12}).fit(TOKENS).samples_) <= 12


def test_numbers_of_numpy_are_numbers(tmp_path):
    settings = {"max_iter": np.int64(5), "n_samples": np.int32(4), "doc_topic_prior": np.float32(1)}
    model = LDA(np.int64(2), **settings, random_state=0, n_jobs=1).fit(TOKENS)
    assert model.components_.shape[0] == 2 and json.dumps(model._record.config)
    seeds = {"seeds": {"table": ["tea"]}, "seed_weight": np.float32(5)}
    model = streaming(n_samples=np.int64(4), batch_size=np.int64(20), **seeds)
    model.set_params(n_components=np.int64(2)).partial_fit(TOKENS).save(tmp_path / "run")
    assert LDA.from_run(tmp_path / "run").seed_weight == 5


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("kind", ["tokens", "bags"])
def test_documents_that_can_be_read_once_are_refused(place, kind):
    documents = [["tea", "milk"], ["rain", "wind"]]
    if kind == "bags":
        documents = [[(0, 1), (1, 2)], [(1, 1), (2, 3)]]
    documents[place] = iter(documents[place])
    with pytest.raises(TypeError, match=rf"X\[{place}\] can be read only once: give a list"):
        LDA(2).fit(documents)


@pytest.mark.parametrize("of", [dict, Counter])
def test_mappings_are_no_lists_of_tokens(fitted, of):
    """Their counts would be lost."""
    for call in (LDA(2).fit, fitted.transform):
        with pytest.raises(TypeError, match=r"X\[1\] is a mapping: use DictVectorizer"):
            call([["tea"], of({"rain": 7})])
        with pytest.raises(TypeError, match=r"X\[0\] is a mapping"):
            call([of({0: 7})])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, bool, np.int64])
def test_counts_of_entries_that_stand_twice_have_room(dtype):
    matrix = csr_array((np.ones(600, dtype), np.zeros(600, int), [0, 300, 600]), shape=(2, 3))
    assert from_matrix(matrix).counts.tolist() == [300, 300]


@pytest.mark.parametrize(("dtype", "value"), [(np.uint8, 150), (np.int8, 100), (bool, 1)])
def test_entries_of_coo_that_stand_twice_are_added_up(fitted, dtype, value):
    """An entry a token: that of "tea" stands twice in the first document."""
    places = [(d, WORDS.index(word)) for d, tokens in enumerate(TOKENS) for word in tokens]
    rows, columns = np.array(places).T
    X = coo_array((np.full(len(rows), value, dtype), (rows, columns)), shape=COUNTS.shape)
    dense = value * COUNTS
    assert (LDA(**QUICK).fit(X).components_ == LDA(**QUICK).fit(dense).components_).all()
    assert (fitted.transform(X) == fitted.transform(dense)).all()


def test_documents_without_words_need_no_names():
    """In a column, too."""
    pd = pytest.importorskip("pandas")
    bags = [[(0, 3), (1, 1)], [(2, 2), (3, 1)]] * 5
    model = LDA(**QUICK).fit(bags)
    prior = model.transform([[(77, 1)]])
    for documents in ([[]], [[], []]):
        column = pd.Series(documents)
        for X in (documents, column, column.to_numpy(), column.to_frame("tokens")):
            mixes = model.transform(X)
            assert len(mixes) == len(documents) and (mixes == prior).all()


# --- documents as they come -----------------------------------------------------------------------


def streaming(**settings) -> LDA:
    settings = {"total_samples": 40, "vocabulary": WORDS, **settings}
    return LDA(n_components=2, random_state=1, n_jobs=1, **settings)


def test_minibatches_find_the_topics_and_keep_samples():
    model, in_start = streaming(n_samples=4), streaming()
    stream(model, START + 40)
    assert separates(model, TOKENS)
    assert 2 <= len(model.samples_) <= 4
    np.testing.assert_allclose(model.components_.sum(axis=1), 1)
    stream(in_start, 3)
    assert len(in_start.samples_) == 1 and in_start.transform(TOKENS).shape == (40, 2)


def test_parts_of_one_call_are_minibatches():
    one = streaming(batch_size=20).partial_fit(TOKENS)
    two = streaming(batch_size=100).partial_fit(TOKENS[:20]).partial_fit(TOKENS[20:])
    assert (one.samples_ == two.samples_).all()


def test_minibatches_need_a_number_of_topics_and_have_a_usual_one_of_samples():
    model = LDA(**QUICK, n_samples=None).fit(TOKENS)
    assert model.partial_fit(TOKENS).samples_.shape[1:] == (2, len(WORDS))
    with pytest.raises(ValueError, match="give n_components"):
        streaming().set_params(n_components=None).partial_fit(TOKENS)


def test_minibatches_need_to_know_their_words():
    with pytest.raises(ValueError, match=r"give LDA\(vocabulary="):
        LDA(n_components=2).partial_fit(TOKENS)
    with pytest.raises(ValueError, match="n_components 1"):
        streaming().set_params(n_components=1).partial_fit(COUNTS)


@pytest.mark.parametrize(("name", "value"), [("random_state", 2**63), ("n_jobs", 5000)])
def test_errors_name_parameters(name, value):
    with pytest.raises(ValueError, match=f"^{name} {value} "):
        LDA(n_components=2, **{name: value}).fit(COUNTS)


# --- the package, the notebook --------------------------------------------------------------------


def test_importing_the_package_stays_light():
    code = (
        "import sys, topicmc; print('LDA' in dir(topicmc),"
        " [m for m in ('numpy', 'sklearn', 'numba') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
    assert done.stdout == "True []\n"
    with pytest.raises(AttributeError, match="no attribute 'lda'"):
        topicmc.lda  # noqa: B018


def test_a_notebook_shows_a_bar(monkeypatch):
    """IPython is stood in for: what reaches its display handle is looked at."""
    shown: list[str] = []
    handle = types.SimpleNamespace(update=shown.append)
    display = types.ModuleType("IPython.display")
    display.HTML = str
    display.display = lambda page, display_id: shown.append(page) or handle
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    for wrong in ({"seeds": {"a": ["zzz"]}}, {"n_components": 30}):
        with pytest.raises(ValueError, match=r"no seed word|n_components 30 is more"):
            LDA(**{**QUICK, **wrong}, verbose=1).fit(TOKENS)
    assert not shown
    LDA(**QUICK, verbose=1).fit(TOKENS)
    assert "preparing" in shown[0]
    assert '<progress value="1.0000"' in shown[-1]
    from topicmc.estimator.notebook import Notebook

    bar = Notebook()
    bar.message("a < b")
    assert "a &lt; b" in shown[-1]


def test_silence_is_the_default(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    LDA(**QUICK).fit(TOKENS)
    assert sys.stderr.getvalue() == "" and capsys.readouterr().out == ""
