"""How the topics of groups of documents differ: by party, by author, by year.

Topics are found without looking at groups. Afterwards each draw of the topics from their posterior
gives group g the share R_gk of topic k in its tokens (`topicmc.topics.prevalence`). Two doubts add
up, as by the method of composition (Tanner and Wong 1987): which tokens are whose, which the draws
and the chains say, with an interval of half width h (`topicmc.posterior.intervals`); and that the
documents of a group are D_g of many that there might be.

docs/uncertainty.md ("How intervals are made") derives what follows. Document d of the group has N_d
tokens, n_dk of the topic; N_g = Σ_d N_d, and e_dk = n_dk − N_d R_gk. R_gk has the variance

    v_gk = σ²_gk · Σ_d N_d² / N_g²,

where σ²_gk, that of the shares n_dk / N_d, is taken to be the greatest of three estimates,

    s_gk = Σ_d e_dk² / c_g,    c_g = Σ_d N_d² − 2 Σ_d N_d³ / N_g + (Σ_d N_d²)² / N_g²,
    Σ_h Σ_d e_dk² / Σ_h c_h,
    S_g · Σ_h≠g ν_h (s_hk / S_h) / Σ_h≠g ν_h,    S_g = Σ_k s_gk;

for the others of g together, h is g in the last. ν_g = (Σ_d N_d²)² / Σ_d N_d⁴ − 1, at least 1, are
the degrees of freedom of s_gk (Satterthwaite 1946). With that t the interval of a share has half
width √(h² + t² v). A difference is that of a group from all documents of the others, and of groups
in an order the change is from the first to the last; there t² v is the sum of two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from topicmc.corpora import Corpus
from topicmc.host.machine import check_room
from topicmc.kernels.threads import Threads
from topicmc.topics.document_groups import Groups
from topicmc.topics.prevalence import (
    Prevalence,
    memory_of,
    of_others,
    prevalence,
)
from topicmc.topics.uncertainty import Posterior

_ROUNDING = 1e-12  # of differences of sums, relative to these
_ARRAYS = 12  # tokens, errors and shares of groups and of all others, of each draw


class Interval(NamedTuple):
    """Means and ends of credible intervals of each topic, (K,) or (K, G); NaN where they cannot be
    told."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @property
    def is_apart(self) -> np.ndarray:
        """Whether the interval does not hold 0."""
        return (self.low > 0) | (self.high < 0)

    def of(self, g: int) -> Interval:
        """The interval of one group, (K,)."""
        return Interval(*(values[:, g] for values in self))


@dataclass(frozen=True)
class Effects:
    """Shares of K topics in G groups of documents, and how they differ.

    Attributes:
        groups: of which.
        documents, tokens: (G,), of each group, as far as they were read.
        share: (K, G), each topic's share of the tokens of a group.
        difference: (K, G), that less its share in all other groups.
        change: (K,), from the first group to the last; None unless they have an order.
    """

    groups: Groups
    documents: np.ndarray
    tokens: np.ndarray
    share: Interval
    difference: Interval
    change: Interval | None


def effects_of(posterior: Posterior, corpus: Corpus, groups: Groups, threads: Threads) -> Effects:
    """How the topics of some groups of the documents of a corpus differ. UsageError where memory is
    too small."""
    _check_memory(posterior, groups)
    told = groups.of >= 0
    chosen = groups.numbers[told], groups.of[told]
    found = prevalence(posterior, corpus, *chosen, len(groups.names), threads, want_moments=True)
    documents = np.bincount(groups.of[told], minlength=len(groups.names))
    sums = Sums.of(found, documents)
    change = None
    if groups.is_ordered:
        last = len(documents) - 1
        change = _difference(posterior, sums.only([last]), sums.only([0])).of(0)
    return Effects(
        groups,
        documents=documents,
        tokens=found.sizes.astype(np.int64),
        share=shares_of(posterior, sums),
        difference=_difference(posterior, sums, sums.others()),
        change=change,
    )


def _check_memory(posterior: Posterior, groups: Groups) -> None:
    n_groups, n_topics = len(groups.names), len(posterior.phi)
    check_room(
        _ARRAYS * memory_of(posterior, n_groups),
        f"--by {groups.by}: {n_groups:,} groups of {n_topics:,} topics",
        "name a column of fewer values",
    )


class Sums(NamedTuple):
    """Of groups of documents, for each chain float64 (n, K, G) but for the last:

    shares     of the topics
    own        variance of a document's share, by the group's own errors; 0 where they tell none
    parts      of its sum over topics what each topic has in documents outside of the group; 0 where
               they tell none
    usual      the variance by the errors of all groups, (n, K, 1); NaN where they tell none
    weights    Σ N² / N_g², (G,): times them it is the variance of the group's share; NaN where it
               has no token
    freedom    degrees of freedom of ``own``, (G,)
    found      what all is made of
    documents  int64 (G,), their numbers
    """

    shares: list[np.ndarray]
    own: list[np.ndarray]
    parts: list[np.ndarray]
    usual: list[np.ndarray]
    weights: np.ndarray
    freedom: np.ndarray
    found: Prevalence
    documents: np.ndarray

    @classmethod
    def of(cls, found: Prevalence, documents: np.ndarray, beside: Sums | None = None) -> Sums:
        """``beside``: groups that these are all other documents of."""
        sizes, moments = np.maximum(found.sizes, 1), found.moments
        assert moments is not None
        shares = [tokens / sizes for tokens in found.tokens]
        errors = [
            squared_errors(share, own, cross, moments.squares)
            for share, own, cross in zip(shares, moments.own, moments.cross, strict=True)
        ]
        expected = expected_errors(sizes, moments.squares, moments.cubes)
        worth = moments.squares**2 / np.maximum(moments.fourths, 1) - 1
        freedom = np.clip(worth, 1, np.maximum(documents - 1, 1))
        tell = np.where(expected > 0, expected, np.inf)  # one document tells of no variance
        own = [of_chain / tell for of_chain in errors]
        if beside is None:
            total = expected.sum() or np.nan
            usual = [of_chain.sum(axis=2, keepdims=True) / total for of_chain in errors]
            parts = [_mean_of_others(_parts(of_chain), freedom) for of_chain in own]
        else:
            usual, parts = beside.usual, [_parts(of_chain) for of_chain in beside.own]
        weights = np.where(found.sizes > 0, moments.squares / sizes**2, np.nan)
        return cls(shares, own, parts, usual, weights, freedom, found, documents)

    def only(self, groups: Sequence[int] | np.ndarray) -> Sums:
        """Some of the groups."""
        shares, own, parts = ([a[:, :, groups] for a in arrays] for arrays in self[:3])
        weights, freedom = self.weights[groups], self.freedom[groups]
        documents = self.documents[groups]
        return self._replace(
            shares=shares,
            own=own,
            parts=parts,
            weights=weights,
            freedom=freedom,
            documents=documents,
        )

    def others(self) -> Sums:
        """In place of each group all others together."""
        return Sums.of(self.found.others(), self.documents.sum() - self.documents, self)

    def variances(self) -> list[np.ndarray]:
        """The variances of the groups' shares."""
        return [
            np.maximum(np.maximum(own, usual), own.sum(axis=1, keepdims=True) * parts)
            * self.weights
            for own, parts, usual in zip(self.own, self.parts, self.usual, strict=True)
        ]


def _parts(own: np.ndarray) -> np.ndarray:
    """What each topic has of the sum of variances (n, K, G) over topics; 0 where that is 0."""
    total = own.sum(axis=1, keepdims=True)
    return np.divide(own, total, out=np.zeros_like(own), where=total > _ROUNDING)


def _mean_of_others(parts: np.ndarray, freedom: np.ndarray) -> np.ndarray:
    """In place of the parts of each group, (n, K, G), the mean of those of all others that have
    any, weighed by degrees of freedom."""
    weights = np.where(parts.any(axis=1, keepdims=True), freedom, 0)
    total = of_others(weights)
    return np.divide(of_others(weights * parts), total, out=np.zeros_like(parts), where=total > 0)


def squared_errors(
    shares: np.ndarray, own: np.ndarray, cross: np.ndarray, squares: np.ndarray
) -> np.ndarray:
    """Σ_d e_d² = Σ (n − N R)² = Σ n² − 2 R Σ n N + R² Σ N², (n, K, G)."""
    return np.maximum(own - 2 * shares * cross + shares**2 * squares, 0)


def expected_errors(sizes: np.ndarray, squares: np.ndarray, cubes: np.ndarray) -> np.ndarray:
    """c = Σ N² − 2 Σ N³ / N_g + (Σ N²)² / N_g², the mean of Σ_d e_d² where shares have variance 1,
    (G,); 0 where one document has all tokens but for a rounding."""
    expected = squares - 2 * cubes / sizes + (squares / sizes) ** 2
    return np.where(expected > _ROUNDING * squares, expected, 0)


def shares_of(posterior: Posterior, groups: Sums, unread: np.ndarray | float = 1.0) -> Interval:
    """The shares of some groups, of documents that there might be; or of all their documents, of
    which the part ``unread``, (G,), was not read: chosen at random, these leave that part of the
    variance (Cochran 1977, 6.4)."""
    mean, low, high = posterior.pooled(groups.shares)
    half = posterior.half_width(groups.shares)  # 0 where all draws are equal
    below = np.where(np.isnan(low), half, mean - low)
    above = np.where(np.isnan(high), half, high - mean)
    sampled = _sampled(posterior, groups) * np.sqrt(unread)
    return Interval(
        mean,
        np.maximum(mean - np.hypot(below, sampled), 0),
        np.minimum(mean + np.hypot(above, sampled), 1),
    )


def _difference(posterior: Posterior, groups: Sums, others: Sums) -> Interval:
    """The shares of groups less those of others."""
    apart = [a - b for a, b in zip(groups.shares, others.shares, strict=True)]
    mean = posterior.mean(apart)
    half = np.sqrt(
        posterior.half_width(apart) ** 2
        + _sampled(posterior, groups) ** 2
        + _sampled(posterior, others) ** 2
    )
    return Interval(mean, np.maximum(mean - half, -1), np.minimum(mean + half, 1))


def _sampled(posterior: Posterior, groups: Sums) -> np.ndarray:
    """t √v, (K, G)."""
    from scipy.stats import t

    factor = t.ppf((1 + posterior.level) / 2, groups.freedom)
    return factor * np.sqrt(posterior.mean(groups.variances()))


def rows_of(effects: Effects, k: int) -> list[dict[str, Any]]:
    """What is known of topic k in each group, as JSON values; None in place of NaN."""
    return [
        {
            "group": name,
            "documents": int(effects.documents[g]),
            "tokens": int(effects.tokens[g]),
            **_told(effects.share, (k, g), "share", ""),
            **_told(effects.difference, (k, g), "difference", "difference_"),
        }
        for g, name in enumerate(effects.groups.names)
    ]


def change_of(effects: Effects, k: int) -> dict[str, float | None]:
    """Likewise its change; nothing where groups have no order."""
    if effects.change is None:
        return {}
    return _told(effects.change, (k,), "change", "change_")


def _told(
    interval: Interval, at: tuple[int, ...], name: str, prefix: str
) -> dict[str, float | None]:
    names = name, f"{prefix}low", f"{prefix}high"
    values = (float(array[at]) for array in interval)
    return {n: None if math.isnan(v) else v for n, v in zip(names, values, strict=True)}
