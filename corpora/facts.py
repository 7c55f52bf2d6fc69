"""Facts about a prepared corpus that take one pass over it, in bounded memory."""

from typing import Any

import numpy as np

from topicmc.corpora.documents import blocks
from topicmc.corpora.store import Corpus

_BOUNDS = [m * 10**e for e in range(9) for m in (1, 2, 5)]
_FREQUENT = 20  # words


def describe(corpus: Corpus) -> dict[str, Any]:
    """Sizes, the histogram of document lengths, the most frequent words.

    The histogram counts training documents by tokens, ``[from, below, documents]`` a bar.
    DataError names a file that is damaged.
    """
    corpus.check(range(corpus.n_shards), metadata=True)
    histogram = np.zeros(len(_BOUNDS), dtype=np.int64)
    totals = np.zeros(corpus.n_words, dtype=np.int64)
    longest = 0
    for number in range(corpus.n_shards):
        for block in blocks(corpus.shard(number)):
            lengths = block.sizes
            longest = max(longest, int(lengths.max()))
            bars = np.searchsorted(_BOUNDS, lengths, "right") - 1
            histogram += np.bincount(bars, minlength=len(_BOUNDS))
            of_words = np.bincount(block.word_ids, block.counts, corpus.n_words)
            totals += of_words.astype(np.int64)
    frequent = np.argsort(-totals, kind="stable")[:_FREQUENT]
    used = np.flatnonzero(histogram)
    shown = range(used[0], used[-1] + 1)
    ends = [*_BOUNDS[1:], 10**9]
    heldout = corpus.heldout
    return {
        "corpus": str(corpus.path),
        "fingerprint": corpus.fingerprint,
        "documents": corpus.n_docs,
        "heldout": corpus.n_heldout,
        "words": corpus.n_words,
        "words_unused": int((totals == 0).sum()),
        "tokens": corpus.n_tokens,
        "entries": corpus.n_entries,
        "heldout_tokens": heldout.n_tokens,
        "heldout_entries": heldout.n_entries,
        "shards": corpus.shard_sizes,
        "longest": longest,
        "lengths": [[_BOUNDS[i], ends[i], int(histogram[i])] for i in shown],
        **describe_metadata(corpus),
        **describe_rows(corpus),
        "frequent": [[corpus.vocabulary[i], int(totals[i])] for i in frequent if totals[i]],
        "disk": sum(f.stat().st_size for f in corpus.path.rglob("*") if f.is_file()),
        "provenance": corpus.provenance,
    }


def describe_metadata(corpus: Corpus) -> dict[str, Any]:
    """How many training documents have an id, a title, a time, the first and the last of these,
    None for what the corpus does not have; and the names of the columns that are kept."""
    titles, times, ids = corpus.titles, corpus.times, corpus.ids
    known = None if times is None else times[~np.isnat(times)]
    return {
        "ids": None if ids is None else ids.n_known,
        "columns": corpus.index.get("columns", []),
        "titles": None if titles is None else titles.n_known,
        "times": None if known is None else len(known),
        "first_time": None if known is None or not len(known) else str(known.min()),
        "last_time": None if known is None or not len(known) else str(known.max()),
    }


def describe_rows(corpus: Corpus) -> dict[str, Any]:
    """How many documents repeat another of those they were prepared with, and how many rows made no
    document, by why; None where it was not counted."""
    dropped = corpus.index.get("dropped")
    return {
        "duplicates": _duplicates(corpus.provenance),
        "dropped": None if dropped is None else dropped["reasons"],
    }


def _duplicates(provenance: dict[str, Any]) -> int | None:
    """Those counted when the corpus was prepared, and when others that it now holds were."""
    found, counts = [provenance], []
    while found:
        told = found.pop()
        counts.append(told.get("duplicates"))
        found += told.get("history", [])
        found += [origin["provenance"] for origin in told.get("with", [])]
    known = [number for number in counts if number is not None]
    return sum(known) if known else None
