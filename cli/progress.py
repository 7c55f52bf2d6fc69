"""How training shows itself on stderr: a bar on a terminal, plain lines elsewhere, JSON lines for
programs, or nothing."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any

import click

from topicmc.engine.loop import Listener, Status

STYLES = ("auto", "bar", "plain", "json", "none")


def listener(style: str) -> Listener:
    """The listener for a ``--progress`` style; ``auto`` is a bar on a terminal only."""
    if style == "auto":
        style = "bar" if sys.stderr.isatty() else "plain"
    return {"bar": Bar, "plain": Plain, "json": JsonLines, "none": Silent}[style]()


class Silent:
    """Says nothing."""

    def progress(self, status: Status) -> None:
        pass

    def evaluated(self, record: dict[str, Any]) -> None:
        pass

    def message(self, text: str) -> None:
        pass

    def close(self) -> None:
        pass


class Plain(Silent):
    """A line for each evaluation."""

    def evaluated(self, record: dict[str, Any]) -> None:
        self.message(summary(record))

    def message(self, text: str) -> None:
        click.echo(text, err=True)


class JsonLines(Silent):
    """A JSON object a line, for evaluations and messages."""

    def evaluated(self, record: dict[str, Any]) -> None:
        click.echo(json.dumps(record), err=True)

    def message(self, text: str) -> None:
        click.echo(json.dumps({"message": text}), err=True)

    def progress(self, status: Status) -> None:
        click.echo(json.dumps(asdict(status)), err=True)


class Bar(Silent):
    """A live bar with perplexity, tokens per second and time left."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self._progress = Progress(
            TextColumn("update {task.fields[update]:,}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TextColumn("perplexity {task.fields[perplexity]}"),
            TextColumn("{task.fields[speed]} tokens/s"),
            TextColumn("{task.fields[left]} left"),
            console=Console(stderr=True),
            transient=False,
        )
        self._task = self._progress.add_task(
            "", total=1.0, update=0, perplexity="…", speed="…", left="…"
        )
        self._first: Status | None = None

    def progress(self, status: Status) -> None:
        if self._first is None:
            self._first = status
            self._progress.start()
        fraction = status.fraction - self._first.fraction
        seconds = status.seconds - self._first.seconds
        left = _clock(seconds * (1 - status.fraction) / fraction) if fraction > 0 else "…"
        self._progress.update(
            self._task,
            completed=status.fraction,
            update=status.update,
            speed=_short(status.tokens_per_second),
            left=left,
        )

    def evaluated(self, record: dict[str, Any]) -> None:
        perplexity = record["perplexity"]
        if perplexity is not None:
            self._progress.update(self._task, perplexity=f"{perplexity:,.0f}")

    def message(self, text: str) -> None:
        self._progress.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def close(self) -> None:
        self._progress.stop()


def summary(record: dict[str, Any]) -> str:
    """An evaluation on a line."""
    parts = [f"update {record['update']:,}", f"{record['seconds']:.1f} s"]
    perplexity, averaged = record["perplexity"], record["perplexity_averaged"]
    if perplexity is not None:
        tail = f" (averaged over {record['samples']}: {averaged:,.1f})" if record["samples"] else ""
        parts.append(f"perplexity {perplexity:,.1f}{tail}")
    parts.append(f"{_short(record['tokens_per_second'])} tokens/s")
    return "  ".join(parts)


def _short(number: float) -> str:
    for limit, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= limit:
            return f"{number / limit:.1f} {suffix}"
    return f"{number:.0f}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
