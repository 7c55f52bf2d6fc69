"""CSV with a header that names the columns, split at commas, semicolons, tabs or bars."""

import csv
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from topicmc.corpora.readers import Tally
from topicmc.corpora.readers.named_fields import FieldReader
from topicmc.corpora.readers.records import NONE, Record, columns_text, read_day
from topicmc.corpora.streams import IF_ONLY_RETURNS, Stream, numbered_lines
from topicmc.errors import DataError, TopicmcError

# Letters of a row: a quote that is never closed would take the rest of the file for one field.
_MAX_ROW = 1 << 26
DELIMITERS = ",;\t|"
_STATED = re.compile(r"sep=(.)")  # a first line by which some spreadsheets tell the delimiter


class CsvReader(FieldReader):
    kind = "column"
    unit = "row"

    def records(self, tally: Tally) -> Iterator[Record]:
        csv.field_size_limit(_MAX_ROW)
        with self.stream(self.path) as stream:
            lines = (line for _, line in numbered_lines(stream))
            first, n_above = _first(lines)
            stated = _STATED.fullmatch(first)
            asked = None if "delimiter" in self.fields.optional else self.fields.delimiter
            if stated and not asked and stated[1] in ('"', "\r", "\0", self.fields.quote):
                raise DataError(
                    f"{self.path}, line {n_above + 1}: {stated[0]!r} names no delimiter; remove the"
                    " line, or pass --delimiter"
                )
            if stated:
                first, n_more = _first(lines)
                n_above += 1 + n_more
            delimiter = asked or (stated and stated[1]) or self._sniffed(first)
            taken: list[str] = []  # the lines of the row at hand
            rows = csv.reader(
                _noted(chain([first], lines), taken),
                delimiter=delimiter,
                strict=True,
                **self._quoting,
            )
            try:
                yield from self._rows(rows, taken, n_above, stream, tally)
            except csv.Error as error:
                reason = str(error).partition(" - ")[0]  # what follows is said to programmers
                way = "pass another --delimiter, or --quote none if quotes are text"
                if reason.startswith("new-line"):
                    way = IF_ONLY_RETURNS
                raise DataError(
                    f"{self.path}, line {rows.line_num + n_above}: not CSV ({reason}); mend "
                    f"the line, or {way}"
                ) from error

    def lacking(
        self, option: str, has: Iterable[str], where: str, name: str | None
    ) -> TopicmcError:
        """As of any fields; one name that is no word may be several, parted by something else."""
        names = [*has]
        error = super().lacking(option, names, where, name)
        if len(names) == 1 and not names[0].isidentifier():
            return type(error)(f"{error}, or a --delimiter")
        return error

    @property
    def _quoting(self) -> dict[str, Any]:
        """What csv.reader is told of quotes."""
        quote = self.fields.quote
        return {"quoting": csv.QUOTE_NONE} if quote == NONE else {"quotechar": quote or '"'}

    def _rows(
        self, rows: Any, taken: list[str], n_above: int, stream: Stream, tally: Tally
    ) -> Iterator[Record]:
        header = next((row for row in rows if row), None)
        if header is None:
            return
        # As pandas writes the names of rows.
        header = [name or f"column_{number}" for number, name in enumerate(header, start=1)]
        columns = self.columns(header, f"{self.path}, line {rows.line_num + n_above}")
        text, title, time, id = (header.index(n) if n is not None else -1 for n in columns[:4])
        kept = {name: header.index(name) for name in columns.kept}
        n_tabs = taken[-1].count("\t") if rows.dialect.delimiter == "\t" else 0
        taken.clear()
        for row in rows:
            lines = taken.copy()
            taken.clear()
            if not row:
                continue
            line = rows.line_num + n_above
            where = f"{self.path}, line {line}"
            if n_tabs and len(lines) > 1 and self.fields.quote is None:
                self._check_lines(lines, n_tabs, line)
            if len(row) != len(header):
                raise DataError(
                    f"{where}: {len(row)} columns, but the header has {len(header)}; mend the line"
                    f"{self._other_quotes(lines)}"
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

    def _other_quotes(self, lines: list[str]) -> str:
        """What else may help with a row of some lines."""
        if not any('"' in line for line in lines):
            return ""
        if self.fields.quote == NONE:
            return ", or pass --quote '\"' if quotes enclose fields"
        return ", or pass --quote none if quotes are text"

    def _check_lines(self, lines: list[str], n_tabs: int, last: int) -> None:
        """DataError for the lines of one row that look like a row each."""
        if all(line.count("\t") == n_tabs for line in lines if line):
            raise DataError(
                f"{self.path}, lines {last - len(lines) + 1} to {last}: quotes make one row of "
                "them, and each has all the columns; pass --quote none if quotes are part of the "
                "text, or else --quote '\"'"
            )

    def _sniffed(self, header: str) -> str:
        """What parts the header into the columns asked for, or else into most."""
        wanted = {self.text_name, *(name for _, name in self.fields.required)}
        is_tabs = ".tsv" in self.path.suffixes
        choices = sorted(DELIMITERS, key=lambda d: d != "\t") if is_tabs else list(DELIMITERS)
        if self.fields.delimiter is not None:
            choices.insert(0, self.fields.delimiter)
        choices = [delimiter for delimiter in choices if delimiter != self.fields.quote]

        def fit(delimiter: str) -> tuple[int, int]:
            try:
                names = next(csv.reader([header], delimiter=delimiter, **self._quoting), [])
            except csv.Error:
                return 0, 0
            return len(wanted & set(names)), len(names)

        return max(choices, key=fit)


def _first(lines: Iterable[str]) -> tuple[str, int]:
    """The first line that is not blank, and how many stand above it."""
    found = ((line, n_above) for n_above, line in enumerate(lines) if line.strip(" "))
    return next(found, ("", 0))


def _noted(lines: Iterable[str], taken: list[str]) -> Iterator[str]:
    """The lines with their ends; those that have been taken are noted. csv.Error when those of a
    row are too long together."""
    n_letters = 0
    for line in lines:
        n_letters = len(line) + (n_letters if taken else 0)
        if n_letters > _MAX_ROW:
            raise csv.Error(f"a row of more than {_MAX_ROW >> 20} MiB")
        taken.append(line)
        yield line + "\n"
