"""Predictions with standard deviations: the mean over states, and how far ratings scatter about it.

Under the state s a rating has mean m_s and variance v_s + 1/τ_s, where v_s is not 0 if user or item
is new: then its row is a draw from the prior. Over states

    mean m̄ = E m_s,        variance  Var m_s + E (v_s + 1/τ_s)            (law of total variance)

and the mean is clipped to the scale of the ratings.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from topicmc.kernels import factors as kernels
from topicmc.models.factors.ratings import Scale
from topicmc.models.factors.rows import Factors


class Prediction(NamedTuple):
    """Predictions for n pairs: ``mean`` and ``deviation``, float64 (n,), on the ratings' scale."""

    mean: np.ndarray
    deviation: np.ndarray


def predicted(state: Factors, users: np.ndarray, items: np.ndarray) -> tuple[np.ndarray, ...]:
    """m_s and v_s of pairs, float64 (n,), in standardised units. ``users`` and ``items`` are int
    (n,), −1 where new."""
    mean, variance = np.empty(len(users)), np.empty(len(users))
    kernels.predict(
        state.users,
        state.items,
        users,
        items,
        1 / state.user_precision,
        1 / state.item_precision,
        mean,
        variance,
    )
    return mean, variance


def predict(
    states: Iterable[Factors], users: np.ndarray, items: np.ndarray, scale: Scale
) -> Prediction:
    """What one or more states predict of pairs of ``users`` and ``items``, int (n,), −1 where new;
    clipped to the scale."""
    n, total = 0, np.zeros((3, len(users)))
    for state in states:
        n += 1
        total += moments(state, users, items)
    return prediction(total / n, scale)


def moments(state: Factors, users: np.ndarray, items: np.ndarray) -> np.ndarray:
    """m_s, m_s² and v_s + 1/τ_s of pairs, float64 (3, n); arguments as of `predicted`."""
    mean, variance = predicted(state, users, items)
    return np.array([mean, mean**2, variance + 1 / state.tau])


def prediction(average: np.ndarray, scale: Scale) -> Prediction:
    """What states predict whose `moments` are so in the mean."""
    mean, square, within = average
    spread = np.sqrt(np.maximum(square - mean**2, 0) + within)
    return Prediction(clipped(mean, scale), spread * scale.deviation)


def clipped(mean: np.ndarray, scale: Scale) -> np.ndarray:
    """Standardised predictions on the scale of the ratings."""
    return np.clip(mean * scale.deviation + scale.mean, scale.low, scale.high)


def rmse(mean: np.ndarray, values: np.ndarray) -> float:
    """The root mean square of errors."""
    return float(np.sqrt(np.mean((mean - values.astype(np.float64)) ** 2)))
