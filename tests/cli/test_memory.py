"""What is stated of the memory of a run, beside what the run takes."""

import importlib.util
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from topicmc.corpora import Corpus
from topicmc.models.lda import memory
from topicmc.models.lda.defaults import resolve
from topicmc.models.lda.settings import TrainConfig

_path = Path(__file__).parents[2] / "bench" / "memory.py"
_spec = importlib.util.spec_from_file_location("bench_memory", _path)
assert _spec is not None and _spec.loader is not None
bench = importlib.util.module_from_spec(_spec)
sys.modules["bench_memory"] = bench
_spec.loader.exec_module(bench)

GB = 1e9
SIZES = memory.Sizes(
    n_docs=100_000, n_words=30_000, n_tokens=10_000_000, id_bytes=2,
    batch_tokens=250_000, batch_words=15_000,
    heldout_docs=1_000, heldout_tokens=100_000, heldout_words=10_000,
)  # fmt: skip


def resolved(**settings) -> TrainConfig:
    size = {"n_docs": SIZES.n_docs, "n_tokens": SIZES.n_tokens, "n_words": SIZES.n_words}
    return resolve(TrainConfig(**settings), **size)


@pytest.fixture(scope="session")
def corpora(tmp_path_factory) -> Path:
    """Where they are made. Kernels are compiled before, as that takes memory of its own."""
    subprocess.run([bench.SCRIPTS / "topicmc", "doctor", "--warm"], check=True, capture_output=True)
    return tmp_path_factory.mktemp("memory")


CELLS = {
    "adlda": bench.Cell("adlda", 300, "small"),
    "many-topics": bench.Cell("adlda", 1000, "small"),
    "chains": bench.Cell("adlda", 200, "small", chains=8),
    "scir": bench.Cell("scir", 300, "small"),
    "remembered": bench.Cell("sgrld+remember", 300, "small"),
    "ranks": bench.Cell("adlda", 300, "small", workers=2, mpi=True),
}


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
@pytest.mark.parametrize("name", CELLS)
def test_what_is_stated_is_what_is_measured(name, corpora):
    """Within 20 %, from the first round to the topics. Other cells are in bench/results."""
    cell = CELLS[name]
    corpus = bench.corpus_of(corpora, cell.size)
    held, _ = bench.measured(cell, corpus)
    assert held / 1.2 < bench.stated(cell, Corpus.open(corpus)) < 1.2 * held


def test_every_chain_and_worker_counts():
    """32 chains of 1,000 topics over 30,000 words hold 32 tables of 123 MB."""
    one = resolved(sampler="adlda", topics=1000)
    many = replace(one, chains=32)
    assert memory.needed(many, SIZES, 1) > 32 * 4 * 30_000 * 1000
    assert memory.needed(many, SIZES, 1) > memory.needed(one, SIZES, 1) + 3.7 * GB
    assert memory.largest(many, SIZES, 1).name == "counts as each worker knows them"
    local = resolved(sampler="adlda", topics=1000, workers=4)
    assert memory.needed(local, SIZES, 4) > memory.needed(one, SIZES, 1) + 4 * 0.12 * GB


def test_threads_count_where_each_has_counts_of_its_own():
    """Where a minibatch has few tokens of a word: otherwise they count into one table."""
    few = resolved(sampler="scir", remember=False, topics=500, threads=8)
    many = replace(few, threads=32)
    assert memory.needed(many, SIZES, 1) == memory.needed(few, SIZES, 1)
    rare = SIZES._replace(batch_tokens=5 * SIZES.batch_words)
    more = memory.needed(many, rare, 1) - memory.needed(few, rare, 1)
    assert more == pytest.approx(24 * 4 * 15_000 * 512, rel=0.05)


@pytest.mark.parametrize(("topics", "n_bytes"), [(200, 1), (500, 2)])
def test_topics_of_a_minibatch_count_for_each_kept_sweep(topics, n_bytes):
    config = resolved(sampler="scir", remember=False, topics=topics, sweeps=8, burn_in=5)
    terms = memory.terms(config, SIZES, 1)
    (drawn,) = (t for t in terms if t.phase == "updating" and t.name.startswith("topics of"))
    assert drawn.n_bytes == n_bytes * 3 * SIZES.batch_tokens


@pytest.mark.parametrize("sampler", ["adlda", "scir"])
def test_the_greatest_number_of_topics_that_fits(sampler):
    config = resolved(sampler=sampler, remember=False, topics=5000)
    most = memory.most_topics(config, SIZES, 1, GB)
    assert most is not None and 100 < most < 5000
    assert memory.needed(replace(config, topics=most), SIZES, 1) <= GB
    assert memory.needed(replace(config, topics=most + 1), SIZES, 1) > GB
    assert memory.most_topics(config, SIZES, 1, 1000) is None


def test_large_arrays_of_tokens_are_in_files():
    config = resolved(sampler="adlda", topics=10, batch_size=SIZES.n_docs // 64)
    large = SIZES._replace(n_tokens=10**9)
    # What is more are the tokens of a block.
    assert memory.needed(config, large, 1) < memory.needed(config, SIZES, 1) + 15_000_000


def test_the_check_names_what_fits(small_corpus, command, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "topicmc.models.lda.jobs.available_memory", lambda: memory.PROGRAM + memory.COMPILING
    )
    start = ("train", small_corpus.path, "-o", tmp_path / "run", "--updates", 1)
    result = command(*start, "--topics", 900)
    assert result.status == 2
    assert "--topics 900 over 120 words needs about 0.1 GB of memory, most of it for" in (
        result.stderr
    )
    assert "prune the vocabulary" in result.stderr
