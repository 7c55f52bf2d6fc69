"""Lines of one document each, as "id:count" pairs: the ground of LDA-C and SVMlight."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from topicmc.corpora.documents import Documents
from topicmc.corpora.readers import Tally
from topicmc.corpora.readers.fields import check_count, documents_of, quoted_bytes, whole
from topicmc.corpora.streams import Stream, line_blocks
from topicmc.errors import DataError

_TWO_COLONS = re.compile(rb":[^ ]*:")  # of one pair, where blanks part them
# The pairs of a line, given where the line stands; None for a line that holds no document.
Split = Callable[[bytes, str], list[bytes] | None]


def pair_blocks(
    path: Path, split: Split, n_words: int, tally: Tally, *, base: int, real: bool = False
) -> Iterator[Documents]:
    """Documents of a file whose ids start at base. DataError names the line of what is wrong."""
    n_lines = 0
    with Stream(path) as stream:
        for block in line_blocks(stream, 1 << 20):
            documents: list[tuple[int, list[bytes]]] = []
            for number, line in enumerate(block.split(b"\n"), start=n_lines + 1):
                pairs = split(line, f"{path}, line {number}")
                if pairs is not None:
                    documents.append((number, pairs))
            n_lines += block.count(b"\n")
            ids, counts = _numbers(documents, path, n_words, base, real)
            lengths = np.array([len(pairs) for _, pairs in documents], dtype=np.int64)
            tally.n_read += len(documents)
            tally.row += len(documents)
            tally.position = stream.position
            yield documents_of(path, lengths, ids, counts, tally)


def _numbers(
    documents: list[tuple[int, list[bytes]]], path: Path, n_words: int, base: int, real: bool
) -> tuple[np.ndarray, np.ndarray]:
    """All ids from 0 and all counts, int64; the quick way first."""
    pairs = [pair for _, line in documents for pair in line]
    text = b" ".join(pairs)
    try:
        flat = np.array(list(map(int, text.replace(b":", b" ").split())), dtype=np.int64)
        ids, counts = flat.reshape(len(pairs), 2).T
    except (ValueError, OverflowError):
        return _by_line(documents, path, n_words, base, real)
    ids = ids - base
    sound = text.count(b":") == len(pairs) and not _TWO_COLONS.search(text) and b"_" not in text
    if sound and (
        len(pairs) == 0
        or (ids.min() >= 0 and ids.max() < n_words and counts.min() >= 1 and counts.max() < 1 << 31)
    ):
        return ids, counts
    return _by_line(documents, path, n_words, base, real)


def _by_line(
    documents: list[tuple[int, list[bytes]]], path: Path, n_words: int, base: int, real: bool
) -> tuple[np.ndarray, np.ndarray]:
    rows: list[tuple[int, int]] = []
    for number, pairs in documents:
        where = f"{path}, line {number}"
        for pair in pairs:
            left, colon, right = pair.partition(b":")
            if not colon:
                raise DataError(
                    f"{where}: {quoted_bytes(pair)} where id:count should stand; mend it"
                )
            word = whole(left, where, "word id")
            count = whole(right, where, "count", real=real)
            if not base <= word < n_words + base:
                raise DataError(
                    f"{where}: word id {word}, but ids go from {base} to {n_words + base - 1}; "
                    "give the vocabulary that belongs to it by --vocab"
                )
            check_count(count, where)
            rows.append((word - base, count))
    ids, counts = np.array(rows, dtype=np.int64).reshape(-1, 2).T
    return ids, counts
