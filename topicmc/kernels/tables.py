# mypy: disable-error-code="call-arg,var-annotated"
"""Cumulative tables of weights, sixteen lanes at a time, and draws from them."""

import numpy as np
from numba import njit

from topicmc.kernels.lanes import bits_of, count_at_most, last, load, peek, peek_bits, prefix, store
from topicmc.kernels.padding import LANES, aligned_zeros

# A cumulative table of one draw: a block that ends in zero, a block for the sums over lanes, the
# blocks of the topics, and blocks of infinity so that `pick` may read on past the end.
_STRIDE = 8
TABLE_HEAD = 2 * LANES
TABLE_EXTRA = TABLE_HEAD + _STRIDE * LANES
# Beyond this share of a total, a token's own slice would leave too few digits of the rest.
LARGEST_SLICE = np.float32(1 - 1 / 64)


def tables(n_tables: int, n_padded: int) -> np.ndarray:
    """Empty cumulative tables for `pick`: float32 (n_tables, n_padded + TABLE_EXTRA), aligned."""
    out = aligned_zeros((n_tables, n_padded + TABLE_EXTRA), np.float32)
    out[:, TABLE_HEAD + n_padded :] = np.inf
    return out


def surround(kept: np.ndarray, n_padded: int) -> np.ndarray:
    """`tables` in scratch space, flat float32 (n (n_padded + TABLE_EXTRA),), whatever was there."""
    rows = kept.reshape(-1, n_padded + TABLE_EXTRA)
    rows[:, :TABLE_HEAD], rows[:, TABLE_HEAD + n_padded :] = 0, np.inf
    return kept


@njit(inline="always")
def close(table, start, row):
    """Completes a table whose last block is `row` by its sums over lanes; returns the total."""
    sums = prefix(row)
    store(table, start + LANES, sums)
    return last(sums)


@njit(inline="always")
def pick(table, start, n_padded, target):
    """The topic at which the sum of weights, lane after lane, passes the target.

    With target = u · total, u uniform on [0, 1), that is a draw in proportion to the weights.
    Weight k is in lane k % 16 of block k // 16; from table[start + TABLE_HEAD] on lie the sums of
    each lane over blocks so far, and before them the sums over lanes (`close`). First a lane is
    found, then a block within it, both by counting: searching would branch on random bits.

    Returns −1 when target ≥ total, when it is NaN, or when it falls into a gap left by rounding
    (less than once in 10⁶ draws); the caller needs an answer for that. A topic of zero weight is
    never returned: below the sum that passes the target is one that does not.
    """
    lane, rest = pick_lane(table, start, target)
    return pick_block(table, start, n_padded, lane, rest)


@njit(inline="always")
def pick_lane(table, start, target):
    """The lane of `pick`, and what is left of the target within it."""
    lane = count_at_most(load(table, start + LANES), target)
    return lane, target - peek(table, start + LANES - 1 + lane)


@njit(inline="always")
def pick_block(table, start, n_padded, lane, rest):
    """The topic of `pick`, once its lane is known."""
    # By their bits, which is quicker; and what rounding has left below zero is a gap then.
    column = start + TABLE_HEAD + lane
    n_blocks = n_padded // LANES
    bits, coarse = bits_of(rest), 0
    for end in range(_STRIDE - 1, n_blocks, _STRIDE):
        coarse += np.intp(peek_bits(table, column + LANES * end) <= bits)
    block = _STRIDE * coarse
    column += LANES * block
    for step in range(_STRIDE - 1):
        block += np.intp(peek_bits(table, column + LANES * step) <= bits)
    return LANES * block + lane if lane < LANES and block < n_blocks else -1
