"""How far two mixtures agree on the groups of documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from topicmc.models.mixture.matching import FOUND, adjusted_rand, pairs
from topicmc.models.mixture.reading import variation_of_information
from topicmc.posterior.thinning import evenly
from topicmc.topics.compare.models import MixtureModel
from topicmc.topics.compare.pairing import WORDS
from topicmc.topics.ranking import top

_MOST = 16  # samples of a run that are compared


@dataclass(frozen=True)
class GroupPair:
    """A group of the first mixture and the one of another that it is paired with, None where none
    is left; their Jaccard index, documents in both over documents in either; how many documents
    and which likeliest words they have."""

    first: int
    other: int | None
    jaccard: float
    first_documents: int
    other_documents: int
    first_words: tuple[str, ...]
    other_words: tuple[str, ...]


@dataclass(frozen=True)
class Grouping:
    """The groups of the first mixture beside those of another.

    name                      of the other
    adjusted_rand             index of their central samples; 1 where they are the same, 0 by chance
    variation_of_information  of these, in nats
    between                   mean adjusted Rand index of a sample of one and a sample of the other
    within                    of two samples of the first, and of the other; None of a single one
    found                     groups of the first with a Jaccard index of at least `limit`
    limit                     `topicmc.models.mixture.matching.FOUND`
    pairs                     of groups, most alike first
    """

    name: str
    adjusted_rand: float
    variation_of_information: float
    between: float
    within: tuple[float | None, float | None]
    found: int
    limit: float
    pairs: tuple[GroupPair, ...]


def grouping(first: MixtureModel, other: MixtureModel) -> Grouping:
    """How far two mixtures of the same documents agree."""
    one, two = first.groups, other.groups
    paired = pairs(one.groups, two.groups)
    words = [_words(model) for model in (first, other)]
    told = [
        GroupPair(
            first=k,
            other=None if to < 0 else to,
            jaccard=float(paired.jaccard[k]),
            first_documents=int(one.sizes[k]),
            other_documents=0 if to < 0 else int(two.sizes[to]),
            first_words=words[0][k],
            other_words=() if to < 0 else words[1][to],
        )
        for k, to in enumerate(paired.to.tolist())
    ]
    mine, theirs = (
        [model.partitions[i] for i in evenly(len(model.partitions), _MOST)]
        for model in (first, other)
    )
    return Grouping(
        name=other.name,
        adjusted_rand=adjusted_rand(one.groups, two.groups),
        variation_of_information=variation_of_information(one.groups, two.groups),
        between=float(np.mean([adjusted_rand(a, b) for a, b in product(mine, theirs)])),
        within=(_within(mine), _within(theirs)),
        found=int((paired.jaccard >= FOUND).sum()),
        limit=FOUND,
        pairs=tuple(sorted(told, key=lambda pair: -pair.jaccard)),
    )


def _words(model: MixtureModel) -> list[tuple[str, ...]]:
    return [tuple(model.words[w] for w in row) for row in top(model.phi, WORDS)]


def _within(partitions: Sequence[np.ndarray]) -> float | None:
    found = [adjusted_rand(a, b) for a, b in combinations(partitions, 2)]
    return float(np.mean(found)) if found else None
