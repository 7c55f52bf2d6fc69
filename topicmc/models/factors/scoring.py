"""What is read off a run: its error, and predictions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from topicmc.corpora.strings import Strings
from topicmc.models.factors.prediction import clipped, moments, prediction, rmse
from topicmc.models.factors.rating_files import Table
from topicmc.models.factors.rows import Factors
from topicmc.models.factors.run import FactorRun
from topicmc.posterior.passes import one_by_one
from topicmc.storage.runs import by_chain

_NINE_TENTHS = 1.6448536269514722  # standard deviations on either side that hold 90 %


@dataclass(frozen=True)
class Score:
    """The error on some ratings. Fields that cannot be told are None.

    rmse               of the newest sample, in the mean over chains; of the state where there is
                       no sample
    rmse_averaged      of the prediction averaged over all samples of all chains
    rmse_of_chains     averaged over the samples of each chain
    rmse_of_mean       of predicting the mean rating for all
    coverage           fraction of the ratings within 90 % intervals; None where there is no sample
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


def states_of(run: FactorRun) -> Iterator[Factors]:
    """The kept states of a run, one after another."""
    return map(run.read_sample, one_by_one(run.states_to_read()))


def rows_of(ids: Strings) -> dict[str, int]:
    """The rows of the ids of a run."""
    return {ids[i]: i for i in range(len(ids))}


def numbers_of(
    sides: Iterable[tuple[np.ndarray, Sequence[str]]], rows: Iterable[Mapping[str, int]]
) -> tuple[np.ndarray, ...]:
    """The rows of users and items, int64 (N,), −1 where a run does not know them: of the ``sides``
    of a table, by the `rows_of` of each."""
    return tuple(
        np.array([row_of.get(id, -1) for id in ids], np.int64)[numbers]
        for (numbers, ids), row_of in zip(sides, rows, strict=True)
    )


def score(run: FactorRun, table: Table | None = None) -> Score:
    """The error of a run on its held-out ratings, or on those of a table."""
    data = run.data()
    if table is None:
        testing = data.testing
        users, items, values = testing.users, testing.items, testing.values
    else:
        known = rows_of(data.user_ids), rows_of(data.item_ids)
        users, items = data.trained(*numbers_of(table.sides, known))
        values = table.values
    entries = run.states_to_read()
    n_samples = sum(not entry["burn_in"] for entry in entries)
    unknown = int(((users < 0) | (items < 0)).sum())
    if len(values) == 0:
        return Score(None, None, [], None, None, n_samples, 0, unknown)
    scale = run.scale()
    of_newest, of_chains, whole = [], [], np.zeros((3, len(values)))
    for mine in by_chain(entries):
        total = np.zeros_like(whole)
        for entry in one_by_one(mine):
            found = moments(run.read_sample(entry), users, items)
            total += found
        of_newest.append(rmse(clipped(found[0], scale), values))
        of_chains.append(rmse(clipped(total[0] / len(mine), scale), values))
        whole += total
    together = prediction(whole / len(entries), scale)
    inside = np.abs(together.mean - values) <= _NINE_TENTHS * together.deviation
    return Score(
        float(np.mean(of_newest)),
        rmse(together.mean, values) if n_samples else None,
        of_chains,
        rmse(np.full(len(values), scale.mean), values),
        float(inside.mean()) if n_samples else None,
        n_samples,
        len(values),
        unknown,
    )
