"""Slow twins of the moves of matrix factorisation, in double precision and on the same words."""

import naive
import numpy as np


def draws(key, row, width, update):
    """N(0, 1) of one row's columns: each block of 64 columns is four runs of 16 counters."""
    blocks = -(-width // 64) * 16
    words = np.array(
        [naive.philox(key, k, row & naive.MASK, row >> 32, update) for k in range(blocks)]
    )
    pairs = [naive.normal_pair(int(a), int(b)) for a, b in words[:, :2]]
    others = [naive.normal_pair(int(a), int(b)) for a, b in words[:, 2:]]
    return np.concatenate([*zip(*pairs, strict=True), *zip(*others, strict=True)])[:width]


def flow(theta, waited, precision, noise, temperature=1.0):
    """One row after its prior's Ornstein-Uhlenbeck process has run for a time."""
    decay = np.exp(-precision * waited / 2)
    return decay * theta + np.sqrt(temperature * (1 - decay**2) / precision) * noise


def gradients(users, items, user_of, item_of, ratings):
    """Σ e (other's factors, 1) of each row of users and of items."""
    to_users, to_items = np.zeros(users.shape), np.zeros(items.shape)
    for i, j, rating in zip(user_of, item_of, ratings, strict=True):
        u, v = users[i].astype(float), items[j].astype(float)
        error = rating - u[:-1] @ v[:-1] - u[-1] - v[-1]
        to_users[i] += error * np.append(v[:-1], 1)
        to_items[j] += error * np.append(u[:-1], 1)
    return to_users, to_items


def conditional(others, other_of, ratings, tau, precision):
    """Mean and precision matrix of one row given its ratings and all others."""
    x = np.column_stack([others[other_of, :-1].astype(float), np.ones(len(other_of))])
    centred = ratings - others[other_of, -1].astype(float)
    matrix = np.diag(precision) + tau * x.T @ x
    return np.linalg.solve(matrix, tau * x.T @ centred), matrix


def drawn(mean, matrix, noise):
    """mean + R⁻¹ noise with RᵀR = matrix, R upper triangular."""
    root = np.linalg.cholesky(matrix).T
    return mean + np.linalg.solve(root, noise)
