"""The prior of the topics, φ_k ~ Dirichlet(b_k1, …, b_kW), as a value: b_kw = β + a_kw.

β is one number, the *base*; the *additions* a_kw ≥ 0 are none for most words. A symmetric prior is
`RowPrior(β)`. Only the base is annealed and learned; additions stay what they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from topicmc.errors import UsageError
from topicmc.kernels.padding import padded_size
from topicmc.kernels.prior import Beta, Rows


class Additions:
    """What some words have in some topics over the base.

    Args:
        row_of: int32 (W,): the row of each word in ``values``, 0 for words without additions.
        values: float64 (R, K), rows of additions; the first is zero.

    Raises UsageError where a value is negative or no number.
    """

    def __init__(self, row_of: np.ndarray, values: np.ndarray) -> None:
        if not (np.isfinite(values).all() and (values >= 0).all()):
            raise UsageError("additions to the prior of topics must be numbers of 0 or more")
        self.row_of = row_of
        self.values = values
        used = np.bincount(row_of, minlength=len(values))
        self.totals: np.ndarray = (used[:, None] * values).sum(axis=0)
        """float64 (K,): Σ_w a_kw."""
        self.words = np.flatnonzero(row_of)
        """int64: the words that have additions, ascending."""

    @classmethod
    def of_words(cls, words: np.ndarray, values: np.ndarray, n_words: int) -> Additions:
        """Additions (n, K) to distinct words (n,) out of ``n_words``."""
        row_of = np.zeros(n_words, np.int32)
        row_of[words] = np.arange(1, len(words) + 1)
        return cls(row_of, np.concatenate([np.zeros((1, values.shape[1])), values]))

    def for_topics(self, n_topics: int) -> Additions:
        """The same, and none in topics beyond, for so many topics."""
        more = n_topics - self.values.shape[1]
        return Additions(self.row_of, np.pad(self.values, ((0, 0), (0, more)))) if more else self

    def of(self, words: slice | np.ndarray) -> np.ndarray:
        """a_kw of some words: float64 (n, K)."""
        return self.values[self.row_of[words]]

    def add_to(self, theta: np.ndarray) -> None:
        """Adds a_kw to float32 (W, K or more), in place."""
        here = self.words[:, None], np.arange(self.values.shape[1])
        theta[here] += self.of(self.words).astype(np.float32)


@dataclass(frozen=True, eq=False)
class RowPrior:
    """b_kw = base + a_kw; raises UsageError unless the base is a positive number."""

    base: float
    additions: Additions | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.base) and self.base > 0):
            raise UsageError(f"beta must be a positive number, not {self.base}")

    def with_base(self, base: float) -> RowPrior:
        """The same additions over another base."""
        return replace(self, base=base)

    def totals(self, n_words: int, n_topics: int, times: float = 1.0) -> np.ndarray:
        """B_k = Σ_w b_kw, ``times`` some factor: float64 (n_topics,)."""
        totals = np.full(n_topics, times * self.base * n_words)
        if self.additions is not None:
            totals[: len(self.additions.totals)] += times * self.additions.totals
        return totals

    def mean(self, n_topics: int, n_words: int) -> float:
        """The mean of b_kw."""
        if self.additions is None:
            return self.base
        return self.base + float(self.additions.totals.sum()) / (n_topics * n_words)

    def matrix(self) -> float | np.ndarray:
        """b_kw: float64 (K, W), or one number if all are alike."""
        if self.additions is None:
            return self.base
        return np.ascontiguousarray((self.base + self.additions.of(np.s_[:])).T)

    def summed(self, n_words: int) -> RowPrior:
        """The prior of all words taken for one: B_k."""
        if self.additions is None:
            return RowPrior(self.base * n_words)
        whole = Additions.of_words(np.zeros(1, np.int64), self.additions.totals[None], 1)
        return RowPrior(self.base * n_words, whole)

    def add_to(self, theta: np.ndarray, words: np.ndarray | None = None) -> None:
        """Adds b_kw to float32 (W, K), in place; or to rows (n, K) of some words alone."""
        theta += np.float32(self.base)
        if self.additions is None:
            return
        if words is None:
            self.additions.add_to(theta)
        else:
            theta += self.additions.of(words).astype(np.float32)

    def lean(self, theta: np.ndarray) -> None:
        """Moves weights float32 (W, K or more), in place, to topics where a word has more prior. If
        it had the same weight in each, they add up to what they did."""
        if self.additions is not None:
            words = self.additions.words[:, None]
            n_topics = theta.shape[1]
            priors = self.base + self.additions.for_topics(n_topics).of(self.additions.words)
            theta[words, np.arange(n_topics)] *= (
                priors * n_topics / priors.sum(axis=1, keepdims=True)
            ).astype(np.float32)

    def rows(self, n_words: int, n_topics: int, dtype: type = np.float32) -> Beta:
        """As kernels read it; topics beyond those that have additions have the base."""
        n_padded, additions = padded_size(n_topics), self.additions
        totals = self.totals(n_words, n_padded)
        if additions is None:
            return Beta(dtype(self.base), totals)
        values: np.ndarray = np.full((len(additions.values), n_padded), self.base, dtype)
        values[:, : additions.values.shape[1]] += additions.values.astype(dtype)
        return Beta(Rows(values, additions.row_of), totals)
