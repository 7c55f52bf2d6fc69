"""The run directory of a model of documents: that of any model, and

    vocabulary.txt    word w is on line w + 1, so that what was found can be read without the corpus

A view (`topicmc.models.views`) opens as its run, which then knows what the view says of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from topicmc.errors import UsageError
from topicmc.models.views import View, checksum_of, is_view, read_view, run_of
from topicmc.storage.files import read_words, user_errors_for, write_words
from topicmc.storage.runs import RunDirectory


class CorpusRun(RunDirectory):
    """A run of a model of documents, or a view of one, which lies in another ``place``."""

    counted: ClassVar[tuple[str, ...]] = ("documents", "tokens")
    files: ClassVar[tuple[str, ...]] = (*RunDirectory.files, "vocabulary.txt")

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.place = self.path  # what was opened: the run, or a view of it
        self.view: View | None = None
        self._seen = ""  # checksum of the samples that the view was made of

    @classmethod
    def open(cls, path: Path) -> Self:
        """An existing run, or that of a view.  DataError when there is none, it is damaged, a newer
        version wrote it, or it is of another model."""
        path = Path(path)
        if not is_view(path):
            return super().open(path)
        run = super().open(run_of(path))
        run.place = path
        run.view, run._seen = read_view(path, run.facts())
        return run

    def has_moved_on(self) -> bool:
        """Whether the run has other samples than when its view was made."""
        return self.view is not None and self._seen != checksum_of(self.sample_index())

    def write_vocabulary(self, words: Sequence[str]) -> str:
        """Writes ``vocabulary.txt`` and returns its checksum, which belongs in ``run.json``."""
        path = self.path / "vocabulary.txt"
        with user_errors_for(path):
            return write_words(path, words)

    def vocabulary(self) -> list[str]:
        """The words in the order of the corpus; DataError when the file is missing or damaged."""
        facts = self.facts()
        n_words = facts["corpus"].get("words")
        return read_words(self.path / "vocabulary.txt", facts.get("vocabulary"), n_words)


def check_distinct(runs: Sequence[CorpusRun]) -> None:
    """UsageError where a run comes twice, as itself, as a view, or made again by the same seed: its
    chains would count as several that are independent."""
    seen: dict[Path, CorpusRun] = {}
    samples: dict[tuple[Any, str], CorpusRun] = {}
    for run in runs:
        first = seen.setdefault(run.path.resolve(), run)
        if first is not run:
            raise UsageError(
                f"{run.place}: is the run of {first.place}, and says nothing more of it; give each"
                " run once"
            )
        seed = run.facts()["config"].get("seed")
        for entry in run.sample_index():
            first = samples.setdefault((seed, entry["checksum"]), run)  # equal arrays, equal bytes
            if first is not run:
                raise UsageError(
                    f"{run.place}: has the same samples as {first.place}; train one of them with"
                    " another --seed"
                )
