"""CSV (or tab-separated .tsv) with a header that names the columns of text, title and time."""

import csv
from collections.abc import Iterator

from topicmc.corpora.readers import Tally
from topicmc.corpora.readers.named_fields import FieldReader
from topicmc.corpora.readers.records import Record, read_day
from topicmc.corpora.streams import Stream, numbered_lines
from topicmc.errors import DataError

# A quote that is never closed would take the rest of the file for one field.
_MAX_FIELD = 1 << 26


class CsvReader(FieldReader):
    kind = "column"

    def records(self, tally: Tally) -> Iterator[Record]:
        csv.field_size_limit(_MAX_FIELD)
        delimiter = "\t" if ".tsv" in self.path.suffixes else ","
        with Stream(self.path) as stream:
            lines = (line + "\n" for _, line in numbered_lines(stream))
            rows = csv.reader(lines, delimiter=delimiter, strict=True)
            header: list[str] | None = None
            try:
                for row in rows:
                    if not row:
                        continue
                    if header is None:
                        header = row
                        columns = self.columns(header, f"{self.path}, line 1")
                        text, title, time = (header.index(name) if name else -1 for name in columns)
                        continue
                    if len(row) != len(header):
                        raise DataError(
                            f"{self.path}, line {rows.line_num}: {len(row)} columns, but the "
                            f"header has {len(header)}; mend the line."
                        )
                    tally.n_read += 1
                    tally.position = stream.position
                    row.append("")  # what is not to be read is empty
                    where = f"{self.path}, line {rows.line_num}"
                    yield Record(row[text], row[title], read_day(row[time], where, tally))
            except csv.Error as error:
                raise DataError(
                    f"{self.path}, line {rows.line_num}: not CSV ({error}); mend the line."
                ) from error
