"""Seed words: topics that a person has in mind, each named and begun by some words.

A seed word w of topic k adds tokens to b_kw, the prior of the topic: --seed-weight of them, times
the *weight* of the word, which is 1 unless it is given. They are there in every draw, not in the
first assignment alone; the data outweigh them where they are many.
Seeded topics are the first, in the order in which they are given. (Lu, Ott, Cardie & Tsou 2011,
"Multi-aspect sentiment analysis with topic models", section 3.)

Seeds are a mapping from the names of topics to their words, each with its weight. ``econom*``
stands for all words that begin so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from unicodedata import normalize

import numpy as np

from topicmc.errors import UsageError
from topicmc.models.lda.priors.seed_settings import Seeds
from topicmc.samplers.row_prior import Additions
from topicmc.storage.fields import quoted

USUAL_SHARE = 1 / 200
_TOLD = 8  # words in a remark


def usual_weight(n_tokens: float, n_topics: int) -> float:
    """The tokens that a seed word brings unless it is said. With n tokens in a topic of mean size:
    n / 200, about what the twentieth of its likeliest words has, or √n where that is more, for
    fewer do not steer (bench/seeds.py)."""
    n = n_tokens / n_topics
    return float(max(1, round(max(USUAL_SHARE * n, n**0.5))))


@dataclass(frozen=True)
class SeedWords:
    """Seeds in the words of a vocabulary.

    Attributes:
        names: of the topics.
        weights: of each topic those of its words, by the number of the word.
        unknown: (topic, word) of what is in no vocabulary.
        nearest: words of the vocabulary that are spelled like some of these.
    """

    names: tuple[str, ...]
    weights: tuple[dict[int, float], ...]
    unknown: tuple[tuple[str, str], ...]
    nearest: Mapping[str, str]

    def additions(self, n_words: int, n_topics: int, usual: float) -> Additions:
        """What the seeds add to the prior of so many topics: ``usual`` tokens times the weight."""
        words = np.array(sorted(set().union(*self.weights)), np.int64)
        values = np.zeros((len(words), n_topics))
        for k, weights in enumerate(self.weights):
            rows = np.searchsorted(words, list(weights))
            values[rows, k] = usual * np.array(list(weights.values()))
        return Additions.of_words(words, values, n_words)

    def remark(self) -> str | None:
        """What there is to say of words that are not known, or None."""
        if not self.unknown:
            return None
        n = len(self.unknown)
        told = ", ".join(self._told(name, word) for name, word in self.unknown[:_TOLD])
        more = ", …" * (n > _TOLD)
        which = "1 seed word is" if n == 1 else f"{n} seed words are"
        return f"{which} not in the vocabulary and left out: {told}{more}"

    def _told(self, name: str, word: str) -> str:
        near = f"; nearest: {self.nearest[word]}" if word in self.nearest else ""
        return f"{word} ({name}{near})"


def found_in(seeds: Seeds, vocabulary: Sequence[str], *, lenient: bool = False) -> SeedWords:
    """Seeds in the words of a vocabulary: as they are spelled there, or else in lower case, and
    phrases joined by ``_`` as in corpora.

    Unless it is ``lenient``, raises UsageError, with the nearest words, when the vocabulary has
    none of the words of a topic.
    """
    places = {word: w for w, word in enumerate(vocabulary)}
    weights: list[dict[int, float]] = []
    unknown: list[tuple[str, str]] = []
    for name, words in seeds.items():
        mine: dict[int, float] = {}
        # A word that is named outweighs a pattern that it fits.
        for word in sorted(words, key=lambda word: "*" not in word):
            here = _fitting(word, places)
            mine |= dict.fromkeys(here, words[word])
            if not here:
                unknown.append((name, word))
        weights.append(mine)
    lacking = [name for name, mine in zip(seeds, weights, strict=True) if not mine]
    told = [word for name, word in unknown if not lacking or name in lacking][:_TOLD]
    found = SeedWords(tuple(seeds), tuple(weights), tuple(unknown), _nearest(told, vocabulary))
    if lacking and not lenient:
        which = ", ".join(found._told(name, word) for name, word in unknown if word in told)
        raise UsageError(
            f"--seeds: no seed word of topic {quoted(lacking[0])} is in the vocabulary: {which};"
            " correct them, or leave the topic out"
        )
    return found


def _fitting(word: str, places: Mapping[str, int]) -> list[int]:
    """The numbers of the words that are meant."""
    for spelling in _spellings(word):
        if "*" in spelling:
            first, *inner, last = map(re.escape, spelling.split("*"))
            parts = "".join(f"(?>.*?{part})" for part in inner)  # (?>: what is found stays
            pattern = re.compile(f"{first}{parts}.*{last}", re.DOTALL)
            here = [w for known, w in places.items() if pattern.fullmatch(known)]
        else:
            here = [places[spelling]] if spelling in places else []
        if here:
            return here
    return []


def _spellings(word: str) -> list[str]:
    composed = normalize("NFC", word.strip())
    ways = [word, composed, composed.lower(), "_".join(composed.lower().split())]
    return list(dict.fromkeys(ways))


def _nearest(words: Sequence[str], vocabulary: Sequence[str]) -> dict[str, str]:
    """For some words the one that is spelled most alike, where one is."""
    found = {}
    for word in words:
        bare = _spellings(word)[-1].replace("*", "")
        alike = [w for w in vocabulary if w[:1] == bare[:1] and abs(len(w) - len(bare)) <= 3]
        close = get_close_matches(bare, alike, n=1, cutoff=0.7)
        if close:
            found[word] = close[0]
    return found
