"""The log joint against sums of log gamma functions."""

import numpy as np
import pytest
from priors import rows, uneven
from scipy.special import gammaln

from topicmc.kernels.joint import log_mixes, log_words
from topicmc.kernels.threads import Threads


@pytest.mark.parametrize("beta", [0.3, uneven(0.3, 2500, 6)])
def test_log_words(beta):
    """Counts below and above those that are looked up, with columns of padding; in pieces, whose
    sum has the same bits by any number of threads."""
    generator = np.random.default_rng(1)
    counts = generator.poisson(0.7, (2500, 6)) * generator.choice([1, 90, 9000], (2500, 1))
    padded = np.zeros((2500, 16), np.int32)
    padded[:, :6] = counts
    totals, masses = counts.sum(axis=0), np.broadcast_to(beta, counts.shape).sum(axis=0)
    expected = (gammaln(counts + beta) - gammaln(beta)).sum()
    expected += (gammaln(masses) - gammaln(totals + masses)).sum()
    given = padded, totals, rows(beta, (2500, 6), np.float64)
    found = log_words(*given, Threads(1))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert log_words(*given, Threads(3)) == found


def test_log_mixes():
    """Also of products of weights that no float64 holds, large and small."""
    generator = np.random.default_rng(2)
    alpha = np.array([0.1, 0.5, 2.0, 1e-200])
    offsets = np.array([0, 4, 4, 9, 30, 5_000, 5_003])
    z = generator.integers(0, 3, 5_003).astype(np.uint8)
    z[[0, 10, 60, -2, -1]] = 3
    docs = np.array([0, 1, 3, 4, 5])
    expected = 0.0
    for d in docs:
        counts = np.bincount(z[offsets[d] : offsets[d + 1]], minlength=4)
        expected += gammaln(alpha.sum()) - gammaln(counts.sum() + alpha.sum())
        expected += (gammaln(counts + alpha) - gammaln(alpha)).sum()
    np.testing.assert_allclose(log_mixes(offsets, z, docs, alpha), expected, rtol=1e-12)
