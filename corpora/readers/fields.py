"""Numbers in text files, and the sentence for what is none."""

from pathlib import Path

import numpy as np

from topicmc.corpora.documents import Documents, from_entries
from topicmc.corpora.readers import Tally
from topicmc.errors import DataError

MAX_COUNT = (1 << 31) - 1
# Entries of one document, which is held in memory.
MAX_ENTRIES = 1 << 26


def quoted_bytes(raw: bytes, limit: int = 40) -> str:
    """Raw bytes as they go into a message."""
    text = raw.decode("utf-8", "replace")
    return repr(text if len(text) <= limit else text[:limit] + "…")


def whole(field: bytes, where: str, what: str, *, real: bool = False) -> int:
    """A whole number, also written as 2.0 when ``real``; DataError starts with ``where``."""
    digits = field[1:] if field[:1] in (b"+", b"-") else field
    if digits.isdigit() and len(digits) < 19:
        return int(field)
    if real and b"_" not in field:
        try:
            value = float(field)
        except ValueError:
            value = 0.5
        if value.is_integer():
            return int(value)
    raise DataError(f"{where}: {what} {quoted_bytes(field)} is not a whole number; mend the line")


def check_count(count: int, where: str) -> None:
    """DataError, which starts with ``where``, unless it is a count that a corpus can hold."""
    if not 1 <= count <= MAX_COUNT:
        raise DataError(f"{where}: count {count}, but counts go from 1 to {MAX_COUNT}; mend it")


def header_numbers(path: Path, line: int, fields: list[bytes], wanted: list[str]) -> list[int]:
    """The whole numbers of a header line, one for each name in wanted."""
    if len(fields) != len(wanted) or not all(f.isdigit() and len(f) < 19 for f in fields):
        raise DataError(
            f"{path}, line {line}: {quoted_bytes(b' '.join(fields))} where the number of "
            f"{', '.join(wanted)} should stand; check --format"
        )
    return [int(field) for field in fields]


def documents_of(
    path: Path, lengths: np.ndarray, word_ids: np.ndarray, counts: np.ndarray, tally: Tally
) -> Documents:
    """`from_entries` of a source, which the DataError names; entries that were merged are
    counted."""
    try:
        documents, merged = from_entries(lengths, word_ids, counts)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    tally.merged += merged
    return documents
