"""SCIR and SGRLD with remembered assignments: the exact posterior, exact counts, the same bits."""

from dataclasses import replace

import naive_gibbs
import numpy as np
import pytest
from priors import prior
from scipy.stats import chi2
from synthetic import write_docword
from trained import StopAfter, kept_bits, train

from topicmc.corpora import prepare
from topicmc.engine.transport.local import LocalTransport
from topicmc.errors import DivergedError
from topicmc.kernels.threads import Threads
from topicmc.models.lda.collapsed.kept_assignments import KeptAssignments
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.planning.defaults import resolve
from topicmc.models.lda.settings import TrainConfig
from topicmc.models.lda.task import Task
from topicmc.samplers.state import sum_topics

CONFIG = TrainConfig(
    topics=5, sampler="scir", remember=True, alpha=0.1, beta=0.05, seed=3, threads=1, epochs=20
)


def method(config, corpus, additions=None):
    config = resolve(config, Extent(corpus.n_docs, max(20, corpus.n_tokens), corpus.n_words))
    transport, threads = LocalTransport(config.workers), Threads(config.threads)
    return KeptAssignments(Task(config, corpus, transport, threads, additions=additions))


@pytest.mark.parametrize(("sampler", "tokens"), [("scir", 3.0), ("sgrld", 0.3)])
def test_topics_move_when_enough_has_been_drawn(small_corpus, sampler, tokens):
    """So many tokens for each of the 600 weights; a round draws a thirtieth of the corpus."""
    config = replace(CONFIG, sampler=sampler, start="plain", batch_size=10, trajectory=1)
    found = method(config, small_corpus)
    apart = max(1, round(tokens * 600 * 30 / small_corpus.n_tokens))
    for _ in range(60):
        found.round()
    assert found._chain.update == 60 // apart


UNEVEN = np.array([[0.3, 2.5], [0.9, 0.3], [0.3, 0.3]])


@pytest.mark.parametrize(
    ("workers", "beta", "fault"),
    [(1, 0.3, False), (2, 0.3, False), (1, 0.3, True), (1, UNEVEN, False)],
)
def test_scir_keeps_the_exact_posterior(tmp_path, workers, beta, fault):
    """χ² over the 64 states of three documents of two tokens: 6,000 chains (θ, z) that start in the
    exact posterior keep it through three rounds; fails by chance once in 10⁶. With counts that
    weigh five times as much, as if the corpus were larger, they do not."""
    alpha, n_words = 0.4, 3
    documents = [np.array(words) for words in ([0, 1], [1, 2], [0, 2])]
    source = write_docword(tmp_path, documents, n_words)
    corpus = prepare([source], tmp_path / "c", n_heldout=0, stopwords="none", n_shards=workers)
    config = replace(CONFIG, topics=2, alpha=alpha, beta=0.3, start="plain", workers=workers)
    config = replace(config, step_size=0.7, trajectory=1, batch_size=3)
    chain = method(config, corpus, prior(beta, n_words).additions)
    samplers = list(chain.samplers.values())
    tokens = np.concatenate([sampler.tokens for sampler in samplers])
    sizes = np.cumsum([len(sampler.tokens) for sampler in samplers])[:-1]
    offsets = np.array([0, 2, 4, 6])
    states, law = naive_gibbs.enumerate_collapsed(offsets, tokens, 3, np.full(2, alpha), beta)
    generator = np.random.default_rng(1)
    if fault:
        counts_of = chain.reconciliation.counts
        chain.reconciliation.counts = lambda: 5 * counts_of()
    chain.round()
    observed = np.zeros(len(states))
    starts = generator.choice(len(law), 6_000, p=law)
    for start in starts:
        counts = np.zeros((3, 16))
        np.add.at(counts, (tokens, states[start]), 1)
        counts += 0.3
        counts[:, :2] += beta - 0.3
        chain._chain.theta = np.maximum(generator.gamma(counts), 1e-30).astype(np.float32)
        chain._chain.topic_sums = sum_topics(chain._chain.theta)
        for sampler, z in zip(samplers, np.split(states[start], sizes), strict=True):
            sampler.adopt(z)
        chain.reconciliation._total = np.zeros_like(chain.reconciliation.counts())
        chain._share_all()
        for _ in range(3):
            chain.round()
        z = np.concatenate([sampler.z for sampler in samplers])
        observed[z @ 2 ** np.arange(5, -1, -1)] += 1
    expected = len(starts) * law
    common = expected >= 5
    value = np.sum((observed - expected)[common] ** 2 / expected[common])
    value += (observed - expected)[~common].sum() ** 2 / max(expected[~common].sum(), 1)
    assert (value > chi2.isf(1e-6, np.count_nonzero(common))) == fault


@pytest.mark.parametrize("sampler", ["scir", "sgrld"])
@pytest.mark.parametrize("workers", [1, 3])
def test_topics_are_found_and_an_interrupted_run_equals_a_whole_one(
    small_corpus, tmp_path, sampler, workers
):
    """Guessing has a perplexity near 120, the true topics one near 23."""
    config = replace(CONFIG, sampler=sampler, workers=workers, epochs=60)
    whole, outcome = train(config, small_corpus, tmp_path / "whole")
    assert outcome.score_averaged < 40
    run, outcome = train(replace(config, threads=3), small_corpus, tmp_path / "run", StopAfter(7))
    assert outcome.interrupted and all(entry["burn_in"] for entry in run.sample_index())
    run, _ = train(config, small_corpus, tmp_path / "run", resume=True)
    assert kept_bits(run) == kept_bits(whole)
    assert run.checkpoint().manifest["files"] | {"rank-000.json": 0} == (
        whole.checkpoint().manifest["files"] | {"rank-000.json": 0}
    )


def test_the_state_is_the_mean_of_theta_given_the_assignments(small_corpus):
    chain = method(replace(CONFIG, sampler="sgrld"), small_corpus)
    for _ in range(5):
        chain.round()
    (state,) = chain.chains.values()
    tokens = np.concatenate([s.tokens for s in chain.samplers.values()])
    z = np.concatenate([s.z for s in chain.samplers.values()])
    counts = np.zeros((small_corpus.n_words, 5))
    known = z != next(iter(chain.samplers.values())).unassigned
    np.add.at(counts, (tokens[known], z[known]), 1)
    np.testing.assert_allclose(state.theta, counts + 0.05, rtol=1e-6)


@pytest.mark.parametrize("sampler", ["scir", "sgrld"])
def test_theta_follows_the_assignments_from_the_end_of_the_start_on(small_corpus, sampler):
    """φ from θ and from the counts agree in words of more than 100 tokens within six standard
    errors right after the start; until its end tokens are drawn given the counts."""
    chain = method(replace(CONFIG, sampler=sampler, anneal_updates=20), small_corpus)
    before = chain._chain.theta.copy()
    while chain._starts_by_counts:
        assert chain._topics(sweep=9) is None
        chain.round()
    np.testing.assert_array_equal(chain._chain.theta, before)
    chain.round()
    counts, theta = chain.chains[0].theta, chain._chain.theta[:, :5]
    often = counts > 100
    assert often.sum() >= 10
    relative = theta / theta.sum(axis=0) / (counts / counts.sum(axis=0))
    assert np.abs((relative - 1) * np.sqrt(counts))[often].max() < 6


def test_sums_of_sgrld_do_not_slow_its_topics_down(small_corpus):
    """Reflection at zero makes the sums grow; ε grows with them."""
    chain = method(replace(CONFIG, sampler="sgrld", start="plain"), small_corpus)
    step = chain._step()
    chain._chain.topic_sums = 3 * chain._chain.topic_sums
    assert chain._step() == pytest.approx(3 * step)
    scir = method(replace(CONFIG, start="plain"), small_corpus)
    step = scir._step()
    scir._chain.topic_sums = 3 * scir._chain.topic_sums
    assert scir._step() == step


def test_blocks_of_one_document_are_drawn_given_theta(small_corpus):
    """Not as plain collapsed sampling, which knows no θ: under a θ in which one topic alone has all
    words, every token goes there."""
    chain = method(replace(CONFIG, start="plain", batch_size=1, trajectory=9), small_corpus)
    chain._chain.theta[:] = 1e-30
    chain._chain.theta[:, 2] = 1
    chain._chain.topic_sums = np.full(16, 1.0)
    chain.round()
    z = chain.samplers[0].z
    assert set(z[z != chain.samplers[0].unassigned]) == {2}


def test_divergence_is_an_error(small_corpus):
    chain = method(replace(CONFIG, sampler="sgrld", start="plain", step_size=1e38), small_corpus)
    with pytest.raises(DivergedError, match="no longer finite; lower --step-size"):
        for _ in range(60):
            chain.round()
