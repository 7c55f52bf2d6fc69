"""``topicmc evaluate``."""

from __future__ import annotations

from pathlib import Path

import click

from topicmc.cli.options import json_option, print_json, threads_option
from topicmc.errors import UsageError


@click.command()
@click.argument("run", required=False, type=click.Path(path_type=Path))
@click.option("--corpus", type=click.Path(path_type=Path), help="Another prepared corpus.")
@click.option(
    "--topics-file",
    type=click.Path(path_type=Path),
    help="Score this K x W matrix (.npy) instead; columns in the order of the vocabulary.",
)
@click.option("--alpha", type=float, help="Prior of the topic mix for --topics-file.")
@threads_option
@json_option
def evaluate(
    run: Path | None,
    corpus: Path | None,
    topics_file: Path | None,
    alpha: float | None,
    threads: int | None,
    as_json: bool,
) -> None:
    """Held-out perplexity of RUN, or of any topics, by document completion.

    Lower is better. 90 % of each held-out document is seen, 10 % is scored.
    """
    from topicmc.config import available_cores
    from topicmc.corpora import Corpus
    from topicmc.jobs import open_corpus
    from topicmc.kernels.threads import Threads
    from topicmc.runs import RunDirectory
    from topicmc.scoring import score_run, score_topics

    if alpha is not None and topics_file is None:
        raise UsageError("--alpha goes with --topics-file; a RUN has its own")
    workers = Threads(threads or available_cores())
    if run is None and corpus is None:
        raise UsageError("name a RUN, or --corpus CORPUS with --topics-file PHI.npy")
    opened = RunDirectory.open(run) if run is not None else None
    if corpus is not None:
        documents = Corpus.open(corpus)
    else:
        assert opened is not None
        documents = open_corpus(opened)
    if topics_file is not None:
        if alpha is None and opened is not None:
            alpha = float(opened.facts()["config"]["alpha"])
        if alpha is None or not 0 < alpha < float("inf"):
            raise UsageError("--topics-file needs --alpha F above 0, the prior of the topic mix")
        score = score_topics(topics_file, documents, alpha, workers)
    elif opened is None:
        raise UsageError("--corpus alone says nothing of the topics; add RUN or --topics-file")
    else:
        score = score_run(opened, documents, opened.vocabulary(), workers)
    if as_json:
        print_json(score.as_dict())
        return
    click.echo(f"perplexity            {score.perplexity:,.2f}")
    click.echo(f"averaged over {score.samples:<7d} {score.perplexity_averaged:,.2f}")
    click.echo(f"held-out documents    {score.documents:,}")
    click.echo(f"tokens scored         {score.tokens_scored:,}")
    click.echo(f"unknown words         {score.unknown_words:,}")
    click.echo(f"split                 {score.split}")
