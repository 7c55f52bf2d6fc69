"""What became of everything that was read: nothing is lost in silence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from topicmc.corpora.documents import Documents, blocks, remap, select
from topicmc.corpora.dropped import REASONS, REPEATED
from topicmc.corpora.making.concatenation import Part
from topicmc.corpora.making.duplicates import (
    bag_digests,
    first_of_each,
    repeating,
    text_digests,
)
from topicmc.corpora.making.ingestion import Ingested
from topicmc.corpora.making.split import look_up
from topicmc.corpora.making.spool import Spool
from topicmc.corpora.naming import Places
from topicmc.corpora.readers import Tally
from topicmc.corpora.store import Corpus
from topicmc.corpora.strings import Strings
from topicmc.corpora.text.markup import KINDS
from topicmc.corpora.text.scripts import uncut

_NONE = np.empty(0, np.uint64)  # digests


def account(
    tally: Tally, ingested: Ingested, n_words: int, tables: dict[str, Any], repeats: int
) -> dict[str, Any]:
    """Of documents, tokens and words; ``repeats`` are the documents kept that repeat another."""
    parts = [*tables["shards"], tables["heldout"]]
    n_docs, n_tokens = (sum(part[name] for part in parts) for name in ("n_docs", "n_tokens"))
    dropped = tables["dropped"]["reasons"]
    again = dropped.get(REASONS[REPEATED], 0)
    return {
        "documents_read": tally.n_read,
        "documents_skipped": tally.skipped,
        "skipped": dict(tally.passed_over),
        "cut_short": tally.cut,
        "times_unread": tally.times_unread,
        "time_unread": tally.time_unread,
        "documents_empty": tally.n_read - tally.skipped - n_docs - again,
        "dropped": dropped,
        "duplicates": repeats + again,
        "entries_merged": tally.merged,
        "markup": {kind: number for kind in KINDS if (number := tally.noticed[kind])},
        "uncut": uncut(tally.noticed),
        "tokens_read": ingested.n_tokens,
        "tokens_left_out": ingested.n_tokens - ingested.n_repeated - n_tokens,
        **({"tokens_repeated": ingested.n_repeated} if ingested.n_repeated else {}),
        "words_read": ingested.n_words,
        "words_left_out": ingested.n_words - n_words,
    }


def account_of_ids(spool: Spool, places: Places, *, asked: bool) -> dict[str, Any]:
    """How many rows have no id, how many have that of a row before them, and the first of these. Of
    ids that nobody ``asked`` for, as of files in folders, only what is repeated."""
    missing, file = 0, spool.folder / "id_digests"
    with file.open("wb") as stream:
        for block in spool.blocks(["ids"]):
            assert block.documents.metadata is not None
            ids = block.documents.metadata.ids
            known = text_digests(ids)[ids.lengths > 0]
            missing += len(ids) - len(known)
            stream.write(known.tobytes())
    firsts, repeated = first_of_each(file)
    example = None
    if firsts is not None:
        again = int(np.argmax(repeating(firsts)))
        rows, id = _rows_with_ids(spool, (int(firsts[again]), again))
        example = f"{id[:80]!r} ({' and '.join(map(places.name, rows))})"
    told = {"ids_repeated": repeated, "id_repeated": example}
    if asked:
        return {"ids_missing": missing, **told}
    return told if repeated else {}


def account_of_joined_ids(corpora: Sequence[Corpus]) -> dict[str, Any]:
    """How many documents have an id that is one of a corpus before theirs, and the first such id;
    nothing where none has. Takes up to 24 bytes of memory an id."""
    known, again, example = _NONE, 0, None
    for corpus in corpora:
        new = [_NONE]
        for ids in _ids_of(corpus):
            digests = text_digests(ids)
            named = ids.lengths > 0
            found = np.flatnonzero(named & look_up(known, digests)[1])
            if len(found) and example is None:
                example = ids[int(found[0])][:80]
            again += len(found)
            new.append(digests[named])
        known = np.union1d(known, np.concatenate(new))
    return {"ids_known": again, "id_known": example} if again else {}


def account_of_equals(parts: Sequence[Part]) -> dict[str, int]:
    """How many held-out documents of the parts of a corpus are equal, by their words, to one that
    another part trains on; nothing where none is. Takes some 40 bytes of memory for each that is
    held out."""
    held = [np.concatenate([_NONE, *_digests(part, part.corpus.heldout)]) for part in parts]
    owners = np.repeat(np.arange(len(parts)), [len(digests) for digests in held])
    digests = np.concatenate(held)
    found = np.zeros(len(digests), bool)
    for number, part in enumerate(parts):
        others = np.flatnonzero(owners != number)
        for shard in range(part.corpus.n_shards) if len(others) else ():
            for trained in _digests(part, part.corpus.shard(shard)):
                found[others] |= np.isin(digests[others], trained)
    return {"heldout_trained": int(found.sum())} if found.any() else {}


def account_of_repeated(old: Part, new: Part) -> dict[str, int]:
    """How many documents of a part are equal, by their words, to one of an older part; nothing
    where none is. Takes some 40 bytes of memory for each new one."""
    kinds, times = np.unique(np.concatenate([_NONE, *_all_digests(new)]), return_counts=True)
    found = np.zeros(len(kinds), bool)
    for digests in _all_digests(old):
        places, seen = look_up(kinds, digests)
        found[places[seen]] = True
    return {"documents_known": int(times[found].sum())} if found.any() else {}


def _all_digests(part: Part) -> Iterator[np.ndarray]:
    """Those of training and of held-out documents, as `_digests`."""
    shards = map(part.corpus.shard, range(part.corpus.n_shards))
    for documents in chain(shards, [part.corpus.heldout]):
        yield from _digests(part, documents)


def _digests(part: Part, documents: Documents) -> Iterator[np.ndarray]:
    """Those of documents of a part, uint64 (n,) by blocks, under the ids of the whole, but of those
    that lose all their words."""
    for block in blocks(documents):
        if part.new_ids is not None:
            block = remap(block, part.new_ids)
            block = select(block, block.lengths > 0)
        yield bag_digests(block)


def _ids_of(corpus: Corpus) -> Iterator[Strings]:
    for table in (*corpus.index["shards"], corpus.index["heldout"]):
        metadata = corpus.part(table).metadata
        if metadata is not None:
            yield metadata.ids


def _rows_with_ids(spool: Spool, wanted: tuple[int, int]) -> tuple[list[int], str]:
    """The rows at some positions among those with an id, ascending, and the id of the last."""
    rows: list[int] = []
    id, start = "", 0
    for block in spool.blocks(["ids"]):
        metadata = block.documents.metadata
        assert metadata is not None
        known = np.flatnonzero(metadata.ids.lengths)
        for position in wanted:
            if start <= position < start + len(known):
                place = int(known[position - start])
                rows.append(int(metadata.rows[place]))
                id = metadata.ids[place]
        start += len(known)
    return rows, id
