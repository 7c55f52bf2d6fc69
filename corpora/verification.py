"""Checking a prepared corpus from end to end, in bounded memory."""

from collections.abc import Callable
from pathlib import Path

from topicmc.corpora.index import INDEX, content_fingerprint
from topicmc.corpora.soundness import damaged
from topicmc.corpora.store import Corpus


def verify(path: str | Path, progress: Callable[[str], None] | None = None) -> Corpus:
    """Checks the checksums and the consistency of the corpus at path, and returns it opened.

    corpus.json against its checksum, all files against theirs, sizes and dtypes, ids in range and
    ascending inside each document, counts of 1 or more, texts in UTF-8, the totals. ``progress``
    is called with the name of each part. Raises DataError that names the file.
    """
    corpus = Corpus.open(path)
    report = progress or (lambda _: None)
    if content_fingerprint(corpus.index) != corpus.fingerprint:
        raise damaged(corpus.path / INDEX, "its fingerprint is not that of its checksums")
    report(corpus.index["vocabulary"]["name"])
    _ = corpus.vocabulary
    for table in corpus.tables:
        report(table["name"])
        corpus.check_parts([table], table["sha256"], afresh=True)
    return corpus
