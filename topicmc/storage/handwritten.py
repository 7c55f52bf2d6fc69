"""CSV, JSON and numbers that people write: what is passed over in silence would be missed."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from typing import Any

from topicmc.storage.fields import quoted


def parse_number(text: str) -> float:
    """The number that a text says; ValueError for none, and for 4_5, of which Python makes 45."""
    if "_" in text:
        raise ValueError(f"could not convert string to float: {text!r}")
    return float(text)


def parse_json(text: str) -> Any:
    """As json.loads; ValueError also where a name comes twice in an object."""
    return json.loads(text, object_pairs_hook=_unique)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"{quoted(name)} comes twice")
        found[name] = value
    return found


def parse_csv(text: str) -> list[list[str]]:
    """The cells of all rows, without blanks around them; ValueError for what is no CSV."""
    try:
        rows = csv.reader(io.StringIO(text), strict=True)
        return [[cell.strip() for cell in row] for row in rows]
    except csv.Error as error:
        raise ValueError(str(error)) from None


def rows_below(
    cells: Sequence[Sequence[str]], *needed: str, more: str = ""
) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of CSV below its header that are not empty: the number of each, from 2 on, and its
    cells by the names of their columns in lower case; those at its end may be missing.

    ValueError where the header has not each of the ``needed`` names once, and for a row of more
    cells than it has; ``more`` are the columns that may be there besides.
    """
    head = [name.lower() for name in cells[0]] if cells else []
    if any(head.count(name) != 1 for name in needed):
        told = ",".join(needed)
        also = f" or {told},{more}" if more else ""
        raise ValueError(f"the first line of CSV names its columns: {told}{also}")
    for number, row in enumerate(cells[1:], start=2):
        if any(row[len(head) :]):
            raise ValueError(
                f"row {number} has {len(row)} cells, and the first line {len(head)}; quote a cell"
                " that holds a comma"
            )
        if any(row):
            yield number, dict(zip(head, row, strict=False))
