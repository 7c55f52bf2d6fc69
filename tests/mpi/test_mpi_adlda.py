"""AD-LDA on real ranks gives the bits of one process; Async-LDA loses no count and keeps up."""

import subprocess
import sys

import adlda_jobs
import pytest

from topicmc.corpora import Corpus
from topicmc.engine.transport.launch import find_mpiexec
from topicmc.errors import UsageError
from topicmc.models.lda.run import TopicRun

# Ranks that wait keep a core busy: one such test at a time.
pytestmark = pytest.mark.xdist_group("mpi")

pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install 'topicmc[mpi]'")
try:
    MPIEXEC = find_mpiexec()
except UsageError as error:
    pytest.skip(str(error), allow_module_level=True)

OPTIONS = [
    *("--topics", "5", "--alpha", "0.1", "--beta", "0.05", "--seed", "3", "--threads", "1"),
    *("--epochs", "40", "--evaluate-every", "10m", "--checkpoint-every", "10m"),
    *("--progress", "none"),
]


def run(*command):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def train(corpus: Corpus, path, sampler, *launcher, workers=()):
    options = ["-o", path, "--sampler", sampler, *OPTIONS, *workers]
    run(*launcher, sys.executable, "-P", "-m", "topicmc.cli", "train", corpus.path, *options)
    return TopicRun(path)


def bits(run: TopicRun):
    files = run.checkpoint().manifest["files"]
    samples = [(entry["round"], entry["checksum"]) for entry in run.sample_index()]
    return {k: v for k, v in files.items() if "z-" in k}, samples


@pytest.mark.parametrize(
    ("n", "chains", "start"),
    [(2, 1, "grow"), (3, 1, "grow"), (2, 2, "grow"), (2, 1, "consensus"), (3, 2, "consensus")],
)
def test_adlda_has_the_bits_of_one_process(small_corpus, tmp_path, n, chains, start):
    several = ["--chains", chains, "--start", start]
    over_mpi = train(small_corpus, tmp_path / "mpi", "adlda", MPIEXEC, "-n", n, workers=several)
    several += ["--workers", n, "--transport", "local"]
    local = train(small_corpus, tmp_path / "local", "adlda", workers=several)
    assert len(bits(local)[0]) == n * chains
    assert bits(over_mpi) == bits(local)


def test_asynclda_finds_topics_as_good(small_corpus, tmp_path):
    """Perplexities near 25 belong to the true topics, near 120 to none. No two runs are alike, and
    their number of samples differs, so single states are compared, and loosely."""
    asynchronous = train(small_corpus, tmp_path / "async", "asynclda", MPIEXEC, "-n", 2)
    together = train(small_corpus, tmp_path / "adlda", "adlda", MPIEXEC, "-n", 2)
    one, other = (run.metrics()[-1]["perplexity"] for run in (asynchronous, together))
    assert one < 40
    assert abs(one / other - 1) < 0.3


@pytest.mark.parametrize("n", [2, 3])
def test_asynclda_loses_no_count(small_corpus, n):
    job = (sys.executable, adlda_jobs.__file__, "consistent", small_corpus.path)
    assert run(MPIEXEC, "-n", n, *job).count("fine") == n


def test_shared_table():
    assert run(MPIEXEC, "-n", 3, sys.executable, adlda_jobs.__file__, "table").count("fine") == 3


def test_what_an_exchange_of_counts_sends(small_corpus):
    job = (sys.executable, adlda_jobs.__file__, "bytes", small_corpus.path)
    assert run(MPIEXEC, "-n", 3, *job).count("fine") == 3


@pytest.mark.parametrize("culprit", [0, 2, 99])
def test_ranks_whose_topics_part_end_at_once(small_corpus, culprit):
    """One unit in the last place of one weight is enough; told once, and by whom. Ranks that do not
    part (99) go on."""
    job = (sys.executable, adlda_jobs.__file__, "parted", small_corpus.path, culprit)
    command = [*map(str, (MPIEXEC, "-n", 3, *job))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    told = done.stdout + done.stderr
    if culprit == 99:
        assert done.returncode == 0 and told.count("fine") == 3, told
        return
    who = "ranks 1, 2 hold" if culprit == 0 else "rank 2 holds"
    assert done.returncode == 1 and "fine" not in told
    assert told.count(f"Error: {who} other topics than rank 0 after move 3: ") == 1, told
