"""Views: topics of a run named, merged, dropped and grouped, without a copy of its samples.

A view is a folder with one file, ``view.json``:

    run          the place of the run, from that of the view
    fingerprint  what the run is for life; another run in its place is refused
    samples      a checksum of its kept samples when the view was made
    groups_of    of a mixture, how many groups it shows
    parts        the topics of the view, each the numbers of the run's topics that it sums
    labels       names by number
    groups       numbers by the name of the group
    orders       of chains other than the first, which of their topics are those of the first
    checksum     of all that

Numbers are those of the run's first chain. A merged topic has the number of its first part; dropped
topics are in no part.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from topicmc.errors import DataError
from topicmc.models.names import fault_of_name
from topicmc.storage.fields import Record
from topicmc.storage.files import own_checksum, read_json, real_path, within, write_json

NAME = "view.json"
FORMAT = 1
FEWEST = 2
"""Topics that must be left."""


@dataclass(frozen=True)
class View:
    """What is shown of a run of ``n_topics``.

    parts   for each topic of the view, by ascending number, the run's topics that it sums
    labels  names by number
    groups  numbers by the name of the group
    orders  int64 (K,) by chain: its own numbers of the first chain's topics; none where they agree
    """

    n_topics: int
    parts: tuple[tuple[int, ...], ...]
    labels: Mapping[int, str] = field(default_factory=dict)
    groups: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    orders: Mapping[int, np.ndarray] = field(default_factory=dict)

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """The number of each topic."""
        return tuple(part[0] for part in self.parts)

    @property
    def merged(self) -> tuple[tuple[int, ...], ...]:
        """The parts of several topics."""
        return tuple(part for part in self.parts if len(part) > 1)

    @property
    def dropped(self) -> tuple[int, ...]:
        """The run's topics that are not shown."""
        return tuple(sorted(set(range(self.n_topics)).difference(*self.parts)))

    @property
    def changes_topics(self) -> bool:
        """Whether it merges or drops topics, and does not only name them."""
        return bool(self.merged or self.dropped)

    def home(self, k: int) -> int | None:
        """The number of the topic that topic k of the run is part of; None where it was dropped."""
        return next((part[0] for part in self.parts if k in part), None)

    def summed(self, values: np.ndarray, chain: int) -> np.ndarray:
        """What adds up over topics, as shares, mixes and priors do: float (…, K) of a chain, to
        (…, topics of the view)."""
        firsts, merged = self._parts(chain)
        shown = np.take(values, firsts, axis=-1)
        for column, part in merged:
            shown[..., column] = values[..., part].sum(axis=-1)
        return shown

    def theta(self, theta: np.ndarray, share: Sequence[float] | None, chain: int) -> np.ndarray:
        """θ float32 (W, K) of a chain's sample, to (W, topics of the view).

        The words of a merged topic are those of all tokens of its parts, φ = Σ s_k φ_k / Σ s_k with
        their shares s of the tokens; its sum is that of the parts' sums. Where shares are not
        known, columns add up as they are. Topics that are not merged keep their bits.
        """
        firsts, merged = self._parts(chain)
        shown = np.take(theta, firsts, axis=1)
        for column, part in merged:
            weights = _weights(theta[:, part], None if share is None else np.array(share)[part])
            shown[:, column] = (theta[:, part] * weights).sum(axis=1)
        return shown

    def _parts(self, chain: int) -> tuple[np.ndarray, list[tuple[int, np.ndarray]]]:
        """In the chain's own numbers the first part of each topic, and by the column of each merged
        one all of its parts."""
        order = self.orders.get(chain, np.arange(self.n_topics))
        merged = [(i, order[list(part)]) for i, part in enumerate(self.parts) if len(part) > 1]
        return order[list(self.numbers)], merged

    def fault(self) -> str | None:
        """Why there can be no such view, or None."""
        named = [k for part in self.parts for k in part]
        outside = [k for k in named if not 0 <= k < self.n_topics]
        if outside:
            return f"topic {outside[0]}: the topics are 0 to {self.n_topics - 1}"
        if len(named) > len(set(named)):
            return "a topic is part of two"
        if not all(self.parts) or list(self.numbers) != sorted(self.numbers):
            return "its parts are in no order"
        if len(self.parts) < min(FEWEST, self.n_topics):
            return f"{len(self.parts)} topic would be left, and {FEWEST} are the fewest"
        return self._fault_of_names()

    def _fault_of_names(self) -> str | None:
        members = [k for group in self.groups.values() for k in group]
        here = set(self.numbers)
        for k in [*self.labels, *members]:
            if k not in here:
                return f"topic {k}: {self.why_not(k)}"
        twice = [k for k, n in Counter(members).items() if n > 1]
        if twice:
            return f"topic {twice[0]} is in two groups, or twice in one"
        for name in [*self.labels.values(), *self.groups]:
            fault = fault_of_name(name)
            if fault:
                return fault
        for order in self.orders.values():
            if len(order) != self.n_topics or (np.sort(order) != np.arange(len(order))).any():
                return "the order of a chain's topics is none"
        return None

    def why_not(self, k: int) -> str:
        """Why there is no topic k here, and what to name in its place."""
        if not 0 <= k < self.n_topics:
            return f"the topics are 0 to {self.n_topics - 1}"
        home = self.home(k)
        return "it was dropped" if home is None else f"it is part of topic {home}; name {home}"


def _weights(theta: np.ndarray, share: np.ndarray | None) -> np.ndarray:
    """By what columns (W, n) are multiplied before they add up: float64 (n,)."""
    sums = theta.sum(axis=0, dtype=np.float64)
    if share is None or not (share.sum() > 0 and (sums > 0).all()):
        return np.ones(len(sums))
    return share / sums * (sums.sum() / share.sum())


# ---- the file


def fingerprint_of(facts: Mapping[str, Any]) -> str:
    """What a run is for life, training on included: SHA-256 in hexadecimal digits."""
    config = {name: facts["config"].get(name) for name in ("seed", "sampler", "topics")}
    rest = [facts.get("created"), facts.get("vocabulary"), facts["corpus"].get("fingerprint")]
    return hashlib.sha256(json.dumps([config, *rest], sort_keys=True).encode()).hexdigest()


def checksum_of(entries: Iterable[Mapping[str, Any]]) -> str:
    """Of the kept samples by their index entries."""
    return own_checksum({entry["file"]: entry["checksum"] for entry in entries})


def write_view(
    path: Path, run: Path, view: View, fingerprint: str, samples: str, of_topics: bool = True
) -> None:
    """Writes the folder of a view, which may exist; that of a mixture says how many groups there
    are."""
    record = {
        "format": FORMAT,
        "run": Path(os.path.relpath(real_path(run), real_path(path))).as_posix(),
        "fingerprint": fingerprint,
        "samples": samples,
        **({} if of_topics else {"groups_of": view.n_topics}),
        "parts": [list(part) for part in view.parts],
        "labels": {str(k): name for k, name in sorted(view.labels.items())},
        "groups": {name: list(group) for name, group in view.groups.items()},
        "orders": {str(chain): order.tolist() for chain, order in view.orders.items()},
    }
    path.mkdir(parents=True, exist_ok=True)
    write_json(path / NAME, {**record, "checksum": own_checksum(record)})


def is_view(path: Path) -> bool:
    """Whether there is a view at a path."""
    return (path / NAME).is_file()


def run_of(path: Path) -> Path:
    """The place of the run that the view at a path shows; DataError when the file is damaged."""
    place = within(path, path / NAME)
    record = read_json(place, format=int, run=str, checksum=str)
    if record["format"] > FORMAT:
        raise DataError(
            f"{place}: written by a newer topicmc, in format {record['format']}; use that version"
        )
    if record["checksum"] != own_checksum(record):
        raise DataError(f"{place}: changed or damaged, its checksum is wrong; make the view anew")
    run = Path(
        os.path.normpath(path.resolve() / Record(place, record).text("run", r"[^\0]{1,4000}"))
    )
    if not path.is_absolute():
        run = Path(os.path.relpath(run))
    if is_view(run):
        raise DataError(f"{place}: shows {run}, which is a view itself; make it anew of a run")
    if not (run / "run.json").is_file():
        raise DataError(
            f"{place}: its run is not in {run} any more; put it back, or make the view anew of the"
            " run where it is now"
        )
    return run


def read_view(path: Path, facts: Mapping[str, Any]) -> tuple[View, str]:
    """The view at a path of the run with such facts, and the checksum of the samples that it was
    made of; DataError when it is damaged, or of another run."""
    place = path / NAME
    record = Record(place, read_json(place))
    if record.text("fingerprint") != fingerprint_of(facts):
        raise DataError(
            f"{place}: shows another run than is in {record.text('run')} now; make the view anew"
        )
    try:
        n_topics = facts["config"].get("topics")
        view = View(
            record.whole("groups_of", least=1, most=10**9) if n_topics is None else n_topics,
            tuple(_numbers(part) for part in _list(record.value, "parts")),
            {int(k): name for k, name in record.record("labels").texts(r"\d{1,9}", ".*").items()},
            {name: _numbers(group) for name, group in record.record("groups").value.items()},
            {
                int(chain): np.array(_numbers(order), np.int64)
                for chain, order in record.record("orders").value.items()
            },
        )
        fault = view.fault()
    except (KeyError, OverflowError, TypeError, ValueError) as error:
        fault = f"damaged ({error})"
    if fault:
        raise DataError(f"{place}: {fault}; make the view anew")
    return view, record.text("samples")


def _list(record: Mapping[str, Any], name: str) -> list[Any]:
    if not isinstance(record[name], list):
        raise TypeError(f"{name} is no list")
    return record[name]


def _numbers(values: Any) -> tuple[int, ...]:
    if not isinstance(values, list) or not values or not all(type(k) is int for k in values):
        raise TypeError("numbers of topics are none")
    return tuple(values)
