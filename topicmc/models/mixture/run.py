"""The run directory of a mixture: that of a `CorpusRun`, of which a view names groups.

A kept state is a `Sample`. Its index entry has how many groups have a document, α and β.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from topicmc.engine.progress import Reached, ended_converged, last_evaluation, reached
from topicmc.errors import DataError
from topicmc.models.corpus_run import CorpusRun
from topicmc.models.mixture.settings import Resolved
from topicmc.models.mixture.state import Mixture
from topicmc.storage.arrays import read_arrays
from topicmc.storage.fields import SHA256, Record
from topicmc.storage.run_fields import settings_in

_MOST = 2**31 - 1


@dataclass(frozen=True)
class Sample:
    """A kept state of J sticks.

    groups   int32 (D,), the group of each training document
    weights  float64 (J,), ω
    phi      float32 (J, W), rows sum to one
    alpha    concentration
    beta     prior of words
    """

    groups: np.ndarray
    weights: np.ndarray
    phi: np.ndarray
    alpha: float
    beta: float

    @property
    def sizes(self) -> np.ndarray:
        """Documents of each group, int64 (J,)."""
        return np.bincount(self.groups, minlength=len(self.weights))

    @property
    def left(self) -> float:
        """The weight of groups yet unseen."""
        return max(0.0, 1.0 - float(self.weights.sum()))


class MixtureRun(CorpusRun):
    """A run of a mixture on disk.  Open one with `create` or `open`."""

    model: ClassVar[str | None] = "mixture"
    figure: ClassVar[str] = "nats_per_document"
    precision: ClassVar[str] = ".4f"

    @classmethod
    def open(cls, path: Path) -> Self:
        """As any `CorpusRun`; DataError also where the run has gone on since its view was made."""
        run = super().open(path)
        if run.has_moved_on():
            raise DataError(
                f"{path}: names groups of samples that {run.path} does not have any more; make the"
                " view anew"
            )
        return run

    @classmethod
    def create(
        cls, path: Path, facts: Mapping[str, Any], words: Sequence[str], force: bool = False
    ) -> Self:
        """A new run directory with its vocabulary. UsageError as `check_free` has it."""
        with cls._made(path, force) as run:
            run._write_facts({"vocabulary": run.write_vocabulary(words), **facts})
        return run

    def _check_facts(self, path: Path, facts: Any) -> None:
        super()._check_facts(path, facts)
        record = Record(path, facts)
        record.text("vocabulary", SHA256)
        corpus = record.record("corpus")
        corpus.text("path")
        corpus.text("fingerprint")
        corpus.whole("documents", least=1, most=_MOST)
        corpus.whole("words", least=1, most=_MOST)
        settings_in(path, facts, Resolved)

    @cached_property
    def _n_docs(self) -> int:
        return self.facts()["corpus"]["documents"]

    def config(self) -> Resolved:
        """The settings of the run; DataError when they are none."""
        return settings_in(self.path / "run.json", self.facts(), Resolved)

    def reached(self) -> Reached | None:
        """How far the run has come; None where it never said."""
        last = last_evaluation(self)
        if last is None:
            return None
        config = self.config()
        epoch = self.facts()["corpus"]["documents"] * config.chains
        at, of_start = reached(self, last, config, epoch), last["update"] / config.start
        return at._replace(of_start=of_start, has_converged=ended_converged(self, config))

    @property
    def labels(self) -> Mapping[int, str]:
        """Names of groups by their numbers, of those that a view names."""
        return {} if self.view is None else self.view.labels

    # ---- posterior samples

    def write_state(self, chain: Mixture, round_number: int) -> dict[str, Any]:
        """Writes the state of a chain; its index entry."""
        arrays = {
            "groups": chain.groups,
            "weights": np.exp(chain.log_weights()[0]),
            "phi": (chain.weights / chain.weights.sum(axis=1, keepdims=True)).astype(np.float32),
        }
        return {
            **self.write_sample(chain.index, round_number, arrays),
            "groups": chain.n_groups,
            "alpha": chain.alpha,
            "beta": chain.beta,
        }

    def read_sample(self, entry: Mapping[str, Any]) -> Sample:
        """The state of one index entry; DataError when it is missing, damaged or none of this
        run."""
        path, about = self.place_of_sample(entry), self.facts()["corpus"]
        stored = read_arrays(path, entry["checksum"])
        try:
            groups, weights, phi = (stored[name] for name in ("groups", "weights", "phi"))
        except KeyError as error:
            raise DataError(f"{path}: lacks {error}; remake the run") from None
        shapes = (about["documents"],), (len(weights),), (len(weights), about["words"])
        kinds = (np.int32, np.float64, np.float32)
        for array, shape, kind in zip((groups, weights, phi), shapes, kinds, strict=True):
            if array.shape != shape or array.dtype != kind or not np.isfinite(array).all():
                raise DataError(f"{path}: holds no state of this run; remake it")
        if (
            groups.min() < 0 or groups.max() >= len(weights)
            or min(weights.min(), phi.min()) < 0 or not phi.any(axis=1).all()
        ):  # fmt: skip
            raise DataError(f"{path}: holds no state of a mixture; remake it")
        beta = entry["beta"] if "beta" in entry else self.config().beta
        return Sample(groups, weights, phi, float(entry["alpha"]), float(beta))

    def _entries(self, path: Path, index: Mapping[str, Any]) -> list[dict[str, Any]]:
        for entry in Record(path, index).records("samples"):
            entry.whole("groups", least=1, most=self._n_docs)  # of which each has a document
            entry.number("alpha", least=0)
            if "beta" in entry.value:
                entry.number("beta", least=1e-12)
        return index["samples"]
