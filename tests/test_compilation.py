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


def compiled_by(corpus: Corpus, folder: Path, *options: str) -> dict[str, list[str]]:
    """The kernels that a run compiles where none is kept: in its rounds, and outside of them."""
    arguments = ["train", str(corpus.path), "-o", str(folder / "run"), "--json"]
    arguments += ["--learn", "both", "--topics", "5", "--epochs", "12", *options]
    done = subprocess.run(
        [sys.executable, "-P", "-c", CHILD, *arguments],
        env=os.environ | {"NUMBA_CACHE_DIR": str(folder / "compiled")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stderr.splitlines()[-1])


@pytest.mark.parametrize(
    "sampler",
    [
        "adlda",
        "scir",
        "scir --no-remember --batch-size 20",
        "scir --estimate saga --batch-size 20",
    ],
)
def test_a_first_run_compiles_before_its_clock_starts(corpus, tmp_path, sampler):
    """Over several shards, with all priors learned, and past the start. numba would compile the
    text of error messages, for some seconds, with every kernel that assigns to a slice. A kernel of
    draws takes longer than any other, and is not compiled twice: draws under counts, given θ, to
    learn priors and to evaluate share it. Nor is the order of tokens. Where there is another core,
    another process compiles the moves of scir."""
    seen = compiled_by(corpus, tmp_path, "--sampler", *sampler.split())
    assert seen["compiled"].count("by_word._draw") == 1
    assert seen["compiled"].count("gibbs._sample") <= 1
    assert seen["compiled"].count("word_order._order") == 1
    if available_cores() > 1:
        assert "cir._cir_blocks" not in seen["compiled"]
    assert seen["rounds"] == []
    texts = ("str", "repr", "raise_with_shape_context", "concat")
    assert [name for name in seen["compiled"] if any(text in name for text in texts)] == []


@pytest.mark.parametrize("sampler", ["scir", "scir --no-remember --batch-size 20", "sgrld"])
def test_so_does_one_with_seeds(corpus, tmp_path, sampler):
    """Whose prior has rows, for which kernels of moves and of counts are others."""
    documents = corpus.shard(0)
    counts = np.bincount(documents.word_ids, documents.counts, corpus.n_words)
    seeds = {"one": [corpus.vocabulary[counts.argmax()]]}
    (tmp_path / "seeds.json").write_text(json.dumps(seeds))
    options = ("--sampler", *sampler.split(), "--seeds", str(tmp_path / "seeds.json"))
    assert compiled_by(corpus, tmp_path, *options)["rounds"] == []


def test_doctor_compiles_what_runs_need(small_corpus, tmp_path):
    """Nothing is compiled after it, whatever the sampler, up to the report."""
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
