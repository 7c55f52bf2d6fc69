"""From readers to the spool: every document once, under ids that need not be final."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from topicmc.corpora.documents import Documents, from_entries, remap, select
from topicmc.corpora.dropped import EMPTY, KEPT, WORDLESS
from topicmc.corpora.making.duplicates import bag_digests
from topicmc.corpora.making.spool import Spool
from topicmc.corpora.metadata import Metadata
from topicmc.corpora.parallel import WorkerProcesses
from topicmc.corpora.readers import IdReader, Progress, Tally
from topicmc.corpora.readers.records import Batch, RecordReader, Source, all_batches
from topicmc.corpora.text.phrases import join_phrases
from topicmc.corpora.text.tokenizer import Tokenizer
from topicmc.corpora.text.tokens import WordCounts, count_words, naming_rows
from topicmc.corpora.text.vocabulary import WordTable, spelled
from topicmc.storage.scratch import scratch_array


@dataclass(frozen=True)
class Ingested:
    """What the ids in the spool mean."""

    words: list[str]
    ids: np.ndarray  # int64 (len(words),): the id of each word
    doc_freq: np.ndarray  # int64 (len(words),): documents that hold each word
    n_ids: int  # ids in the spool are below this; some may have no word any more
    n_words: int  # distinct words met, where they were counted, else len(words)
    n_tokens: int  # tokens met, those of unknown words included
    n_repeated: int = 0  # of them, those in the spool of rows that are left out as duplicates


class Counted(NamedTuple):
    """A batch of documents of a source, its words, and why those without words have none."""

    words: WordCounts
    documents: Documents
    reasons: np.ndarray
    source: Source


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
    readers: Sequence[RecordReader],
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
    for batch, documents, reasons, _ in counted(readers, tokenizer, tally, phrases):
        new_ids = np.fromiter((index.get(word, -1) for word in batch.words), dtype=np.int64)
        known = new_ids >= 0
        doc_freq[new_ids[known]] += batch.doc_freq[known]
        spool.append(remap(documents, new_ids), batch.digests, reasons)
        n_tokens += int(batch.counts.sum())
        report(tally)
    ids = np.arange(len(words))
    return Ingested(words, ids, doc_freq, len(words), len(words), n_tokens)


def ingest_new(
    readers: Sequence[RecordReader],
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
    for batch, documents, reasons, _ in counted(readers, tokenizer, tally, phrases):
        ids = table.add(batch.words, batch.doc_freq)
        spool.append(remap(documents, ids), batch.digests, reasons)
        report(tally)
    words, ids, doc_freq, n_ids = table.columns()
    return Ingested(words, ids, doc_freq, n_ids, len(words) + table.n_forgotten, spool.n_tokens)


def counted(
    readers: Sequence[RecordReader], tokenizer: Tokenizer, tally: Tally, phrases: Any = None
) -> Iterator[Counted]:
    """Batches of documents with their metadata, whose word ids are positions in the words of their
    batch; ``phrases`` are joined. The sources are of one format."""
    count = partial(
        count_words,
        plain=readers[0].plain,
        min_tokens=readers[0].min_tokens,
        join=None if phrases is None else partial(join_phrases, phrases),
        tokenizer=tokenizer,
    )
    with WorkerProcesses() as processes:
        batches = processes.map(partial(_count, count), all_batches(readers, tally), inline=2)
        for words, metadata, blank, source in batches:
            tally.noticed.update(words.noticed)
            tally.passed_over.update(words.passed_over)
            documents, _ = from_entries(words.lengths, words.word_ids, words.counts)
            documents = replace(documents, metadata=metadata)
            yield Counted(words, documents, _reasons(documents, blank), source)


def _count(
    count: Callable[[list[str]], WordCounts], batch: Batch
) -> tuple[WordCounts, Metadata, np.ndarray, Source]:
    """The words of a batch, its metadata, which texts hold nothing at all, and the source."""
    with naming_rows(batch):
        counts = count(batch.texts)
    metadata = Metadata.of(batch.titles, batch.days, np.array(batch.rows), batch.ids, batch.columns)
    blank = np.array([not text or text.isspace() for text in batch.texts], dtype=bool)
    kept = metadata.select(counts.kept).moved(batch.source.rows_before)
    return counts, kept, blank[counts.kept], batch.source


def _reasons(documents: Documents, blank: np.ndarray | None = None) -> np.ndarray:
    """Why documents without words have none; by default they are empty."""
    why = EMPTY if blank is None else np.where(blank, EMPTY, WORDLESS)
    return np.where(documents.lengths > 0, KEPT, why).astype(np.uint8)


def settle(
    ingested: Ingested, kept: np.ndarray, folder: Path, *, alphabetical: bool
) -> tuple[list[str], np.ndarray | None]:
    """The final words, and int64 (n_ids,) from ids in the spool to final ones (-1: left out), in a
    file of ``folder`` if they are many.

    None stands for ids that stay as they are. ``kept`` is bool, one for each word.
    """
    order: Sequence[int] = np.flatnonzero(kept).tolist()
    if alphabetical:
        order = sorted(order, key=ingested.words.__getitem__)
    elif len(order) == len(ingested.words):
        return ingested.words, None
    new_ids = scratch_array(ingested.n_ids, np.int64, folder)
    new_ids.fill(-1)
    new_ids[ingested.ids[np.array(order, dtype=np.int64)]] = np.arange(len(order))
    return [ingested.words[i] for i in order], new_ids


def without_rows(ingested: Ingested, spool: Spool, left_out: np.ndarray) -> tuple[Ingested, int]:
    """The same, with the documents of words counted anew without some rows of the spool, bool; and
    how many documents are left."""
    doc_freq = scratch_array(ingested.n_ids, np.int64, spool.folder)
    n_docs = n_tokens = start = 0
    for block in spool.blocks(texts=()):
        documents = block.documents
        stays = ~left_out[start : start + documents.n_docs] & (documents.lengths > 0)
        start += documents.n_docs
        n_docs += int(np.count_nonzero(stays))
        kept = select(documents, stays)
        n_tokens += kept.n_tokens
        ids, frequencies = np.unique(kept.word_ids, return_counts=True)
        doc_freq[ids] += frequencies
    repeated = spool.n_tokens - n_tokens
    return replace(ingested, doc_freq=doc_freq[ingested.ids], n_repeated=repeated), n_docs
