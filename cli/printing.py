"""What commands say: names of files, words and titles may be anybody's, and a terminal obeys some
characters."""

from __future__ import annotations

import click

from topicmc.storage.fields import visible


def echo(text: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Prints what is for people; see `visible`."""
    click.echo(visible(str(text)), err=err, nl=nl)
