"""A start on a subset of the documents: a collapsed chain over it finds the topics, and minibatches
of all documents go on with them.

Minibatches of a large corpus are scaled up by hundreds, and while topics are still to be found that
noise has rarer words settle anywhere. A subset that is small enough to remember the topic of every
token has no such noise. So chains of minibatches begin with what AD-LDA with a growing start
(`topicmc.models.lda.collapsed`) finds in it, as with the topics of another run
(`topicmc.models.lda.origin`). What that takes does not grow with the corpus. It is all part of the
start, and none of its states is a posterior sample.

The documents are as far apart in the corpus as can be, and do not depend on the number of workers;
each worker has those of its share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from topicmc.corpora import Corpus
from topicmc.engine.transport.base import Transport
from topicmc.models.lda.collapsed.adlda import Adlda
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.minibatches.chains import MinibatchChains
from topicmc.models.lda.partition import share_out
from topicmc.models.lda.planning.defaults import resolve
from topicmc.models.lda.planning.pace import Machine
from topicmc.models.lda.planning.starts import LATEST
from topicmc.models.lda.settings import LdaSettings, Resolved
from topicmc.models.lda.task import Task
from topicmc.models.lda.workers import Tokens, WorkerDocuments
from topicmc.samplers.state import Chain
from topicmc.storage.checkpoints import Checkpoint

_GATHERED = 65_536  # documents at a time


@dataclass(frozen=True)
class Found:
    """The topics that every chain of minibatches begins with: θ float32 (W, K), α (K,), β."""

    topics: np.ndarray
    alphas: np.ndarray
    base: float

    def theta(self, chain: int) -> np.ndarray:
        """Of any chain, a copy."""
        return self.topics.copy()

    def alpha(self, chain: int) -> np.ndarray:
        """Of any chain, a copy."""
        return self.alphas.copy()

    def beta(self, chain: int) -> float:
        """Of any chain."""
        return self.base


class SubsetStart:
    """The method of chains of minibatches that start on a subset (`topicmc.engine.method.Method`).

    Its clock goes by sweeps over the subset, and then by the trajectories of the chains.

    Args:
        task: of the chains, whose start is ``"subset"``.
        chains: makes the chains of minibatches, which begin with topics that were found.
    """

    def __init__(self, task: Task, chains: Callable[[Found | None], MinibatchChains]) -> None:
        self._task = task
        self._config = task.config
        self._n_tokens = task.corpus.n_tokens
        self._chains = chains
        self._then: MinibatchChains | None = None
        self._sweeps = 0  # over the subset, that were made before the chains began

    @cached_property
    def _first(self) -> Adlda | None:
        """The chain over the subset; None once it has ended. All processes make it when it is asked
        for: a run that has come past it does without."""
        config, corpus, transport = self._config, self._task.documents, self._task.transport
        tokens = _tokens(corpus, config.start_documents, config.workers, transport)
        mine = sum(len(own.words) for own in tokens.values())
        n_tokens = int(transport.sum(np.array([mine]))[0])
        subset = Extent(config.start_documents, n_tokens, corpus.n_words)
        task = replace(self._task, config=_settings(config, subset), corpus=subset)
        first = Adlda(task, tokens=tokens)
        first.time_budget, first.latest = config.time_budget, LATEST
        return first

    @property
    def _now(self) -> Adlda | MinibatchChains:
        method = self._then or self._first
        assert method is not None
        return method

    @property
    def update(self) -> int:
        """Sweeps over the subset, and updates of each chain."""
        return self.position if self._then is None else self._sweeps + self._then.update

    @property
    def position(self) -> int:
        """Sweeps over the subset, and trajectories of each chain."""
        return self._sweeps + self._now.position

    @property
    def in_burn_in(self) -> bool:
        """Whether the state is one of the subset, or of the start of the chains."""
        return self._then is None or self._then.in_burn_in

    def is_start(self, position: int) -> bool:
        """Whether a state at that position is no posterior sample."""
        if self._then is None or position <= self._sweeps:
            return True
        return self._then.is_start(position - self._sweeps)

    def position_of_round(self, number: int) -> int:
        """The same number: no run of format 1 starts so."""
        return number

    @property
    def chains(self) -> Mapping[int, Chain]:
        """The one chain over the subset, or the chains that this process holds."""
        return self._now.chains

    def distinct(self) -> Sequence[int]:
        """The chains whose states differ now."""
        return self._now.distinct()

    def round(self) -> tuple[int, ...]:
        """A round over the subset, after whose last sweep the chains begin, or one of theirs."""
        drawn = self._now.round()
        if self._first is not None and self._first.sweep >= self._config.start_sweeps:
            self._sweeps = self._first.position
            self._then, self._first = self._chains(self._found()), None
        return drawn

    def is_late(self, seconds: float) -> bool:
        """Whether the sweeps over the subset, or the updates after it, take too long."""
        return self._now.is_late(seconds)

    def end_start(self) -> str:
        """Leaves out some of these sweeps, or updates."""
        return self._now.end_start()

    def _found(self) -> Found:
        """θ_wk = (n_k + W β) φ_wk, with n_k = n · share_k, of the topics of the subset."""
        assert self._first is not None
        chain, prior = self._first.chain(), self._first.prior
        assert chain.alpha is not None and chain.share is not None
        sums = self._n_tokens * chain.share + prior.totals(*chain.theta.shape)
        chain.theta *= (sums / chain.topic_sums).astype(np.float32)
        return Found(chain.theta, chain.alpha, prior.base)

    def metrics(self) -> dict[str, Any]:
        """Of what goes on now, and the sweeps over the subset that were made before."""
        made = {} if self._then is None else {"subset_sweeps": self._sweeps}
        return {**self._now.metrics(), **made}

    # ---- checkpoints

    def arrays(self) -> dict[str, np.ndarray]:
        """Of what goes on now."""
        return self._now.arrays()

    def facts(self) -> dict[str, Any]:
        """Of what goes on now, whether that is the subset, and how many sweeps were made there."""
        return {"subset": self._then is None, "sweeps": self._sweeps, "of": self._now.facts()}

    def restore(self, checkpoint: Checkpoint) -> str | None:
        """Goes on over the subset, or with the chains."""
        facts = checkpoint.facts(next(checkpoint.parts()))
        if not facts["subset"]:
            # Earlier versions counted those that a late start had left out.
            self._sweeps = facts.get("sweeps", self._config.start_sweeps)
            self._then, self._first = self._chains(None), None
        return self._now.restore(_Inside(checkpoint))

    def warm_up(self) -> None:
        """Compiles what is still to come."""
        if self._first is not None:
            chains = self._chains(None)
            with chains.compiling_moves():
                self._first.warm_up()
                chains.warm_up()
        else:
            self._now.warm_up()


class _Inside(Checkpoint):
    """What a checkpoint holds of what went on."""

    def __init__(self, whole: Checkpoint) -> None:
        self.manifest, self.folder = whole.manifest, whole.folder

    def facts(self, name: str) -> Any:
        return super().facts(name)["of"]


def _settings(config: Resolved, subset: Extent) -> Resolved:
    """Those of the chain over the subset."""
    sweeps = config.start_sweeps
    asked: LdaSettings = LdaSettings(
        sampler="adlda", start="grow", topics=config.topics, alpha=config.alpha, beta=config.beta,
        learn=config.learn, learn_until="end", start_sweeps=sweeps, epochs=float(sweeps),
        seed=config.seed, workers=config.workers, threads=config.threads,
    )  # fmt: skip
    # The smallest subsets have as many tokens as they need in the mean only.
    size = subset._replace(n_tokens=max(subset.n_tokens, 10 * config.topics))
    return resolve(asked, size, Machine(config.threads))


def _tokens(corpus: Corpus, n_docs: int, n_workers: int, transport: Transport) -> dict[int, Tokens]:
    """Of each hosted worker the documents of the subset, as if there were no others."""
    wanted = np.arange(n_docs) * corpus.n_docs // n_docs
    ranges = share_out(corpus, n_workers)
    starts = np.cumsum([0, *(sum(r.last - r.first for r in own) for own in ranges)])
    dtype, found = np.dtype(corpus.index["dtypes"]["word_ids"]), {}
    for worker in transport.workers:
        first, last = np.searchsorted(wanted, starts[worker : worker + 2])
        documents = WorkerDocuments(corpus, ranges[worker])
        lengths, words = [np.zeros(1, np.int64)], []
        for i in range(first, last, _GATHERED):
            ids = wanted[i : min(i + _GATHERED, last)] - starts[worker]
            batch = documents.minibatch(ids)
            lengths.append(np.diff(batch.offsets))
            words.append(batch.words.astype(dtype)[batch.tokens])
        tokens = np.concatenate([np.zeros(0, dtype), *words])
        found[worker] = Tokens(np.cumsum(np.concatenate(lengths)), tokens, int(first))
    return found
