"""Histograms of counts, from which priors are learned: all counts of one size in one number."""

import numpy as np
from numba import njit

from topicmc.kernels.threads import Threads

EXACT = 256  # sizes below have bins of their own
PER_OCTAVE = 8  # bins for every doubling beyond
N_BINS = EXACT + 24 * PER_OCTAVE
_ROWS = 256  # of levels that are worth a thread's while


def bin_sizes() -> np.ndarray:
    """The count that each bin stands for: float64 (N_BINS,)."""
    octaves = (np.arange(N_BINS - EXACT) + 0.5) / PER_OCTAVE
    return np.concatenate([np.arange(EXACT), EXACT * 2.0**octaves])


def mix_histogram(
    starts: np.ndarray, lengths: np.ndarray, z: np.ndarray, n_topics: int
) -> np.ndarray:
    """How many documents have a topic so many times: int64 (K + 1, N_BINS); the last row is of the
    lengths of the documents.

    Document i has the topics z[starts[i] : starts[i] + lengths[i]]. Counts of none are not entered.
    """
    out = np.zeros((n_topics + 1, N_BINS), np.int64)
    _mix_histogram(starts, lengths, z, np.zeros(n_topics, np.int64), out)
    return out


def level_histogram(
    levels: np.ndarray, scale: np.ndarray, shift: float, least: float, threads: Threads
) -> np.ndarray:
    """How many entries of a matrix stand for so large a count: int64 (N_BINS,).

    Entry (w, k) of ``levels`` (W, K or more) stands for levels · scale_k − shift, rounded; below
    ``least`` it stands for none and is not entered. scale float64 (K,).
    """
    out = np.zeros((threads.n_threads, N_BINS), np.int64)

    def count(first: int, last: int, i: int) -> None:
        _level_histogram(levels[first:last], scale, shift, least, out[i])

    threads.run_over(count, len(levels), _ROWS)
    return out.sum(axis=0)


@njit(inline="always")
def _bin(count):
    if count < EXACT:
        return np.intp(count)
    return min(N_BINS - 1, EXACT + np.intp(PER_OCTAVE * np.log2(count / EXACT)))


@njit(nogil=True, cache=True)
def _mix_histogram(starts, lengths, z, counts, out):
    for i in range(len(starts)):
        tokens = range(starts[i], starts[i] + lengths[i])
        for token in tokens:
            counts[z[token]] += 1
        for token in tokens:
            k = z[token]
            if counts[k] > 0:
                out[k, _bin(counts[k])] += 1
                counts[k] = 0
        if lengths[i] > 0:
            out[len(counts), _bin(lengths[i])] += 1


@njit(nogil=True, cache=True)
def _level_histogram(levels, scale, shift, least, out):
    for w in range(len(levels)):
        for k in range(len(scale)):
            count = levels[w, k] * scale[k] - shift
            if count >= least:
                out[_bin(np.rint(count))] += 1
