"""Matrix factorisation as the training loop asks for it: its method, its score, its samples and its
trace."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from topicmc.engine.dsgld import Dsgld
from topicmc.engine.ending import first_look
from topicmc.engine.loop import Listener, Training
from topicmc.engine.method import Entry
from topicmc.engine.transport.base import Transport
from topicmc.kernels.threads import Threads
from topicmc.models.factors.chains import FactorChains, remedy
from topicmc.models.factors.data import RatingData
from topicmc.models.factors.evaluation import HeldOutRatings
from topicmc.models.factors.prediction import predicted
from topicmc.models.factors.rows import Factors
from topicmc.models.factors.run import FactorRun
from topicmc.models.factors.settings import Resolved

_TRACED = 5_000  # ratings whose error is traced
_ROUNDS = 32  # half of those before it is first looked whether chains have converged, at least
_UPDATES = 40  # between two records of a chain that moves by minibatches


class MatrixFactorizationModel:
    """The `topicmc.engine.method.Model` of ratings.

    Args:
        config: resolved settings.
        data: the ratings.
        run: where samples are written.
        transport: who hosts which workers.
    """

    counted = FactorRun.counted

    def __init__(
        self, config: Resolved, data: RatingData, run: FactorRun, transport: Transport
    ) -> None:
        self.evaluator = HeldOutRatings(run, data, config.chains, transport)
        training = data.training
        target = FactorChains(config, training, transport, Threads(config.threads))
        self.method = Dsgld(target, config, transport)
        self.epoch = len(training) * config.chains
        self.expected_updates = _expected_updates(config, target, len(training))
        most, start = self.expected_updates, math.ceil(target.start / config.trajectory)
        self.first_look = first_look(max(_ROUNDS, start), most and most / config.trajectory)
        is_gibbs = config.sampler == "gibbs"
        self.trace_unit = 1 if is_gibbs else max(1, _UPDATES // config.trajectory)
        self.remedy = remedy(config)
        self._run = run
        self._learns_noise = config.learn_noise
        traced = np.linspace(0, len(training) - 1, min(len(training), _TRACED)).astype(np.int64)
        self._traced = training.take(traced)  # from all of the file, which may be sorted by user

    def write_sample(self, chain: Factors, round_number: int) -> Entry:
        return self._run.write_state(chain, round_number)

    def write_mean(self, chain: Factors, round_number: int) -> None:
        return None

    def scalars(self) -> dict[int, dict[str, float]]:
        held = self.method.chains  # no chain keeps a name here: the next is made when it is gone
        return {number: self._scalars_of(held[number]) for number in held}

    def _scalars_of(self, chain: Factors) -> dict[str, float]:
        """The error on some of the ratings that are trained on, how strong the factors are, and how
        far biases scatter. None of them changes when factors are rotated. Factors are as strong as
        U_i·V_j is on L users and M items, in the root mean square:

            √(1/LM Σ_ij (U_i·V_j)²) = √tr(UᵀU/L VᵀV/M)
        """
        mean, _ = predicted(chain, self._traced.users, self._traced.items)
        users, items = _second_moments(chain.users), _second_moments(chain.items)
        noise = {"noise precision": chain.tau} if self._learns_noise else {}
        return {
            "training error": float(np.sqrt(np.mean((mean - self._traced.values) ** 2))),
            "factors": math.sqrt((users[:-1, :-1] * items[:-1, :-1]).sum()),
            "user biases": math.sqrt(users[-1, -1]),
            "item biases": math.sqrt(items[-1, -1]),
            **noise,
        }

    def warm_up(self) -> None:
        self.scalars()


def _second_moments(rows: np.ndarray) -> np.ndarray:
    """Second moments of the columns of some rows, averaged over rows: float64 (D + 1, D + 1)."""
    wide = rows.astype(np.float64)
    return wide.T @ wide / len(wide)


def _expected_updates(config: Resolved, target: FactorChains, n_ratings: int) -> float | None:
    """Updates of a chain, where the length of a run is given in updates or epochs."""
    if config.updates is not None or config.epochs is None:
        return config.updates
    return config.epochs * n_ratings / target.drawn


def training_of(
    config: Resolved,
    data: RatingData,
    run: FactorRun,
    transport: Transport,
    listener: Listener,
    *,
    resume: bool = False,
) -> Training:
    """The training; arguments as of `MatrixFactorizationModel` and `Training`."""
    model = MatrixFactorizationModel(config, data, run, transport)
    in_updates = _in_updates(config, model.expected_updates)
    return Training(in_updates, model, run, transport, listener, resume=resume)


def _in_updates(config: Resolved, updates: float | None) -> Resolved:
    """The settings with a length in updates in place of epochs. Ratings drawn do not tell how many
    epochs a chain has made: some were drawn by chains that a resumed run has given up."""
    if updates is None:
        return config
    return replace(config, updates=math.ceil(updates - 1e-9), epochs=None)  # but for rounding
