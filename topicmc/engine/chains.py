"""Chains as plain arrays: handed over to the next worker, averaged in groups, and saved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from topicmc.engine.transport.base import Groups, State, Transport
from topicmc.kernels.threads import Threads
from topicmc.samplers import Chain, sum_topics
from topicmc.storage.runs import Checkpoint


class MadeToBeRead(Mapping[int, Chain]):
    """Chains by their numbers, each made when it is looked up, so that readers who let go of one
    before the next have no more than one in memory.

    Args:
        numbers: of the chains.
        make: a chain, to be read, by its number.
    """

    def __init__(self, numbers: Sequence[int], make: Callable[[int], Chain]) -> None:
        self._numbers = numbers
        self._make = make

    def __getitem__(self, number: int) -> Chain:
        if number not in self._numbers:
            raise KeyError(number)
        return self._make(number)

    def __iter__(self) -> Iterator[int]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)


def hand_over(
    chains: Mapping[int, Chain], transport: Transport, before: Sequence[int], after: Sequence[int]
) -> dict[int, Chain]:
    """The hosted chains, by worker, when each has gone from worker ``before[i]`` to ``after[i]``.

    Chains must be up to date, and belong to the transport from then on. Collective.
    """
    held: dict[int, State] = {
        worker: (
            chain.theta,
            chain.topic_sums,
            np.array([chain.index, chain.update]),
            _beside(chain),
        )
        for worker, chain in chains.items()
    }
    moved = transport.route(held, list(zip(before, after, strict=True)))
    return {
        worker: _with(Chain(int(header[0]), theta, topic_sums, int(header[1])), rest)
        for worker, (theta, topic_sums, header, rest) in moved.items()
    }


def average(
    chains: Mapping[int, Chain], transport: Transport, groups: Groups, threads: Threads
) -> None:
    """Gives the hosted chains of each group, named by worker, the mean of its states.

    Chains must be up to date. Collective.
    """
    thetas = {worker: chain.theta for worker, chain in chains.items()}
    rests = {worker: _beside(chain) for worker, chain in chains.items()}
    transport.average(thetas, groups)
    transport.average(rests, groups)
    for worker, chain in chains.items():
        chain.topic_sums = sum_topics(chain.theta, threads)
        _with(chain, rests[worker])


def arrays(chains: Iterable[Chain]) -> dict[str, np.ndarray]:
    """What a checkpoint must hold of some chains, by file name."""
    saved: dict[str, np.ndarray] = {}
    for chain in chains:
        number = f"{chain.index:03d}"
        saved |= {f"theta-{number}": chain.theta, f"beside-{number}": _beside(chain)}
        if chain.moved_at is not None:
            saved |= {f"moved-{number}": chain.moved_at, f"sums-{number}": chain.topic_sums}
    return saved


def facts(chains: Iterable[Chain]) -> dict[str, dict[str, Any]]:
    """The numbers that go with `arrays`, as JSON values, by the chain's number."""
    return {
        str(chain.index): {
            "update": chain.update,
            "clock": chain.clock,
            "waiting": chain.moved_at is not None,
        }
        for chain in chains
    }


def restored(
    number: int,
    facts: Mapping[str, Any],
    checkpoint: Checkpoint,
    threads: Threads,
    shape: tuple[int, int],
) -> Chain:
    """A chain as a checkpoint holds it, with its part of the `facts`; ValueError unless its θ is
    float32 (W, K) of this shape, and all else fits."""
    theta = _fitting(checkpoint, f"theta-{number:03d}", np.float32, shape)
    chain = Chain(number, theta, np.zeros(0), facts["update"], facts["clock"])
    if facts["waiting"]:
        chain.moved_at = _fitting(checkpoint, f"moved-{number:03d}", None, shape[:1])
        chain.topic_sums = _fitting(checkpoint, f"sums-{number:03d}", np.float64, shape[1:])
    else:
        chain.topic_sums = sum_topics(theta, threads)
    beside = _fitting(checkpoint, f"beside-{number:03d}", np.float64, (2 * shape[1] + 1,))
    return _with(chain, beside)


def _fitting(
    checkpoint: Checkpoint, key: str, dtype: np.typing.DTypeLike | None, shape: tuple[int, ...]
) -> np.ndarray:
    array = checkpoint.array(key)
    if array.shape != shape or array.dtype != (dtype or array.dtype):
        raise ValueError(f"{key} is {array.dtype} {array.shape}, not {shape}")
    return array


def _beside(chain: Chain) -> np.ndarray:
    """What belongs to a chain beside θ: α, the topics' shares, β; float64 (2K + 1,)."""
    return np.concatenate([chain.alpha, chain.share, [chain.beta]])


def _with(chain: Chain, rest: np.ndarray) -> Chain:
    """The chain itself, with what `_beside` said."""
    chain.alpha, chain.share, last = np.split(rest, [len(rest) // 2, len(rest) - 1])
    chain.beta = float(last[0])
    return chain
