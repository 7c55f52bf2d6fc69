"""What ``topicmc topics`` is asked for, and topics as tables, pages and a tree."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from topicmc.cli.options import refuse
from topicmc.cli.printing import echo
from topicmc.cli.tables import UNTOLD, print_line, print_table
from topicmc.errors import UsageError
from topicmc.storage.fields import visible

if TYPE_CHECKING:
    import numpy as np

    from topicmc.corpora.naming import Named
    from topicmc.models.lda.run import TopicRun
    from topicmc.topics.acceptance import SeedWord
    from topicmc.topics.labels import Labels
    from topicmc.topics.reading import Topic
    from topicmc.topics.uncertainty import Posterior, WordPosterior

TREE_WORDS = 6  # of each topic of a tree


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What ``topicmc topics`` is to show: its options."""

    n_words: int
    sort: str
    by: str
    weight: float | None
    details: bool
    coherence: tuple[str, ...]
    n_documents: int | None
    uncertainty: bool
    level: float | None
    numbers: tuple[int, ...]
    tree: bool
    as_json: bool

    @property
    def pages(self) -> bool:
        """Whether topics have a page each, not a line."""
        return bool(self.numbers or self.n_documents)

    @property
    def full(self) -> bool:
        """Whether exclusivity, neighbours and other rankings of the words are needed."""
        return self.details or self.pages or self.by != "probability"

    @property
    def shown(self) -> Collection[str]:
        """The `topicmc.topics.reading.DETAILS` that are shown: all on pages and in JSON."""
        from topicmc.topics.reading import DETAILS

        if not self.full or self.pages or self.as_json:
            return DETAILS if self.full else ()
        words = {"relevance": ["relevant"], "frex": ["frex"]}.get(self.by, [])
        return ["exclusivity", *words, *(["similar"] if self.details else [])]

    @property
    def reads_corpus(self) -> bool:
        """Whether documents are read."""
        return bool(self.coherence or self.sort == "coherence" or self.n_documents)

    def has_intervals(self, n_runs: int) -> bool:
        """Whether the samples of all chains of so many runs are read."""
        return self.uncertainty or self.pages or n_runs > 1

    def check(self, n_runs: int) -> None:
        """UsageError for what contradicts itself."""
        if self.level is not None and not self.has_intervals(n_runs):
            raise UsageError(f"--level {self.level:g}: is for intervals; add --uncertainty")
        weighs = self.by == "relevance" or self.pages or (self.full and self.as_json)
        if self.weight is not None and not weighs:
            raise UsageError(
                f"--relevance {self.weight:g} weighs words by relevance; add --by relevance"
            )
        if self.by != "probability" and self.pages:
            raise UsageError(
                f"--by {self.by} is of the table; pages show the words by all three: leave it out"
            )

    def refuse_of_mixture(self, corpus: Path | None) -> None:
        """UsageError for what groups do not have."""
        refuse(
            {
                "--sort": None if self.sort == "size" else self.sort,
                "--by": None if self.by == "probability" else self.by,
                "--relevance": self.weight,
                "--details": self.details,
                "--coherence": self.coherence,
                "--documents": self.n_documents,
                "--uncertainty": self.uncertainty,
                "--level": self.level,
                "--topic": self.numbers,
                "--tree": self.tree,
                "--corpus": corpus,
            },
            "does not go with a mixture yet",
        )


@dataclass(frozen=True)
class TopicListing:
    """Topics as they were read.

    Attributes:
        run: the run or view that is named first.
        described: its topics, in the order to show them in.
        posterior: what all chains say of them; None where nobody asked.
        tree: which are near each other, as of `tree_of`; likewise.
        seeds: what became of seed words, by the number of their topic.
    """

    run: TopicRun
    described: Sequence[Topic]
    posterior: Posterior | None
    tree: np.ndarray | None
    seeds: dict[int, list[SeedWord]]

    @property
    def labels(self) -> Labels:
        """Numbers and names of the topics."""
        from topicmc.topics.labels import Labels

        return Labels.of(self.run)


def print_listing(listing: TopicListing, asked: Asked) -> None:
    """A line or a page for each topic; below them the tree, and what is to be said of seed words,
    intervals and the view."""
    from topicmc.topics.of_views import sentences

    posterior = listing.posterior
    if posterior is not None and asked.pages:
        for topic in listing.described:
            _print_page(topic, posterior, asked.n_words)
    else:
        rows = [_row(topic, posterior, asked) for topic in listing.described]
        print_table(_columns(posterior), rows, last_left=True)
    if listing.tree is not None:
        echo()
        _print_tree(listing.tree, listing)
    gap = "" if asked.pages else "\n"  # a page ends with an empty line
    _print_seeds(listing, asked.numbers, gap)
    if posterior is not None:
        echo(gap, nl=False)
        echo(posterior.remark())
    if listing.run.view is not None:
        echo()
        for sentence in sentences(listing.run, posterior):
            echo(sentence)


def print_topics(described: Sequence[Topic]) -> None:
    """A line for each topic, as training ends: number, name if it has one, share of the tokens,
    words."""
    from rich.cells import cell_len, set_cell_size

    names = [visible(topic.label or "", keep="") for topic in described]
    width = max(map(cell_len, names))
    for topic, name in zip(described, names, strict=True):
        named = f" {set_cell_size(name, width)}" if width else ""
        print_line(f"{topic.number:4d}{named} {topic.share:6.1%}  {' '.join(topic.words)}")


def _print_tree(tree: np.ndarray, listing: TopicListing) -> None:
    """A line for each join, with its distance, and for each topic."""
    from topicmc.topics.tree import lines_of

    labels, described = listing.labels, {topic.column: topic for topic in listing.described}
    for branch, column, distance in lines_of(tree):
        if column is None:
            print_line(f"{branch}{distance:.2f}")
        else:
            words = described[column].words[:TREE_WORDS] if column in described else ()
            print_line(f"{branch}{'  '.join([labels.tag(column), ' '.join(words)]).rstrip()}")


def _print_seeds(listing: TopicListing, numbers: Sequence[int], gap: str) -> None:
    """The verdicts on the seed words, after a gap; of the topics with these numbers, if any are
    given."""
    from topicmc.topics.acceptance import sentences

    labels = listing.labels
    seeds = {k: words for k, words in listing.seeds.items() if not numbers or k in numbers}
    if not seeds:
        return
    tags = {number: labels.tag(column) for column, number in enumerate(labels.numbers)}
    echo(gap, nl=False)
    echo("Seed words, with the share of their tokens in the topic:")
    for line in sentences(seeds, tags):
        echo(f"  {line}")


def _columns(posterior: Posterior | None) -> Sequence[str]:
    interval = "" if posterior is None else _interval_at(posterior.level)
    return (
        "topic", "name", "share", interval, "found by", "distance", "u_mass", "NPMI", "C_v",
        "exclusive", "nearest", "words",
    )  # fmt: skip


def _interval_at(level: float) -> str:
    from topicmc.posterior.intervals import percent

    return f"{percent(level)} interval"


def _row(topic: Topic, posterior: Posterior | None, asked: Asked) -> Sequence[str]:
    k = topic.column
    words: Sequence[str] = topic.words
    if asked.by != "probability":
        words = (topic.relevant if asked.by == "relevance" else topic.frex) or ()
    elif posterior is not None:
        words = [_sure(word) for word in posterior.words(k, len(words))]
    nearest = f"{topic.similar[0][0]} ({topic.similar[0][1]:.2f})" if topic.similar else ""
    return (
        f"{topic.number:5d}",
        topic.label or "",
        f"{topic.share:.1%}",
        "" if posterior is None else _range(posterior, k),
        "" if posterior is None else found_by(posterior, k),
        "" if posterior is None else _number(posterior.distance[k]),
        _number(topic.coherence),
        _number(topic.npmi),
        _number(topic.c_v),
        _number(topic.exclusivity),
        nearest if asked.details else "",
        " ".join(words),
    )


def _sure(word: WordPosterior) -> str:
    """A word, with the probability that it is among the first ten where that is in doubt."""
    return f"{word.word}({word.in_top:.0%})" if word.in_top <= 0.995 else word.word


def _in_top(word: WordPosterior) -> str:
    return UNTOLD if word.in_top != word.in_top else f"{word.in_top:.0%}"


def _number(value: float | None) -> str:
    return "" if value is None or value != value else f"{value:.2f}"


def _range(posterior: Posterior, k: int) -> str:
    low, high = posterior.share_low[k], posterior.share_high[k]
    return UNTOLD if low != low else f"{100 * low:.1f}–{high:.1%}"


def _interval(word: WordPosterior) -> str:
    return UNTOLD if word.low != word.low else f"{word.low:.5f}–{word.high:.5f}"


def found_by(posterior: Posterior, k: int) -> str:
    """How many of the chains have found a topic; empty where there is one chain."""
    if posterior.n_chains == 1:
        return ""
    return f"{posterior.found[:, k].sum()} of {posterior.n_chains}"


def _print_page(topic: Topic, posterior: Posterior, n_words: int) -> None:
    """All that is known of one topic."""
    k = topic.column
    chains = f"{found_by(posterior, k)} chains" if posterior.n_chains > 1 else ""
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
        (word.word, f"{word.mean:.5f}", _interval(word), _in_top(word))
        for word in posterior.words(k, n_words)
    ]
    print_table(("word", "probability", _interval_at(posterior.level), "in top ten"), rows)
    echo()


def _document(document: Named) -> str:
    """Its name, its title, and what is kept of its row."""
    from topicmc.corpora.naming import one_line

    kept = (f"{name}: {one_line(value)}" for name, value in document.kept)
    return "  ".join([document.name, document.title or "", ", ".join(kept)]).rstrip()
