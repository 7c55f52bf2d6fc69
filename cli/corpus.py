"""``topicmc corpus``: info, verify."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
from topicmc.cli.options import json_option, print_json

_BAR = 40

_corpus_argument = click.argument("corpus", type=click.Path(path_type=Path))


@click.group()
def corpus() -> None:
    """Look at a prepared corpus, or verify it."""


@corpus.command()
@_corpus_argument
@click.option("--topics", type=click.IntRange(1), default=100, help="Topics of a run [100].")
@json_option
def info(corpus: Path, topics: int, as_json: bool) -> None:
    """Sizes, document lengths, frequent words, and the memory that a run needs."""
    from topicmc.corpora import Corpus
    from topicmc.corpora.facts import describe

    facts = describe(Corpus.open(corpus), n_topics=topics)
    if as_json:
        print_json(facts)
    else:
        _print_facts(facts)


@corpus.command()
@_corpus_argument
@json_option
def verify(corpus: Path, as_json: bool) -> None:
    """Check every file of CORPUS: checksums, ids, counts, order and totals."""
    from topicmc import corpora

    checked = corpora.verify(corpus, lambda part: click.echo(f"checking {part}", err=True))
    if as_json:
        print_json({"corpus": str(corpus), "fingerprint": checked.fingerprint, "sound": True})
    else:
        click.echo(f"{corpus} is sound (fingerprint {checked.fingerprint})")


def _print_facts(facts: dict[str, Any]) -> None:
    shards = facts["shards"]
    unused = f" ({facts['words_unused']:,} in no training document)"
    rows = {
        "corpus": facts["corpus"],
        "documents": f"{facts['documents']:,} to train on, {facts['heldout']:,} held out",
        "vocabulary": f"{facts['words']:,} words" + (unused if facts["words_unused"] else ""),
        "tokens": f"{facts['tokens']:,} to train on, {facts['heldout_tokens']:,} held out",
        "entries": f"{facts['entries']:,} to train on, {facts['heldout_entries']:,} held out",
        "shards": f"{len(shards)} of {min(shards):,} to {max(shards):,} documents",
        "on disk": _bytes(facts["disk"]),
        "memory": f"{_bytes(facts['memory_per_chain'])} a chain for {facts['topics']:,} topics",
        "fingerprint": facts["fingerprint"],
    }
    for name, value in rows.items():
        click.echo(f"{name:<12} {value}")
    click.echo("\ndocuments by tokens")
    most = max(number for _, _, number in facts["lengths"])
    mark = "█" if "utf" in (sys.stdout.encoding or "").lower() else "#"
    for start, below, number in facts["lengths"]:
        bar = mark * max(round(_BAR * number / most), 1 if number else 0)
        click.echo(f"{start:>11,} to {below - 1:<11,} {number:>10,}  {bar}".rstrip())
    click.echo("\nmost frequent words")
    click.echo(", ".join(f"{word} {number:,}" for word, number in facts["frequent"]))


def _bytes(number: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} TB"
