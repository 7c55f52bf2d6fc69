"""The n-th greatest number of columns, beside sorting."""

import numpy as np
import pytest

from topicmc.kernels.greatest import nth_greatest
from topicmc.kernels.threads import Threads


@pytest.mark.parametrize("n_columns", [1, 63, 200])
@pytest.mark.parametrize(("n_rows", "n"), [(500, 10), (10, 10), (3, 10), (50, 1)])
def test_nth_greatest_is_that_of_sorted_columns(n_rows, n_columns, n):
    """Ties count as often as they are there."""
    matrix = np.random.default_rng(n_rows).integers(-99, 99, (n_rows, n_columns))
    matrix = matrix.astype(np.float32)
    expected = np.sort(matrix, axis=0)[max(n_rows - n, 0)]
    for threads in (1, 3):
        np.testing.assert_array_equal(nth_greatest(matrix, n, Threads(threads)), expected)
