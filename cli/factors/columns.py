"""Options that tell which columns of a file are read."""

from __future__ import annotations

from functools import reduce
from typing import Any

import click

from topicmc.errors import UsageError


def column_options(rated: bool) -> Any:
    """--user, --item, --rating where there are ratings, and --delimiter."""
    options = [
        click.option("--user", metavar="COL", help="Column of users, name or number [the first]."),
        click.option("--item", metavar="COL", help="Column of items [the second]."),
        click.option("--delimiter", metavar="C", help="Separator of columns of text [as found]."),
    ]
    if rated:
        rating = click.option("--rating", metavar="COL", help="Column of ratings [the third].")
        options.insert(2, rating)
    return lambda command: reduce(lambda done, option: option(done), reversed(options), command)


def checked_delimiter(delimiter: str | None) -> str | None:
    """One character of ASCII, or the two colons of MovieLens; UsageError otherwise."""
    from topicmc.corpora.readers.sources import delimiter_of

    found = delimiter_of(delimiter, "::")
    if found is not None and not found.isascii():
        raise UsageError(f"--delimiter {delimiter!r}: give a character of ASCII")
    return found
