"""From readers to the spool: every document once, under ids that need not be final."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from unicodedata import normalize

import numpy as np

from topicmc.corpora.documents import Documents, from_entries, remap
from topicmc.corpora.metadata import Metadata
from topicmc.corpora.parallel import process_map
from topicmc.corpora.phrases import join_phrases
from topicmc.corpora.readers import IdReader, Progress, Tally
from topicmc.corpora.readers.records import Batch, RecordReader
from topicmc.corpora.spool import Spool
from topicmc.corpora.tokenizer import Tokenizer
from topicmc.corpora.tokens import WordCounts, count_words, naming_documents
from topicmc.corpora.vocabulary import WordTable
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
    for reader in readers:
        for documents in reader.blocks(len(words), tally):
            spool.append(documents)
            doc_freq += np.bincount(documents.word_ids, minlength=len(words))
            report(tally)
        tally.next_source()
    ids = np.arange(len(words))
    return Ingested(words, ids, doc_freq, len(words), len(words), spool.n_tokens)


def ingest_known(
    readers: Iterable[RecordReader],
    tokenizer: Tokenizer,
    words: list[str],
    spool: Spool,
    tally: Tally,
    report: Progress,
) -> Ingested:
    """Text over a given vocabulary: other words are left out at once."""
    index = spelled(words)
    doc_freq = np.zeros(len(words), dtype=np.int64)
    n_tokens = 0
    for batch, documents in counted(readers, tokenizer, tally):
        new_ids = np.fromiter((index.get(word, -1) for word in batch.words), dtype=np.int64)
        known = new_ids >= 0
        doc_freq[new_ids[known]] += batch.doc_freq[known]
        spool.append(remap(documents, new_ids))
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

    ``phrases`` of `learn_phrases` are words, too.
    """
    table = WordTable()
    for batch, documents in counted(readers, tokenizer, tally, phrases):
        ids = table.add(batch.words, batch.doc_freq)
        spool.append(remap(documents, ids))
        report(tally)
    words, ids, doc_freq, n_ids = table.columns()
    return Ingested(words, ids, doc_freq, n_ids, len(words) + table.n_forgotten, spool.n_tokens)


def spelled(words: Sequence[str]) -> dict[str, int]:
    """Where each word is, also by its composed spelling, which is that of words in text."""
    composed = {normalize("NFC", word): i for i, word in enumerate(words)}
    return composed | {word: i for i, word in enumerate(words)}


def counted(
    readers: Iterable[RecordReader], tokenizer: Tokenizer, tally: Tally, phrases: Any = None
) -> Iterator[tuple[WordCounts, Documents]]:
    """Batches of documents, whose word ids are positions in the words of their batch; ``phrases``
    are joined."""
    for reader in readers:
        if tally.cut is not None:
            raise DataError(
                f"{tally.cut}; only the last source may be cut short: fetch this one again."
            )
        join = partial(join_phrases, phrases) if phrases is not None else None
        count = partial(
            count_words,
            plain=reader.plain,
            min_tokens=reader.min_tokens,
            join=join,
            tokenizer=tokenizer,
        )
        counts = process_map(partial(_count, count), reader.batches(tally), inline=2)
        for batch, metadata in naming_documents(counts, _size, reader.path):
            tally.noticed.update(batch.noticed)
            if batch.n_skipped:
                tally.skip(f"of under {reader.min_tokens} words", batch.n_skipped)
            documents, _ = from_entries(batch.lengths, batch.word_ids, batch.counts)
            yield batch, replace(documents, metadata=metadata)
        tally.next_source()


def _size(counted: tuple[WordCounts, Metadata]) -> int:
    return len(counted[0].kept)


def _count(count: Callable[[list[str]], WordCounts], batch: Batch) -> tuple[WordCounts, Metadata]:
    counts = count(batch.texts)
    return counts, Metadata.of(batch.titles, batch.days).select(counts.kept)


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
