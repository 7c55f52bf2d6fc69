"""Where each of many runs of entries begins, in one array."""

import numpy as np
from numpy.typing import ArrayLike


def offsets(lengths: ArrayLike) -> np.ndarray:
    """int64 (n + 1,) running sums of lengths, from 0."""
    indptr = np.zeros(np.size(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, dtype=np.int64, out=indptr[1:])
    return indptr


def spans(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """int64 (Σ lengths,): the places starts[i] … starts[i] + lengths[i] − 1, i after i."""
    ends = offsets(lengths)
    return np.repeat(starts - ends[:-1], lengths) + np.arange(ends[-1])
