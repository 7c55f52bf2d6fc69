"""Predictions of the pairs of a file, and files of them: columns user, item, rating, sd."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from topicmc.corpora.pipes import readable
from topicmc.errors import DataError
from topicmc.models.factors.prediction import predict
from topicmc.models.factors.rating_columns import Columns
from topicmc.models.factors.rating_files import Table, read_pairs
from topicmc.models.factors.run import FactorRun
from topicmc.models.factors.scoring import numbers_of, rows_of, states_of
from topicmc.storage.files import new_file

SUFFIXES = (".csv", ".parquet")
_DIGITS = 6  # significant ones, in text


@dataclass(frozen=True)
class Predictions:
    """Predictions for the pairs of a table, in their order.

    rating, sd  float64 (N,): mean and standard deviation of the rating
    unknown     how many have a user or an item that was not trained on
    """

    table: Table
    rating: np.ndarray
    sd: np.ndarray
    unknown: int

    def __len__(self) -> int:
        return len(self.rating)

    def users(self) -> list[str]:
        return [self.table.user_ids[i] for i in self.table.users]

    def items(self) -> list[str]:
        return [self.table.item_ids[i] for i in self.table.items]

    def rows(self) -> list[dict[str, Any]]:
        """An object a pair."""
        columns = (self.users(), self.items(), self.rating.tolist(), self.sd.tolist())
        return [
            {"user": user, "item": item, "rating": rating, "sd": sd}
            for user, item, rating, sd in zip(*columns, strict=True)
        ]


def predictions_of(
    run: FactorRun, path: Path, columns: Columns, *, delimiter: str | None = None
) -> Predictions:
    """What a run predicts of the pairs of a file, as
    `topicmc.models.factors.rating_files.read_pairs` has them.

    DataError where what was read as the header of lines holds an id that the run knows, unless the
    column was named by it."""
    with readable([path]) as sources:
        table = read_pairs(sources[0], columns, delimiter=delimiter)
    data = run.data()
    known = rows_of(data.user_ids), rows_of(data.item_ids)
    for asked, name, rows in zip(columns[:2], table.columns[:2], known, strict=True):
        if asked != name and name in rows:
            raise DataError(
                f"{path}, line 1: is a pair, for the run knows {name!r}, and no header; add one, as"
                " user,item, or name the columns by --user and --item"
            )
    users, items = data.trained(*numbers_of(table.sides, known))
    found = predict(states_of(run), users, items, run.scale())
    unknown = int(((users < 0) | (items < 0)).sum())
    return Predictions(table, found.mean, found.deviation, unknown)


def write_csv(found: Predictions, stream: Any) -> None:
    """Writes them as CSV to a stream of text."""
    import csv

    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(("user", "item", "rating", "sd"))
    for user, item, rating, sd in zip(
        found.users(), found.items(), found.rating, found.sd, strict=True
    ):
        writer.writerow((user, item, f"{rating:.{_DIGITS}g}", f"{sd:.{_DIGITS}g}"))


def write_predictions(found: Predictions, path: Path, force: bool = False) -> None:
    """Writes them to a file of one of the `SUFFIXES`, whole or not at all. UsageError where,
    without ``force``, a file is there."""
    if path.suffix.lower() == ".csv":
        with new_file(path, force=force) as stream:
            write_csv(found, stream)
        return
    import pyarrow as pa
    from pyarrow import parquet

    columns = {
        "user": pa.array(found.users(), pa.string()),
        "item": pa.array(found.items(), pa.string()),
        "rating": found.rating,
        "sd": found.sd,
    }
    with new_file(path, "wb", force=force) as stream:
        parquet.write_table(pa.table(columns), stream)
