"""``topicmc topics``."""

from __future__ import annotations

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
from topicmc.cli.printing import show_reading
from topicmc.cli.topic_table import Asked, TopicListing, print_listing

if TYPE_CHECKING:
    import numpy as np

    from topicmc.corpora import Corpus
    from topicmc.models.lda.run import TopicRun
    from topicmc.models.lda.samples import PosteriorMean
    from topicmc.topics.uncertainty import Posterior


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
def topics(runs: tuple[Path, ...], corpus: Path | None, as_json: bool, **options: Any) -> None:
    """Show the topics of RUN: their share of all tokens and their likeliest words.

    With several RUNs of one corpus their topics are matched, and it says how many chains find each.
    """
    asked = Asked(as_json=as_json, **options)
    show_reading()
    if are_mixtures(runs):
        from topicmc.cli.mixture.read import topics as show

        asked.refuse_of_mixture(corpus)
        show(only_one(runs), asked.n_words, as_json)
        return
    from topicmc.models.lda.run import TopicRun

    asked.check(len(runs))
    opened = [TopicRun.open(run) for run in runs]
    check_topics(asked.numbers, opened[0])
    if not asked.reads_corpus:
        refuse({"--corpus": corpus}, "is read for --coherence, --sort coherence and --documents")
    note_progress(opened)
    listing = _read(opened, asked, corpus)
    if as_json:
        print_json(_json(listing, asked.n_words))
    else:
        print_listing(listing, asked)


def _read(runs: list[TopicRun], asked: Asked, place: Path | None) -> TopicListing:
    """The topics of runs as they are asked for, with a corpus that may have moved to a place."""
    from topicmc.corpora.of_runs import open_corpus
    from topicmc.models.lda.samples import posterior_mean
    from topicmc.topics.acceptance import seed_words
    from topicmc.topics.labels import Labels
    from topicmc.topics.ranking import WEIGHT
    from topicmc.topics.reading import describe, word_shares
    from topicmc.topics.tree import tree_of
    from topicmc.topics.uncertainty import posterior_of

    run = runs[0]
    corpus = open_corpus(run, place) if asked.reads_corpus else None  # before all samples are read
    level = 0.9 if asked.level is None else asked.level
    posterior = posterior_of(runs, level) if asked.has_intervals(len(runs)) else None
    model, labels = posterior or posterior_mean(run), Labels.of(run)
    described = describe(
        model.phi,
        model.share,
        run.vocabulary(),
        asked.n_words,
        sort=asked.sort,
        corpus=corpus,
        coherence=asked.coherence,
        details=asked.shown,
        weight=WEIGHT if asked.weight is None else asked.weight,
        p_w=word_shares(run, model.phi, model.share) if asked.full else None,
        documents=_representative(run, model, corpus, asked.n_documents),
        labels=labels,
        columns=sorted({labels.numbers.index(n) for n in asked.numbers}) or None,
    )
    tree = tree_of(model.phi) if asked.tree else None
    return TopicListing(run, described, posterior, tree, seed_words(run))


def _representative(
    run: TopicRun, model: Posterior | PosteriorMean, corpus: Corpus | None, n: int | None
) -> np.ndarray | None:
    """The ``n`` documents with most of each topic of a run or view, as of
    `representative_documents`; None where nobody asks for them."""
    if corpus is None or n is None:
        return None
    from topicmc.inference.mixes import mixed_under, representative_documents

    phi, alpha, summed = mixed_under(run, model.phi, model.alpha)
    return representative_documents(phi, alpha, corpus, n, shown=summed)


def _json(listing: TopicListing, n_words: int) -> dict[str, Any]:
    from topicmc.topics.of_views import facts_of
    from topicmc.topics.tree import joins_of

    posterior = listing.posterior
    topics: list[dict[str, Any]] = []
    for topic in listing.described:
        of_topic = topic.as_dict()
        if posterior is not None:
            of_topic |= posterior.as_dict(topic.column, n_words)
        if topic.number in listing.seeds:
            of_topic["seeds"] = [seed.as_dict() for seed in listing.seeds[topic.number]]
        topics.append(of_topic)
    told: dict[str, Any] = {"topics": topics}
    if posterior is not None:
        told |= {
            "chains": posterior.n_chains,
            "samples": posterior.n_samples,
            "level": posterior.level,
            "coverage": posterior.coverage().as_dict(),
            "remark": posterior.remark(),
        }
    if listing.tree is not None:
        told["tree"] = joins_of(listing.tree, listing.labels)
    if listing.run.view is not None:
        told["view"] = facts_of(listing.run, posterior)
    return told
