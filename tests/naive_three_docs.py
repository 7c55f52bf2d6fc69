"""The exact posterior of three documents over three words, two topics, α = β = 1:

    document 0: a times word 0 and b times word 1;  1: c times word 1;  2: d times word 2.

Stan's posteriordb has it as three_docs1200-ldaK2, with (360, 40, 400, 400). Let i, j, k, l be the
tokens of these four cells in topic 0, B = j + k, and n = i + B + l of N tokens. With φ and η
integrated out and the C(a, i) C(b, j) C(c, k) C(d, l) equal assignments counted,

    p(i, j, k, l) ∝ C(b, j) / C(a + b, i + j) · B! (b + c − B)! · l! (d − l)!
                    / ((n + 2)! (N − n + 2)!),

so that i, B and l remain: 64 million terms for posteriordb's.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit
from scipy.special import gammaln, logsumexp

FULL = (360, 40, 400, 400)


def log_factorial(n):
    return gammaln(np.asarray(n, float) + 1)


def _normal(logs):
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


@dataclass(frozen=True)
class ThreeDocs:
    a: int
    b: int
    c: int
    d: int

    @property
    def n_tokens(self):
        return self.a + self.b + self.c + self.d

    @property
    def offsets(self):
        return np.cumsum([0, self.a + self.b, self.c, self.d])

    @property
    def tokens(self):
        return np.repeat([0, 1, 1, 2], [self.a, self.b, self.c, self.d]).astype(np.uint16)

    @cached_property
    def _within(self):
        """log C(b, j)/C(a + b, i + j) by i, B and j, −∞ where j or B − j cannot be."""
        i, big, j = np.ogrid[: self.a + 1, : self.b + self.c + 1, : self.b + 1]
        whole = self.a + self.b
        logs = log_factorial(self.b) - log_factorial(j) - log_factorial(self.b - j)
        logs = logs + log_factorial(i + j) + log_factorial(whole - i - j)
        return np.where((j <= big) & (big - j <= self.c), logs - log_factorial(whole), -np.inf)

    @cached_property
    def _tables(self):
        """The law of all but l and n: log weights by (i, B), by l, by n; E[log p of what depends on
        j | i, B]."""
        b, c, d, n = self.b, self.c, self.d, self.n_tokens
        weights = np.exp(self._within)
        sums = weights.sum(axis=2)
        big, j = np.ogrid[: b + c + 1, : b + 1]
        i = np.arange(self.a + 1)[:, None, None]
        docs = log_factorial(i + j) + log_factorial(self.a + b - i - j)
        docs = (
            docs + log_factorial(np.clip(big - j, 0, c)) + log_factorial(c - np.clip(big - j, 0, c))
        )
        of_docs = (weights * docs).sum(axis=2) / sums
        big, ell, total = np.arange(b + c + 1), np.arange(d + 1), np.arange(n + 1)
        by_cell = np.log(sums) + log_factorial(big) + log_factorial(b + c - big)
        by_ell = log_factorial(ell) + log_factorial(d - ell)
        by_total = -log_factorial(total + 2) - log_factorial(n - total + 2)
        return by_cell, by_ell, by_total, of_docs

    @cached_property
    def moments(self):
        """E of `quantities`, float64 (4,)."""
        by_cell, by_ell, by_total, of_docs = self._tables
        word = log_factorial(np.arange(self.a + 1)) + log_factorial(self.a - np.arange(self.a + 1))
        big = np.arange(self.b + self.c + 1)
        word = word[:, None] + log_factorial(big) + log_factorial(self.b + self.c - big)
        shift = logsumexp(self._cells)
        return _sum(by_cell - shift, by_ell, by_total, of_docs + word)

    @cached_property
    def _by_reached(self):
        """log p(l, i + B = m | by_cell): by m and l."""
        _, by_ell, by_total, _ = self._tables
        reached = np.arange(self.a + self.b + self.c + 1)[:, None]
        return by_ell + by_total[reached + np.arange(self.d + 1)]

    @cached_property
    def _cells(self):
        """log p(i, B), up to a constant, l summed out."""
        reached = np.arange(self.a + 1)[:, None] + np.arange(self.b + self.c + 1)
        return self._tables[0] + logsumexp(self._by_reached, axis=1)[reached]

    def draw(self, n, generator):
        """z (n, N) from the posterior."""
        cells = np.cumsum(np.exp(self._cells - logsumexp(self._cells)))
        chosen = np.searchsorted(cells / cells[-1], generator.random(n), "right")
        z = np.ones((n, self.n_tokens), np.uint8)
        for row in range(n):
            i, big = divmod(int(chosen[row]), self.b + self.c + 1)
            j = generator.choice(self.b + 1, p=_normal(self._within[i, big]))
            ell = generator.choice(self.d + 1, p=_normal(self._by_reached[i + big]))
            first = 0
            sizes = (self.a, self.b, self.c, self.d)
            for size, count in zip(sizes, (i, j, big - j, ell), strict=True):
                z[row, first + generator.permutation(size)[:count]] = 0
                first += size
        return z

    def quantities(self, z):
        """Of assignments (n, N): the largest topic's tokens; E[Σ_k φ_k0 φ_k1 | z] and the same of
        words 1 and 2; log p(z, w) up to a constant: float64 (n, 4)."""
        by = np.eye(2)[z]
        of_docs = np.add.reduceat(by, self.offsets[:-1], axis=1)
        of_words = np.einsum("nik,iw->nkw", by, np.eye(3)[self.tokens])
        totals = of_words.sum(axis=2)
        pairs = (of_words[:, :, :2] + 1) * (of_words[:, :, 1:] + 1)
        pairs = (pairs / ((totals + 3) * (totals + 4))[:, :, None]).sum(axis=1)
        joint = log_factorial(of_docs).sum(axis=(1, 2)) + log_factorial(of_words).sum(axis=(1, 2))
        joint -= log_factorial(totals + 2).sum(axis=1)
        return np.column_stack([totals.max(axis=1), pairs, joint])


@njit(cache=True)
def _sum(by_cell, by_ell, by_total, of_rest):
    """The means of `ThreeDocs.quantities` by a sum over all i, B, l. of_rest: their log p but for
    the factors of l and n."""
    a, most_big, d = by_cell.shape[0] - 1, by_cell.shape[1] - 1, len(by_ell) - 1
    n = a + most_big + d
    sums = np.zeros(5)
    for i in range(a + 1):
        for big in range(most_big + 1):
            for ell in range(d + 1):
                total = i + big + ell
                weight = np.exp(by_cell[i, big] + by_ell[ell] + by_total[total])
                rest = n - total
                here = 1.0 / ((total + 3) * (total + 4))
                there = 1.0 / ((rest + 3) * (rest + 4))
                sums[0] += weight
                sums[1] += weight * max(total, rest)
                sums[2] += weight * (
                    (i + 1) * (big + 1) * here + (a - i + 1) * (most_big - big + 1) * there
                )
                sums[3] += weight * (
                    (big + 1) * (ell + 1) * here + (most_big - big + 1) * (d - ell + 1) * there
                )
                joint = of_rest[i, big] + 2 * by_ell[ell] + by_total[total]
                sums[4] += weight * joint
    return sums[1:] / sums[0]
