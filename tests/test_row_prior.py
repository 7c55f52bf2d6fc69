"""Priors of topics as values: what they add up to, and what they refuse."""

import numpy as np
import pytest
from priors import prior, uneven

from topicmc.errors import UsageError
from topicmc.samplers.row_prior import Additions, RowPrior


@pytest.mark.parametrize("beta", [0.0, -1.0, float("nan"), float("inf")])
def test_beta_must_be_positive(beta):
    with pytest.raises(UsageError, match="beta"):
        RowPrior(beta)


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_additions_must_be_numbers_of_0_or_more(value):
    with pytest.raises(UsageError, match="additions"):
        Additions.of_words(np.array([1]), np.array([[0.0, value]]), 3)


def test_it_adds_up_to_the_matrix_that_it_is():
    b = uneven(0.1, 30, 20)
    over = prior(b, 30)
    np.testing.assert_allclose(over.matrix(), b.T)
    np.testing.assert_allclose(over.totals(30, 20), b.sum(axis=0))
    assert over.mean(20, 30) == pytest.approx(b.mean())
    np.testing.assert_allclose(over.summed(30).matrix(), b.sum(axis=0)[:, None])
    theta = np.zeros(b.shape, np.float32)
    over.add_to(theta)
    np.testing.assert_allclose(theta, b, rtol=1e-6)
    np.testing.assert_allclose(over.with_base(1.0).matrix(), b.T + 0.9)


def test_topics_of_the_padding_have_the_base():
    b = uneven(0.1, 30, 20)
    read = prior(b, 30).rows(30, 20)
    assert read.totals.shape == (32,) and read.entries.values.shape[1] == 32
    np.testing.assert_allclose(read.entries.values[read.entries.row_of][:, :20], b, rtol=1e-6)
    assert np.all(read.entries.values[:, 20:] == np.float32(0.1))
    np.testing.assert_allclose(read.totals[20:], 3.0)


def test_a_symmetric_one_is_one_number():
    read = RowPrior(0.25).rows(30, 20)
    assert read.entries == np.float32(0.25) and read.entries.dtype == np.float32
    assert RowPrior(0.25).matrix() == 0.25 and np.all(RowPrior(0.25).totals(30, 20) == 7.5)


def test_random_weights_lean_to_where_a_word_has_more_prior():
    """Weights of a word are shared out as its prior is; of words without additions none moves."""
    b = uneven(0.1, 30, 20)
    theta = np.full((30, 32), 2.0, np.float32)
    prior(b, 30).lean(theta)
    even = (b == 0.1).all(axis=1)
    assert np.all(theta[even] == 2.0) and not even.all()
    wide = np.pad(b, ((0, 0), (0, 12)), constant_values=0.1)[~even]
    shares = wide / wide.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(theta[~even], 64 * shares, rtol=1e-5)


def test_topics_may_be_added():
    b = uneven(0.1, 30, 20)
    more = prior(b, 30).additions.for_topics(25)
    np.testing.assert_allclose(more.of(np.s_[:])[:, :20], b - 0.1, atol=1e-12)
    assert more.values.shape[1] == 25 and not more.values[:, 20:].any()
