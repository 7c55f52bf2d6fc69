"""``topicmc choose``."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topicmc.cli.configuration import settings_of
from topicmc.cli.options import (
    Number,
    json_option,
    output_option,
    print_json,
    progress_option,
    setting,
)
from topicmc.cli.printing import echo, show_reading
from topicmc.cli.tables import UNTOLD, print_table
from topicmc.cli.training import stopping, teller
from topicmc.errors import UsageError
from topicmc.models.lda.settings import SAMPLERS
from topicmc.settings.values import AUTO

if TYPE_CHECKING:
    from topicmc.topics.choose.choice import Point

COLUMNS = ("topics", "perplexity", "±", "NPMI", "diversity", "stable", "converged", "seconds")


class Numbers(click.ParamType):
    """Whole numbers with commas between them."""

    name = "N,N,..."

    def convert(self, value: Any, param: Any, ctx: Any) -> list[int]:
        try:
            return [int(number) for number in value.split(",")]
        except ValueError:
            self.fail(f"{value!r}: write whole numbers, as 20,50,100", param, ctx)


@click.command()
@click.argument("corpus", type=click.Path(path_type=Path))
@output_option("The folder of the runs, the table and the plot.")
@click.option("--topics", type=Numbers(), required=True, help="Numbers of topics: 20,50,100.")
@click.option(
    "--seeds",
    type=click.IntRange(1, 1000),
    default=1,
    help="Runs with each number of topics, by seeds 0, 1, … [1].",
)
@setting("--sampler", click.Choice([AUTO, *SAMPLERS]), "Sampler [auto: by corpus and time].")
@setting("--alpha", Number(float), "Dirichlet prior of a document's topic mix [auto: learned].")
@setting("--beta", Number(float), "Dirichlet prior of a topic's words [auto: learned].")
@setting("--updates", int, "Stop each run after so many updates.")
@setting("--epochs", float, "Stop each run after so many passes over the corpus.")
@setting("--time-budget", str, "Stop each run after so much training: 90s, 10m, 2h.")
@setting("--threads", Number(int), "Threads [auto: all cores].")
@click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path),
    help="Settings of topicmc train from a TOML file; options given here win.",
)
@progress_option
@json_option
def choose(
    corpus: Path,
    output: Path,
    topics: list[int],
    seeds: int,
    config_file: Path | None,
    progress: str,
    as_json: bool,
    **given: Any,
) -> None:
    """Choose the number of topics: train CORPUS with several, and compare.

    Runs that have ended are kept: the same command again goes on where it stopped, and may name
    more numbers or seeds.
    """
    from topicmc.engine.transport.open import launched_size
    from topicmc.host.interrupts import interruptible
    from topicmc.models.lda.run import TopicRun
    from topicmc.topics.choose.choice import advice, points_of, write_plot
    from topicmc.topics.choose.selection import Grid

    if len(set(topics)) < 2:
        raise UsageError("--topics: name two numbers or more; for one there is topicmc train")
    if (launched := launched_size()) > 1:
        raise UsageError(
            f"choose trains in one process, and mpiexec runs {launched} copies of it; start it"
            " without mpiexec"
        )
    settings = settings_of(given, config_file)
    for name in ("topics", "seed"):
        if name in settings:
            raise UsageError(f"{config_file}: leave out {name}, which topicmc choose varies")
    grid = Grid(output, corpus, topics, range(seeds), settings)
    with interruptible(stopping(as_json=progress == "json")) as interrupt:
        ended = grid.train(interrupt, lambda headline: teller(progress, TopicRun, headline))
    last = teller(progress, TopicRun)
    if not ended:
        last.message(
            "Stopped; runs that have ended are kept, and the last one has a checkpoint. Go on"
            f" with:\n  topicmc {shlex.join(sys.argv[1:])}"
        )
        sys.exit(130)
    if progress in ("auto", "bar"):
        show_reading()
    points = points_of([grid.runs(n_topics) for n_topics in grid.topics], grid.corpus)
    told = {
        "topics": [point.as_dict() for point in points],
        "advice": advice(points, grid.twice_as_long()),
    }
    grid.write(**told)
    plot = write_plot(output, points)
    if as_json:
        print_json(told)
        return
    print_table(COLUMNS, [_row(point) for point in points])
    echo(f"\n{told['advice']}")
    last.message(f"Plot: {plot}")


def _row(point: Point) -> Sequence[str]:
    spread = point.spread("perplexity")
    return (
        f"{point.topics}",
        UNTOLD if isnan(point.mean("perplexity")) else f"{point.mean('perplexity'):,.1f}",
        "" if spread is None else f"{spread:,.1f}",
        f"{point.mean('npmi'):.3f}",
        f"{point.mean('diversity'):.2f}",
        "" if point.stable is None else f"{point.stable:.0%}",
        {True: "yes", False: "no", None: "?"}[point.converged],
        f"{point.mean('seconds'):,.1f}",
    )
