"""The n-th greatest number of each column of a matrix, in one pass over its rows."""

import numpy as np
from numba import njit

from topicmc.kernels.threads import Threads

_COLUMNS = 64  # that a thread takes at a time, at least: whole lines of a cache


def nth_greatest(matrix: np.ndarray, n: int, threads: Threads) -> np.ndarray:
    """The n-th greatest number of each column of float32 (W, K): float32 (K,); the least one where
    W < n."""
    n_rows, n_columns = matrix.shape
    best = np.full((n_columns, min(n, n_rows)), -np.inf, np.float32)
    threads.run_over(lambda first, last, _: _keep(matrix, first, last, best), n_columns, _COLUMNS)
    return best[:, 0].copy()


@njit(nogil=True, cache=True)
def _keep(matrix, first, last, best):
    """Keeps the greatest numbers of columns first … last − 1, the least of them in front: rows of
    best. Few numbers of a long column are among the greatest when they come."""
    least = best[first:last, 0].copy()
    for row in matrix:
        for k in range(last - first):
            if row[first + k] > least[k]:
                mine = best[first + k]
                mine[0] = row[first + k]
                i = np.argmin(mine)
                mine[0], mine[i] = mine[i], mine[0]
                least[k] = mine[0]
