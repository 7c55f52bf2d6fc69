"""AD-LDA and Async-LDA: exact posterior, exact counts, the same bits, and a start that helps."""

from dataclasses import replace
from functools import partial

import naive_gibbs
import numpy as np
import pytest
from priors import prior
from scipy.special import gammaln
from scipy.stats import chi2
from synthetic import write_docword
from trained import StopAfter, kept_bits, train

from topicmc.corpora import prepare
from topicmc.engine.transport.local import LocalTable, LocalTransport
from topicmc.errors import UsageError
from topicmc.kernels import assignments as assignments_kernels
from topicmc.kernels import by_word_start, gibbs, word_order
from topicmc.kernels.threads import Threads
from topicmc.models.lda.collapsed import adlda, word_orders
from topicmc.models.lda.collapsed import worker as collapsed
from topicmc.models.lda.collapsed.growing import Schedule
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.methods import open_method
from topicmc.models.lda.planning.defaults import resolve
from topicmc.models.lda.planning.plan import rounds_per_sweep
from topicmc.models.lda.planning.starts import LEAST_START, Members
from topicmc.models.lda.priors.learned import learned_beta
from topicmc.models.lda.settings import TrainConfig
from topicmc.samplers.row_prior import RowPrior
from topicmc.storage import scratch

CONFIG = TrainConfig(topics=5, sampler="adlda", alpha=0.1, beta=0.05, seed=3, threads=1)


def method(config, corpus, additions=None):
    config = resolve(config, Extent(corpus.n_docs, max(20, corpus.n_tokens), 9))
    transport = LocalTransport(config.workers)
    return open_method(config, corpus, transport, Threads(config.threads), additions=additions)


def assignments(run):
    return {k: v for k, v in run.checkpoint().manifest["files"].items() if k.startswith("z-")}


def recount(samplers, shape):
    counts = np.zeros(shape, np.int64)
    for sampler in samplers:
        known = sampler.z != sampler.unassigned
        assert np.array_equal(known, np.repeat(sampler.joined, np.diff(sampler.offsets)))
        np.add.at(counts, (sampler.tokens[known], sampler.z[known]), 1)
    return counts


@pytest.fixture(scope="module")
def tiny_corpus(tmp_path_factory):
    """Three documents of two tokens, over three words: 64 states with two topics."""
    folder = tmp_path_factory.mktemp("tiny")
    documents = [np.array(words) for words in ([0, 1], [1, 2], [0, 2])]
    source = write_docword(folder, documents, 3)
    return prepare([source], folder / "corpus", n_heldout=0, stopwords="none")


@pytest.mark.parametrize("z", [[1, 255, 0, 1, 0, 1], [255, 1, 0, 1, 0, 1], [2, 1, 0, 1, 0, 1]])
def test_assignments_that_no_run_has_are_refused(tiny_corpus, z):
    """Of a document some tokens have topics, or there is no such topic; nothing is counted."""
    found = method(replace(CONFIG, topics=2), tiny_corpus)
    with pytest.raises(ValueError, match="some tokens have topics|beyond the 2 topics"):
        found.workers[0].sampler.adopt(np.array(z, np.uint8))
    assert not found.workers[0].sampler.word_topic.any()


def test_a_worker_without_documents_is_ready(tiny_corpus):
    """As one of a process that has none of a subset."""
    found = method(replace(CONFIG, topics=2), tiny_corpus)
    tokens = found.workers[0].sampler.tokens[:0]
    orders = word_orders.WordOrders(tokens, 3, np.zeros(0, np.uint16))
    found.workers[0].sampler = collapsed.CollapsedWorker(
        np.zeros(1, np.int64), tokens, 0, 3, 2, np.uint64(1), orders=orders
    )
    found.warm_up()


def test_beta_is_learned_from_the_counts(tiny_corpus):
    """From β = 5, where W β is as much as the tokens of a topic."""
    config = replace(
        CONFIG, topics=2, start="plain", updates=3, beta=5.0, learn="beta", learn_until="end"
    )
    found = method(config, tiny_corpus)
    before = found.prior
    while found.prior is before:
        found.round()
    counts = recount(found.samplers.values(), (3, 2))
    theta, totals = (counts + 5.0).astype(np.float32), counts.sum(axis=0).astype(np.float64)
    learned = learned_beta(before, theta, totals + 15.0, totals, steps=adlda._STEPS)
    assert before.base == 5.0 != learned
    assert found.prior.base == learned


def test_beta_of_no_tokens_stays():
    """As after a first sweep that no document is in."""
    theta, nothing = np.full((3, 2), 0.3, np.float32), np.zeros(2)
    assert learned_beta(RowPrior(0.3), theta, nothing + 0.9, nothing) == 0.3


@pytest.mark.parametrize(
    ("n_docs", "n_joined"), [(19, 19), (21, 21), (45, 45), (45, 25), (45, 12), (45, 0)]
)
def test_a_part_of_the_documents_stands_for_those_that_have_joined(monkeypatch, n_docs, n_joined):
    """Every n-th counts n times, so that workers of any size have their weight in α; and ten at
    least are looked at here."""
    monkeypatch.setattr(collapsed, "_LEARN_FROM", 10)
    tokens = np.zeros(4 * n_docs, np.uint16)
    worker = collapsed.CollapsedWorker(4 * np.arange(n_docs + 1), tokens, 0, 1, 2, np.uint64(1))
    options = {"sweep": 0, "one_by_one": False, "threads": Threads()}
    worker.draw(np.arange(n_joined), np.full(2, 0.1), RowPrior(0.1), **options)
    n = max(1, n_joined // 10)
    counted = worker.mix_histogram()[-1].sum()
    assert n_joined <= counted < n_joined + n
    assert counted // n >= min(10, n_joined)


@pytest.mark.parametrize("beta", [0.1, np.array([[0.1, 2.5], [0.1, 0.1], [0.9, 0.1]])])
@pytest.mark.parametrize("workers", [1, 3])
def test_the_log_joint_is_that_of_all_assignments(tiny_corpus, workers, beta):
    config = replace(
        CONFIG, topics=2, workers=workers, start="plain", updates=9, alpha=[0.3, 1.1], beta=0.1,
        learn="none",
    )  # fmt: skip
    found = method(config, tiny_corpus, prior(beta, 3).additions)
    while found.sweep < 1:
        found.round()
    b, alpha = np.broadcast_to(beta, (3, 2)), np.array(config.alpha)
    nothing = gammaln(b.sum(axis=0)).sum() - gammaln(b).sum()
    nothing += 3 * (gammaln(alpha.sum()) - gammaln(2 + alpha.sum()) - gammaln(alpha).sum())
    joints = []
    for _ in range(6):
        tokens, z = (
            np.concatenate([getattr(s, name) for s in found.samplers.values()])
            for name in ("tokens", "z")
        )
        expected = naive_gibbs.log_joint([0, 2, 4, 6], tokens, z, 3, alpha, beta) + nothing
        assert found.log_joints() == {0: pytest.approx(expected, rel=1e-12)}
        joints.append(expected)
        found.round()
    assert len(set(joints)) > 1


@pytest.mark.parametrize("n_joined", [9, 25, 45])
def test_a_part_of_the_documents_stands_for_all_in_the_log_joint(monkeypatch, n_joined):
    monkeypatch.setattr(collapsed, "_TRACED", 10)
    alpha = np.array([0.3, 1.1])
    tokens = np.zeros(4 * 45, np.uint16)
    worker = collapsed.CollapsedWorker(4 * np.arange(46), tokens, 0, 1, 2, np.uint64(1))
    options = {"sweep": 0, "one_by_one": False, "threads": Threads()}
    worker.draw(np.arange(n_joined), alpha, RowPrior(0.1), **options)
    worker.z[: 4 * n_joined] = np.tile([0, 1, 0, 0], n_joined)
    of_one = gammaln(alpha.sum()) - gammaln(4 + alpha.sum()) - gammaln(alpha).sum()
    of_one += gammaln(np.array([3, 1]) + alpha).sum()
    assert worker.log_mixes(alpha) == pytest.approx(n_joined * of_one)


@pytest.mark.parametrize("beta", [0.1, np.array([[0.1, 2.5], [0.1, 0.1], [0.9, 0.1]])])
@pytest.mark.parametrize("chains", [1, 2])
def test_a_glimpse_is_of_some_words_of_the_chain(tiny_corpus, chains, beta, monkeypatch):
    """Words that have a prior of their own among them; rows by two threads where there is one
    chain. Both are counts and priors."""
    monkeypatch.setattr(adlda, "_ROWS", 1)
    config = replace(CONFIG, topics=2, chains=chains, start="plain", updates=3, beta=0.1, threads=2)
    found = method(config, tiny_corpus, prior(beta, 3).additions)
    found.round()
    words = np.array([0, 2])
    glimpses = found.glimpses(words)
    assert list(glimpses) == list(found.chains) == list(range(chains))
    for number, member in enumerate([found] if chains == 1 else found._members):
        theta = recount(member.samplers.values(), (3, 2)) + beta
        for chain, rows in ((found.chains[number], np.s_[:]), (glimpses[number], words)):
            np.testing.assert_allclose(chain.theta, theta[rows], rtol=1e-6)
            np.testing.assert_allclose(chain.topic_sums, theta.sum(axis=0))


@pytest.mark.parametrize(
    ("sampler", "beta"),
    [("adlda", 0.1), ("asynclda", 0.1), ("adlda", np.array([[0.1, 2.5], [0.9, 0.1], [0.1, 0.1]]))],
)
def test_one_worker_samples_the_exact_posterior(tiny_corpus, sampler, beta):
    """χ² over the 64 states: 6,000 chains that start in the exact posterior and must keep it
    through three sweeps; fails by chance once in 10⁶. The planted bug is a block of all documents
    where plain collapsed Gibbs needs blocks of one: counts that are a document behind."""
    alpha = 0.4
    config = replace(CONFIG, sampler=sampler, topics=2, alpha=alpha, beta=0.1, start="plain")
    config = replace(config, trajectory=3, updates=1)
    tokens = np.array([0, 1, 1, 2, 0, 2])
    states, law = naive_gibbs.enumerate_collapsed(
        np.array([0, 2, 4, 6]), tokens, 3, np.full(2, alpha), beta
    )
    starts = np.random.default_rng(1).choice(len(law), 6_000, p=law)
    expected = len(starts) * law
    rare = expected < 5

    def distance(batch_size):
        chain = method(
            replace(config, batch_size=batch_size, trajectory=3 // batch_size),
            tiny_corpus,
            additions=prior(beta, 3).additions,
        )
        (worker,) = chain.samplers.values()
        np.testing.assert_array_equal(worker.tokens, tokens)
        chain.round()
        observed = np.zeros(len(states))
        for start in starts:
            worker.adopt(states[start])
            for _ in range(3):
                chain.round()
            observed[worker.z @ 2 ** np.arange(5, -1, -1)] += 1
        value = np.sum((observed - expected)[~rare] ** 2 / expected[~rare])
        return value + (observed - expected)[rare].sum() ** 2 / max(expected[rare].sum(), 1)

    limit = chi2.isf(1e-6, np.count_nonzero(~rare))
    assert distance(1) < limit
    if sampler == "adlda":
        assert distance(3) > limit


@pytest.mark.parametrize("sampler", ["adlda", "asynclda"])
@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize(("start", "batch_size"), [("grow", 7), ("plain", 1), ("plain", 40)])
def test_counts_are_those_of_the_assignments(small_corpus, sampler, workers, start, batch_size):
    """After every round, on every worker that synchronises with all: no change lost or doubled."""
    config = replace(
        CONFIG, sampler=sampler, workers=workers, start=start, batch_size=batch_size, trajectory=3
    )
    chain = method(replace(config, topics=6, epochs=8), small_corpus)
    for _ in range(12):
        chain.round()
        samplers = chain.samplers.values()
        counts = chain.reconciliation.counts()
        np.testing.assert_array_equal(counts, recount(samplers, counts.shape))
        for sampler in samplers:
            np.testing.assert_array_equal(sampler.topic_totals, sampler.word_topic.sum(axis=0))
            if chain.config.sampler == "adlda":
                np.testing.assert_array_equal(sampler.word_topic, counts)
        (held,) = chain.chains.values()
        np.testing.assert_allclose(held.theta, counts[:, :6] + 0.05, rtol=1e-6)
        prior = 0.05 * len(counts)
        np.testing.assert_allclose(held.topic_sums, counts[:, :6].sum(axis=0) + prior)


def test_the_shared_table_is_read_once_for_each_question(small_corpus, monkeypatch):
    chain = method(replace(CONFIG, sampler="asynclda", workers=2, epochs=2), small_corpus)
    reads, read = [], LocalTable.read
    monkeypatch.setattr(LocalTable, "read", lambda table: reads.append(0) or read(table))
    for ask in (chain.log_joints, chain.chain, lambda: chain.glimpses(np.arange(2))):
        reads.clear()
        ask()
        assert len(reads) == 1


@pytest.mark.parametrize("topics", [239, 250, 255, 256, 300])
def test_many_topics(small_corpus, topics, monkeypatch):
    """The mark of tokens without a topic is never a topic, nor a column beside them; whichever
    kernel draws."""
    monkeypatch.setitem(assignments_kernels._MANY_TOPICS, "counts", 256)
    config = replace(CONFIG, topics=topics, start="plain", epochs=2)
    chain = method(config, small_corpus)
    assert all(s.z.itemsize == (1 if topics <= 255 else 2) for s in chain.samplers.values())
    for _ in range(3):
        chain.round()
        counts = chain.reconciliation.counts()
        np.testing.assert_array_equal(counts, recount(chain.samplers.values(), counts.shape))
    assert np.all(counts[:, topics:] == 0)


@pytest.fixture
def many(monkeypatch):
    """As with many topics, documents that join are drawn word by word, and however few they are."""
    for module in (collapsed, word_orders):
        monkeypatch.setattr(module, "FEW_TOPICS", 0)
    monkeypatch.setattr(word_orders, "TOKENS_A_WORD", 0)
    monkeypatch.setattr(word_orders, "cut", partial(word_order.cut, piece=200))
    joined, start = [], by_word_start.start
    monkeypatch.setattr(by_word_start, "start", lambda *a, **b: joined.append(a) or start(*a, **b))
    yield
    assert len(joined) > 9


@pytest.mark.parametrize("workers", [1, 2])
def test_the_same_bits_for_any_number_of_threads(small_corpus, tmp_path, workers, monkeypatch):
    monkeypatch.setattr(collapsed, "_PIECE", 200)
    monkeypatch.setattr(gibbs, "_PIECE", 200)
    config = replace(CONFIG, workers=workers, batch_size=100, epochs=6)
    one, _ = train(config, small_corpus, tmp_path / "one")
    three, _ = train(replace(config, threads=3), small_corpus, tmp_path / "three")
    assert assignments(one) == assignments(three)
    assert kept_bits(one) == kept_bits(three)


@pytest.mark.parametrize("sampler", ["adlda", "asynclda"])
@pytest.mark.parametrize("workers", [1, 3])
def test_an_interrupted_run_equals_one_that_was_not(small_corpus, tmp_path, sampler, workers):
    """Interrupted while it grows, and once more later."""
    config = replace(CONFIG, sampler=sampler, workers=workers, topics=2, epochs=8)
    whole, _ = train(config, small_corpus, tmp_path / "whole")
    run, outcome = train(config, small_corpus, tmp_path / "run", StopAfter(3))
    assert outcome.interrupted
    assert all(entry["burn_in"] for entry in run.sample_index())
    train(config, small_corpus, tmp_path / "run", StopAfter(9), resume=True)
    run, outcome = train(config, small_corpus, tmp_path / "run", resume=True)
    assert not outcome.interrupted
    assert assignments(run) == assignments(whole)
    assert kept_bits(run) == kept_bits(whole)


def test_a_growing_start_drawn_word_by_word(small_corpus, tmp_path, many, monkeypatch):
    """The same bits with one thread and with three, interrupted while it grows or not, on
    two workers."""
    monkeypatch.setattr(collapsed, "_PIECE", 200)
    config = replace(CONFIG, workers=2, batch_size=100, epochs=8)
    whole, _ = train(config, small_corpus, tmp_path / "whole")
    run, outcome = train(replace(config, threads=3), small_corpus, tmp_path / "run", StopAfter(3))
    assert outcome.interrupted
    assert all(entry["burn_in"] for entry in run.sample_index())
    run, _ = train(config, small_corpus, tmp_path / "run", resume=True)
    assert assignments(run) == assignments(whole)
    assert kept_bits(run) == kept_bits(whole)


@pytest.mark.parametrize("workers", [1, 3])
def test_assignments_in_files(small_corpus, tmp_path, workers, monkeypatch):
    """The same bits as in memory, interrupted or not, and nothing is left beside the run's own."""
    config = replace(CONFIG, workers=workers, topics=2, epochs=8)
    whole, _ = train(config, small_corpus, tmp_path / "whole")
    seen = []
    in_memory = scratch.scratch_array

    def watched(n, dtype, folder):
        seen.append((folder, in_memory(n, dtype, folder)))
        return seen[-1][1]

    monkeypatch.setattr(scratch, "IN_MEMORY", 0)
    for module in ("collapsed.adlda", "workers"):
        monkeypatch.setattr(f"topicmc.models.lda.{module}.scratch_array", watched)
    run, _ = train(config, small_corpus, tmp_path / "run", StopAfter(3))
    run, _ = train(config, small_corpus, tmp_path / "run", resume=True)
    assert len(seen) == 6 * workers
    for folder, array in seen:
        assert folder == tmp_path / "run" and isinstance(array.base, np.memmap)
    assert assignments(run) == assignments(whole)
    assert kept_bits(run) == kept_bits(whole)
    assert {p.name for p in run.path.iterdir()} == {p.name for p in whole.path.iterdir()}


def test_a_block_is_drawn_under_the_counts_before_it():
    """Each token without its own: the topics of the naive twin, draw for draw, of 1,000 tokens."""
    generator = np.random.default_rng(3)
    offsets = np.r_[0, np.cumsum(generator.integers(10, 60, 30))]
    lengths = np.diff(offsets)
    tokens = np.concatenate([np.sort(generator.integers(0, 40, n)) for n in lengths])
    tokens = tokens.astype(np.uint16)
    alpha, beta, key = np.full(5, 0.3), 0.2, np.uint64(9)
    worker = collapsed.CollapsedWorker(offsets, tokens, 0, 40, 5, key)
    options = {"one_by_one": False, "threads": Threads()}
    worker.draw(np.arange(30), alpha, RowPrior(beta), sweep=0, **options)
    padded = np.r_[alpha, np.zeros(11)]
    expected = naive_gibbs.collapsed(
        offsets, tokens, worker.z, 40, padded, beta, key, sweep=1, last=1, frozen=True
    )
    worker.draw(np.arange(30), alpha, RowPrior(beta), sweep=1, **options)
    np.testing.assert_array_equal(worker.z, expected)


def test_assignments_saved_in_a_wider_type(small_corpus):
    """Topics stay, and tokens without one stay without."""
    config = replace(CONFIG, topics=6, epochs=100)
    one, other = method(config, small_corpus), method(config, small_corpus)
    one.round()
    (before,), (after,) = one.samplers.values(), other.samplers.values()
    before.draw(np.arange(9), one.alpha, one.prior, sweep=0, one_by_one=False, threads=Threads())
    before.z[before.offsets[50] :] = before.unassigned
    wide = np.where(before.z == 255, np.uint16(65_535), before.z)
    assert wide.dtype == np.uint16 and 65_535 in wide
    after.adopt(wide[:70], wide[70:])
    np.testing.assert_array_equal(after.z, before.z)
    np.testing.assert_array_equal(after.word_topic, recount([after], after.word_topic.shape))


def test_topics_on_another_number_of_workers(small_corpus, tmp_path):
    """Every token keeps its topic, and the counts are whole."""
    before, _ = train(replace(CONFIG, workers=3), small_corpus, tmp_path / "run", StopAfter(9))
    checkpoint = before.checkpoint()
    z = np.concatenate([checkpoint.array(f"z-{worker:03d}") for worker in range(3)])
    after = method(replace(CONFIG, workers=2), small_corpus)
    assert "3 workers and goes on with 2" in after.restore(checkpoint)
    samplers = after.samplers.values()
    np.testing.assert_array_equal(np.concatenate([s.z for s in samplers]), z)
    counts = after.reconciliation.counts()
    np.testing.assert_array_equal(counts, recount(samplers, counts.shape))
    after.round()
    assert all(np.all(s.z < 5) for s in samplers)


def test_the_start_is_annealed_and_grows(small_corpus):
    """From a subset under blunt priors to all documents under the final ones; the first state that
    was drawn under these alone is the first sample."""
    config = replace(CONFIG, topics=2, epochs=100, batch_size=30, trajectory=2)
    schedule = method(config, small_corpus).schedule
    assert isinstance(schedule, Schedule)
    assert schedule.per_sweep == 10
    assert schedule.beta_factor(0) == pytest.approx(20)
    assert schedule.beta_factor(700) == 1 < schedule.beta_factor(690)
    shares = [schedule.share(update) for update in range(0, 710, 10)]
    assert shares == sorted(shares) and shares[-1] == 1
    assert [schedule.starts(sweep) for sweep in (0, 69, 70)] == [True, True, False]
    assert [schedule.is_start(position) for position in (0, 70, 71)] == [True, True, False]
    plain = method(replace(config, start="plain"), small_corpus).schedule
    assert plain.share(0) == 1 and plain.beta_factor(0) == 1
    assert [plain.is_start(position) for position in (0, 50, 51)] == [True, True, False]


@pytest.mark.parametrize("sweeps", range(1, 13))
def test_all_documents_are_in_before_the_start_is_over(small_corpus, monkeypatch, sweeps):
    """However short it is: none joins in a sweep that counts, and priors are learned last from all.
    A subset, too, is drawn whole before all documents are."""
    monkeypatch.setattr("topicmc.models.lda.planning.starts.FIRST_TOKENS", 200)
    monkeypatch.setattr("topicmc.models.lda.planning.starts.FIRST_WORD_TOKENS", 1)
    config = replace(CONFIG, start="grow", start_sweeps=sweeps, epochs=30.0, learn="both")
    schedule = method(config, small_corpus).schedule
    assert schedule.share(0) < 0.2 or sweeps == 1
    assert schedule.share(schedule.after(sweeps - 1)) == 1
    assert not any(len(schedule.edges(sweep)) for sweep in range(sweeps, 20))
    assert schedule.learns(sweeps - 1, sweeps) and not schedule.starts(sweeps)
    members = Members.on_subset(sweeps + LEAST_START, 0.4, Extent(3_000, 90_000, 120), 5)
    assert (members.end, members.share(sweeps - 1)) == (sweeps, 0.4)


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("start", ["grow", "consensus", "subset"])
def test_blocks_stay_as_they_are_while_documents_join(small_corpus, monkeypatch, start, workers):
    """Where a sweep has more of them than the one before, and those that join are the others;
    after the growth each has as many documents."""
    monkeypatch.setattr("topicmc.models.lda.planning.starts.FIRST_TOKENS", 200)
    monkeypatch.setattr("topicmc.models.lda.planning.starts.FIRST_WORD_TOKENS", 1)
    config = replace(CONFIG, start=start, start_sweeps=120, batch_size=5, trajectory=1)
    chain = method(replace(config, workers=workers, epochs=200.0), small_corpus)
    schedule, stayed = chain.schedule, 0
    last = 120 if start == "grow" else schedule.members.end
    for worker in chain.workers.values():
        before: list[np.ndarray] = []
        for sweep in range(last):
            updates = range(schedule.after(sweep), schedule.after(sweep + 1))
            blocks = [worker.documents(update, 1) for update in updates]
            docs = np.concatenate(blocks)
            assert len(np.unique(docs)) == len(docs)
            assert all(np.all(np.diff(block) > 0) for block in blocks)
            if sweep > schedule.members.begins(sweep):
                assert len(np.setdiff1d(np.concatenate(before), docs)) == 0
                joins = len(docs) > len(np.concatenate(before))
                if joins and len(blocks) > len(before):
                    stayed += 1
                    for old, new in zip(before, blocks, strict=False):
                        np.testing.assert_array_equal(old, new)
            before = blocks
        sizes = [len(block) for block in before]
        assert max(sizes) - min(sizes) <= 1
    assert stayed >= workers


@pytest.mark.parametrize("start", ["plain", "anneal", "grow", "consensus"])
def test_every_start_finds_the_topics(small_corpus, tmp_path, monkeypatch, start):
    """Guessing has a perplexity near 120, the true topics one near 23; what grows begins with a
    tenth here."""
    monkeypatch.setattr("topicmc.models.lda.planning.starts.FIRST_TOKENS", 250)
    monkeypatch.setattr("topicmc.models.lda.planning.starts.FIRST_WORD_TOKENS", 1)
    config = replace(CONFIG, start=start, epochs=50, evaluate_every="10m")
    _, outcome = train(config, small_corpus, tmp_path / "run")
    assert outcome.score < 32 and outcome.score_averaged < 32


def test_options_that_make_no_sense():
    size = Extent(1000, 50_000, 100)
    with pytest.raises(UsageError, match="one chain"):
        resolve(TrainConfig(sampler="asynclda", workers=2, chains=2), size)
    with pytest.raises(UsageError, match="--start grow needs --sampler adlda"):
        resolve(TrainConfig(sampler="scir", remember=False, start="grow"), size)


@pytest.mark.parametrize("n_docs", [3, 300, 93_095, 8_200_000])
@pytest.mark.parametrize("workers", [1, 3])
def test_epochs_are_sweeps(n_docs, workers):
    """And no worker draws more than 30,000 documents, or a block, between synchronisations."""
    config = TrainConfig(topics=2, sampler="adlda", workers=workers, epochs=10)
    config = resolve(config, Extent(n_docs, 90 * n_docs, 1000))
    blocks = config.trajectory * rounds_per_sweep(config, n_docs)
    assert n_docs / workers <= blocks * config.batch_size < 1.7 * n_docs / workers + 1
    assert config.trajectory * config.batch_size <= max(30_000, config.batch_size)
    mine = -(-n_docs // workers)
    assert min(4, mine) <= -(-mine // config.batch_size) <= 65
    assert resolve(config, Extent(n_docs, 90 * n_docs, 1000)) == config
