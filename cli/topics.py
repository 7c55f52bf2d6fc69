"""``topicmc topics``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topicmc.cli.mixture.dispatch import are_mixtures, only_one
from topicmc.cli.options import (
    check_topics,
    corpus_option,
    json_option,
    note_progress,
    print_json,
    refuse,
)
from topicmc.cli.printing import echo
from topicmc.cli.tables import UNTOLD, print_line, print_table
from topicmc.errors import UsageError

if TYPE_CHECKING:
    import numpy as np

    from topicmc.corpora.naming import Named
    from topicmc.topics.labels import Labels
    from topicmc.topics.reading import Topic
    from topicmc.topics.uncertainty import Posterior, WordPosterior

TREE_WORDS = 6  # of each topic of a tree


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path(path_type=Path))
@click.option("-n", "n_words", type=click.IntRange(1), default=10, help="Words a topic [10].")
@click.option(
    "--sort",
    type=click.Choice(["size", "coherence", "exclusivity"]),
    default="size",
    help="Order of the topics [size].",
)
@click.option(
    "--by",
    type=click.Choice(["probability", "relevance", "frex"]),
    default="probability",
    help="Which words are a topic's first ones [probability].",
)
@click.option("--relevance", "weight", type=float, help="Weight of relevance [0.6].")
@click.option(
    "--details",
    is_flag=True,
    help="Add exclusivity and the nearest topic; to JSON also words by relevance and FREX.",
)
@click.option(
    "--coherence",
    multiple=True,
    type=click.Choice(["u_mass", "npmi", "c_v"]),
    help="Add this coherence; may be repeated.",
)
@click.option("--documents", "n_documents", type=click.IntRange(1), help="Add N documents a topic.")
@click.option("--uncertainty", is_flag=True, help="Add credible intervals, from all chains.")
@click.option("--level", type=float, help="Probability of the intervals [0.9].")
@click.option("--topic", "numbers", type=int, multiple=True, help="All about this topic.")
@click.option("--tree", is_flag=True, help="Add which topics are near each other, as a tree.")
@corpus_option
@json_option
def topics(
    runs: tuple[Path, ...],
    n_words: int,
    sort: str,
    by: str,
    weight: float | None,
    details: bool,
    coherence: tuple[str, ...],
    n_documents: int | None,
    uncertainty: bool,
    level: float | None,
    numbers: tuple[int, ...],
    tree: bool,
    corpus: Path | None,
    as_json: bool,
) -> None:
    """Show the topics of RUN: their share of all tokens and their likeliest words.

    With several RUNs of one corpus, whose topics are matched, also which topics all chains find.
    """
    if are_mixtures(runs):
        from topicmc.cli.mixture.read import topics as show

        refuse(
            {
                "--sort": None if sort == "size" else sort,
                "--by": None if by == "probability" else by,
                "--relevance": weight,
                "--details": details,
                "--coherence": coherence,
                "--documents": n_documents,
                "--uncertainty": uncertainty,
                "--level": level,
                "--topic": numbers,
                "--tree": tree,
                "--corpus": corpus,
            },
            "does not go with a mixture yet",
        )
        show(only_one(runs), n_words, as_json)
        return
    from topicmc.corpora.of_runs import open_corpus
    from topicmc.models.lda.run import TopicRun
    from topicmc.models.lda.samples import posterior_mean
    from topicmc.topics.acceptance import seed_words
    from topicmc.topics.acceptance import sentences as seed_sentences
    from topicmc.topics.labels import Labels
    from topicmc.topics.ranking import WEIGHT
    from topicmc.topics.reading import describe, word_shares
    from topicmc.topics.shown import facts_of, sentences
    from topicmc.topics.tree import joins_of, tree_of
    from topicmc.topics.uncertainty import posterior_of

    pages = bool(numbers or n_documents)
    several = uncertainty or pages or len(runs) > 1
    full = details or pages or by != "probability"
    if level is not None and not several:
        raise UsageError(f"--level {level:g} is that of intervals; add --uncertainty")
    weighs = by == "relevance" or pages or (full and as_json)
    if weight is not None and not weighs:
        raise UsageError(f"--relevance {weight:g} weighs words by relevance; add --by relevance")
    if by != "probability" and pages:
        raise UsageError(
            f"--by {by} is of the table; pages show the words by all three: leave it out"
        )
    level = 0.9 if level is None else level
    opened = [TopicRun.open(run) for run in runs]
    labels = Labels.of(opened[0])
    check_topics(numbers, opened[0])
    reads = bool(coherence or sort == "coherence" or n_documents)
    if not reads:
        refuse({"--corpus": corpus}, "is read for --coherence, --sort coherence and --documents")
    note_progress(opened)
    documents = open_corpus(opened[0], corpus) if reads else None  # before all samples are read
    posterior = posterior_of(opened, level) if several else None
    model = posterior or posterior_mean(opened[0])
    representative = None
    if n_documents and documents is not None:
        from topicmc.inference.mixes import representative_documents, whole_of

        whole, shown = whole_of(opened[0])
        mean = posterior_mean(whole) if opened[0].view is not None else model
        representative = representative_documents(
            mean.phi, mean.alpha, documents, n_documents, shown=shown
        )
    described = describe(
        model.phi,
        model.share,
        opened[0].vocabulary(),
        n_words,
        sort=sort,
        corpus=documents,
        coherence=coherence,
        details=full,
        weight=WEIGHT if weight is None else weight,
        p_w=word_shares(opened[0], model.phi, model.share) if full else None,
        documents=representative,
        labels=labels,
        columns=sorted({labels.numbers.index(n) for n in numbers}) or None,
    )
    joins = tree_of(model.phi) if tree else None
    seeds = seed_words(opened[0])
    if as_json:
        told = _json(described, posterior, n_words)
        for topic in told["topics"]:
            if topic["topic"] in seeds:
                topic["seeds"] = [seed.as_dict() for seed in seeds[topic["topic"]]]
        told |= {"tree": joins_of(joins, labels)} if joins is not None else {}
        told |= {"view": facts_of(opened[0], posterior)} if opened[0].view else {}
        print_json(told)
        return
    if posterior is not None and pages:
        for topic in described:
            _print_page(topic, posterior, n_words)
    else:
        rows = [_row(topic, posterior, by, details) for topic in described]
        print_table(_columns(level), rows, last_left=True)
    if joins is not None:
        echo()
        _print_tree(joins, labels, {topic.column: topic for topic in described})
    seeds = {number: seeds[number] for number in seeds if not numbers or number in numbers}
    if seeds:
        tags = {number: labels.tag(column) for column, number in enumerate(labels.numbers)}
        echo("" if pages else "\n", nl=False)
        echo("Seed words, with the share of their tokens in the topic:")
        for line in seed_sentences(seeds, tags):
            echo(f"  {line}")
    if posterior is not None:
        echo("" if pages else "\n", nl=False)
        echo(posterior.remark())
    if opened[0].view is not None:
        echo()
        for sentence in sentences(opened[0], posterior):
            echo(sentence)


def _print_tree(tree: np.ndarray, labels: Labels, described: dict[int, Topic]) -> None:
    """A line for each join, with its distance, and for each topic."""
    from topicmc.topics.tree import lines_of

    for branch, column, distance in lines_of(tree):
        if column is None:
            print_line(f"{branch}{distance:.2f}")
        else:
            words = described[column].words[:TREE_WORDS] if column in described else ()
            print_line(f"{branch}{'  '.join([labels.tag(column), ' '.join(words)]).rstrip()}")


def _json(topics: Sequence[Topic], posterior: Posterior | None, n_words: int) -> dict[str, Any]:
    if posterior is None:
        return {"topics": [topic.as_dict() for topic in topics]}
    return {
        "topics": [t.as_dict() | posterior.as_dict(t.column, n_words) for t in topics],
        "chains": posterior.n_chains,
        "samples": posterior.n_samples,
        "level": posterior.level,
        "coverage": posterior.coverage().as_dict(),
        "remark": posterior.remark(),
    }


def _columns(level: float) -> Sequence[str]:
    return (
        "topic", "name", "share", _interval_at(level), "found by", "distance", "u_mass", "NPMI",
        "C_v", "exclusive", "nearest", "words",
    )  # fmt: skip


def _interval_at(level: float) -> str:
    from topicmc.posterior.intervals import percent

    return f"{percent(level)} interval"


def _row(topic: Topic, posterior: Posterior | None, by: str, details: bool) -> Sequence[str]:
    k = topic.column
    words: Sequence[str] = topic.words
    if by != "probability":
        words = (topic.relevant if by == "relevance" else topic.frex) or ()
    elif posterior is not None:
        words = [_sure(word) for word in posterior.words(k, len(words))]
    nearest = f"{topic.similar[0][0]} ({topic.similar[0][1]:.2f})" if topic.similar else ""
    return (
        f"{topic.number:5d}",
        topic.label or "",
        f"{topic.share:.1%}",
        "" if posterior is None else _range(posterior, k),
        "" if posterior is None else _found(posterior, k),
        "" if posterior is None else _number(posterior.distance[k]),
        _number(topic.coherence),
        _number(topic.npmi),
        _number(topic.c_v),
        _number(topic.exclusivity),
        nearest if details else "",
        " ".join(words),
    )


def _sure(word: WordPosterior) -> str:
    """A word, with the probability that it is among the first ten where that is in doubt."""
    return f"{word.word}({word.in_top:.0%})" if word.in_top <= 0.995 else word.word


def _number(value: float | None) -> str:
    return "" if value is None or value != value else f"{value:.2f}"


def _range(posterior: Posterior, k: int) -> str:
    low, high = posterior.share_low[k], posterior.share_high[k]
    return UNTOLD if low != low else f"{100 * low:.1f}–{high:.1%}"


def _interval(word: WordPosterior) -> str:
    return UNTOLD if word.low != word.low else f"{word.low:.5f}–{word.high:.5f}"


def _found(posterior: Posterior, k: int) -> str:
    if posterior.n_chains == 1:
        return ""
    return f"{posterior.found[:, k].sum()} of {posterior.n_chains}"


def _print_page(topic: Topic, posterior: Posterior, n_words: int) -> None:
    """All that is known of one topic."""
    k = topic.column
    chains = f"{_found(posterior, k)} chains" if posterior.n_chains > 1 else ""
    facts = [
        (_interval_at(posterior.level), _range(posterior, k)),
        ("found by", chains),
        ("distance", _number(posterior.distance[k])),
        ("u_mass", _number(topic.coherence)),
        ("NPMI", _number(topic.npmi)),
        ("C_v", _number(topic.c_v)),
        ("exclusivity", _number(topic.exclusivity)),
        ("similar", "  ".join(f"{other} ({far:.2f})" for other, far in topic.similar or ())),
        ("by relevance", " ".join(topic.relevant or ())),
        ("by FREX", " ".join(topic.frex or ())),
        *(("document", _document(document)) for document in topic.documents or ()),
    ]
    name = f" {topic.label}" if topic.label else ""
    echo(f"topic {topic.number}{name}: {topic.share:.1%} of the tokens")
    for name, value in facts:
        if value:
            echo(f"  {name:<13} {value.rstrip()}")
    rows = [
        (word.word, f"{word.mean:.5f}", _interval(word), f"{word.in_top:.0%}")
        for word in posterior.words(k, n_words)
    ]
    print_table(("word", "probability", _interval_at(posterior.level), "in top ten"), rows)
    echo()


def _document(document: Named) -> str:
    """Its name, its title, and what is kept of its row."""
    from topicmc.corpora.naming import one_line

    kept = (f"{name}: {one_line(value)}" for name, value in document.kept)
    return "  ".join([document.name, document.title or "", ", ".join(kept)]).rstrip()


def print_topics(described: Sequence[Topic]) -> None:
    """A line for each topic, as training ends: number, name if it has one, share of the tokens,
    words."""
    width = max(len(topic.label or "") for topic in described)
    for topic in described:
        name = f" {topic.label or '':<{width}}" if width else ""
        print_line(f"{topic.number:4d}{name} {topic.share:6.1%}  {' '.join(topic.words)}")
