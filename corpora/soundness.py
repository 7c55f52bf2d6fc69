"""Whether the arrays of a corpus hold what documents can be: ids in range, and so on.

Checksums only show that they are as their maker left them. Kernels trust ids and offsets, so what
comes from anybody is read once before it is used (`topicmc.corpora.stamps` remembers that it was).
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from topicmc.corpora import dropped
from topicmc.corpora.documents import Documents, blocks
from topicmc.corpora.metadata import FILES, NO_DAY, TEXTS, parse_day
from topicmc.corpora.shards import map_documents, map_metadata
from topicmc.corpora.strings import Strings
from topicmc.errors import DataError

_DAYS = parse_day("0001"), parse_day("9999-12-31")


def check_documents(
    root: Path, table: dict[str, Any], dtypes: dict[str, str], n_words: int
) -> None:
    """Offsets that rise, ids below ``n_words`` that ascend in each document, counts of 1 or more,
    as many tokens as ``table`` says. DataError names the file; memory stays bounded."""
    folder = root / table["name"]
    documents = map_documents(root, table, dtypes)
    if (documents.indptr[1:] <= documents.indptr[:-1]).any():  # differences may wrap
        raise damaged(folder / "indptr.npy", "a document is empty or ends before it starts")
    n_tokens = 0
    for block in blocks(documents):
        _check_block(folder, block, n_words)
        n_tokens += block.n_tokens
    if n_tokens != table["n_tokens"]:
        raise damaged(folder / "counts.npy", f"{n_tokens} tokens, not {table['n_tokens']}")


def check_metadata(root: Path, table: dict[str, Any], arrays: Collection[str], n_rows: int) -> None:
    """Of the kinds of metadata that some ``arrays`` belong to: texts in UTF-8, none of which begins
    inside a character, times that are days or unknown, and rows of the ``n_rows`` that the sources
    have; and why and how many rows were left out. DataError as above."""
    folder = root / table["name"]
    is_dropped = table["name"] == dropped.NAME
    wanted = [kind for kind, files in FILES.items() if not {*files}.isdisjoint(arrays)]
    metadata = map_metadata(root, table, [*wanted, "rows"] if is_dropped else wanted)
    for kind, (text, offsets) in TEXTS.items():
        strings = getattr(metadata, kind)
        if (strings.offsets[1:] < strings.offsets[:-1]).any():
            raise damaged(folder / f"{offsets}.npy", "a text ends before it starts")
        for part in strings.pieces():
            _check_texts(part, folder / f"{text}.npy", folder / f"{offsets}.npy")
    days = metadata.times.view(np.int64)
    if not ((days == NO_DAY) | ((days >= _DAYS[0]) & (days <= _DAYS[1]))).all():
        raise damaged(folder / "times.npy", "a time that is no day")
    last = rows = metadata.rows
    if is_dropped:
        last = last + _checked_spans(root, table) - 1
    if len(rows) and not (rows.min() >= 0 and max(rows.max(), last.max()) <= n_rows):
        raise damaged(folder / "rows.npy", "a row that no source has")


def _checked_spans(root: Path, table: dict[str, Any]) -> np.ndarray:
    found = dropped.map_dropped(root, table, [])
    total = table["n_rows"]
    if len(found.spans) and not (found.spans.min() >= 1 and found.spans.max() <= total):
        raise damaged(root / table["name"] / "spans.npy", "a run of no row, or of too many")
    if not np.isin(found.reasons, [*dropped.REASONS]).all():
        raise damaged(root / table["name"] / "reasons.npy", "a reason that is none")
    for code, told in dropped.REASONS.items():
        if found.spans[found.reasons == code].sum() != table["reasons"].get(told, 0):
            raise damaged(
                root / table["name"] / "reasons.npy", "not as many rows as corpus.json says"
            )
    return found.spans


def _check_block(folder: Path, block: Documents, n_words: int) -> None:
    largest = int(block.word_ids.max())
    if largest >= n_words:
        raise damaged(folder / "word_ids.npy", f"word id {largest} of {n_words} words")
    if int(block.counts.min()) < 1:
        raise damaged(folder / "counts.npy", "a count is 0")
    ascending = block.word_ids[1:] > block.word_ids[:-1]
    ascending[block.indptr[1:-1] - 1] = True
    if not ascending.all():
        raise damaged(folder / "word_ids.npy", "the ids of a document do not ascend")


def _check_texts(strings: Strings, text: Path, offsets: Path) -> None:
    starts = strings.offsets[:-1][strings.lengths > 0]
    try:
        strings.text.tobytes().decode()
    except UnicodeDecodeError as error:
        raise damaged(text, "a text is not UTF-8") from error
    if (strings.text[starts] & 0xC0 == 0x80).any():
        raise damaged(offsets, "a text begins inside a character")


def damaged(path: Path, what: str) -> DataError:
    """The error that says so."""
    return DataError(f"{path} is damaged ({what}): prepare the corpus again")
