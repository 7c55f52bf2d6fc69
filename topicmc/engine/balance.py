"""How long a chain stays on each worker, from how long updates have taken there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from topicmc.engine.schedule import Plan, plan_trajectories, should_replan, smooth_delays
from topicmc.engine.transport.base import Transport
from topicmc.settings.groups import DsgldRun


class Balance:
    """The plan of trajectories, renewed from measured delays where that is asked for.

    Args:
        config: resolved settings.
        transport: who hosts which workers.
    """

    def __init__(self, config: DsgldRun, transport: Transport) -> None:
        self.plan: Plan = plan_trajectories([1.0] * config.workers, config.trajectory)
        self._config = config
        self._transport = transport
        self._delays: np.ndarray | None = None  # seconds per update, smoothed
        self._planned_for = np.ones(config.workers)  # the delays that the plan rests on

    def renew(self, measured: Mapping[int, float]) -> None:
        """Notes the seconds per update that hosted workers took. Balanced workers need each
        other's, and so wait for the slowest of the round; others only note their own."""
        delays = np.full(self._config.workers, np.nan)
        delays[list(measured)] = list(measured.values())
        if self._config.balance:
            delays = self._transport.gather(dict(measured))
        if np.isnan(delays).all():
            return
        self._delays = smooth_delays(self._delays, delays)
        if self._config.balance and should_replan(self._planned_for, self._delays):
            self.plan = plan_trajectories(self._delays, self._config.trajectory)
            self._planned_for = self._delays

    def metrics(self) -> dict[str, Any]:
        """The plan, and every worker's delay; collective."""
        return {
            "trajectory": list(self.plan.trajectory),
            "delays": [
                None if np.isnan(delay) else float(delay)
                for delay in self._transport.gather(self._own_delays())
            ],
        }

    def facts(self) -> dict[str, Any]:
        """What a checkpoint must hold, as JSON values."""
        return {
            "trajectory": list(self.plan.trajectory),
            "delays": {str(worker): delay for worker, delay in self._own_delays().items()},
            "planned_for": self._planned_for.tolist(),
        }

    def restore(self, parts: Sequence[Mapping[str, Any]]) -> None:
        """Goes on from the `facts` of all processes, which had as many workers."""
        self.plan = Plan(tuple(parts[0]["trajectory"]))
        delays = {int(w): delay for part in parts for w, delay in part["delays"].items()}
        if delays:
            known = [delays.get(worker, np.nan) for worker in range(self._config.workers)]
            self._delays = smooth_delays(None, known)
        self._planned_for = np.array(parts[0]["planned_for"])

    def _own_delays(self) -> dict[int, float]:
        if self._delays is None:
            return {}
        return {worker: float(self._delays[worker]) for worker in self._transport.workers}
