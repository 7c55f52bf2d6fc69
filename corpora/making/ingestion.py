"""From readers to the spool: every document once, under ids that need not be final."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np

from topicmc.corpora.documents import Documents, from_entries, remap, select
from topicmc.corpora.dropped import EMPTY, KEPT, WORDLESS
from topicmc.corpora.making.duplicates import bag_digests
from topicmc.corpora.making.spool import Spool
from topicmc.corpora.metadata import Metadata
from topicmc.corpora.parallel import WorkerProcesses
from topicmc.corpora.readers import IdReader, Progress, Tally
from topicmc.corpora.readers.records import Batch, RecordReader
from topicmc.corpora.text.phrases import join_phrases
from topicmc.corpora.text.tokenizer import Tokenizer
from topicmc.corpora.text.tokens import WordCounts, count_words, naming_rows
from topicmc.corpora.text.vocabulary import WordTable
from topicmc.errors import DataError


@dataclass(frozen=True)
class Ingested:
    """What the ids in the spool mean."""

    words: list[str]
    ids: np.ndarray  # int64 (len(words),): the id of each word
    doc_freq: np.ndarray  # int64 (len(words),): documents that hold each word
    n_ids: int  # ids in the spool are below this; some may have no word any more
    n_words: int  # distinct words met, where they were counted, else len(words)
    n_tokens: int  # tokens met, those of unknown words included


def ingest_ids(
    readers: Iterable[IdReader], words: list[str], spool: Spool, tally: Tally, report: Progress
) -> Ingested:
    """Ids stay as they are: line i of the vocabulary is id i."""
    doc_freq = np.zeros(len(words), dtype=np.int64)
    for documents in numbered(readers, len(words), tally):
        spool.append(documents, bag_digests(documents), _reasons(documents))
        doc_freq += np.bincount(documents.word_ids, minlength=len(words))
        report(tally)
    ids = np.arange(len(words))
    return Ingested(words, ids, doc_freq, len(words), len(words), spool.n_tokens)


def numbered(
    readers: Iterable[IdReader], n_words: int, tally: Tally, **options: Any
) -> Iterator[Documents]:
    """The documents of sources of word ids, in order, with their rows."""
    for reader in readers:
        seen = 0
        before = tally.rows_before
        for documents in reader.blocks(n_words, tally, **options):
            metadata = documents.metadata
            if metadata is None:
                rows = np.arange(seen + 1, seen + documents.n_docs + 1)
                metadata = Metadata.blank(documents.n_docs, rows)
            seen += documents.n_docs
            yield replace(documents, metadata=metadata.moved(before))
        tally.next_source(reader.path, "document")


def ingest_known(
    readers: Iterable[RecordReader],
    tokenizer: Tokenizer,
    words: list[str],
    spool: Spool,
    tally: Tally,
    report: Progress,
    phrases: Any = None,
) -> Ingested:
    """Text over a given vocabulary: other words are left out at once; ``phrases`` are joined."""
    index = spelled(words)
    doc_freq = np.zeros(len(words), dtype=np.int64)
    n_tokens = 0
    for batch, documents, reasons in counted(readers, tokenizer, tally, phrases):
        new_ids = np.fromiter((index.get(word, -1) for word in batch.words), dtype=np.int64)
        known = new_ids >= 0
        doc_freq[new_ids[known]] += batch.doc_freq[known]
        spool.append(remap(documents, new_ids), batch.digests, reasons)
        n_tokens += int(batch.counts.sum())
        report(tally)
    ids = np.arange(len(words))
    return Ingested(words, ids, doc_freq, len(words), len(words), n_tokens)


def ingest_new(
    readers: Iterable[RecordReader],
    tokenizer: Tokenizer,
    spool: Spool,
    tally: Tally,
    report: Progress,
    phrases: Any = None,
) -> Ingested:
    """Text whose vocabulary is still to be built: words get ids in order of appearance.

    ``phrases`` of `topicmc.corpora.text.phrases` are words, too.
    """
    table = WordTable()
    for batch, documents, reasons in counted(readers, tokenizer, tally, phrases):
        ids = table.add(batch.words, batch.doc_freq)
        spool.append(remap(documents, ids), batch.digests, reasons)
        report(tally)
    words, ids, doc_freq, n_ids = table.columns()
    return Ingested(words, ids, doc_freq, n_ids, len(words) + table.n_forgotten, spool.n_tokens)


def spelled(words: Sequence[str]) -> dict[str, int]:
    """Where each word is, also by its composed spelling, which is that of words in text."""
    composed = {normalize("NFC", word): i for i, word in enumerate(words)}
    return composed | {word: i for i, word in enumerate(words)}


def counted(
    readers: Iterable[RecordReader], tokenizer: Tokenizer, tally: Tally, phrases: Any = None
) -> Iterator[tuple[WordCounts, Documents, np.ndarray]]:
    """Batches of documents with their metadata, whose word ids are positions in the words of their
    batch, and why those without words have none; ``phrases`` are joined."""
    join = partial(join_phrases, phrases) if phrases is not None else None
    with WorkerProcesses() as processes:
        for reader in readers:
            if tally.cut is not None:
                raise DataError(
                    f"{tally.cut}; only the last source may be cut short: fetch this one again"
                )
            count = partial(
                count_words,
                plain=reader.plain,
                min_tokens=reader.min_tokens,
                join=join,
                tokenizer=tokenizer,
            )
            of_batch = partial(_count, count, reader.path, reader.unit)
            batches = processes.map(of_batch, reader.batches(tally), inline=2)
            for batch, metadata, blank in batches:
                tally.noticed.update(batch.noticed)
                if batch.n_skipped:
                    tally.skip(f"of under {reader.min_tokens} words", batch.n_skipped)
                documents, _ = from_entries(batch.lengths, batch.word_ids, batch.counts)
                documents = replace(documents, metadata=metadata.moved(tally.rows_before))
                yield batch, documents, _reasons(documents, blank)
            tally.next_source(reader.path, reader.unit)


Counted = tuple[WordCounts, Metadata, np.ndarray]


def _count(
    count: Callable[[list[str]], WordCounts], path: Path, unit: str, batch: Batch
) -> Counted:
    """The words of a batch, its metadata, and which texts hold nothing at all."""
    with naming_rows(batch, path, unit):
        counts = count(batch.texts)
    metadata = Metadata.of(batch.titles, batch.days, np.array(batch.rows), batch.ids, batch.columns)
    blank = np.array([not text or text.isspace() for text in batch.texts], dtype=bool)
    return counts, metadata.select(counts.kept), blank[counts.kept]


def _reasons(documents: Documents, blank: np.ndarray | None = None) -> np.ndarray:
    """Why documents without words have none; by default they are empty."""
    why = EMPTY if blank is None else np.where(blank, EMPTY, WORDLESS)
    return np.where(documents.lengths > 0, KEPT, why).astype(np.uint8)


def settle(
    ingested: Ingested, kept: np.ndarray, *, alphabetical: bool
) -> tuple[list[str], np.ndarray | None]:
    """The final words, and int64 (n_ids,) from ids in the spool to final ones (-1: left out).

    None stands for ids that stay as they are. ``kept`` is bool, one for each word.
    """
    order: Sequence[int] = np.flatnonzero(kept).tolist()
    if alphabetical:
        order = sorted(order, key=ingested.words.__getitem__)
    elif len(order) == len(ingested.words):
        return ingested.words, None
    new_ids = np.full(ingested.n_ids, -1, dtype=np.int64)
    new_ids[ingested.ids[np.array(order, dtype=np.int64)]] = np.arange(len(order))
    return [ingested.words[i] for i in order], new_ids


def without_rows(ingested: Ingested, spool: Spool, left_out: np.ndarray) -> tuple[Ingested, int]:
    """The same, with the documents of words counted anew without some rows of the spool, bool; and
    how many documents are left."""
    doc_freq = np.zeros(ingested.n_ids, dtype=np.int64)
    n_docs = start = 0
    for block in spool.blocks(texts=()):
        documents = block.documents
        stays = ~left_out[start : start + documents.n_docs] & (documents.lengths > 0)
        start += documents.n_docs
        n_docs += int(np.count_nonzero(stays))
        kept = select(documents, stays)
        doc_freq += np.bincount(kept.word_ids, minlength=ingested.n_ids)
    return replace(ingested, doc_freq=doc_freq[ingested.ids]), n_docs
