"""``topicmc prepare``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topicmc.cli.accounts import (
    duplicates_row,
    left_out,
    metadata_rows,
    reading_progress,
    warn_of_reading,
)
from topicmc.cli.options import (
    force_option,
    json_option,
    names_of,
    output_option,
    print_json,
    quote_option,
)
from topicmc.cli.printing import echo
from topicmc.errors import UsageError

if TYPE_CHECKING:
    from topicmc.corpora import Corpus

_FORMATS = "auto docword npz mm ldac svmlight text jsonl csv parquet wikipedia".split()  # noqa: SIM905

_NUMBER = re.compile(r"[+-]?\d{1,18}")


@click.command()
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path))
@output_option("Folder of the corpus to make.")
@click.option(
    "--format", type=click.Choice(_FORMATS), default="auto", help="Format of the sources [auto]."
)
@click.option("--vocab", type=click.Path(path_type=Path), help="Vocabulary, one word a line.")
@click.option(
    "--field", metavar="NAME", help="Field (jsonl) or column (csv, parquet) of the text [text]."
)
@click.option(
    "--title", metavar="NAME|none", help="Field or column of the documents' titles [title]."
)
@click.option("--time", metavar="NAME", help="Field or column of their times [none].")
@click.option("--id", metavar="NAME|none", help="Field or column of their ids [none].")
@click.option("--delimiter", metavar="C", help="Separator of CSV columns [from the header].")
@click.option("--encoding", metavar="NAME", help="Encoding of text, JSON, CSV [utf-8].")
@quote_option('"')
@click.option(
    "--duplicates",
    type=click.Choice(["keep", "drop"]),
    default="keep",
    help="What to do with documents that repeat another [keep].",
)
@click.option("--min-df", type=int, help="Leave out words of fewer documents [text: 2 to 5].")
@click.option(
    "--max-df", type=float, help="Leave out words of more than this share of documents [text: 0.5]."
)
@click.option(
    "--keep",
    multiple=True,
    metavar="N|NAME,…|all",
    help="Keep the N words of most documents [text: 50000]; or keep fields with each document.",
)
@click.option(
    "--stop-words",
    "--stopwords",
    "stopwords",
    metavar="de,en|none|FILE",
    help="Words to leave out, by language or file [en for text without --vocab, else none].",
)
@click.option("--tokens", metavar="NAME", help="Field of lists of words, instead of a text.")
@click.option("--token-pattern", metavar="REGEX", help="What a word is [runs of letters].")
@click.option("--tokenizer", metavar="MODULE:FUNCTION", help="Cuts a text into its words.")
@click.option("--allow", metavar="LIST", help="In words: digits, hyphens, apostrophes [none].")
@click.option("--strip", metavar="LIST", help="Markup to remove: html, latex [none].")
@click.option("--min-length", type=int, help="Letters of a word, at least [2].")
@click.option("--max-length", type=int, help="Letters of a word, at most [40].")
@click.option(
    "--phrases",
    is_flag=True,
    help="Join words that belong together, as new_york; with --vocab: the phrases in it.",
)
@click.option("--shards", type=int, help="Number of shards [by size].")
@click.option("--heldout", type=int, help="Documents kept out of training [a tenth, at most 1000].")
@click.option("--seed", type=int, default=0, help="Chooses the held-out documents [0].")
@force_option
@json_option
def prepare(
    sources: tuple[Path, ...],
    output: Path,
    shards: int | None,
    heldout: int | None,
    as_json: bool,
    phrases: bool,
    keep: tuple[str, ...],
    tokens: str | None,
    token_pattern: str | None,
    tokenizer: str | None,
    allow: str | None,
    strip: str | None,
    min_length: int | None,
    max_length: int | None,
    **options: Any,
) -> None:
    """Turn SOURCES, text or word counts, into a corpus that training reads.

    UCI docword, SciPy CSR .npz, Matrix Market, LDA-C and SVMlight hold word ids: their vocabulary
    is --vocab, or lies beside them (vocab.NAME.txt or vocab.txt), and stays as it is unless a
    pruning option is given. A folder of text files, a text file of one document a line, JSON Lines,
    CSV, Parquet and Wikipedia XML dumps build their own, unless --vocab gives one. Files but those
    of .npz and Parquet may be compressed by gzip, bzip2, xz or zstd; all of them and --vocab may be
    pipes, and - is standard input.

    --id and --keep NAME,… carry the id and other fields of a document along, to wherever it is
    named later. Without ids documents are named by file and row.
    """
    from topicmc import corpora
    from topicmc.corpora.text.tokenizer import Tokenizer

    cut = Tokenizer.asked(
        allow,
        strip,
        pattern=token_pattern,
        function=tokenizer,
        field=tokens,
        min_length=min_length,
        max_length=max_length,
    )
    n_words, columns = _kept(keep)
    learns = phrases and options["vocab"] is None
    with reading_progress(sources, 2 if learns else 1) as progress:
        corpus = corpora.prepare(
            sources,
            output,
            n_shards=shards,
            n_heldout=heldout,
            phrases=phrases,
            tokenizer=cut,
            keep=n_words,
            columns=columns,
            progress=progress,
            **options,
        )
    warn_of_reading(corpus.provenance)
    if as_json:
        print_json(_summary(corpus))
    else:
        _print_summary(corpus, _summary(corpus))


def _kept(values: Sequence[str]) -> tuple[int | None, tuple[str, ...]]:
    """What --keep asks for: a number of words, and names of fields."""
    numbers = [int(value) for value in values if _NUMBER.fullmatch(value.strip())]
    if len(numbers) > 1:
        raise UsageError("--keep: give one number of words")
    fields = [value for value in values if not _NUMBER.fullmatch(value.strip())]
    return (numbers[0] if numbers else None), names_of(fields)


def _summary(corpus: Corpus) -> dict[str, Any]:
    from topicmc.corpora.facts import describe_metadata, describe_rows

    return {
        "corpus": str(corpus.path),
        "documents": corpus.n_docs,
        "heldout": corpus.n_heldout,
        "words": corpus.n_words,
        "tokens": corpus.n_tokens,
        "entries": corpus.n_entries,
        **describe_metadata(corpus),
        **describe_rows(corpus),
        "shards": corpus.n_shards,
        "fingerprint": corpus.fingerprint,
        "provenance": corpus.provenance,
    }


def _print_summary(corpus: Corpus, facts: dict[str, Any]) -> None:
    told = corpus.provenance
    aside = left_out(told)
    rows = {
        "documents": f"{corpus.n_docs:,} to train on, {corpus.n_heldout:,} held out"
        + (f"; of {told['documents_read']:,} read, {aside}" if aside else ""),
        "vocabulary": f"{corpus.n_words:,} words"
        + (f", {told['words_left_out']:,} left out" if told["words_left_out"] else "")
        + (f", {told['words_unused']:,} in no document" if told["words_unused"] else ""),
        "tokens": f"{corpus.n_tokens:,} kept"
        + (f", {told['tokens_left_out']:,} of words left out" if told["tokens_left_out"] else "")
        + (f", {told['tokens_repeated']:,} of duplicates" if told.get("tokens_repeated") else ""),
    }
    if told["entries_merged"]:
        rows["merged"] = f"{told['entries_merged']:,} entries that repeated a word"
    if told["duplicates"]:
        rows["duplicates"] = duplicates_row(told["duplicates"], told["dropped"])
    asked = {
        "ids": told["id"] not in (None, "none"),
        "titles": told["title"] not in (None, "none"),
        "times": told["time"] is not None,
    }
    found = metadata_rows(facts)
    for kind in (*asked, "columns"):
        if asked.get(kind) or kind in found:
            rows[kind] = found.get(kind, "none found")
    rows["shards"] = f"{corpus.n_shards}"
    rows["written to"] = f"{corpus.path}"
    for name, value in rows.items():
        echo(f"{name:<11} {value}")
