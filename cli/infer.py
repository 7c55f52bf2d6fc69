"""``topicmc infer``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topicmc.cli.accounts import reading_progress, warn_of_ids
from topicmc.cli.mixture.dispatch import is_mixture
from topicmc.cli.options import (
    columns_of,
    corpus_option,
    force_option,
    json_option,
    note_progress,
    note_reached,
    output_option,
    print_json,
    quote_option,
    refuse,
    rereading_options,
    run_argument,
    threads_for,
    threads_option,
)
from topicmc.cli.printing import echo, note, show_reading
from topicmc.errors import DataError, UsageError

if TYPE_CHECKING:
    from topicmc.corpora import Corpus
    from topicmc.corpora.readers import Tally
    from topicmc.inference.facts import Totals
    from topicmc.models.lda.run import TopicRun
    from topicmc.models.mixture.reading import Groups
    from topicmc.models.mixture.run import MixtureRun
    from topicmc.topics.labels import Labels


@click.command()
@run_argument
@click.argument("sources", nargs=-1, type=click.Path(path_type=Path))
@output_option("File to write; its name ends in .csv, .jsonl, .npy or .parquet.")
@click.option("--se", is_flag=True, help="Add the posterior standard deviation of each share.")
@click.option("--chain", type=click.IntRange(0), default=0, help="Which chain's topics [0].")
@rereading_options
@quote_option('as prepared, or "')
@corpus_option
@click.option("--seed", type=click.IntRange(0), help="Seed of the draws for --se [0].")
@threads_option
@force_option
@json_option
def infer(
    run: Path,
    sources: tuple[Path, ...],
    output: Path,
    se: bool,
    chain: int,
    format: str,
    vocab: Path | None,
    keep: tuple[str, ...],
    corpus: Path | None,
    seed: int | None,
    threads: int | None,
    tokens: str | None,
    tokenizer: str | None,
    force: bool,
    as_json: bool,
    **names: str | None,
) -> None:
    """Write the topic mix of each document in SOURCES, under the topics of RUN; or of a mixture
    the probabilities of its groups.

    SOURCES are whatever prepare reads, or a prepared corpus; without any, the documents that RUN
    was trained on, and those held out. Texts are cut into words as those of the run's corpus were,
    and words are matched by spelling. The topics are the posterior mean of a chain. A row of the
    file is a row of the sources, in their order, with its id if it has one; rows that made no
    document have no tokens.
    """
    from topicmc.corpora.readers import Tally
    from topicmc.corpora.reading import read_known
    from topicmc.corpora.remembered import fields_like
    from topicmc.corpora.text.tokenizer import Tokenizer
    from topicmc.inference.facts import Totals
    from topicmc.inference.files import check_place, write_mixes
    from topicmc.inference.groups import infer_groups
    from topicmc.inference.mixes import infer_under
    from topicmc.storage.files import check_no_source

    if seed is not None and not se:
        raise UsageError(f"--seed {seed}: is for the draws of --se; add that")
    check_place(output, sd=se, force=force)
    show_reading()
    groups, opened, labels = _opened(run, se, chain, threads)
    facts = opened.facts()
    known = _corpus(opened, corpus, needed=not sources)
    sources = sources or (known.path,) if known else sources
    check_no_source(output, sources if vocab is None else (*sources, vocab))
    opened.check_no_part(output, corpus)
    told = _told(facts["corpus"], known)
    columns = columns_of(keep)
    fields, stop = fields_like(told, columns=columns, **names), _stop_words(told)
    cut = Tokenizer.read(opened.path / "run.json", facts["corpus"]).again(tokens, tokenizer)
    tally, totals = Tally(), Totals(stop=0 if stop else None)
    workers = threads_for(threads)
    with reading_progress(sources, 1) as progress:
        words = opened.vocabulary()
        stream = read_known(
            sources,
            words,
            tally,
            format=format,
            vocab=vocab,
            fields=fields,
            tokenizer=cut,
            stop=stop,
            phrases=told.get("phrases") is not False,
            progress=progress,
        )
        if columns == ():  # prepared corpora have theirs all the same
            stream = replace(stream, columns=())
        if not stream.ordered:
            note(
                "this corpus does not know the rows of its sources: training documents come first,"
                " then those held out; prepare the sources again to have them in order"
            )
        if groups is not None:
            rows = infer_groups(groups, stream, totals)
        else:
            rows = infer_under(
                opened, stream, totals, chain=chain, sd=se, seed=seed or 0, threads=workers
            )
        write_mixes(output, labels.columns(), rows, sd=se, force=force)
    _tell(
        output,
        labels,
        tally,
        totals,
        lacking=fields.id if stream.ids and not totals.named else None,
        drops=groups is None and opened.view is not None and bool(opened.view.dropped),
        as_json=as_json,
    )


def _opened(
    path: Path, se: bool, chain: int, threads: int | None
) -> tuple[Groups | None, Any, Labels]:
    """The groups of a run that is a mixture, the run, and what its topics or groups are called."""
    from topicmc.models.lda.run import TopicRun
    from topicmc.topics.labels import Labels

    if is_mixture(path):
        from topicmc.models.mixture.matching import central
        from topicmc.models.mixture.run import MixtureRun

        asked = {"--se": se, "--chain": chain or None, "--threads": threads}
        refuse(asked, "does not go with a mixture")
        run = MixtureRun.open(path)
        note_reached([run])
        groups = central(run)
        n = len(groups.sizes)
        return groups, run, Labels(tuple(range(n + 1)), {**run.labels, n: "other"})
    opened = TopicRun.open(path)
    note_progress([opened])
    return None, opened, Labels.of(opened)


def _corpus(run: TopicRun | MixtureRun, place: Path | None, *, needed: bool) -> Corpus | None:
    """The corpus of a run; None when it is gone, and need not be there."""
    from topicmc.corpora.of_runs import open_corpus

    try:
        return open_corpus(run, place)
    except DataError:
        if needed or place is not None:
            raise
        return None


def _told(facts: dict[str, Any], corpus: Corpus | None) -> dict[str, Any]:
    """How the corpus of a run was read: as it says itself, or the run, where it is gone or was
    added to."""
    from topicmc.corpora.remembered import told_of

    if corpus is not None:
        return told_of(corpus)
    return facts["reading"] if isinstance(facts.get("reading"), dict) else {}


def _stop_words(told: dict[str, Any]) -> frozenset[str]:
    """Those that were left out of the corpus, as far as they can be told."""
    from topicmc.corpora.text.stopwords import stop_words

    choice = told.get("stopwords")
    try:
        return stop_words(choice if isinstance(choice, str) else "none")
    except (UsageError, DataError):  # their file has gone
        return frozenset()


def _tell(
    output: Path,
    labels: Labels,
    tally: Tally,
    totals: Totals,
    *,
    lacking: str | None,
    drops: bool,
    as_json: bool,
) -> None:
    """What was written, and what is to be known of it: ``lacking`` is the field of ids where no
    document has one, and ``drops`` whether a view leaves topics out."""
    if lacking is not None:
        note(f"no document has an id (--id {lacking})")
    warn_of_ids({"ids_repeated": tally.ids_repeated})
    if tally.cut:
        echo(f"Warning: {tally.cut}.", err=True)
    if drops:
        note("shares are of all topics; those of the dropped are left out")
    if as_json:
        print_json(_summary(output, labels, tally, totals))
    else:
        _print_summary(output, labels, tally, totals)


def _summary(output: Path, labels: Labels, tally: Tally, totals: Totals) -> dict[str, Any]:
    return {
        "file": str(output),
        "documents": totals.documents,
        "documents_empty": totals.empty,
        "documents_skipped": tally.skipped,
        "topics": len(labels.numbers),
        "topic_numbers": list(labels.numbers),
        "tokens": totals.tokens,
        "unknown_words": totals.unknown,
        "stop_words": totals.stop,
        "ids_repeated": tally.ids_repeated,
        "cut_short": tally.cut,
    }


def _print_summary(output: Path, labels: Labels, tally: Tally, totals: Totals) -> None:
    notes = {"without a known word": totals.empty, **tally.passed_over}
    aside = "".join(f", {number:,} {what}" for what, number in notes.items() if number)
    echo(f"documents   {totals.documents:,}{aside}")
    unknown = f"{totals.unknown:,} of words unknown to the run"
    if totals.stop:
        others = totals.unknown - totals.stop
        unknown = f"{totals.stop:,} of stop words, {others:,} of other words unknown to the run"
    echo(f"tokens      {totals.tokens:,}, and {unknown}")
    echo(f"written to  {output}: {len(labels.numbers)} shares a document")
    if not labels.are_plain and output.suffix.lower() in (".npy", ".jsonl"):
        tags = ", ".join(labels.tag(k) for k in range(len(labels.numbers)))
        echo(f"in order    {tags}")
