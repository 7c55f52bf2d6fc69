"""``topicmc report``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topicmc.cli.mixture.dispatch import are_mixtures
from topicmc.cli.options import (
    corpus_option,
    force_option,
    json_option,
    note_progress,
    note_reached,
    output_option,
    print_json,
    refuse,
    threads_for,
    threads_option,
)
from topicmc.cli.printing import echo, note, show_reading
from topicmc.errors import DataError

if TYPE_CHECKING:
    from topicmc.corpora import Corpus
    from topicmc.models.lda.run import TopicRun
    from topicmc.models.mixture.run import MixtureRun
    from topicmc.storage.runs import RunDirectory


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path(path_type=Path))
@output_option("The page to write, as report.html.")
@click.option("--title", help="Title of the page.")
@click.option(
    "--documents", "n_documents", type=click.IntRange(0), default=5, help="Documents a topic [5]."
)
@click.option(
    "--by",
    type=click.Choice(["day", "month", "year", "decade"]),
    help="The periods of trends [what suits the times of the documents].",
)
@click.option("--level", type=float, default=0.9, help="Probability of the intervals [0.9].")
@corpus_option
@threads_option
@force_option
@json_option
def report(
    runs: tuple[Path, ...],
    output: Path,
    title: str | None,
    n_documents: int,
    by: str | None,
    level: float,
    corpus: Path | None,
    threads: int | None,
    force: bool,
    as_json: bool,
) -> None:
    """Write a page to explore the topics of RUN, or the groups of a mixture: one HTML file that
    needs no network.

    With several RUNs of one corpus their topics are matched, and those that all chains have found
    are marked.
    """
    from topicmc.models.lda.run import TopicRun
    from topicmc.models.mixture.run import MixtureRun
    from topicmc.report import check_free, write_report

    mixtures = are_mixtures(runs)
    check_free(output, force)
    kind: Any = MixtureRun if mixtures else TopicRun
    opened = [kind.open(run) for run in runs]
    for run in opened:
        run.check_no_part(output, corpus)
    asked: dict[str, Any] = {"title": title, "n_documents": n_documents, "level": level, "by": by}
    show_reading()
    data = (_of_mixtures if mixtures else _of_topics)(opened, corpus, threads, asked)
    write_report(data, output, force)
    if as_json:
        print_json(
            {
                "report": str(output),
                "bytes": output.stat().st_size,
                "topics": len(data["topics"]),
                "words": len(data["words"]),
                "converged": data["verdict"]["converged"],
            }
        )
    else:
        echo(output)


def _of_mixtures(
    runs: Sequence[MixtureRun], corpus: Path | None, threads: int | None, asked: dict[str, Any]
) -> dict[str, Any]:
    from topicmc.report.groups import gather_groups

    refuse({"--threads": threads}, "does not go with a mixture")
    note_reached(runs)
    return gather_groups(runs, _corpus(runs[0], corpus), **asked)


def _of_topics(
    runs: Sequence[TopicRun], corpus: Path | None, threads: int | None, asked: dict[str, Any]
) -> dict[str, Any]:
    from topicmc.report.gather import gather

    note_progress(runs)
    return gather(runs, _corpus(runs[0], corpus), threads=threads_for(threads), **asked)


def _corpus(run: RunDirectory, place: Path | None) -> Corpus | None:
    """The corpus of a run; without it, if nobody has said where it is, the report lacks parts."""
    from topicmc.corpora.of_runs import open_corpus

    if place is not None:
        return open_corpus(run, place)
    try:
        return open_corpus(run)
    except DataError as error:
        note(f"no coherence, documents or trends: {error}")
        return None
