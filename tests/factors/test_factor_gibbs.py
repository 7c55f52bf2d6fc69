"""Gibbs sweeps: Geweke's joint-distribution test, quadrature, and the conditional of Λ."""

import numpy as np
import pytest
from scipy import stats

from topicmc.kernels.threads import Threads
from topicmc.models.factors.gibbs import ByRow, Gibbs
from topicmc.models.factors.ratings import Ratings
from topicmc.models.factors.rows import GammaPrior, Items, Stream, Users, initial_rows

TAU = 1.7
USERS, ITEMS = np.array([0, 0, 1, 2, 2, 2], np.int32), np.array([0, 1, 1, 0, 1, 2], np.int32)
SHAPE, RATE = 8.0, 5.0  # so that fourth moments of the rows exist
N_CHAINS, N_STEPS = 800, 8
ONE = Threads()


def gibbs_of(users, items, values, shape=SHAPE, rate=RATE, noise=None):
    ratings = Ratings(users, items, values, int(users.max()) + 1, int(items.max()) + 1)
    return Gibbs(ratings, prior=GammaPrior(shape, rate), noise=noise, threads=ONE)


def drawn_values(users, items, generator):
    """Ratings given both sides."""
    u, v = users.factors.astype(float)[USERS], items.factors.astype(float)[ITEMS]
    mean = (u[:, :-1] * v[:, :-1]).sum(axis=1) + u[:, -1] + v[:, -1]
    return (mean + generator.normal(0, users.tau**-0.5, len(mean))).astype(np.float32)


def statistics_of(users, items, values):
    return [
        users.tau, *users.precision, *items.precision, (users.factors[0].astype(float) ** 2).sum(),
        (items.factors[1].astype(float) ** 2).sum(), float(values[0]) ** 2,
        float(values[0]) * float(values[1]), float(users.factors[0, 0] * items.factors[0, 0]),
        float(users.factors[0, -1] * values[0]),
    ]  # fmt: skip


def expected():
    """Under the prior: E λ = E τ = α/β and E θ² = E 1/τ = β/(α − 1); ratings of the same user have
    its bias in common."""
    square = RATE / (SHAPE - 1)
    rating = 2 * square**2 + 3 * square
    return np.array([*[SHAPE / RATE] * 7, 3 * square, 3 * square, rating, square, 0.0, square])


@pytest.mark.parametrize("fault", [None, "noise", "prior", "bias left in"])
def test_sweeps_and_new_ratings_keep_the_prior(fault):
    """Geweke (2004): chains that start in the prior and alternate between a sweep and ratings drawn
    anew stay in it. Thirteen means of 800 independent chains, beyond 6 standard errors (of means
    over 8 steps): a false alarm in 10⁷, a little more for heavy tails."""
    generator = np.random.default_rng(1)
    found = np.zeros((N_CHAINS, N_STEPS, 13))
    for chain in range(N_CHAINS):
        sides = []
        for kind in (Users, Items):
            precision = generator.gamma(SHAPE, 1 / RATE, 3)
            rows = generator.normal(size=(3, 3)) / np.sqrt(precision)
            sides.append(kind(chain, rows.astype(np.float32), precision, np.zeros(3)))
        sides[0].tau = generator.gamma(SHAPE, 1 / RATE)
        values = drawn_values(*sides, generator)
        streams = Stream(7, chain, 0), Stream(7, chain, 0)
        for step in range(N_STEPS):
            used = values + 0.3 if fault == "bias left in" else values
            rates = {"prior": (1.5 * RATE, RATE), "noise": (RATE, 1.5 * RATE)}
            rate, of_noise = rates.get(fault, (RATE, RATE))
            gibbs = gibbs_of(
                USERS, ITEMS, used.astype(np.float32), rate=rate, noise=GammaPrior(SHAPE, of_noise)
            )
            gibbs.sweep(*sides, streams)
            values = drawn_values(*sides, generator)
            found[chain, step] = statistics_of(*sides, values)
    means = found.mean(axis=1)
    scores = (means.mean(axis=0) - expected()) / (means.std(axis=0, ddof=1) / np.sqrt(N_CHAINS))
    assert (np.abs(scores).max() > 6) == (fault is not None)


def test_one_rating_against_quadrature():
    """One user, one item, one factor, one rating: means of UV, of a + b, and of their squares, by
    integrating the precisions out and the rest on a grid. 40 chains of 400 sweeps, four scores
    beyond 6 standard errors: a false alarm in 10⁶."""
    rating, shape, rate = 1.5, 4.0, 2.0
    exact = quadrature(rating, shape, rate)
    gibbs = gibbs_of(
        np.zeros(1, np.int32), np.zeros(1, np.int32), np.float32([rating]), shape, rate
    )
    means = []
    for chain in range(40):
        users = Users(chain, np.float32([[0.5, 0.5]]), np.ones(2), np.zeros(1), tau=TAU)
        items = Items(chain, np.float32([[0.5, 0.5]]), np.ones(2), np.zeros(1))
        streams = Stream(3, chain, 0), Stream(3, chain, 0)
        values = []
        for sweep in range(440):
            gibbs.sweep(users, items, streams)
            if sweep >= 40:
                (u, a), (v, b) = users.factors[0].astype(float), items.factors[0].astype(float)
                values.append([u * v, a + b, (u * v) ** 2, (a + b) ** 2])
        means.append(np.mean(values, axis=0))
    error = np.std(means, axis=0, ddof=1) / np.sqrt(len(means))
    assert np.abs((np.mean(means, axis=0) - exact) / error).max() < 6
    wrong = np.array(quadrature(rating, shape, 1.3 * rate))  # another prior would be seen
    assert np.abs((np.mean(means, axis=0) - wrong) / error).max() > 6


def quadrature(rating, shape, rate):
    grid = np.linspace(-6, 6, 601)
    prior = stats.t.pdf(grid / np.sqrt(rate / shape), 2 * shape)  # λ integrated out
    weights = np.outer(prior, prior).ravel()
    products, sums = np.outer(grid, grid).ravel(), np.add.outer(grid, grid).ravel()
    # Both as densities on a fine axis, so that what is left is one integral over two numbers.
    axis = np.linspace(-12, 12, 1201)
    edges = np.append(axis - 0.01, axis[-1] + 0.01)
    p_product = np.histogram(products, edges, weights=weights)[0]
    p_sum = np.histogram(sums, edges, weights=weights)[0]
    joint = p_product[:, None] * p_sum * np.exp(-TAU / 2 * (rating - np.add.outer(axis, axis)) ** 2)
    joint /= joint.sum()
    of_product, of_sum = joint.sum(axis=1), joint.sum(axis=0)
    return [of_product @ axis, of_sum @ axis, of_product @ axis**2, of_sum @ axis**2]


def test_precisions_are_drawn_from_their_conditional():
    """Gamma(α₀ + n/2, β₀ + ½ Σ θ²) of each column: Kolmogorov-Smirnov of 4,000 draws at 10⁻⁷."""
    squares = np.array([3.0, 40.0])
    prior, stream = GammaPrior(2.0, 3.0), Stream(1, 0, 0)
    draws = np.array([prior.draw(squares, 11, stream, number, "users") for number in range(4000)])
    for k, square in enumerate(squares):
        law = stats.gamma(2.0 + 5.5, scale=1 / (3.0 + square / 2))
        assert stats.kstest(draws[:, k], law.cdf).pvalue > 1e-7
        off = stats.gamma(2.0 + 6.0, scale=1 / (3.0 + square / 2))  # n one too many
        assert stats.kstest(draws[:, k], off.cdf).pvalue < 1e-7
    other = prior.draw(squares, 11, stream, 0, "items")
    assert not np.array_equal(other, draws[0])


def test_the_first_sweep_draws_other_numbers_than_the_start():
    """Where ratings say nothing a sweep draws the rows from the prior of the start anew."""
    streams = Stream(3, 0, 0), Stream(3, 0, 0)
    users, items = (initial_rows(kind, 0, 3, 3, 3, streams[0]) for kind in (Users, Items))
    before = users.factors.copy(), items.factors.copy()
    users.tau = 0.0
    ratings = Ratings(USERS, ITEMS, np.zeros(len(USERS), np.float32), 3, 3)
    Gibbs(ratings, prior=None, noise=None, threads=ONE).sweep(users, items, streams)
    for rows, old in zip((users, items), before, strict=True):
        assert not np.allclose(rows.factors, old, rtol=1e-3)


def test_ratings_by_row():
    rows = np.array([2, 0, 2, 2], np.int32)
    by_row = ByRow.of(rows, np.array([5, 6, 7, 8], np.int32), np.float32([1, 2, 3, 4]), 4)
    assert by_row.offsets.tolist() == [0, 1, 1, 4, 4]
    assert by_row.others.tolist() == [6, 5, 7, 8]
    assert by_row.values.tolist() == [2, 1, 3, 4]
