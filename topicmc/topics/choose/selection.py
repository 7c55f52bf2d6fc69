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
from topicmc.models.lda.settings import LdaSettings, Resolved, TrainConfig
from topicmc.settings.groups import LENGTHS
from topicmc.settings.values import option
from topicmc.storage.files import read_json, user_errors_for, write_json
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
            process.

    Raises:
        UsageError: a setting cannot be honoured, memory is too small for the largest K, or the
            folder holds something else.
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
        self._settings = {name: value for name, value in settings.items() if value != "auto"}
        if self.corpus.n_heldout == 0:
            raise DataError(f"{corpus}: has no held-out documents; prepare it with --heldout N")
        self._settings.setdefault("until", "end")  # the same length for all K
        # One sampler for all K, whatever the time would allow for each of them, now or before.
        known = {"sampler": self._begun_with(), **self._settings}["sampler"]
        self._settings["sampler"] = known or self._config(max(self.topics), self.seeds[0]).sampler
        configs = [self._config(n_topics, self.seeds[0]) for n_topics in self.topics]
        if not any(self._settings.get(name) is not None for name in LENGTHS):
            # Each K would have a length of its own; and where memory or time lets but some of them
            # keep the topics of tokens, of another kind.
            if len({config.remember for config in configs}) > 1:
                self._settings["remember"] = configs[-1].remember
                configs = [self._config(n_topics, self.seeds[0]) for n_topics in self.topics]
            name = "updates" if configs[-1].epochs is None else "epochs"
            self._settings[name] = getattr(configs[-1], name)  # of the largest K
        self._claim()

    def _begun_with(self) -> str | None:
        """The sampler of the runs that are there."""
        begun = sorted(self.folder.glob("k*-seed*/run.json"))
        return TopicRun.open(begun[0].parent).facts()["config"]["sampler"] if begun else None

    def path(self, n_topics: int, seed: int) -> Path:
        """Where the run with so many topics and this seed lies."""
        return self.folder / f"k{n_topics}-seed{seed}"

    def train(self, interrupt: Interrupt, listener: Callable[[], Listener]) -> bool:
        """Trains what has not ended yet, all K with the first seed first; False when interrupted.

        Each run is told to a listener of its own.

        Raises:
            UsageError: a run is there that began with other settings.
            DivergedError: as training does.
        """
        runs = [(n_topics, seed) for seed in self.seeds for n_topics in self.topics]
        return all(
            self._train(*run, f"run {i} of {len(runs)}", interrupt, listener())
            for i, run in enumerate(runs, start=1)
        )

    def _train(
        self, n_topics: int, seed: int, which: str, interrupt: Interrupt, told: Listener
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
            told.message(f"{which}: {n_topics} topics, seed {seed}, in {path}")
            try:
                training = training_of(config, corpus, run, transport, told, resume=there)
                outcome = training.train(interrupt)
            finally:
                told.close()
            if not outcome.interrupted:
                write_topics(run, outcome.update)
        return not outcome.interrupted

    def _asked(self, n_topics: int, seed: int) -> LdaSettings:
        return TrainConfig(**{**self._settings, "topics": n_topics, "seed": seed})

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
        write_json(
            self.folder / RESULT,
            {"format": FORMAT, "corpus": self.corpus.fingerprint, **facts},
        )

    def _claim(self) -> None:
        result = self.folder / RESULT
        if not result.is_file():
            if self.folder.exists() and (not self.folder.is_dir() or any(self.folder.iterdir())):
                raise UsageError(
                    f"{self.folder}: holds something else than runs of topicmc choose; give"
                    " another -o"
                )
            with user_errors_for(self.folder):
                self.folder.mkdir(parents=True, exist_ok=True)
            self.write()
        elif read_json(result, corpus=str)["corpus"] != self.corpus.fingerprint:
            raise DataError(f"{self.folder}: its runs are on another corpus; give another -o")
