"""Several corpora written as one, part after part: shards, held-out documents, and rows that made
no document. Shards whose ids, types and documents need not change keep their bytes.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from topicmc.corpora.documents import Documents, blocks, remap, select
from topicmc.corpora.dropped import KEPT, PRUNED, DroppedWriter
from topicmc.corpora.files import NpyWriter, sha256
from topicmc.corpora.metadata import Metadata, kinds
from topicmc.corpora.shards import ShardWriter, file_of, id_dtype
from topicmc.corpora.store import Corpus
from topicmc.corpora.text.vocabulary import spelled
from topicmc.errors import DataError
from topicmc.storage.fields import MOST

Dtypes = tuple[np.dtype, np.dtype]


class Part(NamedTuple):
    """A corpus, int64 (W,) from its ids to those of the whole (None: they stay), and how many rows
    the sources of those before it have."""

    corpus: Corpus
    new_ids: np.ndarray | None
    rows_before: int


def parts_of(corpora: Sequence[Corpus], words: list[str]) -> list[Part]:
    """The corpora as parts of a whole over ``words``. DataError for more rows than int64 holds."""
    parts, rows = [], 0
    for corpus in corpora:
        parts.append(Part(corpus, _new_ids(corpus.vocabulary, words), rows))
        rows += corpus.places.n_rows
        if rows > MOST:
            raise DataError(f"{corpus.path}: has more rows than can be counted; leave it out")
    return parts


def _new_ids(old: list[str], words: list[str]) -> np.ndarray | None:
    if old == words[: len(old)]:
        return None
    index = spelled(words)  # a new word is one that is not among these
    return np.array([index.get(word, -1) for word in old], np.int64)


def kinds_of(rows: Sequence[dict[str, Any]]) -> list[str]:
    """The metadata that any of some tables has."""
    return sorted(set().union(*map(kinds, rows)))


def dtypes_of(corpora: Sequence[Corpus], n_words: int) -> Dtypes:
    """Dtypes of word ids and counts that hold what each corpus has."""
    counts = [np.dtype(corpus.index["dtypes"]["counts"]) for corpus in corpora]
    return id_dtype(n_words), max(counts, key=lambda dtype: dtype.itemsize)


def _renamed(part: Part, documents: Documents, dropped: DroppedWriter) -> Iterator[Documents]:
    """Blocks under the new ids; documents that lose all their words are dropped."""
    for block in blocks(documents):
        if block.metadata is not None:
            block = replace(block, metadata=block.metadata.moved(part.rows_before))
        if part.new_ids is not None:
            block = remap(block, part.new_ids)
            empty = block.lengths == 0
            metadata = block.metadata or Metadata.blank(block.n_docs)
            dropped.append(metadata, np.where(empty, PRUNED, KEPT).astype(np.uint8))
            block = select(block, ~empty)
        yield block


def _stays(part: Part, dtypes: Dtypes) -> bool:
    told = part.corpus.index["dtypes"]
    return part.new_ids is None and (told["word_ids"], told["counts"]) == tuple(
        dtype.name for dtype in dtypes
    )


def concatenate(
    parts: Sequence[Part], folder: Path, dtypes: Dtypes, *, link: bool = False
) -> dict[str, Any]:
    """Writes shards/, heldout/ and dropped/ into folder; returns their tables, as ``write_index``
    takes them. With ``link`` files that stay as they are become hard links."""
    tables = [table for part in parts for table in part.corpus.tables]
    with DroppedWriter(folder, kinds_of(tables)) as dropped:
        for part in parts:
            old = part.corpus.dropped
            if old is not None:
                dropped.write(old._replace(metadata=old.metadata.moved(part.rows_before)))
        return {
            "shards": _write_shards(parts, folder, dtypes, dropped, link=link),
            "heldout": _write_heldout(parts, folder, dtypes, dropped, link=link),
            "dropped": dropped.close(),
            "sources": [s for part in parts for s in part.corpus.index.get("sources", [])],
            "columns": list(
                dict.fromkeys(n for part in parts for n in part.corpus.index.get("columns", []))
            ),
        }


def _write_shards(
    parts: Sequence[Part],
    folder: Path,
    dtypes: Dtypes,
    dropped: DroppedWriter,
    *,
    link: bool = False,
) -> list[dict[str, Any]]:
    shards: list[dict[str, Any]] = []
    for part in parts:
        for row in part.corpus.index["shards"]:
            name = f"shards/{len(shards):05d}"
            if _stays(part, dtypes):
                moved = part.rows_before
                shards.append(carry(part.corpus, row, folder, name, link=link, moved=moved))
                continue
            with ShardWriter(folder, name, *dtypes, kinds(row)) as shard:
                for block in _renamed(part, part.corpus.part(row), dropped):
                    shard.append(block)
                written = shard.close()
            if written["n_docs"]:
                shards.append(written)
            else:
                shutil.rmtree(folder / name)
    return shards


def _write_heldout(
    parts: Sequence[Part],
    folder: Path,
    dtypes: Dtypes,
    dropped: DroppedWriter,
    *,
    link: bool = False,
) -> dict[str, Any]:
    filled = [part for part in parts if part.corpus.n_heldout]
    if len(filled) == 1 and _stays(filled[0], dtypes):
        corpus, moved = filled[0].corpus, filled[0].rows_before
        return carry(corpus, corpus.index["heldout"], folder, "heldout", link=link, moved=moved)
    rows = [part.corpus.index["heldout"] for part in filled]
    with ShardWriter(folder, "heldout", *dtypes, kinds_of(rows)) as heldout:
        for part, row in zip(filled, rows, strict=True):
            for block in _renamed(part, part.corpus.part(row), dropped):
                heldout.append(block)
        return heldout.close()


def carry(
    corpus: Corpus,
    row: dict[str, Any],
    folder: Path,
    name: str,
    *,
    link: bool = False,
    moved: int = 0,
) -> dict[str, Any]:
    """The files of a shard as they are, linked where the old corpus is about to go; but the rows
    behind so many ``moved`` ones."""
    (folder / name).mkdir(parents=True)
    sums = dict(row["sha256"])
    for array in sums:
        new = folder / name / f"{array}.npy"
        if array == "rows" and moved:
            sums[array] = _write_rows(corpus.part(row), moved, new)
            continue
        old = file_of(corpus.path, row, array).resolve()
        try:
            if not link:
                raise OSError
            os.link(old, new)
        except OSError:
            shutil.copyfile(old, new)
    return {**row, "name": name, "sha256": sums}


def _write_rows(documents: Documents, moved: int, path: Path) -> str:
    assert documents.metadata is not None
    writer = NpyWriter(path, np.int64)
    writer.append(documents.metadata.moved(moved).rows)
    writer.close()
    return sha256(path)
