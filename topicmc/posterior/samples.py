"""Which states of a chain are kept as posterior samples, and what they average to.

The kept samples of a run that has made r rounds are those of the rounds in (r/2, r] that are
multiples of a stride; the stride doubles as r grows, so that between half of ``samples`` and all of
them are kept. The first half of the run is burn-in, at whatever moment it is read, and the choice
depends on r alone: not on the clock, the number of threads, or an interruption. States of an
annealed start are no samples of the posterior. The newest that was saved, marked ``burn_in``,
stands in until there is a sample proper.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from topicmc.errors import DataError, UsageError
from topicmc.runs import RunDirectory

if TYPE_CHECKING:
    from topicmc.distributed.methods import Method
    from topicmc.distributed.transport import Transport
    from topicmc.samplers import Chain


def stride(round_number: int, samples: int) -> int:
    """The smallest power of two with at most ``samples`` of its multiples in (r/2, r]."""
    result = 1
    while round_number // result - round_number // 2 // result > samples:
        result *= 2
    return result


def is_kept(round_number: int, now: int, samples: int) -> bool:
    """Whether the state after ``round_number`` is kept when ``now`` rounds have been made."""
    return now // 2 < round_number <= now and round_number % stride(now, samples) == 0


def _state(chain: Chain) -> dict[str, Any]:
    """What belongs to a sample beside θ, as JSON values."""
    arrays = {"alpha": chain.alpha, "share": chain.share}
    return {name: array.tolist() for name, array in arrays.items() if array is not None}


class KeptSamples:
    """The index of kept samples, the same on every process; each writes those of its own chains."""

    def __init__(self, run: RunDirectory, transport: Transport, n_samples: int) -> None:
        self._run = run
        self._transport = transport
        self._n_samples = n_samples
        self._entries: list[dict[str, Any]] = []

    def at(self, number: int) -> list[dict[str, Any]]:
        """Index entries of the samples kept when ``number`` rounds have been made; stand-ins are
        none."""
        proper = [entry for entry in self._entries if not entry["burn_in"]]
        return [entry for entry in proper if is_kept(entry["round"], number, self._n_samples)]

    def keep(self, method: Method) -> None:
        """Writes the states of a method as samples, if those of its round are to be kept."""
        number = method.round_number
        if not method.burning_in and is_kept(number, number, self._n_samples):
            self._write(method, burn_in=False)
            self.prune(number)

    def stand_in(self, method: Method) -> None:
        """Writes the states of a method in place of samples, while there are none."""
        if method.round_number > 0 and not self.at(method.round_number):
            self._entries = []
            self._write(method, burn_in=True)
            self.prune(method.round_number)

    def _write(self, method: Method, burn_in: bool) -> None:
        number = method.round_number
        distinct = method.distinct()
        mine = [
            {
                **self._run.keep_sample(chain.index, number, chain.theta),
                "burn_in": burn_in,
                **_state(chain),
            }
            for chain in method.chains.values()
            if chain.index in distinct
        ]
        self._entries += [entry for part in self._transport.exchange(mine) for entry in part]

    def prune(self, number: int) -> None:
        """Forgets, here and on disk, what is no longer kept."""
        self._entries = self.at(number) or [e for e in self._entries if e["burn_in"]]
        if self._transport.is_root:
            self._run.write_sample_index(self._entries)

    def rewind(self, number: int) -> None:
        """Forgets what was drawn after a round: a resumed run draws it again."""
        entries = self._run.sample_index()
        self._entries = [entry for entry in entries if entry["round"] <= number]
        self._transport.barrier()
        if self._transport.is_root:
            self._run.write_sample_index(self._entries)


class PosteriorMean(NamedTuple):
    """The mean over the kept samples of one chain."""

    phi: np.ndarray
    """Topics: float64 (K, W), rows sum to one."""
    share: np.ndarray
    """Each topic's share of the tokens: float64 (K,), sums to one."""
    alpha: np.ndarray
    """The prior of the topic mixes: float64 (K,)."""


def samples_of(run: RunDirectory, chain: int | None = None) -> list[dict[str, Any]]:
    """Index entries of the samples to read, oldest first: of one chain, or of all.

    Raises UsageError when the run has no such chain, DataError when it has no samples yet.
    """
    index = run.sample_index()
    if not index:
        raise DataError(
            f"{run.path}: no samples yet; train on (topicmc train -o {run.path} --resume)"
        )
    entries = [entry for entry in index if chain in (None, entry["chain"])]
    if not entries:
        chains = ", ".join(str(number) for number in sorted({entry["chain"] for entry in index}))
        raise UsageError(f"--chain {chain}: the run in {run.path} has samples of {chains} only")
    return entries


def phi_of(theta: np.ndarray) -> np.ndarray:
    """Topics of one sample θ (W, K): float64 (K, W), C-contiguous, rows sum to one."""
    phi = np.ascontiguousarray(theta.T, np.float64)
    phi /= phi.sum(axis=1, keepdims=True)
    return phi


def share_of(entry: Mapping[str, Any], theta: np.ndarray) -> np.ndarray:
    """Each topic's share of the tokens under one sample: float64 (K,), sums to one."""
    share = entry.get("share")
    sizes = theta.sum(axis=0, dtype=np.float64) if share is None else np.array(share)
    return sizes / sizes.sum()


def alpha_of(run: RunDirectory, entry: Mapping[str, Any]) -> np.ndarray:
    """The prior of the topic mixes that belongs to one sample: float64 (K,)."""
    config = run.facts()["config"]
    alpha = entry.get("alpha")
    return np.full(config["topics"], config["alpha"]) if alpha is None else np.array(alpha)


def posterior_mean(run: RunDirectory, chain: int = 0) -> PosteriorMean:
    """The mean over the kept samples of one chain.

    Chains number their topics on their own, so samples are averaged within one chain only.

    Raises UsageError when the run has no such chain, DataError when it has no samples yet or a
    file of theirs is damaged.
    """
    entries = samples_of(run, chain)
    phi = share = np.zeros(())
    for entry in entries:
        theta = run.read_sample(entry)
        phi = phi + phi_of(theta)
        share = share + share_of(entry, theta)
    phi /= phi.sum(axis=1, keepdims=True)
    alpha = np.mean([alpha_of(run, entry) for entry in entries], axis=0)
    return PosteriorMean(phi, share / share.sum(), alpha)
