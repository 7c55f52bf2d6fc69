"""Philox and the draws made of it: known answers, and the slow twin word for word."""

import naive
import numpy as np
import pytest
from scipy import stats

from topicmc.kernels import simplex
from topicmc.kernels.draws import fill_exponential
from topicmc.kernels.random import philox, stream_key

# Random123's known-answer test vectors for philox4x32-10: (counter, key) → output.
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
@pytest.mark.filterwarnings("ignore:overflow")
def test_philox_gives_the_known_answers(counter, key, expected):
    packed = np.uint64(key[0] | key[1] << 32)
    # The kernel's function is inlined where it is used; its Python source is what runs here.
    assert tuple(map(int, philox.py_func(packed, *counter))) == expected
    assert naive.philox(packed, *counter) == expected


def test_streams_differ_in_seed_purpose_and_chain():
    keys = {
        int(stream_key(seed, purpose, chain))
        for seed in (0, 1)
        for purpose in ("gibbs", "move")
        for chain in (0, 1)
    }
    assert len(keys) == 8
    assert stream_key(7, "gibbs", 1) == stream_key(7, "gibbs", 1)


def test_fill_equals_scalar_draws():
    key, out = stream_key(1, "test"), np.empty(103, np.float32)
    fill_exponential(out, key)
    expected = [naive.exponential(naive.philox(key, i // 4, 0, 0, 0)[i % 4]) for i in range(103)]
    np.testing.assert_allclose(out, expected, rtol=4e-7)


def test_normals_equal_scalar_draws():
    key, z = stream_key(2, "test"), np.empty((4, 32), np.float32)
    simplex._normals(key, np.uint32(9), np.uint32(5), np.empty((4, 32), np.uint32), z)
    for k in range(32):
        words = naive.philox(key, k, 5, 0, 9)
        expected = naive.normal_pair(*words[:2]) + naive.normal_pair(*words[2:])
        np.testing.assert_allclose(z[:, k], expected, rtol=1e-5, atol=1e-6)


def test_law_of_exponentials():
    """Kolmogorov-Smirnov on 2e6 draws at 1e-7; a rate wrong by 1 % is caught."""
    draws = np.empty(2_000_000, np.float32)
    fill_exponential(draws, stream_key(3, "test"))
    assert stats.kstest(draws, stats.expon.cdf, method="asymp").pvalue > 1e-7
    assert stats.kstest(draws * 1.01, stats.expon.cdf, method="asymp").pvalue < 1e-7


def normals(n_quads: int) -> np.ndarray:
    z, key = np.empty((n_quads, 4, 2048), np.float32), stream_key(4, "test")
    bits = np.empty((4, 2048), np.uint32)
    for quad in range(n_quads):
        simplex._normals(key, np.uint32(0), np.uint32(quad), bits, z[quad])
    return z


def test_law_of_normals():
    """Body, tail and independence of 2e6 normals, each at 1e-7 or so (5.3 standard errors)."""
    z = normals(250).astype(float)
    n = z.size
    assert stats.kstest(z.ravel(), stats.norm.cdf, method="asymp").pvalue > 1e-7
    assert stats.kstest(1.01 * z.ravel(), stats.norm.cdf, method="asymp").pvalue < 1e-7
    for threshold in (3.0, 4.0, 4.75):
        expected = n * 2 * stats.norm.sf(threshold)
        assert stats.poisson.sf(np.sum(np.abs(z) > threshold), expected) > 1e-7
        assert stats.poisson.cdf(np.sum(np.abs(z) > threshold), expected) > 1e-7
    lanes = z.transpose(1, 0, 2).reshape(4, -1)
    correlation = np.corrcoef(np.vstack([lanes, lanes**2]))
    between_lanes = correlation[~np.tile(np.eye(4, dtype=bool), (2, 2))]
    assert np.abs(between_lanes).max() < 6 / np.sqrt(lanes.shape[1])
