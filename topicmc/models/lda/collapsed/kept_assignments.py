"""SCIR and SGRLD with kept assignments: counts of the whole corpus, not of a minibatch.

The topic of every token is kept. A round draws the next block of each worker's documents anew given
θ, by one Gibbs sweep from where they were, and their counts replace those of their last visit in
n_kw. After every few blocks θ makes a move towards â = b_kw + n_kw. Nothing is scaled up, so the
counts have no minibatch noise (as in SAGA, a control variate that has seen all the data).

What is exact. For SCIR both parts leave the posterior of (φ, z) as it is: the draws are Gibbs steps
given φ; then the sums Σ_w θ_wk, of which the draws take no notice, are drawn anew given z, and the
CIR process given z has stationary law Gamma(b_kw + n_kw, 1), whatever the step. So the chain is an
exact sampler, on any number of workers, since all of them move the same θ. SGRLD
keeps the error of its discretisation: an entry without tokens is reflected at zero, and holds some
tenths of a token in place of b_kw, which falls with the step by no more than its logarithm.

The state that is reported is b_kw + n_kw, the mean of θ given the topics of the tokens, like that
of AD-LDA: of one state it predicts better than the draw θ, and what θ adds is a Gamma law, which is
drawn from when intervals are made. It spares SGRLD's φ its error, but not the draws made given it.

The start is AD-LDA's: no state that it makes is a sample, and draws given the counts find topics in
fewer sweeps than draws given θ, in which a word hardly ever enters a topic that lacks it. When it
is over θ is drawn from its law given z. A plain start begins with a random θ instead.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from topicmc.engine.method import check_same
from topicmc.errors import DivergedError
from topicmc.kernels.padding import padded_size
from topicmc.kernels.random import stream_key
from topicmc.kernels.simplex import FLOOR
from topicmc.models.lda.collapsed.adlda import Adlda
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.planning.chain_defaults import initial_total
from topicmc.models.lda.planning.plan import rounds_per_move
from topicmc.models.lda.task import Task
from topicmc.samplers.compilation import compiling_moves
from topicmc.samplers.registry import sampler_of
from topicmc.samplers.scir import FORGETTING, Scir
from topicmc.samplers.state import Chain, TopicCounts, initial_chain, sum_topics
from topicmc.samplers.steps import step_size
from topicmc.storage.checkpoints import Checkpoint


class KeptAssignments(Adlda):
    """AD-LDA's workers, drawing given topics θ that every process moves alike."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        config, size = task.config, Extent.of(task.corpus)
        self._sampler = sampler_of(config.sampler)
        self._total = initial_total(config, size)
        # Topics are padded for the kernels; the padding moves like a topic without tokens.
        self._chain = initial_chain(
            0, size.n_words, padded_size(config.topics), prior=self.prior, total=self._total,
            seed=config.seed,
        )  # fmt: skip
        self._words = np.arange(size.n_words, dtype=np.int32)
        self._rounds_per_move = rounds_per_move(config, size)
        self._by_counts = self._starts_by_counts

    @property
    def _starts_by_counts(self) -> bool:
        """Whether tokens are drawn given the counts, as they are in a start that is not plain."""
        return self.schedule.starts(self.sweep) and self.config.start != "plain"

    def _topics(self, sweep: int) -> tuple[np.ndarray, np.ndarray] | None:
        if self._by_counts:
            return super()._topics(sweep)
        return self._chain.theta, self._chain.topic_sums

    def _kinds(self) -> list[tuple[np.ndarray, np.ndarray] | None]:
        if self._by_counts:
            return super()._kinds()
        return [(self._chain.theta, self._chain.topic_sums)]

    def round(self) -> tuple[int, int]:
        """A block of every hosted worker's documents, their counts summed, and a move of θ if one
        is due."""
        self._by_counts = self._starts_by_counts
        if self._chain.update == 0 and not self._by_counts and self.config.start != "plain":
            self._enter()
        drawn = super().round()
        if not self._by_counts and self.round_number % self._rounds_per_move == 0:
            self._move(self._sampler.whole(), self._step())
        return drawn

    def _enter(self) -> None:
        """Draws θ from Gamma(b_kw + n_kw, 1); for SGRLD on its own scale, which φ does not know."""
        chain = self._chain
        self._move(Scir, FORGETTING)
        if self._sampler.free_scale:
            chain.theta *= (self._total / chain.topic_sums).astype(np.float32)
            np.maximum(chain.theta, FLOOR, out=chain.theta)
            chain.topic_sums = sum_topics(chain.theta, self.threads)

    def _step(self) -> float:
        """h; or ε, in proportion to Σ_w θ_wk: SGRLD's sums grow by what is reflected at zero, and φ
        would move less and less. They are independent of φ, so this only sets the clock."""
        config, chain = self.config, self._chain
        step = step_size(chain.update, config.step_size, config.step_offset, config.step_decay)
        if self._sampler.free_scale:
            step *= float(chain.topic_sums[: config.topics].mean()) / self._total
        return step

    def _move(self, sampler: Callable[..., Any], step: float) -> None:
        config, chain = self.config, self._chain
        if sampler is Scir:
            Scir(self.prior).redraw_sums(
                chain,
                next(iter(self.samplers.values())).topic_totals,
                key=stream_key(config.seed, "sums", 0),
                threads=self.threads,
            )
        finite = sampler(self.prior).move(
            chain,
            TopicCounts(self._words, self.reconciliation.counts().astype(np.float32)),
            scale=1.0,
            step=step,
            key=stream_key(config.seed, "move", 0),
            threads=self.threads,
        )
        check_same(  # or each would draw given topics of its own
            self.transport,
            (chain.topic_sums, self.alpha, np.array([self.prior.base])),
            what="topics",
            when=f"move {chain.update}",
            instead="train with --sampler adlda, whose ranks exchange counts alone",
        )
        if not finite:
            raise DivergedError(
                f"the chain diverged at update {chain.update}: its weights are no longer finite;"
                f" lower --step-size (now {config.step_size:g})"
            )

    def metrics(self) -> dict[str, Any]:
        return {**super().metrics(), "step_size": self._step()}

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
        if theta.shape != self._chain.theta.shape or theta.dtype != np.float32:
            raise ValueError(f"theta is {theta.dtype} {theta.shape}")
        self._chain = Chain(0, theta, sum_topics(theta, self.threads), int(part["moves"]))
        return notice

    def warm_up(self) -> None:
        """Compiles what a round needs, on a copy of the topics of one word."""
        config = self.config
        # Whatever the sampler, SCIR draws θ where the start is over, and its sums.
        with compiling_moves(("scir", config.sampler), config.workers, self.prior):
            self._compile_by_word()
            for by_counts in sorted({False, self._starts_by_counts}):
                self._by_counts = by_counts
                self._compile()
        one = self._chain.theta[:1].copy()
        samplers: tuple[type[Any], ...] = (Scir, self._sampler.whole())
        for sampler in dict.fromkeys(samplers):
            tiny = dataclasses.replace(self._chain, theta=one, topic_sums=sum_topics(one))
            sampler(self.prior.summed(1)).move(
                tiny,
                TopicCounts(self._words[:1], np.zeros(one.shape, np.float32)),
                scale=1.0,
                step=1e-3,
                key=np.uint64(0),
                threads=self.threads,
            )
