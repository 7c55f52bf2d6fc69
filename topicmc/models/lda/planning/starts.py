"""How long a start is, how a growing one and the members of others go, and how many documents one
on a subset has: pure arithmetic on the clock of sweeps.

A start is burn-in: the interval from the beginning of a run in which no state is a posterior
sample. What it may take of a time budget is decided by its cost, for sweeps are short while
documents join.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from topicmc.models.lda.extent import Extent

# The subset that a growing start begins with has at least so many tokens for each topic, and for
# each word: fewer find poor topics, more take longer to find the same.
FIRST_TOKENS, FIRST_WORD_TOKENS = 9_000, 75
# A start of fewer sweeps than these has fewer for each topic, for otherwise it would hardly grow;
# but for K topics as many as √K / 10 times those for 100.
_FULL_SWEEPS, _SPARED_TOPICS = 40, 100
GROWTH = 1.12  # by which the subset grows from sweep to sweep, at least
GROWN_BY = 0.8  # share of the start by whose end all documents must be in, or members have ended
MEMBERS = 10  # of a consensus start, at most
# Of a time budget, which a start may take, and one over whose whole length β falls: the slower it
# does, the better are the topics, and on arXiv abstracts and Wikipedia articles perplexity is lower
# than with a half. But such a start leaves the time of so many sweeps, or half of the budget. Told
# epochs are drawn for certain; a pace is off by some 15 %, so the share of a budget is smaller.
ANNEALED = ("grow", "anneal")
BURN_IN_SHARE, ANNEALED_SHARE, _SHARE_OF_EPOCHS = 0.45, 0.6, 0.7
_LEFT_BY_ANNEALED = 8
# What a sweep in which documents join takes, beside one over as many that stay: those that join are
# drawn twice, and are put in the order of words for the next sweep. On arXiv abstracts 1.5 to 1.7
# with 100 topics, on Wikipedia articles 1.3 to 1.5 (bench/joining.py).
JOINING = 1.5
# With more topics than these a start leaves the time of so many sweeps over all documents, or takes
# a quarter: on arXiv abstracts with 2,000 and 10,000 a shorter one is better, with 1,000 it is not.
_MANY_TOPICS, _LEFT_BY_MANY, _LEAST_SHARE = 1_500, 18, 1 / 4
# Sweeps over all documents: a state after so many is still no sample, however short the run.
LEAST_START = 5
LEAST_UPDATES = 20  # of chains of minibatches, likewise
# Of a time budget: a start that has taken more leaves out what it can. A machine that has become
# slower since it was planned leaves time for samples, too.
# Chains of minibatches that begin on a subset have some of what is left then for their burn-in.
LATEST, LATEST_ANNEALED, LATEST_AFTER_SUBSET = 0.6, 0.7, 0.72


class Work(NamedTuple):
    """What some sweeps come to, in sweeps over all documents: what they draw, and their time."""

    draws: float
    cost: float


@dataclass(frozen=True)
class Growth:
    """The documents of a start: a share ``first`` of them, ``factor`` times as many each sweep,
    until they are a share ``last``."""

    first: float
    factor: float
    last: float = 1.0

    @classmethod
    def over(cls, sweeps: int, size: Extent, n_topics: int) -> Growth:
        """The growth of a start of so many sweeps on a corpus."""
        least = math.sqrt(n_topics * min(n_topics, _SPARED_TOPICS))
        topics = max(least, n_topics * min(1.0, sweeps / _FULL_SWEEPS))
        growing = min(GROWN_BY * sweeps, sweeps - 1)  # by the last sweep all are in
        if growing < 1:
            return NO_GROWTH
        first = _first_share(size, topics)
        return cls(first, max(GROWTH, first ** (-1 / growing)))

    def share(self, sweep: int) -> float:
        """The share of the documents that take part in a sweep."""
        # Beyond the last sweep of growth the power could overflow.
        return self.last if sweep >= self.n_growing else self.first * self.factor ** max(0, sweep)

    @property
    def n_growing(self) -> int:
        """Sweeps before the share is the last."""
        return math.ceil(math.log(self.last / self.first) / math.log(self.factor) - 1e-9)

    def work(self, sweeps: int) -> Work:
        """What the first sweeps come to."""
        growing = min(sweeps, self.n_growing)
        joining = sum(self.share(sweep) for sweep in range(growing))
        settled = self.last * (sweeps - growing)
        return Work(joining + settled, JOINING * joining + settled)


NO_GROWTH = Growth(1.0, GROWTH)
_WORTH_GROWING = 1 / 2  # the first share of the documents of a member, below which they grow


def _first_share(size: Extent, n_topics: float) -> float:
    """The share of the documents that a growing start begins with."""
    least = max(FIRST_TOKENS * n_topics, FIRST_WORD_TOKENS * size.n_words)
    return min(1.0, least / size.n_tokens)


@dataclass(frozen=True)
class Members:
    """Chains with whose topics a start goes on, which are its first sweeps: ``number`` of them, one
    after another, of so many ``sweeps`` each. The documents of each may grow."""

    number: int
    sweeps: int
    growth: Growth = NO_GROWTH

    @classmethod
    def of(cls, start_sweeps: int, size: Extent, n_topics: int) -> Members:
        """The members of a consensus start of so many sweeps on a corpus. Their documents grow as
        slowly as they can."""
        together = int(GROWN_BY * start_sweeps)
        number = min(MEMBERS, together)
        sweeps = together // max(1, number)
        first = _first_share(size, n_topics)
        growing = int(GROWN_BY * sweeps)
        grows = first < _WORTH_GROWING and growing > 0
        return cls(number, sweeps, Growth(first, first ** (-1 / growing)) if grows else NO_GROWTH)

    @classmethod
    def on_subset(cls, start_sweeps: int, share: float, size: Extent, n_topics: int) -> Members:
        """The one of a start of so many sweeps on a share of the documents: all but the last few
        sweeps, which are over all documents."""
        sweeps = max(1, min(SUBSET_SWEEPS, start_sweeps - LEAST_START))
        tokens = max(1, round(share * size.n_tokens))
        growth = Growth.over(sweeps, size._replace(n_tokens=tokens), n_topics)
        return cls(1, sweeps, Growth(share * growth.first, growth.factor, share))

    @property
    def end(self) -> int:
        """Sweeps of all of them."""
        return self.number * self.sweeps

    def ended(self, position: int) -> int:
        """Members that have made all their sweeps after so many of the run."""
        return min(self.number, position // max(1, self.sweeps))

    def begins(self, sweep: int) -> int:
        """The sweep in which what a sweep goes on with began: a member, or the chain."""
        return self.ended(sweep) * self.sweeps

    def share(self, sweep: int) -> float:
        """The share of the documents that take part in a sweep."""
        return 1.0 if sweep >= self.end else self.growth.share(sweep - self.begins(sweep))


NO_MEMBERS = Members(0, 0)


def start_work(start: str, sweeps: int, size: Extent, n_topics: int, share: float = 1.0) -> Work:
    """What the sweeps of a start of that name come to; ``share`` is that of the documents of a
    subset."""
    draws = cost = 0.0
    for times, growth, n in _parts(start, sweeps, size, n_topics, share):
        work = growth.work(n)
        draws += times * work.draws
        cost += times * work.cost
    return Work(draws, cost)


def _parts(
    start: str, sweeps: int, size: Extent, n_topics: int, share: float
) -> list[tuple[int, Growth, int]]:
    """What a start consists of: how often, growing how, so many sweeps."""
    if start == "grow":
        return [(1, Growth.over(sweeps, size, n_topics), sweeps)]
    members = NO_MEMBERS
    if start == "consensus":
        members = Members.of(sweeps, size, n_topics)
    elif start == "subset":
        members = Members.on_subset(sweeps, share, size, n_topics)
    whole = (1, NO_GROWTH, sweeps - members.end)
    return [(members.number, members.growth, members.sweeps), whole]


def run_of_slow_growth(size: Extent, n_topics: int) -> float:
    """Sweeps over all documents of the shortest run of which a start in which the subset grows no
    faster than it has to takes no more than one on a subset may."""
    growth = Growth.over(1 << 30, size, n_topics)
    return growth.work(math.ceil(growth.n_growing / GROWN_BY)).cost / SUBSET_SHARE


def start_within(
    sweeps: float, n_topics: int, share: float = ANNEALED_SHARE, behind: float = 1.0
) -> float:
    """What a start over whose length β falls may cost, in sweeps over all documents, in a run with
    time for so many, if one ``behind`` the start takes as long as so many of them."""
    most = min(share * sweeps, max(sweeps - _LEFT_BY_ANNEALED * behind, sweeps / 2))
    if n_topics <= _MANY_TOPICS:
        return most
    return min(most, max(sweeps - _LEFT_BY_MANY * behind, _LEAST_SHARE * sweeps))


def is_late(seconds: float, time_budget: float | None, share: float) -> bool:
    """Whether so many seconds of training are more than a share of a time budget."""
    return time_budget is not None and seconds > share * time_budget


def latest(start: str, keeps_assignments: bool) -> float:
    """The share of a time budget after which a start of that name is late."""
    if not keeps_assignments:
        return LATEST_AFTER_SUBSET if start == "subset" else LATEST
    return LATEST_ANNEALED if start in ANNEALED else LATEST


def end_if_late(made: int) -> int:
    """The update at which the start of chains of minibatches ends if it is late after so many: a
    sixth of them are to come, so that an annealed one comes to its end."""
    return max(LEAST_UPDATES, made + max(1, made // 5))


def told_late(made: int, left_out: int, planned: int, unit: str = "sweeps") -> str:
    """The sentence that a late start leaves out some of its sweeps, or updates."""
    return (
        f"the start takes longer than planned: after {made:,} of {planned:,} {unit}"
        f" {left_out:,} are left out, for samples need time, too"
    )


def longest_start(start: str, within: float, most: int, size: Extent, n_topics: int) -> int:
    """Sweeps, from 1 to ``most``, of the longest start of that name that costs at most ``within``
    sweeps over all documents. Lengths are some 15 % apart: a pace measured anew mostly gives the
    same one."""
    lengths = sorted({round(most / 1.15**i) for i in range(64)} - {0})
    fitting = (n for n in lengths if start_work(start, n, size, n_topics).cost <= within)
    return max(fitting, default=1)


def longest_start_of_epochs(
    start: str, epochs: float, most: int, size: Extent, n_topics: int
) -> int:
    """Sweeps, from 1 to ``most``, of the start of that name of a run that draws so many documents:
    as of one with time for as many sweeps, or half of them if β does not fall over it."""
    if start not in ANNEALED:
        return max(1, min(most, int(epochs / 2)))

    def draws(sweeps: int) -> float:
        return start_work(start, sweeps, size, n_topics).draws

    within = start_within(epochs, n_topics, _SHARE_OF_EPOCHS)
    return max(1, bisect_right(range(1, most + 1), within, key=draws))


def longest_consensus(within: float, most: int, size: Extent, n_topics: int) -> int:
    """Sweeps, from 1 to ``most``, of a consensus start that costs ``within`` sweeps over all
    documents, or somewhat less."""

    def cost(sweeps: int) -> float:
        return start_work("consensus", sweeps, size, n_topics).cost

    return max(1, bisect_right(range(1, most + 1), within, key=cost))


# Of a start on a subset of the documents: sweeps over it, and the tokens of the largest.
SUBSET_SWEEPS, _LARGEST_SUBSET = 100, 32_000_000
# And where all documents are drawn thereafter: the share of a run that it may take; the tokens of
# the smallest that is worth it; its share of a corpus, at most; and sweeps that are left.
SUBSET_SHARE, _SUBSET_TOKENS, _SUBSET_PART, _LEFT_FOR_SAMPLES = 1 / 3, 6_000_000, 1 / 4, 3
SURE_DOCUMENTS = 50  # of which each is in it by chance: never none (1e-20)
# In runs of fewer sweeps over all documents than these a smaller one is worth it, in proportion:
# documents that join faster take over poorer topics. But one of so many tokens at least.
_MANY_SWEEPS, _TOKENS_OF_FEW = 36, 3_000_000


def subset_documents(
    within: float, sweeps: int, bounds: tuple[float, float], size: Extent, n_topics: int
) -> int:
    """Documents of the largest subset over which so many sweeps draw at most ``within`` tokens, of
    as many tokens as lie within the bounds; 0 if there is none. Sizes are some 15 % apart, as in
    `longest_start`, down to the least."""
    for tokens in _sizes(min(_LARGEST_SUBSET, bounds[1]), bounds[0]):
        documents = max(1, math.ceil(tokens * size.n_docs / size.n_tokens))
        if subset_draws(documents, sweeps, size, n_topics) <= within:
            return documents
    return 0


def _sizes(most: float, least: float) -> Iterator[float]:
    """Sizes some 15 % apart from the most down to the least, both among them."""
    size = most
    while size > least:
        yield size
        size /= 1.15
    if most >= least:
        yield least


def usual_subset(sweeps: float, size: Extent, n_topics: int) -> int:
    """Documents of the start of a run that keeps assignments and makes so many sweeps over all
    documents, of which some are left for samples; 0 where no subset suits it."""
    usual = max(_TOKENS_OF_FEW, _SUBSET_TOKENS * min(1.0, sweeps / _MANY_SWEEPS))
    least = max(usual, FIRST_TOKENS * n_topics, FIRST_WORD_TOKENS * size.n_words)
    left = sweeps - LEAST_START - _LEFT_FOR_SAMPLES
    documents = fitting_subset(min(SUBSET_SHARE * sweeps, left), least, size, n_topics)
    return documents if documents >= SURE_DOCUMENTS else 0


def fitting_subset(sweeps: float, least: float, size: Extent, n_topics: int) -> int:
    """Documents of the largest subset, of at least so many tokens, that such a run has, if its
    sweeps may draw what ``sweeps`` over all documents do; 0 if none fits in."""
    bounds = least, _SUBSET_PART * size.n_tokens
    return subset_documents(sweeps * size.n_tokens, SUBSET_SWEEPS, bounds, size, n_topics)


def subset_draws(documents: int, sweeps: int, size: Extent, n_topics: int) -> float:
    """Tokens that so many sweeps over a growing subset of some documents draw."""
    tokens = round(documents * size.n_tokens / max(1, size.n_docs))
    growth = Growth.over(sweeps, size._replace(n_tokens=max(1, tokens)), n_topics)
    return tokens * growth.work(sweeps).draws
