# mypy: disable-error-code="call-arg"
"""The Dirichlet prior of topics, b_kw, as kernels read it: one number, or a row for each word.

Which of them it is is known when a kernel is compiled, so that one number costs no more than a
constant does. A kernel takes the row of a word, and reads topics of it:

    row = row_of(beta.entries, word)
    weight = counts[k] + entry(row, k)
"""

from typing import NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from topicmc.kernels.lanes import gather, load, splat


class Rows(NamedTuple):
    """Priors that differ: word w has those of row ``row_of[w]``."""

    values: np.ndarray
    """float32 or float64 (R, Kp)."""
    row_of: np.ndarray
    """int32 (W,)."""


class Beta(NamedTuple):
    """The prior of all words and topics, padded to Kp topics (`topicmc.kernels.padding`)."""

    entries: np.floating | Rows
    """b_kw."""
    totals: np.ndarray
    """float64 (Kp,): B_k = Σ_w b_kw."""


def no_prior(n_padded: int) -> Beta:
    """All b_kw = 0, for draws under topics that are given."""
    return Beta(np.float32(0), np.zeros(n_padded))


def row_of(entries, word):
    """The priors of a word."""
    raise NotImplementedError("for kernels only")


def entry(row, k):
    """That of topic k."""
    raise NotImplementedError("for kernels only")


def entry_lanes(row, k):
    """Those of 16 topics from k on."""
    raise NotImplementedError("for kernels only")


def entry_gather(row, topics, at):
    """Those of the 16 topics from place ``at`` on in an array of topics."""
    raise NotImplementedError("for kernels only")


@overload(row_of, inline="always")
def _row_of(entries, word):
    if isinstance(entries, types.Float):
        return lambda entries, word: entries
    return lambda entries, word: entries.values[entries.row_of[word]]


@overload(entry, inline="always")
def _entry(row, k):
    if isinstance(row, types.Float):
        return lambda row, k: row
    return lambda row, k: row[k]


@overload(entry_lanes, inline="always")
def _entry_lanes(row, k):
    if isinstance(row, types.Float):
        return lambda row, k: splat(row)
    return lambda row, k: load(row, k)


@overload(entry_gather, inline="always")
def _entry_gather(row, topics, at):
    if isinstance(row, types.Float):
        return lambda row, topics, at: splat(row)
    return lambda row, topics, at: gather(row, 0, topics, at)
