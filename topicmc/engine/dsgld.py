"""Distributed stochastic-gradient MCMC: what one round is (Ahn, Shahbaba & Welling 2014, Alg. 1).

In a round each chain visits a worker and makes a trajectory of τ_s updates on that worker's data;
then its last state moves on and, during burn-in, the chains of a group are averaged. An average is
no posterior sample. Training on one machine is the same thing with one worker and one chain: the
chain stays, τ = 1, and nothing moves.

Worker s makes a fraction q_s of the updates of a chain, so what it estimates of its own data is
worth 1 / q_s times as much (Proposition 3.1 with N_s / (N q_s)). That is all that the driver adds:
how a minibatch estimates its worker's data, say by D_s / n for n of D_s documents, is the target's
business.

A chain may travel in several parts, each on its own itinerary, and be on several workers at once;
then the q_s sum to that number.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol

import numpy as np

from topicmc.engine.balance import Balance
from topicmc.engine.method import WaitFraction
from topicmc.engine.schedule import split_groups
from topicmc.engine.state import S, Table
from topicmc.engine.transport.base import Transport
from topicmc.settings.groups import DsgldRun
from topicmc.storage.checkpoints import Checkpoint


@dataclass(frozen=True)
class Part(Generic[S]):
    """One kind of state that travels: whole chains, or one part of each."""

    table: Table[S]
    places: Callable[[int], Sequence[int]]
    """By the number of a round the worker of each state; no two share one."""


Held = Mapping[str, Mapping[int, Any]]
"""States by the name of their part and by worker."""


class Target(Protocol):
    """A posterior that D-SGLD samples. States are changed in place."""

    parts: Mapping[str, Part]
    at_once: int
    """Workers that a chain is on in a round."""

    def initial(self, part: str, index: int) -> Any:
        """The state that one of a part begins with; deterministic."""

    def update(
        self, worker: int, states: Mapping[str, Any], position: int, *, frequency: float,
        mean_update: int,
    ) -> tuple[int, ...]:  # fmt: skip
        """One update on the minibatch at a position of a worker's data, by an estimate that is
        divided by ``frequency``, q_s; what was drawn, as `Model.counted` says. ``mean_update`` is
        how far the chains are in the mean.

        Raises DivergedError when the state is no longer finite."""

    def settle(self, state: Any) -> Any:
        """The state itself, with all of it brought up to date."""

    def after_averaging(self, state: Any) -> None:
        """Renews what follows from what was averaged."""

    def after_round(self, number: int, held: Held) -> None:
        """What is drawn once a round given whole chains. Collective."""

    def chains(self, held: Held) -> Mapping[int, Any]:
        """The hosted chains to be read, by number; reading does not change what comes next.
        Collective where chains travel in parts."""

    def in_start(self, update: int) -> bool:
        """Whether a state after so many updates is one of the start, whose last update makes one
        too; so is that which a chain begins with."""

    def metrics(self, update: int, states: Sequence[Any]) -> dict[str, Any]:
        """What a metrics record should hold of the hosted states, in their order, as JSON."""

    def restored(
        self, part: str, index: int, saved: Mapping[int, Any], checkpoint: Checkpoint
    ) -> Any:
        """A state from a checkpoint, with the facts of all states of the part, by index."""

    def warm_up(self) -> None:
        """Compiles every kernel of an update."""


class Dsgld:
    """The chains and workers of this process, and the round that moves them: a `Method`.

    Args:
        target: what is sampled.
        config: resolved settings.
        transport: who hosts which workers.
        slow: factor by which a worker is slowed down, for experiments.
    """

    def __init__(
        self,
        target: Target,
        config: DsgldRun,
        transport: Transport,
        slow: Mapping[int, float] | None = None,
    ) -> None:
        self.target = target
        self.config = config
        self.transport = transport
        self.slow = slow or {}
        self.groups = split_groups(config.chains, config.groups)
        self.round_number = 0
        self.balance = Balance(config, transport)
        self.positions = dict.fromkeys(transport.workers, 0)
        self._first = next(iter(target.parts))  # the name of a part: all make the same updates
        # Updates of each of its states, as every process reckons them: a balanced one may have made
        # fewer than the mean.
        self.made = [0] * len(target.parts[self._first].places(0))
        self.average_until = config.average_until or 0
        self._waited = WaitFraction(transport)
        self.held = self._hosted(0, target.initial)

    def _hosted(self, round_number: int, make: Callable[[str, int], Any]) -> dict[str, dict]:
        """The states that are on the hosted workers in a round, each made by its part and index."""
        return {
            name: {
                worker: make(name, index)
                for index, worker in enumerate(part.places(round_number))
                if worker in self.transport.workers
            }
            for name, part in self.target.parts.items()
        }

    @property
    def update(self) -> int:
        """Updates per chain, in the mean over chains."""
        return self.round_number * self.config.trajectory

    @property
    def position(self) -> int:
        """Trajectories of each chain, which are as long on any number of workers."""
        return self.round_number

    @property
    def in_burn_in(self) -> bool:
        """Whether a chain, or all of them in the mean, is still in its start, or is an average."""
        return self.is_start(self.position) or self.target.in_start(min(self.made))

    def is_start(self, position: int) -> bool:
        """Whether a state after so many trajectories is no sample: one of the start, or an average
        of chains, whose variance is too small by the size of the group."""
        update = position * self.config.trajectory
        return self.target.in_start(update) or (self._averages(update) and self._coupled)

    def position_of_round(self, number: int) -> int:
        """The same number: a round is a trajectory."""
        return number

    @property
    def chains(self) -> Mapping[int, Any]:
        """The hosted chains to be read, by number."""
        return self.target.chains(self.held)

    # ---- one round

    def round(self) -> tuple[int, ...]:
        """Moves the chains on, makes every hosted trajectory, averages groups, renews the plan."""
        if self.round_number > 0:
            self._travel()
        drawn = np.zeros(1, np.int64)
        measured = dict.fromkeys(self.transport.workers, np.nan)
        for worker in self.held[self._first]:  # those with a chain to move, or a part of one
            start = time.perf_counter()
            n_updates = self.balance.plan.trajectory[worker]
            for _ in range(n_updates):
                drawn = drawn + self._update(worker)
            if worker in self.slow:
                time.sleep((self.slow[worker] - 1) * (time.perf_counter() - start))
            measured[worker] = (time.perf_counter() - start) / n_updates
        places = self.target.parts[self._first].places(self.round_number)
        for index, worker in enumerate(places):
            self.made[index] += self.balance.plan.trajectory[worker]
        self.round_number += 1
        self._average()
        self.target.after_round(self.round_number, self.held)
        if self.config.workers > 1:
            self.balance.renew(measured)
        return tuple(int(n) for n in drawn)

    def _update(self, worker: int) -> tuple[int, ...]:
        position = self.positions[worker]
        self.positions[worker] += 1
        frequency = self.target.at_once * self.balance.plan.selection_freq[worker]
        states = {name: states[worker] for name, states in self.held.items()}
        return self.target.update(
            worker, states, position, frequency=frequency, mean_update=self.update
        )

    def _settled(self, name: str) -> dict[int, Any]:
        """The hosted states of a part themselves, brought up to date."""
        return {worker: self.target.settle(state) for worker, state in self.held[name].items()}

    def _travel(self) -> None:
        for name, part in self.target.parts.items():
            before, after = part.places(self.round_number - 1), part.places(self.round_number)
            if before != after:
                held = self._settled(name)
                self.held[name] = part.table.hand_over(held, self.transport, before, after)

    @property
    def _coupled(self) -> bool:
        return any(len(group) > 1 for group in self.groups)

    def _averages(self, update: int) -> bool:
        """Whether a round that ends at that update averages groups."""
        return 0 < update <= self.average_until

    def distinct(self) -> list[int]:
        """The chains whose states differ now: after averaging, the first of each group."""
        if self._averages(self.update):
            return [group[0] for group in self.groups]
        return list(range(self.config.chains))

    def _average(self) -> None:
        if not (self._coupled and self._averages(self.update)):
            return
        for name, part in self.target.parts.items():
            places = part.places(self.round_number - 1)
            groups = [[places[chain] for chain in group] for group in self.groups]
            held = self._settled(name)
            part.table.average(held, self.transport, groups)
            for state in held.values():
                self.target.after_averaging(state)

    def metrics(self) -> dict[str, Any]:
        """What the target says; and how the workers fare, when there are several. Collective."""
        states = [state for states in self.held.values() for state in states.values()]
        states.sort(key=lambda state: state.index)
        known = self.target.metrics(self.update, states)
        if self.config.workers > 1:
            # Of the process that has the first chain: chains move on.
            mine = [*(state.index for state in states[:1]), known]
            everyone = self.transport.exchange(mine)
            _, known = min((told for told in everyone if len(told) > 1), key=lambda told: told[0])
            known |= self.balance.metrics() | {"waited": self._waited.of_workers()}
        return {**known, "burn_in": self.in_burn_in}

    # ---- checkpoints

    def arrays(self) -> dict[str, np.ndarray]:
        """What a checkpoint must hold of the hosted states."""
        return {
            file: array
            for name, part in self.target.parts.items()
            for file, array in part.table.arrays(self.held[name].values()).items()
        }

    def facts(self) -> dict[str, Any]:
        """The numbers that go with `arrays`, as JSON values."""
        return {
            "round": self.round_number,
            **self.balance.facts(),
            "positions": {str(worker): n for worker, n in self.positions.items()},
            **{
                name: part.table.facts(self.held[name].values())
                for name, part in self.target.parts.items()
            },
        }

    def restore(self, checkpoint: Checkpoint) -> str | None:
        """Puts the hosted chains and workers where the checkpoint left them.

        On another number of workers the data are shared out anew: the plan starts over, and each
        worker goes on past the minibatches that any had seen. Returns a sentence that says so, or
        None.
        """
        ranks = [checkpoint.facts(name) for name in checkpoint.parts()]
        positions = {int(w): int(n) for rank in ranks for w, n in rank["positions"].items()}
        saved = {
            name: {int(index): of for rank in ranks for index, of in rank[name].items()}
            for name in self.target.parts
        }
        self.round_number = ranks[0]["round"]
        self.made = [saved[self._first][index]["update"] for index in range(len(self.made))]
        n_before, n_workers = len(ranks[0]["trajectory"]), self.config.workers
        if n_before == n_workers:
            self.balance.restore(ranks)
        else:
            positions = dict.fromkeys(range(n_workers), max(positions.values()))
        self.positions = {worker: positions[worker] for worker in self.transport.workers}
        self.held = self._hosted(
            max(0, self.round_number - 1),  # where they are before the first round
            lambda name, index: self.target.restored(name, index, saved[name], checkpoint),
        )
        if n_before == n_workers:
            return None
        n_chains = min(map(len, saved.values())) // self.target.at_once
        made = f"{n_before} worker{'s' * (n_before > 1)}"
        return (
            f"This run was made on {made} and goes on with {n_workers}: the data are shared out"
            f" anew, {self.config.chains} of {n_chains} chains go on from their last state, and the"
            f" result is as valid but not bit for bit what {made} would have given"
        )

    def warm_up(self) -> None:
        """Compiles every kernel that a round needs."""
        self.target.warm_up()
