"""How training shows itself on stderr: a bar on a terminal, plain lines elsewhere, JSON lines for
programs, remarks alone, or nothing.

What stderr takes no more is lost, and training goes on: the disk of a log may be full, a terminal
or a pipe closed.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from typing import Any, NamedTuple, TextIO

from topicmc.engine.loop import Listener, Status
from topicmc.storage.fields import visible
from topicmc.storage.runs import RunDirectory


class Terms(NamedTuple):
    """What a model calls what training shows: the score on held-out data, in which format it is
    read, what is drawn, and what the speed counts."""

    score: str
    precision: str
    items: str
    unit: str

    @classmethod
    def of(cls, kind: type[RunDirectory]) -> Terms:
        """The terms of the model whose runs are of that kind."""
        return cls(kind.figure, kind.precision, kind.counted[0], kind.counted[-1])


def listener(style: str, terms: Terms) -> Listener:
    """The listener for a ``--progress`` style; ``auto`` is a bar on a terminal only."""
    if style == "none":
        return Silent()
    if style == "auto":
        style = "bar" if sys.stderr.isatty() else "plain"
    styles = {"bar": Bar, "plain": Plain, "json": JsonLines}
    return styles[style](terms)


class _Lossy:
    """A stream that loses what cannot be written to it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _say(line: str) -> None:
    print(line, file=_Lossy(sys.stderr), flush=True)


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


class Remarks(Silent):
    """Says what is to be known, and not how far training is. What it is known of, where that needs
    saying, is a headline above the first remark."""

    def __init__(self, headline: str = "") -> None:
        self._headline = headline

    def message(self, text: str) -> None:
        if self._headline:
            _say(visible(self._headline))
            self._headline = ""
        _say(visible(text))


class _Telling(Silent):
    """Says what a model does, in its terms."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms


class Plain(_Telling):
    """A line for each evaluation."""

    def evaluated(self, record: dict[str, Any]) -> None:
        self.message(summary(record, self._terms))

    def message(self, text: str) -> None:
        _say(visible(text))


class JsonLines(_Telling):
    """A JSON object a line, for evaluations and messages."""

    def evaluated(self, record: dict[str, Any]) -> None:
        _say(json.dumps(record))

    def message(self, text: str) -> None:
        _say(json.dumps({"message": text}))

    def progress(self, status: Status) -> None:
        terms = self._terms
        record = {
            "fraction": status.fraction,
            "update": status.update,
            terms.items: status.items,
            "seconds": status.seconds,
            f"{terms.unit}_per_second": status.speed,
        }
        _say(json.dumps(record))


class Bar(_Telling):
    """A live bar with the score, the speed and the time left."""

    def __init__(self, terms: Terms) -> None:
        super().__init__(terms)
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self._progress = Progress(
            TextColumn("update {task.fields[update]:,}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TextColumn(f"{self._terms.score} {{task.fields[score]}}"),
            TextColumn(f"{{task.fields[speed]}} {self._terms.unit}/s"),
            TextColumn("{task.fields[left]} left"),
            console=Console(file=_Lossy(sys.stderr)),  # type: ignore[arg-type]
            transient=False,
        )
        self._task = self._progress.add_task(
            "", total=1.0, update=0, score="…", speed="…", left="…"
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
            speed=_short(status.speed),
            left=left,
        )

    def evaluated(self, record: dict[str, Any]) -> None:
        score = record[self._terms.score]
        if score is not None:
            told = f"{score:{self._terms.precision}}{_stage(record)}"
            self._progress.update(self._task, score=told)

    def message(self, text: str) -> None:
        console = self._progress.console
        console.print(visible(text), highlight=False, markup=False, emoji=False, soft_wrap=True)

    def close(self) -> None:
        self._progress.stop()


def summary(record: dict[str, Any], terms: Terms) -> str:
    """An evaluation on a line."""
    parts = [f"update {record['update']:,}", f"{record['seconds']:.1f} s"]
    score, averaged = (record[name] for name in (terms.score, f"{terms.score}_averaged"))
    if score is not None:
        shown, mean = (format(value, terms.precision) for value in (score, averaged))
        many = record["averaged_over"]
        tail = f" (averaged over {many}: {mean})" if many else ""
        parts.append(f"{terms.score} {shown}{tail}")
    parts.append(f"{_short(record[f'{terms.unit}_per_second'])} {terms.unit}/s")
    return "  ".join(parts) + _stage(record)


def _stage(record: dict[str, Any]) -> str:
    """What of its start a chain is at, where it says."""
    return f"  ({record['stage']})" if "stage" in record else ""


def _short(number: float) -> str:
    for limit, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= limit:
            return f"{number / limit:.1f} {suffix}"
    return f"{number:.0f}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
