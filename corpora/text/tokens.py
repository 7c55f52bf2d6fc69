"""The words of batches of texts, listed or counted."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from topicmc.corpora.metadata import clean_title
from topicmc.corpora.readers.records import Batch
from topicmc.corpora.text.cutting import CutError
from topicmc.corpora.text.markup import KINDS, looks_like
from topicmc.corpora.text.scripts import letters_of
from topicmc.corpora.text.tokenizer import Tokenizer
from topicmc.errors import DataError

Plain = Callable[[str], str | None] | None
_LOOK = 20  # texts of a batch whose scripts are looked at


class WordCounts(NamedTuple):
    """A batch of n documents over its own V distinct words: little to send between processes."""

    words: list[str]  # V, in order of first use
    doc_freq: np.ndarray  # int64 (V,): documents of the batch that hold the word
    lengths: np.ndarray  # int64 (n,): entries of each document
    word_ids: np.ndarray  # int64 (E,): positions in words
    counts: np.ndarray  # int64 (E,)
    kept: np.ndarray  # bool: which texts are the n documents
    passed_over: Counter[str]  # how many of the others, by why
    digests: np.ndarray  # uint64 (n,): equal for documents of the same words in the same order
    noticed: Counter[str]  # what `notice` says of the texts


def token_lists(texts: Sequence[str], plain: Plain, tokenizer: Tokenizer) -> list[list[str] | None]:
    """Words of each document; ``plain`` strips markup first, and gives None where that has no end.
    CutError tells its number."""
    documents: list[list[str] | None] = []
    for number, text in enumerate(texts, start=1):
        stripped = plain(text) if plain else text
        try:
            documents.append(None if stripped is None else tokenizer(stripped))
        except CutError as error:
            error.number = number
            raise
    return documents


def count_words(
    texts: Sequence[str],
    plain: Plain,
    min_tokens: int,
    join: Callable[[list[str]], list[str]] | None,
    tokenizer: Tokenizer,
) -> WordCounts:
    """Counts of each document's words, those of `token_lists`, if it has min_tokens or more;
    ``join`` makes phrases of some."""
    index: dict[str, int] = {}
    lengths: list[int] = []
    word_ids: list[int] = []
    counts: list[int] = []
    digests: list[int] = []
    documents = token_lists(texts, plain, tokenizer)
    kept = np.zeros(len(documents), dtype=bool)
    passed_over: Counter[str] = Counter()
    for number, words in enumerate(documents):
        if words is None:
            passed_over["of markup without an end"] += 1
        elif len(words) < min_tokens:
            passed_over[f"of under {min_tokens} words"] += 1
        else:
            kept[number] = True
            digests.append(digest(words))
            found = Counter(join(words) if join else words)
            lengths.append(len(found))
            word_ids.extend(index.setdefault(word, len(index)) for word in found)
            counts.extend(found.values())
    ids = np.array(word_ids, dtype=np.int64)
    return WordCounts(
        list(index),
        np.bincount(ids, minlength=len(index)),
        np.array(lengths, dtype=np.int64),
        ids,
        np.array(counts, dtype=np.int64),
        kept,
        passed_over,
        np.array(digests, dtype=np.uint64),
        notice(texts, tokenizer) if plain is None else Counter(),
    )


def digest(words: Sequence[str]) -> int:
    """64 bits of BLAKE2b of the words in order: those of two documents that differ are equal with
    probability 2⁻⁶⁴."""
    text = "\n".join(words).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def notice(texts: Sequence[str], tokenizer: Tokenizer) -> Counter[str]:
    """How many texts look like markup that is not stripped, and, of some of them, the letters of
    each script where words are runs of letters."""
    noticed: Counter[str] = Counter()
    if tokenizer.field is None:
        for kind in set(KINDS).difference(tokenizer.strip):
            noticed[kind] = sum(looks_like(kind, text) for text in texts)
    if tokenizer.by_letters:
        noticed.update(letters_of(texts[:: max(1, len(texts) // _LOOK)]))
    return noticed


@contextmanager
def naming_rows(batch: Batch) -> Iterator[None]:
    """A CutError becomes a DataError that names the row of the document, and its id if it has
    one."""
    try:
        yield
    except CutError as error:
        row, id = batch.rows[error.number - 1], clean_title(batch.ids[error.number - 1])
        named = f" (id {id})" if id else ""
        where = f"{batch.source.path}, {batch.source.unit} {row:,}{named}"
        raise DataError(f"{where}: {error}") from error
