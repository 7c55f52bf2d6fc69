"""Whether the arrays of a corpus hold what documents can be: ids in range, and so on.

Checksums only show that they are as their maker left them. Kernels trust ids and offsets, so what
comes from anybody is read once before it is used (`topicmc.corpora.stamps` remembers that it was).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from topicmc.corpora.documents import Documents, blocks
from topicmc.corpora.metadata import Metadata
from topicmc.corpora.shards import map_documents, map_metadata
from topicmc.errors import DataError


def check_documents(
    root: Path, table: dict[str, Any], dtypes: dict[str, str], n_words: int
) -> None:
    """Offsets that rise, ids below ``n_words`` that ascend in each document, counts of 1 or more,
    as many tokens as ``table`` says. DataError names the file; memory stays bounded."""
    folder = root / table["name"]
    documents = map_documents(root, table, dtypes)
    if (np.diff(documents.indptr) < 1).any():
        raise damaged(folder / "indptr.npy", "a document is empty or ends before it starts")
    n_tokens = 0
    for block in blocks(documents):
        _check_block(folder, block, n_words)
        n_tokens += block.n_tokens
    if n_tokens != table["n_tokens"]:
        raise damaged(folder / "counts.npy", f"{n_tokens} tokens, not {table['n_tokens']}")


def check_metadata(root: Path, table: dict[str, Any]) -> None:
    """Titles in UTF-8, none of which begins inside a character. DataError as above."""
    folder = root / table["name"]
    metadata = map_metadata(root, table, ["titles"])
    if (metadata.lengths < 0).any():
        raise damaged(folder / "title_offsets.npy", "a title ends before it starts")
    step = 1 << 16
    for start in range(0, metadata.n_docs, step):
        _check_titles(folder, metadata.part(start, min(start + step, metadata.n_docs)))


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


def _check_titles(folder: Path, metadata: Metadata) -> None:
    starts = metadata.offsets[:-1][metadata.lengths > 0]
    try:
        metadata.text.tobytes().decode()
    except UnicodeDecodeError as error:
        raise damaged(folder / "titles.npy", "a title is not UTF-8") from error
    if (metadata.text[starts] & 0xC0 == 0x80).any():
        raise damaged(folder / "title_offsets.npy", "a title begins inside a character")


def damaged(path: Path, what: str) -> DataError:
    """The error that says so."""
    return DataError(f"{path} is damaged ({what}): prepare the corpus again.")
