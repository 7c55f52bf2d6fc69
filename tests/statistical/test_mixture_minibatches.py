"""The law of the published minibatch form where a minibatch has n of D documents, n < D.

Given the groups a move draws X from a mixture of CIR transitions, one for each of the C(D, n)
minibatches, with the shape 1 + m̂, m̂ = D / n times the documents of the group in the minibatch; Y
and the words likewise. So a move keeps the mean, and where minibatches are independent the variance
that it comes to rest at is that of the right Gamma law and Var(m̂) tanh(h/2) more (Baker 2018,
Corollary 5.4.2), Var(m̂) = D m (1 − m/D) (D − n) / (n (D − 1)). What is right given the groups with
n = D is too wide below that, and the groups that follow it are off.
"""

from __future__ import annotations

import copy
from itertools import combinations

import numpy as np
import pytest
from mixture_law import D, X, p_value, sampler, starts
from scipy import stats

from topicmc.engine.schedule import batch_items
from topicmc.kernels import mixture as kernels
from topicmc.models.mixture.slices import SliceSampler

LEVEL = 1e-6
H, BATCH, N = 0.7, 2, 12_000


@pytest.fixture(scope="module")
def chain():
    """One of at least two groups."""
    chains = starts(60, False, np.random.default_rng(5))
    return next(chain for chain in chains if chain.n_groups > 1 and len(chain.x) < 4)


def used() -> SliceSampler:
    return sampler(False, counts="minibatch", batch_size=BATCH, step_size=H)


def transition(x: float, shape: float):
    """The law of a CIR transition times 2 / (1 − e^−h), and that factor."""
    c = 1 / (1 - np.exp(-H))
    return stats.ncx2(2 * shape, 2 * c * x * np.exp(-H)), 2 * c


def mixture_of(x: float, shapes: list[float]):
    """The distribution function of a move from x by one of the minibatches."""
    laws = [transition(x, shape) for shape in shapes]
    return lambda moved: np.mean([law.cdf(factor * moved) for law, factor in laws], axis=0)


def in_minibatches(of_document: np.ndarray) -> list[float]:
    """D / n times the sum over the documents of each of all minibatches."""
    return [
        D / BATCH * float(of_document[list(docs)].sum()) for docs in combinations(range(D), BATCH)
    ]


def test_a_move_is_a_mixture_of_transitions_over_all_minibatches(chain):
    """Sticks and a word of each group by Kolmogorov-Smirnov at 1e-6 each, 3 for each of at most 3
    groups: fails falsely once in 100,000 runs."""
    own, groups = used(), chain.groups
    moved: dict[tuple[str, int], list[float]] = {}
    for index in range(N):
        one = copy.deepcopy(chain)
        one.index = index  # draws and minibatches of its own
        docs = batch_items(0, index, 0, D, BATCH)
        own._move(one, *own._counts(one, docs), np.uint32(0))
        for j in range(len(one.x)):
            for name, value in (("x", one.x[j]), ("y", one.y[j]), ("word", one.weights[j, 0])):
                moved.setdefault((name, j), []).append(float(value))
    for j in range(len(chain.x)):
        expected = {
            "x": (chain.x[j], 1.0, groups == j),
            "y": (chain.y[j], chain.alpha, groups > j),
            "word": (chain.weights[j, 0], chain.beta, np.where(groups == j, X[:, 0], 0)),
        }
        for name, (x, prior, of_document) in expected.items():
            law = mixture_of(x, [prior + m for m in in_minibatches(of_document.astype(float))])
            assert stats.kstest(moved[name, j], law).pvalue > LEVEL, (name, j)


def test_minibatches_vary_as_a_hypergeometric_law_does(chain):
    for j in range(len(chain.x)):
        m = float((chain.groups == j).sum())
        found = in_minibatches((chain.groups == j).astype(float))
        assert np.mean(found) == pytest.approx(m)
        expected = D * m * (1 - m / D) * (D - BATCH) / (BATCH * (D - 1))
        assert np.var(found) == pytest.approx(expected)


def test_a_stick_rests_at_the_right_mean_and_too_wide(chain):
    """Mean and variance of 20,000 chains of 25 moves within six standard errors (1e-8): with counts
    of all the variance would be the mean, and is not."""
    rng = np.random.default_rng(7)
    n_chains = 20_000
    member = (chain.groups == chain.groups[0]).astype(float)
    m = member.sum()
    x, y = np.full(n_chains, 1 + m), np.ones(n_chains)
    for move in range(25):
        docs = np.argsort(rng.random((n_chains, D)), axis=1)[:, :BATCH]
        sizes = D / BATCH * member[docs].sum(axis=1)
        for size in np.unique(sizes):
            mine = np.flatnonzero(sizes == size)
            one, other = x[mine], y[mine]
            for i in range(len(mine)):  # each as the first stick of a chain of its own
                kernels.move_sticks(
                    one[i : i + 1], other[i : i + 1], np.array([size]), 1.0, H, True,
                    np.uint64(mine[i]), np.uint32(move),
                )  # fmt: skip
            x[mine], y[mine] = one, other
    spread = D * m * (1 - m / D) * (D - BATCH) / (BATCH * (D - 1))
    variance = 1 + m + spread * np.tanh(H / 2)
    assert abs(x.mean() - (1 + m)) < 6 * np.sqrt(variance / n_chains)
    error = np.std((x - x.mean()) ** 2) / np.sqrt(n_chains)
    assert abs(x.var() - variance) < 6 * error
    assert x.var() - (1 + m) > 6 * error


def test_groups_are_off_with_part_of_the_documents():
    """So the form is approximate, and a run with it must say so: the test that counts of all pass
    with n < D rejects it."""
    chains = starts(6_000, False, np.random.default_rng(11))
    own = sampler(False, counts="minibatch", batch_size=BATCH, step_size=3.0)
    for one in chains:
        for _ in range(6):
            own.update(one)
    assert p_value(chains, False) < LEVEL
