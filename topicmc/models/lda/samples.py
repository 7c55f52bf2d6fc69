"""Which states of a chain are kept as posterior samples, and what they average to.

A state is kept by its position (`topicmc.posterior.thinning`), if it is a posterior sample. States
of the start are none, and averages of chains are none. The newest state that was saved, marked
``burn_in``, stands in until there is a sample proper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from topicmc.errors import DataError, UsageError
from topicmc.posterior.thinning import is_kept, reached
from topicmc.storage.runs import RunDirectory

if TYPE_CHECKING:
    from topicmc.engine.method import Method
    from topicmc.engine.transport.base import Transport
    from topicmc.samplers import Chain

Entry = dict[str, Any]
_ENTRIES = 1 << 18  # of a matrix that are added up at a time


def _state(chain: Chain) -> dict[str, Any]:
    """What belongs to a sample beside θ, as JSON values."""
    arrays = {"alpha": chain.alpha, "share": chain.share}
    state = {name: array.tolist() for name, array in arrays.items() if array is not None}
    return state if chain.beta is None else {**state, "beta": float(chain.beta)}


class KeptSamples:
    """The index of kept samples, the same on every process; each writes those of its own chains.

    Args:
        run: where they are written.
        transport: who else writes.
        n_samples: how many to keep of a chain, at most.
        n_tokens: of the corpus, by which θ is stored as precisely as it is known.
    """

    def __init__(
        self, run: RunDirectory, transport: Transport, n_samples: int, n_tokens: int
    ) -> None:
        self._run = run
        self._transport = transport
        self._n_samples = n_samples
        self._n_tokens = n_tokens
        self._entries: list[Entry] = []
        self._position = 0

    @property
    def entries(self) -> list[Entry]:
        """Index entries of the posterior samples that are kept now; stand-ins are none."""
        return [entry for entry in self._entries if not entry["burn_in"]]

    def keep(self, method: Method, round_number: int) -> None:
        """Writes the states of a method as samples, if it has come to a position to be kept."""
        before, self._position = self._position, method.position
        if self._position == before:
            return
        position = reached(before, self._position)
        if not method.burning_in and is_kept(position, self._position, self._n_samples):
            new = self._write(method, position, round_number, burn_in=False)
            self._replace([*self.entries, *new])
        else:
            self._replace(self.entries or self._entries)

    def stand_in(self, method: Method, round_number: int) -> None:
        """Writes the states of a method in place of samples, while there are none."""
        if round_number > 0 and not self.entries:
            self._replace(self._write(method, method.position, round_number, burn_in=True))

    def _write(
        self, method: Method, position: int, round_number: int, *, burn_in: bool
    ) -> list[Entry]:
        held, mine = method.chains, []
        for number in held:
            if number in method.distinct():
                chain = held[number]
                entry = self._write_theta(chain, round_number)
                mine.append({**entry, "position": position, "burn_in": burn_in, **_state(chain)})
                del chain  # before the next is made
        return [entry for part in self._transport.exchange(mine) for entry in part]

    def _write_theta(self, chain: Chain, round_number: int) -> Entry:
        place = chain.index, round_number, chain.theta
        if chain.of_counts:
            return self._run.keep_sample(*place, beta=chain.beta)
        # No weight has more tokens behind it than its share of its topic's.
        shares = chain.theta.max(axis=0) / chain.topic_sums
        sizes = self._n_tokens if chain.share is None else self._n_tokens * chain.share
        return self._run.keep_sample(*place, most_tokens=float((shares * sizes).max()))

    def _replace(self, entries: list[Entry]) -> None:
        """Makes some entries the index, here and on disk, but for those that time has passed by."""
        before = self._entries
        self._entries = [
            entry
            for entry in entries
            if entry["burn_in"] or is_kept(entry["position"], self._position, self._n_samples)
        ]
        if self._transport.is_root and self._entries != before:
            self._run.write_sample_index(self._entries, [entry["file"] for entry in before])

    def rewind(self, method: Method) -> None:
        """Forgets what was drawn after the state that a method has gone back to, and what by its
        settings is no sample: a resumed run draws it again. Collective."""
        self._position = method.position
        self._entries = [
            {"position": method.position_of_round(entry["round"]), "burn_in": False, **entry}
            for entry in self._run.sample_index()
        ]
        kept = [entry for entry in self._entries if entry["position"] <= self._position]
        proper = [e for e in kept if not (e["burn_in"] or method.is_start(e["position"]))]
        self._entries = proper or [entry for entry in kept if entry["burn_in"]]
        self._transport.barrier()  # all have read the index
        if self._transport.is_root:
            self._run.write_sample_index(self._entries, self._run.sample_files())
        self._transport.barrier()  # none writes a sample while files are deleted


class PosteriorMean(NamedTuple):
    """The mean over the kept samples of one chain."""

    phi: np.ndarray
    """Topics: float64 (K, W), rows sum to one."""
    share: np.ndarray
    """Each topic's share of the tokens: float64 (K,), sums to one."""
    alpha: np.ndarray
    """The prior of the topic mixes: float64 (K,)."""
    beta: float
    """The prior of the topics."""


def samples_of(run: RunDirectory | Path | str, chain: int | None = None) -> list[dict[str, Any]]:
    """Index entries of the samples to read, oldest first: of one chain, or of all. The run may be
    given by its path.

    Raises UsageError when the run has no such chain, DataError when it has no samples yet.
    """
    run = RunDirectory.at(run)
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


def newest_of(entries: Sequence[Entry]) -> list[Entry]:
    """Of index entries, oldest first, the last of each chain."""
    return list({entry["chain"]: entry for entry in entries}.values())


def add_phi(total: np.ndarray, theta: np.ndarray) -> None:
    """Adds the topics of one sample θ (W, K) to a sum, float64 (K, W), some words at a time."""
    sums = theta.sum(axis=0, dtype=np.float64)
    step = max(1, _ENTRIES // theta.shape[1])
    for first in range(0, len(theta), step):
        part = slice(first, first + step)
        total[:, part] += (theta[part] / sums).T


def phi_of(theta: np.ndarray) -> np.ndarray:
    """Topics of one sample θ (W, K): float64 (K, W), C-contiguous, rows sum to one."""
    phi = np.ascontiguousarray(theta.T, np.float64)
    phi /= phi.sum(axis=1, keepdims=True)
    return phi


def share_of(run: RunDirectory, entry: Mapping[str, Any], theta: np.ndarray) -> np.ndarray:
    """Each topic's share of the tokens under one sample: float64 (K,), sums to one.

    Entries of earlier versions may not say; then it follows from θ less what is of its prior.
    """
    share = entry.get("share")
    if share is None:
        prior = len(theta) * beta_of(run, entry)
        sizes = np.maximum(theta.sum(axis=0, dtype=np.float64) - prior, 0)
    else:
        sizes = np.array(share, np.float64)
    total = sizes.sum()
    return sizes / total if total > 0 else np.full(len(sizes), 1 / len(sizes))


def alpha_of(run: RunDirectory, entry: Mapping[str, Any]) -> np.ndarray:
    """The prior of the topic mixes that belongs to one sample: float64 (K,)."""
    config = run.facts()["config"]
    alpha = entry.get("alpha")
    return np.full(config["topics"], config["alpha"]) if alpha is None else np.array(alpha)


def beta_of(run: RunDirectory, entry: Mapping[str, Any]) -> float:
    """The prior of the topics that belongs to one sample. Runs of format 1 recorded what they had
    learned in the metrics alone."""
    if "beta" in entry:
        return entry["beta"]
    learned = [record for record in run.metrics() if "beta" in record]
    by_then = [record for record in learned if record["round"] <= entry["round"]] or learned
    return by_then[-1]["beta"] if by_then else run.facts()["config"]["beta"]


def posterior_mean(run: RunDirectory | Path | str, chain: int = 0) -> PosteriorMean:
    """The mean over the kept samples of one chain of a run, or of the run at a path.

    Chains number their topics on their own, so samples are averaged within one chain only.

    Raises UsageError when the run has no such chain, DataError when it has no samples yet or a
    file of theirs is damaged.
    """
    run = RunDirectory.at(run)
    entries = samples_of(run, chain)
    phi = share = np.zeros(())
    for entry in entries:
        theta = run.read_sample(entry)
        phi = phi if phi.ndim else np.zeros(theta.shape[::-1])
        add_phi(phi, theta)
        share = share + share_of(run, entry, theta)
        del theta  # before the next is read
    phi /= phi.sum(axis=1, keepdims=True)
    alpha = np.mean([alpha_of(run, entry) for entry in entries], axis=0)
    beta = float(np.mean([beta_of(run, entry) for entry in entries]))
    return PosteriorMean(phi, share / share.sum(), alpha, beta)
