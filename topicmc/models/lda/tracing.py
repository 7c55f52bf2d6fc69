"""The trace of a run: a few numbers of each chain's state that do not depend on how it numbers its
topics, recorded so often that autocorrelation can be told from them.

They are: the log joint of words and assignments, where assignments are kept; the log likelihood of
a token of some held-out documents, whose mixes are set by CVB0, which draws no random numbers; and
the shares of the tokens of the largest, the median and the smallest topic.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from topicmc.corpora import Corpus
from topicmc.corpora.documents import remap
from topicmc.engine.method import Method
from topicmc.engine.transport.base import Transport
from topicmc.inference.mixes import Mixer
from topicmc.kernels.threads import Threads
from topicmc.posterior.thinning import is_kept, reached
from topicmc.samplers import Chain
from topicmc.settings.config import TrainConfig
from topicmc.storage.runs import RunDirectory

_RECORDS = 256  # in the second half of a run, at most
_UPDATES = 8  # of a minibatch chain between records, at least: to read all its weights costs as one
_DOCUMENTS, _WORDS = 100, 5_000  # held out, whose likelihood is recorded, at most


class Tracer:
    """Records the chains of this process and, on the root, writes what all have recorded.

    Args:
        config: resolved settings.
        corpus: an open corpus.
        run: where the trace is written.
        transport: who else records.
        threads: the threads of this process.
    """

    def __init__(
        self,
        config: TrainConfig,
        corpus: Corpus,
        run: RunDirectory,
        transport: Transport,
        threads: Threads,
    ) -> None:
        self._run = run
        self._transport = transport
        self._threads = threads
        self._unit = 1 if config.keeps_assignments else max(1, _UPDATES // config.trajectory)
        self._position = 0
        documents = corpus.heldout
        ends = np.searchsorted(np.cumsum(documents.lengths), _WORDS, side="right")
        few = documents.part(0, min(documents.n_docs, _DOCUMENTS, max(1, int(ends))))
        self._words = np.unique(few.word_ids)
        new_ids = np.full(corpus.n_words, -1)
        new_ids[self._words] = np.arange(len(self._words))
        self._documents = remap(few, new_ids)

    def rewind(self, position: int) -> None:
        """Forgets what was recorded after a position."""
        self._position = position
        if self._transport.is_root:
            self._run.rewind_trace(position)

    def warm_up(self, method: Method) -> None:
        """Compiles what a record needs. Collective."""
        method.log_joints()
        for number in list(method.chains)[:1]:
            self._scalars(method.chains[number], None)

    def record(self, method: Method, **facts: Any) -> None:
        """Records the states of a method, if it has come to a position to be recorded; ``facts`` go
        along. Collective."""
        before, now = self._position // self._unit, method.position // self._unit
        self._position = method.position
        if now == before or not is_kept(reached(before, now), now, _RECORDS):
            return
        joints = method.log_joints()
        held = method.chains  # no chain keeps a name here: the next is made when it is gone
        mine = {str(number): self._scalars(held[number], joints.get(number)) for number in held}
        everyone = self._transport.exchange(mine)
        if self._transport.is_root:
            chains = {name: scalars for part in everyone for name, scalars in part.items()}
            self._run.append_trace(
                {
                    "position": reached(before, now) * self._unit,
                    **facts,
                    "burn_in": method.burning_in,
                    "chains": dict(sorted(chains.items(), key=lambda item: int(item[0]))),
                }
            )

    def _scalars(self, chain: Chain, joint: float | None) -> dict[str, float]:
        scalars = {} if joint is None else {"log joint": joint}
        if self._documents.n_docs:
            scalars["log likelihood"] = self._log_likelihood(chain)
        if chain.share is not None:
            ranked = np.sort(chain.share)
            names = ("largest share", "median share", "smallest share")
            ranks = (-1, len(ranked) // 2, 0)
            scalars |= {name: float(ranked[i]) for name, i in zip(names, ranks, strict=True)}
        return scalars

    def _log_likelihood(self, chain: Chain) -> float:
        """The mean log p of a token of the documents, Σ_k η̂_dk φ_kw, given all of them."""
        assert chain.alpha is not None
        documents = self._documents
        phi = (chain.theta[self._words] / chain.topic_sums).T
        mixes = Mixer(phi, chain.alpha, self._threads).mixes(documents)
        total = 0.0
        for d in range(documents.n_docs):
            here = slice(documents.indptr[d], documents.indptr[d + 1])
            likelihoods = np.einsum("k,ke->e", mixes[d], phi[:, documents.word_ids[here]])
            total += float((np.log(likelihoods) * documents.counts[here]).sum())
        return total / documents.n_tokens
