"""Parquet: the rows and columns of `topicmc.export.csv`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from topicmc.export.csv import LABEL, WORD
from topicmc.export.source import Source
from topicmc.topics.ranking import top

_ROW_GROUP = 1 << 18  # rows, about: a file should have few groups


def write(source: Source, path: Path) -> None:
    """Writes the file; row groups hold whole topics."""
    import pyarrow as pa
    from pyarrow import parquet

    topics = source.topics
    labels = topics.labels
    kinds = {
        name: pa.int32() if isinstance(value, int) else pa.float64()
        for name, value in topics.facts(0).items()
    }
    of_words = zip(WORD, (pa.int32(), pa.string(), pa.float64()), strict=True)
    named = [(LABEL, pa.string())] if labels.names else []
    schema = pa.schema([*kinds.items(), *of_words, *named])
    words = pa.array(topics.vocabulary, pa.string())
    n = source.n_words()
    rank = pa.array(np.arange(1, n + 1, dtype=np.int32))
    waiting: list[pa.Table] = []
    with path.open("wb") as stream, parquet.ParquetWriter(stream, schema) as writer:
        for k in range(len(topics.phi)):
            (order,) = top(topics.phi[k : k + 1], n)
            columns = [
                *(
                    pa.repeat(pa.scalar(value, kinds[name]), n)
                    for name, value in topics.facts(k).items()
                ),
                rank,
                words.take(pa.array(order)),
                pa.array(topics.phi[k, order]),
            ]
            if named:
                columns.append(pa.repeat(pa.scalar(labels.name(k), pa.string()), n))
            waiting.append(pa.Table.from_arrays(columns, schema=schema))
            if n * len(waiting) >= _ROW_GROUP or k == len(topics.phi) - 1:
                writer.write_table(pa.concat_tables(waiting))
                waiting = []
