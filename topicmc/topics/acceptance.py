"""Whether the data accepted the seed words of topics.

It is asked of the tokens alone. With φ of a sample, N_k tokens of a topic and the sum B_k of its
prior, a topic has

    n_kw = φ_kw (N_k + B_k) − b_kw

tokens of a word: what they are where assignments are kept, and else the expected number. Where a
seed adds a_kw to the prior, the topic draws tokens by n_kw + a_kw. So the share a_kw / (n_kw +
a_kw) of them is due to the seed, and is taken off. What is left is compared with the n_jw of other
topics, in each sample of the posterior.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from topicmc.models.lda.priors.seeds import found_in
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.samples import beta_of, samples_of, share_of
from topicmc.models.views import View
from topicmc.posterior.passes import one_by_one

ACCEPTED, REFUSED, UNKNOWN = "accepted", "refused", "cannot be told"
SURE = 0.9
"""The share of the samples that must agree."""
FEWEST_SAMPLES, FEWEST_TOKENS = 5, 10
"""With fewer of either nothing can be told."""
REFUSAL = 0.25
"""A word is refused where another topic has so many of its tokens that this part is more."""


@dataclass(frozen=True)
class SeedWord:
    """A word that was named for a topic.

    Attributes:
        topic: its number.
        share: of the word's tokens in the topic, in the mean over the samples; None if it has none.
        verdict: "refused" where the topic has less than a quarter of the tokens of another, in 9 of
            10 samples; "accepted" where it has more than any topic that the word does not seed, and
            is not refusing, in as many; else "cannot be told". Tokens that the seed's weight drew
            do not count for it.
        accepting, refusing: the shares of the samples that say so.
        elsewhere: the number of the other topic with most of the word's tokens, and their share, in
            the samples of the first chain: topics without seeds have other numbers in the others.
    """

    word: str
    topic: int
    share: float | None
    verdict: str
    accepting: float
    refusing: float
    elsewhere: tuple[int, float] | None

    def as_dict(self) -> dict[str, Any]:
        """As JSON values."""
        told = {
            "word": self.word,
            "share": self.share,
            "verdict": self.verdict,
            "accepting": self.accepting,
            "refusing": self.refusing,
        }
        if self.elsewhere is None:
            return told
        return {**told, "elsewhere": {"topic": self.elsewhere[0], "share": self.elsewhere[1]}}


def seed_words(run: TopicRun) -> dict[int, list[SeedWord]]:
    """The seed words of a run or view, by the number of their topic; none of a run without seeds.
    Of topics that a view has dropped nothing is said.

    Raises DataError when the run has no samples yet, or a file of theirs is damaged.
    """
    seeds = run.seeds
    if not seeds:
        return {}
    vocabulary = run.vocabulary()
    found = found_in(seeds, vocabulary, lenient=True)
    column = {number: place for place, number in enumerate(run.numbers)}
    shown = len(column)  # topics that a view has dropped stand behind these
    homes = [run.view.home(k) if run.view else k for k in range(len(found.names))]
    here = [
        (k, list(words)) for k, words in zip(homes, found.weights, strict=True) if k is not None
    ]
    rows = np.array(sorted(set().union(*found.weights)), np.int64)
    hidden = run.view.dropped if run.view else ()
    own = np.zeros((len(rows), shown + len(hidden)), bool)
    for k, words in here:
        own[np.searchsorted(rows, words), column[k]] = True
    for place, k in enumerate(hidden):
        if k < len(found.names):
            own[np.searchsorted(rows, list(found.weights[k])), shown + place] = True
    named = [(k, w) for k, words in here for w in words]
    row = np.searchsorted(rows, [w for _, w in named])
    topic = np.array([column[k] for k, _ in named], np.int64)
    states = samples_of(run)
    samples = [entry for entry in states if not entry["burn_in"]]
    entries = samples or states
    first = min(entry["chain"] for entry in entries)
    whole = run.whole
    total, of_first = np.zeros(own.shape), np.zeros(own.shape)
    mine, accepting, refusing = np.zeros((3, len(named)))
    for entry in one_by_one(entries):
        counts, added = _counts(whole, entry, rows)
        if run.view:
            order = _order(run.view, entry["chain"], len(found.names))
            counts, added = (_of_view(run.view, of[:, order]) for of in (counts, added))
        n, a = counts[row, topic], added[row, topic]
        kept = n * n / np.maximum(n + a, 1e-30)
        second, greatest = np.partition(counts, -2, axis=1)[row, -2:].T
        refused = kept < REFUSAL * np.where(n < greatest, greatest, second)
        unseeded = np.where(own, 0.0, counts).max(axis=1)
        refusing += refused
        accepting += ~refused & (kept > unseeded[row])
        mine += n
        total += counts
        if entry["chain"] == first:
            of_first += counts
    sums = total.sum(axis=1)
    told: dict[int, list[SeedWord]] = {}
    for i, (k, w) in enumerate(named):
        rivals = of_first[row[i]] / max(of_first[row[i]].sum(), 1e-30)
        rivals[topic[i]] = -1.0
        rival = int(rivals[:shown].argmax())
        known = sums[row[i]] > 0
        says_yes, says_no = (float(of[i]) / len(entries) for of in (accepting, refusing))
        told.setdefault(k, []).append(
            SeedWord(
                word=vocabulary[w],
                topic=k,
                share=float(mine[i] / sums[row[i]]) if known else None,
                verdict=_verdict(says_yes, says_no, len(samples), sums[row[i]] / len(entries)),
                accepting=says_yes,
                refusing=says_no,
                elsewhere=(run.numbers[rival], float(rivals[rival])) if known else None,
            )
        )
    return told


def _verdict(accepting: float, refusing: float, n_samples: int, n_tokens: float) -> str:
    if n_samples < FEWEST_SAMPLES or n_tokens < FEWEST_TOKENS:
        return UNKNOWN
    if accepting >= SURE:
        return ACCEPTED
    return REFUSED if refusing >= SURE else UNKNOWN


def _counts(
    run: TopicRun, entry: dict[str, Any], words: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """n_kw and a_kw of some words in one sample, float64 (n, K) each."""
    theta = run.read_sample(entry)
    prior = run.prior(beta_of(run, entry))
    n_tokens = run.facts()["corpus"]["tokens"]
    sizes = share_of(run, entry, theta) * n_tokens + prior.totals(*theta.shape)
    phi = theta[words] / theta.sum(axis=0, dtype=np.float64)
    added = np.zeros(phi.shape) if prior.additions is None else prior.additions.of(words)
    return np.maximum(phi * sizes - prior.base - added, 0.0), added


def _order(view: View, chain: int, n_seeded: int) -> np.ndarray:
    """A chain's own numbers of the first chain's topics: as the view has them, but for the seeded
    topics, the first, which have the same numbers in each chain whatever they became."""
    order = view.orders.get(chain, np.arange(view.n_topics)).copy()
    for k in range(n_seeded):
        order[order == k], order[k] = order[k], k
    return order


def _of_view(view: View, counts: np.ndarray) -> np.ndarray:
    """Counts (n, K) by topic of the view, of a merged one the sum over its parts, and then by topic
    that it has dropped."""
    return np.concatenate([view.summed(counts, 0), counts[:, list(view.dropped)]], axis=1)


def sentences(words: dict[int, list[SeedWord]], tags: dict[int, str]) -> list[str]:
    """What became of the seed words, a line a topic; ``tags`` are what topics are called."""
    lines = []
    for topic, seeds in words.items():
        taken = [f"{seed.word} {seed.share:.0%}" for seed in seeds if seed.verdict == ACCEPTED]
        line = f"{tags[topic]}: " + (", ".join(taken) if taken else "none accepted")
        for verdict in (REFUSED, UNKNOWN):
            others = [_told(seed, tags) for seed in seeds if seed.verdict == verdict]
            line += f"; {verdict}: {', '.join(others)}" if others else ""
        lines.append(line)
    return lines


def _told(seed: SeedWord, tags: dict[int, str]) -> str:
    if seed.share is None or seed.elsewhere is None:
        return f"{seed.word} (no tokens)"
    number, share = seed.elsewhere
    return f"{seed.word} {seed.share:.0%} ({share:.0%} in {tags[number]})"
