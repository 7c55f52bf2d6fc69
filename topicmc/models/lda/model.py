"""LDA as the training loop asks for it: its method, its score, its samples and its trace."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from topicmc.corpora import Corpus
from topicmc.engine.ending import first_look
from topicmc.engine.loop import Listener, Training
from topicmc.engine.method import Entry
from topicmc.engine.transport.base import Transport
from topicmc.host import machine
from topicmc.kernels.threads import Threads
from topicmc.models.lda.evaluation import HeldOut
from topicmc.models.lda.methods import KeepsAssignments, open_method
from topicmc.models.lda.origin import Origin
from topicmc.models.lda.planning.plan import burn_in_updates, draws_per_epoch, expected_updates
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.samples import write_mean, write_sample
from topicmc.models.lda.scalars import Scalars
from topicmc.models.lda.settings import Resolved
from topicmc.samplers.state import Chain
from topicmc.storage.scratch import aside

_UPDATES = 8  # of a minibatch chain between records, at least: to read all its weights costs as one


class Lda:
    """The `topicmc.engine.method.Model` of a corpus.

    Args:
        config: resolved settings.
        corpus: an open corpus.
        run: where samples are written.
        transport: who hosts which workers.
        slow: factor by which a worker is slowed down, for experiments.
    """

    counted = TopicRun.counted

    def __init__(
        self,
        config: Resolved,
        corpus: Corpus,
        run: TopicRun,
        transport: Transport,
        slow: Mapping[int, float] | None = None,
    ) -> None:
        threads = Threads(config.threads)
        given = run.additions(), Origin.of(run, config)
        place = _scratch(run.path, transport)
        self.method = open_method(config, corpus, transport, threads, slow, place, *given)
        alpha = np.full(config.topics, config.alpha, np.float64)
        self.evaluator = HeldOut(run, corpus, config.topics, alpha, transport, threads)
        self.epoch = corpus.n_docs * draws_per_epoch(config)
        self.expected_updates = expected_updates(config, corpus.n_docs)
        self.first_look = look_of(config, corpus.n_docs)
        self.trace_unit = 1 if config.keeps_assignments else max(1, _UPDATES // config.trajectory)
        self.remedy = f"lower --step-size (now {config.step_size:g})"
        self._run = run
        self._n_tokens = corpus.n_tokens
        self._scalars = Scalars(corpus, threads)

    def write_sample(self, chain: Chain, round_number: int) -> Entry:
        return write_sample(self._run, chain, round_number, self._n_tokens)

    def write_mean(self, chain: Chain, round_number: int) -> Entry | None:
        return write_mean(self._run, chain, round_number, self._n_tokens)

    def scalars(self) -> dict[int, dict[str, float]]:
        joints = self._log_joints()
        held = self._glimpses()  # no chain keeps a name here: the next is made when it is gone
        return {number: self._of(held[number], joints.get(number)) for number in held}

    def _of(self, chain: Chain, joint: float | None) -> dict[str, float]:
        assert chain.beta is not None
        return self._scalars.of(chain, joint, self._run.prior(chain.beta))

    def _glimpses(self) -> Mapping[int, Chain]:
        """The chains, with θ of no other words than scalars are of where that is less work."""
        method = self.method
        if isinstance(method, KeepsAssignments):
            return method.glimpses(self._scalars.words)
        return method.chains

    def _log_joints(self) -> Mapping[int, float]:
        """As of `KeepsAssignments`; none of other methods. Collective."""
        return self.method.log_joints() if isinstance(self.method, KeepsAssignments) else {}

    def warm_up(self) -> None:
        self._log_joints()
        held = self._glimpses()
        for number in list(held)[:1]:
            self._of(held[number], None)


def _scratch(run_path: Path, transport: Transport) -> Path:
    """Where working memory may lie: with the run; but that of several machines on a disk of each,
    if it has one for temporary files, for what they share is behind a network. Collective."""
    place = aside()
    several = machine.share(transport).processes < transport.n_processes
    return place if several and not machine.lies_in_memory(place) else run_path


def look_of(config: Resolved, n_docs: int) -> int:
    """The position of the first look whether a run with these resolved settings has converged."""
    if config.keeps_assignments:
        return first_look(config.start_sweeps, config.epochs)
    updates = expected_updates(config, n_docs)
    most = None if updates is None else updates / config.trajectory
    sweeps = config.start_sweeps if config.start == "subset" else 0
    return first_look(sweeps - (-burn_in_updates(config) // config.trajectory), most)


def training_of(
    config: Resolved,
    corpus: Corpus,
    run: TopicRun,
    transport: Transport,
    listener: Listener,
    *,
    resume: bool = False,
    slow: Mapping[int, float] | None = None,
) -> Training:
    """The training of LDA on a corpus; arguments as of `Lda` and `Training`."""
    model = Lda(config, corpus, run, transport, slow)
    return Training(config, model, run, transport, listener, resume=resume)
