"""What is read off a run: its error, whether its chains have converged, and predictions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from topicmc.corpora.strings import Strings
from topicmc.models.factors.prediction import Prediction, predict, rmse
from topicmc.models.factors.reading import Table
from topicmc.models.factors.rows import Factors
from topicmc.models.factors.run import FactorRun
from topicmc.posterior.convergence import aligned, ess, rhat
from topicmc.posterior.traces import traces
from topicmc.posterior.verdict import exceeds, is_final

_NINE_TENTHS = 1.6448536269514722  # standard deviations on either side that hold 90 %


@dataclass(frozen=True)
class Score:
    """The error on some ratings. Fields that cannot be told are None.

    rmse               of the newest sample, in the mean over chains; of the state where there is
                       no sample
    rmse_averaged      of the prediction averaged over all samples of all chains
    rmse_of_chains     averaged over the samples of each chain
    rmse_of_mean       of predicting the mean rating for all
    coverage           fraction of the ratings within 90 % intervals
    samples, ratings   how many there are
    unknown            ratings by users, or of items, that were not trained on
    """

    rmse: float | None
    rmse_averaged: float | None
    rmse_of_chains: list[float]
    rmse_of_mean: float | None
    coverage: float | None
    samples: int
    ratings: int
    unknown: int


@dataclass(frozen=True)
class Convergence:
    """R̂ and effective sample size by the name of what was traced, and what follows."""

    rhat: dict[str, float | None]
    ess: dict[str, float | None]
    converged: bool | None
    verdict: str


def states_of(run: FactorRun, chain: int | None = None) -> Iterator[Factors]:
    """The kept states of a run, or of one chain, one after another."""
    for entry in run.states_to_read():
        if chain in (None, entry["chain"]):
            yield run.read_sample(entry)


def numbers_of(table: Table, user_ids: Strings, item_ids: Strings) -> tuple[np.ndarray, ...]:
    """The rows of the users and items of a table, int64 (N,), −1 where a run does not know them."""
    found = []
    for numbers, ids, known in (
        (table.users, table.user_ids, user_ids),
        (table.items, table.item_ids, item_ids),
    ):
        rows = {known[i]: i for i in range(len(known))}
        found.append(np.array([rows.get(id, -1) for id in ids], np.int64)[numbers])
    return tuple(found)


def predict_pairs(run: FactorRun, users: np.ndarray, items: np.ndarray) -> Prediction:
    """What a run predicts of pairs, by all its samples; rows are int64 (n,), −1 where unknown."""
    return predict(states_of(run), users, items, run.scale())


def score(run: FactorRun, table: Table | None = None) -> Score:
    """The error of a run on its held-out ratings, or on those of a table."""
    data = run.data()
    if table is None:
        users, items, values = data.testing.users, data.testing.items, data.testing.values
    else:
        users, items = numbers_of(table, data.user_ids, data.item_ids)
        values = table.values
    entries = run.states_to_read()
    n_samples = sum(not entry["burn_in"] for entry in entries)
    unknown = int(((users < 0) | (items < 0)).sum())
    if len(values) == 0:
        return Score(None, None, [], None, None, n_samples, 0, unknown)
    scale = run.scale()
    newest = {entry["chain"]: entry for entry in entries}
    of_newest = [
        rmse(predict([run.read_sample(entry)], users, items, scale).mean, values)
        for entry in newest.values()
    ]
    together = predict(states_of(run), users, items, scale)
    inside = np.abs(together.mean - values) <= _NINE_TENTHS * together.deviation
    return Score(
        float(np.mean(of_newest)),
        rmse(together.mean, values) if n_samples else None,
        [rmse(predict(states_of(run, c), users, items, scale).mean, values) for c in newest],
        rmse(np.full(len(values), scale.mean), values),
        float(inside.mean()),
        n_samples,
        len(values),
        unknown,
    )


def convergence(run: FactorRun) -> Convergence:
    """Whether the chains of a run have converged, by what was traced of them."""
    draws = {name: aligned(list(chains.values())) for name, chains in traces(run).items()}
    rhats = {name: float(rhat(values)) for name, values in draws.items()}
    sizes = {name: float(ess(values)) for name, values in draws.items()}
    converged, verdict = _judged(draws, rhats)
    return Convergence(_told(rhats), _told(sizes), converged, verdict)


def _judged(draws: dict[str, np.ndarray], rhats: dict[str, float]) -> tuple[bool | None, str]:
    if not draws or all(math.isnan(value) for value in rhats.values()):
        return None, "It cannot be told whether the chains have converged: train for longer."
    worst = max(rhats, key=lambda name: (not math.isnan(rhats[name]), rhats[name]))
    several = f"{len(next(iter(draws.values())))} chains have" if _several(draws) else "chain has"
    if not any(exceeds(values) for values in draws.values()):
        return True, f"The {several} converged, as far as R̂ can tell ({rhats[worst]:.2f})."
    if is_final(draws):
        return False, "Each chain rests in a mode of its own: averages over them are still good."
    return False, (
        f"The {several} not converged: R̂ of {worst} is {rhats[worst]:.2f}; train for longer."
    )


def _several(draws: dict[str, np.ndarray]) -> bool:
    return len(next(iter(draws.values()))) > 1


def _told(values: dict[str, float]) -> dict[str, Any]:
    return {name: value if math.isfinite(value) else None for name, value in values.items()}
