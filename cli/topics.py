"""``topicmc topics``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from topicmc.cli.options import corpus_option, json_option, print_json, run_argument


@click.command()
@run_argument
@click.option("-n", "n_words", type=click.IntRange(1), default=10, help="Words a topic [10].")
@click.option(
    "--sort", type=click.Choice(["size", "coherence"]), default="size", help="Order of the topics."
)
@corpus_option
@json_option
def topics(run: Path, n_words: int, sort: str, corpus: Path | None, as_json: bool) -> None:
    """Show the topics of RUN: their share of all tokens and their likeliest words."""
    from topicmc.jobs import open_corpus
    from topicmc.posterior import posterior_mean
    from topicmc.runs import RunDirectory
    from topicmc.topics import describe

    opened = RunDirectory.open(run)
    phi, share, _ = posterior_mean(opened)
    described = describe(
        phi,
        share,
        opened.vocabulary(),
        n_words,
        sort=sort,
        corpus=open_corpus(opened, corpus) if sort == "coherence" else None,
    )
    if as_json:
        print_json({"topics": [topic.as_dict() for topic in described]})
    else:
        print_topics(described)


def print_topics(described: Sequence) -> None:
    """A line for each topic: number, share of the tokens, words."""
    from topicmc.topics import Topic

    width = _terminal_width()
    topic: Topic
    for topic in described:
        coherence = "" if topic.coherence is None else f" {topic.coherence:6.2f}"
        line = f"{topic.number:4d} {topic.share:6.1%}{coherence}  {' '.join(topic.words)}"
        click.echo(line if width is None or len(line) <= width else line[: width - 1] + "…")


def _terminal_width() -> int | None:
    import shutil

    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None
