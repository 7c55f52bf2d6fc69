"""What became of everything that was read: nothing is lost in silence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from topicmc.corpora.documents import blocks
from topicmc.corpora.dropped import REASONS, REPEATED
from topicmc.corpora.making.duplicates import bag_digests, first_of_each, text_digests
from topicmc.corpora.making.ingestion import Ingested
from topicmc.corpora.making.spool import Spool
from topicmc.corpora.naming import Places
from topicmc.corpora.readers import Tally
from topicmc.corpora.shards import map_documents
from topicmc.corpora.store import Corpus
from topicmc.corpora.strings import Strings
from topicmc.corpora.text.markup import KINDS
from topicmc.corpora.text.scripts import uncut


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
        "tokens_left_out": ingested.n_tokens - n_tokens,
        "words_read": ingested.n_words,
        "words_left_out": ingested.n_words - n_words,
    }


def account_of_ids(spool: Spool, places: Places) -> dict[str, Any]:
    """How many rows have no id, how many have that of a row before them, and the first of these."""
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
        again = int(np.argmax(firsts != np.arange(len(firsts))))
        rows, id = _rows_with_ids(spool, (int(firsts[again]), again))
        example = f"{id[:80]!r} ({' and '.join(map(places.name, rows))})"
    return {"ids_missing": missing, "ids_repeated": repeated, "id_repeated": example}


def account_of_joined_ids(corpora: Sequence[Corpus]) -> dict[str, Any]:
    """How many documents have an id that is one of a corpus before theirs, and the first such id;
    nothing where none has."""
    known, again, example = np.empty(0, np.uint64), 0, None
    for corpus in corpora:
        new = [np.empty(0, np.uint64)]
        for ids in _ids_of(corpus):
            digests = text_digests(ids)
            named = ids.lengths > 0
            places = np.searchsorted(known, digests)
            found = np.flatnonzero(named & (np.append(known, np.uint64(0))[places] == digests))
            found = found[places[found] < len(known)]
            if len(found) and example is None:
                example = ids[int(found[0])][:80]
            again += len(found)
            new.append(digests[named])
        known = np.union1d(known, np.concatenate(new))
    return {"ids_known": again, "id_known": example} if again else {}


def account_of_equals(
    folder: Path, tables: dict[str, Any], dtypes: tuple[np.dtype, np.dtype]
) -> dict[str, int]:
    """How many held-out documents of a corpus, written into a folder, are equal to one to train on,
    by their words; nothing where none is. Takes eight bytes of memory for each that is held out."""
    told = {"word_ids": dtypes[0].name, "counts": dtypes[1].name}

    def digests(table: dict[str, Any]) -> Iterator[np.ndarray]:
        return map(bag_digests, blocks(map_documents(folder, table, told)))

    held = np.concatenate([np.empty(0, np.uint64), *digests(tables["heldout"])])
    found = np.zeros(len(held), bool)
    for table in tables["shards"] if len(held) else ():
        for trained in digests(table):
            found |= np.isin(held, trained)
    return {"heldout_trained": int(found.sum())} if found.any() else {}


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
