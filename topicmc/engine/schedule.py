"""Who works where, for how long, and on which minibatch: pure arithmetic, no state.

Everything here is a function of its arguments alone, so every rank computes the same answer without
a message, and a resumed run finds its place from counters. Ahn, Shahbaba & Welling (2014),
"Distributed stochastic gradient MCMC", section 3.2 and Algorithm 1.
"""

import hashlib
import itertools
import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike


def _words(n: int, *name: object) -> np.ndarray:
    """n uint64 of hash output that `name` alone decides."""
    digest = hashlib.shake_256("/".join(map(str, name)).encode()).digest(8 * n)
    return np.frombuffer(digest, "<u8")


# --- chains to workers ----------------------------------------------------------------------------


def worker_of(
    schedule: str, round: int, n_chains: int, n_workers: int, seed: int
) -> tuple[int, ...]:
    """The worker of each chain in a round: no two chains share one.

    ``rotate`` is the cyclic rotation, by `turn`; ``permute`` a random permutation that `seed` and
    `round` decide, in which no chain stays where it was (unless there is but one worker). Either
    way a chain visits all workers equally often in the long run, as Corollary 3.3 asks.
    """
    if schedule == "permute":
        return _permutation(round, n_workers, seed)[:n_chains]
    return tuple((chain + turn(round, n_workers)) % n_workers for chain in range(n_chains))


def turn(round: int, n: int) -> int:
    """How many places a chain has moved on in a round, modulo n.

    In a cycle of n rounds it comes to each of n places. A hash of the number of the cycle says
    where that begins. If all began at the same place, a chain would always be there when its state
    is kept: after numbers of rounds that n = 2, 4, 8 … divides.
    """
    cycle, turned = divmod(round, n)
    return (int(_words(1, "rotate", cycle)[0]) if cycle else 0) + turned


@lru_cache(maxsize=64)
def _permutation(round: int, n: int, seed: int) -> tuple[int, ...]:
    """Even rounds are free and each odd one keeps clear of both its neighbours: thus no round needs
    the history before it. Such an odd round exists: with n ≥ 4, what two permutations leave free
    has n − 2 ≥ n / 2 choices in each row and column (Hall); n = 3 is kept to the cyclic shifts,
    which leave one; n ≤ 2 has no choice at all."""
    if n <= 2:
        return tuple((i + round) % n for i in range(n))
    taken = [_permutation(r, n, seed) for r in (round - 1, round + 1) if round % 2 and r >= 0]
    attempt = 0
    while True:
        drawn = _words(n, seed, "permute", round, attempt)
        if n == 3:
            candidate = tuple((i + int(drawn[0] % 3)) % 3 for i in range(3))
        else:
            candidate = tuple(np.argsort(drawn, kind="stable").tolist())
        if not any(a == b for other in taken for a, b in zip(candidate, other, strict=True)):
            return candidate
        attempt += 1


def split_groups(n_chains: int, n_groups: int) -> list[list[int]]:
    """Chains in so many consecutive groups of near-equal sizes.

    One group couples all chains (D-CC), groups of one none (D-CI), others are D-Hybrid.
    """
    edges = [n_chains * g // n_groups for g in range(n_groups + 1)]
    return [list(range(first, last)) for first, last in itertools.pairwise(edges)]


# --- trajectory lengths ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """What each worker does per visit: τ_s updates, at shard-selection frequency q_s = τ_s / Σ τ.

    q_s comes from the rounded lengths, as these are what the chains really do.
    """

    trajectory: tuple[int, ...]

    def __post_init__(self) -> None:
        if min(self.trajectory, default=0) < 1:
            raise ValueError(f"trajectories must be at least 1: {self.trajectory}")

    @property
    def selection_freq(self) -> tuple[float, ...]:
        total = sum(self.trajectory)
        return tuple(length / total for length in self.trajectory)


def ideal_trajectories(delays: ArrayLike, mean_trajectory: float) -> np.ndarray:
    """τ_s = τ̄ S d_s^{-1} / Σ_z d_z^{-1} (section 3.2.2), real-valued, float64 (S,).

    `delays` are seconds per update, or anything proportional to them; ValueError unless positive.
    """
    seconds = np.asarray(delays, np.float64)
    if not (np.isfinite(seconds).all() and (seconds > 0).all()):
        raise ValueError(f"delays must be positive and finite: {seconds.tolist()}")
    speeds = 1 / seconds
    return mean_trajectory * len(speeds) * speeds / speeds.sum()


def plan_trajectories(delays: ArrayLike, mean_trajectory: float) -> Plan:
    """The trajectories in whole updates: each ≥ 1, in sum the whole number nearest to τ̄ S (or S,
    if that is more), so that the longest is done as soon as possible: a worker that makes three
    updates while others make seventeen is not given a fourth. Equal delays give the plan of an
    unbalanced run."""
    ideal = ideal_trajectories(delays, mean_trajectory)
    seconds = np.asarray(delays, np.float64)
    lengths = np.maximum(1, np.floor(ideal)).astype(np.int64)
    total = max(len(ideal), math.floor(mean_trajectory * len(ideal) + 0.5))
    while lengths.sum() < total:  # who would be done first; among those, who lacks most
        lengths[np.lexsort((lengths - ideal, (lengths + 1) * seconds))[0]] += 1
    while lengths.sum() > total:  # lengths below 1 were lifted to 1: others give way
        lengths[np.argmax(np.where(lengths > 1, lengths * seconds, -np.inf))] -= 1
    return Plan(tuple(lengths.tolist()))


def smooth_delays(old: ArrayLike | None, measured: ArrayLike, weight: float = 0.3) -> np.ndarray:
    """Exponentially smoothed delays, float64 (S,); NaN in `measured` (a worker that no chain
    visited) keeps the old value. With no old ones, unmeasured workers get the median."""
    new = np.array(measured, np.float64)
    if old is None:
        known = new[~np.isnan(new)]
        return np.where(np.isnan(new), np.median(known) if len(known) else 1.0, new)
    before = np.asarray(old, np.float64)
    return np.where(np.isnan(new), before, (1 - weight) * before + weight * new)


def should_replan(old: ArrayLike, new: ArrayLike, threshold: float = 0.1) -> bool:
    """Whether some worker's share of the speed has changed by more than `threshold` (relative)
    since the delays `old` that the present plan rests on. A slowdown of all alike changes nothing.
    """
    ratio = ideal_trajectories(new, 1.0) / ideal_trajectories(old, 1.0)
    return bool(np.abs(np.log(ratio)).max() > math.log1p(threshold))


# --- the order of documents -----------------------------------------------------------------------


def batch_items(seed: int, worker: int, position: int, n_docs: int, batch_size: int) -> np.ndarray:
    """Documents of a worker's minibatch number `position`: int64 (min(batch_size, n_docs),).

    Documents come without replacement in passes, each in a new random order that (seed, worker,
    pass) decides. A pass ends with its last whole batch: what is left over is a random part of the
    documents, so each batch is a uniform sample, has one size, and no document twice. O(batch)
    time and memory; the counter alone resumes it.
    """
    size = min(batch_size, n_docs)
    sweep, batch = divmod(position, n_docs // size)
    name = (seed, "batch", worker, sweep)
    if n_docs < _SMALL:
        return np.argsort(_words(n_docs, *name), kind="stable")[batch * size : (batch + 1) * size]
    places = np.arange(batch * size, (batch + 1) * size, dtype=np.uint64)
    return _shuffled(places, n_docs, _words(_ROUNDS, *name))


_SMALL = 1 << 11  # Feistel networks over a few bits have halves too short to mix
_ROUNDS = 8


def _shuffled(places: np.ndarray, n: int, keys: np.ndarray) -> np.ndarray:
    """Images of `places` (uint64 (m,), below n) under a keyed permutation of 0 … n − 1, int64 (m,),
    as `topicmc.kernels.shuffle` has it."""
    from topicmc.kernels.shuffle import shuffle  # not where schedules are only named

    bits = max(1, (n - 1).bit_length())
    images = np.empty(len(places), np.int64)
    shuffle(places, np.uint64(n), bits // 2, bits - bits // 2, keys, images)
    return images
