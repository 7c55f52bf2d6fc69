"""Options that several commands share."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from topicmc.storage.runs import RunDirectory

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
force_option = click.option("--force", is_flag=True, help="Overwrite what is there.")
threads_option = click.option(
    "--threads", type=click.IntRange(1, 1024), default=None, help="Threads (all cores)."
)
corpus_option = click.option(
    "--corpus", type=click.Path(path_type=Path), help="Where the corpus of RUN lies now."
)
run_argument = click.argument("run", type=click.Path(path_type=Path))


class NumberOrAll(click.ParamType):
    """A number from 1 on, or the word all."""

    name = "n|all"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | str:
        if value == "all":
            return "all"
        if not str(value).isdecimal() or int(value) < 1:
            self.fail(f"{value!r} is neither a number from 1 on nor all", param, ctx)
        return int(value)


def reading_options(command: Any) -> Any:
    """Options that tell how documents are read from files."""
    options = [
        click.option("--id", metavar="NAME|none", help="Field or column of their ids [none]."),
        click.option("--delimiter", metavar="C", help="What parts the columns of CSV [as found]."),
        click.option("--encoding", metavar="NAME", help="Encoding of text, JSON, CSV [utf-8]."),
    ]
    return reduce(lambda done, option: option(done), reversed(options), command)


def names_of(lists: Sequence[str]) -> tuple[str, ...]:
    """The names in lists with commas between them."""
    names = [name.strip() for text in lists for name in text.split(",")]
    return tuple(dict.fromkeys(name for name in names if name))


def output_option(what: str, required: bool = True) -> Callable[[Any], Any]:
    """``-o PATH``."""
    return click.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path),
        required=required,
        help=what,
    )


def print_json(value: Any) -> None:
    """One JSON object on stdout."""
    click.echo(json.dumps(value, ensure_ascii=False))


def note_progress(runs: Sequence[RunDirectory]) -> None:
    """What a reader of some runs should know of how far they are, on stderr."""
    from topicmc.engine.progress import remarks

    for run in runs:
        for remark in remarks(run):
            click.echo(f"Note: {remark}.", err=True)


def tokenizer_options(command: Any) -> Any:
    """How ``prepare`` cuts texts into words."""
    options = [
        click.option(
            "--tokens", metavar="NAME", help="Field of lists of words, instead of a text."
        ),
        click.option("--token-pattern", metavar="REGEX", help="What a word is [runs of letters]."),
        click.option("--tokenizer", metavar="MODULE:FUNCTION", help="Cuts a text into its words."),
        click.option(
            "--allow", metavar="LIST", help="In words: digits, hyphens, apostrophes [none]."
        ),
        click.option("--strip", metavar="LIST", help="Markup to remove: html, latex [none]."),
        click.option("--min-length", type=int, help="Letters of a word, at least [2]."),
        click.option("--max-length", type=int, help="Letters of a word, at most [40]."),
    ]
    for option in reversed(options):
        command = option(command)
    return command
