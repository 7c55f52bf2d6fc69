"""The samplers there are, by the name that --sampler has."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    import numpy as np

    from topicmc.kernels.threads import Threads
    from topicmc.samplers.state import Chain, TopicCounts

SAMPLERS = {
    "scir": "topicmc.samplers.lazy:LazyScir",
    "sgrld": "topicmc.samplers.sgrld:Sgrld",
}
"""The place of each, loaded when it is used: kernels are slow to import."""


class Sampler(Protocol):
    """A move of all words, or of those of a minibatch while the others wait."""

    state: ClassVar[type[Chain]]
    """What a chain of it holds."""
    start: ClassVar[str]
    """How a chain begins unless told otherwise."""
    waits: ClassVar[bool]
    """Whether words that are not in a minibatch wait."""
    free_scale: ClassVar[bool]
    """Whether Σ_w θ_wk has a law of its own, which says nothing of φ."""
    tokens_per_move: ClassVar[float]
    """With kept assignments: tokens drawn for each weight that is moved."""
    paper: ClassVar[str]
    """Its source, as a report cites it."""

    @classmethod
    def whole(cls) -> type[Any]:
        """The sampler that moves all words, given counts of the whole corpus."""

    @staticmethod
    def initial_total(beta: float, n_words: int, n_topics: int, n_tokens: int) -> float:
        """Σ_w θ_wk of a new chain."""

    @staticmethod
    def steps(total: float, n_topics: int, n_tokens: int, *, kept: bool) -> tuple[float, ...]:
        """a, b and c of the step size, for a chain of that total, on minibatches or with kept
        assignments."""

    def refresh(self, chain: Chain, words: np.ndarray, *, key: np.uint64, threads: Threads) -> None:
        """Brings the words of a minibatch up to date, in place, before their counts are drawn."""

    def move(
        self, chain: Chain, counts: TopicCounts, *, scale: float, step: float, key: np.uint64,
        threads: Threads,
    ) -> bool:  # fmt: skip
        """One update of the chain, in place; False where it has diverged, so that a topic's sum is
        no longer finite and positive."""

    def settle(self, chain: Chain, *, key: np.uint64, threads: Threads) -> None:
        """Brings all words up to date, in place."""


def sampler_of(name: str) -> type[Sampler]:
    """The sampler of a name."""
    module, _, attribute = SAMPLERS[name].partition(":")
    return getattr(import_module(module), attribute)
