"""The traces of a run: scalars of every chain's state that do not depend on how topics are
numbered, recorded throughout training and so from many more states than are kept.

Of a minibatch chain the weights of words that were waiting are drawn when a state is read, each
time anew: of such a rare word neighbouring samples are more independent than the chain is. So
effective sample sizes are stated of these scalars and of the sizes of topics, to which rare words
add little, and not of words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from topicmc.errors import DataError
from topicmc.posterior.running import RUNNING, WEIGHT
from topicmc.storage.runs import RunDirectory

Traces = dict[str, dict[int, np.ndarray]]
LOG_LIKELIHOOD = "log likelihood"
"""What a trace calls that of some held-out documents."""


class Recorded(Protocol):
    """What has a trace: a run, or one that trains."""

    @property
    def path(self) -> Path:
        """The folder of the run."""

    def trace(self) -> list[dict[str, Any]]:
        """What was recorded, oldest first."""


def traces(run: RunDirectory) -> Traces:
    """By the name of a scalar and by chain its draws past burn-in, oldest first: float64 (n,).

    They are of the states behind the start in the second half of the run, equally far apart; the
    stride of the records doubles as a run grows. The draws of a chain begin where it was recorded
    first. What a record holds as null is NaN, and scalars that are never numbers are left out, as
    are running means, which are no draws. Empty when nothing was recorded past burn-in.

    Raises DataError when the trace is damaged.
    """
    with trace_errors(run):
        return _draws(run.trace())


def chains_now(run: Recorded) -> set[int] | None:
    """The chains in the newest record past burn-in, where those that were given up, as on fewer
    workers, are no more; None where there is no such record.

    Raises DataError when the trace is damaged.
    """
    with trace_errors(run):
        past = [record for record in run.trace() if not record["burn_in"]]
        newest = max(past, key=lambda record: record["position"], default=None)
        return None if newest is None else set(map(int, newest["chains"]))


def chain_trace(run: Recorded, name: str, chain: int) -> tuple[np.ndarray, np.ndarray]:
    """All that was recorded of a scalar of one chain past its start, oldest first: its positions,
    int64 (n,), and the values, float64 (n,), NaN for null.

    Raises DataError when the trace is damaged.
    """
    with trace_errors(run):
        found = [
            (record["position"], _number(record["chains"][str(chain)][name]))
            for record in run.trace()
            if not record["burn_in"] and name in record["chains"].get(str(chain), {})
        ]
        positions, values = zip(*found, strict=True) if found else ((), ())
        return np.array(positions, np.int64), np.array(values, np.float64)


def trace_alone(run: RunDirectory, chain: int) -> list[dict[str, Any]]:
    """What was recorded of one chain, as of chain 0 of a run that has no other.

    Raises DataError when the trace is damaged.
    """
    with trace_errors(run):
        return [
            {**record, "chains": {"0": record["chains"][str(chain)]}}
            for record in run.trace()
            if str(chain) in record["chains"]
        ]


@contextmanager
def trace_errors(run: Recorded) -> Iterator[None]:
    """Within the block what goes wrong is the fault of the trace: a DataError names it."""
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        path = run.path / "trace.jsonl"
        raise DataError(
            f"{path}: holds what is no trace ({error!r}); restore or delete it"
        ) from None


def _draws(records: Sequence[dict[str, Any]]) -> Traces:
    if not records:
        return {}
    half = records[-1]["position"] / 2
    past = {r["position"]: r["chains"] for r in records if not r["burn_in"]}
    states = [past[p] for p in _equally_spaced(sorted(p for p in past if p > half))]
    found: Traces = {}
    # Chains that were given up, as on fewer workers, have no newest draw.
    now = past[max(past)] if past else {}
    places = [(name, chain) for state in states for chain in state for name in state[chain]]
    places = [place for place in places if place[1] in now]
    places = [place for place in places if place[0] not in (RUNNING, WEIGHT)]
    for name, chain in dict.fromkeys(places):
        values = [state.get(chain, {}) for state in states]
        first = next(i for i, scalars in enumerate(values) if name in scalars)
        draws = np.array([_number(scalars.get(name)) for scalars in values[first:]])
        if np.isfinite(draws).any():
            found.setdefault(name, {})[int(chain)] = draws
    return found


def _number(value: float | None) -> float:
    return np.nan if value is None else float(value)


def _equally_spaced(positions: Sequence[int]) -> Sequence[int]:
    """As many of ascending positions as are equally far apart, up to the newest."""
    gaps = sorted({b - a for a, b in pairwise(positions)}, reverse=True)
    return max((_newest(positions, gap) for gap in gaps), key=len, default=positions)


def _newest(positions: Sequence[int], gap: int) -> Sequence[int]:
    """The newest multiples of a gap, as long as none is missing."""
    multiples = [position for position in positions if position % gap == 0]
    breaks = [i for i, (a, b) in enumerate(pairwise(multiples), start=1) if b - a != gap]
    return multiples[breaks[-1] if breaks else 0 :]
