"""The state of a chain: groups of documents, sticks and words of groups."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from topicmc.corpora import Documents
from topicmc.kernels import mixture as kernels
from topicmc.kernels.mixture import Bags

MOST_TOKENS = 2**31 - 1
"""Of a corpus: those of a word in a group are counted in int32."""


@dataclass
class Mixture:
    """A chain of J sticks, up to the last that has a document.

    index    of the chain
    groups   int32 (D,), the group of each document, below J
    alpha    concentration
    beta     prior of words
    x, y     float64 (J,), sticks v = X / (X + Y)
    weights  float64 (J, W), T: θ is T / Σ T
    update   updates so far
    sizes    int64 (J,), documents of each group
    words    int32 (J, W), their tokens by word
    """

    index: int
    groups: np.ndarray
    alpha: float
    beta: float
    x: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    update: int = 0
    sizes: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    words: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), np.int32))

    def count(self, documents: Documents) -> None:
        """Makes the counts those of the groups."""
        self.sizes = np.zeros(len(self.x), np.int64)
        self.words = np.zeros(self.weights.shape, np.int32)
        everyone = np.arange(len(self.groups))
        kernels.add_docs(bags_of(documents), everyone, self.groups, 1, self.words, self.sizes)

    def resize(self, n: int) -> None:
        """Gives the counts n groups; those that go must be empty."""
        more = max(0, n - len(self.sizes))
        self.sizes = np.pad(self.sizes, (0, more))[:n]
        self.words = np.pad(self.words, ((0, more), (0, 0)))[:n]

    def drop_last(self) -> None:
        """Leaves the sticks beyond the last group that has a document."""
        n = int(np.flatnonzero(self.sizes)[-1]) + 1
        self.x, self.y, self.weights = self.x[:n], self.y[:n], self.weights[:n]
        self.sizes, self.words = self.sizes[:n], self.words[:n]

    @property
    def n_groups(self) -> int:
        """How many groups have a document."""
        return int(np.count_nonzero(self.sizes))

    def log_weights(self) -> tuple[np.ndarray, float]:
        """log ω, float64 (J,), and the logarithm of what is left for groups yet unseen."""
        out = np.empty(len(self.x))
        left = kernels.log_weights(self.x, self.y, out)
        return out, left


def bags_of(documents: Documents) -> Bags:
    """Documents as kernels take them: in memory, and writable, as the compiled types are. Those
    that are so already are not copied."""
    arrays = documents.indptr, documents.word_ids, documents.counts
    return Bags(*(np.require(array, requirements=["C", "W", "E"]) for array in arrays))
