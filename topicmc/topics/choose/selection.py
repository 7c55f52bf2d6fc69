"""Choosing the number of topics: a run for each K and seed, with one budget, and what they show.

Each run lies in a folder of its own and is an ordinary run. Runs that have ended are kept, others
go on from their checkpoint, so that the same call again does only what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from topicmc.corpora import Corpus
from topicmc.engine.loop import Listener
from topicmc.engine.transport.local import LocalTransport
from topicmc.errors import DataError, UsageError
from topicmc.host.interrupts import Interrupt
from topicmc.models.lda import jobs
from topicmc.models.lda.model import training_of
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.settings import COLLAPSED, LdaSettings, Resolved, TrainConfig
from topicmc.settings.groups import LENGTHS
from topicmc.settings.values import AUTO, option
from topicmc.storage.files import read_json, user_errors_for, write_json
from topicmc.storage.run_fields import settings_in
from topicmc.topics.reading import write_topics

FORMAT = 1
RESULT = "choice.json"


class Grid:
    """Runs over ``topics`` × ``seeds`` in one folder.

    Args:
        folder: of all runs; new, empty, or that of a grid on the same corpus.
        corpus: a prepared corpus with held-out documents.
        topics: the numbers of topics K.
        seeds: of the runs with each K.
        settings: other fields of TrainConfig, the same for all; several workers are those of this
            process. Those that are not given are as the runs that are there were asked for. Without
            a sampler or a length all have that of the longest of these runs, or else that of the
            largest K.

    Raises:
        UsageError: a setting cannot be honoured or is not that of a run that is there, memory is
            too small for the largest K, or the folder holds something else.
        DataError: the corpus has no held-out documents, or is not the one of the folder.
    """

    def __init__(
        self,
        folder: Path,
        corpus: Path,
        topics: Sequence[int],
        seeds: Sequence[int],
        settings: Mapping[str, Any],
    ) -> None:
        self.folder = Path(folder)
        self.corpus = Corpus.open(corpus)
        self.topics = sorted(set(topics))
        self.seeds = list(seeds)
        # A run may go on with other threads than before: "auto", too, is to be told then.
        given = {n: value for n, value in settings.items() if value != AUTO or n == "threads"}
        if self.corpus.n_heldout == 0:
            raise DataError(f"{corpus}: has no held-out documents; prepare it with --heldout N")
        kept, begun = self._kept(), self._begun(given)
        # The same length for all K, and of runs that are there what they were asked for.
        self._settings = {"until": "end", **(kept if begun else {}), **given}
        self._decided: dict[str, Any] = {}
        # What is left open is the same for all K: as runs have it that are there, whatever time and
        # memory would allow by now, or else as the largest K bears it.
        longest = max(begun, key=_how_long, default=None)
        model = longest or self._config(max(self.topics), self.seeds[0])
        self._decided["sampler"] = model.sampler
        is_told = not {"remember", "estimate"}.isdisjoint(self._settings)
        is_same = self._settings.get("sampler", model.sampler) == model.sampler
        if is_same and not is_told and model.sampler not in COLLAPSED:
            self._decided["remember"] = model.remember  # which says what an update is
        if not any(self._settings.get(name) is not None for name in LENGTHS):
            self._settings |= _length(model)
        for n_topics in self.topics:  # each of which has to be possible
            self._config(n_topics, self.seeds[0])
        self._claim(is_new=not begun)

    def _kept(self) -> dict[str, Any]:
        """The settings that the runs of the folder were asked for, but their lengths; old folders
        have none."""
        result = self.folder / RESULT
        if not result.is_file():
            return {}
        told = read_json(result, corpus=str)
        if told["corpus"] != self.corpus.fingerprint:
            raise DataError(f"{self.folder}: its runs are on another corpus; give another -o")
        kept = told.get("settings", {})
        if not isinstance(kept, dict):
            raise DataError(f"{result}: damaged, it has no 'settings'; restore or remake it")
        settings_in(result, {"config": kept}, TrainConfig)
        return kept

    def _begun(self, given: Mapping[str, Any]) -> list[TrainConfig]:
        """The settings of the runs that are there; UsageError where they began with others than
        those that are ``given``."""
        begun = []
        for place in sorted(self.folder.glob("k*-seed*/run.json")):
            run = TopicRun.open(place.parent)
            begun.append(jobs.saved(run))
            asked = run.facts().get("asked", {})
            begun[-1].changes_of(given, place.parent, asked, jobs.RESUMABLE)
        return begun

    def path(self, n_topics: int, seed: int) -> Path:
        """Where the run with so many topics and this seed lies."""
        return self.folder / f"k{n_topics}-seed{seed}"

    def train(self, interrupt: Interrupt, listener: Callable[[str], Listener]) -> bool:
        """Trains what has not ended yet, all K with the first seed first; False when interrupted.

        Each run is told to a listener of its own, which is made with a headline that names the run.

        Raises:
            UsageError: a run is there that began with other settings.
            DivergedError: as training does.
        """
        runs = [(n_topics, seed) for seed in self.seeds for n_topics in self.topics]
        return all(
            self._train(*run, f"run {i} of {len(runs)}", interrupt, listener)
            for i, run in enumerate(runs, start=1)
        )

    def _train(
        self,
        n_topics: int,
        seed: int,
        which: str,
        interrupt: Interrupt,
        listener: Callable[[str], Listener],
    ) -> bool:
        path, asked = self.path(n_topics, seed), self._asked(n_topics, seed)
        transport = LocalTransport(asked.workers)
        there = (path / "run.json").is_file()
        with ExitStack() as leases:
            if there:
                budget = {"updates": asked.updates, "time_budget": asked.time_budget}
                changes = {**self._settings, "topics": n_topics, "seed": seed, **budget}
                begun = jobs.resume(path, changes, transport, self.corpus.path, leases)
            else:
                begun = jobs.start(asked, self.corpus.path, path, transport, leases=leases)
            config, corpus, run = begun
            told = listener(f"{which}: {n_topics} topics, seed {seed}, in {path}")
            try:
                for remark in run.notices if there else run.facts()["plan"]["remarks"]:
                    told.message(remark)
                training = training_of(config, corpus, run, transport, told, resume=there)
                outcome = training.train(interrupt)
            finally:
                told.close()
            if not outcome.interrupted:
                write_topics(run, outcome.update)
        return not outcome.interrupted

    def _asked(self, n_topics: int, seed: int) -> LdaSettings:
        settings = {**self._decided, **self._settings}
        return TrainConfig(**{**settings, "topics": n_topics, "seed": seed})

    def _config(self, n_topics: int, seed: int) -> Resolved:
        asked = self._asked(n_topics, seed)
        return jobs.checked(asked, self.corpus, LocalTransport(asked.workers))

    def runs(self, n_topics: int) -> list[TopicRun]:
        """The runs with so many topics, one for each seed."""
        return [TopicRun.open(self.path(n_topics, seed)) for seed in self.seeds]

    def twice_as_long(self) -> str:
        """The options that make all runs twice as long."""
        told = {name: self._settings.get(name) for name in LENGTHS}
        units = {"time_budget": "s"}
        return " ".join(
            f"{option(name)} {2 * length:.10g}{units.get(name, '')}"
            for name, length in told.items()
            if length is not None
        )

    def write(self, **facts: Any) -> None:
        """Writes what is known of the grid to its ``choice.json``."""
        kept = {name: value for name, value in self._settings.items() if name not in LENGTHS}
        known = {"format": FORMAT, "corpus": self.corpus.fingerprint, "settings": kept}
        write_json(self.folder / RESULT, {**known, **facts})

    def _claim(self, is_new: bool) -> None:
        if not (self.folder / RESULT).is_file():
            if self.folder.exists() and (not self.folder.is_dir() or any(self.folder.iterdir())):
                raise UsageError(
                    f"{self.folder}: holds something else than runs of topicmc choose; give"
                    " another -o"
                )
            with user_errors_for(self.folder):
                self.folder.mkdir(parents=True, exist_ok=True)
        if is_new:
            self.write()


def _how_long(config: LdaSettings) -> tuple[float, ...]:
    return config.epochs or 0, config.updates or 0, config.time_budget or 0


def _length(config: LdaSettings) -> dict[str, Any]:
    """How long a run is, in what was told: updates of kept assignments are known in epochs, too."""
    known = {name: getattr(config, name) for name in LENGTHS}
    if known["updates"] is not None:
        known["epochs"] = None
    return {name: length for name, length in known.items() if length is not None}
