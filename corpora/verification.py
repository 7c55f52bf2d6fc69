"""Checking a prepared corpus from end to end, in bounded memory."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from topicmc.corpora.documents import Documents
from topicmc.corpora.facts import blocks
from topicmc.corpora.files import sha256
from topicmc.corpora.metadata import Metadata
from topicmc.corpora.store import INDEX, Corpus, content_fingerprint
from topicmc.errors import DataError


def verify(path: str | Path, progress: Callable[[str], None] | None = None) -> Corpus:
    """Checks every byte and every promise of the corpus at path, and returns it opened.

    corpus.json against its checksum, all files against theirs, sizes and dtypes, ids in range and
    ascending inside each document, counts of 1 or more, titles in UTF-8, the totals. ``progress``
    is called with the name of each part. Raises DataError that names the file.
    """
    corpus = Corpus.open(path)
    report = progress or (lambda _: None)
    index = corpus.index
    if content_fingerprint(index) != corpus.fingerprint:
        raise _damaged(corpus.path / INDEX, "its fingerprint is not that of its checksums")
    report(index["vocabulary"]["name"])
    if len(corpus.vocabulary) != corpus.n_words:
        raise _damaged(
            corpus.path / index["vocabulary"]["name"],
            f"it holds {len(corpus.vocabulary)} words, corpus.json says {corpus.n_words}",
        )
    for table in index["shards"]:
        report(table["name"])
        _check_part(corpus, table)
    report(index["heldout"]["name"])
    _check_part(corpus, index["heldout"])
    for name in ("n_docs", "n_entries", "n_tokens"):
        if sum(table[name] for table in index["shards"]) != index[name]:
            raise _damaged(corpus.path / INDEX, f"{name} is not the sum over the shards")
    if index["heldout"]["n_docs"] != index["n_heldout"]:
        raise _damaged(corpus.path / INDEX, "n_heldout disagrees with the table")
    return corpus


def _check_part(corpus: Corpus, table: dict[str, Any]) -> None:
    folder = corpus.path / table["name"]
    for array, digest in table["sha256"].items():
        file = folder / f"{array}.npy"
        if not file.is_file():
            raise _damaged(file, "it is missing")
        if sha256(file) != digest:
            raise _damaged(file, "its checksum is not the one in corpus.json")
    documents = corpus.part(table)
    n_tokens = 0
    if (np.diff(documents.indptr) < 1).any():
        raise _damaged(folder / "indptr.npy", "a document is empty or ends before it starts")
    if documents.metadata and (documents.metadata.lengths < 0).any():
        raise _damaged(folder / "title_offsets.npy", "a title ends before it starts")
    for block in blocks(documents):
        n_tokens += _check_block(corpus, folder, block)
    if n_tokens != table["n_tokens"]:
        raise _damaged(folder / "counts.npy", f"{n_tokens} tokens, not {table['n_tokens']}")


def _check_block(corpus: Corpus, folder: Path, block: Documents) -> int:
    """Returns the block's tokens."""
    largest = int(block.word_ids.max())
    if largest >= corpus.n_words:
        raise _damaged(folder / "word_ids.npy", f"word id {largest} of {corpus.n_words} words")
    if int(block.counts.min()) < 1:
        raise _damaged(folder / "counts.npy", "a count is 0")
    ascending = block.word_ids[1:] > block.word_ids[:-1]
    ascending[block.indptr[1:-1] - 1] = True
    if not ascending.all():
        raise _damaged(folder / "word_ids.npy", "the ids of a document do not ascend")
    if block.metadata:
        _check_titles(folder, block.metadata)
    return block.n_tokens


def _check_titles(folder: Path, metadata: Metadata) -> None:
    """UTF-8, no title of which begins inside a character."""
    starts = metadata.offsets[:-1][metadata.lengths > 0]
    try:
        metadata.text.tobytes().decode()
    except UnicodeDecodeError as error:
        raise _damaged(folder / "titles.npy", "a title is not UTF-8") from error
    if (metadata.text[starts] & 0xC0 == 0x80).any():
        raise _damaged(folder / "title_offsets.npy", "a title begins inside a character")


def _damaged(path: Path, what: str) -> DataError:
    return DataError(f"{path} is damaged ({what}): prepare the corpus again.")
