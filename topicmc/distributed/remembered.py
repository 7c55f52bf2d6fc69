"""SCIR and SGRLD with remembered assignments: counts of the whole corpus, not of a minibatch.

The topic of every token is kept. A round draws the next block of each worker's documents anew given
θ, by one Gibbs sweep from where they were; their counts replace those of their last visit in n_kw;
and θ makes one move towards â = β + n_kw. Nothing is scaled up, so the counts have no minibatch
noise (as in SAGA, a control variate that has seen all the data).

What is exact. For SCIR both parts leave the posterior of (θ, z) as it is: the draws are Gibbs
steps given θ, and the CIR process given z has stationary law Gamma(β + n_kw, 1), whatever the step.
So the chain is an exact sampler, on any number of workers, since all of them move the same θ. SGRLD
keeps the error of its discretisation. During a growing start n_kw is scaled by the share of the
documents that have joined, and is no sample of anything.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from topicmc.defaults import initial_total
from topicmc.distributed.adlda import Adlda
from topicmc.distributed.methods import RoundInfo
from topicmc.errors import DivergedError
from topicmc.kernels.padding import padded_size
from topicmc.kernels.random import stream_key
from topicmc.runs import Checkpoint
from topicmc.samplers import Chain, TopicCounts, initial_chain, step_size, sum_topics
from topicmc.samplers.scir import Scir
from topicmc.samplers.sgrld import Sgrld

SAMPLERS: dict[str, type[Scir] | type[Sgrld]] = {"scir": Scir, "sgrld": Sgrld}


class Remembered(Adlda):
    """AD-LDA's workers, drawing given topics θ that every process moves alike."""

    def __init__(self, config, corpus, transport, threads, slow=None, scratch=None) -> None:
        super().__init__(config, corpus, transport, threads, slow, scratch)
        # Topics are padded for the kernels; the padding moves like a topic without tokens.
        self._chain = initial_chain(
            0,
            corpus.n_words,
            padded_size(config.topics),
            beta=config.beta,
            n_tokens=corpus.n_tokens,
            seed=config.seed,
            total=initial_total(
                config.sampler, config.beta, corpus.n_words, config.topics, corpus.n_tokens
            ),
        )
        self._words = np.arange(corpus.n_words, dtype=np.int32)

    def _topics(self) -> tuple[np.ndarray, np.ndarray]:
        return self._chain.theta, self._chain.topic_sums

    def round(self) -> RoundInfo:
        """A block of every hosted worker's documents, their counts summed, and a move of θ."""
        share = self.schedule.share(self.update)
        beta = self.beta * self.schedule.beta_factor(self.update)
        info = super().round()
        self._move(1 / share, beta)
        return info

    def _move(self, scale: float, beta: float) -> None:
        config, chain = self.config, self._chain
        step = step_size(chain.update, config.step_size, config.step_offset, config.step_decay)
        moved = SAMPLERS[config.sampler](beta=beta).move(
            chain,
            TopicCounts(self._words, self.reconciliation.counts().astype(np.float32)),
            scale=scale,
            step=step,
            key=stream_key(config.seed, "move", 0),
            threads=self.threads,
        )
        if not moved.finite:
            raise DivergedError(
                f"the chain diverged at update {chain.update}: its weights are no longer finite;"
                f" lower --step-size (now {config.step_size:g})"
            )

    @property
    def chains(self) -> dict[int, Chain]:
        """The one chain there is, on the process that hosts worker 0."""
        if 0 not in self.workers:
            return {}
        n_topics = self.config.topics
        theta = np.ascontiguousarray(self._chain.theta[:, :n_topics])
        totals = self.reconciliation.counts()[:, :n_topics].sum(axis=0, dtype=np.float64)
        return {
            0: Chain(
                0, theta, self._chain.topic_sums[:n_topics], self._chain.update, alpha=self.alpha,
                share=(totals + 1e-9) / (totals + 1e-9).sum(),
            )
        }  # fmt: skip

    def metrics(self) -> dict[str, Any]:
        config = self.config
        step = step_size(
            self._chain.update, config.step_size, config.step_offset, config.step_decay
        )
        return {**super().metrics(), "step_size": step}

    # ---- checkpoints

    def arrays(self) -> dict[str, np.ndarray]:
        """The assignments of the hosted workers, and θ."""
        mine = {"theta": self._chain.theta} if 0 in self.workers else {}
        return {**super().arrays(), **mine}

    def facts(self) -> dict[str, Any]:
        return {**super().facts(), "moves": self._chain.update}

    def restore(self, checkpoint: Checkpoint) -> str | None:
        notice = super().restore(checkpoint)
        part = checkpoint.facts(next(iter(checkpoint.parts())))
        theta = checkpoint.array("theta")
        self._chain = Chain(0, theta, sum_topics(theta, self.threads), part["moves"])
        return notice

    def warm_up(self) -> None:
        """Compiles what a round needs, on a copy of the topics of a few words."""
        super().warm_up()
        few = self._chain.theta[:32].copy()
        tiny = dataclasses.replace(self._chain, theta=few, topic_sums=sum_topics(few))
        SAMPLERS[self.config.sampler](beta=self.beta).move(
            tiny,
            TopicCounts(self._words[: len(few)], np.zeros(few.shape, np.float32)),
            scale=1.0,
            step=1e-3,
            key=np.uint64(0),
            threads=self.threads,
        )
