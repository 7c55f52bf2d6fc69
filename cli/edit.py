"""``topicmc edit``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from topicmc.cli.mixture.dispatch import is_mixture
from topicmc.cli.options import (
    force_option,
    json_option,
    note_progress,
    note_reached,
    output_option,
    print_json,
    refuse,
    run_argument,
)
from topicmc.cli.printing import echo, show_reading
from topicmc.errors import UsageError


@click.command()
@run_argument
@output_option("The view to write: a folder.")
@click.option("--label", "pairs", multiple=True, metavar="K=NAME", help="Name topic K.")
@click.option(
    "--labels",
    "file",
    type=click.Path(path_type=Path),
    help="Names from a file: CSV of topic,label; or JSON, if its name ends in .json.",
)
@click.option("--merge", "merges", multiple=True, metavar="K+K…", help="Sum topics in the first.")
@click.option("--drop", "drops", multiple=True, metavar="K,…", help="Leave topics out.")
@click.option("--stable", is_flag=True, help="Leave out topics that not all chains have found.")
@click.option(
    "--with",
    "others",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A run whose chains count for --stable, too; may be repeated.",
)
@click.option("--group", "groups", multiple=True, metavar="NAME=K,…", help="Group topics.")
@force_option
@json_option
def edit(
    run: Path,
    output: Path,
    pairs: tuple[str, ...],
    file: Path | None,
    merges: tuple[str, ...],
    drops: tuple[str, ...],
    stable: bool,
    others: tuple[Path, ...],
    groups: tuple[str, ...],
    force: bool,
    as_json: bool,
) -> None:
    """Name, merge, drop and group the topics of RUN, without training anew.

    What is written is a view: every command that reads runs reads it in place of RUN, train does
    not. It holds no samples, so RUN has to stay. Topics keep their numbers; a merged one has the
    number of its first. RUN may be a view, whose edits then stay. Groups of a mixture can be named.
    """
    from topicmc.models.lda.run import TopicRun
    from topicmc.models.mixture.run import MixtureRun
    from topicmc.topics.editing import Edits, name_groups, unstable
    from topicmc.topics.editing import edit as make
    from topicmc.topics.labels import read_labels
    from topicmc.topics.of_views import facts_of, sentences

    if stable and merges:
        raise UsageError("--stable: does not go with --merge; merge topics in an edit of the view")
    labels = read_labels(file) if file is not None else {}
    labels |= _once("--label", map(_label, pairs))
    show_reading()
    if is_mixture(run):
        refuse(
            {"--merge": merges, "--drop": drops, "--stable": stable, "--with": others}
            | {"--group": groups},
            "does not go with a mixture, whose groups can be named only",
        )
        mixture = MixtureRun.open(run)
        note_reached([mixture])
        named = name_groups(mixture, labels, output, force)
        told = {str(k): name for k, name in named.items()}
        if as_json:
            print_json({"view": str(output), "labels": told})
        else:
            echo(f"A view of {run}, which names {len(told)} of its groups.")
        return
    if others and not stable:
        raise UsageError(f"--with {others[0]}: is for --stable; add that, or leave it out")
    opened = TopicRun.open(run)
    note_progress([opened])
    edits = Edits(
        labels=labels,
        merges=[_numbers("--merge", merge, "+") for merge in merges],
        drops=[k for drop in drops for k in _numbers("--drop", drop, ",")],
        groups=_once("--group", map(_group, groups)),
    )
    if stable:
        edits = edits.dropping(unstable(opened, [TopicRun.open(other) for other in others]))
    view = make(opened, edits, output, force)
    if as_json:
        names = {str(k): name for k, name in sorted(view.labels.items())}
        print_json({"view": str(output), "labels": names, **facts_of(view)})
        return
    for sentence in sentences(view):
        echo(sentence)


def _once(option: str, pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """What an option that may be repeated says, by its keys."""
    told: dict[Any, Any] = {}
    for key, value in pairs:
        if key in told:
            raise UsageError(f"{option}: {key} is given twice; give it once")
        told[key] = value
    return told


def _label(pair: str) -> tuple[int, str]:
    number, equals, name = pair.partition("=")
    if not equals or not re.fullmatch(r"\d{1,9}", number.strip(), re.ASCII):
        raise UsageError(f"--label {pair}: give a number and a name, as 3=Sport")
    return int(number), name.strip()


def _group(text: str) -> tuple[str, tuple[int, ...]]:
    name, equals, members = text.rpartition("=")
    if not equals:
        raise UsageError(f'--group {text}: give a name and numbers, as "Science=1,5,9"')
    return name.strip(), _numbers("--group", members, ",") if members.strip() else ()


def _numbers(option: str, text: str, separator: str) -> tuple[int, ...]:
    told: Sequence[str] = [part.strip() for part in text.split(separator)]
    if not all(re.fullmatch(r"\d{1,9}", part, re.ASCII) for part in told):
        raise UsageError(f"{option} {text}: give numbers of topics, as 3{separator}7")
    return tuple(map(int, told))
