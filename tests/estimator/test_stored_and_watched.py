"""`LDA` beyond one fit: streams, runs on disk, callbacks, logs, and Ctrl-C."""

import logging
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tracemalloc
import warnings
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from fake_runs import make_run
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from topicmc import LDA
from topicmc.cli import topicmc as commands
from topicmc.corpora import prepare
from topicmc.corpora.text.tokenizer import Tokenizer
from topicmc.errors import DataError, UsageError
from topicmc.estimator import Evaluation
from topicmc.estimator.incremental import LEAST_START, MOST_START
from topicmc.estimator.stored import Visits
from topicmc.estimator.stored import read as read_run
from topicmc.kernels.threads import Threads
from topicmc.models.heldout import split_documents
from topicmc.models.lda.completion import token_probabilities
from topicmc.models.lda.draws import draw_of
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.samples import posterior_mean, share_of
from topicmc.posterior.traces import LOG_LIKELIHOOD, chain_trace
from topicmc.samplers.scir import Scir
from topicmc.storage.files import write_arrays

TEXTS = ["tea milk cup tea", "rain wind cloud", "cup tea milk", "wind rain rain", "cloud rain"] * 8
TOKENS = [text.split() for text in TEXTS]
WORDS = sorted({word for tokens in TOKENS for word in tokens})
QUICK = {"n_components": 2, "max_iter": 20, "random_state": 3, "n_jobs": 1}


@pytest.fixture(scope="module")
def fitted() -> LDA:
    return LDA(**QUICK).fit(TOKENS)


# --- what it reads --------------------------------------------------------------------------------


def columns():
    pd = pytest.importorskip("pandas")
    objects = np.empty(40, object)
    objects[:] = TOKENS
    return {
        "series": pd.Series(TOKENS),
        "series of arrays": pd.Series([np.array(tokens) for tokens in TOKENS]),
        "object array": objects,
        "another index": pd.Series([tuple(tokens) for tokens in TOKENS], index=range(7, 47)),
        "frame": pd.Series(TOKENS).to_frame("tokens"),
    }


@pytest.mark.parametrize(
    "name", ["series", "series of arrays", "object array", "another index", "frame"]
)
def test_columns_of_token_lists(fitted, name):
    X = columns()[name]
    assert (LDA(**QUICK).fit(X).samples_ == fitted.samples_).all()
    assert (fitted.transform(X) == fitted.transform(TOKENS)).all()
    streamed = LDA(2, vocabulary=WORDS, random_state=0, n_jobs=1)
    with pytest.warns(ConvergenceWarning):
        assert streamed.partial_fit(X).vocabulary_ == WORDS
    with pytest.raises(ValueError, match=r"give LDA\(vocabulary="):
        LDA(2).partial_fit(X)


def test_texts_in_any_wrapping_are_told_from_tokens():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"id": range(40), "text": TEXTS})
    for X in (frame["text"], np.array(TEXTS), np.array(TEXTS, object), pd.Series([None, *TEXTS])):
        with pytest.raises(TypeError, match=r"X holds texts: .* use CountVectorizer"):
            LDA(**QUICK).fit(X)
    with pytest.raises(TypeError, match="holds texts in column 'text'"):
        LDA(**QUICK).fit(frame)


@pytest.mark.parametrize(
    ("odd", "complaint"),
    [("raw text", r"X\[40\] is a text, 'raw text'"), (None, r"X\[40\] is None"),
     (float("nan"), r"X\[40\] is nan"), ([1, 2], "the token 1, which is no text")],
)  # fmt: skip
def test_a_row_that_is_no_list_of_tokens_is_named(odd, complaint):
    with pytest.raises(TypeError, match=complaint):
        LDA(**QUICK).fit([*TOKENS, odd])


def test_the_vocabulary_of_count_vectorizer():
    model = LDA(**QUICK, vocabulary={"rain": 1, "tea": 0, "milk": 2}).fit(TOKENS)
    assert model.vocabulary_ == ["tea", "rain", "milk"]


def test_a_series_of_words_is_read_in_its_order():
    """Whatever its index."""
    pd = pytest.importorskip("pandas")
    for index in (range(len(WORDS))[::-1], range(3, 3 + len(WORDS)), WORDS[::-1]):
        words = pd.Series(WORDS, index=index)
        assert LDA(**QUICK, vocabulary=words).fit(TOKENS).vocabulary_ == WORDS
    for gaps in ({1: "tea", 2: "rain"}, {"tea": 1, "rain": 2}):
        with pytest.raises(ValueError, match="must have the ids 0, 1, 2"):
            LDA(**QUICK, vocabulary=gaps).fit(TOKENS)


def test_a_set_of_words_is_sorted():
    assert LDA(**QUICK, vocabulary={"tea", "rain", "milk"}).fit(TOKENS).vocabulary_ == [
        "milk", "rain", "tea",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="vocabulary is a text"):
        LDA(**QUICK, vocabulary="tea").fit(TOKENS)


def test_a_batch_without_known_words_leaves_the_topics():
    model = LDA(**QUICK).fit(TOKENS)
    before = model.components_.copy()
    assert (model.partial_fit([["unheard"]]).components_ == before).all()
    with pytest.raises(ValueError, match="no words to train on"):
        LDA(**QUICK, vocabulary=WORDS).partial_fit([["unheard"]])


# --- documents as they come -----------------------------------------------------------------------


def stream(model: LDA, n_calls: int) -> list[int]:
    """Parts of TOKENS, and after which calls the model has warned."""
    warned = []
    for call in range(n_calls):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.partial_fit([TOKENS[(i + 20 * call) % 40] for i in range(20)])
        if any(w.category is ConvergenceWarning for w in caught):
            warned.append(call)
    return warned


@pytest.mark.parametrize(
    ("total", "start"), [(None, LEAST_START), (40, LEAST_START), (2000, 100), (10**6, MOST_START)]
)
def test_a_start_follows_the_documents_and_warns_until_it_is_over(total, start):
    model = LDA(2, total_samples=total, vocabulary=WORDS, random_state=1, n_jobs=1)
    assert stream(model, start + 2) == list(range(start))
    assert min(model._stream.positions) > start


def test_after_fit_every_call_counts(fitted):
    model = LDA(**QUICK, total_samples=40).fit(TOKENS)
    before, passes, n = model.components_, model.n_iter_, len(model.samples_)
    assert stream(model, 1) == []
    assert (model.components_ != before).any()
    assert model.n_iter_ == passes + 1
    stream(model, 3)
    assert model.n_iter_ == passes + 2
    kept = [phi for phi in model.samples_ if any((phi == draw).all() for draw in draws(fitted))]
    assert 0 < len(kept) < n
    stream(model, n)
    assert not any((phi == draw).all() for phi in model.samples_ for draw in draws(fitted))


def draws(model: LDA) -> list[np.ndarray]:
    return [model._draw(i) for i in range(len(model.samples_))]


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


# --- scores ---------------------------------------------------------------------------------------


def test_the_score_is_that_of_the_samples_at_the_price_of_the_mean(fitted):
    """Document completion by Gibbs sampling under each sample gives the same figure."""
    from topicmc.corpora.documents import from_entries

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


# --- runs -----------------------------------------------------------------------------------------


def test_a_model_is_kept_as_a_run(fitted, tmp_path, capsys):
    fitted.save(tmp_path / "run")
    read = LDA.from_run(tmp_path / "run")
    assert (read.samples_ == fitted.samples_).all()
    mixes, sds = read.transform(TOKENS, return_std=True)
    assert (mixes == fitted.transform(TOKENS)).all() and (sds > 0).all()
    assert (read.n_iter_, read.vocabulary_) == (fitted.n_iter_, fitted.vocabulary_)
    mean = posterior_mean(str(tmp_path / "run"))
    np.testing.assert_allclose(mean.phi, fitted.components_, rtol=1e-6)
    for command in ("topics", "corpus"):
        assert command in commands.list_commands(None)
    commands.main(["topics", str(tmp_path / "run")], standalone_mode=False)
    assert "tea" in capsys.readouterr().out
    assert not any(path.suffix in (".pkl", ".pickle") for path in (tmp_path / "run").rglob("*"))


def test_a_stream_is_kept_as_a_run(tmp_path):
    model = LDA(2, total_samples=40, vocabulary=WORDS, random_state=1, n_jobs=1)
    stream(model, 3)
    model.save(tmp_path / "young")
    with pytest.warns(ConvergenceWarning, match="in its start"):
        LDA.from_run(tmp_path / "young")
    stream(model, LEAST_START)
    model.save(tmp_path / "run")
    read = LDA.from_run(tmp_path / "run")
    np.testing.assert_allclose(read.samples_, model.samples_, rtol=1e-2)
    assert read.n_iter_ == model.n_iter_ > 1
    assert stream(read, 1) == []  # it goes on, without a start


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_stream_that_is_read_goes_on_as_if_it_had_not_been_saved(tmp_path):
    """Through its start, and when its state is none of its samples."""
    given = {"total_samples": 40, "batch_size": 7, "vocabulary": WORDS}
    whole, parted = (LDA(2, **given, random_state=2**63 - 1, n_jobs=1) for _ in range(2))
    was_kept = []
    for n_calls in (3, 13, 2, 6, 1, 1):  # of three updates
        warned = stream(whole, n_calls)
        assert stream(parted, n_calls) == warned
        was_kept.append(whole._stream.position in whole._stream.positions)
        parted.save(tmp_path / "run", force=True)
        parted = LDA.from_run(tmp_path / "run")
    assert not all(was_kept) and not parted._record.is_starting
    one, other = whole._stream, parted._stream
    assert one.chain.update == other.chain.update == one.position == other.position == 78
    assert one.positions == other.positions
    np.testing.assert_array_equal(one.chain.theta, other.chain.theta)
    np.testing.assert_allclose(parted.samples_, whole.samples_, rtol=1e-5)
    assert parted.n_iter_ == whole.n_iter_


def test_a_stream_that_came_after_fit_is_read_as_it_was(tmp_path):
    model = LDA(**QUICK).fit(TOKENS)
    stream(model, 2)
    model.save(tmp_path / "run")
    read = LDA.from_run(tmp_path / "run")
    assert stream(model, 3) == stream(read, 3) == []
    np.testing.assert_array_equal(model._stream.chain.theta, read._stream.chain.theta)
    assert model._stream.positions == read._stream.positions
    assert model.n_iter_ == read.n_iter_


def test_a_stream_that_an_earlier_version_saved_goes_on_as_well(tmp_path):
    """That version said within the stream what `partial_fit` goes by."""
    model = LDA(2, total_samples=400, batch_size=7, vocabulary=WORDS, random_state=1, n_jobs=1)
    stream(model, 3)
    model.save(tmp_path / "run")
    run = TopicRun.open(tmp_path / "run")
    facts = run.facts()
    visits, parameters, _ = (facts.pop(name) for name in ("visits", "parameters", "chain"))
    facts["stream"] |= {**visits, "parameters": parameters}
    run._write_facts({name: value for name, value in facts.items() if name != "checksum"})
    read = LDA.from_run(tmp_path / "run")
    assert (read.total_samples, read.batch_size) == (400, 7)
    assert read._visits == model._visits
    stream(model, 3)
    stream(read, 3)
    np.testing.assert_array_equal(model._stream.chain.theta, read._stream.chain.theta)


def test_a_fit_that_is_read_goes_on_as_if_it_had_not_been_saved(tmp_path):
    model = LDA(**QUICK, batch_size=7, total_samples=100).fit(TOKENS)
    model.save(tmp_path / "run")
    read = LDA.from_run(tmp_path / "run")
    for one, other in zip(
        model.transform(TOKENS, return_std=True),
        read.transform(TOKENS, return_std=True),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)
    assert stream(model, 3) == stream(read, 3) == []
    np.testing.assert_array_equal(model._stream.chain.theta, read._stream.chain.theta)
    assert model.n_iter_ == read.n_iter_


def test_draws_of_a_chain_that_is_read_are_the_same(tmp_path):
    """Though a run has several, and counts of many millions are rounded in φ."""
    rng = np.random.default_rng(0)
    counts = {chain: [rng.integers(2**22, 2**24, (200, 3))] for chain in range(2)}
    run = make_run(tmp_path / "run", counts, sampler="adlda")
    run.update_facts(passes=1.0)
    first, second = (LDA.from_run(run.path, chain=chain) for chain in range(2))
    second.save(tmp_path / "saved")
    read = LDA.from_run(tmp_path / "saved")
    assert (read._record.sums != second._record.sums).any()
    np.testing.assert_allclose(read._draw(0), second._draw(0), rtol=1e-5)
    saved = TopicRun.open(tmp_path / "saved")
    theta = draw_of(saved, saved.sample_index()[0], Threads(1))  # as the command line draws
    np.testing.assert_allclose((theta / theta.sum(axis=0)).T, second._draw(0), rtol=1e-4)
    assert first._record.key_of_draw(0) != second._record.key_of_draw(0)


def test_documents_without_known_words_are_remembered_as_seen(tmp_path):
    model = LDA(**QUICK).fit(TOKENS)
    passes = model._visits.passes
    model.partial_fit([["unheard"]] * 30).save(tmp_path / "run")
    read = LDA.from_run(tmp_path / "run")
    assert model._visits == read._visits == Visits(40, passes, 30)
    assert stream(model, 2) == stream(read, 2) == []
    np.testing.assert_array_equal(model._stream.chain.theta, read._stream.chain.theta)
    assert model.n_iter_ == read.n_iter_


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("renamed", [False, True])
def test_a_model_of_a_data_frame_knows_its_columns_once_it_is_read(renamed, tmp_path):
    pd = pytest.importorskip("pandas")
    counts = [[tokens.count(word) for word in WORDS] for tokens in TOKENS]
    frame = pd.DataFrame(counts, columns=WORDS)
    words = [word.upper() for word in WORDS] if renamed else None
    model = LDA(2, total_samples=40, vocabulary=words, random_state=1, n_jobs=1)
    model.partial_fit(frame).save(tmp_path / "run")
    assert TopicRun.open(tmp_path / "run").facts()["columns"] == (WORDS if renamed else True)
    read = LDA.from_run(tmp_path / "run")
    assert read.vocabulary_ == (words or WORDS)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        np.testing.assert_allclose(read.transform(frame), model.transform(frame), rtol=1e-4)
    for call in (read.transform, read.partial_fit):
        with pytest.raises(ValueError, match="feature names should match"):
            call(frame[WORDS[::-1]])


def test_what_a_stream_stands_at_is_checked(tmp_path):
    model = LDA(2, total_samples=40, vocabulary=WORDS, random_state=1, n_jobs=1)
    stream(model, 1)
    model.save(tmp_path / "run")
    run = TopicRun.open(tmp_path / "run")
    told = run.facts()["stream"]
    visits = run.facts()["visits"]
    for name, wrong in (
        ("chain", -1), ("visits", {**visits, "fitted": "7"}), ("parameters", {"batch_size": "7"}),
    ):  # fmt: skip
        right = run.facts()[name]
        run.update_facts(**{name: wrong})
        with pytest.raises(DataError, match=rf"run\.json: {name}"):
            LDA.from_run(run.path)
        run.update_facts(**{name: right})
    for wrong in {"update": -1}, {"update": 2**32}, {"position": 0.5}:
        run.update_facts(stream={**told, **wrong})
        with pytest.raises(DataError, match=r"run\.json: stream\."):
            LDA.from_run(run.path)
    empty = {"theta": np.zeros((len(WORDS), 2), np.float32)}
    run.update_facts(stream={**told, "checksum": write_arrays(run.path / "stream.npz", empty)})
    with pytest.raises(DataError, match=r"stream\.npz: holds a topic without weight"):
        LDA.from_run(run.path)
    run.update_facts(stream=told)
    (run.path / "stream.npz").write_bytes(b"")
    with pytest.raises(DataError, match=r"stream\.npz: damaged"):
        LDA.from_run(run.path)


def test_samples_are_read_into_one_array(tmp_path):
    run = make_run(tmp_path / "run", {0: [np.ones((4_000, 20))] * 16})
    run.update_facts(passes=1.0)
    tracemalloc.start()
    try:
        record = read_run(run)
        held = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert record.samples.shape == (16, 20, 4_000)
    assert held < 1.5 * record.samples.nbytes


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_samples_that_do_not_fit_in_memory_are_refused_before_training(monkeypatch):
    """48 bytes each. A short run, of 12 sweeps, has at most as many."""
    monkeypatch.setattr("topicmc.estimator.fitting.available_memory", lambda: 1_000)
    with pytest.raises(ValueError, match="32 samples of n_components 2 .* keep fewer n_samples"):
        LDA(**{**QUICK, "max_iter": 200}).fit(TOKENS)
    assert len(LDA(**QUICK, n_samples=4).fit(TOKENS).samples_) <= 4
    assert len(LDA(**{**QUICK, "max_iter": 12}).fit(TOKENS).samples_) <= 12


def test_texts_for_a_saved_model_are_cut_as_today(fitted, tmp_path):
    """Its words came as they are: nothing is known of how texts were cut."""
    model = LDA(2, total_samples=40, vocabulary=WORDS, random_state=1, n_jobs=1)
    stream(model, 3)
    for number, saved in enumerate((fitted, model)):
        saved.save(tmp_path / f"{number}")
        run = TopicRun.open(tmp_path / f"{number}")
        assert Tokenizer.read(run.path, run.facts()["corpus"]) == Tokenizer()


def test_names_of_a_run_outlive_further_documents(small_corpus, tmp_path):
    from topicmc.cli import train

    (tmp_path / "seeds.csv").write_text("topic,word\nnamed,word003\n")
    options = "--topics 3 --sampler adlda --epochs 12 --threads 1 --progress none --seeds"
    command = [str(small_corpus.path), "-o", str(tmp_path / "run"), *options.split()]
    with pytest.raises(SystemExit, match="0"):
        train.train.main([*command, str(tmp_path / "seeds.csv")], standalone_mode=False)
    second = ["--from", str(tmp_path / "run"), *options.split()[:-1]]
    command = [str(small_corpus.path), "-o", str(tmp_path / "second"), *second]
    with pytest.raises(SystemExit, match="0"):
        train.train.main(command, standalone_mode=False)
    model = LDA.from_run(tmp_path / "second")
    assert model.topic_names_ == ["named", None, None]
    model.partial_fit([["word003", "word004"] * 5])
    assert model.topic_names_ == ["named", None, None]
    model.save(tmp_path / "third")
    assert TopicRun.open(tmp_path / "third").labels == {0: "named"}


def test_a_run_of_train_is_read_chain_by_chain(small_corpus, tmp_path):
    from topicmc.cli import train

    options = "--topics 3 --chains 2 --sampler adlda --epochs 12 --threads 1 --progress none"
    command = [str(small_corpus.path), "-o", str(tmp_path / "run"), *options.split()]
    with pytest.raises(SystemExit, match="0"):
        train.train.main(command, standalone_mode=False)
    first, second = (LDA.from_run(tmp_path / "run", chain=chain) for chain in (0, 1))
    np.testing.assert_allclose(
        second.components_, posterior_mean(tmp_path / "run", 1).phi, rtol=1e-5
    )
    assert (first.components_ != second.components_).any()
    assert first.n_iter_ == second.n_iter_ == 12
    second.save(tmp_path / "second")
    past = chain_trace(TopicRun(tmp_path / "run"), LOG_LIKELIHOOD, 1)
    assert len(past[0]) > 5
    np.testing.assert_array_equal(
        chain_trace(TopicRun(tmp_path / "second"), LOG_LIKELIHOOD, 0), past
    )
    with pytest.raises(UsageError, match="samples of 0, 1 only"):
        LDA.from_run(tmp_path / "run", chain=2)
    for chain in (None, "0", 0.5, True):
        with pytest.raises(ValueError, match="is not a whole number"):
            LDA.from_run(tmp_path / "run", chain=chain)
    assert (LDA.from_run(tmp_path / "run", chain=np.int64(1)).samples_ == second.samples_).all()
    with pytest.raises(DataError, match="no run here"):
        LDA.from_run(tmp_path / "nowhere")


def test_the_running_mean_of_a_run_is_read_and_kept(small_corpus, tmp_path):
    from topicmc.cli import train

    options = "--topics 3 --sampler scir --no-remember --updates 60 --threads 1 --progress none"
    command = [str(small_corpus.path), "-o", str(tmp_path / "run"), *options.split()]
    with pytest.raises(SystemExit, match="0"):
        train.train.main(command, standalone_mode=False)
    model, mean = LDA.from_run(tmp_path / "run"), posterior_mean(tmp_path / "run")
    np.testing.assert_allclose(model.components_, mean.phi, rtol=1e-6)
    assert np.abs(model.components_ - model.samples_.mean(axis=0)).max() > 1e-4
    model.save(tmp_path / "saved")
    kept = posterior_mean(tmp_path / "saved")
    np.testing.assert_allclose(kept.phi, mean.phi, rtol=1e-3)
    np.testing.assert_allclose(kept.share, mean.share, rtol=1e-6)
    model.partial_fit([["word003", "word004"] * 5])  # by a chain that keeps none
    phi = model.samples_[model._record.at_rest].mean(axis=0)
    np.testing.assert_allclose(model.components_, phi, rtol=1e-3)


def test_what_cannot_be_saved(fitted, tmp_path):
    counts = np.eye(6, dtype=int).repeat(8, axis=0) + 1
    nameless = LDA(**QUICK).fit(counts)
    with pytest.raises(ValueError, match="give vocabulary"):
        nameless.save(tmp_path / "run")
    with pytest.raises(ValueError, match="5 words, and the model 6 columns"):
        nameless.save(tmp_path / "run", vocabulary=WORDS[:5])
    for odd in ("two\nlines", "half\ud800"):
        with pytest.raises(ValueError, match="cannot stand on a line"):
            nameless.save(tmp_path / "run", vocabulary=[*WORDS[:5], odd])
    assert not list(tmp_path.iterdir())
    nameless.save(tmp_path / "run", vocabulary=WORDS)
    with pytest.raises(UsageError, match="a run is there already; .* force=True"):
        fitted.save(tmp_path / "run")
    fitted.save(tmp_path / "run", force=True)
    assert LDA.from_run(tmp_path / "run").vocabulary_ == WORDS
    run = TopicRun.open(tmp_path / "run")
    (run.path / "origin-000.npz").touch()
    (run.path / "corpus").mkdir()
    with pytest.raises(UsageError, match="holds corpus, which is no part of a run"):
        fitted.save(run.path, force=True)
    run.update_facts(corpus={**run.facts()["corpus"], "path": "corpus"})
    fitted.save(run.path, force=True)  # a run on the built-in extract, with an origin
    assert {"corpus", "origin-000.npz"}.isdisjoint(child.name for child in run.path.iterdir())
    (tmp_path / "run/notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="holds notes.txt, which is no part of a run"):
        fitted.save(tmp_path / "run", force=True)
    (tmp_path / "run/notes.txt").unlink()
    for name in (".topics.json.4711.tmp", ".run.json.4711.tmp", ".lease.json.4711.tmp"):
        (tmp_path / "run" / name).touch()  # of writers that were killed
    fitted.save(tmp_path / "run", force=True)
    assert not list((tmp_path / "run").glob(".*.tmp"))
    take = "import sys, pathlib; from topicmc.storage.lease import Lease"
    take += "; lease = Lease(pathlib.Path(sys.argv[1])); print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", take, tmp_path / "run"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as other:  # fmt: skip
        other.stdout.readline()
        with pytest.raises(UsageError, match=f"process {other.pid}"):
            fitted.save(tmp_path / "run", force=True)
        other.communicate(b"\n")
    fitted.save(tmp_path / "run", force=True)
    assert LDA.from_run(tmp_path / "run").vocabulary_ == WORDS
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.txt").write_text("mine")
    with pytest.raises(UsageError, match="not a run"):
        fitted.save(tmp_path / "mine", force=True)


def test_a_copy_of_a_run_says_where_the_corpus_is_that_the_run_holds(fitted, tmp_path):
    fitted.save(tmp_path / "run")
    run = TopicRun.open(tmp_path / "run")
    run.update_facts(corpus={**run.facts()["corpus"], "path": "corpus"})
    LDA.from_run(run.path).save(tmp_path / "copy")
    told = TopicRun.open(tmp_path / "copy").facts()["corpus"]["path"]
    assert told == str((run.path / "corpus").resolve())


def test_a_model_does_not_replace_the_run_that_holds_its_corpus(fitted, tmp_path):
    fitted.save(tmp_path / "run")
    run = TopicRun.open(tmp_path / "run")
    (run.path / "corpus").mkdir()
    run.update_facts(corpus={**run.facts()["corpus"], "path": "corpus"})
    model = LDA.from_run(run.path)
    with pytest.raises(UsageError, match="holds the corpus that the model was made on"):
        model.save(run.path, force=True)
    assert (run.path / "corpus").is_dir()
    model.save(tmp_path / "other", force=True)


def test_a_saved_model_is_not_resumed(fitted, tmp_path):
    from topicmc.engine.transport.local import LocalTransport
    from topicmc.models.lda.jobs import resume

    fitted.save(tmp_path / "run")
    samples = TopicRun.open(tmp_path / "run").sample_index()
    with pytest.raises(UsageError, match="saved from Python"):
        resume(tmp_path / "run", {}, LocalTransport(1), None)
    assert TopicRun.open(tmp_path / "run").sample_index() == samples


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


def test_priors_of_a_stream_come_back(tmp_path):
    prior = np.linspace(0.1, 2, 2 * len(WORDS)).reshape(2, -1)
    given = {"doc_topic_prior": [0.1, 0.4], "topic_word_prior": prior}
    model = LDA(2, **given, total_samples=40, vocabulary=WORDS, random_state=1, n_jobs=1)
    stream(model, LEAST_START + 1)
    model.save(tmp_path / "run")
    read = LDA.from_run(tmp_path / "run")
    np.testing.assert_allclose(read.topic_word_prior, prior)
    assert read.doc_topic_prior == [0.1, 0.4]
    # A topic's share is that of its tokens, without what its prior adds.
    sizes = model._record.sums[-1] - prior.sum(axis=1)
    run = TopicRun.open(tmp_path / "run")
    entry = run.sample_index()[-1]
    share = share_of(run, {**entry, "share": None}, run.read_sample(entry))
    np.testing.assert_allclose(share, np.maximum(sizes, 0) / np.maximum(sizes, 0).sum(), rtol=1e-2)


def test_a_saved_model_is_not_advised_to_be_resumed(tmp_path, capsys):
    told = {"max_iter": 2000, "callback": lambda now: now.samples > 3}
    LDA(2, **told, random_state=0, n_jobs=1).fit(TOKENS).save(tmp_path / "run")
    for command in ("topics", "evaluate"):
        with pytest.raises((SystemExit, DataError)) if command == "evaluate" else nullcontext():
            commands.main([command, str(tmp_path / "run")], standalone_mode=False)
    told = capsys.readouterr()
    assert "LDA.from_run and partial_fit in Python" in told.err and "--resume" not in told.err


# --- watching and stopping ------------------------------------------------------------------------


def chain_trace_of(model: LDA) -> list[dict]:
    return [next(iter(line["chains"].values())) for line in model._record.trace]


def test_watching_changes_nothing(fitted, caplog, capsys):
    seen: list[Evaluation] = []
    with caplog.at_level(logging.INFO, logger="topicmc"):
        model = LDA(**QUICK, verbose=1, callback=seen.append).fit(TOKENS)
    assert (model.samples_ == fitted.samples_).all()
    # By these the run is judged, and its mean made.
    watched, alone = (chain_trace_of(one) for one in (model, fitted))
    assert watched == alone and LOG_LIKELIHOOD in alone[-1]
    last = seen[-1]
    assert (last.fraction, last.epochs) == (1, pytest.approx(20, abs=1))
    assert 1 < last.perplexity < 6 and last.samples == len(model.samples_)
    assert "perplexity" in capsys.readouterr().err
    logged = [record.getMessage() for record in caplog.records if record.name == "topicmc"]
    assert sum("perplexity" in text for text in logged) == len(seen)


def test_a_corpus_without_held_out_documents_has_no_perplexity(tmp_path):
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS) + "\n")
    options = {"min_df": 0, "max_df": 1.0, "n_heldout": 0}
    corpus = prepare([tmp_path / "texts.txt"], tmp_path / "corpus", **options)
    seen: list[Evaluation] = []
    LDA(**QUICK, callback=seen.append).fit(corpus)
    assert {now.perplexity for now in seen} == {None}


def test_a_callback_ends_the_training(recwarn):
    model = LDA(2, max_iter=2000, random_state=0, n_jobs=1, callback=lambda now: now.samples > 3)
    model.fit(TOKENS)
    assert model.n_iter_ < 2000 and len(model.samples_) >= 3
    assert not [w for w in recwarn if w.category is ConvergenceWarning]
    endless = LDA(**QUICK, callback=lambda now: now.perplexity)  # a number is no True
    assert endless.fit(TOKENS).n_iter_ >= 20


def test_an_error_of_a_callback_goes_up_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(ZeroDivisionError):
        LDA(**QUICK, callback=lambda now: 1 / 0).fit(TOKENS)
    assert not list(tmp_path.iterdir())


def interrupting() -> threading.Thread:
    """Presses Ctrl-C once training is under way: before, it raises KeyboardInterrupt."""

    def press() -> None:
        while signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            time.sleep(0.01)
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press, daemon=True)
    thread.start()
    return thread


@pytest.fixture
def usual_ctrl_c():
    """What runs in the background may have been started with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_keeps_what_there_is(fitted, tmp_path, monkeypatch, usual_ctrl_c):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    model = LDA(2, max_iter=10**5, random_state=0, n_jobs=1)
    thread = interrupting()
    with pytest.warns(ConvergenceWarning, match="interrupted after"):
        model.fit(TOKENS)
    thread.join()
    assert model.transform(TOKENS).shape == (40, 2) and model.n_iter_ < 10**5
    assert not list(Path(tmp_path).iterdir())
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_program_that_handles_ctrl_c_keeps_its_own_way(monkeypatch):
    heard = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append(1))
    try:
        LDA(**QUICK, callback=lambda now: os.kill(os.getpid(), signal.SIGINT)).fit(TOKENS)
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard
