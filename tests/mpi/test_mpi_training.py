"""Training on real ranks: the bits of one process, interruptions, deaths, and what goes where."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from processes import wait_for_the_end_of
from trained import train

from topicmc.corpora import Corpus
from topicmc.engine.schedule import worker_of
from topicmc.engine.transport.launch import find_mpiexec
from topicmc.errors import UsageError
from topicmc.host.machine import available_cores
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.settings import TrainConfig

# Ranks that wait keep a core busy: one such test at a time.
pytestmark = pytest.mark.xdist_group("mpi")

pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install 'topicmc[mpi]'")
try:
    MPIEXEC = find_mpiexec()
except UsageError as error:
    pytest.skip(str(error), allow_module_level=True)

TRAIN = (sys.executable, "-P", "-m", "topicmc.cli", "train")
COMMON = {"topics": 5, "batch_size": 20, "sweeps": 3, "seed": 3, "threads": 1, "trajectory": 4}
COMMON |= {"sampler": "scir", "anneal_updates": 6}  # what comes before is no sample
FIXED = {**COMMON, "balance": False, "checkpoint_every": "40", "evaluate_every": "100"}
ENDLESS = 10_000_000


def flags(settings):
    for name, value in settings.items():
        option = name.replace("_", "-")
        if isinstance(value, bool):
            yield f"--{option}" if value else f"--no-{option}"
        else:
            yield from (f"--{option}", str(value))


def command(n, run, *more, corpus=None, program=TRAIN, **settings):
    """``mpiexec -n n`` of a training command; without mpiexec when n is None."""
    ranks = [] if n is None else [MPIEXEC, "-n", n]
    corpus = [] if corpus is None else [corpus.path]
    return [*map(str, [*ranks, *program, *corpus, "-o", run, *flags(settings), *more])]


def finish(*arguments, status=0, **settings):
    done = subprocess.run(
        command(*arguments, **settings), capture_output=True, text=True, timeout=90
    )
    assert done.returncode == status, done.stderr
    return done


def hears_hangups():
    """Where the tests run under nohup, too."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@contextlib.contextmanager
def running(n, run, *more, until, **settings):
    """A job in the background, from when the file `until` of its run is there; killed if it
    outlives this."""
    with (
        run.with_suffix(".err").open("w") as err,
        subprocess.Popen(
            command(n, run, *more, **settings),
            stdout=err,
            stderr=err,
            start_new_session=True,
            preexec_fn=hears_hangups,
        ) as job,
    ):
        try:
            deadline = time.monotonic() + 60
            while not (run / until).exists():
                assert job.poll() is None and time.monotonic() < deadline, told(run)
                time.sleep(0.02)
            yield job
        finally:
            if job.poll() is None:
                os.killpg(job.pid, signal.SIGKILL)


def told(run: Path) -> str:
    return run.with_suffix(".err").read_text()


def in_process(run, corpus, workers, **settings):
    """The same training with all workers in this process."""
    train(TrainConfig(**settings, workers=workers), corpus, run)
    return run


def assert_alike(run, other):
    """The same samples, last states and evaluations. Held-out logarithms are summed rank by rank,
    so perplexities differ by rounding."""
    assert bits(run) == bits(other)
    names = ("update", "documents", "tokens", "perplexity", "perplexity_averaged")
    figures = [
        np.array([[record[n] for n in names] for record in TopicRun(one).metrics()], float)
        for one in (run, other)
    ]
    np.testing.assert_allclose(*figures, rtol=1e-12)


def bits(run):
    """Checksums of samples and of the last states of chains."""
    directory = TopicRun(run)
    checkpoint = directory.checkpoint()
    assert checkpoint is not None
    samples = {entry["file"]: entry["checksum"] for entry in directory.sample_index()}
    assert samples
    thetas = {k: v for k, v in checkpoint.manifest["files"].items() if k.startswith("theta")}
    return samples, thetas


@pytest.mark.parametrize(
    ("workers", "settings"),
    [
        (1, {"sampler": "scir"}),
        (2, {"sampler": "scir", "schedule": "rotate"}),
        (3, {"sampler": "sgrld", "schedule": "permute", "chains": 2, "groups": 2}),
        (4, {"sampler": "sgrld", "schedule": "rotate", "groups": 2, "average_until": 12}),
        (4, {"sampler": "scir", "schedule": "permute", "chains": 3, "groups": 2}),  # 1 and 2
        (2, {"sampler": "scir", "start": "subset", "start_documents": 70, "start_sweeps": 5}),
    ],
)
def test_the_same_bits_as_in_one_process(small_corpus, tmp_path, workers, settings):
    """A chain on the wrong worker, a sum in another order, a random number used twice, or a
    held-out document scored by none would show."""
    settings = FIXED | settings | {"updates": 24, "evaluate_every": "8"}
    finish(workers, tmp_path / "mpi", "--transport", "mpi", corpus=small_corpus, **settings)
    in_process(tmp_path / "local", small_corpus, workers, **settings)
    assert_alike(tmp_path / "mpi", tmp_path / "local")


def test_an_interrupted_job_goes_on_bit_for_bit_and_on_other_numbers_of_ranks(
    small_corpus, tmp_path
):
    """Ctrl-C at an arbitrary moment; then 2, 3 and 1 ranks."""
    run = tmp_path / "run"
    with running(
        2, run, corpus=small_corpus, until="metrics.jsonl", updates=ENDLESS, **FIXED
    ) as job:
        job.send_signal(signal.SIGINT)
        assert job.wait(20) == 130
    assert "Stopped after update" in told(run)
    assert f"mpiexec -n 2 topicmc train -o {run} --resume" in told(run)
    updates = TopicRun(run).checkpoint().facts("rank-000")["round"] * 4 + 20
    finish(2, run, "--resume", updates=updates)
    whole = in_process(tmp_path / "whole", small_corpus, 2, **FIXED, updates=updates)
    assert_alike(run, whole)
    for ranks, before in [(3, 2), (1, 3)]:
        updates += 20
        launched = ranks if ranks > 1 else None
        done = finish(launched, run, "--resume", workers=ranks, updates=updates)
        assert f"made on {before} workers and goes on with {ranks}" in done.stderr
        assert "not bit for bit" in done.stderr
        assert TopicRun(run).metrics()[-1]["update"] == updates


def ranks_of(job):
    """Process ids of the Python ranks below mpiexec and its proxy."""
    found, below = [], [job.pid]
    while below:
        pid = below.pop()
        below += map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
        if b"topicmc.cli" in (line := Path(f"/proc/{pid}/cmdline").read_bytes()):
            found += [] if b"mpiexec" in line else [pid]
    return found


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="finds ranks through /proc")
def test_a_killed_rank_ends_the_job_and_its_checkpoint_goes_on(small_corpus, tmp_path):
    run = tmp_path / "run"
    with running(
        2,
        run,
        corpus=small_corpus,
        until="checkpoint/current.json",
        updates=ENDLESS,
        **FIXED,
    ) as job:
        ranks = ranks_of(job)
        assert len(ranks) == 2
        os.kill(ranks[1], signal.SIGKILL)
        assert job.wait(10) != 0
        wait_for_the_end_of(ranks, 10)
    updates = TopicRun(run).checkpoint().manifest["round"] * 4 + 20
    finish(2, run, "--resume", updates=updates)
    whole = in_process(tmp_path / "whole", small_corpus, 2, **FIXED, updates=updates)
    assert_alike(run, whole)


def test_one_job_at_a_time_writes_into_a_run(small_corpus, tmp_path):
    """A second job of several ranks is told once who is at work, and touches nothing; readers are
    not kept out; and what a killed job has left is no obstacle."""
    run = tmp_path / "run"
    with running(
        2, run, corpus=small_corpus, until="checkpoint/current.json", updates=ENDLESS, **FIXED
    ) as job:
        holder = json.loads((run / "lease.json").read_text())["process"]
        assert holder in ranks_of(job)
        mark = run / "samples" / ".chain-000.npy.1.tmp"
        mark.write_text("of a writer that is alive")
        for ranks in (None, 2):
            for more in (("--resume",), ("--force",)):
                anew = {} if more == ("--resume",) else {"corpus": small_corpus, "topics": 3}
                done = finish(ranks, run, *more, status=2, **anew)
                told_who = (done.stdout + done.stderr).count(f"process {holder} on ")
                assert told_who == 1, done.stderr
        assert mark.exists()
        topics = [sys.executable, "-P", "-m", "topicmc.cli", "topics", str(run)]
        assert subprocess.run(topics, capture_output=True, timeout=60).returncode == 0
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()
    wait_for_the_end_of([holder], 10)
    finish(2, run, "--resume", updates=TopicRun(run).checkpoint().manifest["round"] * 4 + 20)
    assert list(run.rglob(".*")) == [] and not (run / "lease.json").exists()


def test_a_rank_that_raises_ends_the_job_with_its_message(small_corpus, tmp_path):
    """The last of three shards is damaged: only the second of two ranks reads it."""
    folder = Path(shutil.copytree(small_corpus.path, tmp_path / "corpus"))
    path = folder / "shards" / "00002" / "counts.npy"
    content = bytearray(path.read_bytes())
    content[-2] ^= 1
    path.write_bytes(content)
    done = finish(2, tmp_path / "run", corpus=Corpus.open(folder), status=3, **FIXED)
    assert (done.stdout + done.stderr).count(str(path)) == 1
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()


def test_ranks_agree_on_the_sampler(small_corpus, tmp_path):
    """Without a word of it: on one machine, counts are exchanged; the choice is told once."""
    run = tmp_path / "run"
    done = finish(2, run, "--progress", "plain", corpus=small_corpus, topics=5, updates=4)
    assert done.stderr.count("--sampler auto: adlda, which keeps the topic of every token") == 1
    config = TopicRun(run).facts()["config"]
    assert config["sampler"] == "adlda"
    assert config["threads"] == max(1, available_cores() // 2)


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGHUP])
def test_workers_without_mpiexec(small_corpus, tmp_path, signum):
    """The ranks are started for the user, share the cores out, and hear of a Ctrl-C, and of a
    terminal that closes."""
    run = tmp_path / "run"
    settings = FIXED | {"threads": "auto", "updates": ENDLESS, "workers": 2}
    with running(None, run, corpus=small_corpus, until="metrics.jsonl", **settings) as job:
        threads = TopicRun(run).facts()["config"]["threads"]
        assert 1 <= threads <= max(1, available_cores() // 2)
        job.send_signal(signum)
        assert job.wait(20) == 130
    assert TopicRun(run).checkpoint() is not None
    assert told(run).count("a checkpoint is written") == 1


def test_what_ranks_read_and_send_and_how_they_are_balanced(small_corpus, tmp_path):
    """Each rank reads its own shards only: here it has no others. Only the first looks for the run
    before it is made: over NFS another would go on seeing none. A round sends what docs/cluster.md
    says. A slow rank gets shorter trajectories, and the metrics say so."""
    program = (sys.executable, Path(__file__).with_name("observed_train.py"), tmp_path / "sent")
    settings = COMMON | {"batch_size": 100, "updates": 160, "evaluate_every": "20"}
    settings |= {"average_until": 160}
    job: list[str] = []
    for rank, others in enumerate([("00001", "00002"), ("00000",)]):
        folder = Path(shutil.copytree(small_corpus.path, tmp_path / f"corpus-{rank}"))
        for shard in others:
            shutil.rmtree(folder / "shards" / shard)
        part = command(
            1, tmp_path / "run", "--slow", "1=20",
            corpus=Corpus.open(folder), program=(*program, "train"), **settings,
        )  # fmt: skip
        job += [":", *part[1:]] if job else part
    done = subprocess.run(job, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr
    n_words, n_topics, n_workers = small_corpus.n_words, 5, 2
    beside = 8 * (2 * n_topics + 1)
    handover = 8 * n_words * n_topics + 8 * n_topics + 24 + beside
    averaging = 2 * (n_workers - 1) * (4 * n_words * n_topics + beside) // n_workers
    places = [worker_of("rotate", number, 2, 2, 0) for number in range(40)]
    moves = [before != after for before, after in pairwise(places)]
    assert 20 < sum(moves) < 39  # where a cycle begins chains may stay
    for rank in (0, 1):
        sent, early = json.loads((tmp_path / f"sent-{rank}.json").read_text())
        assert sent == [averaging] + [handover * move + averaging for move in moves]
        assert bool(early) == (rank == 0)

    records = TopicRun(tmp_path / "run").metrics()
    for record in records:
        assert sum(record["trajectory"]) == 8
        assert len(record["delays"]) == len(record["waited"]) == 2
        assert all(0 <= share <= 1 for share in record["waited"])
    assert records[-1]["delays"][1] > 2 * records[-1]["delays"][0]
    fast, slow = records[-1]["trajectory"]
    assert fast > 2 * slow


@pytest.mark.parametrize(
    "settings",
    [
        {"sampler": "adlda"},
        {"sampler": "asynclda"},
        {"sampler": "scir", "batch_size": 10, "trajectory": 2},
    ],
)
def test_a_time_budget_over_two_ranks(small_corpus, tmp_path, settings):
    """They measure their pace together; as one of them is slower by far, the start is late, and
    both leave it, and end, by the clock of the first."""
    settings = {"topics": 5, "threads": 1, "time_budget": "2s", **settings}
    finish(2, tmp_path / "run", "--slow", "1=8", corpus=small_corpus, **settings)
    run = TopicRun.open(tmp_path / "run")
    checkpoint = run.checkpoint()
    assert checkpoint is not None
    parts = [checkpoint.facts(part) for part in checkpoint.parts()]
    assert len(parts) == 2 and parts[0]["round"] == parts[1]["round"] > 0
    assert run.metrics()[-1]["seconds"] >= 2
    assert run.sample_index() and not run.is_starting()


@pytest.mark.parametrize(
    "settings",
    [
        {"sampler": "scir", "batch_size": 20, "updates": 24, "anneal_updates": 6},
        {"sampler": "adlda", "epochs": 12.0, "start_sweeps": 4},
    ],
)
def test_seed_words_over_two_ranks(small_corpus, tmp_path, settings):
    """The same bits as in one process, with the same prior and names."""
    settings = {"topics": 5, "seed": 3, "threads": 1, "balance": False, **settings}
    settings |= {"checkpoint_every": "40", "evaluate_every": "100"}
    seeds = {"tea": ["word003", "word01*"], "rain": [["word040", 2], "word041"]}
    (tmp_path / "seeds.json").write_text(json.dumps(seeds))
    more = ("--seeds", str(tmp_path / "seeds.json"), "--transport", "mpi")
    finish(2, tmp_path / "mpi", *more, corpus=small_corpus, **settings)
    in_process(tmp_path / "local", small_corpus, 2, seeds=seeds, **settings)
    assert_alike(tmp_path / "mpi", tmp_path / "local")
    runs = [TopicRun(tmp_path / name) for name in ("mpi", "local")]
    assert dict(runs[0].labels) == dict(runs[1].labels) == {0: "tea", 1: "rain"}
    first, other = (run.additions().of(np.arange(120)) for run in runs)
    np.testing.assert_array_equal(first, other)
    assert first[40, 1] == 2 * first[41, 1] > 0 and (first[:, 0] > 0).sum() == 11


@pytest.mark.parametrize(
    "settings",
    [
        {"sampler": "scir", "batch_size": 20, "updates": 24, "anneal_updates": 6},
        {"sampler": "adlda", "epochs": 12.0, "start_sweeps": 4},
    ],
)
def test_going_on_from_a_run_over_two_ranks(small_corpus, tmp_path, settings):
    """Ranks begin with the topics of the run, as in one process, and not with a start of their
    own."""
    first = {"topics": 5, "seed": 1, "threads": 1, "sampler": "adlda", "epochs": 12.0}
    in_process(tmp_path / "first", small_corpus, 1, **first)
    settings = {"seed": 3, "threads": 1, "balance": False, **settings}
    settings |= {"checkpoint_every": "40", "evaluate_every": "100"}
    more = ("--from", str(tmp_path / "first"), "--transport", "mpi")
    finish(2, tmp_path / "mpi", *more, corpus=small_corpus, **settings)
    settings["from_run"] = str(tmp_path / "first")
    in_process(tmp_path / "local", small_corpus, 2, **settings)
    assert_alike(tmp_path / "mpi", tmp_path / "local")
    alone = {key: value for key, value in settings.items() if key != "from_run"}
    in_process(tmp_path / "alone", small_corpus, 2, topics=5, **alone)
    with pytest.raises(AssertionError):
        assert_alike(tmp_path / "alone", tmp_path / "local")
