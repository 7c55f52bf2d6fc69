"""Chains of minibatches: D-SGLD whose start ends early where it takes too much of a budget."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from topicmc.engine.dsgld import Dsgld
from topicmc.engine.transport.base import Transport
from topicmc.models.lda.minibatches.target import TopicChains
from topicmc.models.lda.planning.plan import burn_in_updates
from topicmc.models.lda.planning.starts import end_if_late, is_late, latest, told_late
from topicmc.models.lda.settings import Resolved
from topicmc.storage.checkpoints import Checkpoint


class MinibatchChains(Dsgld):
    """As `topicmc.engine.dsgld.Dsgld`, of topics."""

    def __init__(
        self,
        target: TopicChains,
        config: Resolved,
        transport: Transport,
        slow: Mapping[int, float] | None = None,
    ) -> None:
        super().__init__(target, config, transport, slow)
        self._updates, self._settings = target.updates, config
        self._start_ends: int | None = None  # the update, of a start that was late

    def compiling_moves(self) -> AbstractContextManager[None]:
        """As `topicmc.models.lda.minibatches.updates.Updates.compiling_moves`."""
        return self._updates.compiling_moves()

    def is_late(self, seconds: float) -> bool:
        """Whether the start takes too long after so many seconds of training, and can do without
        some of its updates."""
        config = self._settings
        late = is_late(seconds, config.time_budget, latest(config.start, False))
        return late and self._start_ends is None and self._early_end < burn_in_updates(config)

    @property
    def _early_end(self) -> int:
        """The update at which a start that is late ends. A chain that is ahead leaves it as any
        does, in its next update."""
        return max(end_if_late(self.update), max(self.made) + 1)

    def end_start(self) -> str:
        """Leaves out updates of the start; returns what there is to say about that."""
        made, planned = self.update, burn_in_updates(self._settings)
        end = self._early_end
        self._end_start_at(end)
        self._average_until(min(self.average_until, end))
        return told_late(made, planned - end, planned, "updates")

    def _end_start_at(self, update: int) -> None:
        self._start_ends = update
        self._updates.end_start(update)

    def _average_until(self, update: int) -> None:
        self.average_until = self._updates.averaged_until = update

    def facts(self) -> dict[str, Any]:
        """Those of any chains, and where a start that was late ends, with what was asked of
        averaging then, and what came of it."""
        return {
            **super().facts(),
            "start_ends": self._start_ends,
            "average_until": self._settings.average_until,
            "averaged_until": self.average_until,
        }

    def restore(self, checkpoint: Checkpoint) -> str | None:
        """As `Dsgld.restore`."""
        notice = super().restore(checkpoint)
        facts, asked = checkpoint.facts(next(checkpoint.parts())), self.average_until
        if facts.get("start_ends") is not None:
            self._end_start_at(facts["start_ends"])
            if facts.get("average_until", asked) == asked:  # not told anew
                usual = min(asked, facts["start_ends"])
                self._average_until(facts.get("averaged_until", usual))
        return notice
