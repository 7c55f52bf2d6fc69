"""What SGLD samples, against exact laws: a row given all others, blocks, and Gibbs."""

from dataclasses import replace

import naive_factors as naive
import numpy as np
import pytest
from factors_driver import Dsgld, GibbsDriver, predictions

from topicmc.kernels.threads import Threads
from topicmc.models.factors.layout import Layout
from topicmc.models.factors.ratings import Ratings
from topicmc.models.factors.rows import Rows, initial_rows
from topicmc.models.factors.sgld import Block, Sgld, rates

# --- one row given all others ---------------------------------------------------------------------

TAU, WORTH, STEP = 2.0, 5, 0.8
PRECISION = np.array([3.0, 5.0, 4.0])
N_ALIKE = 8_000  # replicates of each kind of row
KINDS = (3, 60)  # ratings of a row of each kind
N_ITEMS = sum(KINDS)
ITEMS = np.random.default_rng(1).normal(0, 0.8, (N_ITEMS, 3)).astype(np.float32)
VALUES = np.random.default_rng(2).normal(0.5, 1, N_ITEMS).astype(np.float32)
N = N_ALIKE * N_ITEMS
M = N // WORTH


def of_kind(kind):
    """x = (factors, 1) of each rating of such a row, and the ratings less the items' biases."""
    first = sum(KINDS[:kind])
    chosen = slice(first, first + KINDS[kind])
    x = np.column_stack([ITEMS[chosen, :2].astype(float), np.ones(KINDS[kind])])
    return x, VALUES[chosen].astype(float) - ITEMS[chosen, 2]


def posterior(kind):
    x, y = of_kind(kind)
    covariance = np.linalg.inv(np.diag(PRECISION) + TAU * x.T @ x)
    return covariance @ (TAU * x.T @ y), covariance


def stationary(kind, step):
    """Mean and covariance of the chain with steps of this size, exactly: both follow linear
    equations, because a row's next state is A θ + b + noise, where A and b depend on which of its
    ratings are in the minibatch alone: with probability m/N, and two with m(m−1)/(N(N−1))."""
    x, y = of_kind(kind)
    own = step * rates(np.array([KINDS[kind]]), WORTH, TAU)[0]
    kick = own / 2 * N / M * TAU
    one, two = M / N, M * (M - 1) / (N * (N - 1))
    gram, pull = x.T @ x, x.T @ y
    decay = np.exp(-PRECISION * own / 2)
    mean = np.linalg.solve(
        np.eye(3) - decay[:, None] * (np.eye(3) - kick * one * gram), decay * kick * one * pull
    )
    squares = np.einsum("ni,nj,nk,nl->ijkl", x, x, x, x)  # Σ X_n S X_n = this · S

    def after(second):
        of_a = second - kick * one * (gram @ second + second @ gram)
        of_a += kick**2 * (
            two * gram @ second @ gram + (one - two) * np.einsum("ijkl,jk->il", squares, second)
        )
        cross = kick * one * np.outer(mean, pull)
        cross -= kick**2 * two * np.outer(gram @ mean, pull)
        cross -= kick**2 * (one - two) * np.einsum("ni,n,n,nj->ij", x, x @ mean, y, x)
        of_b = two * np.outer(pull, pull) + (one - two) * np.einsum("ni,n,nj->ij", x, y**2, x)
        noise = np.diag((1 - decay**2) / PRECISION)
        return np.outer(decay, decay) * (of_a + cross + cross.T + kick**2 * of_b) + noise

    constant = after(np.zeros((3, 3)))
    units = np.eye(9).reshape(9, 3, 3)
    linear = np.array([(after(unit) - constant).ravel() for unit in units]).T
    second = np.linalg.solve(np.eye(9) - linear, constant.ravel()).reshape(3, 3)
    return mean, second - np.outer(mean, mean)


def sampled(fault=None, n_updates=100, threads=2):
    """Rows of both kinds after updates that started from the exact law, (kinds, N_ALIKE, 3)."""
    kinds = np.repeat([0, 1], N_ALIKE)
    counts = np.array(KINDS)[kinds]
    users = np.repeat(np.arange(len(kinds)), counts).astype(np.int32)
    items = np.concatenate(
        [np.tile(np.arange(3), N_ALIKE), np.tile(np.arange(3, N_ITEMS), N_ALIKE)]
    ).astype(np.int32)
    block = Block(users, items, VALUES[items], rates(counts, WORTH, TAU), np.full(N_ITEMS, 1 / TAU))
    sgld = Sgld(
        block, 0, tau=TAU, batch_size=M, temperature=2.0 if fault == "noise of 2ε" else 1.0,
        seed=5, threads=Threads(threads),
    )  # fmt: skip
    generator = np.random.default_rng(3)
    start = np.concatenate(
        [generator.multivariate_normal(*stationary(kind, STEP), N_ALIKE) for kind in (0, 1)]
    )
    rows = Rows("users", 0, 0, start.astype(np.float32), PRECISION, np.zeros(len(kinds)))
    fixed = Rows("items", 0, 0, ITEMS.copy(), np.ones(3), np.zeros(N_ITEMS))
    for update in range(n_updates):
        weight = 2.0 if fault == "weight" else 1.0
        sgld.update(
            rows, fixed, update * WORTH, step=STEP, weight=weight
        )  # a pass each: independent
        fixed.factors[:], fixed.moved_at[:] = ITEMS, fixed.clock
        if fault == "printed noise":  # that of touched rows alone
            np.maximum(rows.moved_at, rows.clock - STEP, out=rows.moved_at)
    sgld.settle(rows, fixed)
    return rows.factors.reshape(2, N_ALIKE, 3).astype(float)


def worst_score(rows):
    """The largest standard score of means and covariances against the exact law."""
    worst = 0.0
    for kind in (0, 1):
        mean, covariance = stationary(kind, STEP)
        centred = rows[kind] - mean
        products = (
            np.einsum("ri,rj->rij", centred, centred).reshape(N_ALIKE, 9) - covariance.ravel()
        )
        for values in (centred, products):
            errors = values.std(axis=0) / np.sqrt(N_ALIKE)
            worst = max(worst, np.abs(values.mean(axis=0) / errors).max())
    return worst


@pytest.mark.parametrize("fault", [None, "printed noise", "noise of 2ε", "weight"])
def test_a_row_given_all_others_has_its_exact_law(fault):
    """Rows with 3 and with 60 ratings, of which a minibatch holds a fifth. 24 scores beyond 5.6: a
    false alarm in two million. The noise as it is printed, on touched rows alone, is seen."""
    assert (worst_score(sampled(fault)) > 5.6) == (fault is not None)


@pytest.mark.parametrize("kind", [0, 1])
def test_that_law_tends_to_the_posterior(kind):
    """2 law(ε) − law(2ε) lacks the term of order ε: a tenth of the step, a hundredth of the error."""
    mean, covariance = posterior(kind)
    errors = []
    for step in (0.02, 0.002):
        (m1, c1), (m2, c2) = stationary(kind, step), stationary(kind, 2 * step)
        errors.append(max(abs(2 * m1 - m2 - mean).max(), abs(2 * c1 - c2 - covariance).max()))
    scale = np.abs(covariance).max()
    assert errors[1] < 1e-5 * scale
    assert errors[0] > 30 * errors[1]


def test_the_printed_update_is_too_narrow_by_the_chance_of_being_touched():
    """Ahn (2015), equation 7.19, on the row with 3 ratings: variance h of the posterior's, where
    noise N(0, ε/h) gives all of it (within 8 %, a false alarm in 10⁶; the step adds 2 %)."""
    x, y = of_kind(0)
    mean, covariance = posterior(0)
    generator, n, own = np.random.default_rng(4), 20_000, 0.01
    chance = 1 - (1 - 1 / WORTH) ** 3
    ratios = []
    for variance in (1.0, 1 / chance):
        rows = generator.multivariate_normal(mean, covariance, n)
        for _ in range(int(12 / own / PRECISION.min())):
            inside = generator.random((n, 3)) < 1 / WORTH
            errors = inside * (y - rows @ x.T)
            drift = WORTH * TAU * errors @ x - PRECISION * rows / chance
            noise = generator.normal(0, np.sqrt(own * variance), rows.shape)
            rows = np.where(inside.any(axis=1)[:, None], rows + own / 2 * drift + noise, rows)
        ratios.append(np.trace(np.cov(rows.T)) / np.trace(covariance))
    assert ratios[0] == pytest.approx(chance, rel=0.12)
    assert ratios[1] == pytest.approx(1, rel=0.08)


def test_bits_do_not_depend_on_threads():
    results = [sampled(n_updates=3, threads=n) for n in (1, 2, 3)]
    assert len({rows.tobytes() for rows in results}) == 1


# --- blocks ---------------------------------------------------------------------------------------


def some_ratings(n_users, n_items, n, seed=0):
    generator = np.random.default_rng(seed)
    cells = generator.choice(n_users * n_items, n, replace=False)
    users, items = np.divmod(cells, n_items)
    rise = 1 + np.arange(n_users)[users] / n_users  # so that blocks differ
    values = (generator.normal(size=n) * rise).astype(np.float32)
    return Ratings(users.astype(np.int32), items.astype(np.int32), values, n_users, n_items)


@pytest.mark.parametrize(("split", "workers"), [("square", 4), ("square", 9), ("rows", 3)])
@pytest.mark.parametrize("fault", [None, "v = 1/S"])
def test_gradients_of_blocks_are_unbiased(split, workers, fault):
    """Over a cycle of rounds from one state, the mean of the kicks, over the steps, is half the
    gradient of all ratings: for every row, exactly but for single precision. Blocks are unequal."""
    ratings = some_ratings(23, 17, 160)
    layout = Layout.of(ratings, split, workers)
    assert len({int(layout.mask(ratings, worker).sum()) for worker in range(workers)}) > 1
    full = naive.gradients(
        *(initial_rows(side, 0, 0, n, 3, seed=1).factors for side, n in (("users", 23), ("items", 17))),
        ratings.users, ratings.items, ratings.values,
    )  # fmt: skip
    step, worth = 1e-3, layout.worth(ratings, 10**6)
    weight = {None: layout.weight, "v = 1/S": float(workers)}[fault]
    found = [np.zeros((23, 4)), np.zeros((17, 4))]
    n_rounds = layout.most_chains
    for round_number in range(n_rounds):
        for worker in range(workers):
            block = layout.block(ratings, worker, worth, TAU)
            sgld = Sgld(
                block, worker, tau=TAU, batch_size=10**6, temperature=0.0, seed=0, threads=Threads()
            )
            parts = []
            for side in ("users", "items"):
                for part, (first, last) in enumerate(layout.parts(side)):
                    if layout.worker_of(side, part, 0, round_number) == worker:
                        whole = initial_rows(side, 0, 0, (23, 17)[side == "items"], 3, seed=1)
                        parts.append(Rows(
                            side, 0, first, whole.factors[first:last].copy(), np.full(4, 1e-9),
                            np.zeros(last - first),
                        ))  # fmt: skip
            if not parts:
                continue
            before = [rows.factors.copy() for rows in parts]
            sgld.update(*parts, 0, step=step, weight=weight)
            for total, rows, old, rate in zip(
                found, parts, before, (block.user_rates, block.item_rates), strict=True
            ):
                kicks = (rows.factors.astype(float) - old) / (step / 2 * TAU * rate[:, None])
                total[rows.first : rows.first + len(kicks)] += kicks / n_rounds
    close = all(np.allclose(a, b, rtol=2e-3, atol=2e-2) for a, b in zip(found, full, strict=True))
    assert close == (fault is None or split == "rows")


@pytest.mark.parametrize(("split", "workers"), [("rows", 1), ("rows", 4), ("square", 9)])
def test_every_part_has_one_place_and_groups_share_no_row(split, workers):
    layout = Layout.of(some_ratings(30, 20, 200), split, workers)
    for round_number in range(2 * workers):
        places = set()
        for chain in range(layout.most_chains):
            users = [
                layout.worker_of("users", p, chain, round_number) for p in range(layout.n_parts)
            ]
            items = [
                layout.worker_of("items", p, chain, round_number) for p in range(layout.n_parts)
            ]
            assert set(users) == set(items)
            assert not places & set(users)  # a worker holds one chain
            places |= set(users)
            if split == "square":
                assert [layout.block_of(worker)[0] for worker in users] == list(
                    range(layout.n_parts)
                )
                assert [layout.block_of(worker)[1] for worker in items] == list(
                    range(layout.n_parts)
                )
        assert len(places) == workers
    visits = [layout.worker_of("users", 0, 0, r) for r in range(layout.most_chains)]
    assert len(set(visits)) == layout.most_chains


# --- SGLD and Gibbs -------------------------------------------------------------------------------


N_CHAINS = 24
PRIORS = {"shape": 5.0, "rate": 1.0}


def rated_by_two_factors():
    """300 of 30 × 20 ratings, from a model with two factors."""
    generator = np.random.default_rng(6)
    u, v = generator.normal(size=(30, 2)), generator.normal(size=(20, 2))
    ratings = some_ratings(30, 20, 300, seed=3)
    values = (u @ v.T)[ratings.users, ratings.items] + generator.normal(0, 0.7, 300)
    return replace(ratings, values=values.astype(np.float32))


def functionals(state, everything):
    """Some numbers that do not change when factors are rotated."""
    cells = predictions(state, everything).reshape(30, 20)
    return [
        cells[0, 0], cells[7, 3], (cells**2).mean(), cells[:10].mean(), cells[:, 5].mean(),
        *(np.square(side[:, -1]).mean() for side in state),
    ]  # fmt: skip


def long_run(driver, burn_in, n_rounds):
    """The mean of `functionals` over the rounds of each chain, (chains, functionals)."""
    cells = np.indices((30, 20)).reshape(2, -1).astype(np.int32)
    everything = Ratings(*cells, np.zeros(600, np.float32), 30, 20)
    total = 0.0
    for number in range(burn_in + n_rounds):
        driver.round()
        if number >= burn_in:
            values = [functionals(driver.state(c), everything) for c in range(N_CHAINS)]
            total = total + np.array(values, float) / n_rounds
    return total


@pytest.fixture(scope="module")
def gibbs():
    driver = GibbsDriver(rated_by_two_factors(), n_factors=2, chains=N_CHAINS, **PRIORS)
    return driver, long_run(driver, 200, 1500)


@pytest.mark.parametrize("fault", [None, "v = 1/S"])
@pytest.mark.parametrize(("split", "workers"), [("rows", 1), ("rows", 3), ("square", 4)])
def test_sgld_and_gibbs_have_the_same_means(gibbs, split, workers, fault):
    """30 × 20, 300 ratings, precisions drawn too; 2 E_ε − E_2ε against Gibbs, from its last states.
    Seven functionals of 24 chains beyond 7 standard errors: a false alarm in 10⁶."""
    if fault and split == "rows":
        return
    reference, means = gibbs
    found = []
    for step in (0.25, 0.5):
        driver = Dsgld(
            rated_by_two_factors(), n_factors=2, split=split, workers=workers, chains=N_CHAINS,
            batch_size=75 // workers, step=step, trajectory=2, seed=int(step * 4), **PRIORS,
        )  # fmt: skip
        if fault is not None:
            driver.weight = float(workers)
        driver.start_at([reference.state(chain) for chain in range(N_CHAINS)])
        found.append(long_run(driver, 100, 500))
    small, large = found
    squares = 4 * small.var(axis=0, ddof=1) + large.var(axis=0, ddof=1) + means.var(axis=0, ddof=1)
    difference = 2 * small.mean(axis=0) - large.mean(axis=0) - means.mean(axis=0)
    scores = difference / np.sqrt(squares / N_CHAINS)
    assert (np.abs(scores).max() > 7) == (fault is not None)
