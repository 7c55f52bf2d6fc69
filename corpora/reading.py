"""New documents in the words of a vocabulary that is given, as a stream: none is left out, and
memory does not grow with them."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from topicmc.corpora.documents import Documents, blocks, offsets, remap
from topicmc.corpora.ingestion import counted, spelled
from topicmc.corpora.phrases import phrases_among
from topicmc.corpora.preparation import given_vocabulary
from topicmc.corpora.readers import Progress, Tally
from topicmc.corpora.readers.records import RecordReader
from topicmc.corpora.readers.sources import GAPPED, ID_READERS, open_sources
from topicmc.corpora.store import INDEX, Corpus
from topicmc.corpora.tokenizer import Tokenizer
from topicmc.errors import UsageError


class Known(NamedTuple):
    """Documents in the words of a vocabulary, and what it lacks of them."""

    documents: Documents
    """A document without a known word stands among the others, empty."""
    unknown: np.ndarray
    """int64 (n,): tokens of other words in each document."""


def read_known(
    sources: Sequence[Path],
    words: Sequence[str],
    tally: Tally,
    *,
    format: str = "auto",
    vocab: Path | None = None,
    field: str | None = None,
    title: str | None = None,
    tokenizer: Tokenizer | None = None,
    progress: Progress | None = None,
) -> Iterator[Known]:
    """The documents of sources in order, with ids that are positions in ``words``.

    Sources are those of `topicmc.corpora.prepare`, or prepared corpora, of which the training
    documents come first. Words are matched by spelling, and the phrases among them are joined in
    text, which ``tokenizer`` cuts. ``vocab`` is that of sources of word ids; ``tally`` and
    ``progress`` hear how it goes.

    Raises UsageError and DataError as `prepare` does.
    """
    stream: Iterable[Known]
    cut = tokenizer or Tokenizer()
    asked = tokenizer is not None and tokenizer.owner is None
    if any((path / INDEX).is_file() for path in sources):
        for option, value in {"vocab": vocab, "field": field, "title": title}.items():
            if value is not None:
                raise UsageError(f"--{option} {value}: a prepared corpus has its own.")
        if asked:
            raise UsageError("How words are cut is said of text; a prepared corpus has its own.")
        stream = _of_corpora([Corpus.open(path) for path in sources], words, tally)
    else:
        format, readers = open_sources(sources, format, field, title, tokens=cut.field)
        if format in ID_READERS:
            if asked:
                raise UsageError(f"How words are cut is said of text, and this is {format}.")
            given = given_vocabulary(sources, vocab)
            assert given is not None
            stream = _of_ids(readers, given[1], words, tally, format in GAPPED)
        elif vocab is not None:
            raise UsageError(f"--vocab {vocab}: only sources of word ids need one; this is text.")
        else:
            stream = _of_text(readers, cut, words, tally)
    for known in stream:
        yield known
        if progress is not None:
            progress(tally)


def _of_text(
    readers: list[RecordReader], tokenizer: Tokenizer, words: Sequence[str], tally: Tally
) -> Iterator[Known]:
    tokenizer.load()
    index = spelled(words)
    for batch, documents in counted(readers, tokenizer, tally, phrases_among(words)):
        new_ids = [index.get(word, -1) for word in batch.words]
        yield _known(documents, np.array(new_ids, dtype=np.int64))


def _of_ids(
    readers: list[Any], own: list[str], words: Sequence[str], tally: Tally, gapped: bool
) -> Iterator[Known]:
    new_ids = _new_ids(own, words)
    options = {"gaps": True} if gapped else {}
    for reader in readers:
        for documents in reader.blocks(len(own), tally, **options):
            yield _known(documents, new_ids)
        tally.next_source()


def _of_corpora(corpora: list[Corpus], words: Sequence[str], tally: Tally) -> Iterator[Known]:
    for corpus in corpora:
        corpus.check(range(corpus.n_shards), metadata=True)
        new_ids = _new_ids(corpus.vocabulary, words)
        for table in [*corpus.index["shards"], corpus.index["heldout"]]:
            for documents in blocks(corpus.part(table)):
                tally.n_read += documents.n_docs
                yield _known(documents, new_ids)


def _new_ids(own: Sequence[str], words: Sequence[str]) -> np.ndarray:
    index: dict[Any, int] = {word: i for i, word in enumerate(words)}
    return np.array([index.get(word, -1) for word in own], dtype=np.int64)


def _known(documents: Documents, new_ids: np.ndarray) -> Known:
    known = remap(documents, new_ids)
    return Known(known, tokens(documents) - tokens(known))


def tokens(documents: Documents) -> np.ndarray:
    """Tokens of each document, int64 (n,)."""
    return np.diff(offsets(documents.counts)[documents.indptr])
