"""The methods that LDA is sampled by, as the settings name them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

from topicmc.corpora import Corpus
from topicmc.engine.transport.base import Transport
from topicmc.kernels.threads import Threads
from topicmc.models.lda.collapsed.adlda import Adlda
from topicmc.models.lda.collapsed.asynclda import AsyncLda
from topicmc.models.lda.collapsed.independent import IndependentChains
from topicmc.models.lda.collapsed.kept_assignments import KeptAssignments
from topicmc.models.lda.minibatches.chains import MinibatchChains
from topicmc.models.lda.minibatches.subset import SubsetStart
from topicmc.models.lda.minibatches.target import Beginning, TopicChains
from topicmc.models.lda.origin import Origin
from topicmc.models.lda.settings import Resolved
from topicmc.models.lda.task import Task
from topicmc.samplers.row_prior import Additions
from topicmc.samplers.state import Chain


@runtime_checkable
class KeepsAssignments(Protocol):
    """What a `topicmc.engine.method.Method` has besides whose chains keep the topic of every
    token."""

    def log_joints(self) -> Mapping[int, float]:
        """log p(words, assignments) of the chains, by their numbers; of a large corpus its part on
        the mixes is estimated from every so many documents. Collective."""

    def glimpses(self, words: np.ndarray) -> Mapping[int, Chain]:
        """As `topicmc.engine.method.Method.chains`, with θ of some words alone, int64 (n,)."""


LdaMethod = Adlda | IndependentChains | MinibatchChains | SubsetStart


def open_method(
    config: Resolved,
    corpus: Corpus,
    transport: Transport,
    threads: Threads,
    slow: Mapping[int, float] | None = None,
    scratch: Path | None = None,
    additions: Additions | None = None,
    origin: Origin | None = None,
) -> LdaMethod:
    """The method that ``config.sampler`` names, at its start; arguments as of `Task`."""
    task = Task(config, corpus, transport, threads, slow or {}, scratch, additions, origin)
    if not config.keeps_assignments:

        def chains(beginning: Beginning | None) -> MinibatchChains:
            target = TopicChains(task, beginning)
            method = MinibatchChains(target, config, transport, slow)
            target.has_begun()
            return method

        return SubsetStart(task, chains) if config.start == "subset" else chains(origin)
    if config.sampler == "adlda" and config.chains > 1:
        return IndependentChains(task)
    kinds: dict[str, type[Adlda]] = {"adlda": Adlda, "asynclda": AsyncLda}
    return kinds.get(config.sampler, KeptAssignments)(task)
