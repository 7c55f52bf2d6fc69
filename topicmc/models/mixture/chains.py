"""The chains of a mixture, and the round that updates them: a `topicmc.engine.method.Method`.

Every process holds all chains and makes the same moves; the documents of a minibatch are shared out
among processes, and their groups are put together before anything else is drawn. So the bits do not
depend on the number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from topicmc.corpora import Documents
from topicmc.engine.method import WaitFraction, check_same
from topicmc.engine.transport.base import Transport
from topicmc.kernels.threads import Threads
from topicmc.models.mixture.settings import Resolved
from topicmc.models.mixture.slices import SliceSampler
from topicmc.models.mixture.state import Mixture
from topicmc.storage.checkpoints import Checkpoint

_FEW = 64  # documents
COUNTED = 1_000  # whose tokens are counted at a time: that takes sixteen bytes an entry
_ARRAYS = {"groups": np.int32, "x": np.float64, "y": np.float64, "weights": np.float64}


class MixtureChains:
    """All chains, and rounds of one update of each.

    Args:
        config: resolved settings.
        documents: that are trained on.
        n_words: W.
        transport: among whose processes documents are shared out.
        threads: the threads of this process.
    """

    def __init__(
        self,
        config: Resolved,
        documents: Documents,
        n_words: int,
        transport: Transport,
        threads: Threads,
    ) -> None:
        self._config, self._transport, self._documents = config, transport, documents
        self._shape = documents.n_docs, n_words
        edges = [*range(0, documents.n_docs, COUNTED), documents.n_docs]
        self._sizes = np.concatenate([documents.part(*of).sizes for of in pairwise(edges)])
        self._sampler = SliceSampler(documents, n_words, config, threads, self._share)
        self._waited = WaitFraction(transport)
        self.start = config.start
        self._all: list[Mixture] | None = None  # until somebody asks: a resumed run needs no start
        self.update = 0

    def _share(self, work: Callable[[int, int], None], array: np.ndarray) -> None:
        n, rank = self._transport.n_processes, self._transport.rank
        work(rank * len(array) // n, (rank + 1) * len(array) // n)
        if n > 1:
            array[:] = self._transport.sum(array)

    @property
    def everyone(self) -> list[Mixture]:
        """All chains, which every process holds."""
        if self._all is None:
            self._all = [self._sampler.initial(i) for i in range(self._config.chains)]
        return self._all

    # ---- what the loop asks

    @property
    def position(self) -> int:
        """Updates of each chain."""
        return self.update

    @property
    def in_burn_in(self) -> bool:
        """Whether the state is still that of the start."""
        return self.is_start(self.update)

    def is_start(self, position: int) -> bool:
        """Whether a state after so many updates is no sample."""
        return position < self.start

    def position_of_round(self, number: int) -> int:
        """The same number: a round is an update."""
        return number

    @property
    def chains(self) -> Mapping[int, Mixture]:
        """Those that this process writes and scores."""
        mine, n = self._transport.rank, self._transport.n_processes
        return {chain.index: chain for chain in self.everyone if chain.index % n == mine}

    def distinct(self) -> Sequence[int]:
        """All chains."""
        return range(self._config.chains)

    def round(self) -> tuple[int, int]:
        """One update of every chain; what was drawn is told by the root. Raises TopicmcError where
        processes hold different chains."""
        documents = tokens = 0
        for chain in self.everyone:
            drawn = self._sampler.update(chain)
            documents += len(drawn)
            tokens += int(self._sizes[drawn].sum())
        self.update += 1
        check_same(
            self._transport,
            [part for c in self.everyone for part in (c.x, c.y, np.array([c.alpha, c.beta]))],
            what="chains",
            when=f"update {self.update}",
            instead="with --transport local",
        )
        told = self._transport.is_root
        return documents * told, tokens * told

    def metrics(self) -> dict[str, Any]:
        """How many groups there are, and the concentration, in the mean over chains."""
        known: dict[str, Any] = {
            "groups": float(np.mean([chain.n_groups for chain in self.everyone])),
            "concentration": float(np.mean([chain.alpha for chain in self.everyone])),
            "step_size": self._config.step_size,
            "burn_in": self.in_burn_in,
        }
        if self._config.learns_beta:
            known["beta"] = float(np.mean([chain.beta for chain in self.everyone]))
        if self._config.workers > 1:
            known["waited"] = self._waited.of_workers()
        return known

    # ---- checkpoints

    def arrays(self) -> dict[str, np.ndarray]:
        """The groups, sticks and words of the chains that this process writes."""
        return {
            f"{name}-{index:03d}": getattr(chain, name)
            for index, chain in self.chains.items()
            for name in _ARRAYS
        }

    def facts(self) -> dict[str, Any]:
        """The numbers that go with `arrays`, as JSON values."""
        return {
            "update": self.update,
            "chains": {str(i): {"alpha": c.alpha, "beta": c.beta} for i, c in self.chains.items()},
        }

    def restore(self, checkpoint: Checkpoint) -> str | None:
        """Goes on from a checkpoint, on any number of workers."""
        ranks = [checkpoint.facts(name) for name in checkpoint.parts()]
        self.update = int(ranks[0]["update"])
        facts = {int(i): of for rank in ranks for i, of in rank["chains"].items()}
        self._all = [self._restored(i, facts[i], checkpoint) for i in range(self._config.chains)]
        return None

    def _restored(self, index: int, facts: Mapping[str, Any], checkpoint: Checkpoint) -> Mixture:
        """ValueError unless the arrays are those of a chain."""
        found = {}
        for name, dtype in _ARRAYS.items():
            found[name] = np.array(checkpoint.array(f"{name}-{index:03d}"))
            if found[name].dtype != dtype:
                raise ValueError(f"{name}-{index:03d} is {found[name].dtype}, not {dtype}")
        n_docs, n_words = self._shape
        n = len(found["x"])
        shapes = {"groups": (n_docs,), "x": (n,), "y": (n,), "weights": (n, n_words)}
        for name, shape in shapes.items():
            if found[name].shape != shape:
                raise ValueError(f"{name}-{index:03d} is {found[name].shape}, not {shape}")
        groups, positive = found["groups"], (found[name] for name in ("x", "y", "weights"))
        if groups.min() < 0 or groups.max() >= n or not all((a > 0).all() for a in positive):
            raise ValueError(f"chain {index} is no state of a mixture")
        alpha, beta = float(facts["alpha"]), float(facts.get("beta", self._config.beta))
        chain = Mixture(index, alpha=alpha, beta=beta, update=self.update, **found)
        chain.count(self._documents)
        return chain

    def warm_up(self) -> None:
        """Compiles every kernel of an update, on a few documents and a chain that nobody keeps."""
        few = self._documents.part(0, min(self._documents.n_docs, _FEW))
        config = replace(self._config, batch_size=few.n_docs, moves_every=1, splits=1)
        sampler = SliceSampler(few, self._shape[1], config, Threads(1))
        sampler.update(sampler.initial(0))
