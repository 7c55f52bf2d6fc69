"""Whether the data accepted the seed words of topics.

It is asked of the tokens alone: what the seeds have added to the prior is taken away again. With φ
of a sample, N_k tokens of a topic and the sum B_k of its prior,

    n_kw = φ_kw (N_k + B_k) − b_kw,

the number of tokens where their topics are kept, and else the expected number. A word is accepted
by a topic that has more of its tokens than any topic that it does not seed; else it is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.samples import beta_of, samples_of, share_of
from topicmc.models.lda.seeds import found_in


@dataclass(frozen=True)
class SeedWord:
    """A word that was named for a topic.

    Attributes:
        topic: its number.
        share: of the word's tokens in the topic, in the mean over the samples of the first chain;
            None if it has none at all.
        accepted: whether the data put it there; None if it has no tokens.
        elsewhere: the number of the topic with most of the word's tokens among those that it does
            not seed, and their share.
    """

    word: str
    topic: int
    share: float | None
    accepted: bool | None
    elsewhere: tuple[int, float] | None

    def as_dict(self) -> dict[str, Any]:
        """As JSON values."""
        told = {"word": self.word, "share": self.share, "accepted": self.accepted}
        if self.elsewhere is None:
            return told
        return {**told, "elsewhere": {"topic": self.elsewhere[0], "share": self.elsewhere[1]}}


def seed_words(run: TopicRun) -> dict[int, list[SeedWord]]:
    """The seed words of a run or view, by the number of their topic; none of a run without seeds.
    Of topics that a view has dropped nothing is said.

    Raises DataError when the run has no samples yet, or a file of theirs is damaged.
    """
    seeds = run.facts()["config"].get("seeds")
    if not seeds:
        return {}
    vocabulary = run.vocabulary()
    found = found_in(seeds, vocabulary)
    column = {number: place for place, number in enumerate(run.numbers)}
    homes = [run.view.home(k) if run.view else k for k in range(len(found.names))]
    here = [
        (k, list(words)) for k, words in zip(homes, found.weights, strict=True) if k is not None
    ]
    rows = np.array(sorted(set().union(*found.weights)), np.int64)
    shares = _shares(run, rows)
    own = np.zeros(shares.shape, bool)
    for k, words in here:
        own[np.searchsorted(rows, words), column[k]] = True
    told: dict[int, list[SeedWord]] = {}
    for k, words in here:
        for w, row in zip(words, np.searchsorted(rows, words), strict=True):
            rivals = np.where(own[row], 0.0, shares[row])
            share, rival = float(shares[row, column[k]]), int(rivals.argmax())
            known = bool(shares[row].any())
            told.setdefault(k, []).append(
                SeedWord(
                    vocabulary[w],
                    k,
                    share if known else None,
                    bool(share > rivals[rival]) if known else None,
                    (run.numbers[rival], float(rivals[rival])) if known else None,
                )
            )
    return told


def _shares(run: TopicRun, words: np.ndarray) -> np.ndarray:
    """Of the tokens of some words the share of each topic: float64 (n, topics), zero for words that
    have none."""
    n_tokens, n_words = run.facts()["corpus"]["tokens"], len(run.vocabulary())
    total = np.zeros(())
    for entry in samples_of(run, 0):
        theta = run.read_sample(entry)
        prior = run.prior(beta_of(run, entry))
        sizes = share_of(run, entry, theta) * n_tokens + prior.totals(n_words, theta.shape[1])
        phi = theta[words] / theta.sum(axis=0, dtype=np.float64)
        b = prior.base + (0.0 if prior.additions is None else prior.additions.of(words))
        total = total + (phi * sizes - b)
    counts = np.maximum(total, 0.0)
    sums = counts.sum(axis=1, keepdims=True)
    return counts / np.where(sums > 0, sums, 1.0)


def sentences(words: dict[int, list[SeedWord]], tags: dict[int, str]) -> list[str]:
    """What became of the seed words, a line a topic; ``tags`` are what topics are called."""
    lines = []
    for topic, seeds in words.items():
        taken = [f"{seed.word} {seed.share:.0%}" for seed in seeds if seed.accepted]
        line = f"{tags[topic]}: " + (", ".join(taken) if taken else "none accepted")
        refused = [_refused(seed, tags) for seed in seeds if seed.accepted is False]
        lines.append(line + (f"; refused: {', '.join(refused)}" if refused else ""))
    return lines


def _refused(seed: SeedWord, tags: dict[int, str]) -> str:
    assert seed.elsewhere is not None
    number, share = seed.elsewhere
    return f"{seed.word} {seed.share:.0%} ({share:.0%} in {tags[number]})"
