"""``topicmc export``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from topicmc.cli.mixture.dispatch import are_mixtures
from topicmc.cli.options import (
    NumberOrAll,
    corpus_option,
    force_option,
    json_option,
    note_progress,
    note_reached,
    output_option,
    print_json,
    refuse,
    threads_option,
)
from topicmc.cli.printing import echo, note, show_reading
from topicmc.export import FORMATS

if TYPE_CHECKING:
    from topicmc.export.source import Source


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@click.option("--to", "format", type=click.Choice(list(FORMATS)), required=True, help="The format.")
@output_option("The folder or file to write.")
@click.option("--chain", type=click.IntRange(0), help="Which chain's topics [0].")
@click.option(
    "--words",
    type=NumberOrAll(),
    help="Likeliest words of each topic, to csv, jsonl, parquet [20] and arviz [10].",
)
@corpus_option
@threads_option
@force_option
@json_option
def export(
    runs: tuple[Path, ...],
    format: str,
    output: Path,
    chain: int | None,
    words: int | Literal["all"] | None,
    corpus: Path | None,
    threads: int | None,
    force: bool,
    as_json: bool,
) -> None:
    """Write the topics of RUN, the posterior mean of a chain, or the groups of a mixture.

    \b
    npy       a folder with phi.npy (K x W, rows sum to 1), alpha.npy (K), vocabulary.txt
    csv       a row for each topic and each of its likeliest words
    jsonl     a line for each topic, with its likeliest words
    parquet   the rows of csv
    gensim    a folder with an LdaModel
    sklearn   a folder with a LatentDirichletAllocation, and vocabulary.txt
    mallet    a folder with state.gz, topic-keys.txt, topic-word-weights.txt
    pyldavis  prepared data as JSON, or a page if the name ends in .html
    arviz     the kept samples of all RUNs as netCDF
    """
    from topicmc.export import export as write

    show_reading()
    options: Any = {"words": words, "corpus": corpus, "threads": threads}
    if are_mixtures(runs):
        from topicmc.export.mixture import GroupSource
        from topicmc.models.mixture.run import MixtureRun

        refuse(
            {"--chain": chain},
            "does not go with a mixture, whose groups are of the central sample of all chains",
        )
        mixtures = [MixtureRun.open(run) for run in runs]
        note_reached(mixtures)
        source: Source = GroupSource(mixtures, **options)
    else:
        from topicmc.export.source import Source as Topics
        from topicmc.models.lda.run import TopicRun

        opened = [TopicRun.open(run) for run in runs]
        note_progress(opened)
        source = Topics(opened, chain=chain, **options)
    files = write(source, format, output, force)
    note(*source.remarks)
    if as_json:
        told = {"format": format, "files": [str(file) for file in files], "remarks": source.remarks}
        print_json(told)
        return
    for file in files:
        echo(file)
