"""CSV (or tab-separated .tsv) with a header, of which one column is the document's text."""

import csv
from collections.abc import Iterator
from pathlib import Path

from topicmc.corpora.readers import Tally
from topicmc.corpora.readers.batches import batches
from topicmc.corpora.readers.jsonl import DEFAULT_FIELD
from topicmc.corpora.streams import Stream, numbered_lines
from topicmc.errors import DataError, UsageError

# A quote that is never closed would take the rest of the file for one field.
_MAX_FIELD = 1 << 26


class CsvReader:
    min_tokens = 0
    plain = None

    def __init__(self, path: Path, field: str | None = None) -> None:
        self.path = path
        self._field = field

    def texts(self, tally: Tally) -> Iterator[list[str]]:
        return batches(self._texts(tally))

    def _texts(self, tally: Tally) -> Iterator[str]:
        csv.field_size_limit(_MAX_FIELD)
        delimiter = "\t" if ".tsv" in self.path.suffixes else ","
        with Stream(self.path) as stream:
            lines = (line + "\n" for _, line in numbered_lines(stream))
            rows = csv.reader(lines, delimiter=delimiter, strict=True)
            header: list[str] | None = None
            column = 0
            try:
                for row in rows:
                    if not row:
                        continue
                    if header is None:
                        header, column = row, self._column(row)
                        continue
                    if len(row) != len(header):
                        raise DataError(
                            f"{self.path}, line {rows.line_num}: {len(row)} columns, but the "
                            f"header has {len(header)}; mend the line."
                        )
                    tally.n_read += 1
                    tally.position = stream.position
                    yield row[column]
            except csv.Error as error:
                raise DataError(
                    f"{self.path}, line {rows.line_num}: not CSV ({error}); mend the line."
                ) from error

    def _column(self, header: list[str]) -> int:
        name = self._field or DEFAULT_FIELD
        if name in header:
            return header.index(name)
        columns = ", ".join(header[:20])
        if self._field is None:
            raise UsageError(
                f"{self.path}: which column is the text? Pass --field (has: {columns})."
            )
        raise DataError(
            f"{self.path}, line 1: no column {name!r} (has: {columns}); pass another --field."
        )
