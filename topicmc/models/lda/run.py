"""The run directory of LDA: that of any model, and

    vocabulary.txt    word w is on line w + 1, so that topics can be read without the corpus
    topics.json       the topics, written when training ends

A kept state is θ (W × K float32), stored as `topicmc.models.lda.encoding` has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from topicmc.errors import DataError
from topicmc.models.lda.encoding import decode, encode_counts, encode_weights
from topicmc.models.lda.formats import without_averages
from topicmc.models.lda.run_fields import check_complete, check_entries, check_settings, check_theta
from topicmc.storage.files import checksum, read_array, read_arrays, replacing
from topicmc.storage.runs import FIRST_MODEL, FORMAT, RunDirectory


class TopicRun(RunDirectory):
    """A run of LDA on disk.  Open one with `create` or `open`."""

    model: ClassVar[str | None] = FIRST_MODEL
    counted: ClassVar[tuple[str, ...]] = ("documents", "tokens")
    figure: ClassVar[str] = "perplexity"
    files: ClassVar[tuple[str, ...]] = (*RunDirectory.files, "topics.json", "vocabulary.txt")

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.shape: tuple[int | None, int | None] = (None, None)  # W and K, once `open` knows them

    @classmethod
    def create(
        cls,
        path: Path,
        facts: Mapping[str, Any],
        force: bool = False,
        words: list[str] | None = None,
    ) -> Self:
        """A new run directory holding ``run.json``, and the vocabulary if ``words`` are given.
        UsageError as `check_free` has it."""
        run = cls._empty(path, force)
        vocabulary = {} if words is None else {"vocabulary": run.write_vocabulary(words)}
        run._write_facts({"format": FORMAT, **facts, **vocabulary})
        return run

    def _adopt(self, facts: Mapping[str, Any]) -> None:
        check_complete(self.path / "run.json", facts)
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

    # ---- vocabulary

    def write_vocabulary(self, words: list[str]) -> str:
        """Writes ``vocabulary.txt`` and returns its checksum, which belongs into ``run.json``."""
        path = self.path / "vocabulary.txt"
        with replacing(path) as stream:
            stream.writelines(word + "\n" for word in words)
        return checksum(path)

    def vocabulary(self) -> list[str]:
        """The words in the order of θ's rows; DataError when the file is missing or damaged."""
        path = self.path / "vocabulary.txt"
        if not path.is_file() or checksum(path) != self.facts().get("vocabulary"):
            raise DataError(
                f"{path}: missing or damaged; copy vocabulary.txt from the corpus of the run"
            )
        return path.read_text(encoding="utf-8").split("\n")[:-1]

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
        its index entry: as counts where ``beta`` is given, for θ = n_kw + β, else as weights."""
        arrays = encode_weights(theta, most_tokens) if beta is None else encode_counts(theta, beta)
        return self.write_sample(chain, round_number, arrays)

    def read_sample(self, entry: Mapping[str, Any]) -> np.ndarray:
        """θ of one index entry, W × K float32; DataError when missing or damaged."""
        path = self.place_of_sample(entry)
        if path.suffix == ".npy":  # of runs of format 1
            return check_theta(path, read_array(path, entry["checksum"]), self.shape)
        try:
            theta = decode(read_arrays(path, entry["checksum"]), self.shape)
        except (KeyError, ValueError) as error:
            raise DataError(f"{path}: holds no topics ({error!r}); remake it") from None
        return check_theta(path, theta, self.shape)
