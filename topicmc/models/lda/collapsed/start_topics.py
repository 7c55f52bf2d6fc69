"""The topics that tokens are drawn given in some sweeps of a start, in place of the counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from topicmc.engine.transport.base import Transport
from topicmc.models.lda.collapsed.consensus import consensus
from topicmc.models.lda.collapsed.growing import Schedule
from topicmc.models.lda.origin import Origin, padded_theta
from topicmc.models.lda.settings import Resolved
from topicmc.samplers.row_prior import RowPrior
from topicmc.storage.checkpoints import Checkpoint

_LEFT_OUT = -1  # instead of how many members have ended


class StartTopics:
    """Those of another run, or what the members of the start have in common.

    Args:
        config: resolved settings.
        schedule: of the start; it says which sweeps are drawn given topics.
        origin: the other run, if the chain goes on from one.
        number: of the chain.
        transport: who else has the members.
    """

    def __init__(
        self,
        config: Resolved,
        schedule: Schedule,
        origin: Origin | None,
        number: int,
        transport: Transport,
    ) -> None:
        self.members: list[np.ndarray] = []
        """Counts int32 (W, K) of members that have ended."""
        self.ended = 0
        """How many members have ended, and been kept; −1 once the others are left out."""
        self.base: float | None = None
        """β that the topics of members are under: the chain may learn another meanwhile."""
        self._config, self._schedule = config, schedule
        self._origin, self._number, self._transport = origin, number, transport
        self._given: tuple[np.ndarray, np.ndarray] | None = None  # while tokens are drawn given it

    def member_ended(self, sweep: int) -> bool:
        """Whether, when a sweep begins, a member is over that was not yet kept or left out."""
        schedule = self._schedule
        return sweep <= schedule.given.start and self.ended != schedule.members.ended(sweep)

    def keep_member(self, sweep: int, counts: Callable[[], np.ndarray]) -> None:
        """Keeps the counts (W, K) of a member that is over when a sweep begins. Where members are
        left out, the one that was under way is forgotten, unless there is no other."""
        ended = self._schedule.members.ended(sweep)
        if ended == self.ended + 1 or not self.members:
            self.members.append(counts().copy())
        self.ended = ended

    def leave_out_members(self, sweep: int, counts: Callable[[], np.ndarray]) -> None:
        """Leaves out the members that are not over when a sweep begins; the counts (W, K) of one
        that ends just then are kept."""
        members = self._schedule.members
        if sweep < members.end:
            if members.ended(sweep) > self.ended:
                self.members.append(counts().copy())
            self.ended = _LEFT_OUT

    def theta(self, sweep: int, prior: RowPrior) -> tuple[np.ndarray, np.ndarray] | None:
        """θ float32 (W, Kp) and its sums, for tokens to be drawn given them in a sweep; None: the
        counts. ``prior`` is that of the topics. Collective where members have a consensus."""
        if sweep not in self._schedule.given:
            return None
        if self._given is None and self.members:
            self.base = self.base or prior.base
            self._given = padded_theta(self._of_members(prior.with_base(self.base)))
        elif self._given is None:
            assert self._origin is not None
            self._given = padded_theta(self._origin.theta(self._number))
        return self._given

    def _of_members(self, prior: RowPrior) -> np.ndarray:
        """The topics that a start goes on with after its members: float32 (W, K)."""
        if self._config.start == "consensus":
            # Others would take the root's cores to find the same.
            found = np.zeros(self.members[0].shape, np.float32)
            if self._transport.is_root:
                found = consensus(self.members, prior.base)
            return self._transport.sum(found)
        theta = self.members[0].astype(np.float32)
        prior.add_to(theta)
        return theta

    def kinds(self) -> list[tuple[np.ndarray, np.ndarray] | None]:
        """What `theta` may return, topics over one word."""
        one = padded_theta(np.ones((1, self._config.topics), np.float32))
        return [None, one] if self._schedule.given else [None]

    def forget(self, sweep: int) -> None:
        """Lets go of the topics that no token will be drawn under any more when a sweep begins."""
        if sweep >= self._schedule.given.stop:
            self._given = self.base = None
            self.members.clear()

    # ---- checkpoints

    def arrays(self) -> dict[str, np.ndarray]:
        """The counts of the members, of each as it is: all of them together are large."""
        return {f"member-{i:03d}": counts for i, counts in enumerate(self.members)}

    def restore(self, checkpoint: Checkpoint, facts: Mapping[str, Any], n_words: int) -> None:
        """Takes over members as a checkpoint has them, and its facts; ValueError when they are not
        of so many words and the topics of the run."""
        if not facts.get("members"):
            return
        if facts.get("apart"):
            names = (f"member-{i:03d}" for i in range(facts["members"]))
            self.members = [checkpoint.array(name) for name in names]
        else:  # earlier versions had them in one array
            self.members = list(checkpoint.array("members"))
        shape = n_words, self._config.topics
        for found in self.members:
            if found.shape != shape or found.dtype != np.int32:
                raise ValueError(f"a member is {found.dtype} {found.shape}, not int32 {shape}")
        self.base = facts.get("given_beta")
        self.ended = facts.get("members_ended", len(self.members))
