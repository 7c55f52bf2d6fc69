"""Files of ratings, and of pairs to be predicted, as tables of numbers and ids."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from topicmc.errors import DataError
from topicmc.models.factors.rating_columns import Columns, Read, number_of, read_columns
from topicmc.models.factors.settings import DUPLICATES, MOST_RATING
from topicmc.settings.values import one_of

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Table:
    """Ratings as a file has them, or pairs, whose values are empty.

    users, items        int32 (N,), the numbers of the ids
    values              float32 (N,)
    user_ids, item_ids  distinct, in the order in which they come
    columns             what was read, by their names in the file
    source              the file
    """

    users: np.ndarray
    items: np.ndarray
    values: np.ndarray
    user_ids: list[str]
    item_ids: list[str]
    columns: Columns
    source: str

    @property
    def sides(self) -> tuple[tuple[np.ndarray, list[str]], ...]:
        """The numbers and the ids of the users, and those of the items."""
        return (self.users, self.user_ids), (self.items, self.item_ids)


def read_ratings(
    path: Path,
    columns: Columns = Columns(),  # noqa: B008, a tuple
    *,
    delimiter: str | None = None,
    duplicates: str = "refuse",
    low: float | None = None,
    high: float | None = None,
) -> Table:
    """The ratings of a file.

    Args:
        path: CSV, TSV, Parquet, or MovieLens' ``u.data`` or ``ratings.dat``; text may be packed.
        columns: which hold users, items and ratings.
        delimiter: what parts columns of text; None: as found in the first line.
        duplicates: of ratings of an item by the same user: refuse them, keep all, or take the last
            or the mean.
        low, high: the ends of the scale, outside of which there must be no rating.

    Raises DataError with file and line of what is wrong, UsageError when there is no such column.
    """
    import pyarrow as pa

    one_of("--duplicates", duplicates, DUPLICATES)
    read = read_columns(path, columns, delimiter, rated=True)
    assert read.rating is not None
    values = _values(read, low, high)
    if len(values) == 0:
        raise DataError(f"{path}: holds no ratings; check the file")
    table, place = _table(read, values, path), read.place
    del read
    pa.default_memory_pool().release_unused()  # which Arrow would keep for what it reads next
    return _without_duplicates(table, duplicates, place)


def read_pairs(
    path: Path,
    columns: Columns = Columns(),  # noqa: B008, a tuple
    *,
    delimiter: str | None = None,
) -> Table:
    """The pairs of users and items of a file; as `read_ratings`, without ratings."""
    read = read_columns(path, columns, delimiter, rated=False)
    return _table(read, np.empty(0, np.float32), path)


def _table(read: Read, values: np.ndarray, path: Path) -> Table:
    users, user_ids = _encoded(read.user, "user", read.place)
    items, item_ids = _encoded(read.item, "item", read.place)
    return Table(users, items, values, user_ids, item_ids, read.columns, str(path))


def _encoded(
    column: pa.ChunkedArray, name: str, place: Callable[[int], str]
) -> tuple[np.ndarray, list[str]]:
    """The numbers of texts, int32, and the distinct ones; DataError for one that is missing."""
    column = column.fill_null("") if column.null_count else column
    # Numbers are put together, not texts, of which one array holds 2 GiB at most.
    encoded = column.dictionary_encode().unify_dictionaries().combine_chunks()
    ids = encoded.dictionary.to_pylist()
    numbers = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int32)
    if "" in ids:
        row = int(np.argmax(numbers == ids.index("")))
        raise DataError(f"{place(row)}: the {name} is missing; fill it in, or remove the row")
    return numbers, ids


def _values(read: Read, low: float | None, high: float | None) -> np.ndarray:
    """Ratings as float32; DataError names the first that is none."""
    import pyarrow as pa

    column = read.rating
    assert column is not None
    try:
        values = column.cast(pa.float64()).fill_null(math.nan).to_numpy()
    except pa.ArrowException:
        values = np.array([number_of(cell) for cell in column.to_pylist()])
    ends = (-np.inf if low is None else low, np.inf if high is None else high)
    wrong = ~(np.abs(values) <= MOST_RATING) | (values < ends[0]) | (values > ends[1])
    if wrong.any():
        row = int(np.argmax(wrong))
        shown = column[row].as_py()
        where = read.place(row)
        if math.isfinite(values[row]) and not ends[0] <= values[row] <= ends[1]:
            raise DataError(
                f"{where}: the rating {values[row]:g} lies outside the scale from {ends[0]:g} to"
                f" {ends[1]:g}; mend it, or give another --scale"
            )
        ends_of_all = f"from {-MOST_RATING:g} to {MOST_RATING:g}"
        told = f"{str(shown)[:40]!r} is not a number {ends_of_all}"
        if shown in (None, ""):
            told = "is missing"
        raise DataError(
            f"{where}: the rating {told}; mend the row, or name another column by --rating"
        )
    return values.astype(np.float32)


def _without_duplicates(table: Table, policy: str, place: Callable[[int], str]) -> Table:
    cells = table.users.astype(np.int64) * len(table.item_ids) + table.items
    order = np.argsort(cells, kind="stable")
    first = np.ones(len(cells), bool)
    first[1:] = cells[order][1:] != cells[order][:-1]
    if first.all() or policy == "keep":
        return table
    if policy == "refuse":
        again = int(order[~first].min())
        before = int(order[np.searchsorted(cells[order], cells[again])])
        raise DataError(
            f"{place(again)}: the user {table.user_ids[table.users[again]]!r} has rated the item"
            f" {table.item_ids[table.items[again]]!r} before, in"
            f" {place(before).rpartition(', ')[2]}; pass --duplicates mean, last or keep"
        )
    starts = np.flatnonzero(first)
    ends = np.append(starts[1:], len(order))
    kept = order[ends - 1]
    if policy == "mean":
        sums = np.add.reduceat(table.values[order].astype(np.float64), starts)
        values = (sums / (ends - starts)).astype(np.float32)
    else:
        values = table.values[kept]
    back = np.argsort(kept, kind="stable")
    kept = kept[back]
    return replace(table, users=table.users[kept], items=table.items[kept], values=values[back])
