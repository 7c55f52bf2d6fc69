"""What is stored of a state is the state: counts to the last, weights within their own noise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from priors import prior, uneven

from topicmc.models.lda import encoding
from topicmc.models.lda.encoding import SPAN, decode, encode_counts, encode_weights
from topicmc.samplers.row_prior import Additions, RowPrior


@given(st.integers(0, 2**31), st.sampled_from([2, 255, 256, 300]), st.sampled_from([0.01, 0.5, 20]))
def test_counts_come_back_exactly(seed, n_topics, beta):
    """Whatever their sizes, in words without any and in all topics; and takes few bytes."""
    generator = np.random.default_rng(seed)
    counts = (
        generator.poisson(0.3, (40, n_topics)) * generator.choice([0, 1, 300, 70_000], 40)[:, None]
    )
    theta = counts.astype(np.float32) + np.float32(beta)
    arrays = encode_counts(theta, RowPrior(beta))
    np.testing.assert_array_equal(decode(arrays), theta)
    most = (1 if n_topics <= 256 else 2) + (1 if counts.max() < 256 else 4)
    assert sum(a.nbytes for a in arrays.values()) <= np.count_nonzero(counts) * most + 8 * 50


def test_counts_over_uneven_priors_come_back_exactly():
    b = uneven(0.1, 40, 7)
    over = prior(b, 40)
    theta = np.random.default_rng(3).poisson(0.5, b.shape).astype(np.float32)
    counts = theta.copy()
    over.add_to(theta)
    np.testing.assert_allclose(theta, counts + b, rtol=1e-6)
    arrays = encode_counts(theta, over)
    np.testing.assert_array_equal(decode(arrays, (40, 7), over.additions), theta)
    assert len(arrays["counts"]) == np.count_nonzero(counts)


def test_counts_are_stored_word_by_word_in_the_least_types(monkeypatch):
    """In pieces of two words; what is half a token or less over the prior is none."""
    monkeypatch.setattr(encoding, "_ENTRIES", 6)
    theta = np.array([[0, 3, 0.5], [-0.4, 0, 0], [70_000, 0, 0.75]]).astype(np.float32)
    arrays = encode_counts(theta + np.float32(0.25), RowPrior(0.25))
    expected = {
        "offsets": np.array([0, 1, 1, 3]),
        "topics": np.array([1, 0, 2], np.uint8),
        "counts": np.array([3, 70_000, 1], np.uint32),
    }
    for name, array in expected.items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array)


def test_counts_of_many_words(monkeypatch):
    """Looked at some words at a time."""
    theta = np.random.default_rng(1).poisson(0.5, (100, 7)).astype(np.float32) + np.float32(0.1)
    whole = encode_counts(theta, RowPrior(0.1))
    monkeypatch.setattr(encoding, "_ENTRIES", 9 * 5)
    parts = encode_counts(theta, RowPrior(0.1))
    assert whole.keys() == parts.keys()
    for name, array in whole.items():
        np.testing.assert_array_equal(parts[name], array)


def test_weights_are_rounded_by_less_than_their_noise():
    """Relative error below half a step; a gamma variable of 10⁵ tokens has ten times as much."""
    theta = np.random.default_rng(2).gamma(0.3, 1, (500, 9)).astype(np.float32) * 1e5
    arrays = encode_weights(theta, 1e5)
    assert arrays["codes"].dtype == np.uint16
    known = theta > theta.max() * np.exp(-SPAN)
    ratio = decode(arrays)[known] / theta[known]
    assert np.abs(np.log(ratio)).max() < 0.51 * SPAN / 65_535
    assert 0.1 / np.sqrt(1e5) > 0.51 * SPAN / 65_535
    np.testing.assert_allclose(decode(arrays)[~known], theta.max() * np.exp(-SPAN), rtol=1e-3)


@pytest.mark.parametrize("theta", [np.full((3, 2), np.nan), np.full((3, 2), np.inf)])
def test_weights_that_are_no_numbers_stay_as_they_are(theta):
    np.testing.assert_array_equal(decode(encode_weights(theta.astype(np.float32), 10)), theta)


def test_weights_that_are_better_known_than_codes_can_tell():
    """Where a million tokens speak for a word, rounding would add more than a hundredth."""
    theta = np.random.default_rng(3).gamma(1e6, 1, (5, 2)).astype(np.float32)
    np.testing.assert_array_equal(decode(encode_weights(theta, 1e6)), theta)


def test_no_count_is_below_zero_where_priors_are_rounded():
    """16,777,217 is no float32: θ lacks one token of it."""
    additions = Additions(np.array([1, 0], np.int32), np.array([[0, 0], [16_777_217.0, 0]]))
    over = RowPrior(0.01, additions)
    theta = np.zeros((2, 2), np.float32)
    over.add_to(theta)
    assert encode_counts(theta, over)["counts"].max(initial=0) == 0
