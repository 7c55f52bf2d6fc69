"""The memory that training a mixture takes: what its processes hold at the same time at most.

Each process holds all documents and all chains. How many groups there will be is learned, so what
is stated is for `GROUPS` of them. Held-out documents are mapped, and copied while they are scored.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from topicmc.corpora import Corpus
from topicmc.host.machine import MPI, PROGRAM
from topicmc.models.mixture.chains import COUNTED
from topicmc.models.mixture.settings import Resolved
from topicmc.models.mixture.slices import ROOM

GROUPS = 200


class Sizes(NamedTuple):
    """What of a corpus decides how much memory training takes."""

    n_docs: int
    n_words: int
    n_entries: int
    entry_bytes: int  # of a word and its count
    heldout_docs: int
    heldout_entries: int


def sizes_of(corpus: Corpus) -> Sizes:
    """The sizes of a corpus, by its index."""
    dtypes, heldout = corpus.index["dtypes"], corpus.index["heldout"]
    entry_bytes = sum(np.dtype(dtypes[name]).itemsize for name in ("word_ids", "counts"))
    of_heldout = heldout["n_docs"], heldout["n_entries"]
    return Sizes(corpus.n_docs, corpus.n_words, corpus.n_entries, entry_bytes, *of_heldout)


def needed(
    config: Resolved, sizes: Sizes, n_processes: int, local: int = 1, groups: int = GROUPS
) -> int:
    """Bytes that the ``local`` processes of one machine need at most, of ``n_processes`` in all."""
    row = groups * sizes.n_words
    program = PROGRAM + (MPI if n_processes > 1 else 0)
    documents = sizes.n_entries * sizes.entry_bytes
    documents += 24 * sizes.n_docs  # where they begin, their tokens, their order in a sweep
    chains = config.chains * (12 * row + 4 * sizes.n_docs)  # weights and counts, and the groups
    # Of the chain that moves the counts with room for new groups, and weights and counts anew; of
    # the sample that is scored its words, and their logarithms beside what these are taken of.
    room = 4 * ROOM * sizes.n_words if config.counts == "all" else 0
    at_work = 20 * row + room
    scored = config.samples * config.chains * sizes.heldout_docs / n_processes
    heldout = sizes.heldout_entries * sizes.entry_bytes + 8 * sizes.heldout_docs + 16 * scored
    counting = 16 * COUNTED * sizes.n_entries / max(1, sizes.n_docs)  # before there are chains
    training = max(counting, chains + at_work + heldout)
    return round(local * (program + documents + training))
