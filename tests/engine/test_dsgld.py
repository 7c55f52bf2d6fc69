"""The real driver on a posterior that is known: shards used unequally often, unequal in documents,
in their lengths and in their words, must not bias what the chains sample.

Two topics have words of their own, documents are of one topic, and chains start with these topics,
so that a token has its own topic but for one draw in a million: E[n_wk] is what was counted, and a
posteriori θ_wk ~ Gamma(β + n_wk, 1), that is φ_k ~ Dirichlet(β + n_k). A SCIR move has mean
e^−h θ + (1 − e^−h) (β + scale · counts), linear in θ and in the counts. So over whole cycles of
the rotation and whole passes over the documents the mean of θ is β + n_wk exactly, whatever the
step and the trajectories, if and only if the scale is D_s / (q_s n).
"""

import numpy as np
import pytest
from scipy.stats import t
from synthetic import write_docword

from topicmc.corpora import prepare
from topicmc.corpora.making import maintenance
from topicmc.engine.schedule import Plan, worker_of
from topicmc.engine.transport.local import LocalTransport
from topicmc.kernels.threads import Threads
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.methods import open_method
from topicmc.models.lda.minibatches.target import CHAINS
from topicmc.models.lda.planning.defaults import resolve
from topicmc.models.lda.settings import TrainConfig
from topicmc.posterior.thinning import is_kept
from topicmc.samplers.state import sum_topics
from topicmc.samplers.steps import step_size
from topicmc.settings.groups import SCHEDULES

WORDS = 6  # of each topic
LAW = np.array([0.4, 0.25, 0.15, 0.1, 0.06, 0.04])  # of a topic's words, in another order per shard
SHARDS = [(20, 30), (60, 10), (40, 20)]  # documents, and tokens of each
TRAJECTORIES = (3, 1, 5)  # not in proportion to the sizes
BETA, STEP, BATCH = 0.1, 0.3, 20
SEGMENTS = 24  # of all chains
CYCLES = 6  # of the rotation in a segment of a chain: whole passes over every shard


@pytest.fixture(scope="module", params=[2, 3])
def unlike(tmp_path_factory, request):
    """A corpus of two or three shard files that are not alike; n_wk, int64 (W, 2)."""
    folder = tmp_path_factory.mktemp("unlike")
    random = np.random.default_rng(2)
    parts = []
    for number, (n_docs, length) in enumerate(SHARDS[: request.param]):
        law = np.roll(LAW, 2 * number)
        documents = [doc % 2 * WORDS + random.choice(WORDS, length, p=law) for doc in range(n_docs)]
        (folder / str(number)).mkdir()
        source = write_docword(folder / str(number), documents, 2 * WORDS)
        parts.append(prepare([source], folder / f"part-{number}", n_heldout=0, stopwords="none"))
    corpus = maintenance.merge([part.path for part in parts], folder / "corpus", union=True)
    counts = np.zeros((2 * WORDS, 2), np.int64)
    for shard in range(corpus.n_shards):
        documents = corpus.shard(shard)
        np.add.at(counts[:, 0], documents.word_ids, documents.counts)
    of_second = [int(word.removeprefix("word")) >= WORDS for word in corpus.vocabulary]
    counts[of_second] = counts[of_second][:, ::-1]
    return corpus, counts


def started(corpus, counts, n_chains, seed, step=STEP):
    """The driver under a fixed unequal plan, its chains at the posterior mean."""
    config = TrainConfig(
        topics=2, sampler="scir", alpha=0.01, beta=BETA, start="plain", batch_size=BATCH, sweeps=2,
        burn_in=1, step_size=step, step_offset=1.0, step_decay=0.0, workers=corpus.n_shards,
        chains=n_chains, groups=n_chains, balance=False, seed=seed, threads=1, updates=1,
    )  # fmt: skip
    config = resolve(config, Extent(corpus.n_docs, corpus.n_tokens, 2 * WORDS))
    method = open_method(config, corpus, LocalTransport(config.workers), Threads(1))
    method.balance.plan = Plan(TRAJECTORIES[: config.workers])
    for chain in method.chains.values():
        chain.theta[:] = BETA + counts
        chain.topic_sums = sum_topics(chain.theta)
    return method


def recorded(method, factors):
    """Sums of the states of each chain after its updates, float64 (2W,) by number; the scale of
    worker s is multiplied by factors[s], as a wrong formula would."""
    move = method.target.updates.move
    documents = method.target.documents
    starts = np.cumsum([0, *(documents[w].n_docs for w in sorted(documents))])
    totals = {chain.index: np.zeros(2 * WORDS) for chain in method.chains.values()}

    def recording(chain, batch, scale, **more):
        worker = np.searchsorted(starts, batch.doc_ids[0], side="right") - 1
        move(chain, batch, scale * factors[worker], **more)
        totals[chain.index] += method.target.updates.settle(chain).theta.max(axis=1)

    method.target.updates.move = recording
    return totals


def largest_error(corpus, counts, n_chains, factors=(1, 1, 1)):
    """Of the mean of θ over the words of each topic, in standard errors."""
    method = started(corpus, counts, n_chains, seed=n_chains)
    totals = recorded(method, factors)
    means = []
    for _ in range(SEGMENTS // n_chains):
        for _ in range(CYCLES * corpus.n_shards):
            method.round()
        for total in totals.values():
            means.append(total / (CYCLES * sum(method.balance.plan.trajectory)))
            total[:] = 0
    exact = BETA + counts.max(axis=1)
    error = np.std(means, axis=0, ddof=1) / np.sqrt(len(means))
    assert (error / np.mean(means, axis=0)).max() < 0.03  # what would not be seen is small
    return np.abs((np.mean(means, axis=0) - exact) / error).max()


def limit(n_chains):
    """Exceeded by chance once in a million runs: 2W means, Student's t. Segments of one chain
    follow each other and correlate by less than 0.1 (as of an Ornstein-Uhlenbeck process over seven
    times its memory), so the error is at most 1.1 times as large as if they did not."""
    n_segments = SEGMENTS // n_chains * n_chains
    return 1.1 * t.isf(1e-6 / 2 / (2 * WORDS), n_segments - 1)


@pytest.mark.parametrize("several", [False, True])
def test_chains_sample_the_posterior_of_the_whole_corpus(unlike, several):
    corpus, counts = unlike
    n_chains = corpus.n_shards if several else 1
    assert largest_error(corpus, counts, n_chains) < limit(n_chains)


@pytest.mark.parametrize("fault", ["D_s S / n", "D_s / n", "D / (q_s n)", "q_s = D_s / D"])
def test_wrong_scales_are_noticed(unlike, fault):
    corpus, counts = unlike
    n_workers = corpus.n_shards
    q = np.array(TRAJECTORIES[:n_workers]) / sum(TRAJECTORIES[:n_workers])
    shares = np.array(corpus.shard_sizes) / corpus.n_docs
    factors = {
        "D_s S / n": q * n_workers,
        "D_s / n": q,
        "D / (q_s n)": 1 / shares,
        "q_s = D_s / D": q / shares,
    }[fault]
    assert largest_error(corpus, counts, n_workers, factors) > 3 * limit(n_workers)


def test_words_of_one_worker_swing_with_the_trajectory(tmp_path):
    """What docs/cluster.md says of a word that only one of S workers has, in the mean over ends of
    trajectories: with u = exp(−Σh) its weight a workers on is, of its mean weight,
    (S − a) (1 − u) u^a + u (1 − u^S) / (S (1 − u)). 18 means, each within 6.5 standard errors: by
    chance less than once in 10⁸. (Cycles correlate by u^S = 0.3 at most, so that an error is 1.4
    times as large as if they did not.)"""
    n_workers, trajectory = 3, 8
    documents = [np.repeat([2 * s + doc % 2], 10) for s in range(n_workers) for doc in range(20)]
    source = write_docword(tmp_path, documents, 2 * n_workers)
    corpus = prepare([source], tmp_path / "c", n_heldout=0, stopwords="none", n_shards=n_workers)
    counts = np.zeros((2 * n_workers, 2), np.int64)
    counts[0::2, 0] = counts[1::2, 1] = 100
    method = started(corpus, counts, n_chains=1, seed=1, step=0.05)
    method.balance.plan = Plan((trajectory,) * n_workers)
    ends = {worker: [] for worker in range(n_workers)}
    for number in range(100 * n_workers):
        method.round()
        (chain,), (worker,) = method.chains.values(), method.target.parts[CHAINS].places(number)
        if number >= 5 * n_workers:
            ends[worker].append(chain.theta.max(axis=1))
    u = np.exp(-0.05 * trajectory)
    for worker in range(n_workers):
        away = (worker - np.arange(2 * n_workers) // 2) % n_workers
        former = u * (1 - u**n_workers) / (n_workers * (1 - u))
        expected = 100 * ((n_workers - away) * (1 - u) * u**away + former)
        error = 1.4 * np.std(ends[worker], axis=0, ddof=1) / np.sqrt(len(ends[worker]))
        assert error.max() < 6
        assert np.abs((np.mean(ends[worker], axis=0) - expected) / error).max() < 6.5


def test_how_long_default_trajectories_are():
    """Σh of ten updates, SCIR's default, as docs/cluster.md says it."""
    config = resolve(TrainConfig(sampler="scir", workers=4), Extent(10_000, 10**6, 5_000))
    assert config.trajectory == 10

    def time_of(first):
        parameters = (config.step_size, config.step_offset, config.step_decay)
        return sum(step_size(update, *parameters) for update in range(first, first + 10))

    assert [round(time_of(t), 1) for t in (0, 300, 1_300, 13_300)] == [4.5, 0.9, 0.4, 0.1]


@pytest.mark.parametrize("n_workers", [4, 8])
def test_where_kept_states_end(n_workers):
    """On all workers, though their stride is a multiple of the number of workers."""
    n_rounds, samples = 4000, 32
    kept = [r for r in range(1, n_rounds + 1) if is_kept(r, n_rounds, samples)]
    assert len(kept) > 16
    ends = {
        schedule: {worker_of(schedule, r - 1, 1, n_workers, 5)[0] for r in kept}
        for schedule in SCHEDULES
    }
    assert len(ends["rotate"]) == len(ends["permute"]) == n_workers


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_no_state_of_a_chain_that_lags_in_its_start_is_a_sample(small_corpus, schedule):
    """Balanced chains make other updates than the mean; each has to be past its own start."""
    config = TrainConfig(
        topics=3, sampler="scir", start="stream", workers=3, batch_size=20, trajectory=10,
        anneal_updates=45, schedule=schedule, groups=3, seed=4, threads=1, updates=200,
        balance=False,
    )  # fmt: skip
    config = resolve(config, Extent.of(small_corpus))
    method = open_method(config, small_corpus, LocalTransport(3), Threads(1))
    method.balance.plan, lagging = Plan((2, 2, 26)), 0
    for _ in range(20):
        method.round()
        updates = [method.chains[chain].update for chain in range(3)]
        assert updates == method.made
        assert method.in_burn_in == (min(*updates, method.update) <= 45)
        lagging += min(updates) <= 45 < method.update
    assert lagging > 0


def test_learned_priors_that_are_told_are_of_the_first_chain(small_corpus, monkeypatch):
    """Whichever worker, of whichever process, it is on."""
    config = TrainConfig(
        topics=3, sampler="scir", start="stream", workers=2, groups=2, batch_size=20, trajectory=2,
        anneal_updates=40, seed=4, threads=1, updates=60, balance=False, learn="both",
    )  # fmt: skip
    config = resolve(config, Extent.of(small_corpus))
    method = open_method(config, small_corpus, LocalTransport(2), Threads(1))
    for _ in range(3):
        method.round()
        for chain in method.held[CHAINS].values():
            chain.beta = 0.1 + chain.index
        assert method.metrics()["beta"] == 0.1
    told = [[{"beta": 3.0}], [1, {"beta": 2.0}], [0, {"beta": 1.0}]]
    monkeypatch.setattr(method.transport, "exchange", lambda mine: told)
    assert method.metrics()["beta"] == 1.0
