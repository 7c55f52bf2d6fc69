"""Where each of many runs of entries begins, in one array."""

import numpy as np


def offsets(lengths: np.ndarray) -> np.ndarray:
    """int64 (n + 1,) running sums of lengths, from 0."""
    indptr = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=indptr[1:])
    return indptr


def spans(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """int64 (Σ lengths,): the places starts[i] … starts[i] + lengths[i] − 1, i after i."""
    ends = offsets(lengths)
    return np.repeat(starts - ends[:-1], lengths) + np.arange(ends[-1])
