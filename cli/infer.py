"""``topicmc infer``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topicmc.cli.options import (
    force_option,
    json_option,
    note_progress,
    output_option,
    print_json,
    run_argument,
    threads_option,
)

if TYPE_CHECKING:
    from topicmc.corpora.readers import Tally
    from topicmc.inference.mixes import Totals


@click.command()
@run_argument
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path))
@output_option("File to write; its name ends in .csv, .jsonl, .npy or .parquet.")
@click.option("--se", is_flag=True, help="Add the posterior standard deviation of each share.")
@click.option("--chain", type=click.IntRange(0), default=0, help="Which chain's topics [0].")
@click.option("--format", default="auto", help="Format of the sources, as in prepare [auto].")
@click.option("--vocab", type=click.Path(path_type=Path), help="Vocabulary of SOURCES of word ids.")
@click.option("--field", metavar="NAME", help="Field or column of the text [text].")
@click.option("--title", metavar="NAME|none", help="Field or column of the title [title].")
@click.option("--tokens", metavar="NAME", help="Field of lists of words, instead of --field.")
@click.option("--tokenizer", metavar="MODULE:FUNCTION", help="Cuts texts, as in prepare.")
@click.option("--seed", type=click.IntRange(0), default=0, help="Of the draws behind --se [0].")
@threads_option
@force_option
@json_option
def infer(
    run: Path,
    sources: tuple[Path, ...],
    output: Path,
    se: bool,
    chain: int,
    seed: int,
    threads: int | None,
    tokens: str | None,
    tokenizer: str | None,
    force: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Write the topic mix of each document in SOURCES, under the topics of RUN.

    SOURCES are whatever prepare reads, or a prepared corpus. Texts are cut into words as those of
    the run's corpus were, and words are matched by spelling. The topics are the posterior mean of
    the kept samples. A row of the file is a document, in the order of SOURCES.
    """
    from topicmc.cli.prepare import reading_progress
    from topicmc.config import available_cores
    from topicmc.corpora.readers import Tally
    from topicmc.corpora.reading import read_known
    from topicmc.corpora.tokenizer import Tokenizer
    from topicmc.inference.files import check_place, write_mixes
    from topicmc.inference.mixes import Totals, infer_under
    from topicmc.kernels.threads import Threads
    from topicmc.runs import RunDirectory

    check_place(output, sd=se, force=force)
    opened = RunDirectory.open(run)
    note_progress([opened])
    facts = opened.facts()
    n_topics = facts["config"]["topics"]
    tally, totals = Tally(), Totals()
    workers = Threads(threads or available_cores())
    with reading_progress(sources, 1) as progress:
        words = opened.vocabulary()
        cut = Tokenizer.read(opened.path / "run.json", facts["corpus"]).again(tokens, tokenizer)
        stream = read_known(sources, words, tally, tokenizer=cut, progress=progress, **options)
        rows = infer_under(opened, stream, totals, chain=chain, sd=se, seed=seed, threads=workers)
        write_mixes(output, n_topics, rows, sd=se)
    if tally.cut:
        click.echo(f"Warning: {tally.cut}.", err=True)
    if as_json:
        print_json(_summary(output, n_topics, tally, totals))
    else:
        _print_summary(output, n_topics, tally, totals)


def _summary(output: Path, n_topics: int, tally: Tally, totals: Totals) -> dict[str, Any]:
    return {
        "file": str(output),
        "documents": totals.documents,
        "documents_empty": totals.empty,
        "documents_skipped": tally.skipped,
        "topics": n_topics,
        "tokens": totals.tokens,
        "unknown_words": totals.unknown,
        "cut_short": tally.cut,
    }


def _print_summary(output: Path, n_topics: int, tally: Tally, totals: Totals) -> None:
    notes = {"without a known word": totals.empty, **tally.passed_over}
    aside = "".join(f", {number:,} {what}" for what, number in notes.items() if number)
    click.echo(f"documents   {totals.documents:,}{aside}")
    click.echo(f"tokens      {totals.tokens:,}, and {totals.unknown:,} of words unknown to the run")
    click.echo(f"written to  {output}: {n_topics} topics a document")
