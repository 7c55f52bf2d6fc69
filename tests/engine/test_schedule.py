"""The arithmetic of who works where: each rank computes it alone, so it must be the same and whole
everywhere; a hole in it loses documents or chains in silence."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topicmc.engine import schedule
from topicmc.engine.schedule import (
    batch_items,
    ideal_trajectories,
    plan_trajectories,
    should_replan,
    smooth_delays,
    split_groups,
    worker_of,
)
from topicmc.settings.groups import SCHEDULES

workers = st.integers(1, 40)
schedules = st.sampled_from(SCHEDULES)
seeds = st.integers(0, 2**32)


@given(schedules, workers, st.data(), seeds, st.integers(0, 10**6))
def test_chains_never_meet_and_permuted_ones_never_stay(kind, n_workers, data, seed, round):
    n_chains = data.draw(st.integers(1, n_workers))
    rounds = [worker_of(kind, r, n_chains, n_workers, seed) for r in range(round, round + 3)]
    for places in rounds:
        assert len(set(places)) == n_chains
        assert set(places) <= set(range(n_workers))
    if n_workers > 1 and kind == "permute":
        for before, after in itertools.pairwise(rounds):
            assert all(a != b for a, b in zip(before, after, strict=True))


@given(st.integers(4, 12), seeds, st.integers(0, 1000))
def test_the_assignment_is_a_pure_function(n_workers, seed, round):
    schedule._permutation.cache_clear()
    fresh = worker_of("permute", round, n_workers, n_workers, seed)
    for r in range(round + 3):
        worker_of("permute", r, n_workers, n_workers, seed)
    assert worker_of("permute", round, n_workers, n_workers, seed) == fresh


@pytest.mark.parametrize("n_workers", [3, 4, 7])
def test_permutations_visit_all_workers_equally_often(n_workers):
    """Corollary 3.3 rests on uniform selection. χ² per chain over rounds of one parity, which are
    nearly independent: mean n − 1; the bound 60 is passed by chance less than once in 10⁹ (n = 7).
    A schedule that favours one worker by a third exceeds it."""
    n_rounds = 10_000
    places = np.array([worker_of("permute", r, n_workers, n_workers, 3) for r in range(n_rounds)])
    for parity in (0, 1):
        for chain in range(n_workers):
            seen = np.bincount(places[parity::2, chain], minlength=n_workers)
            expected = n_rounds / 2 / n_workers
            assert ((seen - expected) ** 2 / expected).sum() < 60


def test_permutations_depend_on_the_seed():
    draws = {tuple(worker_of("permute", r, 8, 8, s) for r in range(4)) for s in range(20)}
    assert len(draws) == 20


def test_rotation_passes_chains_to_the_next_worker():
    assert worker_of("rotate", 0, 3, 4, 0) == (0, 1, 2)
    assert worker_of("rotate", 3, 3, 4, 0) == (3, 0, 1)
    for cycle in range(9):
        first, *others = (worker_of("rotate", 4 * cycle + i, 2, 4, 0) for i in range(4))
        turned = [tuple((place + i) % 4 for place in first) for i in range(1, 4)]
        assert others == turned


@pytest.mark.parametrize("stride", [1, 2, 4, 8, 16, 32])
@pytest.mark.parametrize("n_workers", [2, 3, 4, 8])
def test_kept_states_of_a_rotating_chain_follow_all_workers_alike(n_workers, stride):
    """A state is kept after a number of rounds that a power of two divides. The itinerary is fixed:
    this cannot fail by chance. A plain rotation always ends on the same worker."""
    n = 400
    places = [worker_of("rotate", stride * i - 1, 1, n_workers, 0)[0] for i in range(1, n + 1)]
    seen = np.bincount(places, minlength=n_workers)
    assert np.abs(seen - n / n_workers).max() < 5 * (n / n_workers) ** 0.5


@given(st.integers(1, 200), st.data())
def test_groups_hold_each_chain_once(n_chains, data):
    n_groups = data.draw(st.integers(1, n_chains))
    groups = split_groups(n_chains, n_groups)
    assert [chain for group in groups for chain in group] == list(range(n_chains))
    sizes = [len(group) for group in groups]
    assert len(sizes) == n_groups
    assert max(sizes) - min(sizes) <= 1


def test_the_worked_example_of_figure_1():
    delays = (3, 1, 2, 4)
    plan = plan_trajectories(delays, 25 / 4)
    assert plan.trajectory == (4, 12, 6, 3)
    np.testing.assert_allclose(plan.selection_freq, np.array([4, 12, 6, 3]) / 25)
    np.testing.assert_allclose(ideal_trajectories(delays, 75 / 16), [3, 9, 4.5, 2.25])
    assert plan_trajectories(delays, 75 / 16).trajectory == (3, 9, 5, 2)


@given(
    st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=50),
    st.floats(0.5, 500),
)
def test_plans_keep_the_mean_and_give_everyone_work(delays, mean):
    plan = plan_trajectories(delays, mean)
    n_workers = len(delays)
    lengths = np.array(plan.trajectory)
    assert lengths.min() >= 1
    assert lengths.sum() == n_workers or abs(lengths.sum() - mean * n_workers) <= 0.5 + 1e-6
    assert sum(plan.selection_freq) == pytest.approx(1)
    # No worker would be relieved by giving one of its updates to another.
    ends = np.where(lengths > 1, lengths * delays, 0)
    assert ends.max() <= ((lengths + 1) * delays).min() * (1 + 1e-6)


@given(st.integers(1, 30), st.integers(1, 100), st.floats(1e-6, 1e3))
def test_equal_delays_plan_equal_trajectories(n_workers, mean, delay):
    assert plan_trajectories([delay] * n_workers, mean).trajectory == (mean,) * n_workers


def test_a_slow_worker_is_not_waited_for():
    """To the nearest whole number of updates, the slow one would make 4 and last 18.8."""
    assert plan_trajectories((1, 4.7), 10).trajectory == (17, 3)


@pytest.mark.parametrize("delays", [(1, 0), (1, -1), (1, np.nan), (1, np.inf)])
def test_delays_that_mean_nothing_are_refused(delays):
    with pytest.raises(ValueError, match="positive and finite"):
        plan_trajectories(delays, 5)


def test_delays_are_smoothed_and_gaps_keep_what_was_known():
    first = smooth_delays(None, [1.0, np.nan, 3.0])
    np.testing.assert_allclose(first, [1, 2, 3])
    np.testing.assert_allclose(smooth_delays(first, [2, 4, np.nan], 0.5), [1.5, 3, 3])


def test_plans_are_renewed_for_relative_changes_only():
    assert not should_replan([1, 1, 1], [7, 7, 7], 0.2)
    assert not should_replan([1, 1, 1], [1, 1, 1.1], 0.2)
    assert should_replan([1, 1, 1], [1, 1, 5], 0.2)
    assert should_replan([1, 1, 5], [1, 1, 1], 0.2)


sizes_of_corpora = st.one_of(st.integers(1, 300), st.integers(2000, 9000))


@settings(max_examples=50)
@given(seeds, st.integers(0, 9), sizes_of_corpora, st.integers(1, 320), st.integers(0, 50))
def test_a_pass_takes_each_document_at_most_once(seed, worker, n_docs, batch_size, sweep):
    size = min(batch_size, n_docs)
    n_batches = n_docs // size
    seen = np.concatenate(
        [
            batch_items(seed, worker, sweep * n_batches + i, n_docs, batch_size)
            for i in range(n_batches)
        ]
    )
    assert seen.dtype == np.int64
    assert len(seen) == len(set(seen.tolist())) == n_batches * size
    assert seen.min() >= 0
    assert seen.max() < n_docs


def standard_score(observed, chances):
    """χ² of counts against chances that sum to 1, less its mean, in standard deviations. Above 10
    by chance less than once in 10⁸, for five or more degrees of freedom."""
    observed, expected = np.ravel(observed), np.ravel(chances) * np.sum(observed)
    possible = expected > 0
    assert observed[~possible].sum() == 0
    chi2 = ((observed - expected)[possible] ** 2 / expected[possible]).sum()
    return (chi2 - possible.sum() + 1) / np.sqrt(2 * (possible.sum() - 1))


@pytest.mark.parametrize("n_docs", [3, 5, 8])
def test_batches_are_uniform_samples(n_docs):
    """Ordered pairs in batches of two are all equally likely. A Feistel network over so few bits,
    or an order that only rotates a fixed one, is caught."""
    n_batches = n_docs // 2
    batches = [batch_items(5, 1, i * n_batches, n_docs, 2) for i in range(8000)]
    first, second = np.array(batches).T
    seen = np.bincount(first * n_docs + second, minlength=n_docs**2)
    chances = (1 - np.eye(n_docs)) / (n_docs * (n_docs - 1))
    assert standard_score(seen, chances) < 10


def test_long_orders_are_uniform_too():
    """Places 0, 1 and n − 1 of an order of 3,000 documents: each lands anywhere, and any two land
    apart from each other, seen in sixteenths of the range and in remainders."""
    n_docs, places = 3000, np.array([0, 1, 2999], np.uint64)
    images = np.array(
        [
            schedule._shuffled(places, n_docs, schedule._words(schedule._ROUNDS, "test", i))
            for i in range(6000)
        ]
    ).T
    for coarse in (lambda doc: doc * 16 // n_docs, lambda doc: doc % 16):
        chances = np.bincount(coarse(np.arange(n_docs))) / n_docs
        for a, b in itertools.combinations(images, 2):
            seen = np.bincount(coarse(a) * 16 + coarse(b), minlength=256)
            assert standard_score(seen, np.outer(chances, chances)) < 10
    assert len(np.unique(images)) > 2900


def test_passes_workers_and_seeds_have_orders_of_their_own():
    orders = {
        tuple(batch_items(seed, worker, sweep, 100, 100).tolist())
        for seed in range(3)
        for worker in range(3)
        for sweep in range(3)
    }
    assert len(orders) == 27
