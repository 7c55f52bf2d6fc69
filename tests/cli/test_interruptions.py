"""A real ``topicmc train`` that is stopped in the middle, and what --resume makes of it."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from shell import TOPICMC, topicmc

from topicmc.errors import UsageError
from topicmc.host.interrupts import Interrupt, interruptible, unwound

TRAIN = ("--topics", "5", "--batch-size", "40", "--sweeps", "4", "--updates", "80", "--seed", "2")
EVERY = ("--evaluate-every", "10", "--checkpoint-every", "5")
UNHURRIED = ("--slow", "0=30", "--progress", "json")  # so that a signal finds it at work


def results(run: Path) -> tuple:
    """Everything that must not depend on an interruption, or on the number of threads."""
    index = json.loads((run / "samples" / "index.json").read_text())["samples"]
    metrics = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    export = run.parent / f"{run.name}-export"
    assert topicmc("export", run, "--to", "npy", "-o", export, "--force").status == 0
    return (
        [(entry["file"], entry["checksum"]) for entry in index],
        [(m["update"], m["perplexity"], m["perplexity_averaged"]) for m in metrics],
        (export / "phi.npy").read_bytes(),
    )


@pytest.fixture(scope="module")
def whole(request, small_corpus, tmp_path_factory):
    """(arguments, results) of a run that nobody interrupted, on one thread."""
    run = tmp_path_factory.mktemp("whole") / "run"
    arguments = (small_corpus.path, *TRAIN, *EVERY, "--sampler", request.param)
    done = topicmc("train", *arguments, "-o", run, "--threads", 1, "--progress", "none")
    assert done.status == 0, done.stderr
    found = results(run)
    assert [update for update, _, _ in found[1]] == list(range(10, 81, 10))
    return arguments, found


def hears_hangups():
    """Where the tests run under nohup, too."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def stopped_at(arguments, update: int, signum: int) -> tuple[int, str]:
    """Starts the command, sends a signal once it has made so many updates, and waits."""
    process = subprocess.Popen(
        [TOPICMC, "train", *map(str, arguments), *UNHURRIED],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=hears_hangups,
    )
    assert process.stderr is not None
    told = []
    for line in process.stderr:
        told.append(line)
        if json.loads(line).get("update", 0) >= update:
            process.send_signal(signum)
            break
    told.append(process.stderr.read())
    process.wait(60)
    return process.returncode, "".join(told)


@pytest.mark.parametrize(
    ("whole", "signums"),
    [
        ("scir", (signal.SIGINT, signal.SIGINT)),
        ("sgrld", (signal.SIGTERM, signal.SIGHUP)),
        ("scir", (signal.SIGKILL, signal.SIGKILL)),
    ],
    indirect=["whole"],
)
def test_stopped_twice_and_resumed_equals_the_whole_run(whole, tmp_path, signums):
    """With two threads, then one, then two; phi.npy, samples and metrics are the same bits."""
    arguments, expected = whole
    run = tmp_path / "run"
    resumed = ("-o", run, "--resume")
    for update, command, signum in zip(
        (23, 41), ((*arguments, "-o", run, "--threads", 2), resumed), signums, strict=True
    ):
        status, told = stopped_at(command, update, signum)
        assert "Traceback" not in told
        if signum == signal.SIGKILL:
            assert status == -signal.SIGKILL
        else:
            assert status == 130
            assert "Stopping after this round, with a checkpoint; a further Ctrl-C" in told
            *_, last = map(json.loads, told.splitlines())
            assert last["message"].endswith(f"topicmc train -o {run} --resume")
            checkpoint = json.loads((run / "checkpoint" / "current.json").read_text())
            assert checkpoint["round"] >= update
    assert topicmc("topics", run).status == 0
    done = topicmc("train", *resumed, "--threads", 2, "--progress", "none")
    assert done.status == 0, done.stderr
    assert results(run) == expected
    assert list(run.rglob(".*")) == []


@contextmanager
def interrupted_at_once(*_):
    """In the place of `interruptible`: after one round."""
    interrupt = Interrupt()
    interrupt.requested = True
    yield interrupt


@pytest.mark.parametrize("model", [("lda", "--topics", 5), ("mixture",)], ids=lambda m: m[0])
def test_workers_in_one_process_go_on_without_mpi(run, command, monkeypatch, model):
    """By the command that is printed."""

    def missing():
        raise UsageError("there is no mpiexec")

    monkeypatch.setattr("topicmc.engine.transport.launch.find_mpiexec", missing)
    size = ("--sampler", "scir", "--batch-size", 40, "--updates", 40, "--threads", 1)
    workers = ("--workers", 2, "--transport", "local", "--progress", "none")
    with monkeypatch.context() as patched:
        patched.setattr("topicmc.host.interrupts.interruptible", interrupted_at_once)
        stopped = command("train", "corpus", "-o", "two", "--model", *model, *size, *workers)
    assert stopped.status == 130, stopped.stderr
    program, *goes_on = shlex.split(stopped.stderr.splitlines()[-1])
    assert (program, goes_on[-1]) == ("topicmc", "--resume")
    again = command(*goes_on)
    assert again.status == 0, again.stderr
    assert "2 workers" in again.stderr


@pytest.mark.parametrize("left", ['{"format": 1, "update": 8, "topics": []}', '{"format": 1, "upd'])
def test_topics_of_an_earlier_state_are_written_anew(run, command, left):
    """As of a run that went on and was killed after its last checkpoint."""
    place = run / "topics.json"
    whole = json.loads(place.read_text())
    place.write_text(left)
    for nothing in (False, True):
        done = command("train", "-o", run, "--resume", "--progress", "none")
        assert (done.status, "Nothing to do" in done.stderr) == (0, nothing), done.stderr
        assert json.loads(place.read_text()) == whole


SLOW = """
import os, sys, time
from topicmc.cli import main
from topicmc.corpora.store import Corpus
def slow(*_):
    os.write(1, b"reading\\n")  # whole, whatever other threads write
    time.sleep(60)
Corpus._digest = slow
main(["corpus", "verify", sys.argv[1]])
"""


def test_ctrl_c_again_and_again_while_a_corpus_is_verified(small_corpus):
    """Threads that read large files are waited for, and people do not like to wait."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", SLOW, small_corpus.path],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdout is not None and process.stdout.readline() == "reading\n"
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
    told = process.communicate()[1]
    assert process.returncode in (130, -signal.SIGINT)  # of which a shell makes 130
    assert told.endswith("\nInterrupted.\n") and "Traceback" not in told


CALLED_BACK = """
import gc, os, signal, sys, threading, time
import numba
from llvmlite.binding import parse_assembly
from numba.core.codegen import CPUCodeLibrary
from topicmc.cli import main
from topicmc.host.interrupts import interruptible

compiled = CPUCodeLibrary._object_compiled_hook.__func__

signals = [signal.SIGINT]

def hook(cls, *arguments):  # of llvmlite, which ctypes calls
    if signals:
        os.kill(os.getpid(), signals.pop())
    return compiled(cls, *arguments)

CPUCodeLibrary._object_compiled_hook = classmethod(hook)

begin = threading.Thread._bootstrap_inner

def collects(thread):  # as any thread may that begins: garbage of LLVM waits for its lock
    gc.collect()
    begin(thread)

threading.Thread._bootstrap_inner = collects
gc.disable()
garbage = [parse_assembly("")]
garbage.append(garbage)
del garbage
"""

A_SECOND = """
with interruptible() as interrupt:
    interrupt.requested = True
    try:
        numba.njit(lambda: 1)()
        time.sleep(10)
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
"""

A_FIRST = """
import topicmc.cli.doctor

def compiling():
    numba.njit(lambda: 1)()
    time.sleep(10)

topicmc.cli.doctor._warm = compiling
main(["doctor", "--warm"])
"""


@pytest.mark.parametrize(("then", "status"), [(A_SECOND, 0), (A_FIRST, 130)])
def test_ctrl_c_while_llvm_calls_back_is_heard(tmp_path, then, status):
    """There ctypes would print a traceback and go on; and LLVM's lock is held."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", CALLED_BACK + then],
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr.strip()) == (status, "Interrupted.")


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGHUP])
def test_terminated_while_preparing_the_extract_leaves_nothing(tmp_path, signum):
    """Before training has begun: no run, no temporary folder."""
    process = subprocess.Popen(
        [TOPICMC, "train", "-o", tmp_path / "run"],
        stderr=subprocess.PIPE,
        preexec_fn=hears_hangups,
    )
    while not any(tmp_path.iterdir()):
        assert process.poll() is None
    process.send_signal(signum)
    assert process.wait(60) == 128 + signum
    assert list(tmp_path.iterdir()) == []


def test_a_second_hangup_does_not_disturb_what_cleans_up():
    """The shell sends one, and the system another when the shell has ended."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    cleaned = False
    try:
        with pytest.raises(SystemExit) as ended, unwound():
            try:
                os.kill(os.getpid(), signal.SIGHUP)
            finally:
                os.kill(os.getpid(), signal.SIGHUP)
                os.kill(os.getpid(), signal.SIGTERM)
                cleaned = True
        assert cleaned and ended.value.code == 128 + signal.SIGHUP
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("ignored", [False, True])
def test_a_hangup_is_ignored_under_nohup_only(ignored):
    usual = signal.SIG_IGN if ignored else signal.SIG_DFL
    before = signal.signal(signal.SIGHUP, usual)
    try:
        with interruptible() as interrupt:
            os.kill(os.getpid(), signal.SIGHUP)
            assert interrupt.requested != ignored
        assert signal.getsignal(signal.SIGHUP) is usual
        with pytest.raises(RuntimeError if ignored else SystemExit), unwound():
            os.kill(os.getpid(), signal.SIGHUP)
            raise RuntimeError
        assert signal.getsignal(signal.SIGHUP) is usual
    finally:
        signal.signal(signal.SIGHUP, before)
