"""What commands say: names of files, words and titles may be anybody's, and a terminal obeys some
characters."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from time import monotonic
from typing import Any

import click

from topicmc.storage.fields import visible

PATIENCE = 2.0  # seconds that a command may read samples for without a word


def echo(text: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Prints what is for people; see `visible`."""
    click.echo(visible(str(text)), err=err, nl=nl)


def note(*sentences: str) -> None:
    """Prints what is to be known of a result to stderr; sentences are without full stop."""
    for sentence in sentences:
        echo(f"Note: {sentence}.", err=True)


@contextmanager
def byte_bar(total: int | None) -> Iterator[Callable[..., Any]]:
    """A bar of bytes with their speed on stderr, where that is a terminal: what sets how many are
    ``completed`` and its ``description``, and shows it from the first time on, as samples may be
    read before."""
    if not sys.stderr.isatty():
        yield lambda **_: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with ExitStack() as shown:
        bar = Progress(*columns, console=Console(stderr=True), transient=True)
        task = bar.add_task("", total=total)

        def update(**told: Any) -> None:
            if not bar.live.is_started:
                shown.enter_context(bar)
            bar.update(task, **told)

        yield update


def show_reading() -> None:
    """Has a bar on stderr, where that is a terminal, say how many samples are read, from now to the
    end of the command, once that takes longer than `PATIENCE`."""
    if sys.stderr.isatty():
        click.get_current_context().with_resource(_sample_bar())


@contextmanager
def _sample_bar() -> Iterator[None]:
    from rich.console import Console
    from rich.progress import Progress

    from topicmc.posterior.passes import told_of_samples

    begun = monotonic()
    update: Callable[..., None] | None = None  # of the bar, while there is one

    def tell(done: int, total: int) -> None:
        nonlocal update
        if done == total:  # what comes next is no reading, and may print
            shown.close()
            update = None
        elif update is not None:
            update(completed=done)
        elif monotonic() - begun >= PATIENCE:
            bar = shown.enter_context(Progress(console=Console(stderr=True), transient=True))
            task = bar.add_task("Reading samples", total=total, completed=done)
            update = partial(bar.update, task)

    with ExitStack() as shown, told_of_samples(tell):
        yield
