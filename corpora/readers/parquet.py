"""Apache Parquet, of which one column is the document's text."""

from collections.abc import Iterator
from pathlib import Path

from topicmc.corpora.readers import Tally
from topicmc.corpora.readers.batches import batches
from topicmc.corpora.readers.jsonl import DEFAULT_FIELD
from topicmc.corpora.streams import require_file
from topicmc.errors import DataError, UsageError

_BATCH_ROWS = 256


class ParquetReader:
    min_tokens = 0
    plain = None

    def __init__(self, path: Path, field: str | None = None) -> None:
        self.path = path
        self._field = field

    def texts(self, tally: Tally) -> Iterator[list[str]]:
        return batches(self._texts(tally))

    def _texts(self, tally: Tally) -> Iterator[str]:
        import pyarrow as pa
        from pyarrow import parquet

        require_file(self.path)
        size = self.path.stat().st_size
        try:
            with parquet.ParquetFile(self.path, pre_buffer=False) as file:
                column = self._column(file.schema_arrow)
                n_rows = max(1, file.metadata.num_rows)
                done = 0
                for batch in file.iter_batches(_BATCH_ROWS, columns=[column], use_threads=False):
                    done += batch.num_rows
                    tally.position = size * done // n_rows
                    for text in batch.column(0).to_pylist():
                        tally.n_read += 1
                        yield text or ""
        except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
            if getattr(error, "errno", None):
                raise
            reason = str(error).strip().splitlines()[0].rstrip(".") if str(error) else "cut short"
            raise DataError(
                f"{self.path} is damaged or not Parquet ({reason}): write it again."
            ) from error

    def _column(self, schema: "pa.Schema") -> str:  # type: ignore[name-defined]  # noqa: F821
        import pyarrow as pa

        name = self._field or DEFAULT_FIELD
        columns = ", ".join(schema.names[:20])
        if name not in schema.names:
            if self._field is None:
                raise UsageError(
                    f"{self.path}: which column is the text? Pass --field (has: {columns})."
                )
            raise DataError(f"{self.path}: no column {name!r} (has: {columns}); pass another.")
        kind = schema.field(name).type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            raise DataError(
                f"{self.path}: column {name!r} holds {kind}, not text; pass another --field."
            )
        return name
