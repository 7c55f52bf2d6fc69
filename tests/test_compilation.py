"""What a first run compiles: before its clock starts, and nothing that it does not need."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from synthetic import lda_documents, write_docword

from topicmc.corpora import Corpus, prepare
from topicmc.host.machine import available_cores
from topicmc.kernels import cache

CHILD = """
import json, sys
from numba.core import event

compiled, rounds = [], []

class Listener(event.Listener):
    def on_start(self, event):
        function = event.data["dispatcher"].py_func
        name = function.__module__.rpartition(".")[2] + "." + function.__qualname__
        (rounds if inside else compiled).append(name)
    def on_end(self, event):
        pass

event.register("numba:compile", Listener())
inside = False
from topicmc.engine.loop import Training

round_ = Training._round
def watched(self):
    global inside
    inside = True
    try:
        return round_(self)
    finally:
        inside = False
Training._round = watched
from topicmc.cli import main
try:
    main()
finally:
    print(json.dumps({"compiled": compiled, "rounds": rounds}), file=sys.stderr)
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Corpus:
    """300 documents in three shards, of 120 words among 1,000: the others always wait."""
    folder = tmp_path_factory.mktemp("compiling")
    source = write_docword(folder, lda_documents(330, 120, 5, seed=1), 1000)
    return prepare([source], folder / "corpus", n_heldout=30, n_shards=3, seed=4)


OF_DOCUMENTS = {
    "gibbs._sample",
    "histograms._mix_histogram",
    "joint._log_mixes",
    "joint._log_words",
    "mixes._expected_counts",
}
ELSEWHERE = {
    "adlda": OF_DOCUMENTS,
    "scir": OF_DOCUMENTS | {"cir._cir_blocks"},
    "scir --no-remember --batch-size 20": {"cir._cir_blocks"},
    "scir --estimate saga --batch-size 20": {"cir._cir_blocks"},
    "sgrld": {"simplex._langevin_blocks"},
}
OF_LDA = ("--learn", "both", "--topics", "5", "--epochs", "12")


def compiled_by(corpus: Corpus, folder: Path, *options: str) -> dict[str, list[str]]:
    """The kernels that a run compiles where none is kept: in its rounds, and outside of them."""
    arguments = ["train", str(corpus.path), "-o", str(folder / "run"), "--json", *options]
    done = subprocess.run(
        [sys.executable, "-P", "-c", CHILD, *arguments],
        env=os.environ | {"NUMBA_CACHE_DIR": str(folder / "compiled")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stderr.splitlines()[-1])


@pytest.mark.parametrize("sampler", ELSEWHERE)
def test_a_first_run_compiles_before_its_clock_starts(corpus, tmp_path, sampler):
    """Over several shards, with all priors learned, and past the start. numba would compile the
    text of error messages, for some seconds, with every kernel that assigns to a slice. A kernel of
    draws takes longer than any other, and is not compiled twice: draws under counts, given θ, to
    learn priors and to evaluate share it. Nor is the order of tokens. Where there is another core,
    others compile a part: the moves of a sampler, and what draws documents one by one."""
    seen = compiled_by(corpus, tmp_path, *OF_LDA, "--sampler", *sampler.split())
    assert seen["compiled"].count("by_word._draw") == 1
    assert seen["compiled"].count("gibbs._sample") <= 1
    assert seen["compiled"].count("word_order._order") == 1
    if available_cores() > 1:
        assert ELSEWHERE[sampler].isdisjoint(seen["compiled"])
    assert seen["rounds"] == []
    texts = ("str", "repr", "raise_with_shape_context", "concat")
    assert [name for name in seen["compiled"] if any(text in name for text in texts)] == []


def test_a_mixture_compiles_no_text_of_error_messages(corpus, tmp_path):
    found = compiled_by(corpus, tmp_path, "--model", "mixture", "--updates", "4")
    seen = found["compiled"]
    texts = ("unicode", "str", "repr", "raise_with_shape_context")
    assert "partitions.split_or_merge" in seen
    assert [name for name in seen if any(text in name for text in texts)] == []
    assert found["rounds"] == []


@pytest.mark.parametrize("sampler", ["scir", "scir --no-remember --batch-size 20", "sgrld"])
def test_so_does_one_with_seeds(corpus, tmp_path, sampler):
    """Whose prior has rows, for which kernels of moves and of counts are others."""
    documents = corpus.shard(0)
    counts = np.bincount(documents.word_ids, documents.counts, corpus.n_words)
    seeds = {"one": [corpus.vocabulary[counts.argmax()]]}
    (tmp_path / "seeds.json").write_text(json.dumps(seeds))
    options = (*OF_LDA, "--sampler", *sampler.split(), "--seeds", str(tmp_path / "seeds.json"))
    assert compiled_by(corpus, tmp_path, *options)["rounds"] == []


def test_doctor_compiles_what_runs_need(small_corpus, tmp_path):
    """Nothing is compiled after it, whatever the sampler, up to the report. No kernel is compiled
    for single numbers, as numba has it where another calls it with one that stands in the code."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "compiled")}

    def topicmc(*arguments):
        command = [Path(sys.executable).with_name("topicmc"), *map(str, arguments)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    warmed = json.loads(topicmc("doctor", "--warm", "--json"))
    kernels = sorted(path.name for path in (tmp_path / "compiled").rglob("*.nbc"))
    there = len(list((tmp_path / "compiled").glob("kernels_*/*.nbc")))  # one is of the samplers
    assert warmed["kernel cache"].startswith(f"{there} kernels") and there > 40
    indices = (tmp_path / "compiled").rglob("*.nbi")
    assert [path.name for path in indices if b"Literal[int]" in path.read_bytes()] == []
    runs = []
    for seed, sampler in enumerate(("auto", "adlda", "scir", "sgrld")):
        runs.append(tmp_path / sampler)
        settings = ("--sampler", sampler, "--topics", 7, "--epochs", 6, "--seed", seed)
        topicmc("train", small_corpus.path, "-o", runs[-1], *settings)
        topicmc("topics", runs[-1])
    for sampler in ("adlda", "scir"):
        many = ("--sampler", sampler, "--topics", 1000, "--updates", 2)
        topicmc("train", small_corpus.path, "-o", tmp_path / f"many-{sampler}", *many)
    kept = ("--sampler", "scir", "--topics", 1000, "--epochs", 12)
    topicmc("train", small_corpus.path, "-o", tmp_path / "many-kept", *kept)
    topicmc("evaluate", runs[-1])
    topicmc("report", *runs, "-o", tmp_path / "report.html")
    assert sorted(path.name for path in (tmp_path / "compiled").rglob("*.nbc")) == kernels


def test_where_nothing_compiled_can_be_kept_the_way_out_is_told():
    """numba then has no folder, and fails when a kernel is defined."""
    code = """
from numba.core import caching
caching.CacheImpl._locator_classes = []
from topicmc.cli import main
main(["doctor"])
"""
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: compiled kernels cannot be kept")
    assert "NUMBA_CACHE_DIR" in done.stderr and done.stderr.count("\n") == 1


TWICE = """
from numba import njit

@njit(cache=True)
def twice(x):
    return 2 * x
"""
CALLS = """
import errno, os, sys
import topicmc.host.doctor as doctor
from topicmc.cli import main

def diagnose():
    sys.path.insert(0, sys.argv[1])
    from twice import twice
    if sys.argv[2] == "full":
        def replace(*_):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.replace = replace
    return {"twice": twice(2)}

doctor.diagnose = diagnose
main(["doctor"])
"""


@pytest.mark.parametrize(
    ("damage", "why"),
    [("nbi", "Ran out of input"), ("nbc", "truncated"), ("full", "No space left on device")],
)
def test_a_cache_that_fails_is_told(tmp_path, damage, why):
    """By an EOFError, where a crash has left an empty file; click takes that for a Ctrl-C."""
    (tmp_path / "twice.py").write_text(TWICE)

    def told(how):
        return subprocess.run(
            [sys.executable, "-P", "-c", CALLS, str(tmp_path), how],
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "compiled")},
            capture_output=True,
            text=True,
        )

    if damage != "full":
        assert told("whole").stdout.split() == ["twice", "4"]
        (kept,) = (tmp_path / "compiled").rglob(f"*.{damage}")
        kept.write_bytes(kept.read_bytes()[:-9] if damage == "nbc" else b"")
    done = told(damage)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(f"Error: {tmp_path / 'compiled'}") and why in done.stderr
    assert done.stderr.count("\n") == 1


def test_kernels_of_other_sources_are_compiled_anew(tmp_path):
    """A kernel whose own file is the same, too: numba would not see that."""
    (tmp_path / "one.py").write_text("from numba import njit\none = njit(lambda: 1)\n")
    (tmp_path / "many.py").write_text(
        "from numba import njit\nfrom one import one\n"
        "@njit(cache=True)\ndef many():\n    return one()\n"
    )
    code = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from many import many
from topicmc.kernels.cache import renew
for _ in range(int(sys.argv[2])):
    renew(Path(many.stats.cache_path), Path(sys.argv[1]))
many()
print(many(), sum(many.stats.cache_hits.values()))
"""

    def told(times=1):
        done = subprocess.run(
            [sys.executable, "-P", "-B", "-c", code, str(tmp_path), str(times)],
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "compiled")},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    assert [told(), told(2)] == [["1", "0"], ["1", "1"]]
    (tmp_path / "one.py").write_text("from numba import njit\none = njit(lambda: 2)\n")
    assert told(0) == ["1", "1"], "numba sees to it by itself: topicmc.kernels.cache may go"
    assert [told(), told()] == [["2", "0"], ["2", "1"]]


def test_nothing_is_left_of_what_was_compiled_from_other_sources(tmp_path):
    """``topicmc doctor`` counts what is there."""
    for name in ("one.nbi", "one.1.nbc", "one.pyc"):
        (tmp_path / name).touch()
    cache.renew(tmp_path, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"one.pyc", "sources.sha256"}


def test_whoever_imports_kernels_looks_for_old_ones(tmp_path):
    code = "import topicmc.kernels.threads"
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-P", "-c", code], env=environment, check=True)
    (note,) = tmp_path.glob("kernels_*/*")
    assert note.name == "sources.sha256"


def test_a_cache_that_cannot_be_looked_at_is_left_alone(monkeypatch):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(cache, "renew", refuse)
    cache.check()


def test_without_compilation_there_are_no_kernels():
    done = subprocess.run(
        [Path(sys.executable).with_name("topicmc"), "doctor"],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: NUMBA_DISABLE_JIT is set")
