"""How the topics of groups of documents differ: by party, by author, by year.

Topics are found without looking at groups. Afterwards each draw of the topics from their posterior
gives group g the share R_gk of topic k in its tokens (`topicmc.topics.prevalence`). Two doubts add
up, as by the method of composition (Tanner and Wong 1987): which tokens are whose, which the draws
and the chains say, with an interval of half width h (`topicmc.posterior.intervals`); and that the
documents of a group are D_g of many that there might be. The variance of a ratio of sums is then

    v_gk = D_g / (D_g − 1) · Σ_d (n_dk − N_d R_gk)² / N_g²

over the documents d of the group, which have N_d tokens, n_dk of the topic, and N_g together
(Cochran 1977, "Sampling Techniques", 6.4). In a small group all documents may lack a rare topic by
chance, and then v would be 0. So it is at least what the D documents of all G groups let expect,

    D / (D − G) · Σ_g Σ_d (n_dk − N_d R_gk)² / Σ_g Σ_d N_d² · Σ_d N_d² / N_g².

With t of D_g − 1 degrees of freedom, the interval has half width √(h² + t² v).

A difference is that of a group from all documents of the others, and of groups in an order the
change is from the first to the last; there v is the sum of two.

The prior of the mixes is one for all groups, and draws those of short documents together: true
differences may be greater.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np

from topicmc.corpora import Corpus
from topicmc.corpora.naming import one_line
from topicmc.corpora.periods import UNITS, periods_of
from topicmc.errors import UsageError
from topicmc.kernels.threads import Threads
from topicmc.topics.prevalence import LEAST_DOCUMENTS, Prevalence, evenly_chosen, prevalence
from topicmc.topics.uncertainty import Posterior

MOST_GROUPS = 1000
_MOST_NAMED = 12  # columns, in a message


class Interval(NamedTuple):
    """Of each topic, (K,) or (K, G): a mean and the ends of its credible interval, NaN where they
    cannot be told."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @property
    def is_apart(self) -> np.ndarray:
        """Whether the interval does not hold 0."""
        return (self.low > 0) | (self.high < 0)

    def of(self, g: int) -> Interval:
        """That of one group, (K,)."""
        return Interval(*(values[:, g] for values in self))


@dataclass(frozen=True)
class Groups:
    """Documents in groups.

    Attributes:
        by: the field, or the unit of time.
        names: of the groups that have `LEAST_DOCUMENTS`; by value where all are numbers.
        is_ordered: whether they have an order.
        numbers: of the documents that are read, int64 (n,), ascending.
        of: int64 (n,), the group of each, −1 of none.
        n_without: documents that were read and have no value.
        left_out: names and documents of groups of fewer.
    """

    by: str
    names: list[str]
    is_ordered: bool
    numbers: np.ndarray
    of: np.ndarray
    n_without: int
    left_out: list[tuple[str, int]]


@dataclass(frozen=True)
class Effects:
    """What G groups of documents have of K topics.

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


def groups_of(corpus: Corpus, by: str) -> Groups:
    """The values of a column that `prepare --keep` kept; or with "day", "month", "year" or "decade"
    periods, where the corpus has times.

    Raises UsageError for a column that is not kept, one of more than `MOST_GROUPS` values, and
    where fewer than two have `LEAST_DOCUMENTS` documents.
    """
    numbers = evenly_chosen(np.arange(corpus.n_docs))
    codes, names, is_ordered = _values(corpus, by, numbers)
    counted = np.bincount(codes[codes >= 0], minlength=len(names))
    enough = counted >= LEAST_DOCUMENTS
    if enough.sum() < 2:
        raise UsageError(
            f"--by {by}: of its values ({len(names)}) only {enough.sum()} are in {LEAST_DOCUMENTS}"
            " documents or more, and it takes two to compare; name another column"
        )
    place = np.where(enough, np.cumsum(enough) - 1, -1)
    return Groups(
        by,
        [name for name, told in zip(names, enough, strict=True) if told],
        is_ordered,
        numbers,
        np.append(place, -1)[codes],
        int((codes < 0).sum()),
        [(names[g], int(counted[g])) for g in np.flatnonzero(~enough)],
    )


def effects_of(posterior: Posterior, corpus: Corpus, groups: Groups, threads: Threads) -> Effects:
    """How the topics of some groups of the documents of a corpus differ."""
    told = groups.of >= 0
    chosen = groups.numbers[told], groups.of[told]
    found = prevalence(posterior, corpus, *chosen, len(groups.names), threads, want_moments=True)
    documents = np.bincount(groups.of[told], minlength=len(groups.names))
    sums = _Sums.of(found, documents)
    change = None
    if groups.is_ordered:
        last = len(documents) - 1
        change = _difference(posterior, sums.only([last]), sums.only([0])).of(0)
    return Effects(
        groups,
        documents=documents,
        tokens=found.sizes.astype(np.int64),
        share=_shares(posterior, sums),
        difference=_difference(posterior, sums, sums.others()),
        change=change,
    )


# --- groups ---------------------------------------------------------------------------------------


def _values(corpus: Corpus, by: str, numbers: np.ndarray) -> tuple[np.ndarray, list[str], bool]:
    """The number of the value of each of some documents, int64 (n,), −1 of none, the values, and
    whether these have an order."""
    has_times = corpus.times is not None and not np.isnat(corpus.times).all()
    if by in UNITS and (has_times or corpus.columns is None):
        found = periods_of(corpus, by)
        assert found is not None
        return found.of[numbers], found.names, True
    columns = corpus.columns
    if columns is None:
        raise UsageError(
            f"--by {by}: the corpus keeps no columns; prepare it with --keep {by}, or name a"
            f" period: {', '.join(UNITS)}"
        )
    known: Counter[str] = Counter()
    values: list[str] = []
    for number in numbers.tolist():
        row = columns[number]
        known.update(row.keys())
        value = row.get(by)
        values.append("" if value is None else one_line(value))
    if by not in known:
        raise UsageError(_unknown(by, list(known), has_times))
    names, is_ordered = _in_order(set(values) - {""})
    if len(names) > MOST_GROUPS:
        raise UsageError(
            f"--by {by}: has {len(names):,} values, and {MOST_GROUPS:,} are the most; keep a column"
            " that has fewer, of classes say"
        )
    code = {name: g for g, name in enumerate(names)} | {"": -1}
    return np.array([code[value] for value in values]), names, is_ordered


def _unknown(by: str, names: Sequence[str], has_times: bool) -> str:
    close = get_close_matches(by, [*names, *UNITS] if has_times else names, n=1)
    known = ", ".join(names[:_MOST_NAMED]) + ", …" * (len(names) > _MOST_NAMED)
    hint = f"did you mean {close[0]}?" if close else f"it keeps {known}"
    if has_times and not close:
        hint += f", and times: {', '.join(UNITS)}"
    if by in UNITS:
        hint = "for periods prepare it with --time FIELD"
    return f"--by {by}: the corpus keeps no such column; {hint}"


def _in_order(values: set[str]) -> tuple[list[str], bool]:
    """By value where all are numbers, and by name otherwise."""
    try:
        numbers = {value: float(value) for value in values}
    except ValueError:
        return sorted(values, key=lambda name: (name.casefold(), name)), False
    if not all(map(math.isfinite, numbers.values())):
        return sorted(values), False
    return sorted(values, key=lambda value: (numbers[value], value)), True


# --- intervals ------------------------------------------------------------------------------------


class _Sums(NamedTuple):
    """Of groups: for each chain the shares of topics and their variances v, float64 (n, K, G),
    numbers of documents (G,), and of each chain the usual squared error for each N_d², float64
    (n, K, 1)."""

    shares: list[np.ndarray]
    variances: list[np.ndarray]
    found: Prevalence
    documents: np.ndarray
    usual: list[np.ndarray]

    @classmethod
    def of(
        cls, found: Prevalence, documents: np.ndarray, usual: list[np.ndarray] | None = None
    ) -> _Sums:
        """``usual``: that of other groups of the same documents; None: of these."""
        sizes = np.maximum(found.sizes, 1)
        bias = documents / np.maximum(documents - 1, 1)
        moments = found.moments
        assert moments is not None
        shares = [tokens / sizes for tokens in found.tokens]
        errors = [
            squared_errors(share, own, cross, moments.lengths)
            for share, own, cross in zip(shares, moments.own, moments.cross, strict=True)
        ]
        if usual is None:
            n, squares = documents.sum(), moments.lengths.sum()
            scale = n / (n - len(documents)) / squares
            usual = [scale * of_chain.sum(axis=2, keepdims=True) for of_chain in errors]
        variances = [
            np.maximum(bias * of_chain, expected * moments.lengths) / sizes**2
            for of_chain, expected in zip(errors, usual, strict=True)
        ]
        return cls(shares, variances, found, documents, usual)

    def only(self, groups: Sequence[int]) -> _Sums:
        """Some of the groups."""
        shares, variances = ([a[:, :, groups] for a in arrays] for arrays in self[:2])
        return _Sums(shares, variances, self.found, self.documents[groups], self.usual)

    def others(self) -> _Sums:
        """In place of each group all others together."""
        return _Sums.of(self.found.others(), self.documents.sum() - self.documents, self.usual)


def squared_errors(
    shares: np.ndarray, own: np.ndarray, cross: np.ndarray, lengths: np.ndarray
) -> np.ndarray:
    """Σ_d (n_d − N_d R)² = Σ n² − 2 R Σ n N + R² Σ N², (n, K, G)."""
    return np.maximum(own - 2 * shares * cross + shares**2 * lengths, 0)


def _shares(posterior: Posterior, groups: _Sums) -> Interval:
    mean, low, high = posterior.pooled(groups.shares)
    half = posterior.half_width(groups.shares)  # 0 where all draws are equal
    below = np.where(np.isnan(low), half, mean - low)
    above = np.where(np.isnan(high), half, high - mean)
    sampled = _sampled(posterior, groups)
    return Interval(
        mean,
        np.maximum(mean - np.hypot(below, sampled), 0),
        np.minimum(mean + np.hypot(above, sampled), 1),
    )


def _difference(posterior: Posterior, groups: _Sums, others: _Sums) -> Interval:
    """The shares of groups less those of others."""
    apart = [a - b for a, b in zip(groups.shares, others.shares, strict=True)]
    mean = posterior.mean(apart)
    half = np.sqrt(
        posterior.half_width(apart) ** 2
        + _sampled(posterior, groups) ** 2
        + _sampled(posterior, others) ** 2
    )
    return Interval(mean, mean - half, mean + half)


def _sampled(posterior: Posterior, groups: _Sums) -> np.ndarray:
    """t √v, (K, G)."""
    from scipy.stats import t

    factor = t.ppf((1 + posterior.level) / 2, np.maximum(groups.documents - 1, 1))
    return factor * np.sqrt(posterior.mean(groups.variances))


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
