"""``topicmc export``."""

from __future__ import annotations

from pathlib import Path

import click

from topicmc.cli.options import force_option, output_option, run_argument


@click.command()
@run_argument
@click.option(
    "--to", "format", type=click.Choice(["npy", "csv", "jsonl"]), required=True, help="The format."
)
@output_option("The folder (npy) or file to write.")
@click.option("--chain", type=click.IntRange(0), default=0, help="Which chain's topics [0].")
@force_option
def export(run: Path, format: str, output: Path, chain: int, force: bool) -> None:
    """Write the topics of RUN: the posterior mean of the kept samples.

    \b
    npy    a folder with phi.npy (K x W, rows sum to 1), alpha.npy (K), vocabulary.txt
    csv    a row for each topic and word
    jsonl  a line for each topic
    """
    from topicmc.exporting import export_topics
    from topicmc.posterior import posterior_mean
    from topicmc.runs import RunDirectory

    opened = RunDirectory.open(run)
    phi, share, alpha = posterior_mean(opened, chain)
    vocabulary = opened.vocabulary()
    for path in export_topics(phi, alpha, share, vocabulary, output, format, force):
        click.echo(path)
