"""Files of topic mixes: a row for each document, in the format that the name of the file asks for.

.npy      float32 (D, K): the mixes alone
.csv      the facts of each document, topic_0 …, and sd_0 … if asked for; after the number the name
          of the topic, as topic_3_Sport, if it has one
.parquet  the same columns, the mixes in float32
.jsonl    an object a line: the facts, mix, and sd if asked for

Facts are document, file, row, title, tokens, unknown, and where they are known id, heldout, dropped
and columns of the source, which are text but in .jsonl.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from topicmc.errors import UsageError
from topicmc.storage.arrays import GrowingArray
from topicmc.storage.files import check_new_file, new_file

if TYPE_CHECKING:
    import pyarrow as pa

_DIGITS = 7  # after the point, in JSON
_ROW_GROUP = 1 << 26  # bytes in memory
WHOLE = ("document", "row", "tokens", "unknown")
"""Facts that are whole numbers."""


class Rows(NamedTuple):
    """What is known of n documents, one after the other.

    first  number of the first document
    facts  columns by name, of n values each: whole numbers, texts, or values of JSON
    mix    float64 (n, K)
    sd     float64 (n, K), or None
    """

    first: int
    facts: dict[str, Sequence[Any]]
    mix: np.ndarray
    sd: np.ndarray | None


class _Writer:
    def write(self, rows: Rows) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Writes what a format ends with; the stream stays open."""

    def abandon(self) -> None:
        """Has it write no more, when the file is given up."""


def check_place(path: Path, *, sd: bool = False, force: bool = False) -> None:
    """UsageError when mixes cannot be written to a file of that name, as `check_new_file` does."""
    if sd and path.suffix.lower() == ".npy":
        raise UsageError(f"-o {path}: .npy holds the mixes alone; with --se write another format")
    check_new_file(path, _WRITERS, force)


def write_mixes(
    path: Path,
    topics: Sequence[str],
    blocks: Iterable[Rows],
    *,
    sd: bool = False,
    force: bool = False,
) -> None:
    """Writes all rows, or, when anything fails, nothing; folders are made as needed. ``topics`` are
    what columns are called by.

    Raises UsageError as `check_place` does, also where a file has come by the end.
    """
    check_place(path, sd=sd, force=force)
    with new_file(path, "wb", force=force) as stream:
        writer = _WRITERS[path.suffix.lower()](stream, topics, sd)
        try:
            for rows in blocks:
                writer.write(rows)
            writer.close()
        except BaseException:
            writer.abandon()
            raise


class _Npy(_Writer):
    def __init__(self, stream: IO[bytes], topics: Sequence[str], sd: bool) -> None:
        self._array = GrowingArray(stream, "<f4", (len(topics),))

    def write(self, rows: Rows) -> None:
        self._array.append(rows.mix)

    def close(self) -> None:
        self._array.finish()


class _JsonLines(_Writer):
    def __init__(self, stream: IO[bytes], topics: Sequence[str], sd: bool) -> None:
        self._stream = stream

    def write(self, rows: Rows) -> None:
        columns: dict[str, Any] = {**rows.facts, "mix": rows.mix.round(_DIGITS).tolist()}
        if rows.sd is not None:
            columns["sd"] = rows.sd.round(_DIGITS).tolist()
        for values in zip(*columns.values(), strict=True):
            record = dict(zip(columns, values, strict=True))
            self._stream.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")


class _Table(_Writer):
    """CSV and Parquet, by Arrow; the first rows tell the columns."""

    def __init__(self, stream: IO[bytes], topics: Sequence[str], sd: bool) -> None:
        kinds = ["topic", "sd"] if sd else ["topic"]
        self._values = [f"{kind}_{topic}" for kind in kinds for topic in topics]
        self._stream = stream
        self._writer: Any = None

    def _start(self, facts: Iterable[str]) -> None:
        import pyarrow as pa

        types = dict.fromkeys(WHOLE, pa.int64()) | {"heldout": pa.bool_()}
        self._schema = pa.schema(
            [
                *((name, types.get(name, pa.string())) for name in facts),
                *((name, pa.float32()) for name in self._values),
            ]
        )
        self._texts = [name for name in facts if types.get(name) not in (pa.int64(), pa.bool_())]
        self._writer = self._open(self._stream)

    def _open(self, stream: IO[bytes]) -> Any:
        raise NotImplementedError

    def write(self, rows: Rows) -> None:
        import pyarrow as pa

        if self._writer is None:
            self._start(rows.facts)
        values = [rows.mix] if rows.sd is None else [rows.mix, rows.sd]
        columns = [column for array in values for column in array.T.astype(np.float32)]
        facts = [
            list(map(_text, values)) if self._schema.field(name).type == pa.string() else values
            for name, values in rows.facts.items()
        ]
        self._put(pa.table([*facts, *columns], self._schema))

    def _put(self, table: pa.Table) -> None:
        self._writer.write_table(table)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


def _text(value: Any) -> str | None:
    """A value of JSON as text."""
    is_text = value is None or isinstance(value, str)
    return value if is_text else json.dumps(value, ensure_ascii=False)


class _Csv(_Table):
    def _open(self, stream: IO[bytes]) -> Any:
        from pyarrow import csv

        return csv.CSVWriter(stream, self._schema)


class _Parquet(_Table):
    def _open(self, stream: IO[bytes]) -> Any:
        from pyarrow import parquet

        # Shares hardly repeat: a dictionary of them would only cost time.
        self._waiting: list[pa.Table] = []
        return parquet.ParquetWriter(stream, self._schema, use_dictionary=self._texts)

    def _put(self, table: pa.Table) -> None:
        """Each write makes a row group, of which a file should have few."""
        self._waiting.append(table)
        if sum(table.nbytes for table in self._waiting) >= _ROW_GROUP:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa

        if self._waiting:
            super()._put(pa.concat_tables(self._waiting))
            self._waiting = []

    def close(self) -> None:
        self._flush()
        super().close()

    def abandon(self) -> None:
        if self._writer is not None:
            self._writer.is_open = False  # or it would close itself later, and complain


_WRITERS: dict[str, Callable[[IO[bytes], Sequence[str], bool], _Writer]] = {
    ".csv": _Csv,
    ".jsonl": _JsonLines,
    ".npy": _Npy,
    ".parquet": _Parquet,
}
