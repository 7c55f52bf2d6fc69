"""The start of SCIR without noise: its moves, words that wait, and how the chain then begins."""

import numpy as np
import pytest
from scipy import stats
from trained import begun, ended, resumed

from topicmc.errors import UsageError
from topicmc.kernels.threads import Threads
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.planning.defaults import resolve
from topicmc.models.lda.priors.learned import learned_beta
from topicmc.models.lda.settings import TrainConfig
from topicmc.samplers.row_prior import Additions, RowPrior
from topicmc.samplers.state import Chain, TopicCounts, sum_topics
from topicmc.samplers.streaming import StreamingScir

N_WORDS, N_TOPICS = 300, 5
KEY = np.uint64(3)
ADDED = Additions.of_words(np.array([7, 200]), np.arange(10.0).reshape(2, 5), N_WORDS)
PRIOR = RowPrior(0.05, ADDED)


def moved(waits_below, n_threads=1, settle=True):
    """A chain after five moves, of which most hold a fifth of the words; and by the formula."""
    generator = np.random.default_rng(2)
    theta = generator.gamma(2.0, 3.0, (N_WORDS, N_TOPICS)).astype(np.float32)
    chain, naive = Chain(0, theta, sum_topics(theta)), theta.astype(float)
    sampler, threads = StreamingScir(PRIOR, waits_below), Threads(n_threads)
    for n, step in [(60, 0.5), (60, 0.4), (250, 0.3), (60, 0.2), (60, 0.1)]:
        words = np.sort(generator.choice(N_WORDS, n, replace=False)).astype(np.int32)
        counts = np.zeros((n, 16), np.float32)
        counts[:, :N_TOPICS] = generator.random((n, N_TOPICS))
        sampler.refresh(chain, words, key=KEY, threads=threads)
        sampler.move(
            chain, TopicCounts(words, counts), scale=9.0, step=step, key=KEY, threads=threads
        )
        shape = 0.05 + ADDED.of(np.s_[:])
        shape[words] += 9 * counts[:, :N_TOPICS]
        naive = np.exp(-step) * naive + (1 - np.exp(-step)) * shape
    if settle:
        sampler.settle(chain, key=KEY, threads=threads)
    return chain, naive


@pytest.mark.parametrize("waits_below", [0.0, 0.5])
def test_a_move_goes_where_it_goes_in_the_mean(waits_below):
    chain, naive = moved(waits_below)
    np.testing.assert_allclose(chain.theta, naive, rtol=1e-5)
    np.testing.assert_allclose(chain.topic_sums, naive.sum(axis=0), rtol=1e-5)
    assert np.array_equal(moved(waits_below, n_threads=2)[0].theta, chain.theta)


def test_sums_are_known_while_words_wait():
    chain, naive = moved(0.5, settle=False)
    assert chain.moved_at is not None
    np.testing.assert_allclose(chain.topic_sums, naive.sum(axis=0), rtol=1e-5)


def test_the_chain_begins_with_a_draw():
    """20,000 gamma variables each of four shapes against SciPy's law, at 1e-8 each."""
    shapes = np.array([0.4, 0.7, 20.0, 3_000.0], np.float32)
    theta = np.tile(shapes, (20_000, 1))
    chain = Chain(0, theta, sum_topics(theta), update=40)
    StreamingScir(RowPrior(0.05)).enter(chain, key=KEY, threads=Threads(1))
    assert chain.update == 40
    for drawn, shape in zip(chain.theta.T, shapes, strict=True):
        assert stats.kstest(drawn, stats.gamma(shape).cdf).pvalue > 1e-8
    np.testing.assert_allclose(chain.topic_sums, chain.theta.sum(axis=0, dtype=float))


def trained(corpus, path, updates):
    config = TrainConfig(
        topics=4, sampler="scir", seed=1, threads=1, batch_size=30, updates=updates,
        anneal_updates=12, learn="none",
    )  # fmt: skip
    return ended(begun(config, corpus, path))


@pytest.mark.parametrize("parted_at", [7, 12, 15])
def test_a_run_parted_in_its_start_is_the_same(small_corpus, tmp_path, parted_at):
    whole = trained(small_corpus, tmp_path / "whole", 20)
    trained(small_corpus, tmp_path / "parted", parted_at)
    parted = ended(resumed(tmp_path / "parted", updates=20))
    one, other = (t.method.held["chains"][0] for t in (whole, parted))
    assert np.array_equal(one.theta, other.theta)


def test_states_of_the_start_have_no_noise_and_the_first_sample_has(small_corpus, tmp_path):
    """A word without tokens in a topic has β there in a start, and a gamma variable after it."""
    start, chain = (
        trained(small_corpus, tmp_path / str(n), n).method.chains[0].theta for n in (11, 12)
    )
    beta = resolve(TrainConfig(sampler="scir"), Extent(300, small_corpus.n_tokens, 120)).beta
    assert start.min() > beta  # which an annealed β has come down to
    assert chain.min() < 0.01 * beta


def test_it_is_of_minibatch_scir_alone():
    minibatches = TrainConfig(sampler="scir", remember=False)
    assert resolve(minibatches, Extent(999, 9_999, 99)).start == "stream"
    for settings in ({"sampler": "sgrld"}, {"sampler": "adlda"}, {"remember": True}):
        config = TrainConfig(start="stream", **{"sampler": "scir", **settings})
        with pytest.raises(UsageError, match="--start stream"):
            resolve(config, Extent(999, 99_999, 99))


def test_beta_is_learned_from_words_that_are_up_to_date(small_corpus, tmp_path, monkeypatch):
    """A word that waits would count as it was when a minibatch last held it. And from as many
    tokens as the corpus has."""
    found, tokens = [], []

    def looking(prior, theta, sums, totals, **options):
        found.append(abs(theta.sum(axis=0, dtype=float) / sums - 1).max())
        if len(theta) == small_corpus.n_words:  # and not what kernels are compiled on
            tokens.append(totals.sum())
        return learned_beta(prior, theta, sums, totals, **options)

    monkeypatch.setattr("topicmc.models.lda.minibatches.updates.learned_beta", looking)
    config = TrainConfig(
        topics=4, sampler="scir", remember=False, seed=1, threads=1, batch_size=1, updates=60,
        anneal_updates=20, learn="both", learn_until="end",
    )  # fmt: skip
    ended(begun(config, small_corpus, tmp_path / "run"))
    assert len(found) > 3 and max(found) < 1e-5
    assert len(tokens) > 3
    np.testing.assert_allclose(tokens, small_corpus.n_tokens)
