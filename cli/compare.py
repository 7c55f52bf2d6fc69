"""``topicmc compare``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topicmc.cli.mixture.dispatch import is_mixture
from topicmc.cli.options import (
    NumberRange,
    checked_alpha,
    json_option,
    note_progress,
    print_json,
    refuse,
    threads_for,
    threads_option,
)
from topicmc.cli.printing import echo, note, show_reading
from topicmc.cli.tables import print_table
from topicmc.errors import UsageError

if TYPE_CHECKING:
    from topicmc.topics.compare.comparison import Comparison, Matching, Measures
    from topicmc.topics.compare.drift import Drift
    from topicmc.topics.compare.grouping import Grouping

COLUMNS = (
    "", "topics", "sampler", "perplexity", "averaged", "samples", "NPMI", "u_mass", "diversity",
    "seconds", "tokens/s",
)  # fmt: skip


@click.command()
@click.argument("runs", nargs=-1, metavar="RUN...", type=click.Path(path_type=Path))
@click.option(
    "--topics-file",
    "topics_files",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Another system's topics, a K x W matrix (.npy); may be repeated.",
)
@click.option("--alpha", type=float, help="Prior of the topic mix for --topics-file.")
@click.option(
    "--corpus",
    type=click.Path(path_type=Path),
    help="Compare on this corpus [that of the first RUN].",
)
@click.option(
    "--within",
    type=NumberRange(0, 1),
    help="Hellinger distance up to which matched topics count as similar [0.5].",
)
@click.option("-n", "n_pairs", type=click.IntRange(0), default=3, help="Pairs to show [3].")
@click.option(
    "--drift/--no-drift",
    "drifts",
    default=None,
    help="Show how the words of topics changed [of a RUN begun --from the first].",
)
@threads_option
@json_option
def compare(
    runs: tuple[Path, ...],
    topics_files: tuple[Path, ...],
    alpha: float | None,
    corpus: Path | None,
    within: float | None,
    n_pairs: int,
    drifts: bool | None,
    threads: int | None,
    as_json: bool,
) -> None:
    """Compare runs, and other systems' topics: perplexity, coherence, diversity, time, and which
    topics, or groups of mixtures, of the first are found again in the others.

    All are measured on the same documents and words.
    """
    from topicmc.corpora import Corpus
    from topicmc.corpora.of_runs import open_corpus
    from topicmc.models.lda.run import TopicRun
    from topicmc.models.mixture.run import MixtureRun
    from topicmc.topics.compare.comparison import compare as compared
    from topicmc.topics.compare.models import MatrixModel, MixtureModel, Model, RunModel
    from topicmc.topics.matching import SAME

    if len(runs) + len(topics_files) < 2:
        raise UsageError("name two RUNs or more, or add --topics-file PHI.npy, to compare")
    if any(is_mixture(run) for run in runs):
        refuse({"--drift": drifts, "--within": within}, "does not go with mixtures")
    prior = checked_alpha(alpha) if topics_files else 0.0
    if alpha is not None and not topics_files:
        raise UsageError("--alpha goes with --topics-file; a RUN has its own")
    if corpus is None and not runs:
        raise UsageError("--topics-file alone needs --corpus CORPUS, whose words are its columns")
    if corpus:
        documents = Corpus.open(corpus)
    else:
        kind = MixtureRun if is_mixture(runs[0]) else TopicRun
        documents = open_corpus(kind.open(runs[0]))
    opened = [TopicRun.open(path) for path in runs if not is_mixture(path)]
    note_progress([run for run in opened if not run.is_starting()])  # of which a remark is made
    show_reading()
    models: list[Model] = [
        MixtureModel(path) if is_mixture(path) else RunModel(path) for path in runs
    ]
    models += [MatrixModel(path, documents.vocabulary, prior) for path in topics_files]
    limit = SAME if within is None else within
    comparison = compared(models, documents, threads_for(threads), limit=limit, drifts=drifts)
    note(*comparison.remarks)
    if as_json:
        print_json(comparison.as_dict())
    else:
        _print(comparison, n_pairs)


def _print(comparison: Comparison, n_pairs: int) -> None:
    echo(
        f"on {comparison.documents:,} held-out documents of {comparison.corpus},"
        f" {comparison.tokens_scored:,} tokens scored, {comparison.words:,} words\n"
    )
    print_table(COLUMNS, [_row(model) for model in comparison.models])
    for matching in comparison.matchings:
        _print_matching(comparison.models[0].name, matching, n_pairs)
    for grouping in comparison.groupings:
        _print_grouping(comparison.models[0].name, grouping, n_pairs)
    for drift in comparison.drifts:
        _print_drift(comparison.models[0].name, drift, comparison.matchings[0].limit, n_pairs)


def _row(model: Measures) -> Sequence[str]:
    return (
        model.name,
        f"{model.topics}",
        model.sampler or "",
        f"{model.perplexity:,.1f}",
        f"{model.perplexity_averaged:,.1f}",
        f"{model.samples}",
        f"{model.npmi:.3f}",
        f"{model.u_mass:.2f}",
        f"{model.diversity:.2f}",
        "" if model.seconds is None else f"{model.seconds:,.1f}",
        "" if model.tokens_per_second is None else f"{model.tokens_per_second:,}",
    )


def _ends(pairs: Sequence[Any], n: int) -> tuple[Sequence[Any], Sequence[Any]]:
    """The first ``n`` pairs, and the last ``n`` of the others."""
    n = min(n, len(pairs))
    return pairs[:n], pairs[max(n, len(pairs) - n) :]


def _print_matching(first: str, matching: Matching, n_pairs: int) -> None:
    pairs = matching.pairs
    echo(
        f"\ntopics of {first} and {matching.name}: {matching.similar} of {len(pairs)} pairs are"
        f" within {matching.limit:g}, mean distance {matching.mean_distance:.2f}"
    )
    for title, listed in zip(("nearest", "farthest"), _ends(pairs, n_pairs), strict=True):
        for pair in listed:
            echo(
                f"  {title:8s} {pair.distance:.2f}  {pair.first:4d}  "
                + _told(pair.first_label, pair.first_words)
            )
            echo(f"  {'':13s}  {pair.other:4d}  {_told(pair.other_label, pair.other_words)}")


def _print_grouping(first: str, grouping: Grouping, n_pairs: int) -> None:
    pairs = grouping.pairs
    within = " and ".join("–" if w is None else f"{w:.2f}" for w in grouping.within)
    echo(
        f"\ngroups of {first} and {grouping.name}: adjusted Rand index"
        f" {grouping.adjusted_rand:.2f}, of their samples {grouping.between:.2f} in the mean,"
        f" within each {within}; {grouping.found} of {len(pairs)} groups found again (Jaccard index"
        f" {grouping.limit:g} or more)"
    )
    for title, listed in zip(("most", "least"), _ends(pairs, n_pairs), strict=True):
        for pair in listed:
            echo(
                f"  {title:5s} {pair.jaccard:.2f}  {pair.first:4d}  {pair.first_documents:9,d} "
                + " ".join(pair.first_words)
            )
            if pair.other is not None:
                echo(
                    f"              {pair.other:4d}  {pair.other_documents:9,d} "
                    + " ".join(pair.other_words)
                )


def _told(label: str | None, words: Sequence[str]) -> str:
    return " ".join(words) if label is None else f"{label}: {' '.join(words)}"


def _print_drift(first: str, drift: Drift, limit: float, n_topics: int) -> None:
    """The topics that changed most, of those whose matched ones are similar."""
    from topicmc.topics.compare.drift import LEVEL

    changed = [topic for topic in drift.topics if topic.distance <= limit]
    if n_topics == 0 or not changed:
        return
    echo(
        f"\nword drift from {first} to {drift.name}: probabilities in per mille, before and after,"
        f" with {LEVEL:.0%} intervals"
    )
    for topic in reversed(changed[-n_topics:]):
        echo(f"  topics {topic.first} and {topic.other}, distance {topic.distance:.2f}")
        for title, changes in (("gained", topic.gained), ("lost", topic.lost)):
            for change in changes:
                before = _per_mille(change.before, change.before_interval)
                after = _per_mille(change.after, change.after_interval)
                echo(f"    {title:6s}  {change.word:20s}  {before:>20s}  {after:>20s}")
        if topic.new:
            words = ", ".join(f"{word} {1000 * p:.2f}" for word, p in topic.new)
            echo(f"    new     {words}")


def _per_mille(value: float, ends: tuple[float, float] | None) -> str:
    between = "" if ends is None else f" ({1000 * ends[0]:.1f} to {1000 * ends[1]:.1f})"
    return f"{1000 * value:.1f}{between}"
