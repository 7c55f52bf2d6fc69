"""How long a start is, how a growing one goes, and how many documents one on a subset has: pure
arithmetic on the clock of sweeps.

A start is burn-in: the interval from the beginning of a run in which no state is a posterior
sample. What it may take of a time budget is decided by its cost, for sweeps are short while
documents join.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

# The subset that a growing start begins with has at least so many tokens for each topic, and for
# each word: fewer find poor topics, more take longer to find the same.
FIRST_TOKENS, FIRST_WORD_TOKENS = 9_000, 75
GROWTH = 1.12  # by which the subset grows from sweep to sweep, at least
GROWN_BY = 0.8  # share of the start by whose end all documents must be in
BURN_IN_SHARE = 0.45  # of a time budget, which a start may take


@dataclass(frozen=True)
class Growth:
    """The documents of a start: a share ``first`` of them, ``factor`` times as many each sweep."""

    first: float
    factor: float

    @classmethod
    def over(cls, sweeps: int, *, n_tokens: int, n_topics: int, n_words: int) -> Growth:
        """That of a start of so many sweeps on a corpus."""
        tokens = max(FIRST_TOKENS * n_topics, FIRST_WORD_TOKENS * n_words)
        first = min(1.0, tokens / n_tokens)
        return cls(first, max(GROWTH, first ** (-1 / max(1.0, GROWN_BY * sweeps))))

    def share(self, sweep: int) -> float:
        """The share of the documents that take part in a sweep."""
        # Beyond the last sweep of growth the power could overflow.
        return 1.0 if sweep >= self.n_growing else self.first * self.factor ** max(0, sweep)

    @property
    def n_growing(self) -> int:
        """Sweeps in which not all documents take part."""
        return math.ceil(-math.log(self.first) / math.log(self.factor) - 1e-9)

    def cost(self, sweeps: int) -> float:
        """What the first sweeps cost, in sweeps over all documents."""
        growing = min(sweeps, self.n_growing)
        return sum(self.share(sweep) for sweep in range(growing)) + sweeps - growing


NO_GROWTH = Growth(1.0, GROWTH)


def run_of_slow_growth(*, n_tokens: int, n_topics: int, n_words: int) -> float:
    """Sweeps over all documents of the shortest run with time for a start in which the subset grows
    no faster than it has to."""
    growth = Growth.over(1 << 30, n_tokens=n_tokens, n_topics=n_topics, n_words=n_words)
    return growth.cost(math.ceil(growth.n_growing / GROWN_BY)) / BURN_IN_SHARE


def longest_start(
    within: float, most: int, *, n_tokens: int, n_topics: int, n_words: int, grows: bool
) -> int:
    """Sweeps, from 1 to ``most``, of the longest start that costs at most ``within`` sweeps over
    all documents. Lengths are some 15 % apart: a pace measured anew mostly gives the same one."""

    def cost(sweeps: int) -> float:
        size = {"n_tokens": n_tokens, "n_topics": n_topics, "n_words": n_words}
        return (Growth.over(sweeps, **size) if grows else NO_GROWTH).cost(sweeps)

    lengths = sorted({round(most / 1.15**i) for i in range(64)} - {0})
    return max((n for n in lengths if cost(n) <= within), default=1)


# Of a start on a subset of the documents: sweeps over it; the share of a run that it may take; the
# tokens of the smallest that is worth it, and of the largest; its share of a corpus, at most.
SUBSET_SWEEPS, SUBSET_SHARE = 100, 1 / 3
_SUBSET_TOKENS, _SUBSET_PART = (8_000_000, 32_000_000), 1 / 4


def subset_documents(
    within: float, sweeps: int, bounds: tuple[float, float], *, n_docs: int, n_tokens: int,
    n_topics: int, n_words: int,
) -> int:  # fmt: skip
    """Documents of the largest subset over which so many sweeps fit into a run that draws
    ``within`` tokens, of as many tokens as lie within the bounds; 0 if none does. Sizes are some
    15 % apart, as in `longest_start`."""
    size = {"n_docs": n_docs, "n_tokens": n_tokens, "n_topics": n_topics, "n_words": n_words}
    tokens = min(_SUBSET_PART * n_tokens, _SUBSET_TOKENS[1], bounds[1])
    while tokens >= bounds[0]:
        documents = max(1, round(tokens * n_docs / n_tokens))
        if subset_draws(documents, sweeps, **size) <= SUBSET_SHARE * within:
            return documents
        tokens /= 1.15
    return 0


def least_subset(n_topics: int, n_words: int) -> float:
    """Tokens of the smallest subset that finds good topics."""
    return max(_SUBSET_TOKENS[0], FIRST_TOKENS * n_topics, FIRST_WORD_TOKENS * n_words)


def subset_draws(
    documents: int, sweeps: int, *, n_docs: int, n_tokens: int, n_topics: int, n_words: int
) -> float:
    """Tokens that so many sweeps over a growing subset of some documents draw."""
    tokens = round(documents * n_tokens / max(1, n_docs))
    size = {"n_tokens": max(1, tokens), "n_topics": n_topics, "n_words": n_words}
    return tokens * Growth.over(sweeps, **size).cost(sweeps)
