"""Joint-distribution tests (Geweke 2004, "Getting it right") of samplers that keep assignments.

A sampler's step, in turn with new words drawn given its state, is a chain whose stationary law is
the prior of words and state together, in which everything can be reckoned. Chains start in the
prior, so no part of them is burn-in, and are independent, so that the error of a mean follows from
their spread, whatever the correlation within each. A mean is judged by Student's t.
"""

import naive_gibbs
import numpy as np
import pytest
from calibration.chains import started
from calibration.models import Model
from kept_chains import KeptChains
from scipy import stats

from topicmc.kernels.collapsed import collapsed_sweep, empty_counts
from topicmc.kernels.padding import padded_topics
from topicmc.kernels.random import stream_key
from topicmc.samplers.row_prior import RowPrior

LENGTHS = np.array([3, 5, 6, 8])
OFFSETS = np.r_[0, np.cumsum(LENGTHS)]
DOC_OF = np.repeat(np.arange(len(LENGTHS)), LENGTHS)
N = int(LENGTHS.sum())
ALPHA = np.array([0.2, 0.4, 0.6, 0.8, 1.0, 1.2])
K, W, BETA = len(ALPHA), 4, 0.3
FALSE_ALARM = 1e-6  # of a test, shared among its quantities


def picked(weights, generator):
    """An index from each row of probabilities (n, m)."""
    edges = np.cumsum(weights, axis=1)
    return (edges <= generator.random((len(weights), 1)) * edges[:, -1:]).sum(axis=1)


def prior(n, generator):
    """φ (n, K, W), z (n, N) of n independent draws."""
    phi = generator.dirichlet(np.full(W, BETA), (n, K))
    mixes = generator.dirichlet(ALPHA, (n, len(LENGTHS)))
    z = picked(mixes[:, DOC_OF].reshape(-1, K), generator).reshape(n, N)
    return phi, z


def words(phi, z, generator):
    """Tokens (n, N) given φ and z."""
    chains = np.arange(len(z))[:, None]
    return picked(phi[chains, z].reshape(-1, W), generator).reshape(z.shape)


def moments(z, tokens):
    """What is compared of n states: tokens of the first topic, Σ n_dk², Σ n_k², Σ n_kw²: (n, 4)."""
    by = np.eye(K, dtype=int)[z]
    of_docs = np.add.reduceat(by, OFFSETS[:-1], axis=1)
    of_words = np.einsum("nik,niw->nkw", by, np.eye(W, dtype=int)[tokens])
    totals = of_docs.sum(axis=1)
    squares = [(x**2).reshape(len(z), -1).sum(axis=1) for x in (of_docs, totals, of_words)]
    return np.stack([totals[:, 0], *squares], axis=1)


def expected():
    """The means of `moments` under the prior, exactly: a Dirichlet-multinomial law of n tokens has
    E n_k(n_k − 1) = n (n − 1) α_k (α_k + 1) / (A (A + 1))."""
    total = ALPHA.sum()
    share, pair = ALPHA / total, ALPHA * (ALPHA + 1) / (total * (total + 1))
    of_docs = LENGTHS.sum() + (LENGTHS * (LENGTHS - 1)).sum() * pair.sum()
    falling = (LENGTHS * (LENGTHS - 1)).sum() * pair
    falling = falling + (N**2 - (LENGTHS**2).sum()) * share**2  # pairs in different documents
    of_words = N + falling.sum() * (BETA + 1) / (W * BETA + 1)
    return np.array([N * share[0], of_docs, N + falling.sum(), of_words])


def p_values(values):
    """Two-sided, of the means of `moments` (chains, steps, 4)."""
    means = values.mean(axis=1)
    error = means.std(axis=0, ddof=1) / np.sqrt(len(means))
    return 2 * stats.t.sf(np.abs(means.mean(axis=0) - expected()) / error, len(means) - 1)


def test_what_is_expected():
    """100,000 draws from the prior, at the tests' own rate of false alarms."""
    generator = np.random.default_rng(0)
    phi, z = prior(100_000, generator)
    values = moments(z, words(phi, z, generator))
    assert p_values(values[:, None]).min() > FALSE_ALARM / 4


def collapsed_chain(number, n_steps, fault):
    """`moments` after each step of one chain of plain collapsed Gibbs sampling: (n_steps, 4)."""
    generator = np.random.default_rng([1, number])
    phi, z = prior(1, generator)
    z = z[0].astype(np.uint8)
    alpha = padded_topics(2 * ALPHA if fault == "α twice" else ALPHA)
    n_rows = {"β K for β W": K}.get(fault, W)  # the kernel takes W from the rows of the counts
    beta = 0.75 * BETA if fault == "β a quarter less" else BETA
    seen = []
    for step in range(n_steps):
        phi = generator.dirichlet(np.full(W, BETA), (1, K))  # given z alone, φ has its prior
        tokens = words(phi, z[None], generator)[0].astype(np.uint16)
        word_topic, totals = empty_counts(n_rows, K)
        np.add.at(word_topic, (tokens, z), 1)
        totals[:] = word_topic.sum(axis=0)
        collapsed_sweep(
            OFFSETS, tokens, z, word_topic, totals, alpha, RowPrior(beta).rows(n_rows, K),
            key=stream_key(2, "geweke"),
            sweep=step, first_id=len(LENGTHS) * number,
        )  # fmt: skip
        seen.append((z.copy(), tokens))
    return moments(*map(np.array, zip(*seen, strict=True)))


@pytest.mark.parametrize("fault", [None, "α twice", "β K for β W", "β a quarter less"])
def test_collapsed_gibbs_document_by_document(fault):
    """200 chains of 60 steps; fails by chance once in a million."""
    values = np.array([collapsed_chain(number, 60, fault) for number in range(200)])
    assert (p_values(values).min() < FALSE_ALARM / 4) == (fault is not None)


def side_by_side(phi, z, tokens, generator, *, alpha, beta, offsets, step, fault=None):
    """Chains of SCIR with kept assignments, Σ_w θ_wk drawn from its law given z."""
    totals = np.eye(len(alpha), dtype=int)[z].sum(axis=1)
    theta = phi * generator.gamma(phi.shape[2] * beta + totals)[:, :, None]
    return KeptChains(
        alpha, beta, offsets, phi.shape[2], tokens, z.astype(np.uint8), theta, step, seed=4,
        faults=(fault,) if fault else (),
    )  # fmt: skip


@pytest.mark.parametrize("fault", [None, "alpha twice", "beta twice", "counts twice"])
def test_kept_assignments(fault):
    """2,000 chains of 80 steps; fails by chance once in a million."""
    generator = np.random.default_rng(3)
    phi, z = prior(2000, generator)
    chains = side_by_side(
        phi, z, words(phi, z, generator), generator,
        alpha=ALPHA, beta=BETA, offsets=OFFSETS, step=1.0, fault=fault,
    )  # fmt: skip
    values = []
    for _ in range(80):
        chains.draw()
        chains.move()
        values.append(moments(chains.z, chains.tokens))
        chains.tokens = words(chains.phi().astype(float), chains.z, generator)
    p = p_values(np.stack(values, axis=1))
    assert (p.min() < FALSE_ALARM / 4) == (fault is not None)


@pytest.mark.parametrize("fault", [None, "old sums"])
def test_sums_are_drawn_anew_before_topics_move(fault):
    """Σ_kw n_kw² of three documents of two tokens, 64 states: 4,000 chains of 100 short steps that
    start in the exact posterior. New words would hide what is planted: a move whose speed depends
    on the sums of the assignments before. Fails by chance once in a million."""
    tokens, offsets = np.array([0, 1, 1, 2, 0, 2]), np.array([0, 2, 4, 6])
    alpha, beta, n = np.full(2, 0.4), 0.1, 4000
    states, law = naive_gibbs.enumerate_collapsed(offsets, tokens, 3, alpha, beta)

    def squares(z):
        counts = np.einsum("nik,iw->nkw", np.eye(2)[z], np.eye(3)[tokens])
        return counts, (counts**2).sum(axis=(1, 2))

    generator = np.random.default_rng(1)
    z = states[generator.choice(len(law), n, p=law)]
    phi = generator.gamma(beta + squares(z)[0])
    phi /= phi.sum(axis=2, keepdims=True)
    chains = side_by_side(
        phi, z, np.tile(tokens, (n, 1)), generator, alpha=alpha, beta=beta, offsets=offsets,
        step=0.1, fault=fault,
    )  # fmt: skip
    means = np.zeros(n)
    for _ in range(100):
        chains.draw()
        chains.move()
        means += squares(chains.z)[1] / 100
    found = stats.ttest_1samp(means, law @ squares(states)[1])
    assert (found.pvalue < FALSE_ALARM) == (fault is not None)


def test_side_by_side_is_as_in_training():
    """Three rounds of `KeptAssignments` and of one chain of `KeptChains` from the same state: the
    same topics of 700 tokens and θ, but for the rounding of φ."""
    model = Model(n_topics=3, n_words=12, n_docs=40)
    corpus, _ = model.draw(np.random.default_rng(5))
    options = {"sampler": "scir", "remember": True, "batch_size": 40, "step_size": 0.5}
    method = started(model, corpus, 6, options)
    method.round()
    (worker,) = method.samplers.values()
    theta = method._chain.theta[:, :3].T[None]
    chains = KeptChains(
        np.full(3, model.alpha), model.beta, corpus.offsets, 12, corpus.tokens[None],
        worker.z[None].copy(), theta.astype(float), 0.5, seed=6, sweep=1,
    )  # fmt: skip
    chains.chain.update = 1
    for _ in range(3):
        method.round()
        chains.draw()
        chains.move()
    np.testing.assert_array_equal(chains.z[0], worker.z)
    np.testing.assert_allclose(chains.chain.theta, method._chain.theta[:, :3], rtol=1e-5)
