"""The trace of a run: a few numbers of each chain's state, recorded so often that autocorrelation
can be told from them. Which numbers they are is the model's to say (`Model.scalars`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from topicmc.engine.method import Model
from topicmc.engine.transport.base import Transport
from topicmc.posterior.thinning import is_kept, longest_kept
from topicmc.storage.runs import RunDirectory

_RECORDS = 256  # in the second half of a run, at most


class Tracer:
    """Records the chains of this process and, on the root, writes what all have recorded. Every
    process knows the whole trace.

    Args:
        model: whose chains are recorded.
        run: where the trace is written.
        transport: who else records.
    """

    def __init__(self, model: Model, run: RunDirectory, transport: Transport) -> None:
        self._model = model
        self._run = run
        self._transport = transport
        self._position = 0
        self._records: list[dict[str, Any]] = []

    @property
    def path(self) -> Path:
        """The folder of the run."""
        return self._run.path

    def trace(self) -> list[dict[str, Any]]:
        """What was recorded so far, oldest first."""
        return self._records

    def rewind(self, position: int, round_number: int) -> None:
        """Forgets what was recorded after a position, or after a round. Collective."""
        self._position = position
        if self._transport.is_root:
            self._run.rewind_trace(position, round_number)
        self._transport.barrier()
        self._records = self._run.trace()

    def record(self, **facts: Any) -> None:
        """Records the states of all chains, if they have come to a position to be recorded;
        ``facts`` go along. Collective."""
        method, unit = self._model.method, self._model.trace_unit
        before, now = self._position // unit, method.position // unit
        self._position = method.position
        if now == before or not is_kept(longest_kept(before, now), now, _RECORDS):
            return
        local = {str(number): scalars for number, scalars in self._model.scalars().items()}
        everyone = self._transport.exchange(local)
        chains = {name: scalars for part in everyone for name, scalars in part.items()}
        record = {
            "position": longest_kept(before, now) * unit,
            **facts,
            "burn_in": method.in_burn_in,
            "chains": dict(sorted(chains.items(), key=lambda item: int(item[0]))),
        }
        self._records.append(record)
        if self._transport.is_root:
            self._run.append_trace(record)
