"""``topicmc effects``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topicmc.cli.mixture.dispatch import are_mixtures
from topicmc.cli.options import (
    check_topics,
    corpus_option,
    force_option,
    json_option,
    note_progress,
    output_option,
    print_json,
    refuse,
    threads_for,
    threads_option,
)
from topicmc.cli.printing import echo, show_reading
from topicmc.cli.tables import UNTOLD, print_line, print_table
from topicmc.cli.topic_table import found_by
from topicmc.errors import UsageError

if TYPE_CHECKING:
    from topicmc.topics.effects import Effects, Interval
    from topicmc.topics.uncertainty import Posterior

MOST_COLUMNS = 8
WORDS = 4


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path(path_type=Path))
@click.option(
    "--by",
    required=True,
    metavar="NAME",
    help="A column that prepare --keep kept; or day, month, year, decade.",
)
@click.option("--topic", "numbers", type=int, multiple=True, help="All groups of this topic.")
@click.option("--level", type=float, default=0.9, help="Probability of the intervals [0.9].")
@output_option("Also write shares and differences of all groups as CSV.", required=False)
@corpus_option
@threads_option
@force_option
@json_option
def effects(
    runs: tuple[Path, ...],
    by: str,
    numbers: tuple[int, ...],
    level: float,
    output: Path | None,
    corpus: Path | None,
    threads: int | None,
    force: bool,
    as_json: bool,
) -> None:
    """Show whether the topics of RUN depend on a column of the documents, or on time: the share of
    each topic in each group of documents, and how sure it is that this differs from the topic's
    share in all other groups together.

    With several RUNs of one corpus topics are matched, and intervals rest on all of them.
    """
    if are_mixtures(runs):
        raise UsageError(
            f"{runs[0]}: is a mixture, and effects are of topics; topicmc report shows the trends"
            " of groups"
        )
    from topicmc.corpora.of_runs import open_corpus
    from topicmc.export.effects import write_effects
    from topicmc.models.lda.run import TopicRun
    from topicmc.storage.files import check_new_file
    from topicmc.topics.document_groups import groups_of
    from topicmc.topics.effects import effects_of
    from topicmc.topics.labels import Labels
    from topicmc.topics.uncertainty import posterior_of

    if output is None:
        refuse({"--force": force}, "is for the file that -o names")
    else:
        check_new_file(output, (".csv",), force)
    opened = [TopicRun.open(run) for run in runs]
    if output is not None:
        for run in opened:
            run.check_no_part(output, corpus)
    labels = Labels.of(opened[0])
    check_topics(numbers, opened[0])
    note_progress(opened)
    show_reading()
    documents = open_corpus(opened[0], corpus)
    groups = groups_of(documents, by)  # before all samples are read
    posterior = posterior_of(opened, level)
    found = effects_of(posterior, documents, groups, threads_for(threads))
    if output is not None:
        write_effects(found, posterior, output, force)
    if as_json:
        print_json(_json(found, posterior, numbers))
        return
    shown = [labels.numbers.index(n) for n in dict.fromkeys(numbers)]
    for k in shown:
        _print_topic(k, found, posterior)
    if not shown:
        _print_all(found, posterior)
        echo()
        for sentence in _on_the_table(found, posterior):
            echo(sentence)
    for sentence in _sentences(found, posterior, documents.n_docs):
        echo(sentence)


def _json(found: Effects, posterior: Posterior, numbers: Sequence[int]) -> dict[str, Any]:
    from topicmc.topics.effects import change_of, rows_of

    labels = posterior.labels
    return {
        "by": found.groups.by,
        "level": posterior.level,
        "topics": [
            {
                "topic": number,
                **({"name": labels.name(k)} if labels.name(k) else {}),
                "found": int(posterior.found[:, k].sum()),
                **change_of(found, k),
                "groups": rows_of(found, k),
            }
            for k, number in enumerate(labels.numbers)
            if not numbers or number in numbers
        ],
        "left_out": [{"group": name, "documents": n} for name, n in found.groups.left_out],
        "without": found.groups.n_without,
        "read": len(found.groups.numbers),
        "chains": posterior.n_chains,
        "remark": posterior.remark(),
    }


def _print_all(found: Effects, posterior: Posterior) -> None:
    """A line for each topic: the largest first, or from what grew to what shrank."""
    import numpy as np

    of, names = _columns(found), _names(found)
    order = np.argsort(-posterior.share, kind="stable")
    last = ""
    ends: Interval | None = None
    if found.change is not None:
        ends, last = found.change, f"{names[0]} to {names[-1]}, points"
    elif len(names) == 2:
        ends = found.difference.of(0)
        last = f"{names[0]} less {names[1]}, points"
    if ends is not None:
        order = np.argsort(-ends.mean, kind="stable")
    rows = [
        (
            f"{posterior.labels.numbers[k]:5d}",
            posterior.labels.name(k) or "",
            f"{posterior.share[k]:.1%}",
            found_by(posterior, k),
            *(_share(found, k, g) for g in of),
            "" if ends is None else _points(ends, (k,)),
            _words(posterior, k, WORDS),
        )
        for k in order
    ]
    heads = ("topic", "name", "share", "found by", *(names[g] for g in of), last, "words")
    print_table(heads, rows, last_left=True)


def _columns(found: Effects) -> Sequence[int]:
    """The groups that have a column: those of most documents, or of an order some evenly spread."""
    import numpy as np

    from topicmc.posterior.thinning import evenly

    if found.change is not None:
        return evenly(len(found.groups.names), MOST_COLUMNS)
    return sorted(np.argsort(-found.documents, kind="stable")[:MOST_COLUMNS].tolist())


def _share(found: Effects, k: int, g: int) -> str:
    share, apart = found.share.mean[k, g], found.difference.is_apart[k, g]
    if share != share:
        return UNTOLD
    sign = " " if not apart else "+" if found.difference.mean[k, g] > 0 else "−"
    return f"{share:.1%}{sign}"


def _print_topic(k: int, found: Effects, posterior: Posterior) -> None:
    from topicmc.posterior.intervals import percent
    from topicmc.topics.uncertainty import TOP

    labels = posterior.labels
    names, words = _names(found), _words(posterior, k, TOP)
    share, chains = f"{posterior.share[k]:.1%} of the tokens", found_by(posterior, k)
    told = f"{share}, found by {chains} chains" if chains else share
    print_line(f"topic {labels.tag(k)}: {told}; {words}")
    rows = [
        (
            name,
            f"{found.documents[g]:,}",
            *_percents(found.share, (k, g)),
            _points(found.difference, (k, g)),
        )
        for g, name in enumerate(names)
    ]
    level = percent(posterior.level)
    heads = (found.groups.by, "documents", "share", f"{level} interval", "points above the others")
    print_table(heads, rows)
    if found.change is not None:
        change = _points(found.change, (k,))
        echo(f"From {names[0]} to {names[-1]}, in percentage points: {change}.")
    echo()


def _percents(interval: Interval, at: tuple[int, ...]) -> tuple[str, str]:
    mean, low, high = (float(values[at]) for values in interval)
    if mean != mean:
        return UNTOLD, ""
    return f"{mean:.1%}", UNTOLD if low != low else f"{100 * low:.1f}–{high:.1%}"


def _points(interval: Interval, at: tuple[int, ...]) -> str:
    """A difference of shares in percentage points, with its interval."""
    mean, low, high = (100 * float(values[at]) for values in interval)
    if mean != mean:
        return UNTOLD
    ends = UNTOLD if low != low else f"{low:+.1f} to {high:+.1f}"
    return f"{mean:+.1f} ({ends})".replace("-", "−")


def _on_the_table(found: Effects, posterior: Posterior) -> list[str]:
    """What its signs mean, and what it leaves out."""
    from topicmc.posterior.intervals import percent

    level = percent(posterior.level)
    told = [
        f"+ and − mark shares that differ from the share in all other groups together: the {level}"
        f" interval of the difference excludes 0. If no topic depended on {found.groups.by}, at"
        f" most about {percent(round(1 - posterior.level, 10))} of the shares would be marked."
    ]
    if len(found.groups.names) > MOST_COLUMNS:
        told.append(
            f"There are {len(found.groups.names):,} groups; --topic N, --json and -o FILE.csv show"
            " all."
        )
    return told


def _sentences(found: Effects, posterior: Posterior, n_docs: int) -> list[str]:
    """What was not compared or not read, and how sure all of it is."""
    from topicmc.corpora.naming import one_line

    told: list[str] = []
    read = len(found.groups.numbers)
    if found.groups.left_out:
        names = [f"{one_line(name)} ({n})" for name, n in found.groups.left_out[:MOST_COLUMNS]]
        more = len(found.groups.left_out) - len(names)
        more_told = f" and {more:,} more" if more else ""
        few = "they have few documents" if read == n_docs else "few of their documents were read"
        told.append(f"Left out, as {few}: {', '.join(names)}{more_told}.")
    if without := found.groups.n_without:
        have = "1 document has" if without == 1 else f"{without:,} documents have"
        told.append(f"{have} no value of {found.groups.by}.")
    if read < n_docs:
        told.append(f"{read:,} of {n_docs:,} documents were read, drawn at random.")
    told.append(posterior.remark())
    return told


def _names(found: Effects) -> list[str]:
    """The names of the groups, as a table shows them."""
    from topicmc.corpora.naming import one_line

    return [one_line(name) for name in found.groups.names]


def _words(posterior: Posterior, k: int, n: int) -> str:
    """The likeliest words of a topic, for which nothing is drawn."""
    from topicmc.topics.ranking import top

    return " ".join(posterior.vocabulary[w] for w in top(posterior.phi[[k]], n)[0])
