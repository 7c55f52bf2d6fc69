"""``topicmc corpus``: info, dropped, verify, merge, add, reshard."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topicmc.cli.accounts import (
    dropped_notes,
    duplicates_row,
    left_out,
    metadata_rows,
    reading_progress,
    warn_of_ids,
    warn_of_reading,
)
from topicmc.cli.options import (
    Listing,
    columns_of,
    force_option,
    json_option,
    output_option,
    print_json,
    quote_option,
    refuse,
    rereading_options,
)
from topicmc.cli.printing import echo, note
from topicmc.cli.tables import bar
from topicmc.errors import UsageError
from topicmc.host.machine import in_units

if TYPE_CHECKING:
    from topicmc.corpora import Corpus

_corpus_argument = click.argument("corpus", type=click.Path(path_type=Path))


@click.group(cls=Listing)
def corpus() -> None:
    """Look at prepared corpora, verify, merge and extend them."""


@corpus.command()
@_corpus_argument
@click.option("--topics", type=click.IntRange(2), help="Topics of a run [auto: by corpus size].")
@json_option
def info(corpus: Path, topics: int | None, as_json: bool) -> None:
    """Sizes, document lengths, frequent words, and what a run needs of memory and disk."""
    from topicmc.corpora import Corpus
    from topicmc.corpora.facts import describe

    opened = Corpus.open(corpus)
    facts = {**describe(opened), **_needs(opened, topics)}
    if as_json:
        print_json(facts)
    else:
        _print_facts(facts)


@corpus.command()
@_corpus_argument
@output_option("File to write instead; its name ends in .csv, .jsonl or .parquet.", required=False)
@force_option
@json_option
def dropped(corpus: Path, output: Path | None, force: bool, as_json: bool) -> None:
    """List the rows of the sources that made no document of CORPUS, and why."""
    from topicmc.cli.dropped import print_dropped, write_dropped
    from topicmc.corpora import Corpus

    if output is None:
        refuse({"--force": force}, "is for the file that -o names")
    opened = Corpus.open(corpus)
    if output is not None:
        write_dropped(opened, output, force)
    print_dropped(opened, output, as_json)


@corpus.command()
@_corpus_argument
@json_option
def verify(corpus: Path, as_json: bool) -> None:
    """Check every file of CORPUS: checksums, ids, counts, order and totals."""
    from topicmc import corpora

    checked = corpora.verify(corpus, lambda part: echo(f"checking {part}", err=True))
    if as_json:
        print_json({"corpus": str(corpus), "fingerprint": checked.fingerprint, "sound": True})
    else:
        echo(f"{corpus} is sound (fingerprint {checked.fingerprint})")


@corpus.command()
@click.argument("corpora", nargs=-1, required=True, type=click.Path(path_type=Path))
@output_option("Folder of the corpus to make.")
@click.option("--union", is_flag=True, help="Join vocabularies that differ.")
@force_option
@json_option
def merge(corpora: tuple[Path, ...], output: Path, union: bool, force: bool, as_json: bool) -> None:
    """Put the documents of several CORPORA over one vocabulary into one corpus."""
    from topicmc.corpora.making import maintenance

    if len(corpora) < 2:
        raise UsageError("merge: name two corpora or more")
    made = maintenance.merge(corpora, output, union=union, force=force)
    step = made.provenance["history"][-1]
    warn_of_ids(step)
    _warn_of_equals(step)
    if "rules_differ" in step:
        _warn_of_rules(step["rules_differ"], corpora[0])
    _print_made(made, as_json)


def _warn_of_equals(step: dict[str, Any]) -> None:
    """How many held-out documents are trained on, too."""
    if known := step.get("heldout_trained"):
        are = "document is" if known == 1 else "documents are"
        echo(
            f"Warning: {known:,} held-out {are} equal to one to train on, so that perplexity comes"
            " out too low; topicmc prepare with all sources keeps equal documents on one side.",
            err=True,
        )


def _warn_of_rules(differing: Sequence[str], first: Path) -> None:
    """Which rules differ among merged corpora, and which are kept."""
    joined = ", with phrases joined" if "phrases" in differing else ""
    echo(
        f"Warning: the corpora were read with different rules ({', '.join(differing)}): new"
        f" documents will be read as those of {first}{joined}.",
        err=True,
    )


@corpus.command()
@_corpus_argument
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path))
@output_option("Folder of the corpus to make [CORPUS itself].", required=False)
@rereading_options
@quote_option('as prepared, or "')
@click.option("--time", metavar="NAME", help="Field or column of the times [as prepared].")
@click.option("--new-words", is_flag=True, help="Add words that the vocabulary lacks, at its end.")
@click.option("--heldout", type=int, default=0, help="New documents kept out of training [0].")
@click.option("--seed", type=int, default=0, help="Chooses the held-out documents [0].")
@force_option
@json_option
def add(
    corpus: Path,
    sources: tuple[Path, ...],
    output: Path | None,
    heldout: int,
    as_json: bool,
    keep: tuple[str, ...],
    **options: Any,
) -> None:
    """Add the documents of SOURCES to CORPUS, whose vocabulary stays as it is. They are read and
    cut into words as those of CORPUS were.

    With --new-words the words that CORPUS lacks come in behind its own, if its pruning would keep
    them in SOURCES.
    """
    from topicmc.corpora.making.addition import add as add_to

    if output is None:
        refuse({"--force": options["force"]}, "goes with -o: CORPUS itself is added to")
    options["columns"] = columns_of(keep)
    with reading_progress(sources, 1) as progress:
        made = add_to(corpus, sources, output, n_heldout=heldout, progress=progress, **options)
    step = made.provenance["history"][-1]
    warn_of_reading(step)
    _warn_of_equals(step)
    if known := step.get("documents_known"):
        repeat = "repeats" if known == 1 else "repeat"
        note(f"{known:,} of the new documents {repeat} one that was there before; all are added")
    aside = [left_out(step)] if left_out(step) else []
    if unknown := step["tokens_left_out"] + step["tokens_unknown"]:
        aside.append(f"{unknown:,} tokens of words left out")
    if aside:
        echo(f"of {step['documents_read']:,} documents read, {', '.join(aside)}", err=True)
    if "words_new" in step:
        more = f"{step['words_new']:,} words more in the vocabulary"
        echo(f"{more}, counted in the new documents alone", err=True)
    _print_made(made, as_json)


@corpus.command()
@_corpus_argument
@output_option("Folder of the corpus to make.")
@click.option("--shards", type=int, required=True, help="Number of shards.")
@click.option("--shuffle", is_flag=True, help="Put the training documents in a random order.")
@click.option("--seed", type=int, help="Decides the order of --shuffle [0].")
@force_option
@json_option
def reshard(
    corpus: Path,
    output: Path,
    shards: int,
    shuffle: bool,
    seed: int | None,
    force: bool,
    as_json: bool,
) -> None:
    """Cut CORPUS into shards near equal in tokens, for as many workers; or shuffle it, so that
    shards are alike."""
    from topicmc.corpora.making import maintenance

    if seed is not None and not shuffle:
        raise UsageError(f"--seed {seed} decides the order of --shuffle; give both or neither")
    made = maintenance.reshard(corpus, output, shards, shuffle=shuffle, seed=seed or 0, force=force)
    _print_made(made, as_json)


def _print_made(made: Corpus, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "corpus": str(made.path),
                "documents": made.n_docs,
                "heldout": made.n_heldout,
                "words": made.n_words,
                "tokens": made.n_tokens,
                "shards": made.n_shards,
                "fingerprint": made.fingerprint,
            }
        )
        return
    echo(
        f"{made.path}: {made.n_docs:,} documents to train on, {made.n_heldout:,} held out, "
        f"{made.n_words:,} words, {made.n_tokens:,} tokens, {made.n_shards} shards"
    )


def _needs(corpus: Corpus, topics: int | None) -> dict[str, Any]:
    """What a run needs here, if only its number of topics is given, if that; None where the
    corpus is too small for any."""
    from topicmc.models.lda.planning.planned import disk_of, memory_of
    from topicmc.models.lda.settings import TrainConfig
    from topicmc.settings.values import AUTO

    try:
        config, needed = memory_of(TrainConfig(topics=topics or AUTO), corpus)
    except UsageError:
        if topics is not None:
            raise
        return dict.fromkeys(("topics", "sampler", "memory", "run_disk"))
    told = {"topics": config.topics, "sampler": config.sampler, "memory": needed}
    return {**told, "run_disk": disk_of(config, corpus)}


def _print_facts(facts: dict[str, Any]) -> None:
    shards = facts["shards"]
    unused = f" ({facts['words_unused']:,} in no training document)"
    rows = {
        "corpus": facts["corpus"],
        "documents": f"{facts['documents']:,} to train on, {facts['heldout']:,} held out",
        "vocabulary": f"{facts['words']:,} words" + (unused if facts["words_unused"] else ""),
        "tokens": f"{facts['tokens']:,} to train on, {facts['heldout_tokens']:,} held out",
        "entries": f"{facts['entries']:,} to train on, {facts['heldout_entries']:,} held out",
        **_rows_rows(facts),
        **metadata_rows(facts),
        "shards": f"{len(shards)} of {min(shards):,} to {max(shards):,} documents",
        "on disk": in_units(facts["disk"]),
        **_needed_rows(facts),
        "fingerprint": facts["fingerprint"],
    }
    for name, value in rows.items():
        echo(f"{name:<12} {value}")
    echo("\ndocuments by tokens")
    most = max(number for _, _, number in facts["lengths"])
    for start, below, number in facts["lengths"]:
        echo(f"{start:>11,} to {below - 1:<11,} {number:>10,}  {bar(number / most)}".rstrip())
    echo("\nmost frequent words")
    echo(", ".join(f"{word} {number:,}" for word, number in facts["frequent"]))


def _needed_rows(facts: dict[str, Any]) -> dict[str, str]:
    if facts["memory"] is None:
        return {}
    how = f"{facts['topics']:,} topics by {facts['sampler']}, on one worker"
    disk = f"up to {in_units(facts['run_disk'])}"
    return {"run on disk": disk, "memory": f"{in_units(facts['memory'])} for {how}"}


def _rows_rows(facts: dict[str, Any]) -> dict[str, str]:
    """What there is to say of the rows of the sources, given the facts of `describe_rows`."""
    left_out = facts["dropped"] or {}
    rows = {}
    if left_out:
        notes = dropped_notes(left_out)
        rows["left out"] = ", ".join(f"{number:,} {what}" for what, number in notes.items())
    if facts["duplicates"]:
        rows["duplicates"] = duplicates_row(facts["duplicates"], left_out)
    return rows
