"""CSV with a header that names the columns, split at commas, semicolons, tabs or bars."""

import csv
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

from topicmc.corpora.readers import Tally
from topicmc.corpora.readers.named_fields import FieldReader
from topicmc.corpora.readers.records import Record, columns_text, read_day
from topicmc.corpora.streams import Stream, numbered_lines
from topicmc.errors import DataError

# A quote that is never closed would take the rest of the file for one field.
_MAX_FIELD = 1 << 26
_DELIMITERS = ",;\t|"
_STATED = re.compile(r"sep=(.)")  # a first line by which some spreadsheets tell the delimiter


class CsvReader(FieldReader):
    kind = "column"
    unit = "row"

    def records(self, tally: Tally) -> Iterator[Record]:
        csv.field_size_limit(_MAX_FIELD)
        with self.stream(self.path) as stream:
            lines = (line for _, line in numbered_lines(stream))
            first, n_above = next(lines, ""), 0
            stated = _STATED.fullmatch(first)
            if stated:
                first, n_above = next(lines, ""), 1
            asked = None if "delimiter" in self.fields.optional else self.fields.delimiter
            delimiter = asked or (stated and stated[1]) or self._sniffed(first)
            rows = csv.reader(
                (line + "\n" for line in chain([first], lines)), delimiter=delimiter, strict=True
            )
            try:
                yield from self._rows(rows, n_above, stream, tally)
            except csv.Error as error:
                raise DataError(
                    f"{self.path}, line {rows.line_num + n_above}: not CSV ({error}); "
                    "mend the line, or pass another --delimiter."
                ) from error

    def _rows(self, rows: Any, n_above: int, stream: Stream, tally: Tally) -> Iterator[Record]:
        header = next((row for row in rows if row), None)
        if header is None:
            return
        # As pandas writes the names of rows.
        header = [name or f"column_{number}" for number, name in enumerate(header, start=1)]
        columns = self.columns(header, f"{self.path}, line {rows.line_num + n_above}")
        text, title, time, id = (header.index(n) if n is not None else -1 for n in columns[:4])
        kept = {name: header.index(name) for name in columns.kept}
        for row in rows:
            if not row:
                continue
            where = f"{self.path}, line {rows.line_num + n_above}"
            if len(row) != len(header):
                raise DataError(
                    f"{where}: {len(row)} columns, but the header has {len(header)}; mend the line."
                )
            tally.n_read += 1
            tally.row += 1
            tally.position = stream.position
            row.append("")  # what is not to be read is empty
            yield Record(
                row[text],
                row[title],
                read_day(row[time], where, tally),
                tally.row,
                row[id],
                columns_text({name: row[i] for name, i in kept.items()}) if kept else "",
            )

    def _sniffed(self, header: str) -> str:
        """What parts the header into the columns asked for, or else into most."""
        wanted = {self.text_name, *(name for _, name in self.fields.required)}
        is_tabs = ".tsv" in self.path.suffixes
        choices = sorted(_DELIMITERS, key=lambda d: d != "\t") if is_tabs else list(_DELIMITERS)
        if self.fields.delimiter is not None:
            choices.insert(0, self.fields.delimiter)

        def fit(delimiter: str) -> tuple[int, int]:
            try:
                names = next(csv.reader([header], delimiter=delimiter), [])
            except csv.Error:
                return 0, 0
            return len(wanted & set(names)), len(names)

        return max(choices, key=fit)
