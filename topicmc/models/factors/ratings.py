"""Ratings in coordinates, and their scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Ratings:
    """N ratings of n_items items by n_users users.

    users, items  int32 (N,), from 0
    values        float32 (N,)
    """

    users: np.ndarray
    items: np.ndarray
    values: np.ndarray
    n_users: int
    n_items: int

    def __len__(self) -> int:
        return len(self.values)

    def take(self, chosen: np.ndarray) -> Ratings:
        """Some of the ratings, by their numbers or a mask; users and items keep theirs."""
        parts = (self.users[chosen], self.items[chosen], self.values[chosen])
        return Ratings(*parts, self.n_users, self.n_items)

    def counts(self, side: str) -> np.ndarray:
        """Ratings of each user or item, int64 (n,)."""
        numbers, n = (self.users, self.n_users) if side == "users" else (self.items, self.n_items)
        return np.bincount(numbers, minlength=n)


@dataclass(frozen=True)
class Scale:
    """What ratings are measured by.  Inside, a rating is (r − mean) / deviation."""

    mean: float
    deviation: float
    """1 where all ratings are alike."""
    low: float
    high: float
    """Predictions are clipped to what lies between."""

    @classmethod
    def of(cls, values: np.ndarray, low: float | None = None, high: float | None = None) -> Scale:
        """The scale of ratings, float (N,), N ≥ 1; its ends are theirs unless they are given."""
        wide = values.astype(np.float64)
        deviation = float(wide.std())
        return cls(
            float(wide.mean()),
            deviation if deviation > 0 else 1.0,
            float(wide.min()) if low is None else low,
            float(wide.max()) if high is None else high,
        )

    def standardised(self, values: np.ndarray) -> np.ndarray:
        """(r − mean) / deviation, float32."""
        return ((values.astype(np.float64) - self.mean) / self.deviation).astype(np.float32)
