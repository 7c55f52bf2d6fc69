"""Watching `LDA` while it trains, and stopping it: callbacks, logs, and Ctrl-C."""

import logging
import os
import signal
import tempfile
import threading
import time
from pathlib import Path

import pytest
from fitting_cases import QUICK, TEXTS, TOKENS
from sklearn.exceptions import ConvergenceWarning

from topicmc import LDA
from topicmc.corpora import prepare
from topicmc.estimator import Evaluation
from topicmc.posterior.traces import LOG_LIKELIHOOD


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


def test_a_callback_may_be_empty_itself():
    class Trace(list):
        def __call__(self, now: Evaluation) -> None:
            self.append(now)

    trace = Trace()
    LDA(**QUICK, callback=trace).fit(TOKENS)
    assert len(trace) > 1


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
