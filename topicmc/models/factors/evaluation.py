"""The error on held-out ratings: of chains as they are, and averaged over kept samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from topicmc.engine.method import Entry
from topicmc.engine.transport.base import Transport
from topicmc.models.factors.data import RatingData
from topicmc.models.factors.prediction import clipped, predicted, rmse
from topicmc.models.factors.rows import Factors
from topicmc.models.factors.run import FactorRun


class HeldOutRatings:
    """The `topicmc.engine.method.Evaluator`: root mean square error on the scale of the ratings.

    Args:
        run: where samples are.
        data: the ratings.
        n_chains: how many there are.
        transport: who else scores.
    """

    figure = FactorRun.figure
    most_averaged: int | None = None

    def __init__(
        self, run: FactorRun, data: RatingData, n_chains: int, transport: Transport
    ) -> None:
        self._run, self._scale, self._transport = run, data.scale, transport
        self._n_chains = n_chains
        self._all = data.testing
        here = slice(transport.rank, None, transport.n_processes)
        self._share = self._all.take(np.arange(len(self._all))[here])
        self._of_samples: dict[str, np.ndarray] = {}

    def of_chains(
        self, chains: Mapping[int, Factors], distinct: Sequence[int]
    ) -> tuple[float, dict[str, Any]] | None:
        """The mean over chains, and that of each as ``rmse_of_chains``; None when no ratings are
        held out."""
        if len(self._all) == 0:
            return None
        errors = np.zeros(self._n_chains)
        for number in chains:
            mean, _ = predicted(chains[number], self._all.users, self._all.items)
            errors[number] = rmse(clipped(mean, self._scale), self._all.values)
        errors = self._transport.sum(errors)
        return float(errors.mean()), {"rmse_of_chains": errors.tolist()}

    def of_samples(self, entries: Sequence[Entry]) -> tuple[float, float] | None:
        """The error of the newest sample, in the mean over chains, and that of the prediction
        averaged over all samples; None when there are none, or no ratings are held out. Each
        process scores its share of the ratings."""
        if len(self._all) == 0:
            return None
        scored = {}
        for entry in entries:
            known = self._of_samples.get(entry["file"])
            scored[entry["file"]] = self._predicted(entry) if known is None else known
        self._of_samples = scored  # forget samples that are no longer kept
        if not scored:
            return None
        newest = {entry["chain"]: scored[entry["file"]] for entry in entries}
        errors = [self._rmse(mean) for mean in newest.values()]
        average = np.zeros(len(self._share))
        for mean in scored.values():
            average += mean
        return float(np.mean(errors)), self._rmse(average / len(scored))

    def _predicted(self, entry: Entry) -> np.ndarray:
        """Of this process's share, standardised, float32."""
        state = self._run.read_sample(entry)
        return predicted(state, self._share.users, self._share.items)[0].astype(np.float32)

    def _rmse(self, mean: np.ndarray) -> float:
        errors = clipped(mean.astype(np.float64), self._scale) - self._share.values
        total = self._transport.sum(np.array([(errors**2).sum()]))
        return float(np.sqrt(total[0] / len(self._all)))
