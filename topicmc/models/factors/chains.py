"""The chains of matrix factorisation as D-SGLD moves them, by SGLD, by SGD or by Gibbs sweeps."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from topicmc.engine.dsgld import Held, Part
from topicmc.engine.state import ReadOnDemand, Table
from topicmc.engine.transport.base import Transport
from topicmc.errors import DivergedError
from topicmc.kernels.threads import Threads
from topicmc.models.factors.gibbs import Gibbs
from topicmc.models.factors.layout import Layout
from topicmc.models.factors.ratings import Ratings
from topicmc.models.factors.residuals import squared_error
from topicmc.models.factors.rows import (
    SIDES,
    Factors,
    GammaPrior,
    Rows,
    Stream,
    Users,
    initial_rows,
    settle,
    sum_squares,
)
from topicmc.models.factors.settings import FactorSettings, Resolved
from topicmc.models.factors.sgld import Sgld, block_of, rates
from topicmc.samplers.steps import step_size
from topicmc.storage.checkpoints import Checkpoint


class FactorChains:
    """The `topicmc.engine.dsgld.Target` of matrix factorisation.

    Args:
        config: resolved settings.
        ratings: those to train on, standardised.
        transport: who hosts which workers.
        threads: the threads of this process.
    """

    def __init__(
        self, config: Resolved, ratings: Ratings, transport: Transport, threads: Threads
    ) -> None:
        self._config, self._transport, self._threads = config, transport, threads
        self.layout = layout = Layout.of(ratings, config.split, config.workers)
        self.at_once = layout.n_parts
        self._sizes = {"users": ratings.n_users, "items": ratings.n_items}
        self._width = config.factors + 1
        self.parts: Mapping[str, Part] = {side: self._part(side) for side in SIDES}
        self._temperature = 0.0 if config.sampler == "sgd" else 1.0
        self._prior = (
            GammaPrior(config.precision_shape, config.precision_rate)
            if config.draws_precision
            else None
        )
        self._noise = GammaPrior(1.0, 1.0) if config.learn_noise else None
        self._n_ratings = len(ratings)
        self._rates_of = self._rates_of_all(ratings)
        self.drawn = self._drawn(ratings)
        self.start = math.ceil(config.start(len(ratings) / self.drawn))
        self._workers = self._opened(ratings)

    def _part(self, side: str) -> Part:
        sizes = {"rows": self.layout.part_size(side), "width": self._width}
        return Part(Table(SIDES[side], sizes, f"{side}-"), partial(self._places, side))

    def _places(self, side: str, round_number: int) -> list[int]:
        chains, parts = range(self._config.chains), range(self.layout.n_parts)
        place = self.layout.worker_of
        return [place(side, part, chain, round_number) for chain in chains for part in parts]

    def _rates_of_all(self, ratings: Ratings) -> Callable[[str, float], np.ndarray]:
        """How fast the time of every row of a side goes in a chain of some τ."""
        worth = self.layout.worth(ratings, self._config.batch_size)
        counts = {side: ratings.counts(side) for side in SIDES}

        @lru_cache(maxsize=len(SIDES))  # of one chain: they take turns
        def found(side: str, tau: float) -> np.ndarray:
            return rates(counts[side], worth, tau)

        return found

    def _drawn(self, ratings: Ratings) -> float:
        """Ratings that a chain draws in an update, in the mean: all in a sweep."""
        if self._config.sampler == "gibbs":
            return len(ratings)
        return self.layout.drawn(ratings, self._config.batch_size)

    def _opened(self, ratings: Ratings) -> dict[int, Sgld] | Gibbs:
        """The blocks of the hosted workers, or all ratings for each."""
        config = self._config
        if config.sampler == "gibbs":
            return Gibbs(ratings, prior=self._prior, noise=self._noise, threads=self._threads)
        return {
            worker: Sgld(
                block_of(self.layout, ratings, worker),
                worker,
                batch_size=config.batch_size,
                temperature=self._temperature,
                seed=config.seed,
                threads=self._threads,
            )
            for worker in self._transport.workers
        }

    # ---- states

    def _place_of(self, state: Rows) -> tuple[int, int, int]:
        """The chain of a state, its first row, and the row after its last."""
        chain, part = divmod(state.index, self.layout.n_parts)
        return chain, *self.layout.rows_of(state.side, part)

    def _stream(self, state: Rows) -> Stream:
        chain, first, _ = self._place_of(state)
        return Stream(self._config.seed, chain, first)

    def initial(self, part: str, index: int) -> Rows:
        chain, number = divmod(index, self.layout.n_parts)
        first, last = self.layout.rows_of(part, number)
        rows = initial_rows(
            SIDES[part], index, last - first, self.layout.part_size(part), self._width,
            Stream(self._config.seed, chain, first),
        )  # fmt: skip
        if self._prior is None:
            rows.precision[:] = self._config.precision
        if isinstance(rows, Users):
            rows.tau = self._config.noise_precision
        return rows

    def _rates(self, state: Rows, tau: float) -> np.ndarray:
        """How fast the time of each row of a state goes, float64 (n,), by the τ of its chain."""
        _, first, last = self._place_of(state)
        return self._rates_of(state.side, tau)[first:last]

    def _brought_up_to_date(self, state: Rows, tau: float) -> Rows:
        rates = self._rates(state, tau)
        settle(state, rates, self._temperature, self._stream(state), self._threads)
        return state

    def settle(self, state: Rows) -> Rows:
        """The state as it is: rows may wait on their way."""
        return state

    def after_averaging(self, state: Rows) -> None:
        """Chains are never averaged: the factors of one are rotated against those of another."""

    # ---- rounds

    def update(
        self, worker: int, states: Mapping[str, Rows], position: int, *, frequency: float,
        mean_update: int,
    ) -> tuple[int]:  # fmt: skip
        """One update on a minibatch, or a sweep; the ratings drawn."""
        users, items = states["users"], states["items"]
        assert isinstance(users, Users)
        streams = self._stream(users), self._stream(items)
        if isinstance(self._workers, Gibbs):
            self._workers.sweep(users, items, streams)
            self._check(users, sum_squares(items))
            return (len(self._workers),)
        step = self.step_size(mean_update)
        weight, even = 1.0, 1.0
        if self._config.split != "none":
            weight = 1 / frequency
            even = self.at_once / (self._config.workers * frequency)  # τ̄ / τ_s: 1 but for balance
        rates = self._rates(users, users.tau), self._rates(items, users.tau)
        errors = self._workers[worker].update(
            users, items, streams, rates, position, step=step, weight=weight, time=step * even
        )
        self._check(users, errors)
        return (len(errors),)

    def _check(self, state: Rows, figures: np.ndarray) -> None:
        if not np.isfinite(figures).all():
            raise DivergedError(
                f"chain {self._place_of(state)[0]} diverged at update {state.update}: its factors"
                f" are no longer finite; {remedy(self._config)}"
            )

    def step_size(self, update: int) -> float:
        """ε of that update: a (1 + t/b)^−c."""
        config = self._config
        return step_size(update, config.step_size, config.step_offset, config.step_decay)

    def after_round(self, number: int, held: Held) -> None:
        """Draws the precisions of every chain given all its rows, every so many rounds."""
        every = self._config.precision_every
        if self._config.sampler == "gibbs" or number % every:
            return
        if self._prior is not None:
            for side in SIDES:
                self._draw_precision(self._prior, number, side, held)
        if self._noise is not None:
            self._draw_noise(self._noise, number, held)

    def _draw_precision(self, prior: GammaPrior, number: int, side: str, held: Held) -> None:
        squares = np.zeros((self._config.chains, self._width))
        for worker, state in sorted(held[side].items()):  # by worker: sums have one order
            self._brought_up_to_date(state, held["users"][worker].tau)
            squares[self._place_of(state)[0]] += sum_squares(state)
        squares, count = self._transport.sum(squares), self._sizes[side]
        for state in held[side].values():
            stream = self._stream(state)
            state.precision = prior.draw(squares[stream.chain], count, stream, number, side)

    def _draw_noise(self, prior: GammaPrior, number: int, held: Held) -> None:
        """τ, given the errors of the n ratings where a chain is, if there are any. Their squares
        stand for those of all N, as minibatches do:

            Σ e² ≈ N/n Σ e² of the n ratings

        The chain has just worked on these, which makes their errors a little too small."""
        assert isinstance(self._workers, dict)
        found = np.zeros((self._config.chains, 2))  # Σ e² and n
        for worker, users in sorted(held["users"].items()):
            block, items = self._workers[worker].block, held["items"][worker]
            for state in (users, items):  # before there is another τ
                self._brought_up_to_date(state, users.tau)
            squares = squared_error(
                users.factors, block.users, items.factors, block.items, block.values, self._threads
            )
            found[self._place_of(users)[0]] += squares, len(block)
        found = self._transport.sum(found)
        for state in held["users"].values():
            stream = self._stream(state)
            squares, count = found[stream.chain]
            if count > 0:
                whole = np.array([self._n_ratings / count * squares])
                drawn = prior.draw(whole, self._n_ratings, stream, number, "ratings")
                state.tau = float(drawn[0])

    # ---- reading

    def chains(self, held: Held) -> Mapping[int, Factors]:
        """The hosted chains. Rows that wait are moved in a copy, so that who reads when does not
        change what comes next; a chain in parts is put together on every process, and is that of
        the one which holds its first users."""
        if self.layout.n_parts > 1:
            return self._put_together(held)
        users = {state.index: state for state in held["users"].values()}
        items = {state.index: state for state in held["items"].values()}

        def read(number: int) -> Factors:
            tau = users[number].tau
            u, v = self._read(users[number], tau), self._read(items[number], tau)
            return Factors(number, u.factors, v.factors, u.precision, v.precision, tau, u.update)

        return ReadOnDemand(sorted(users), read)

    def _read(self, state: Rows, tau: float) -> Rows:
        copied = replace(state, factors=state.factors.copy(), moved_at=state.moved_at.copy())
        return self._brought_up_to_date(copied, tau)

    def _put_together(self, held: Held) -> dict[int, Factors]:
        whole: dict[str, np.ndarray] = {}
        precision: dict[str, np.ndarray] = {}
        mine: dict[int, tuple[float, int]] = {}  # τ and updates of chains
        for side, size in self._sizes.items():
            rows = np.zeros((self._config.chains, size, self._width), np.float32)
            drawn = np.zeros((self._config.chains, self._width))
            for worker, state in held[side].items():
                chain, first, last = self._place_of(state)
                read = self._read(state, held["users"][worker].tau)
                rows[chain, first:last] = read.factors[: last - first]
                if state.index % self.layout.n_parts == 0:
                    drawn[chain] = state.precision
                    if side == "users":
                        mine[chain] = state.tau, state.update
            whole[side] = self._transport.sum(rows)
            precision[side] = self._transport.sum(drawn)
        return {
            chain: Factors(
                chain,
                whole["users"][chain],
                whole["items"][chain],
                precision["users"][chain],
                precision["items"][chain],
                *known,
            )
            for chain, known in sorted(mine.items())
        }

    # ---- what else the driver asks

    def in_start(self, update: int) -> bool:
        """Whether a state is no sample: of SGD, which descends to a mode, none is."""
        return self._config.sampler == "sgd" or update <= self.start

    def metrics(self, update: int, states: Sequence[Rows]) -> dict[str, Any]:
        """The passes of each chain, and the step size; a sweep has none."""
        passes = {"epochs": update * self.drawn / self._n_ratings}
        if self._config.sampler == "gibbs":
            return passes
        return {**passes, "step_size": self.step_size(update)}

    def restored(
        self, part: str, index: int, saved: Mapping[int, Any], checkpoint: Checkpoint
    ) -> Rows:
        return self.parts[part].table.restored(index, saved[index], checkpoint)

    def warm_up(self) -> None:
        """Compiles every kernel of an update: one is made, on states that are thrown away."""
        for worker in list(self._transport.workers)[:1]:
            states = {side: self.initial(side, self.layout.part_of(side, worker)) for side in SIDES}
            self.update(worker, states, 0, frequency=1.0, mean_update=0)
            for state in states.values():
                self._brought_up_to_date(state, self._config.noise_precision)
                sum_squares(state)


def remedy(config: Resolved) -> str:
    """What to do when a chain has diverged."""
    if config.sampler == "gibbs":
        told = f"lower --noise-precision (now {config.noise_precision:g})"
        usual = FactorSettings.precision_shape, FactorSettings.precision_rate
        if (config.precision_shape, config.precision_rate) == usual:
            return told
        return f"{told}, or raise --precision-rate or --precision-shape"
    return f"lower --step-size (now {config.step_size:g}) or raise --batch-size"
