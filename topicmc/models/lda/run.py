"""The run directory of LDA: that of a `CorpusRun`, and

    prior.npz         what the prior of the topics adds to β, where it adds anything
    topics.json       the topics, written when training ends
    origin-….npz      what the chains of a run began with that goes on from another
    stream.npz        θ of the chain of a saved `LDA` that goes on with `partial_fit`

A kept state is θ (W × K float32), stored as `topicmc.models.lda.encoding` has it.

The samples of a view are handed out as it shows them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from topicmc.errors import DataError
from topicmc.models.corpus_run import CorpusRun
from topicmc.models.lda.encoding import Arrays, decode, encode_counts, encode_weights
from topicmc.models.lda.formats import without_averages
from topicmc.models.lda.priors.seed_settings import Seeds
from topicmc.models.lda.run_fields import (
    check_additions,
    check_complete,
    check_entries,
    check_settings,
    check_theta,
)
from topicmc.models.lda.settings import TrainConfig
from topicmc.samplers.row_prior import Additions, RowPrior
from topicmc.storage.arrays import read_array, read_arrays, write_arrays
from topicmc.storage.files import within
from topicmc.storage.run_fields import settings_in
from topicmc.storage.runs import FIRST_MODEL

STREAM = "stream.npz"
PRIOR_FORMAT = 3  # of runs with ``prior.npz``, without which their samples would be misread


@dataclass(frozen=True)
class Draft:
    """An origin that is still to be written: of each state its arrays, and what ``run.json`` is to
    say of it."""

    states: list[Arrays]
    facts: dict[str, Any]

    def remark(self) -> str:
        """What was carried over, in a sentence."""
        facts = self.facts
        fresh = facts["fresh"]
        return (
            f"goes on from {facts['run']}: {facts['known']:,} words are known to it,"
            f" {facts['new']:,} are new, and {facts['gone']:,} of its words, with"
            f" {facts['left_out']:.1%} of its tokens, are not in this corpus"
            + (f"; {fresh} topic{'s' * (fresh > 1)} more" if fresh else "")
        )


class TopicRun(CorpusRun):
    """A run of LDA on disk.  Open one with `create` or `open`."""

    model: ClassVar[str | None] = FIRST_MODEL
    figure: ClassVar[str] = "perplexity"
    precision: ClassVar[str] = ",.1f"
    files: ClassVar[tuple[str, ...]] = (
        *CorpusRun.files,
        "topics.json",
        "prior.npz",
        "origin-*.npz",
        STREAM,
    )

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.shape: tuple[int | None, int | None] = (None, None)  # W and K, once `open` knows them
        self._additions: Additions | None = None  # once they are read

    @classmethod
    def create(
        cls,
        path: Path,
        facts: Mapping[str, Any],
        force: bool = False,
        words: list[str] | None = None,
        additions: Additions | None = None,
        origin: Draft | None = None,
    ) -> Self:
        """A new run directory holding ``run.json``, the vocabulary if ``words`` are given, the
        ``additions`` to the prior of its topics if there are any, and what it begins with.
        UsageError as `check_free` has it."""
        with cls._made(path, force) as run:
            vocabulary = {} if words is None else {"vocabulary": run.write_vocabulary(words)}
            prior = {} if additions is None else {"prior": run._write_additions(additions)}
            begun = {} if origin is None else {"origin": run._write_origin(origin)}
            run._write_facts({**facts, **vocabulary, **prior, **begun})
        return run

    def _write_origin(self, origin: Draft) -> dict[str, Any]:
        """Writes the states; what ``run.json`` says of it, their files and checksums included."""
        states: list[dict[str, Any]] = []
        for told, arrays in zip(origin.facts["states"], origin.states, strict=True):
            name = f"origin-{len(states):03d}.npz"
            checksum = write_arrays(self.path / name, arrays)
            states.append({"file": name, "checksum": checksum, **told})
        return {**origin.facts, "states": states}

    def _adopt(self, facts: Mapping[str, Any]) -> None:
        path = self.path / "run.json"
        check_complete(path, facts)
        settings_in(path, facts, TrainConfig)
        self.shape = facts["corpus"].get("words"), facts["config"]["topics"]

    def _check_facts(self, path: Path, facts: Any) -> None:
        super()._check_facts(path, facts)
        check_settings(path, facts)

    def _entries(self, path: Path, index: Mapping[str, Any]) -> list[dict[str, Any]]:
        """As of any model; in runs of format 1 averages are no samples."""
        check_entries(path, index, self.shape[1])
        if index.get("format") == 1:
            return without_averages(index["samples"], self.facts()["config"])
        return index["samples"]

    @property
    def resume_command(self) -> str:
        """As of any run; of one that was saved from Python, what goes on there."""
        if self.facts().get("saved"):
            return "LDA.from_run and partial_fit in Python"
        return super().resume_command

    @property
    def whole(self) -> Self:
        """The run itself, without its view if it has one."""
        return self if self.view is None else self.open(self.path)

    # ---- topics

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the topics, in their order in all arrays."""
        if self.view is not None:
            return self.view.numbers
        return tuple(range(self.facts()["config"]["topics"]))

    @property
    def n_topics(self) -> int:
        """How many topics are shown."""
        return len(self.numbers)

    @property
    def labels(self) -> Mapping[int, str]:
        """Names of topics by their numbers, of those that have one."""
        if self.view is not None:
            return self.view.labels
        return {int(k): name for k, name in self.facts().get("labels", {}).items()}

    @property
    def seeds(self) -> Seeds:
        """The seed words of the topics by their names, those of a run that it went on from too."""
        facts = self.facts()
        return facts["config"].get("seeds") or facts.get("seeds") or {}

    @property
    def groups(self) -> Mapping[str, tuple[int, ...]]:
        """Numbers of topics by the names of their groups."""
        return {} if self.view is None else self.view.groups

    # ---- prior of the topics

    def _write_facts(self, facts: Mapping[str, Any]) -> None:
        super()._write_facts({**facts, "format": PRIOR_FORMAT} if "prior" in facts else facts)

    def _write_additions(self, additions: Additions) -> str:
        arrays = {"row_of": additions.row_of, "values": additions.values}
        return write_arrays(self.path / "prior.npz", arrays)

    def additions(self) -> Additions | None:
        """What the prior of the topics adds to β; None where it is symmetric. DataError when the
        file is missing or damaged."""
        expected = self.facts().get("prior")
        if expected is None or self._additions is not None:
            return self._additions
        path = within(self.path, self.path / "prior.npz")
        self._additions = check_additions(path, read_arrays(path, expected), self.shape)
        return self._additions

    def prior(self, beta: float) -> RowPrior:
        """The prior of the topics over a base, as the view shows them if there is one: what merged
        topics have over the base adds up, and the base counts once."""
        additions = self.additions()
        if additions is not None and self.view is not None:
            values = self.view.summed(additions.values, chain=0)
            additions = Additions(additions.row_of, values)
        return RowPrior(beta, additions)

    # ---- posterior samples

    def keep_sample(
        self,
        chain: int,
        round_number: int,
        theta: np.ndarray,
        *,
        beta: float | None = None,
        most_tokens: float = np.inf,
    ) -> dict[str, Any]:
        """Writes one state θ (W × K float32) as `topicmc.models.lda.encoding` has it and returns
        its index entry: as counts where ``beta`` is given, for θ = n_kw + b_kw, else as weights."""
        if beta is None:
            arrays = encode_weights(theta, most_tokens)
        else:
            arrays = encode_counts(theta, self.prior(beta))
        return self.write_sample(chain, round_number, arrays)

    def keep_mean(
        self, chain: int, round_number: int, theta: np.ndarray, *, most_tokens: float
    ) -> dict[str, str]:
        """Writes an estimate of the posterior mean of θ, W × K float32, which is no sample; its
        file and checksum, for the entry of the newest sample of that chain."""
        path = self.path / "samples" / f"chain-{chain:03d}-mean-{round_number:09d}.npz"
        return {
            "file": path.name,
            "checksum": write_arrays(path, encode_weights(theta, most_tokens)),
        }

    def read_mean(self, entry: Mapping[str, Any]) -> np.ndarray:
        """The mean of θ that goes with one index entry, W × K float32, as the view shows it if
        there is one; DataError when missing or damaged."""
        mean = entry["mean"]
        theta = self.read_theta(self.place_of_sample(mean), mean["checksum"])
        return self.viewed(theta, {**entry, "share": mean["share"]})

    def read_sample(self, entry: Mapping[str, Any]) -> np.ndarray:
        """θ of one index entry, W × K float32, as the view shows it if there is one; DataError when
        missing or damaged."""
        return self.viewed(self.read_state(entry), entry)

    def viewed(self, theta: np.ndarray, entry: Mapping[str, Any]) -> np.ndarray:
        """θ (W, K) of one index entry, or a draw in its place, as the view shows it."""
        if self.view is None:
            return theta
        return self.view.theta(theta, entry.get("share"), entry["chain"])

    def read_state(self, entry: Mapping[str, Any]) -> np.ndarray:
        """θ of one index entry as it was kept, whatever the view."""
        path = self.place_of_sample(entry)
        if path.suffix == ".npy":  # of runs of format 1
            return check_theta(path, read_array(path, entry["checksum"]), self.shape)
        return self.read_theta(path, entry["checksum"])

    def read_theta(self, path: Path, checksum: str) -> np.ndarray:
        """θ in a file of arrays, W × K float32; DataError when missing or damaged."""
        try:
            arrays = read_arrays(path, checksum)
            additions = self.additions() if "counts" in arrays else None
            theta = decode(arrays, self.shape, additions)
        except (KeyError, ValueError) as error:
            raise DataError(f"{path}: holds no topics ({error!r}); remake it") from None
        return check_theta(path, theta, self.shape)
