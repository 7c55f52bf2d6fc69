"""What another interpreter compiles for chains of topics: on an empty cache the moves of a sampler
take up to as long as what draws."""

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext

import numpy as np

from topicmc.host.elsewhere import compiled_elsewhere
from topicmc.kernels.threads import Threads
from topicmc.samplers.registry import sampler_of
from topicmc.samplers.row_prior import RowPrior
from topicmc.samplers.state import Chain, TopicCounts


def compiling_moves(
    samplers: Iterable[str], n_workers: int, prior: RowPrior
) -> AbstractContextManager[None]:
    """Has another interpreter compile the moves of all words by samplers of these names, while the
    block compiles what draws. Not among several workers, which keep the cores busy, nor under a
    prior with additions, for which other kernels are compiled."""
    names = tuple(dict.fromkeys(samplers))
    kernel = getattr(sampler_of(names[0]).whole(), "kernel", None)
    if n_workers > 1 or prior.additions is not None or kernel is None:
        return nullcontext()
    return compiled_elsewhere(kernel, compile_moves, *names)


def compile_moves(*samplers: str) -> None:
    """Compiles the kernels of a move under a prior that is one number."""
    for name in samplers:
        theta = np.ones((2, 16), np.float32)
        chain = Chain(0, theta, np.full(theta.shape[1], float(len(theta))))
        counts = TopicCounts(np.arange(len(theta), dtype=np.int32), np.zeros_like(theta))
        sampler = sampler_of(name).whole()(RowPrior(0.1))
        sampler.move(chain, counts, scale=1.0, step=0.1, key=np.uint64(0), threads=Threads())
