"""What is stated of the memory of a run, beside what the run takes."""

import importlib.util
import json
import re
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from synthetic import write_docword

from topicmc.corpora import Corpus, prepare
from topicmc.engine.listeners import Silent
from topicmc.engine.transport.local import LocalTransport
from topicmc.host import machine
from topicmc.host.interrupts import Interrupt
from topicmc.kernels.batch import Minibatch
from topicmc.kernels.threads import Threads
from topicmc.models.factors import jobs as factor_jobs
from topicmc.models.factors import memory as of_factors
from topicmc.models.factors.data import RatingData
from topicmc.models.factors.model import training_of as factor_training
from topicmc.models.factors.rating_columns import Columns
from topicmc.models.factors.rating_files import Table
from topicmc.models.factors.run import FactorRun
from topicmc.models.factors.settings import FactorConfig
from topicmc.models.factors.settings import Resolved as FactorResolved
from topicmc.models.factors.settings import resolve as resolve_factors
from topicmc.models.lda import memory
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.minibatches.estimates import (
    AnchoredChain,
    ControlVariate,
    RecalledChain,
    Saga,
)
from topicmc.models.lda.minibatches.updates import Updates
from topicmc.models.lda.planning.defaults import resolve
from topicmc.models.lda.settings import TrainConfig
from topicmc.models.mixture import jobs as mixture_jobs
from topicmc.models.mixture import memory as of_mixtures
from topicmc.models.mixture.model import training_of as mixture_training
from topicmc.models.mixture.run import MixtureRun
from topicmc.models.mixture.settings import MixtureConfig
from topicmc.models.mixture.settings import resolve as resolve_mixture
from topicmc.models.mixture.slices import SliceSampler
from topicmc.models.mixture.state import Mixture
from topicmc.samplers.row_prior import RowPrior

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
    return resolve(TrainConfig(**settings), Extent.of(SIZES))


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


def held_by(train: Callable[[], object]) -> int:
    """The most bytes that Python and NumPy hold at the same time."""
    tracemalloc.start()
    try:
        train()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("document_tokens", [60_000, 70_000])
def test_what_kernels_are_compiled_on_is_small(document_tokens):
    """Though all words are in one document, with or without a kernel for longer ones."""
    config = resolved(sampler="scir", remember=False, topics=500, threads=1)
    updates = Updates(config, SIZES.n_tokens, Threads(), RowPrior(0.1))
    updates.warm_up(document_tokens, 1.0)  # which compiles
    theta = 4 * document_tokens * config.topics
    assert held_by(lambda: updates.warm_up(document_tokens, 1.0)) < theta / 4


@pytest.mark.parametrize(
    ("estimate", "kind", "estimator"),
    [("cv", AnchoredChain, ControlVariate), ("saga", RecalledChain, Saga)],
)
def test_what_is_stated_of_an_estimate_is_what_it_holds(estimate, kind, estimator):
    """Of a minibatch that has all words."""
    n_words, n_topics, numbers = 4_000, 96, np.arange(4_000)
    batch = Minibatch(np.zeros(1, np.int64), np.array([0, n_words]), numbers, numbers)

    class Documents:
        n_docs = 1
        minibatch = staticmethod(lambda *_: batch)
        token_offsets = staticmethod(lambda: batch.offsets)

    class Draws:
        counts = staticmethod(lambda *_: np.ones((n_words, n_topics), np.float32))
        kept = staticmethod(lambda *_: np.ones((n_words, 4), np.uint16))

    theta = np.ones((n_words, n_topics), np.float32)
    chain, estimate_of = kind(0, theta, theta.sum(axis=0)), estimator(Documents, 1, Threads())
    estimate_of(chain, batch, 2.0, Draws)  # which remembers the documents
    held = held_by(lambda: estimate_of(chain, batch, 2.0, Draws))
    config = resolved(estimate=estimate, topics=n_topics)
    terms = memory.terms(config, SIZES._replace(n_words=n_words), 1)
    (stated,) = (t.n_bytes for t in terms if t.name.endswith("as they are estimated"))
    assert held / 1.2 < stated < 1.2 * held


def test_what_is_stated_of_a_mixture_is_what_it_holds(small_corpus, tmp_path, monkeypatch):
    """Within 20 %, for as many groups as there are, of a corpus whose documents take most."""
    generator = np.random.default_rng(0)
    documents = [generator.choice(500, 100, replace=False) for _ in range(8_000)]
    corpus = prepare([write_docword(tmp_path, documents, 500)], tmp_path / "corpus", n_heldout=0)
    config = MixtureConfig(
        updates=12, batch_size=2_000, moves_every=5, splits=5, samples=4, threads=1
    )
    draw, numbers = SliceSampler._draw_given_groups, [0]

    def counted(sampler: SliceSampler, chain: Mixture) -> None:
        draw(sampler, chain)
        numbers.append(len(chain.x))

    def train(corpus: Corpus, run: Path) -> None:
        with ExitStack() as leases:
            begun = mixture_jobs.start(config, corpus.path, run, transport, leases=leases)
            mixture_training(*begun, transport, Silent()).train(Interrupt())

    transport = LocalTransport(1)
    train(corpus, tmp_path / "first")  # which imports and compiles for words of this type
    monkeypatch.setattr(SliceSampler, "_draw_given_groups", counted)
    monkeypatch.setattr(Corpus, "check", lambda *_, **__: None)  # that is over before
    held = held_by(lambda: train(corpus, tmp_path / "run"))
    resolved, sizes = MixtureRun.open(tmp_path / "run").config(), of_mixtures.sizes_of(corpus)
    stated = of_mixtures.needed(resolved, sizes, 1, groups=max(numbers)) - machine.PROGRAM
    assert held / 1.2 < stated < 1.2 * held


@pytest.mark.parametrize("sampler", ["sgld", "gibbs"])
def test_what_is_stated_of_factors_is_what_they_hold(sampler, tmp_path):
    """Within 20 %, of ratings that take most."""
    generator, transport = np.random.default_rng(0), LocalTransport(1)
    config = FactorConfig(factors=3, sampler=sampler, epochs=8, samples=4, threads=1)

    def begun(n: int, name: str) -> tuple[FactorResolved, FactorRun]:
        users, items = np.divmod(generator.choice(1_500_000, n, replace=False), 500)
        ids = [[f"{kind}{i}" for i in range(size)] for kind, size in (("u", 3_000), ("i", 500))]
        values = generator.normal(size=n).astype(np.float32)
        numbers = users.astype(np.int32), items.astype(np.int32)
        data = RatingData.of(Table(*numbers, values, *ids, Columns(), "ratings"), 0.1)
        return factor_jobs.run_on(config, data, tmp_path / name, transport)

    def train(resolved: FactorResolved, run: FactorRun) -> None:
        factor_training(resolved, run.data(), run, transport, Silent()).train(Interrupt())

    train(*begun(5_000, "first"))  # which imports and compiles
    resolved, run = begun(300_000, "run")
    held = held_by(lambda: train(resolved, run))
    sizes = of_factors.sizes_of(run.data())
    stated = of_factors.needed(resolved, sizes, 1) - machine.PROGRAM
    assert held / 1.2 < stated < 1.2 * held


def test_every_process_holds_all_documents_and_ratings():
    sizes = of_mixtures.Sizes(8_200_000, 141_043, 483_000_000, 6, 10_000, 590_000)
    mixture = resolve_mixture(MixtureConfig(workers=4), sizes.n_docs, 1)
    assert of_mixtures.needed(mixture, sizes, 4, 4) > 4 * 6 * sizes.n_entries
    ratings = of_factors.Sizes(480_000, 17_770, 90_000_000, 1_000_000)
    factors = resolve_factors(FactorConfig(workers=4), ratings.training, 1)
    assert of_factors.needed(factors, ratings, 1, 4) > 4 * 25 * ratings.training
    assert largest_of_factors(factors, ratings) == "the ratings"
    gibbs = resolve_factors(FactorConfig(sampler="gibbs"), ratings.training, 1)
    assert largest_of_factors(gibbs, ratings) == "the ratings"


def largest_of_factors(config: FactorResolved, sizes: of_factors.Sizes, **held) -> str:
    return max(of_factors.most_held(config, sizes, 1, **held)).name


def test_fewer_of_what_is_named_takes_less():
    """Of a process of eight, whose ratings take most while they are made ready."""
    ratings = of_factors.Sizes(900_000, 100_000, 99_000_000, 1_000_000)
    split = FactorConfig(workers=8, split="rows", factors=100)
    many, few = (resolve_factors(replace(split, factors=n), ratings.training, 1) for n in (100, 10))
    assert of_factors.needed(many, ratings, 1) == of_factors.needed(few, ratings, 1)
    assert largest_of_factors(many, ratings) == "the ratings"


def test_the_samples_of_an_estimator_count():
    """64 states of 84 MB, which a run holds one at a time."""
    ratings = of_factors.Sizes(900_000, 100_000, 10_000_000, 0)
    config = resolve_factors(FactorConfig(), ratings.training, 1)
    of_run = of_factors.needed(config, ratings, 1)
    held = of_factors.needed(config, ratings, 1, keeps_all=True)
    assert of_run < 2 * GB < 64 * 4 * 1_000_000 * 21 < held < 6 * GB
    assert largest_of_factors(config, ratings, keeps_all=True) == "the samples"


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
        "topicmc.host.machine.available_memory", lambda: machine.PROGRAM + machine.COMPILING
    )
    start = ("train", small_corpus.path, "-o", tmp_path / "run", "--updates", 1)
    seeds = {f"topic {k}": [word] for k, word in enumerate(small_corpus.vocabulary[:20])}
    (tmp_path / "seeds.json").write_text(json.dumps(seeds))
    topics = ("--topics", 900)
    seeded = (*topics, "--seeds", tmp_path / "seeds.json")
    for given in (topics, ("--alpha", ",".join(["0.1"] * 900)), seeded):
        result = command(*start, *given)
        assert result.status == 2
        assert re.search("--topics 900 over 120 words needs about .* MB of memory", result.stderr)
        assert "or prune the vocabulary; to go on with a run, free some" in result.stderr


def test_long_documents_have_more_random_numbers():
    """Four of them take turns on each thread."""
    config = resolved(sampler="scir", remember=False, topics=100, threads=16)
    sizes = SIZES._replace(batch_longest=10**7, heldout_longest=10**6)
    held = {t.phase: t.n_bytes for t in memory.terms(config, sizes, 1) if "random" in t.name}
    assert held == {"updating": 256e7, "reading": 256e6}
