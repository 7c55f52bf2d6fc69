"""corpus.json, read and written: what it says is believed only where it can be true.

A corpus may come from anybody, with checksums that fit. So names are those that `topicmc prepare`
gives, sizes are numbers that can be sizes, and totals are sums, before anything is made of them.
"""

from __future__ import annotations

import hashlib
import json
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from topicmc.corpora import stamps
from topicmc.corpora.dropped import ARRAYS as DROPPED
from topicmc.corpora.dropped import NAME, REASONS
from topicmc.corpora.files import sha256, write_text
from topicmc.corpora.metadata import FILES
from topicmc.corpora.shards import ARRAYS
from topicmc.errors import DataError
from topicmc.storage.fields import MOST, Record, quoted
from topicmc.storage.files import own_checksum, unreadable

INDEX = "corpus.json"
FORMAT = "topicmc-corpus"
VERSION = 2
_VERSIONS = (1, 2)  # the first knows nothing of rows, ids and columns
VOCABULARY = "vocabulary.txt"
NAMES = (INDEX, VOCABULARY, "shards", "heldout", NAME, stamps.NAME, f".{stamps.NAME}.*.tmp")
"""What the folder of a corpus may hold, as patterns."""

_SHA256 = "[0-9a-f]{64}"
_TOTALS = ("n_docs", "n_tokens", "n_entries")
_UNITS = "line|row|file|page|document"


def read_index(path: Path) -> dict[str, Any]:
    """corpus.json of the corpus at path, checked against its own checksum and for what cannot be.
    DataError names the field."""
    file = path / INDEX
    if not path.exists():
        raise DataError(f"{path} does not exist: make a corpus with topicmc prepare")
    if not file.is_file():
        raise DataError(f"{path} is not a corpus (no {INDEX}): make one with topicmc prepare")
    try:
        index = json.loads(file.read_text(encoding="utf-8"))
        kind, version = index["format"], index["version"]
    except OSError as error:
        raise unreadable(file, error) from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(f"{file} cannot be read: prepare the corpus again") from error
    if kind != FORMAT:
        raise DataError(f"{file} does not describe a corpus of topicmc: check the path")
    if version not in _VERSIONS:
        raise DataError(
            f"{file} has version {quoted(version)}, this topicmc reads 1 to {VERSION}: prepare the "
            "corpus again or use the topicmc that made it"
        )
    if index.get("checksum") != own_checksum(index):
        raise DataError(f"{file} was changed or damaged: prepare the corpus again")
    try:  # what is printed later
        json.dumps(index, ensure_ascii=False, allow_nan=False).encode()
    except ValueError:
        raise DataError(
            f"{file}: damaged, it holds what is no text or no number; restore it"
        ) from None
    _check(Record(file, index))
    return index


def _check(index: Record) -> None:
    index.text("fingerprint", "[0-9a-f]{32}")
    index.whole("n_words", least=1, most=1 << 32)
    dtypes = index.record("dtypes")
    for name in ("word_ids", "counts"):
        dtypes.text(name, "uint16|uint32")
    vocabulary = index.record("vocabulary")
    vocabulary.text("name", VOCABULARY)
    vocabulary.text("sha256", _SHA256)
    words = index.path.with_name(VOCABULARY)
    if words.is_file() and words.stat().st_size < index.value["n_words"]:  # a word takes a line
        raise DataError(f"{words} is damaged (too short for its words): prepare the corpus again")
    totals = dict.fromkeys(_TOTALS, 0)
    for number, shard in enumerate(index.records("shards")):
        _check_part(shard, f"shards/{number:05d}", least=1)
        for name in _TOTALS:
            totals[name] += shard.value[name]
    heldout = index.record("heldout")
    _check_part(heldout, "heldout", least=0)
    index.whole("n_heldout", heldout.value["n_docs"], heldout.value["n_docs"])
    for name, total in totals.items():
        index.whole(name, max(1, total), total)
    rows = 0
    for source in index.records("sources") if "sources" in index else ():
        source.text("name", r"(?s).+")
        source.text("unit", _UNITS)
        rows += source.whole("rows", most=MOST - rows)
    if "dropped" in index:
        _check_dropped(index.record("dropped"))
    if "columns" in index:
        index.strings("columns")
    _check_provenance(index.record("provenance"))


def _check_provenance(provenance: Record) -> None:
    """As far as `topicmc.corpora.facts` counts by it, and the format of its sources: its steps, and
    those of what was merged."""
    found = [provenance]
    while found:
        told = found.pop()
        if told.value.get("duplicates") is not None:
            told.whole("duplicates")
        if told.value.get("format") is not None:
            told.text("format")
        if "history" in told:
            found += told.records("history")
        if "with" in told:
            found += [origin.record("provenance") for origin in told.records("with")]


def _check_part(part: Record, name: str, least: int) -> None:
    """A row of shards, or heldout: its place in the table tells its name, and each document of it
    has an entry, each entry a token."""
    part.text("name", name)
    n_docs = part.whole("n_docs", least)
    n_entries = part.whole("n_entries", n_docs)
    part.whole("n_tokens", n_entries, n_entries << 32)
    _check_arrays(part, ARRAYS)


def _check_dropped(part: Record) -> None:
    part.text("name", NAME)
    n_runs = part.whole("n_docs")
    part.whole("n_rows", n_runs)
    reasons = part.record("reasons")
    total = sum(reasons.whole(name) for name in reasons.value)
    if unknown := reasons.value.keys() - {*REASONS.values()}:
        raise DataError(f"{part.path}: {quoted(min(unknown))} is no reason; restore or remake it")
    part.whole("n_rows", total, total)
    _check_arrays(part, tuple(DROPPED))


def _check_arrays(part: Record, own: tuple[str, ...]) -> None:
    """Checksums of the arrays of a part: all of its own, and all of each kind of metadata."""
    known = {*own, *chain(*FILES.values())}
    sums = part.record("sha256").texts("|".join(sorted(known)), _SHA256)
    for together in (own, *FILES.values()):
        if together == own or set(together) & set(sums):
            for array in together:
                part.record("sha256").text(array)


def write_index(
    root: Path,
    *,
    n_words: int,
    dtypes: tuple[np.dtype, np.dtype],
    shards: list[dict[str, Any]],
    heldout: dict[str, Any],
    provenance: dict[str, Any],
    dropped: dict[str, Any] | None = None,
    sources: list[dict[str, Any]] | None = None,
    columns: list[str] | None = None,
) -> None:
    """Writes corpus.json, last of all: a folder without it is no corpus.

    Args:
        root: the folder, which holds the vocabulary.
        n_words: how many words that has.
        dtypes: of word ids, and of counts.
        shards: what `ShardWriter.close` says of each.
        heldout: the same of the held-out documents.
        provenance: where the documents come from, and what was made of them.
        dropped: what `DroppedWriter.close` says of the rows that made no document.
        sources: of each file, its ``name``, the ``unit`` of its rows, and how many ``rows`` it has.
        columns: names of the columns that were kept.

    Raises OSError, and DataError when the vocabulary cannot be read.
    """
    of_rows = {"dropped": dropped, "sources": sources, "columns": columns}
    index: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "n_docs": sum(shard["n_docs"] for shard in shards),
        "n_words": n_words,
        "n_tokens": sum(shard["n_tokens"] for shard in shards),
        "n_entries": sum(shard["n_entries"] for shard in shards),
        "n_heldout": heldout["n_docs"],
        "dtypes": {"word_ids": dtypes[0].name, "counts": dtypes[1].name},
        "vocabulary": {"name": VOCABULARY, "sha256": sha256(root / VOCABULARY)},
        "shards": shards,
        "heldout": heldout,
        **{name: value for name, value in of_rows.items() if value},
        "provenance": provenance,
    }
    # Names of files and columns may hold what UTF-8 cannot write.
    index = json.loads(json.dumps(index, ensure_ascii=False).encode("utf-8", "replace"))
    index["fingerprint"] = content_fingerprint(index)
    index["checksum"] = own_checksum(index)
    write_text(root / INDEX, json.dumps(index, indent=1, ensure_ascii=False) + "\n")


def content_fingerprint(index: dict[str, Any]) -> str:
    """The fingerprint of what is trained on, by the checksums of vocabulary, shards and held-out
    documents. Metadata do not enter: they may come and go without making another corpus of it."""
    parts = [index["vocabulary"]["sha256"]]
    for table in [*index["shards"], index["heldout"]]:
        parts += [table["sha256"][array] for array in ARRAYS]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
