"""What ``topicmc corpus dropped`` prints and writes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topicmc.cli.options import print_json
from topicmc.cli.printing import echo, note

if TYPE_CHECKING:
    from topicmc.corpora import Corpus

_SUFFIXES = (".csv", ".jsonl", ".parquet")
_NAMES = ("id", "file", "unit", "row", "title", "reason")
_CHUNK = 1 << 16  # rows at a time


def print_dropped(corpus: Corpus, written: Path | None, as_json: bool) -> None:
    """The rows, a line each, or where they were written."""
    from topicmc.corpora.metadata import clean_title

    facts = {"corpus": str(corpus.path), "rows": corpus.n_dropped}
    facts |= {"reasons": corpus.index.get("dropped", {}).get("reasons", {})}
    if corpus.index.get("dropped") is None:
        note(f"{corpus.path} does not know its rows: prepare the sources again")
    if as_json:
        rows = {"file": str(written)} if written else {"dropped": [*_records(corpus)]}
        print_json({**facts, **rows})
    elif written:
        echo(f"{corpus.n_dropped:,} rows written to {written}")
    else:
        for record in _records(corpus):
            kept = "  ".join(clean_title(v) for v in (record["id"], record["title"]) if v)
            place = "?"
            if record["row"] is not None:
                place = clean_title(f"{record['file']}, {record['unit']} {record['row']:,}")
            echo(f"{place}  {record['reason']}  {kept}".rstrip())


def write_dropped(corpus: Corpus, path: Path, force: bool) -> None:
    """Writes the rows into a file, in the format that its name asks for."""
    from topicmc.storage.files import check_new_file, check_no_source, new_file

    check_new_file(path, _SUFFIXES, force)
    check_no_source(path, [corpus.path])
    records, suffix = _records(corpus), path.suffix.lower()
    with new_file(path, "wb", force=force) as stream:
        if suffix == ".jsonl":
            for record in records:
                stream.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
            return
        import pyarrow as pa
        from pyarrow import csv, parquet

        types = {"row": pa.int64()}
        schema = pa.schema([(name, types.get(name, pa.string())) for name in _NAMES])
        kind = csv.CSVWriter if suffix == ".csv" else parquet.ParquetWriter
        with kind(stream, schema) as writer:
            while chunk := list(islice(records, _CHUNK)):
                writer.write_table(pa.Table.from_pylist(chunk, schema))


def _records(corpus: Corpus) -> Iterator[dict[str, Any]]:
    from topicmc.corpora.dropped import REASONS
    from topicmc.corpora.making.ordering import listed
    from topicmc.corpora.metadata import clean_title

    if not corpus.n_dropped:
        return
    metadata, reasons = listed(corpus)
    for i in map(int, metadata.rows.argsort(kind="stable")):
        place = corpus.places.place(int(metadata.rows[i]))
        yield {
            "id": metadata.ids[i] or None,
            "file": place and place.file,
            "unit": place and place.unit,
            "row": place and place.row,
            "title": clean_title(metadata.titles[i]) or None,
            "reason": REASONS.get(int(reasons[i])),
        }
