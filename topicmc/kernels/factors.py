"""Bayesian matrix factorisation: minibatch moves of the rows of users and of items.

A row holds D factors and, in its last column, a bias; a rating less the mean is

    r ~ N(Σ_d u_d v_d + u_D + v_D, 1/τ),        each column of users or items ~ N(0, 1/λ_column).

An update kicks the rows that the minibatch touches by the gradient of its ratings, and then time
passes for all rows. Between kicks a row follows its prior alone, an Ornstein-Uhlenbeck process
whose moves compose exactly, so a row waits until it is next touched, and is moved at once (`flow`).
"""

import math

import numpy as np
from numba import njit

from topicmc.kernels.draws import exp32, fill_words, normals
from topicmc.kernels.padding import LANES
from topicmc.kernels.random import philox

_ONE, _ENOUGH, _SMALL = np.float32(1), np.float32(60), np.float32(0.125)
_32 = np.uint64(32)
_C2, _C3, _C4, _C5 = (np.float32(1 / n) for n in (2, 3, 4, 5))


@njit(nogil=True, cache=True)
def _blocks(width):
    """Philox counters that a row of so many columns takes: full vector registers."""
    return -(-width // (4 * LANES)) * LANES


@njit(nogil=True, cache=True)
def _fill_normals(words, out, key, number, update):
    """out, float32 (4n,), ~ N(0, 1): entries k, n + k, 2n + k and 3n + k are of the Philox counter
    (k, number in 64 bits, update); `words`, uint32 (4, n), is scratch."""
    n = words.shape[1]
    fill_words(words, key, np.uint32(number & 0xFFFFFFFF), np.uint32(number >> 32), update)
    normals(words[0], words[1], out[:n], out[n : 2 * n])
    normals(words[2], words[3], out[2 * n : 3 * n], out[3 * n :])


@njit(nogil=True, cache=True, error_model="numpy")
def _flow_row(theta, draws, precision, waited, temperature):
    """The move of `flow` for one row; λt beyond 60 leaves nothing of θ."""
    for k in range(theta.size):
        x = min(precision[k] * waited, _ENOUGH)
        series = x * (_ONE - x * _C2 * (_ONE - x * _C3 * (_ONE - x * _C4 * (_ONE - x * _C5))))
        left = _ONE - series if x < _SMALL else exp32(-x)
        lost = series if x < _SMALL else _ONE - left
        noise = np.float32(math.sqrt(temperature * lost / precision[k]))
        theta[k] = np.float32(math.sqrt(left)) * theta[k] + noise * draws[k]


@njit(nogil=True, cache=True)
def number_rows(rows, slots, slot_of, touched):
    """Numbers the distinct values of `rows`, int32 (m,), as they come; returns how many there are.

    `slot_of[n]` is the number of `rows[n]` and `touched[slot]` the row. `slots`, int32 (all rows,),
    must hold −1 and does so again afterwards.
    """
    n_touched = 0
    for n in range(rows.size):
        row = rows[n]
        if slots[row] < 0:
            slots[row] = n_touched
            touched[n_touched] = row
            n_touched += 1
        slot_of[n] = slots[row]
    for slot in range(n_touched):
        slots[touched[slot]] = -1
    return n_touched


@njit(nogil=True, cache=True, error_model="numpy")
def flow(
    factors, rows, first, last, moved_at, clock, rates, precision, temperature, key, offset, update
):
    """Moves `rows[first:last]` by their prior over the time that they have waited, t = rate × wait:

        θ ← e^(−λt/2) θ + N(0, T (1 − e^(−λt)) / λ),        T the temperature.

    The draws are those of row `offset` + row, its number in the whole matrix, and of the update.
    """
    blocks = _blocks(factors.shape[1])
    words, draws = np.empty((4, blocks), np.uint32), np.empty(4 * blocks, np.float32)
    rate = precision.astype(np.float32)
    for i in range(first, last):
        row = rows[i]
        waited = (clock - moved_at[row]) * rates[row]
        if waited <= 0.0:
            continue
        moved_at[row] = clock
        _fill_normals(words, draws, key, np.int64(offset + row), update)
        _flow_row(factors[row], draws, rate, np.float32(waited), np.float32(temperature))


@njit(nogil=True, cache=True)
def errors(users, user_of, items, item_of, ratings, first, last, out):
    """out[n] = ratings[n] less what the rows `user_of[n]` and `item_of[n]` predict; float32."""
    n_factors = users.shape[1] - 1
    for n in range(first, last):
        u, v = users[user_of[n]], items[item_of[n]]
        predicted = u[n_factors] + v[n_factors]
        for k in range(n_factors):
            predicted += u[k] * v[k]
        out[n] = ratings[n] - predicted


@njit(nogil=True, cache=True)
def kick(factors, touched, slot_of, others, other_of, errors, steps, first, last):
    """Adds steps × Σ error × (other's factors, 1) to the rows of slots first … last − 1, over the
    minibatch's ratings in their order."""
    n_factors = factors.shape[1] - 1
    for n in range(slot_of.size):
        slot = slot_of[n]
        if first <= slot < last:
            row = touched[slot]
            theta, other = factors[row], others[other_of[n]]
            step = np.float32(steps[row] * errors[n])
            for k in range(n_factors):
                theta[k] += step * other[k]
            theta[n_factors] += step


@njit(nogil=True, cache=True, error_model="numpy")
def draw_rows(factors, others, offsets, other_of, ratings, tau, precision, key, sweep, first, last):
    """Draws rows first … last − 1 from their Gaussian conditional given all `others`.

    With x = (other's factors, 1) for each rating of the row, less the other's bias,

        row ~ N(A⁻¹ τ Σ r x, A⁻¹),        A = diag(precision) + τ Σ x xᵀ

    (Salakhutdinov & Mnih 2008, equations 11 to 13). `offsets`, int64 (rows + 1,), tell where the
    ratings of a row stand in `other_of` and `ratings`; `precision` is float64 (W,).
    """
    width = factors.shape[1]
    root, mean, x = np.empty((width, width)), np.empty(width), np.empty(width)
    blocks = _blocks(width)
    words, draws = np.empty((4, blocks), np.uint32), np.empty(4 * blocks, np.float32)
    x[width - 1] = 1.0
    for row in range(first, last):
        root[:], mean[:] = 0.0, 0.0
        for k in range(width):
            root[k, k] = precision[k]
        for n in range(offsets[row], offsets[row + 1]):
            other = others[other_of[n]]
            rating = tau * (np.float64(ratings[n]) - np.float64(other[width - 1]))
            for k in range(width - 1):
                x[k] = other[k]
            for j in range(width):
                weight = tau * x[j]
                for k in range(j, width):
                    root[j, k] += weight * x[k]
                mean[j] += rating * x[j]
        _cholesky(root)
        for j in range(width):
            mean[j] /= root[j, j]
            for k in range(j + 1, width):
                mean[k] -= root[j, k] * mean[j]
        _fill_normals(words, draws, key, row, sweep)
        for j in range(width - 1, -1, -1):
            mean[j] += draws[j]
            for k in range(j + 1, width):
                mean[j] -= root[j, k] * mean[k]
            mean[j] /= root[j, j]
            factors[row, j] = mean[j]


@njit(nogil=True, cache=True, error_model="numpy")
def _cholesky(a):
    """Writes R with RᵀR = a into the upper triangle of a, float64; what is below is not read."""
    for j in range(a.shape[0]):
        pivot = math.sqrt(a[j, j])
        for k in range(j, a.shape[0]):
            a[j, k] /= pivot
        for i in range(j + 1, a.shape[0]):
            factor = a[j, i]
            for k in range(i, a.shape[0]):
                a[i, k] -= factor * a[j, k]


@njit(nogil=True, cache=True)
def add_squares(factors, total):
    """total[k] += Σ_i factors[i, k]², in float64 and in the order of the rows."""
    for i in range(factors.shape[0]):
        for k in range(factors.shape[1]):
            value = np.float64(factors[i, k])
            total[k] += value * value


@njit(nogil=True, cache=True)
def pair_uniforms(key, user_hashes, item_hashes, users, items, out):
    """out[n], float64 in [0, 1), is decided by the hashes, uint64, of user and item alone."""
    for n in range(out.size):
        u, v = user_hashes[users[n]], item_hashes[items[n]]
        word, _, _, _ = philox(
            key, np.uint32(u), np.uint32(u >> _32), np.uint32(v), np.uint32(v >> _32)
        )
        out[n] = np.float64(word) * 2.0**-32


@njit(nogil=True, cache=True)
def predict(users, items, user_of, item_of, user_variance, item_variance, mean, variance):
    """What one state predicts of pairs: mean[n] and variance[n], float64.

    `user_of` and `item_of` are −1 where the row is not known: then it is a draw from its prior, of
    mean 0, whose columns have the variances given.
    """
    n_factors = users.shape[1] - 1
    for n in range(mean.size):
        i, j = user_of[n], item_of[n]
        total, spread = 0.0, 0.0
        if i >= 0:
            total += users[i, n_factors]
        else:
            spread += user_variance[n_factors]
        if j >= 0:
            total += items[j, n_factors]
        else:
            spread += item_variance[n_factors]
        for k in range(n_factors):
            if i >= 0 and j >= 0:
                total += np.float64(users[i, k]) * np.float64(items[j, k])
            elif i >= 0:
                spread += np.float64(users[i, k]) ** 2 * item_variance[k]
            elif j >= 0:
                spread += np.float64(items[j, k]) ** 2 * user_variance[k]
            else:
                spread += user_variance[k] * item_variance[k]
        mean[n], variance[n] = total, spread
