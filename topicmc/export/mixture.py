"""What is exported of a mixture: the groups of its central sample, in the place of topics.

Of a group the share is that of the documents, and α its weight ω, the prior probability of a
document to be in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from topicmc.corpora import Corpus
from topicmc.errors import DataError, UsageError
from topicmc.export import FORMATS
from topicmc.export.source import Source, Topics, batches
from topicmc.kernels.batch import Minibatch
from topicmc.models.mixture.matching import central, check_alike
from topicmc.posterior.convergence import aligned
from topicmc.posterior.traces import traces
from topicmc.samplers.row_prior import RowPrior
from topicmc.topics.labels import Labels

if TYPE_CHECKING:
    from topicmc.kernels.threads import Threads


@dataclass(frozen=True)
class GroupTopics(Topics):
    """Groups as `Topics`: α is ω.

    Attributes:
        sizes: int64 (K,), documents.
        groups: int32 (D,), the group of each training document.
    """

    sizes: np.ndarray = field(kw_only=True)
    groups: np.ndarray = field(kw_only=True)

    def facts(self, k: int) -> dict[str, Any]:
        return {
            "group": k,
            "documents": int(self.sizes[k]),
            "share": float(self.share[k]),
            "weight": float(self.alpha[k]),
        }

    def arrays(self) -> dict[str, np.ndarray]:
        return {"phi": self.phi, "weights": self.alpha, "groups": self.groups}

    def assignments(
        self, corpus: Corpus, key: np.uint64, threads: Threads
    ) -> Iterator[tuple[Minibatch, np.ndarray]]:
        """The group of every training token, that of its document."""
        for batch in batches(corpus, threads):
            yield batch, np.repeat(self.groups[batch.doc_ids], np.diff(batch.offsets))


@dataclass
class GroupSource(Source):
    """Mixtures that are exported: ``runs`` are `MixtureRun`s."""

    @cached_property
    def topics(self) -> GroupTopics:
        run, facts = self.runs[0], self.runs[0].facts()["corpus"]
        groups = central(run)
        return GroupTopics(
            phi=groups.phi,
            share=groups.sizes / groups.sizes.sum(),
            alpha=groups.weights,
            prior=RowPrior(groups.beta),
            n_tokens=facts.get("tokens", int(groups.sizes.sum())),
            n_docs=len(groups.groups),
            vocabulary=run.vocabulary(),
            labels=Labels.of_groups(run, len(groups.sizes)),
            sizes=groups.sizes,
            groups=groups.groups,
        )

    def check(self, format: str) -> None:
        if not FORMATS[format].mixtures:
            *others, last = (name for name, kind in FORMATS.items() if kind.mixtures)
            raise UsageError(
                f"--to {format}: holds a model whose documents mix topics, and {self.runs[0].path}"
                f" is a mixture, one group a document; use --to {', '.join(others)} or"
                f" {last}"
            )
        if format == "arviz" and self.words is not None:
            raise UsageError(
                f"--words {self.words}: of a mixture --to arviz holds what was traced, no words;"
                " leave it out"
            )

    def draws(self) -> dict[str, np.ndarray]:
        """What was traced of all chains past the first half, by name: float64 (C, n).

        Raises UsageError when the runs are of several corpora, DataError when nothing was traced.
        """
        check_alike(self.runs)
        traced = [traces(run) for run in self.runs]
        for run, found in zip(self.runs, traced, strict=True):
            if not found:
                raise DataError(f"{run.path}: nothing was traced yet; train it for longer")
        names = [name for name in traced[0] if all(name in found for found in traced)]
        return {
            name.replace(" ", "_"): aligned([d for run in traced for d in run[name].values()])
            for name in names
        }
