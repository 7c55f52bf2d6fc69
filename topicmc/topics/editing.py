"""Making views: topics named, merged, dropped and grouped (`topicmc.models.views`).

An edit of a view goes on from what it shows, and makes a view of the same run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from topicmc.errors import UsageError
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.samples import samples_of
from topicmc.models.mixture.matching import central
from topicmc.models.mixture.run import MixtureRun
from topicmc.models.names import fault_of_name
from topicmc.models.views import (
    FEWEST,
    NAME,
    View,
    checksum_of,
    fingerprint_of,
    is_view,
    write_view,
)
from topicmc.storage.files import user_errors_for
from topicmc.topics.chains import matched_chains
from topicmc.topics.uncertainty import posterior_of


@dataclass(frozen=True)
class Edits:
    """What is asked for, by the numbers that the run or view shows.

    labels  names by number; an empty one takes the name away
    merges  numbers of topics to sum, the first of which names the sum
    drops   numbers of topics to leave out
    groups  numbers by the name of a group; of none, the group goes
    """

    labels: Mapping[int, str] = field(default_factory=dict)
    merges: Sequence[tuple[int, ...]] = ()
    drops: Sequence[int] = ()
    groups: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def dropping(self, numbers: Sequence[int]) -> Edits:
        """With further topics left out, whose names and places in groups are passed over."""
        labels = {k: name for k, name in self.labels.items() if k not in numbers}
        groups = {
            name: tuple(k for k in group if k not in numbers) for name, group in self.groups.items()
        }
        return replace(self, labels=labels, drops=[*self.drops, *numbers], groups=groups)


def unstable(run: TopicRun, others: Sequence[TopicRun]) -> list[int]:
    """The numbers of the topics of a run or view that not all chains have found, its own and those
    of other runs. These have no merged topics, and have found one where they have all its parts.

    Raises UsageError where one chain alone has samples, or chains of one start, where hardly a
    topic is left, and as `posterior_of`.
    """
    matched = run.whole if others else run
    posterior = posterior_of([matched, *others])
    if posterior.in_their_start and (others or posterior.n_chains == 1 < len(posterior.chains)):
        young = ", ".join(str(other.place) for other in posterior.in_their_start)
        raise UsageError(
            f"--stable: no posterior sample yet of {young}, which cannot tell what it finds; train"
            " it for longer (--resume)"
        )
    if posterior.n_chains == 1 or posterior.have_one_start:
        chains = "one chain" if posterior.n_chains == 1 else "chains of one start"
        raise UsageError(
            f"--stable: {run.place} has {chains}, which cannot know what others find; name"
            f" {posterior.another_run} by --with"
        )
    stable = {matched.numbers[k] for k in np.flatnonzero(posterior.stable)}
    parts = run.view.parts if others and run.view else [(k,) for k in run.numbers]
    told = [part[0] for part in parts if not stable.issuperset(part)]
    if len(parts) - len(told) < FEWEST:
        raise UsageError(
            f"--stable: all chains have found {len(parts) - len(told)} of {len(parts)} topics, and"
            f" {FEWEST} are the fewest that can be shown; train for longer"
        )
    return told


def edited(run: TopicRun, edits: Edits) -> View:
    """What a run or view shows after some edits: merges come first, then drops, names and groups.

    Raises UsageError when they name topics that are not there, or leave too few.
    """
    view = run.view or View(run.n_topics, tuple((k,) for k in run.numbers), run.labels)
    for merge in edits.merges:
        view = _merged(view, merge)
    _check(view, "--drop", edits.drops)
    kept = tuple(part for part in view.parts if part[0] not in edits.drops)
    view = _without(replace(view, parts=kept))
    _check(view, "--label or --labels", edits.labels)
    for name in [*filter(None, edits.labels.values()), *edits.groups]:
        if fault := fault_of_name(name):
            raise UsageError(f"{fault}; give another")
    labels = {k: name for k, name in {**view.labels, **edits.labels}.items() if name}
    for group in edits.groups.values():
        _check(view, "--group", group)
    moved = [k for group in edits.groups.values() for k in group]
    if len(moved) > len(set(moved)):
        twice = next(k for k in moved if moved.count(k) > 1)
        raise UsageError(f"--group: topic {twice} is named twice; it can be in one group")
    groups = {
        name: tuple(k for k in group if k not in moved)
        for name, group in view.groups.items()
        if name not in edits.groups
    }
    groups |= {name: tuple(sorted(group)) for name, group in edits.groups.items()}
    view = replace(view, labels=labels, groups={n: group for n, group in groups.items() if group})
    if fault := view.fault():
        raise UsageError(f"{run.place}: {fault}; merge and drop fewer")
    return view


def _merged(view: View, merge: tuple[int, ...]) -> View:
    """With some topics summed in one."""
    _check(view, "--merge", merge)
    told = "+".join(map(str, merge))
    if len(set(merge)) < max(2, len(merge)):
        raise UsageError(f"--merge {told}: name two topics or more, each once")
    by_number = dict(zip(view.numbers, view.parts, strict=True))
    parts = tuple(k for number in merge for k in by_number.pop(number))
    by_number[merge[0]] = parts
    return _without(replace(view, parts=tuple(by_number[k] for k in sorted(by_number))))


def _without(view: View) -> View:
    """Without names and members that are topics no more."""
    here = set(view.numbers)
    groups = {name: tuple(k for k in group if k in here) for name, group in view.groups.items()}
    return replace(
        view,
        labels={k: name for k, name in view.labels.items() if k in here},
        groups={name: group for name, group in groups.items() if group},
    )


def _check(view: View, option: str, numbers: Sequence[int] | Mapping[int, str]) -> None:
    here = set(view.numbers)
    for k in numbers:
        if k not in here:
            raise UsageError(f"{option}: there is no topic {k}: {view.why_not(k)}")


def check_free(path: Path, force: bool = False) -> None:
    """UsageError where a view must not be written: something is there that is none, or, without
    ``force``, a view."""
    if not path.exists():
        return
    if not path.is_dir() or not is_view(path) or [c.name for c in path.iterdir()] != [NAME]:
        raise UsageError(f"{path}: exists already and is no view; give another -o")
    if not force:
        raise UsageError(f"{path}: exists already; add --force to overwrite it, or give another -o")


def edit(run: TopicRun, edits: Edits, path: Path, force: bool = False) -> TopicRun:
    """Writes a view, and opens it.

    Other chains number their topics on their own, so the view notes which of theirs are matched to
    those of the first chain (`topicmc.topics.chains`).

    Raises UsageError as `edited`, `check_free` and `RunDirectory.check_no_part` do, DataError when
    the run has no samples yet or a file is damaged.
    """
    check_free(path, force)
    run.check_no_part(path)
    view = edited(run, edits)
    whole = run.whole
    entries = samples_of(whole)
    view = replace(view, orders=_orders(whole, len({entry["chain"] for entry in entries})))
    with user_errors_for(path):
        write_view(path, run.path, view, fingerprint_of(run.facts()), checksum_of(entries))
    return TopicRun.open(path)


def name_groups(
    run: MixtureRun, labels: Mapping[int, str], path: Path, force: bool = False
) -> dict[int, str]:
    """Writes a view that names groups of the central sample of a mixture, on top of the names that
    the run or view has; an empty one takes a name away. Returns all names.

    Raises UsageError when there is no such group, or as `check_free` and
    `RunDirectory.check_no_part` do; DataError as `edit`.
    """
    check_free(path, force)
    run.check_no_part(path)
    n_groups = len(central(run).sizes)
    for k, name in labels.items():
        if k >= n_groups:
            raise UsageError(f"--label: there is no group {k}: the groups are 0 to {n_groups - 1}")
        if name and (fault := fault_of_name(name)):
            raise UsageError(f"{fault}; give another")
    names = {k: name for k, name in sorted({**run.labels, **labels}.items()) if name}
    view = View(n_groups, tuple((k,) for k in range(n_groups)), names)
    samples = checksum_of(run.states_to_read())
    with user_errors_for(path):
        write_view(path, run.path, view, fingerprint_of(run.facts()), samples, of_topics=False)
    return names


def _orders(run: TopicRun, n_chains: int) -> dict[int, np.ndarray]:
    """For each chain but the first its own numbers of the first chain's topics."""
    if n_chains == 1:
        return {}
    chains = [chain for chain, _ in matched_chains([run])]
    return {chain.entries[0]["chain"]: chain.order for chain in chains[1:]}
