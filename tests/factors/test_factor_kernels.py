"""Kernels of matrix factorisation against slow twins that draw the same words."""

from itertools import pairwise

import naive_factors as naive
import numpy as np
import pytest

from topicmc.kernels import factors as kernels
from topicmc.kernels.random import stream_key

KEY = stream_key(3, "users")


def matrix(n, width, seed):
    return np.random.default_rng(seed).normal(0, 0.5, (n, width)).astype(np.float32)


@pytest.mark.parametrize("width", [2, 31, 70])
@pytest.mark.parametrize("temperature", [1.0, 0.0])
def test_flow_is_the_ornstein_uhlenbeck_process(width, temperature):
    """Waits from 1e-5 to infinity; rows that have not waited, or are not named, stay; numbers of
    rows beyond 2³²."""
    theta, before = matrix(7, width, 0), matrix(7, width, 0)
    precision = np.linspace(0.5, 30, width)
    moved_at, rates = np.array([0, 0, 1, 1.5, 2, 2, -np.inf]), np.array([1, 1e-5, 1, 2, 1, 3, 1.0])
    chosen, offset = np.array([6, 1, 3, 4], np.int32), 2**33 + 5
    args = (2.0, rates, precision, temperature, KEY, offset, np.uint32(9))
    kernels.flow(theta, chosen, 0, 4, moved_at, *args)
    expected = before.astype(float)
    for row, waited in ((6, np.inf), (1, 2e-5), (3, 1.0)):
        noise = naive.draws(KEY, offset + row, width, 9)
        expected[row] = naive.flow(expected[row], waited, precision, noise, temperature)
    np.testing.assert_allclose(theta, expected, rtol=2e-6, atol=3e-7)
    assert np.array_equal(moved_at, [0, 2, 1, 2, 2, 2, 2])


def test_rows_are_numbered_as_they_come():
    slots, slot_of, touched = np.full(9, -1, np.int32), np.empty(6, np.int32), np.empty(6, np.int32)
    n = kernels.number_rows(np.array([4, 8, 4, 0, 8, 8], np.int32), slots, slot_of, touched)
    assert touched[:n].tolist() == [4, 8, 0]
    assert slot_of.tolist() == [0, 1, 0, 2, 1, 1]
    assert (slots == -1).all()


def test_kicks_are_gradients():
    """Both sides by the gradient at the state before, whichever slots a call is for."""
    users, items = matrix(6, 4, 2), matrix(5, 4, 3)
    user_of, item_of = np.array([[4, 1, 4, 0, 4], [2, 2, 0, 3, 3]], np.int32)
    ratings = np.array([1.5, -0.3, 0.7, -2, 0.1], np.float32)
    to_users, _ = naive.gradients(users, items, user_of, item_of, ratings)
    touched, item_rows = np.array([4, 1, 0], np.int32), np.array([2, 0, 3], np.int32)
    slot_of, item_slot = np.array([0, 1, 0, 2, 0], np.int32), np.array([0, 0, 1, 2, 2], np.int32)
    errors, steps = np.empty(5, np.float32), np.linspace(0.1, 0.6, 6)
    copies, others = users[touched], items[item_rows]
    for first, last in ((2, 5), (0, 2)):
        kernels.errors(copies, slot_of, others, item_slot, ratings, first, last, errors)
    moved = users.copy()
    for first, last in ((1, 3), (0, 1)):
        kernels.kick(moved, touched, slot_of, others, item_slot, errors, steps, first, last)
    np.testing.assert_allclose(moved, users + steps[:, None] * to_users, rtol=1e-6, atol=1e-6)


def test_rows_are_drawn_from_their_conditional():
    """The exact mean plus R⁻¹ z; a row without ratings is drawn from the prior."""
    generator = np.random.default_rng(4)
    others, width = matrix(8, 4, 5), 4
    counts = np.array([3, 0, 30])
    offsets = np.r_[0, np.cumsum(counts)]
    other_of = generator.integers(0, 8, 33).astype(np.int32)
    ratings = generator.normal(size=33).astype(np.float32)
    precision, rows = generator.uniform(0.5, 3, width), np.zeros((3, width), np.float32)
    args = (others, offsets, other_of, ratings, 1.7, precision, KEY, np.uint32(6))
    kernels.draw_rows(rows, *args, 1, 3)
    kernels.draw_rows(rows, *args, 0, 1)
    for row, (first, last) in enumerate(pairwise(offsets)):
        mean, matrix_ = naive.conditional(
            others, other_of[first:last], ratings[first:last], 1.7, precision
        )
        noise = naive.draws(KEY, row, width, 6)
        np.testing.assert_allclose(rows[row], naive.drawn(mean, matrix_, noise), rtol=2e-5)


def test_squares_are_added_up_in_double_precision():
    rows = matrix(100, 3, 6) * np.float32([1, 1e3, 1e-3])
    total = np.full(3, 0.5)
    kernels.add_squares(rows, total)
    np.testing.assert_allclose(total, 0.5 + (rows.astype(float) ** 2).sum(axis=0), rtol=1e-14)
