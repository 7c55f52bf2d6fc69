"""Rows of the sources that made no document: which, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from topicmc.corpora.metadata import NO_ROW, Metadata
from topicmc.corpora.offsets import offsets
from topicmc.corpora.shards import PartWriter, file_of, map_array, map_metadata

NAME = "dropped"
ARRAYS: dict[str, np.dtype] = {"spans": np.dtype(np.int64), "reasons": np.dtype(np.uint8)}
KEPT, EMPTY, WORDLESS, PRUNED, REPEATED = range(5)
REASONS = {
    EMPTY: "empty",
    WORDLESS: "no words",
    PRUNED: "no words left",
    REPEATED: "duplicate",
}


class Dropped(NamedTuple):
    """Runs of rows that were left out; most are of one row.

    metadata  of the first row of each
    spans     int64 (n,): rows in each
    reasons   uint8 (n,): why, one of `REASONS`
    """

    metadata: Metadata
    spans: np.ndarray
    reasons: np.ndarray

    def each(self) -> tuple[Metadata, np.ndarray]:
        """The metadata and the reason of every row by itself. They are copied only where some run
        has several rows, as in counts of words, of which little more is known than the rows."""
        if (self.spans == 1).all():
            return self.metadata, self.reasons
        places = np.repeat(np.arange(len(self.spans)), self.spans)
        found = self.metadata.take(places)
        further = np.arange(len(places)) - offsets(self.spans)[places]
        rows = np.where(found.rows == NO_ROW, NO_ROW, found.rows + further)
        return replace(found, rows=rows), self.reasons[places]


class DroppedWriter(PartWriter):
    """Appends rows to ``root/dropped``; ``close`` returns what corpus.json tells of them.

    ``kinds`` are those of the metadata. With ``gaps`` rows that are not there, between those that
    are, are empty ones.
    """

    def __init__(self, root: Path, kinds: Sequence[str], *, gaps: bool = False) -> None:
        super().__init__(root, NAME, ARRAYS, kinds)
        self._gaps, self._last = gaps, 0
        self._totals = dict.fromkeys(REASONS, 0)

    def append(self, metadata: Metadata, reasons: np.ndarray) -> None:
        """Appends the rows among some documents, in order, passing over those `KEPT`."""
        if self._gaps and metadata.n_docs:
            self._missing(metadata.rows)
        left = reasons != KEPT
        if left.any():
            out = metadata.select(left)
            self.write(Dropped(out, np.ones(out.n_docs, dtype=np.int64), reasons[left]))

    def write(self, dropped: Dropped) -> None:
        """Appends dropped rows as they are."""
        self._append_metadata(dropped.metadata)
        self._files["spans"].append(dropped.spans)
        self._files["reasons"].append(dropped.reasons)
        for code in self._totals:
            self._totals[code] += int(dropped.spans[dropped.reasons == code].sum())

    def _missing(self, rows: np.ndarray) -> None:
        """The gaps before each of some rows, ascending."""
        before = np.concatenate([[self._last], rows[:-1]])
        wide = np.flatnonzero(rows - before > 1)
        if len(wide):
            spans = (rows - before - 1)[wide]
            metadata = Metadata.blank(len(wide), before[wide] + 1)
            self.write(Dropped(metadata, spans, np.full(len(wide), EMPTY, dtype=np.uint8)))
        self._last = int(rows[-1])

    def close(self, n_rows: int = 0) -> dict[str, Any]:
        """``n_rows`` are all rows of the sources: some may be missing at the end."""
        if self._gaps:
            self._missing(np.array([n_rows + 1]))
        return {
            "name": NAME,
            "n_docs": self._files["spans"].size,
            "n_rows": sum(self._totals.values()),
            "reasons": {REASONS[code]: n for code, n in self._totals.items() if n},
            "sha256": self._finish(),
        }


def map_dropped(root: Path, table: dict[str, Any], kinds: Sequence[str]) -> Dropped:
    """What `DroppedWriter` wrote, memory-mapped; DataError unless it is as corpus.json tells."""
    spans, reasons = (
        map_array(file_of(root, table, array), dtype, table["n_docs"])
        for array, dtype in ARRAYS.items()
    )
    return Dropped(map_metadata(root, table, kinds), spans, reasons)
