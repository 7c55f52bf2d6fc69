"""Kernels of mixtures beside their slow twins, and laws of single draws.

Laws are rejected at p-values below 1e-6, so each test of one fails falsely once in a million runs.
"""

import naive_mixture as naive
import numpy as np
import pytest
from naive_mixture import documents
from scipy import stats

from topicmc.engine.transport.local import LocalTransport
from topicmc.errors import DivergedError, TopicmcError
from topicmc.inference.groups import memberships
from topicmc.kernels import mixture as kernels
from topicmc.kernels import partitions
from topicmc.kernels.threads import Threads
from topicmc.models.mixture import reading
from topicmc.models.mixture.chains import MixtureChains
from topicmc.models.mixture.evaluation import averaged, log_predictive, of_sample
from topicmc.models.mixture.reading import (
    Groups,
    looked_at,
    most_central,
    variation_of_information,
)
from topicmc.models.mixture.run import Sample
from topicmc.models.mixture.settings import MixtureConfig, least_beta, resolve
from topicmc.models.mixture.slices import SliceSampler
from topicmc.models.mixture.state import bags_of

LEVEL = 1e-6
N = 20_000


@pytest.fixture
def model():
    rng = np.random.default_rng(2)
    x = rng.integers(0, 3, (7, 5))
    weights, phi = np.array([0.5, 0.2, 0.1]), rng.dirichlet(np.full(5, 0.5), 3)
    return x, weights, phi


def test_the_predictive_counts_groups_yet_unseen(model):
    x, weights, phi = model
    found = log_predictive(
        documents(x), np.log(weights), np.log(0.2), np.log(phi).T.copy(), 0.3, Threads(1)
    )
    np.testing.assert_allclose(found, naive.log_predictive(x, weights, phi, 0.3), rtol=1e-12)


def test_predictions_are_averaged_inside_the_logarithm():
    scores = [np.array([-1000.0, -2.0]), np.array([-1001.0, -1.0])]
    expected = np.log([0.5 + np.exp(-1) / 2, (np.exp(-2) + np.exp(-1)) / 2]) - np.array([1000, 0])
    np.testing.assert_allclose(averaged(scores), expected)


def test_memberships_add_up_to_one_with_groups_yet_unseen(model):
    x, weights, phi = model
    groups = Groups(np.ones(3, int), weights, phi, 0.2, 0.3, 1.0, np.zeros(3, np.int32))
    found = memberships(groups, documents(x))
    np.testing.assert_allclose(found, naive.memberships(x, weights, phi, 0.3), atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_the_central_partition_is_nearest_to_all():
    rng = np.random.default_rng(0)
    one, other = rng.integers(0, 4, (2, 200)).astype(np.int32)
    expected = naive.variation_of_information(one, other)
    assert variation_of_information(one, other) == pytest.approx(expected)
    assert variation_of_information(one, (one + 1) % 4) == pytest.approx(0, abs=1e-12)
    near = one.copy()
    near[:3] = 0
    assert most_central([other, one, near, one]) == 1


def test_some_of_many_documents_tell_which_partition_is_central(monkeypatch):
    """The entropy of every partition, and of every pair, is taken once."""
    rng = np.random.default_rng(6)
    centre = rng.integers(0, 6, 5_000)
    partitions = [
        np.where(rng.random(5_000) < noise, rng.integers(0, 6, 5_000), centre).astype(np.int32)
        for noise in (0.5, 0.3, 0.0, 0.4)
    ]
    assert most_central(partitions) == 2
    taken, entropy = [], reading._entropy

    def counted(labels):
        taken.append(len(labels))
        return entropy(labels)

    monkeypatch.setattr(reading, "_entropy", counted)
    monkeypatch.setattr(reading, "_LOOKED_AT", 500)
    assert most_central([*map(looked_at, partitions)]) == 2
    assert taken == [500] * (4 + 6)


def test_some_of_many_partitions_tell_which_is_central(monkeypatch):
    """Each is compared with 16 of 60."""
    rng = np.random.default_rng(7)
    centre = rng.integers(0, 6, 400)
    noise = rng.uniform(0.2, 0.6, 60)
    noise[33] = 0.0  # which is none of the 16
    partitions = [
        np.where(rng.random(400) < part, rng.integers(0, 6, 400), centre).astype(np.int32)
        for part in noise
    ]
    whole, taken, joint = most_central(partitions), [], reading._joint_entropy

    def counted(one, other):
        taken.append(1)
        return joint(one, other)

    monkeypatch.setattr(reading, "_joint_entropy", counted)
    monkeypatch.setattr(reading, "_COMPARED", 16)
    assert most_central(partitions) == whole == 33
    assert len(taken) == 16 * 44 + 16 * 15 // 2


def test_logarithms_of_groups_are_taken_once(model, monkeypatch):
    x, weights, phi = model
    groups = Groups(np.ones(3, int), weights, phi, 0.2, 0.3, 1.0, np.zeros(3, np.int32))
    taken, log = [], np.log

    def counted(values):
        taken.append(np.shape(values))
        return log(values)

    monkeypatch.setattr(np, "log", counted)
    found = [memberships(groups, documents(x[i : i + 1])) for i in range(len(x))]
    assert taken.count(phi.shape) == 1
    expected = naive.memberships(x, weights, phi, 0.3)
    np.testing.assert_allclose(np.concatenate(found), expected, atol=1e-12)


def test_documents_in_memory_are_not_copied_for_kernels(model):
    data = documents(model[0])
    arrays = data.indptr, data.word_ids, data.counts
    assert all(map(np.shares_memory, bags_of(data), arrays))
    for array in arrays:
        array.flags.writeable = False  # as those of files are
    bags = bags_of(data)
    assert all(array.flags.writeable for array in bags)
    assert not any(map(np.shares_memory, bags, arrays))
    assert all(map(np.array_equal, bags, arrays))


@pytest.mark.parametrize("shape", [0.05, 0.7, 1.0, 30.0])
def test_gamma_draws(shape):
    drawn = [kernels.gamma_of(shape, np.uint64(5), np.uint32(i), np.uint32(0), 0) for i in range(N)]
    assert stats.kstest(drawn, stats.gamma(shape).cdf).pvalue > LEVEL


@pytest.mark.parametrize("x, shape, h", [(0.3, 0.1, 0.1), (2.0, 1.7, 0.5), (500.0, 40.0, 0.1)])
def test_cir_is_the_exact_transition(x, shape, h):
    """2 c X is noncentral χ² with 2 · shape degrees of freedom, c = 1 / (1 − e^−h)."""
    drawn = np.array(
        [kernels.cir(x, shape, h, np.uint64(9), np.uint32(i), np.uint32(0), 0) for i in range(N)]
    )
    c = 1 / (1 - np.exp(-h))
    law = stats.ncx2(2 * shape, 2 * c * x * np.exp(-h))
    assert stats.kstest(2 * c * drawn, law.cdf).pvalue > LEVEL


def test_langevin_has_the_published_drift_in_both_sticks():
    """From the stationary means the drifts of X and of Y vanish with their own shares of the size:
    the released program takes v for both."""
    sizes, alpha = np.array([30.0, 10.0]), 2.0
    x, y = np.array([31.0, 11.0]), np.array([12.0, 2.0])
    moved_x, moved_y = x.copy(), y.copy()
    means = np.zeros((2, 2))
    for i in range(N):
        moved_x[:], moved_y[:] = x, y
        kernels.move_sticks(moved_x, moved_y, sizes, alpha, 0.01, False, np.uint64(i), 0)
        means += [moved_x / N, moved_y / N]
    after = np.array([10.0, 0.0])
    v, total = x / (x + y), sizes + after
    expected = np.array(
        [
            x + 0.005 * (1 - x + sizes - v * total),
            y + 0.005 * (alpha - y + after - (1 - v) * total),
        ]
    )
    error = np.sqrt(0.01 * np.array([x, y]) / N)
    assert (np.abs(means - expected) < 6 * error).all()


def test_a_chain_that_is_not_finite_says_what_to_do(model, monkeypatch):
    x = model[0]
    config = resolve(MixtureConfig(alpha=1.0, step_size=0.5, threads=1), len(x), 1)
    sampler = SliceSampler(documents(x), x.shape[1], config, Threads(1))
    chain = sampler.initial(0)
    monkeypatch.setattr(kernels, "move_sticks", lambda x, *_: x.fill(np.nan))
    with pytest.raises(DivergedError, match=r"after 0 updates; lower --step-size \(now 0\.5\)"):
        sampler.update(chain)


def test_processes_that_hold_different_chains_are_told(model):
    class Alike(LocalTransport):
        def __init__(self) -> None:
            super().__init__(2)
            self.n_processes = 2

    class Apart(Alike):
        def gather(self, values):
            return np.add(super().gather(values), [0, 1])

    x = model[0]
    config = resolve(MixtureConfig(alpha=1.0, threads=1, workers=2), len(x), 1)
    of = config, documents(x), x.shape[1]
    MixtureChains(*of, Alike(), Threads(1)).round()
    with pytest.raises(TopicmcError, match="rank 1 holds other chains than rank 0 after update 1"):
        MixtureChains(*of, Apart(), Threads(1)).round()


def test_words_of_a_new_group_are_not_alike_where_beta_is_least():
    """At a twentieth of the least β all ten are too small to be told apart in half of the groups,
    at the least β in one of 10⁶."""
    weights, none = np.empty((4_000, 10)), np.zeros((0, 10), np.int32)
    alike = []
    for beta in (least_beta(10), least_beta(10) / 20):
        kernels.draw_words(weights, none, beta, np.uint64(7), np.uint32(0), 0, len(weights))
        largest = np.sort(weights, axis=1)[:, -2:]
        alike.append((largest[:, 0] == largest[:, 1]).mean())
    assert alike[0] < 0.01 and alike[1] > 0.4


def test_a_beta_below_the_least_is_not_drawn(model, monkeypatch):
    x = model[0]
    config = resolve(MixtureConfig(learn="both", threads=1), len(x), 1)
    sampler = SliceSampler(documents(x), x.shape[1], config, Threads(1))
    chain = sampler.initial(0)
    for drawn, beta in ((0.003, config.beta), (0.005, 0.005)):  # the least over five words is 0.004
        monkeypatch.setattr(partitions, "draw_beta", lambda *_, drawn=drawn: drawn)
        sampler._draw_beta(chain, np.uint32(0))
        assert chain.beta == beta


def test_labels_are_in_size_biased_order():
    """A group is the first of all atoms with the mean of its weight, m_k / (D + α), and the first
    stick has the law of its weight there: Beta(m_k + 1, D − m_k + α)."""
    sizes, alpha = np.array([6, 3, 1]), 1.5
    first, sticks = np.zeros(4), []
    for i in range(N):
        order, x, y = partitions.new_order(sizes, alpha, 100_000, np.uint64(i), 0)
        assert sorted(order[order >= 0]) == [0, 1, 2]
        first[order[0]] += 1
        if order[0] == 0:
            sticks.append(x[0] / (x[0] + y[0]))
    expected = np.array([6, 3, 1, alpha]) / (10 + alpha)
    assert stats.chisquare(first, N * expected).pvalue > LEVEL
    assert stats.kstest(sticks, stats.beta(7, 4 + alpha).cdf).pvalue > LEVEL


def test_a_split_undone_is_a_merger_and_counts_follow():
    rng = np.random.default_rng(1)
    x = rng.integers(0, 3, (30, 6))
    bags, groups = bags_of(documents(x)), np.zeros(30, np.int32)
    sizes, words = np.zeros(4, np.int64), np.zeros((4, 6), np.int32)
    kernels.add_docs(bags, np.arange(30), groups, 1, words, sizes)
    splits = mergers = 0
    for attempt in range(2_000):
        before = np.count_nonzero(sizes)
        if sizes.all():
            break
        pair = partitions.split_or_merge(
            bags, groups, sizes, words, 0.5, 1.0, np.uint64(4), attempt, 0
        )
        splits += np.count_nonzero(sizes) > before
        mergers += np.count_nonzero(sizes) < before
        assert (pair == (-1, -1)) == (np.count_nonzero(sizes) == before)
        for k in range(4):
            assert sizes[k] == (groups == k).sum()
            assert (words[k] == x[groups == k].sum(axis=0)).all()
    assert splits and mergers


def test_a_word_that_no_group_has_does_not_make_a_score_infinite():
    """Weights and shares too small to be kept are 0 in a sample."""
    bags = documents(np.array([[2, 1, 0], [0, 0, 1]]))
    phi = np.array([[0.5, 0.5, 0], [1, 0, 0]], np.float32)
    sample = Sample(np.zeros(2, np.int64), np.array([0.5, 0.5]), phi, 1.0, 0.01)
    assert sample.left == 0
    scores = of_sample(sample, bags, Threads(1))
    assert np.isfinite(scores).all() and scores[0] == pytest.approx(np.log(0.5 * 0.125))
