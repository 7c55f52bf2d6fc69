"""The columns of a file of ratings, or of pairs: CSV, TSV, Parquet, and MovieLens' own.

They are named by the header, or counted from 1. A first line that holds a number in a column that
is read, or that is split by ``::``, is no header. Blanks around a cell of text are no part of it.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from topicmc.corpora.pipes import opened
from topicmc.corpora.readers.table import DELIMITERS
from topicmc.corpora.streams import PARQUET, Stream, reason
from topicmc.errors import DataError, UsageError
from topicmc.storage.files import unreadable
from topicmc.storage.handwritten import parse_number

if TYPE_CHECKING:
    import pyarrow as pa

_BLOCK = 1 << 24  # bytes that are parsed at a time
_COLUMN = r"\d{1,9}"  # given by its number


class Columns(NamedTuple):
    """Which columns to read, by name or by number from 1; None: the first two, and the third."""

    user: str | None = None
    item: str | None = None
    rating: str | None = None


class Read(NamedTuple):
    """Columns of a file: texts of users and items, numbers or texts of ratings; and where a row of
    theirs stands."""

    user: pa.ChunkedArray
    item: pa.ChunkedArray
    rating: pa.ChunkedArray | None
    columns: Columns
    place: Callable[[int], str]


def read_columns(path: Path, columns: Columns, delimiter: str | None, *, rated: bool) -> Read:
    """The columns of a file, the third where it is ``rated``; arguments and errors as of
    `topicmc.models.factors.rating_files.read_ratings`."""
    with Stream(path) as stream:
        head = stream.read(1 << 16)
    if head.startswith(PARQUET):
        if delimiter is not None:
            raise UsageError(
                f"--delimiter {delimiter!r}: goes with text, and {path} is Parquet; leave it out"
            )
        return _parquet(path, columns, rated)
    if not head.strip():
        raise DataError(f"{path}: is empty; check the file")
    return _text(path, columns, delimiter, rated)


def _parquet(path: Path, columns: Columns, rated: bool) -> Read:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with opened(path) as file:
            schema = parquet.read_schema(file)
            places = _places(path, list(schema.names), columns, rated)
            names = [schema.names[i] for i in places]
            table = parquet.read_table(file, columns=names)
        read = [table.column(name) for name in names]
        texts = [_ids(read[i], f"{path}: the column {names[i]}") for i in range(2)]
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno:
            raise unreadable(path, error) from None
        raise DataError(f"{path}: cannot be read as Parquet ({reason(error)[:200]})") from None
    rating = read[2] if rated else None
    if rating is not None and (
        pa.types.is_nested(rating.type) or pa.types.is_temporal(rating.type)
    ):
        raise DataError(
            f"{path}: the column {names[2]} holds {rating.type}, not ratings; name another by"
            " --rating"
        )
    return Read(texts[0], texts[1], rating, Columns(*names), lambda row: f"{path}, row {row + 1}")


def _ids(column: pa.ChunkedArray, named: str) -> pa.ChunkedArray:
    """Ids as text. Of whole numbers pandas makes some with a point where one is missing; DataError
    for any that are not whole."""
    import pyarrow as pa

    if pa.types.is_floating(column.type):
        try:
            column = column.cast(pa.int64())
        except pa.ArrowInvalid:
            raise DataError(
                f"{named} holds numbers that are not whole; ids are text or whole numbers"
            ) from None
    return column.cast(pa.string())


def _text(path: Path, columns: Columns, delimiter: str | None, rated: bool) -> Read:
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv as arrow_csv

    first = _first_line(path)
    delimiter = delimiter or _sniffed(first, path)
    cells = _cells(first, delimiter, path)
    header = None if _is_data(cells, delimiter, columns, rated) else cells
    names = header or [f"column {number}" for number in range(1, len(cells) + 1)]
    places = _places(path, names, columns, rated, has_header=header is not None)
    step = 2 if delimiter == "::" else 1  # split at single colons every other column is empty
    wanted = [f"f{place * step}" for place in places]
    wrong: list[tuple[int, str]] = []

    def judge(row: Any) -> str:
        told = f"{row.actual_columns} columns, where {row.expected_columns} are expected"
        wrong.append((row.number, told))
        return "error"

    with Stream(path) as stream:
        source = _Counted(stream)
        try:
            table = arrow_csv.read_csv(
                pa.PythonFile(source, mode="r"),
                arrow_csv.ReadOptions(
                    use_threads=False,
                    block_size=_BLOCK,
                    column_names=[f"f{i}" for i in range((len(cells) - 1) * step + 1)],
                    skip_rows=int(header is not None),
                ),
                arrow_csv.ParseOptions(
                    delimiter=delimiter[0],
                    newlines_in_values=True,
                    ignore_empty_lines=False,
                    invalid_row_handler=judge,
                ),
                arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(wanted, pa.string()), include_columns=wanted
                ),
            )
        except pa.ArrowException as error:
            raise _not_csv(path, error, wrong) from None
    above = 1 + (header is not None)
    by_line = source.lines in (table.num_rows + above - 1, table.num_rows + above - 2)
    if not by_line and source.quotes % 2:
        raise DataError(f"{path}: a quotation mark is never closed; mend the file")
    unit = "line" if by_line else "row"  # values may hold line breaks
    read = [pc.utf8_trim_whitespace(table.column(name)) for name in wanted]
    del table  # as large as these
    filled = _filled(read)
    numbers = np.flatnonzero(filled) + above
    return Read(
        read[0].filter(filled),
        read[1].filter(filled),
        read[2].filter(filled) if rated else None,
        Columns(*(names[i] for i in places)),
        lambda row: f"{path}, {unit} {numbers[row]}",
    )


def _filled(columns: list[pa.ChunkedArray]) -> pa.Array:
    """The rows that are not blank."""
    import pyarrow as pa
    import pyarrow.compute as pc

    blank = np.logical_and.reduce([pc.binary_length(column).to_numpy() == 0 for column in columns])
    return pa.array(~blank)


def _not_csv(path: Path, error: Exception, wrong: list[tuple[int, str]]) -> DataError:
    if wrong:
        line, told = wrong[0]
        return DataError(f"{path}, line {line}: {told}; mend the line")
    if "Could not skip" in str(error):  # a header without a line break
        return DataError(f"{path}: holds no rows below its header; check the file")
    row = re.search(r"Row #(\d+).*invalid UTF8", str(error))
    if row:
        return DataError(f"{path}, line {row[1]}: not text in UTF-8; convert the file")
    return DataError(f"{path}: cannot be read as CSV ({reason(error)[:200]})")


class _Counted:
    """A `Stream` as PyArrow wants files, whose lines and quotation marks are counted."""

    closed = False

    def __init__(self, stream: Stream) -> None:
        self._stream, self._rest = stream, b""
        self.lines = self.quotes = 0

    def read(self, size: int) -> bytes:
        if not self._rest:
            self._rest = self._stream.read(size)
        taken, self._rest = self._rest[:size], self._rest[size:]
        self.lines += taken.count(b"\n")
        self.quotes += taken.count(b'"')
        return taken

    def close(self) -> None:
        """Who opened the stream closes it."""


def _first_line(path: Path) -> str:
    with Stream(path) as stream:
        line = stream.readline()
    try:
        return line.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError:
        raise DataError(f"{path}, line 1: not text in UTF-8; convert the file") from None


def _sniffed(line: str, path: Path) -> str:
    """What parts the first line into most columns."""
    if "::" in line:
        return "::"
    best = max(DELIMITERS, key=line.count)
    if best not in line:
        raise DataError(
            f"{path}, line 1: {line[:60]!r} is one column; pass --delimiter if columns are parted"
            " by something else than comma, semicolon, tab or bar"
        )
    return best


def _cells(line: str, delimiter: str, path: Path) -> list[str]:
    if len(delimiter) > 1:
        return line.split(delimiter)
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter, strict=True))]
    except csv.Error as error:
        raise DataError(f"{path}, line 1: not CSV ({error}); mend the line") from None


def _is_data(cells: list[str], delimiter: str, columns: Columns, rated: bool) -> bool:
    """Whether the first line is no header: the names of the columns that are read are no
    numbers."""
    places = [
        number if asked is None else int(asked) if re.fullmatch(_COLUMN, asked) else 0
        for number, asked in enumerate(columns if rated else columns[:2], start=1)
    ]
    read = [cells[place - 1] for place in places if 0 < place <= len(cells)]
    return delimiter == "::" or any(math.isfinite(number_of(cell)) for cell in read)


def _places(
    path: Path, names: list[str], columns: Columns, rated: bool, has_header: bool = True
) -> list[int]:
    """The numbers of the columns to read, from 0."""
    roles = Columns._fields if rated else Columns._fields[:2]
    flags = ", ".join("--" + role for role in roles)
    places = []
    for number, role in enumerate(roles):
        asked = getattr(columns, role)
        if asked is None:
            if number >= len(names):
                raise DataError(
                    f"{path}: has {len(names)} column{'s' * (len(names) != 1)}, where"
                    f" {' and '.join(roles)} are needed; check the file, or pass --delimiter"
                )
            if has_header and not names[number]:
                raise UsageError(
                    f"{path}: column {number + 1} has no name, as that of row numbers has; name the"
                    f" columns to read, by {flags}"
                )
            places.append(number)
        else:
            places.append(_place(path, names, asked, role, has_header))
    if len(set(places)) < len(places):
        raise UsageError(
            f"{path}: one column cannot be two of {', '.join(roles)}; name them all, by {flags}"
        )
    return places


def _place(path: Path, names: list[str], asked: str, role: str, has_header: bool) -> int:
    if has_header and asked in names:
        if names.count(asked) > 1:
            raise DataError(f"{path}: has several columns {asked!r}; give the number of one")
        return names.index(asked)
    if re.fullmatch(_COLUMN, asked) and 1 <= int(asked) <= len(names):
        return int(asked) - 1
    if not has_header:
        raise UsageError(
            f"--{role} {asked}: {path} has no header; give the number of the column, 1 to"
            f" {len(names)}"
        )
    close = get_close_matches(asked, names, n=1)
    hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(names[:20])}"
    raise UsageError(f"--{role} {asked}: {path} has no such column; {hint}")


def number_of(cell: Any) -> float:
    """The number that a cell holds, of which Parquet may have bytes; NaN where it is none."""
    if isinstance(cell, bytes):
        cell = cell.decode(errors="replace")
    try:
        return parse_number(str(cell))
    except ValueError:
        return math.nan
