"""What ``topicmc corpus dropped`` prints and writes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topicmc.cli.options import print_json

if TYPE_CHECKING:
    from topicmc.corpora import Corpus

_SUFFIXES = (".csv", ".jsonl", ".parquet")


def print_dropped(corpus: Corpus, written: Path | None, as_json: bool) -> None:
    """The rows, a line each, or where they were written."""
    from topicmc.corpora.metadata import clean_title

    facts = {"corpus": str(corpus.path), "rows": corpus.n_dropped}
    facts |= {"reasons": corpus.index.get("dropped", {}).get("reasons", {})}
    if corpus.index.get("dropped") is None:
        click.echo(
            f"Note: {corpus.path} does not know its rows: prepare the sources again.", err=True
        )
    if as_json:
        rows = {"file": str(written)} if written else {"dropped": [*_records(corpus)]}
        print_json({**facts, **rows})
    elif written:
        click.echo(f"{corpus.n_dropped:,} rows written to {written}")
    else:
        for record in _records(corpus):
            kept = "  ".join(clean_title(v) for v in (record["id"], record["title"]) if v)
            place = clean_title(f"{record['file']}, {record['unit']} {record['row']:,}")
            click.echo(f"{place}  {record['reason']}  {kept}".rstrip())


def write_dropped(corpus: Corpus, path: Path, force: bool) -> None:
    """Writes the rows into a file, in the format that its name asks for."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    from topicmc.storage.files import atomic_write, check_new_file, user_errors_for

    check_new_file(path, _SUFFIXES, force)
    suffix = path.suffix.lower()
    records = [*_records(corpus)]
    types = {"row": pa.int64()}
    schema = pa.schema([(name, types.get(name, pa.string())) for name in _NAMES])
    with user_errors_for(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path, "wb") as stream:
        if suffix == ".jsonl":
            for record in records:
                stream.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
        else:
            table = pa.Table.from_pylist(records, schema)
            csv.write_csv(table, stream) if suffix == ".csv" else parquet.write_table(table, stream)


_NAMES = ("id", "file", "unit", "row", "title", "reason")


def _records(corpus: Corpus) -> Iterator[dict[str, Any]]:
    from topicmc.corpora.dropped import REASONS
    from topicmc.corpora.metadata import clean_title
    from topicmc.corpora.ordering import listed

    if not corpus.n_dropped:
        return
    metadata, reasons = listed(corpus)
    for i in metadata.rows.argsort(kind="stable").tolist():
        place = corpus.places.place(int(metadata.rows[i]))
        yield {
            "id": metadata.ids[i] or None,
            "file": place and place.file,
            "unit": place and place.unit,
            "row": place and place.row,
            "title": clean_title(metadata.titles[i]) or None,
            "reason": REASONS.get(int(reasons[i])),
        }
