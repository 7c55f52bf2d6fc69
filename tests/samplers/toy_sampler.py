"""A sampler with a state of its own, added as CONTRIBUTING.md says: SCIR that keeps how far each
weight moved last (and makes nothing of it)."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from topicmc.engine.state import Array
from topicmc.samplers.eager import Eager
from topicmc.samplers.lazy import LazyScir
from topicmc.samplers.row_prior import RowPrior
from topicmc.samplers.scir import Scir
from topicmc.samplers.state import Chain


@dataclass
class MovedChain(Chain):
    moved: Annotated[np.ndarray | None, Array(np.float32, "W", "K")] = None


@dataclass(frozen=True)
class Toy(Eager):
    prior: RowPrior
    state: ClassVar[type[Chain]] = MovedChain
    start: ClassVar[str] = "plain"
    free_scale: ClassVar[bool] = False
    tokens_per_move: ClassVar[float] = 1.0
    paper: ClassVar[str] = "A toy."
    initial_total = staticmethod(LazyScir.initial_total)
    steps = staticmethod(LazyScir.steps)

    def move(self, chain, counts, **how):
        before = chain.theta.copy()
        finite = Scir(self.prior).move(chain, counts, **how)
        chain.moved = chain.theta - before
        return finite
