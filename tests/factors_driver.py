"""Training of matrix factorisation in one process, as plain loops: what the engine must equal in
law, and what the bench measures until then."""

import numpy as np

from topicmc.kernels.random import stream_key
from topicmc.kernels.threads import Threads
from topicmc.models.factors.gibbs import Gibbs
from topicmc.models.factors.layout import Layout
from topicmc.models.factors.rows import SIDES, draw_precision, initial_rows, sum_squares
from topicmc.models.factors.sgld import Sgld


class Dsgld:
    def __init__(
        self, ratings, *, n_factors, split="rows", workers=1, chains=1, tau=2.0, batch_size=1000,
        step=0.4, trajectory=50, temperature=1.0, seed=0, threads=1, shape=1.0, rate=1.0,
        precision_every=1, precision=None,
    ):  # fmt: skip
        self.layout = layout = Layout.of(ratings, split, workers)
        self.seed, self.step, self.trajectory = seed, step, trajectory
        self.shape, self.rate, self.precision_every = shape, rate, precision_every
        worth = layout.worth(ratings, batch_size)
        self.workers = [
            Sgld(
                layout.block(ratings, worker, worth, tau), worker, tau=tau, batch_size=batch_size,
                temperature=temperature, seed=seed, threads=Threads(threads),
            )
            for worker in range(workers)
        ]  # fmt: skip
        self.chains = [
            {
                side: [
                    initial_rows(side, chain, a, b - a, n_factors, seed=seed)
                    for a, b in layout.parts(side)
                ]
                for side in SIDES
            }
            for chain in range(chains)
        ]
        self.fixed = precision
        if precision is not None:
            for chain in self.chains:
                for side in SIDES:
                    for rows in chain[side]:
                        rows.precision[:] = precision
        self.weight = layout.weight
        self.positions = [0] * workers
        self.round_number = 0

    def parts_at(self, chain, worker):
        found = []
        for side in SIDES:
            for part, rows in enumerate(self.chains[chain][side]):
                if self.layout.worker_of(side, part, chain, self.round_number) == worker:
                    found.append(rows)
        return found

    def round(self, step=None):
        for chain in range(len(self.chains)):
            for worker, sgld in enumerate(self.workers):
                found = self.parts_at(chain, worker)
                if not found:
                    continue
                users, items = found
                for _ in range(self.trajectory):
                    sgld.update(
                        users, items, self.positions[worker], step=step or self.step,
                        weight=self.weight,
                    )  # fmt: skip
                    self.positions[worker] += 1
                sgld.settle(users, items)
        self.round_number += 1
        if self.fixed is None and self.round_number % self.precision_every == 0:
            self.draw_precisions()

    def draw_precisions(self):
        for number, chain in enumerate(self.chains):
            for side in SIDES:
                squares = sum(sum_squares(rows) for rows in chain[side])
                count = sum(len(rows.factors) for rows in chain[side])
                key = stream_key(self.seed, f"precision of {side}", number)
                drawn = draw_precision(
                    squares, count, self.shape, self.rate, key=key, number=self.round_number
                )
                for rows in chain[side]:
                    rows.precision = drawn

    def start_at(self, states):
        """Puts the chains at some states, and draws their precisions."""
        for chain, state in zip(self.chains, states, strict=True):
            for side, whole in zip(SIDES, state, strict=True):
                for rows in chain[side]:
                    rows.factors[:] = whole[rows.first : rows.first + len(rows.factors)]
        self.draw_precisions()

    def state(self, chain=0):
        return [
            np.concatenate([rows.factors for rows in self.chains[chain][side]]) for side in SIDES
        ]


class GibbsDriver:
    def __init__(
        self, ratings, *, n_factors, tau=2.0, seed=0, chains=1, threads=1, shape=1.0, rate=1.0
    ):
        self.gibbs = Gibbs(
            ratings, tau=tau, shape=shape, rate=rate, seed=seed, threads=Threads(threads)
        )
        sizes = {"users": ratings.n_users, "items": ratings.n_items}
        self.chains = [
            [initial_rows(side, chain, 0, sizes[side], n_factors, seed=seed) for side in SIDES]
            for chain in range(chains)
        ]

    def round(self):
        for users, items in self.chains:
            self.gibbs.sweep(users, items)

    def state(self, chain=0):
        return [rows.factors for rows in self.chains[chain]]


def predictions(state, ratings):
    users, items = state
    u, v = users[ratings.users], items[ratings.items]
    return np.einsum("nk,nk->n", u[:, :-1], v[:, :-1]) + u[:, -1] + v[:, -1]
