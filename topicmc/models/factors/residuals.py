"""The errors of many ratings under one state."""

from __future__ import annotations

import numpy as np

from topicmc.kernels import factors as kernels
from topicmc.kernels.threads import Threads

_LEAST = 2048  # ratings that are worth a thread


def squared_error(
    users: np.ndarray,
    user_of: np.ndarray,
    items: np.ndarray,
    item_of: np.ndarray,
    values: np.ndarray,
    threads: Threads,
) -> float:
    """Σ e² in double precision, of the errors in the order of the ratings.

    Args:
        users, items: float32 (n, D + 1), up to date.
        user_of, item_of: int32 (N,), whose rows are rated.
        values: float32 (N,), standardised.
        threads: who works.
    """
    errors = np.empty(len(values), np.float32)

    def work(first: int, last: int, _: int) -> None:
        kernels.errors(users, user_of, items, item_of, values, first, last, errors)

    threads.run_over(work, len(values), _LEAST)
    total = np.zeros(1)
    kernels.add_squares(errors[:, None], total)
    return float(total[0])
