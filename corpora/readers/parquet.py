"""Apache Parquet, of which columns are the document's text and what belongs to it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from topicmc.corpora.pipes import local, opened
from topicmc.corpora.readers import Tally
from topicmc.corpora.readers.named_fields import Columns, FieldReader, words_as_text
from topicmc.corpora.readers.records import Record, columns_text, read_day
from topicmc.corpora.streams import reason, require_file
from topicmc.errors import DataError
from topicmc.storage.files import unreadable

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH_ROWS = 256
_MAX_ROW = 1 << 26  # letters


class ParquetReader(FieldReader):
    kind = "column"
    unit = "row"

    def records(self, tally: Tally) -> Iterator[Record]:
        import pyarrow as pa
        from pyarrow import parquet

        require_file(self.path)
        size = local(self.path).stat().st_size
        try:
            with (
                opened(self.path) as source,
                parquet.ParquetFile(source, pre_buffer=False) as file,
            ):
                columns = self._columns(file.schema_arrow)
                n_rows = max(1, file.metadata.num_rows)
                wanted = list(set(columns.named()))
                for batch in file.iter_batches(_BATCH_ROWS, columns=wanted, use_threads=False):
                    tally.position = size * (tally.row + batch.num_rows) // n_rows
                    yield from self._records(batch, columns, tally)
        except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
            if isinstance(error, OSError) and error.errno:
                raise unreadable(self.path, error) from error
            raise DataError(
                f"{self.path} is damaged or not Parquet ({reason(error)}): write it again"
            ) from error

    def _records(self, batch: pa.RecordBatch, columns: Columns, tally: Tally) -> Iterator[Record]:
        strings = [_strings(batch, name) for name in columns[:4]]
        kept = [_values(batch.column(name), f"{self.path}: column {name}") for name in columns.kept]
        for i, (text, title, time, id) in enumerate(zip(*strings, strict=True)):
            tally.n_read += 1
            tally.row += 1
            where = f"{self.path}, row {tally.row}"
            record = Record(
                text or "",
                title or "",
                read_day(time, where, tally),
                tally.row,
                id or "",
                columns_text({n: values[i] for n, values in zip(columns.kept, kept, strict=True)})
                if kept
                else "",
            )
            if sum(map(len, (record.text, record.title, record.id, record.columns))) > _MAX_ROW:
                raise DataError(f"{where}: more than {_MAX_ROW >> 20} MiB of text; split it")
            yield record

    def _columns(self, schema: pa.Schema) -> Columns:
        """The columns to read; DataError when one of them does not hold what can be text."""
        columns = self.columns(schema.names, f"{self.path}")
        kind = schema.field(columns.text).type
        if not (_is_text(kind) or (self.fields.tokens is not None and _is_list_of_texts(kind))):
            raise self._no_text(self.text_option, columns.text, schema)
        for option, name in self.fields.required:
            if option != "keep" and not _is_readable(schema.field(name).type):
                raise self._no_text(option, name, schema)
        title, time, id = (
            name if name is not None and _is_readable(schema.field(name).type) else None
            for name in columns[1:4]
        )
        return Columns(columns.text, title, time, id, columns.kept)

    def _no_text(self, option: str, name: str, schema: pa.Schema) -> DataError:
        kind = schema.field(name).type
        wanted, way = "text", f"pass another --{option}"
        if option == "tokens":
            wanted = "lists of words"
        elif option == "field" and _is_list_of_texts(kind):
            way = f"pass --tokens {shlex.quote(name)}"
        return DataError(f"{self.path}: column {name!r} holds {kind}, not {wanted}; {way}")


def _is_text(kind: pa.DataType) -> bool:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(is_one(kind) for is_one in kinds)


def _is_list_of_texts(kind: pa.DataType) -> bool:
    import pyarrow as pa

    lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(is_one(kind) for is_one in lists) and _is_text(kind.value_type)


def _is_readable(kind: pa.DataType) -> bool:
    """Text, and what is written as text: numbers, dates, times."""
    import pyarrow as pa

    if _is_text(kind):
        return True
    try:
        pa.nulls(0, kind).cast(pa.string())
    except pa.ArrowException:
        return False
    return True


def _strings(batch: pa.RecordBatch, name: str | None) -> list[str | None]:
    """A column as text, lists of words too; None for null, and where there is no column."""
    if name is None:
        return [None] * batch.num_rows
    if _is_list_of_texts(batch.schema.field(name).type):
        lists = batch.column(name).to_pylist()
        return [None if words is None else words_as_text(filter(None, words)) for words in lists]
    return _texts(batch.column(name))


def _texts(column: pa.Array) -> list[str | None]:
    """A column as text, of which dates and times are in ISO 8601; None for null and NaN. A value of
    a dictionary is one in memory, however many rows have it."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        used = column.indices.drop_null().unique()
        texts = dict(zip(used.to_pylist(), _texts(column.dictionary.take(used)), strict=True))
        return [texts.get(place) for place in column.indices.to_pylist()]
    texts = (column if _is_text(column.type) else column.cast(pa.string())).to_pylist()
    if pa.types.is_floating(column.type):
        return [None if text == "nan" else text for text in texts]
    return texts


def _values(column: pa.Array, where: str) -> list[Any]:
    """A column as values of JSON: dates and the like as text. DataError starts with ``where``."""
    import pyarrow as pa

    kind = column.type
    plain = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_nested)
    try:
        if not any(is_plain(kind) for is_plain in plain) and _is_readable(kind):
            return _texts(column)
        return column.to_pylist()
    except (ValueError, OverflowError) as error:  # of times in lists or structs
        raise DataError(
            f"{where} holds what cannot be text ({error}); leave it out of --keep"
        ) from None
