"""Models of `LDA` as runs on disk: what is kept, and what is read."""

import subprocess
import sys
import tracemalloc
import warnings
from contextlib import nullcontext

import numpy as np
import pytest
from fake_runs import make_run
from fitting_cases import COUNTS, QUICK, TOKENS, WORDS, stream
from sklearn.exceptions import ConvergenceWarning

from topicmc import LDA
from topicmc.cli import topicmc as commands
from topicmc.corpora.text.tokenizer import Tokenizer
from topicmc.errors import DataError, UsageError
from topicmc.estimator.incremental import LEAST_START
from topicmc.estimator.saved import read as read_run
from topicmc.estimator.stored import Visits
from topicmc.kernels.threads import Threads
from topicmc.models.lda.draws import draw_of
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.samples import posterior_mean, share_of
from topicmc.posterior.traces import LOG_LIKELIHOOD, chain_trace
from topicmc.storage.arrays import write_arrays


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
    for line in TopicRun.open(tmp_path / "run").metrics():  # nothing was held out
        assert line["perplexity"] is line["perplexity_averaged"] is line["log_likelihood"] is None


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


def test_a_stream_that_came_after_fit_is_read_as_it_was(own, tmp_path):
    stream(own, 2)
    own.save(tmp_path / "run")
    read = LDA.from_run(tmp_path / "run")
    assert stream(own, 3) == stream(read, 3) == []
    np.testing.assert_array_equal(own._stream.chain.theta, read._stream.chain.theta)
    assert own._stream.positions == read._stream.positions
    assert own.n_iter_ == read.n_iter_


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


def test_documents_without_known_words_are_remembered_as_seen(own, tmp_path):
    passes = own._visits.passes
    own.partial_fit([["unheard"]] * 30).save(tmp_path / "run")
    read = LDA.from_run(tmp_path / "run")
    assert own._visits == read._visits == Visits(40, passes, 30)
    assert stream(own, 2) == stream(read, 2) == []
    np.testing.assert_array_equal(own._stream.chain.theta, read._stream.chain.theta)
    assert own.n_iter_ == read.n_iter_


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("renamed", [False, True])
def test_a_model_of_a_data_frame_knows_its_columns_once_it_is_read(renamed, tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(COUNTS, columns=WORDS)
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
        ("parameters", {"sampler": 7}),
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


def test_a_run_whose_samples_do_not_fit_in_memory_is_refused(tmp_path, monkeypatch):
    """72 bytes each, and as much as two more."""
    run = make_run(tmp_path / "run", {0: [np.ones((9, 2))] * 3}, sampler="adlda")
    run.update_facts(passes=1.0)
    monkeypatch.setattr("topicmc.host.machine.available_memory", lambda: 359)
    with pytest.raises(UsageError, match=r"3 samples of 2 topics over 9 words need .* one at"):
        LDA.from_run(run.path)
    monkeypatch.setattr("topicmc.host.machine.available_memory", lambda: 360)
    assert len(LDA.from_run(run.path).samples_) == 3


def test_samples_that_further_documents_replace_are_not_drawn(tmp_path):
    """Memory then holds those of `fit` one and a half times, and not twice."""
    run = make_run(tmp_path / "run", {0: [np.full((4_000, 20), 5.0)] * 32}, sampler="adlda")
    run.update_facts(passes=1.0, corpus={**run.facts()["corpus"], "documents": 100})
    first, model = (LDA.from_run(run.path) for _ in range(2))
    documents, size = [["word003", "word004"] * 5], model.samples_.nbytes
    first.partial_fit(documents)  # which compiles
    tracemalloc.start()
    try:
        model.partial_fit(documents)
        held = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert model._stream.positions == list(range(17, 34))
    assert held < 0.9 * size


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
    with pytest.raises(UsageError, match=r"^chain 2: .* samples of 0, 1 only"):
        LDA.from_run(tmp_path / "run", chain=2)
    for chain in (None, "0", 0.5, True):
        with pytest.raises(ValueError, match="is not a whole number"):
            LDA.from_run(tmp_path / "run", chain=chain)
    assert (LDA.from_run(tmp_path / "run", chain=np.int64(1)).samples_ == second.samples_).all()
    with pytest.raises(DataError, match="no run here"):
        LDA.from_run(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("told", "passes"),
    [
        ({"updates": 60, "batch_size": 50}, 30),
        ({"epochs": 30.0, "chains": 3, "workers": 3}, 10),  # which share the documents
        ({"epochs": 12.0, "chains": 2, "sampler": "adlda"}, 12),
        ({"updates": 60, "batch_size": 50, "until": "converged"}, None),
        ({"time_budget": 5.0}, None),
    ],
)
def test_a_model_of_a_run_is_as_long_as_a_chain_of_it(told, passes, tmp_path):
    run = make_run(tmp_path / "run", {0: [np.ones((9, 2))]}, **{"updates": None, **told})
    run.update_facts(passes=1.0, corpus={**run.facts()["corpus"], "documents": 100})
    assert LDA.from_run(run.path).max_iter == passes


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


def test_what_cannot_be_saved(fitted, tmp_path, monkeypatch):
    nameless = LDA(**QUICK).fit(COUNTS)
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
    monkeypatch.chdir(tmp_path / "run")
    with pytest.raises(UsageError, match="is or holds the folder that you are in"):
        fitted.save(".", force=True)


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


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("fits", [False, True])
def test_what_was_left_open_is_open_in_a_stream_that_is_read(fits, tmp_path):
    model = LDA(**QUICK, total_samples=40, vocabulary=WORDS)
    if fits:
        model.fit(TOKENS)
    model.partial_fit(TOKENS).save(tmp_path / "run")
    read, names = LDA.from_run(tmp_path / "run"), ("doc_topic_prior", "topic_word_prior", "sampler")
    for one in (model, read):
        assert [one.get_params()[name] for name in names] == [None, None, "auto"]
    read.partial_fit(TOKENS).save(tmp_path / "run", force=True)
    assert LDA.from_run(tmp_path / "run").get_params() == read.get_params()


def test_a_saved_model_is_not_advised_to_be_resumed(tmp_path, capsys):
    told = {"max_iter": 2000, "callback": lambda now: now.samples > 3}
    LDA(2, **told, random_state=0, n_jobs=1).fit(TOKENS).save(tmp_path / "run")
    for command in ("topics", "evaluate"):
        with pytest.raises((SystemExit, DataError)) if command == "evaluate" else nullcontext():
            commands.main([command, str(tmp_path / "run")], standalone_mode=False)
    told = capsys.readouterr()
    assert "LDA.from_run and partial_fit in Python" in told.err and "--resume" not in told.err
