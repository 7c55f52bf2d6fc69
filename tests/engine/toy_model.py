"""A model as small as can be, which shows what a model must bring: the mean of normal data.

x_i ~ N(θ, 1) in d dimensions under a flat prior; the posterior is N(x̄, 1/N). Workers hold parts of
the data of unequal size, and chains sample θ by SGLD.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from topicmc.engine.dsgld import Dsgld, Part
from topicmc.engine.schedule import batch_items, worker_of
from topicmc.engine.state import Array, Number, Table

STEP = 2e-4


@dataclass
class Mean:
    index: Annotated[int, Number(int)]
    theta: Annotated[np.ndarray, Array(np.float64, "d", averaged=True)]
    update: Annotated[int, Number(int)] = 0
    visits: Annotated[int, Number(int, travels=False)] = 0
    scratch: np.ndarray | None = None


class NormalMean:
    """The `Target`: SGLD updates of θ, the whole of which travels."""

    at_once = 1

    def __init__(self, config, data, workers) -> None:
        self.config, self.workers = config, workers
        self.data = data  # by worker
        self.table = Table(Mean, {"d": data[0].shape[1]})
        self.parts = {"chains": Part(self.table, self._places)}

    def _places(self, number):
        config = self.config
        return worker_of(config.schedule, number, config.chains, config.workers, config.seed)

    def initial(self, part, index):
        return Mean(index, np.full(self.data[0].shape[1], 3.0 * (index + 1)))

    def update(self, worker, states, position, *, frequency, mean_update):
        (state,) = states.values()
        mine = self.data[worker]
        rows = batch_items(self.config.seed, worker, position, len(mine), 10)
        scale = len(mine) / (frequency * len(rows))
        gradient = scale * (mine[rows] - state.theta).sum(axis=0)
        noise = np.random.default_rng([self.config.seed, state.index, state.update])
        state.theta += STEP / 2 * gradient + np.sqrt(STEP) * noise.normal(size=len(state.theta))
        state.update += 1
        state.visits += 1
        return (len(rows),)

    def settle(self, state):
        return state

    def after_averaging(self, state):
        pass

    def after_round(self, number, held):
        pass

    def chains(self, held):
        return {state.index: state for state in held["chains"].values()}

    def in_start(self, update):
        return update < 100

    def metrics(self, update, states):
        return {"step_size": STEP}

    def restored(self, part, index, saved, checkpoint):
        return self.table.restored(index, saved[index], checkpoint)

    def warm_up(self):
        pass


class Distance:
    """The `Evaluator`: how far θ is from data that were held out, in the mean square."""

    figure = "distance"
    most_averaged = None

    def __init__(self, run, heldout) -> None:
        self._run, self._heldout = run, heldout

    def _of(self, theta) -> float:
        return float(((self._heldout - theta) ** 2).mean())

    def of_chains(self, chains, distinct):
        return float(np.mean([self._of(chains[number].theta) for number in distinct])), {}

    def of_samples(self, entries):
        thetas = [np.load(self._run.place_of_sample(entry))["theta"] for entry in entries]
        return (self._of(thetas[-1]), self._of(np.mean(thetas, axis=0))) if thetas else None


class ToyModel:
    """The `Model`: all that the training loop asks for."""

    counted = ("rows",)
    expected_updates = None
    first_look = 10
    trace_unit = 1
    remedy = "lower the step"

    def __init__(self, config, data, heldout, run, transport) -> None:
        self.method = Dsgld(NormalMean(config, data, transport.workers), config, transport)
        self.evaluator = Distance(run, heldout)
        self.epoch = sum(map(len, data))
        self._run = run

    def write_sample(self, chain, round_number):
        return self._run.write_sample(chain.index, round_number, {"theta": chain.theta})

    def write_mean(self, chain, round_number):
        return None

    def scalars(self):
        return {
            n: {"norm": float(chain.theta @ chain.theta)} for n, chain in self.method.chains.items()
        }

    def warm_up(self):
        pass
