"""Chains as the engine moves them: blocks are unbiased, and SGLD samples what Gibbs samples."""

from dataclasses import replace
from functools import cache

import naive_factors as naive
import numpy as np
import pytest
from methods import method_of, predictions, some_ratings

from topicmc.engine.schedule import Plan
from topicmc.models.factors.layout import Layout
from topicmc.models.factors.ratings import Ratings
from topicmc.models.factors.rows import SIDES
from topicmc.models.factors.sgld import rates


@pytest.mark.parametrize(
    ("split", "workers", "fault"),
    [
        ("square", 4, None),
        ("square", 9, None),
        ("rows", 3, None),
        ("square", 4, "v = 1/S"),
        ("square", 9, "v = 1/S"),
    ],
)
def test_gradients_of_blocks_are_unbiased(split, workers, fault):
    """The mean of the kicks over a cycle of rounds, over the steps, is half the gradient of all
    ratings: for every row, but for single precision. The blocks are unequal, nothing flows, and the
    steps are so small that the state stays where it was."""
    ratings = some_ratings(23, 17, 160)
    method = method_of(
        ratings, split=split, workers=workers, chains=1, factors=3, batch_size=10**6, sampler="sgd",
        trajectory=1, step_size=1e-2, step_decay=0.0, precision=1e-9, noise_precision=2.0,
    )  # fmt: skip
    target = method.target
    sizes = target.layout.sizes(ratings)
    assert len(set(sizes.tolist())) > 1 and sizes.sum() == 160
    if fault:
        target.at_once = 1
    before, n_rounds = whole(method), target.layout.most_chains
    for _ in range(n_rounds):
        method.round()
    after = whole(method)
    full = naive.gradients(before.users, before.items, ratings.users, ratings.items, ratings.values)
    worth = target.layout.worth(ratings, 10**6)
    close = True
    for side, exact in zip(SIDES, full, strict=True):
        moved = getattr(after, side).astype(float) - getattr(before, side)
        rate = rates(ratings.counts(side), worth, 2.0)[:, None]
        found = moved / n_rounds / (1e-2 / 2 * 2.0 * rate)
        close &= np.allclose(found, exact, rtol=2e-2, atol=0.1)
    assert close == (fault is None)


@pytest.mark.parametrize(
    ("split", "workers", "plan"), [("square", 4, (3, 1, 2, 2)), ("rows", 3, (1, 4, 1))]
)
def test_uneven_trajectories_change_the_weight_of_nothing(split, workers, plan):
    """As those of a balanced run. Kicks add up to the gradient of all ratings as often as updates
    are made, and in a round the rows of all blocks flow for the same time."""
    ratings = some_ratings(23, 17, 160)
    method = method_of(
        ratings, split=split, workers=workers, chains=1, factors=3, batch_size=10**6, sampler="sgd",
        trajectory=1, step_size=2e-3, step_decay=0.0, precision=1e-9, noise_precision=2.0,
    )  # fmt: skip
    method.balance.plan = Plan(plan)
    target = method.target
    before, n_rounds = whole(method), target.layout.most_chains
    for number in range(1, n_rounds + 1):
        method.round()
        for side in SIDES:
            clocks = [state.clock for state in method.held[side].values()]
            np.testing.assert_allclose(clocks, number * 2e-3 * sum(plan) / workers)
    after, worth = whole(method), target.layout.worth(ratings, 10**6)
    full = naive.gradients(before.users, before.items, ratings.users, ratings.items, ratings.values)
    for side, exact in zip(SIDES, full, strict=True):
        moved = getattr(after, side).astype(float) - getattr(before, side)
        rate = rates(ratings.counts(side), worth, 2.0)[:, None]
        found = moved / (sum(plan) / target.at_once) / (2e-3 / 2 * 2.0 * rate)
        np.testing.assert_allclose(found, exact, rtol=2e-2, atol=0.1)


def test_workers_that_hold_all_ratings_share_them():
    ratings = some_ratings(23, 17, 160)
    method = method_of(ratings, split="none", workers=3, factors=2)
    for worker in method.target._workers.values():
        block = worker.block
        assert block.users is ratings.users and block.items is ratings.items
        assert block.values is ratings.values


def test_blocks_are_counted_some_ratings_at_a_time(monkeypatch):
    ratings = some_ratings(23, 17, 160)
    layout = Layout.of(ratings, "square", 9)
    expected = [layout.mask(ratings, worker).sum() for worker in range(9)]
    monkeypatch.setattr("topicmc.models.factors.layout._COUNTED", 7)
    assert layout.sizes(ratings).tolist() == expected


def whole(method):
    chain = method.chains[0]
    return replace(chain, users=chain.users.copy(), items=chain.items.copy())


@pytest.mark.parametrize(("split", "workers"), [("rows", 1), ("rows", 4), ("square", 9)])
def test_every_part_has_one_place_and_groups_share_no_row(split, workers):
    layout = Layout.of(some_ratings(30, 20, 200), split, workers)
    n = layout.n_parts
    for round_number in range(2 * workers):
        places = set()
        for chain in range(layout.most_chains):
            of = {
                side: [layout.worker_of(side, part, chain, round_number) for part in range(n)]
                for side in SIDES
            }
            assert set(of["users"]) == set(of["items"])
            assert not places & set(of["users"])  # a worker holds one chain
            places |= set(of["users"])
            for side, those in of.items():
                assert [layout.part_of(side, worker) for worker in those] == list(range(n))
        assert len(places) == workers
    n = layout.n_places
    for cycle in range(20):
        visits = [layout.worker_of("users", 0, 0, cycle * n + turn) for turn in range(n)]
        assert len(set(visits)) == n


@pytest.mark.parametrize(
    ("split", "workers"),
    [("rows", 2), ("rows", 4), ("rows", 5), ("rows", 8), ("square", 4), ("square", 16)],
)
def test_states_that_are_kept_follow_all_blocks_alike(split, workers):
    """They are those after multiples of a power of two rounds; precisions are drawn after multiples
    of other numbers. Where a cycle begins is a hash: 1,000 places each, beyond 6 standard errors,
    are a false alarm in 10⁶."""
    layout = Layout.of(some_ratings(30, 20, 200), split, workers)
    n = layout.n_places
    for apart in (1, 2, 4, 5, 8, 64):
        visits = [layout.worker_of("users", 0, 0, apart * i - 1) for i in range(1, 1001)]
        _, counts = np.unique(visits, return_counts=True)
        assert len(counts) == n
        assert np.abs(counts - 1000 / n).max() < 6 * np.sqrt(1000 / n * (1 - 1 / n))


FIXED = {"precision": 1.0}


@pytest.mark.parametrize(
    ("settings", "start"),
    [
        ({"sampler": "gibbs"}, 5),
        ({"batch_size": 100, **FIXED}, 20),
        ({"batch_size": 10, **FIXED}, 60),  # a pass over 600 ratings
        ({"batch_size": 10, "split": "square", "workers": 4, **FIXED}, 30),  # 20 of them at once
        ({"batch_size": 100, "split": "rows", "workers": 4, **FIXED}, 40),  # a visit to all blocks
        ({"batch_size": 100}, 50),  # until λ has been drawn
        ({"batch_size": 100, "precision_every": 12}, 120),
        ({"batch_size": 100, "precision_every": 12, "learn_noise": True, **FIXED}, 120),
    ],
)
def test_states_of_the_start_are_no_samples(settings, start):
    method = method_of(some_ratings(40, 30, 600, even=True), factors=2, **settings)
    trajectory = method.config.trajectory
    assert method.is_start(start // trajectory)
    assert not method.is_start(start // trajectory + 1)
    for _ in range(start // trajectory + 1):
        assert method.in_burn_in
        method.round()
    assert not method.in_burn_in


# --- SGLD and Gibbs -------------------------------------------------------------------------------

N_CHAINS = 18
PRIORS = {"precision_shape": 5.0, "precision_rate": 1.0}


@cache
def rated_by_two_factors():
    """300 of 30 × 20 ratings, from a model with two factors."""
    generator = np.random.default_rng(6)
    u, v = generator.normal(size=(30, 2)), generator.normal(size=(20, 2))
    ratings = some_ratings(30, 20, 300, seed=3, even=True)
    values = (u @ v.T)[ratings.users, ratings.items] + generator.normal(0, 0.7, 300)
    return replace(ratings, values=values.astype(np.float32))


def functionals(state):
    """Some numbers that do not change when factors are rotated."""
    cells = np.indices((30, 20)).reshape(2, -1).astype(np.int32)
    everything = Ratings(*cells, np.zeros(600, np.float32), 30, 20)
    found = predictions(state, everything).reshape(30, 20)
    biases = [np.square(side[:, -1]).mean() for side in (state.users, state.items)]
    means = [(found**2).mean(), found[:10].mean(), found[:, 5].mean()]
    ratings = rated_by_two_factors()
    error = np.square(predictions(state, ratings) - ratings.values).mean()
    return [found[0, 0], found[7, 3], *means, *biases, error]


def long_run(method, burn_in, n_rounds):
    """The mean of `functionals` over the rounds of each chain, (chains, functionals)."""
    total = 0.0
    for number in range(burn_in + n_rounds):
        method.round()
        if number >= burn_in:
            values = [functionals(chain) for chain in method.chains.values()]
            total = total + np.array(values, float) / n_rounds
    return total


def start_at(method, states):
    """Puts the chains at some states."""
    layout = method.target.layout
    for side in SIDES:
        for rows in method.held[side].values():
            chain, part = divmod(rows.index, layout.n_parts)
            first, last = layout.rows_of(side, part)
            rows.factors[: last - first] = getattr(states[chain], side)[first:last]


@pytest.fixture(scope="module")
def gibbs():
    ratings = rated_by_two_factors()
    method = method_of(ratings, sampler="gibbs", workers=N_CHAINS, factors=2, **PRIORS)
    means = long_run(method, 200, 500)
    return [method.chains[number] for number in range(N_CHAINS)], means


@pytest.mark.parametrize(
    ("split", "workers", "fault"),
    [("rows", 1, None), ("rows", 3, None), ("square", 4, None), ("square", 4, "v = 1/S")],
)
def test_sgld_and_gibbs_have_the_same_means(gibbs, split, workers, fault):
    """30 × 20, 300 ratings, precisions drawn too; 2 E_ε − E_2ε against Gibbs, from its last states.
    Eight functionals of 18 chains beyond 8 standard errors: a false alarm in 10⁶."""
    states, means = gibbs
    each = workers if split == "rows" else 2  # chains that find a place at the same time
    found = []
    for step in (1.0, 2.0):
        runs = []
        for first in range(0, N_CHAINS, each):
            method = method_of(
                rated_by_two_factors(), split=split, workers=workers, chains=each, factors=2,
                batch_size=75 // workers, step_size=step, step_decay=0.0, trajectory=2,
                precision_every=1, seed=1000 * first + int(step * 4), **PRIORS,
            )  # fmt: skip
            if fault:
                method.target.at_once = 1
            start_at(method, states[first : first + each])
            runs.append(long_run(method, 60, 150))
        found.append(np.concatenate(runs))
    small, large = found
    squares = 4 * small.var(axis=0, ddof=1) + large.var(axis=0, ddof=1) + means.var(axis=0, ddof=1)
    difference = 2 * small.mean(axis=0) - large.mean(axis=0) - means.mean(axis=0)
    scores = difference / np.sqrt(squares / N_CHAINS)
    assert (np.abs(scores).max() > 8) == (fault is not None)


@pytest.mark.parametrize(
    ("split", "workers", "noise", "step", "within", "fault"),
    [
        ("none", 2, 0.5, 1.0, 0.1, None),
        ("square", 4, 0.5, 1.0, 0.1, None),
        ("none", 2, 0.3, 4.0, 0.2, None),
        ("none", 2, 0.3, 4.0, 0.2, "steps by the first τ"),
    ],
)
def test_the_precision_of_ratings_is_learned(split, workers, noise, step, within, fault):
    """On 2,000 ratings, mean τ within 10 % of that of Gibbs: its law has a spread of 3.5 %, means
    of some correlated ones of 1 %, and steps of 1 and blocks leave 5 %. The default step, of 4,
    leaves some 12 % where there is little noise, and steps by the τ of the start half of τ."""
    generator = np.random.default_rng(8)
    ratings = some_ratings(80, 60, 2000, seed=4, even=True)
    u, v = generator.normal(0, 0.8, (80, 2)), generator.normal(0, 0.8, (60, 2))
    values = (u @ v.T)[ratings.users, ratings.items] + generator.normal(0, noise, 2000)
    ratings = replace(ratings, values=values.astype(np.float32))
    means = []
    of_sgld = {"split": split, "workers": workers, "trajectory": 3, "precision_every": 4}
    for settings in ({"sampler": "gibbs"}, of_sgld):
        method = method_of(ratings, factors=2, learn_noise=True, step_size=step, **settings)
        if fault:
            rates_of = method.target._rates_of
            method.target._rates_of = lambda side, _, rates_of=rates_of: rates_of(side, 2.0)
        found = []
        for number in range(800):
            method.round()
            if number >= 400:
                found.append(np.mean([chain.tau for chain in method.chains.values()]))
        means.append(np.mean(found))
    assert means[0] == pytest.approx(noise**-2, rel=0.25)
    assert (abs(means[1] / means[0] - 1) < within) == (fault is None)


@pytest.mark.parametrize("few", [0, 40])
def test_the_precision_of_ratings_is_that_of_the_blocks_where_a_chain_is(few):
    """Ratings of ±1 and a state that stays near 0, so that τ is near 0.8. One pair of blocks holds
    300 ratings, the other one few; without any, τ stays. Errors of 40 ratings and the draw of τ
    scatter by some 15 %: a false alarm in 10⁴."""
    sizes = {(0, 0): few // 2, (20, 20): few // 2, (0, 20): 150, (20, 0): 150}
    cells = [
        (first_user + np.arange(n) % 20, first_item + (np.arange(n) + np.arange(n) // 20) % 20)
        for (first_user, first_item), n in sizes.items()
    ]
    users, items = np.concatenate(cells, axis=1).astype(np.int32)
    values = (-1.0) ** np.arange(len(users))
    method = method_of(
        Ratings(users, items, values.astype(np.float32), 40, 40), split="square", workers=4,
        chains=1, factors=1, trajectory=1, step_size=1e-6, precision=10.0, precision_every=1,
        noise_precision=1.0, learn_noise=True,
    )  # fmt: skip
    found = [1.0]
    for _ in range(2):  # each pair once
        method.round()
        found.append(method.chains[0].tau)
    assert all(0.4 < tau < 1.6 for tau in found)
    assert (0 in np.diff(found)) == (few == 0)
