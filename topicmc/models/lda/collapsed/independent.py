"""Several chains of AD-LDA in one run, so that it knows more than one mode of the posterior.

Each chain has assignments, counts, priors and random numbers of its own, and chains do not
communicate. So where their samples agree, the posterior does; where not, what each shows of itself
is less than the uncertainty there is, and the mean of their predictions is mostly better than each.

On one worker with no more threads than chains, the chains are spread over the threads, each drawn
by one, so no thread waits. Else every chain has all threads, and chains take turns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from topicmc.engine.state import ReadOnDemand
from topicmc.kernels.threads import Threads
from topicmc.models.lda.collapsed.adlda import Adlda
from topicmc.models.lda.task import Task
from topicmc.samplers.state import Chain
from topicmc.storage.checkpoints import Checkpoint


class IndependentChains:
    """``config.chains`` times `Adlda`."""

    def __init__(self, task: Task) -> None:
        config, threads = task.config, task.threads
        # Processes must meet in the same order, so there chains cannot be drawn at the same time.
        spread = config.workers == 1 and config.chains >= threads.n_threads
        self._threads = threads if spread else Threads()
        of_each = replace(task, threads=Threads() if spread else threads)
        self._members: list[Adlda] = []
        for number in range(config.chains):
            tokens = self._members[0].tokens if number else None
            self._members.append(Adlda(of_each, number, tokens))

    @property
    def update(self) -> int:
        """Updates that each chain has made."""
        return self._members[0].update

    @property
    def position(self) -> int:
        """Sweeps that each chain has completed."""
        return self._members[0].position

    def is_start(self, position: int) -> bool:
        """As `Adlda.is_start`."""
        return self._members[0].is_start(position)

    def is_late(self, seconds: float) -> bool:
        """As `Adlda.is_late`; all go on alike."""
        return self._members[0].is_late(seconds)

    def end_start(self) -> str:
        """As `Adlda.end_start`."""
        said = ""
        for member in self._members:
            said = member.end_start()
        return said

    def log_joints(self) -> dict[int, float]:
        """Those of all chains."""
        return {n: joint for member in self._members for n, joint in member.log_joints().items()}

    def position_of_round(self, number: int) -> int:
        """As `Adlda.position_of_round`."""
        return self._members[0].position_of_round(number)

    @property
    def in_burn_in(self) -> bool:
        """Whether the start is not over; it is equally long for all."""
        return self._members[0].in_burn_in

    @property
    def chains(self) -> Mapping[int, Chain]:
        """The chains, on the process that hosts worker 0."""
        return ReadOnDemand(self._hosted, lambda number: self._members[number].chains[number])

    def glimpses(self, words: np.ndarray) -> Mapping[int, Chain]:
        """As `Adlda.glimpses`."""
        members = self._members
        return ReadOnDemand(self._hosted, lambda number: members[number].glimpses(words)[number])

    @property
    def _hosted(self) -> list[int]:
        return self.distinct() if 0 in self._members[0].workers else []

    def distinct(self) -> list[int]:
        """The chains whose states differ: all of them."""
        return list(range(len(self._members)))

    def round(self) -> tuple[int, int]:
        """A round of every chain."""
        drawn = [(0, 0)] * len(self._members)

        def advance(number: int) -> None:
            drawn[number] = self._members[number].round()

        self._threads.run(advance, len(drawn))
        documents, tokens = np.sum(drawn, axis=0).tolist()
        return documents, tokens

    def metrics(self) -> dict[str, Any]:
        """Those of the first chain, which stand for all."""
        return self._members[0].metrics()

    def arrays(self) -> dict[str, np.ndarray]:
        """The assignments of every chain."""
        return {
            _name(number, name): array
            for number, member in enumerate(self._members)
            for name, array in member.arrays().items()
        }

    def facts(self) -> dict[str, Any]:
        """The numbers that go with `arrays`, as JSON values."""
        return {"chains": [member.facts() for member in self._members]}

    def restore(self, checkpoint: Checkpoint) -> str | None:
        """Puts every chain where the checkpoint left it, as `Adlda.restore` does."""
        said = None
        for number, member in enumerate(self._members):
            said = member.restore(_OfChain(checkpoint, number))
        return said

    def warm_up(self) -> None:
        """Compiles every kernel a round needs."""
        self._members[0].warm_up()


class _OfChain(Checkpoint):
    """What a checkpoint holds of one chain."""

    def __init__(self, whole: Checkpoint, number: int) -> None:
        self.manifest, self.folder = whole.manifest, whole.folder
        self._number = number

    def array(self, key: str, mmap: bool = False) -> np.ndarray:
        return super().array(_name(self._number, key), mmap)

    def length(self, key: str) -> int:
        return super().length(_name(self._number, key))

    def facts(self, name: str) -> Any:
        return super().facts(name)["chains"][self._number]


def _name(number: int, name: str) -> str:
    return f"chain-{number:03d}-{name}"
