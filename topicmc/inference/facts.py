"""What a file of mixes tells of each document beside its mix, and what is counted of all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from topicmc.corpora import Documents
from topicmc.corpora.dropped import REASONS
from topicmc.corpora.metadata import Metadata
from topicmc.corpora.naming import read_columns
from topicmc.corpora.reading import Known, Reading

_TAKEN = {
    "document", "id", "file", "row", "title", "tokens", "unknown", "heldout", "dropped", "mix",
    "sd",
}  # fmt: skip
_OF_TOPICS = re.compile(r"(topic|sd)_\d+(_.*)?")  # which may end in a name, so in underscores


@dataclass
class Totals:
    """What was inferred so far: documents, those of them without a known word, tokens of known
    words, tokens of others."""

    documents: int = 0
    empty: int = 0
    tokens: int = 0
    unknown: int = 0

    stop: int | None = None
    """Of the tokens of others those of stop words, if these are told."""
    named: int = 0
    """Documents with an id."""


def blocks_of(
    reading: Reading, totals: Totals, size: int
) -> Iterator[tuple[Documents, int, dict[str, Sequence[Any]]]]:
    """The documents of ``reading``, so many at a time, with the number of the first and `facts_of`
    them; counted in ``totals`` before they are handed out."""
    for known in reading:
        if totals.stop is not None:
            totals.stop += int(np.sum(known.stop))
        for start in range(0, known.documents.n_docs, size):
            block = slice(start, min(start + size, known.documents.n_docs))
            part, first = known.documents.part(block.start, block.stop), totals.documents
            facts = facts_of(reading, known, block, part, first)
            totals.documents += part.n_docs
            totals.empty += int(np.count_nonzero(part.lengths == 0))
            totals.tokens += part.n_tokens
            totals.unknown += int(known.unknown[block].sum())
            totals.named += sum(map(bool, facts.get("id", ())))
            yield part, first, facts


def facts_of(
    reading: Reading, known: Known, block: slice, documents: Documents, first: int
) -> dict[str, Sequence[Any]]:
    """Columns by name, for a block of ``known``, whose ``documents`` are numbered from ``first``:
    number, id, file and row as far as they are known, of prepared corpora whether it was held out
    and why its row was left out, title, what is kept of its row, and tokens."""
    metadata = documents.metadata or Metadata.blank(documents.n_docs)
    numbers = range(documents.n_docs)
    places = (known.places or [None] * known.documents.n_docs)[block]
    facts: dict[str, Sequence[Any]] = {"document": range(first, first + documents.n_docs)}
    if reading.ids:
        facts["id"] = [metadata.ids[i] or None for i in numbers]
    if reading.files:
        facts["file"] = [place and place.file for place in places]
    facts["row"] = [place and place.row for place in places]
    if reading.parts and known.heldout is not None and known.reasons is not None:
        facts["heldout"] = known.heldout[block].tolist()
        facts["dropped"] = [REASONS.get(code) for code in known.reasons[block].tolist()]
    facts["title"] = [metadata.titles[i] or None for i in numbers]
    if reading.columns:
        kept = [read_columns(metadata.columns[i]) for i in numbers]
        for name, free in free_names(reading.columns).items():
            facts[free] = [values.get(name) for values in kept]
    facts["tokens"] = documents.sizes.tolist()
    facts["unknown"] = known.unknown[block].tolist()
    return facts


def free_names(columns: Iterable[str]) -> dict[str, str]:
    """What columns of a source are called in a file of mixes: their own names, with an underscore
    where a column of ours has that name."""
    names: dict[str, str] = {}
    for name in columns:
        free = f"_{name}" if _OF_TOPICS.fullmatch(name) else name
        while free in _TAKEN or free in names.values():
            free += "_"
        names[name] = free
    return names
