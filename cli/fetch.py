"""``topicmc fetch``."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from topicmc.cli.options import force_option, json_option, output_option, print_json
from topicmc.cli.printing import byte_bar, echo
from topicmc.host.machine import in_units

if TYPE_CHECKING:
    from topicmc.corpora.download import Progress

_NAMES = "kos nips enron nytimes pubmed wikipedia".split()  # noqa: SIM905


@click.command()
@click.argument("name", type=click.Choice(_NAMES), metavar="|".join(_NAMES))
@output_option("Folder to put the files into.")
@click.option("--language", default="en", metavar="CODE", help="Language of Wikipedia [en].")
@click.option("--date", default="latest", metavar="YYYYMMDD", help="Day of the dump [latest].")
@click.option(
    "--mirror",
    metavar="URL",
    envvar="TOPICMC_MIRROR",
    help="Fetch from here instead [also from TOPICMC_MIRROR].",
)
@click.option("--yes", is_flag=True, help="Begin without asking.")
@force_option
@json_option
def fetch(
    name: str,
    output: Path,
    language: str,
    date: str,
    mirror: str | None,
    yes: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Download a public corpus, ready for topicmc prepare.

    Size and licence are shown first. A download that was cut goes on when the same command is run
    again; files are checked before they get their names.
    """
    from topicmc.corpora.catalogue import find
    from topicmc.corpora.download import download, remote_size

    collection = find(name, mirror=mirror, language=language, date=date)
    sizes = [remote_size(file) for file in collection.files]
    echo(f"{collection.about}\nLicence: {collection.licence}", err=True)
    for file, size in zip(collection.files, sizes, strict=True):
        told = "size ?" if size is None else in_units(size)
        echo(f"  {told:>10}  {file.url}", err=True)
    asks = not yes and sys.stdin.isatty() and sys.stderr.isatty()
    if asks and not click.confirm(f"Download to {output}?", default=True, err=True):
        sys.exit("Nothing was fetched.")
    with _progress(None if None in sizes else sum(filter(None, sizes))) as progress:
        paths = [
            download(file, output, force=force, progress=progress) for file in collection.files
        ]
    command = f"topicmc prepare {shlex.quote(str(paths[-1]))} -o CORPUS"
    if as_json:
        print_json({"files": [str(path) for path in paths], "licence": collection.licence})
    else:
        for path in paths:
            echo(str(path))
    echo(f"Now: {command}", err=True)


@contextmanager
def _progress(total: int | None) -> Iterator[Progress]:
    """A bar of bytes on a terminal; nothing elsewhere."""
    with byte_bar(total) as update:
        done: dict[str, int] = {}

        def report(file: str, position: int, size: int | None) -> None:
            done[file] = position
            update(description=file, completed=sum(done.values()))

        yield report
