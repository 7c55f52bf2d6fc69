"""Options that several commands share."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import click

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
force_option = click.option("--force", is_flag=True, help="Overwrite what is there.")
threads_option = click.option(
    "--threads", type=click.IntRange(1, 1024), default=None, help="Threads (all cores)."
)
corpus_option = click.option(
    "--corpus", type=click.Path(path_type=Path), help="Where the corpus of RUN lies now."
)
run_argument = click.argument("run", type=click.Path(path_type=Path))


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
