"""New documents in the words of a vocabulary that is given, as a stream: none is left out, and
memory does not grow with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from topicmc.corpora.documents import Documents, remap
from topicmc.corpora.index import INDEX
from topicmc.corpora.making.duplicates import text_digests
from topicmc.corpora.making.ingestion import counted, numbered
from topicmc.corpora.making.ordering import in_source_order
from topicmc.corpora.metadata import NO_ROW
from topicmc.corpora.naming import Place, Places, short_names
from topicmc.corpora.pipes import readable
from topicmc.corpora.readers import Progress, Tally
from topicmc.corpora.readers.records import ALL, Fields, RecordReader
from topicmc.corpora.readers.sources import FIELD_READERS, GAPPED, ID_READERS, open_sources
from topicmc.corpora.readers.vocabularies import given_vocabulary
from topicmc.corpora.store import Corpus
from topicmc.corpora.text.phrases import phrases_among
from topicmc.corpora.text.tokenizer import Tokenizer
from topicmc.corpora.text.vocabulary import ids_in, spelled
from topicmc.errors import DataError, UsageError


class Known(NamedTuple):
    """Documents in the words of a vocabulary, and what it lacks of them.

    A document without a known word stands among the others, empty.

    unknown  int64 (n,): tokens of other words in each document
    stop     int64 (n,): those of them that are stop words, where these are told
    places   where each comes from
    heldout  of prepared corpora, bool (n,): which documents were kept out of training
    reasons  of prepared corpora, uint8 (n,): why a row made no document, of `corpora.dropped`
    """

    documents: Documents
    unknown: np.ndarray
    stop: np.ndarray | int = 0
    places: Sequence[Place | None] | None = None
    heldout: np.ndarray | None = None
    reasons: np.ndarray | None = None


@dataclass(frozen=True)
class Reading:
    """A stream of `Known`, and what it tells of its documents.

    ids      whether they have ids
    files    whether they come from several files
    parts    whether it tells which were held out, and which rows were left out
    columns  names of what is kept of their rows
    ordered  whether they come in the order of their sources
    """

    stream: Iterator[Known]
    ids: bool = False
    files: bool = False
    parts: bool = False
    columns: Sequence[str] = ()
    ordered: bool = True

    def __iter__(self) -> Iterator[Known]:
        return self.stream


def read_known(
    sources: Sequence[Path],
    words: Sequence[str],
    tally: Tally,
    *,
    format: str = "auto",
    vocab: Path | None = None,
    fields: Fields | None = None,
    tokenizer: Tokenizer | None = None,
    stop: frozenset[str] = frozenset(),
    phrases: bool = True,
    progress: Progress | None = None,
) -> Reading:
    """The documents of sources in order, with ids that are positions in ``words``.

    Sources are those of `topicmc.corpora.prepare`, or prepared corpora, whose documents come in the
    order of their own sources, with the rows between them that made no document; corpora that do
    not know their rows give the training documents first. Words are matched by spelling. In text,
    which ``tokenizer`` cuts, the ``phrases`` among them are joined. ``vocab`` is that of sources of
    word ids, ``stop`` are words to be counted apart; ``tally`` and ``progress`` hear how it goes.

    Raises UsageError and DataError as `prepare` does, the latter also where there is no document.
    """
    fields = (fields or Fields())._replace(time=None)
    cut = tokenizer or Tokenizer()
    asked = tokenizer is not None and tokenizer.owner is None
    if any((path / INDEX).is_file() for path in sources):
        if asked:
            raise UsageError(
                f"{cut.option} goes with text; a prepared corpus has its own words: leave it out"
            )
        asked_of = {"format": None if format == "auto" else format, "vocab": vocab, **fields.asked}
        return _reading_of_corpora(sources, words, tally, asked_of, progress)
    opened = ExitStack()
    try:
        paths = opened.enter_context(readable(sources))
        format, readers = open_sources(paths, format, fields._replace(tokens=cut.field))
        stream: Iterable[Known]
        if format in ID_READERS:
            if asked:
                raise UsageError(
                    f"{cut.option} goes with text, and this is {format}, word ids: leave it out"
                )
            given = given_vocabulary(paths, vocab)
            assert given is not None
            stream = _of_ids(readers, given[1], words, tally, format in GAPPED)
        elif vocab is not None:
            raise UsageError(f"--vocab {vocab}: only sources of word ids need one; this is text")
        else:
            joined = phrases_among(words) if phrases else None
            stream = _of_text(readers, cut, words, tally, stop, joined)
        has_fields = format in FIELD_READERS
        has_ids = fields.id_name is not None if has_fields else any(p.is_dir() for p in paths)
        return Reading(
            _told(stream, opened, paths[0], tally, progress),
            ids=has_ids,
            files=len(readers) > 1,
            columns=_columns(readers, format, fields) if has_fields else (),
        )
    except BaseException:
        opened.close()
        raise


def _told(
    stream: Iterable[Known],
    opened: ExitStack,
    first: Path,
    tally: Tally,
    progress: Progress | None,
) -> Iterator[Known]:
    """The stream, which ends the use of its sources, and has a document at least. The tally hears
    how many ids come again, which takes sixteen bytes an id at the end."""
    n_docs, seen = 0, [np.empty(0, np.uint64)]
    with opened:
        for known in stream:
            n_docs += known.documents.n_docs
            seen.append(_id_digests(known.documents))
            yield known
            if progress is not None:
                progress(tally)
    if n_docs == 0:
        raise DataError(f"{first} holds no documents: check the file and --format")
    digests = np.concatenate(seen)
    seen.clear()
    digests.sort()
    tally.ids_repeated = int(np.count_nonzero(digests[1:] == digests[:-1]))


def _id_digests(documents: Documents) -> np.ndarray:
    assert documents.metadata is not None
    ids = documents.metadata.ids
    return text_digests(ids)[ids.lengths > 0]


def _columns(readers: list[Any], format: str, fields: Fields) -> list[str]:
    """Those that any of the sources may have."""
    if fields.columns != ALL:
        return [*fields.columns]
    if format == "jsonl":
        raise UsageError("--keep all: objects need not have the same fields; name those to keep")
    for reader in readers:
        next(reader.records(Tally()), None)
    return list(dict.fromkeys(name for reader in readers for name in reader.column_names))


def _of_text(
    readers: list[RecordReader],
    tokenizer: Tokenizer,
    words: Sequence[str],
    tally: Tally,
    stop: frozenset[str],
    phrases: Any,
) -> Iterator[Known]:
    tokenizer.load()
    index = spelled(words)
    places = _files(readers)
    for batch, documents, _, source in counted(readers, tokenizer, tally, phrases):
        new_ids = np.array([index.get(word, -1) for word in batch.words], dtype=np.int64)
        known = _known(documents, new_ids)
        if stop:
            is_stop = [i < 0 and w in stop for w, i in zip(batch.words, new_ids, strict=True)]
            places_of_stop = np.where(np.array(is_stop, dtype=bool), 0, -1)
            known = known._replace(stop=remap(documents, places_of_stop).sizes)
        yield known._replace(places=places[source.number](documents, source.rows_before))


def _of_ids(
    readers: list[Any], own: list[str], words: Sequence[str], tally: Tally, gapped: bool
) -> Iterator[Known]:
    new_ids = ids_in(words, own)
    options = {"gaps": True} if gapped else {}
    for reader, places in zip(readers, _files(readers), strict=True):
        for documents in numbered([reader], len(own), tally, **options):
            known = _known(documents, new_ids)
            yield known._replace(places=places(documents, tally.rows_before))


def _reading_of_corpora(
    sources: Sequence[Path],
    words: Sequence[str],
    tally: Tally,
    asked: Mapping[str, Any],
    progress: Progress | None,
) -> Reading:
    for option, value in asked.items():
        if value:
            raise UsageError(f"--{option} {value}: a prepared corpus has its own; leave it out")
    corpora = [Corpus.open(path) for path in sources]
    tables = [row for corpus in corpora for row in corpus.index["shards"]]
    columns = [name for corpus in corpora for name in corpus.index.get("columns", ())]
    return Reading(
        _told(_of_corpora(corpora, words, tally), ExitStack(), sources[0], tally, progress),
        ids=any("ids" in table["sha256"] for table in tables),
        files=sum(len(corpus.places.files) for corpus in corpora) > 1,
        parts=True,
        ordered=all("rows" in table["sha256"] for table in tables),
        columns=list(dict.fromkeys(columns)),
    )


def _of_corpora(corpora: list[Corpus], words: Sequence[str], tally: Tally) -> Iterator[Known]:
    # Together, so that files of different corpora have different names.
    places = Places([s for corpus in corpora for s in corpus.index.get("sources", [])])
    before = 0
    for corpus in corpora:
        corpus.check(range(corpus.n_shards), metadata=True)
        new_ids = ids_in(words, corpus.vocabulary)
        for documents, heldout, reasons in in_source_order(corpus):
            tally.n_read += documents.n_docs
            assert documents.metadata is not None
            rows = documents.metadata.rows.tolist()
            found = [places.place(before + row if row else NO_ROW) for row in rows]
            known = _known(documents, new_ids)
            yield known._replace(places=found, heldout=heldout, reasons=reasons)
        before += corpus.places.n_rows


def _files(readers: Sequence[Any]) -> list[Callable[[Documents, int], list[Place | None]]]:
    """For each reader what tells the places of its documents, given the rows before its own."""
    names = short_names([str(reader.path) for reader in readers])

    def places(name: str, unit: str, documents: Documents, before: int) -> list[Place | None]:
        assert documents.metadata is not None
        rows = documents.metadata.rows - before
        return [Place(name, unit, row) for row in rows.tolist()]

    return [
        partial(places, name, getattr(reader, "unit", "document"))
        for name, reader in zip(names, readers, strict=True)
    ]


def _known(documents: Documents, new_ids: np.ndarray) -> Known:
    known = remap(documents, new_ids)
    return Known(known, documents.sizes - known.sizes)
