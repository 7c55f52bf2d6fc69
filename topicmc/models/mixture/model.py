"""Mixtures as the training loop asks for them: their method, score, samples and trace."""

from __future__ import annotations

import numpy as np

from topicmc.corpora import Corpus, Documents
from topicmc.corpora.documents import joined
from topicmc.engine.ending import first_look
from topicmc.engine.loop import Listener, Training
from topicmc.engine.method import Entry
from topicmc.engine.transport.base import Transport
from topicmc.kernels.partitions import log_joint
from topicmc.kernels.threads import Threads
from topicmc.models.mixture.chains import MixtureChains
from topicmc.models.mixture.evaluation import HeldOutDocuments
from topicmc.models.mixture.run import MixtureRun
from topicmc.models.mixture.settings import Resolved
from topicmc.models.mixture.slices import remedy
from topicmc.models.mixture.state import Mixture


class MixtureModel:
    """The `topicmc.engine.method.Model` of a corpus.

    Args:
        config: resolved settings.
        corpus: an open corpus.
        run: where samples are written.
        transport: among whose processes documents are shared out.
    """

    counted = MixtureRun.counted
    trace_unit = 1

    def __init__(
        self, config: Resolved, corpus: Corpus, run: MixtureRun, transport: Transport
    ) -> None:
        threads = Threads(config.threads)
        documents = training_documents(corpus)
        self.method = MixtureChains(config, documents, corpus.n_words, transport, threads)
        self.evaluator = HeldOutDocuments(run, corpus.heldout, config.chains, transport, threads)
        self.epoch = corpus.n_docs * config.chains
        self.expected_updates: float | None = config.updates
        if config.updates is None and config.epochs is not None:
            self.expected_updates = config.epochs * corpus.n_docs / config.batch_size
        self.first_look = first_look(self.method.start, self.expected_updates)
        self.remedy = remedy(config)
        self._run, self._learns_beta = run, config.learns_beta

    def write_sample(self, chain: Mixture, round_number: int) -> Entry:
        return self._run.write_state(chain, round_number)

    def write_mean(self, chain: Mixture, round_number: int) -> None:
        return None

    def scalars(self) -> dict[int, dict[str, float]]:
        return {
            number: _scalars_of(chain) | ({"beta": chain.beta} if self._learns_beta else {})
            for number, chain in self.method.chains.items()
        }

    def warm_up(self) -> None:
        self.scalars()


def _scalars_of(chain: Mixture) -> dict[str, float]:
    """How many groups, the concentration, how even the groups are, and log p(x, groups | α): none
    of them changes when groups are numbered anew."""
    shares = chain.sizes[chain.sizes > 0] / len(chain.groups)
    return {
        "groups": float(chain.n_groups),
        "concentration": chain.alpha,
        "largest group": float(shares.max()),
        "entropy of sizes": float(-(shares * np.log(shares)).sum()),
        "log joint": float(log_joint(chain.sizes, chain.words, chain.beta, chain.alpha)),
    }


def training_documents(corpus: Corpus) -> Documents:
    """All documents that a corpus is trained on, in memory; DataError when a file is damaged."""
    corpus.check(range(corpus.n_shards))
    return joined([corpus.shard(number) for number in range(corpus.n_shards)])


def training_of(
    config: Resolved,
    corpus: Corpus,
    run: MixtureRun,
    transport: Transport,
    listener: Listener,
    *,
    resume: bool = False,
) -> Training:
    """The training of a mixture on a corpus; arguments as of `MixtureModel` and `Training`."""
    model = MixtureModel(config, corpus, run, transport)
    return Training(config, model, run, transport, listener, resume=resume)
