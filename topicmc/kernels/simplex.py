"""Blocks of words of θ, the topic-word weights, and their SGRLD step; for CIR see `cir`.

θ is float32 (n_words, n_topics), word-major. The rows to move are `words` (M,), split into blocks
of `BLOCK`: a thread takes whole blocks, and every block leaves its float64 topic sums, which are
then added in the order of the blocks. A draw is a pure function of (key, word, topic, update). So
the bits depend neither on the number of threads nor on how the blocks were shared out.

`slots[i]` is the row of words[i] in `counts`, the minibatch's expected counts; −1 if it is absent.
"""

import math

import numpy as np
from numba import njit

from topicmc.kernels.draws import FIRST_ROUND, fill_words, normals
from topicmc.kernels.padding import padded_size
from topicmc.kernels.prior import Beta, entry, row_of

BLOCK = 64  # words; a multiple of the four words that share one Philox counter in SGRLD
FLOOR = np.float32(1e-30)
"""The least θ that is stored. φ = θ/Σθ stays a normal float32 up to 8e7 tokens in a topic."""


def sum_blocks(block_sums: np.ndarray) -> np.ndarray:
    """Σ over blocks of block_sums, float64 (n_blocks, K), added in order: float64 (K,)."""
    sums = np.zeros(block_sums.shape[1])
    _sum_blocks(block_sums, sums)
    return sums


@njit(nogil=True, cache=True, error_model="numpy")
def _sum_blocks(block_sums, sums):
    for block in range(block_sums.shape[0]):
        for k in range(sums.size):
            sums[k] += block_sums[block, k]


@njit(nogil=True, cache=True, error_model="numpy")
def add_rows(theta, words, sums):
    """sums (K,) = Σ of the rows `words` of θ in float64."""
    for k in range(sums.size):
        sums[k] = 0.0
    for w in words:
        row = theta[w]
        for k in range(sums.size):
            sums[k] += np.float64(row[k])


@njit(nogil=True, cache=True, error_model="numpy")
def add_blocks(theta, words, first, last, block_sums):
    """`add_rows` of blocks first … last − 1, without a move."""
    for block in range(first, last):
        members = words[block * BLOCK : (block + 1) * BLOCK]
        add_rows(theta, members, block_sums[block])


@njit(nogil=True, cache=True, error_model="numpy")
def decayed_blocks(theta, words, steps, beta, first, last, block_sums):
    """Σ_i E[θ' of words[i] after a CIR move of steps[i] with â = b] of blocks first … last − 1; the
    entries of ``beta`` are float64."""
    for block in range(first, last):
        sums = block_sums[block]
        for k in range(sums.size):
            sums[k] = 0.0
        for i in range(block * BLOCK, min((block + 1) * BLOCK, words.size)):
            decay, row = math.exp(-steps[i]), theta[words[i]]
            prior, span = row_of(beta.entries, words[i]), -math.expm1(-steps[i])
            for k in range(sums.size):
                sums[k] += decay * np.float64(row[k]) + entry(prior, k) * span


def mean_blocks(
    theta: np.ndarray,
    words: np.ndarray,
    steps: np.ndarray,
    slots: np.ndarray,
    counts: np.ndarray,
    beta: Beta,
    scale: float,
    first: int,
    last: int,
    block_sums: np.ndarray,
) -> None:
    """θ' = e^−h θ + (1 − e^−h)(b_kw + N̂ n_kw), the mean of a CIR move, on blocks first … last − 1
    of `words`, in place. Arguments as of `topicmc.kernels.cir`."""
    shape = np.empty(theta.shape[1], np.float32)
    _mean_blocks(theta, words, steps, slots, counts, beta, scale, first, last, block_sums, shape)


@njit(nogil=True, cache=True, error_model="numpy")
def _mean_blocks(
    theta, words, steps, slots, counts, beta, scale, first, last, block_sums, shape
):  # fmt: skip
    scale = np.float32(scale)
    for block in range(first, last):
        members = words[block * BLOCK : (block + 1) * BLOCK]
        for i in range(members.size):
            h, row = steps[block * BLOCK + i], theta[members[i]]
            kept, gained = np.float32(math.exp(-h)), np.float32(-math.expm1(-h))
            shapes(members[i], slots[block * BLOCK + i], counts, beta, scale, shape)
            for k in range(shape.size):
                row[k] = floored(kept * row[k] + gained * shape[k])
        add_rows(theta, members, block_sums[block])


@njit(forceinline=True)
def floored(x):
    """x, or FLOOR if x is less; NaN stays, so that a chain that has diverged shows it."""
    return FLOOR if x < FLOOR else x


@njit(forceinline=True)
def shapes(word, slot, counts, beta, scale, shape):
    """shape[k] = b_kw + N̂ n_kw, of a word whose counts stand in row `slot`, or b_kw if slot < 0."""
    prior = row_of(beta.entries, word)
    if slot < 0:
        for k in range(shape.size):
            shape[k] = entry(prior, k)
    else:
        count = counts[slot]
        for k in range(shape.size):
            shape[k] = entry(prior, k) + scale * count[k]


@njit(nogil=True, cache=True, error_model="numpy")
def _normals(key, update, quad, bits, z):
    """z (4, K padded): the normals of words 4·quad … 4·quad + 3, one counter per topic."""
    fill_words(bits, key, quad, FIRST_ROUND, update)
    normals(bits[0], bits[1], z[0], z[1])
    normals(bits[2], bits[3], z[2], z[3])


def langevin_blocks(
    theta: np.ndarray,
    words: np.ndarray,
    slots: np.ndarray,
    counts: np.ndarray,
    shrink: np.ndarray,
    beta: Beta,
    scale: float,
    step: float,
    key: np.uint64,
    update: np.uint32,
    first: int,
    last: int,
    block_sums: np.ndarray,
) -> None:
    """SGRLD on blocks first … last − 1 of `words`, in place.

    θ' = |θ + ε/2 (b_kw + N̂ n_kw − θ_kw shrink_k) + √(ε θ) z|, shrink_k = 1 + N̂ n_k· / Σ_w θ_kw:
    float32 (K,); ε = step.
    """
    n_topics = theta.shape[1]
    z = np.empty((4, padded_size(n_topics)), np.float32)
    bits = np.empty(z.shape, np.uint32)
    gain = np.empty(n_topics, np.float32)
    _langevin_blocks(
        theta, words, slots, counts, shrink, beta, scale, step, key, update, first, last,
        block_sums, bits, z, gain,
    )  # fmt: skip


@njit(nogil=True, cache=True, error_model="numpy")
def _langevin_blocks(
    theta, words, slots, counts, shrink, beta, scale, step, key, update, first, last, block_sums,
    bits, z, gain,
):  # fmt: skip
    n_topics = theta.shape[1]
    half, variance = np.float32(step / 2), np.float32(step)
    scale = np.float32(scale)
    for block in range(first, last):
        members = words[block * BLOCK : (block + 1) * BLOCK]
        quad = -1
        for i in range(members.size):
            w = members[i]
            if w // 4 != quad:
                quad = w // 4
                _normals(key, update, np.uint32(quad), bits, z)
            shapes(w, slots[block * BLOCK + i], counts, beta, scale, gain)
            row, noise = theta[w], z[w % 4]
            for k in range(n_topics):
                spread = np.float32(math.sqrt(variance * row[k])) * noise[k]
                moved = row[k] + half * (gain[k] - row[k] * shrink[k]) + spread
                row[k] = floored(np.float32(abs(moved)))
        add_rows(theta, members, block_sums[block])
