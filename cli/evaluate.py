"""``topicmc evaluate``."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topicmc.cli.mixture.dispatch import are_mixtures, only_one
from topicmc.cli.options import (
    checked_alpha,
    json_option,
    note_progress,
    print_json,
    refuse,
    threads_for,
    threads_option,
)
from topicmc.cli.printing import echo, note, show_reading
from topicmc.cli.tables import print_convergence, print_score
from topicmc.errors import UsageError

if TYPE_CHECKING:
    from topicmc.corpora import Corpus
    from topicmc.kernels.threads import Threads
    from topicmc.models.lda.run import TopicRun
    from topicmc.models.lda.scoring import Score
    from topicmc.topics.diagnostics import Diagnostics, Trace

_BARS = "▁▂▃▄▅▆▇█"
VIEWED = (
    "the perplexity is that of the topics as {} shows them: a merged topic is one topic of all its"
    " words, and the mix of a document is made of the topics that are left; for that of the model"
    " evaluate the run (topicmc evaluate {})"
)
_WIDTH = 40  # bars of a trace


@click.command()
@click.argument("runs", nargs=-1, metavar="[RUN...]", type=click.Path(path_type=Path))
@click.option(
    "--corpus", type=click.Path(path_type=Path), help="Score on this corpus [that of RUN]."
)
@click.option(
    "--topics-file",
    type=click.Path(path_type=Path),
    help="Score this K x W matrix (.npy) instead; columns in the order of the vocabulary.",
)
@click.option("--alpha", type=float, help="Prior of the topic mix for --topics-file.")
@threads_option
@json_option
def evaluate(
    runs: tuple[Path, ...],
    corpus: Path | None,
    topics_file: Path | None,
    alpha: float | None,
    threads: int | None,
    as_json: bool,
) -> None:
    """Held-out perplexity of RUN, or of any topics, by document completion; and whether the chains
    of all RUNs have converged.

    Lower is better. 90% of each held-out document is seen, 10% is scored. Of a mixture the score
    is in nats a document, of whole held-out documents.
    """
    from topicmc.corpora import Corpus
    from topicmc.models.lda.run import TopicRun
    from topicmc.topics.chains import check_alike
    from topicmc.topics.diagnostics import diagnose

    if alpha is not None and topics_file is None:
        raise UsageError("--alpha goes with --topics-file; a RUN has its own")
    if not runs and corpus is None:
        raise UsageError("name a RUN, or --corpus CORPUS with --topics-file PHI.npy")
    if not runs and topics_file is None:
        raise UsageError("--corpus alone says nothing of the topics; add RUN or --topics-file")
    show_reading()
    if are_mixtures(runs):
        from topicmc.cli.mixture.read import evaluate as score_mixture

        refuse({"--topics-file": topics_file}, "means nothing to a mixture")
        score_mixture(only_one(runs), corpus, threads, as_json)
        return
    workers = threads_for(threads)
    opened = [TopicRun.open(run) for run in runs]
    other = Corpus.open(corpus) if corpus is not None else None
    if topics_file is not None:
        _evaluate_file(topics_file, opened, other, alpha, workers, as_json)
        return
    check_alike(opened)
    note_progress(opened)
    scores = [_scored(run, other, workers) for run in opened]
    for shown in opened:
        if shown.view is not None and (shown.view.merged or shown.view.dropped):
            note(VIEWED.format(shown.place, shlex.quote(str(shown.path))))
    diagnostics = diagnose(opened)
    if as_json:
        told = [_told(run, score) for run, score in zip(opened, scores, strict=True)]
        single = len(runs) == 1
        named = [{"run": str(run), **score} for run, score in zip(runs, told, strict=True)]
        print_json({**(told[0] if single else {"runs": named}), **diagnostics.as_dict()})
        return
    for run, score in zip(runs, scores, strict=True):
        if len(runs) > 1:
            echo(f"run                   {run}")
        _print_score(score)
    _print_diagnostics(diagnostics)


def _scored(run: TopicRun, other: Corpus | None, workers: Threads) -> Score | None:
    """The score of a run on its own corpus or another; None where its own holds no documents out:
    whether it has converged can be told all the same."""
    from topicmc.corpora.of_runs import open_corpus
    from topicmc.models.lda.scoring import score_run

    corpus = other or open_corpus(run)
    is_own = corpus.fingerprint == run.facts()["corpus"].get("fingerprint")
    if is_own and corpus.n_heldout == 0:
        return None
    return score_run(run, corpus, run.vocabulary(), workers)


def _told(run: TopicRun, score: Score | None) -> dict[str, Any]:
    """A score as JSON values."""
    from topicmc.models.lda.samples import samples_of
    from topicmc.models.lda.scoring import Score

    if score is not None:
        return score.as_dict()
    known = {
        "samples": sum(not entry["burn_in"] for entry in samples_of(run)),
        **dict.fromkeys(("averaged_over", "documents", "tokens_scored", "unknown_words"), 0),
    }
    return {field.name: known.get(field.name) for field in fields(Score)}


def _evaluate_file(
    path: Path,
    runs: Sequence[TopicRun],
    corpus: Corpus | None,
    alpha: float | None,
    workers: Threads,
    as_json: bool,
) -> None:
    import numpy as np

    from topicmc.corpora.of_runs import open_corpus
    from topicmc.models.lda.samples import posterior_mean
    from topicmc.models.lda.scoring import score_topics

    if len(runs) > 1:
        raise UsageError("--topics-file takes its corpus and --alpha from one RUN; name one only")
    prior = posterior_mean(runs[0]).alpha if alpha is None and runs else checked_alpha(alpha)
    score = score_topics(path, corpus or open_corpus(runs[0]), np.array(prior), workers)
    if as_json:
        print_json(score.as_dict())
    else:
        echo(f"perplexity            {score.perplexity:,.2f}  of the topics in {path}")
        _print_split(score)


def _print_score(score: Score | None) -> None:
    if score is None:
        echo("perplexity            none: no documents are held out (topicmc prepare --heldout N)")
        return
    scores, n = (score.perplexity, score.perplexity_averaged), score.averaged_over
    print_score("perplexity", *scores, n, ",.2f", start="a state of the start")
    if score.samples and score.perplexity_mean is not None:
        error = score.perplexity_mean_error
        more = "" if error is None else f", standard error {error:,.2f}"
        mean = f"{score.perplexity_mean:,.2f}"
        echo(f"                      {mean}  of the running mean{more}")
    _print_split(score)


def _print_split(score: Score) -> None:
    echo(f"held-out documents    {score.documents:,}")
    echo(f"tokens scored         {score.tokens_scored:,}")
    echo(f"unknown words         {score.unknown_words:,}")
    echo(f"split                 {score.split}")


def _print_diagnostics(diagnostics: Diagnostics) -> None:
    shown = {
        kind.replace("_", " ") + of + run: trace
        for name, trace in diagnostics.traces.items()
        for kind, of, run in [name.partition(" of ")]
        if kind.startswith(("perplexity", "step_size")) and kind != "perplexity_averaged"
        if len(trace) > 1
    }
    width = max([21, *map(len, shown)])
    for name, trace in shown.items():
        _print_trace(name.ljust(width), trace)
    print_convergence(diagnostics, diagnostics.flags)


def _print_trace(name: str, trace: Trace) -> None:
    """First and last value, and a bar for every value, or for every so many."""
    values = [value for _, value in trace]
    values = values[:: max(1, -(-len(values) // _WIDTH))]
    low, high = min(values), max(values)
    heights = [round((x - low) / ((high - low) or 1) * (len(_BARS) - 1)) for x in values]
    bars = "".join(_BARS[height] for height in heights)
    digits = 1 if high >= 10 else 4
    (_, first), (seconds, last) = trace[0], trace[-1]
    ends = f"{first:,.{digits}f} to {last:,.{digits}f} in {seconds:,.0f} s"
    echo(f"{name} {bars} {ends}")
