"""What chains of LDA are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from topicmc.corpora import Corpus
from topicmc.engine.transport.base import Transport
from topicmc.kernels.threads import Threads
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.origin import Origin
from topicmc.models.lda.settings import Resolved
from topicmc.samplers.row_prior import Additions


@dataclass(frozen=True)
class Task:
    """What chains are made for, and with what.

    Attributes:
        config: resolved settings.
        corpus: an open corpus; only the shard files of the hosted workers are read. Of a chain that
            is given its tokens, the extent is enough.
        transport: who hosts which workers.
        threads: the threads of this process.
        slow: factor by which a worker is slowed down, for experiments.
        scratch: a folder for working memory that need not stay in memory, such as the tokens and
            topics of large corpora (`topicmc.storage.scratch`).
        additions: to the prior of the topics.
        origin: what chains begin with, if they go on from another run.
    """

    config: Resolved
    corpus: Corpus | Extent
    transport: Transport
    threads: Threads
    slow: Mapping[int, float] = field(default_factory=dict)
    scratch: Path | None = None
    additions: Additions | None = None
    origin: Origin | None = None

    @property
    def documents(self) -> Corpus:
        """The corpus, of which more than the extent is wanted."""
        return cast(Corpus, self.corpus)
