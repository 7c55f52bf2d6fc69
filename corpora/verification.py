"""Checking a prepared corpus from end to end, in bounded memory."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from topicmc.corpora.files import sha256
from topicmc.corpora.index import INDEX, content_fingerprint
from topicmc.corpora.shards import file_of
from topicmc.corpora.soundness import check_documents, check_metadata, damaged
from topicmc.corpora.store import Corpus


def verify(path: str | Path, progress: Callable[[str], None] | None = None) -> Corpus:
    """Checks the checksums and the consistency of the corpus at path, and returns it opened.

    corpus.json against its checksum, all files against theirs, sizes and dtypes, ids in range and
    ascending inside each document, counts of 1 or more, texts in UTF-8, the totals. ``progress``
    is called with the name of each part. Raises DataError that names the file.
    """
    corpus = Corpus.open(path)
    report = progress or (lambda _: None)
    index = corpus.index
    if content_fingerprint(index) != corpus.fingerprint:
        raise damaged(corpus.path / INDEX, "its fingerprint is not that of its checksums")
    report(index["vocabulary"]["name"])
    _ = corpus.vocabulary
    for table in index["shards"]:
        report(table["name"])
        _check_part(corpus, table)
    report(index["heldout"]["name"])
    _check_part(corpus, index["heldout"])
    if "dropped" in index:
        report(index["dropped"]["name"])
        _check_files(corpus, index["dropped"])
    return corpus


def _check_part(corpus: Corpus, table: dict[str, Any]) -> None:
    _check_files(corpus, table)
    check_documents(corpus.path, table, corpus.index["dtypes"], corpus.n_words)


def _check_files(corpus: Corpus, table: dict[str, Any]) -> None:
    for array, digest in table["sha256"].items():
        file = file_of(corpus.path, table, array)
        if not file.is_file():
            raise damaged(file, "it is missing")
        if sha256(file) != digest:
            raise damaged(file, "its checksum is not the one in corpus.json")
    check_metadata(corpus.path, table, table["sha256"], corpus.places.n_rows)
