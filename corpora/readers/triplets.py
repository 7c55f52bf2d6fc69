"""Lines of "document word count", as UCI docword and Matrix Market share them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from topicmc.corpora.documents import Documents
from topicmc.corpora.metadata import Metadata
from topicmc.corpora.parallel import thread_map
from topicmc.corpora.readers import Tally
from topicmc.corpora.readers.fields import (
    MAX_COUNT,
    MAX_ENTRIES,
    check_count,
    documents_of,
    quoted_bytes,
    whole,
)
from topicmc.corpora.streams import Stream, line_blocks
from topicmc.errors import DataError

_MOST_DOCS = 1 << 32  # that can be given a row each
_EMPTY_DOCS = 1 << 16  # at a time
_WIDE_GAP = 64  # between two documents: those in wider ones are not held beside them


@dataclass(frozen=True)
class Header:
    """What the head of the file promises of its body."""

    path: Path
    n_docs: int
    n_words: int
    n_entries: int
    columns: int = 3  # 2 when the body has no counts: each is 1
    real: bool = False  # counts may be written as 2.0
    gaps: bool = False  # documents without a line are wanted too


class _Parsed(NamedTuple):
    block: bytes
    columns: list[np.ndarray] | None  # None: the fast parser stumbled


def triplet_blocks(
    stream: Stream, header: Header, first_line: int, tally: Tally
) -> Iterator[Documents]:
    """Documents of the body, which the stream has reached at first_line.

    Lines are parsed in blocks by pyarrow; only a block in which something is wrong is read again
    line by line, to name the line.
    """
    if header.gaps and header.n_docs > _MOST_DOCS:
        raise DataError(f"{header.path}: the header promises {header.n_docs} documents; mend it")
    carry = [np.empty(0, dtype=np.int64)] * 3
    line, n_entries, start, done = first_line, 0, tally.n_read, 0
    for parsed in thread_map(partial(_parse, header), line_blocks(stream)):
        columns = _checked(parsed, header, line, int(carry[0][-1]) if len(carry[0]) else 1)
        line += parsed.block.count(b"\n")
        n_entries += len(columns[0])
        if len(columns[0]) == 0:
            continue
        docs, words, counts = (
            np.concatenate([old, new]) for old, new in zip(carry, columns, strict=True)
        )
        # The last document may go on in the next block.
        cut = int(np.searchsorted(docs, docs[-1]))
        if len(docs) - cut > MAX_ENTRIES:
            raise DataError(
                f"{header.path}: document {docs[-1]} has more than {MAX_ENTRIES} entries; mend it"
            )
        carry = [column[cut:] for column in (docs, words, counts)]
        tally.position = stream.position
        tally.row = int(docs[-1])
        tally.n_read = start + tally.row
        if cut:
            lines = (docs[:cut], words[:cut], counts[:cut])
            yield from _documents(header, lines, tally, done)
            done = int(docs[cut - 1])
    if n_entries != header.n_entries:
        raise DataError(
            f"{header.path}: the header promises {header.n_entries} entries, the body holds "
            f"{n_entries}; the file is cut short or its header is wrong"
        )
    if len(carry[0]):
        yield from _documents(header, (*carry,), tally, done)
        done = int(carry[0][-1])
    if header.gaps:
        yield from _empty(header.n_docs - done)
    tally.row = header.n_docs
    tally.n_read = start + header.n_docs


def _parse(header: Header, block: bytes) -> _Parsed:
    import pyarrow as pa
    from pyarrow import csv

    names = ["doc", "word", "count"][: header.columns]
    types = [pa.int64(), pa.int32(), pa.float64() if header.real else pa.int32()]
    try:
        table = csv.read_csv(
            pa.BufferReader(block),
            read_options=csv.ReadOptions(
                column_names=names, use_threads=False, block_size=len(block) + 1
            ),
            parse_options=csv.ParseOptions(delimiter=" ", quote_char=False),
            convert_options=csv.ConvertOptions(
                column_types=dict(zip(names, types, strict=False)), null_values=[]
            ),
        )
    except pa.ArrowInvalid:
        return _Parsed(block, None)
    columns = [column.combine_chunks().to_numpy() for column in table.columns]
    if header.columns == 2:
        columns.append(np.ones(len(columns[0]), dtype=np.int32))
    return _Parsed(block, columns)


def _checked(parsed: _Parsed, header: Header, line: int, last_doc: int) -> list[np.ndarray]:
    columns = parsed.columns
    if columns is not None and (len(columns[0]) == 0 or _sound(columns, header, last_doc)):
        return columns
    return _by_line(parsed.block, header, line, last_doc)


def _sound(columns: list[np.ndarray], header: Header, last_doc: int) -> bool:
    docs, words, counts = columns
    return bool(
        docs[0] >= last_doc
        and docs[-1] <= header.n_docs
        and (docs[1:] >= docs[:-1]).all()
        and words.min() >= 1
        and words.max() <= header.n_words
        and counts.min() >= 1
        and counts.max() <= MAX_COUNT
        and (not header.real or (counts == np.floor(counts)).all())
    )


def _by_line(block: bytes, header: Header, line: int, last_doc: int) -> list[np.ndarray]:
    """The block read slowly: accepts any spacing, and names the first line that is wrong."""
    rows: list[tuple[int, int, int]] = []
    for number, text in enumerate(block.split(b"\n"), start=line):
        fields = text.split()
        if fields:
            rows.append(_row(fields, header, number, last_doc))
            last_doc = rows[-1][0]
    return list(np.array(rows, dtype=np.int64).reshape(-1, 3).T)


def _row(fields: list[bytes], header: Header, number: int, last_doc: int) -> tuple[int, int, int]:
    where = f"{header.path}, line {number}"
    if len(fields) != header.columns:
        wanted = "document, word and count" if header.columns == 3 else "document and word"
        raise DataError(
            f"{where}: {quoted_bytes(b' '.join(fields))} where {wanted} should stand; "
            "mend the line or fetch the file again"
        )
    doc = whole(fields[0], where, "document")
    word = whole(fields[1], where, "word id")
    count = whole(fields[2], where, "count", real=header.real) if header.columns == 3 else 1
    if not 1 <= doc <= header.n_docs:
        raise DataError(
            f"{where}: document {doc}, but the header says 1 to {header.n_docs}; {_way_out(doc)}"
        )
    if not 1 <= word <= header.n_words:
        raise DataError(
            f"{where}: word id {word}, but ids go from 1 to {header.n_words}; {_way_out(word)}"
        )
    check_count(count, where)
    if doc < last_doc:
        raise DataError(
            f"{where}: document {doc} after document {last_doc}; sort the lines below the header "
            "by document, for instance with sort -n"
        )
    return doc, word, count


def _way_out(number: int) -> str:
    return "if the file counts from 0, add 1 to each" if number == 0 else "mend the line or header"


def _documents(
    header: Header, columns: tuple[np.ndarray, ...], tally: Tally, done: int
) -> Iterator[Documents]:
    """The documents of some lines, given as document, word and count, behind the document ``done``;
    those without a line, too, empty, where the header wants gaps."""
    docs, words, counts = columns
    counted = partial(documents_of, header.path, tally=tally)
    if not header.gaps:
        starts = np.flatnonzero(np.diff(docs, prepend=0))
        found = counted(np.diff(starts, append=len(docs)), words - 1, counts)
        yield replace(found, metadata=Metadata.blank(found.n_docs, docs[starts]))
        return
    wide = np.flatnonzero(np.diff(docs, prepend=done) > _WIDE_GAP)
    for first, last in pairwise([*sorted({0, *wide.tolist()}), len(docs)]):
        if docs[first] - done > _WIDE_GAP:
            yield from _empty(int(docs[first]) - 1 - done)
            done = int(docs[first]) - 1
        lengths = np.bincount(docs[first:last] - done - 1)
        yield counted(lengths, words[first:last] - 1, counts[first:last])
        done = int(docs[last - 1])


def _empty(n_docs: int) -> Iterator[Documents]:
    nothing = np.empty(0, dtype=np.uint32)
    for start in range(0, n_docs, _EMPTY_DOCS):
        n = min(_EMPTY_DOCS, n_docs - start)
        yield Documents(np.zeros(n + 1, dtype=np.int64), nothing, nothing)
