"""What commands that read sources say of their rows, and how far they have read."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topicmc.cli.printing import byte_bar, echo, note

if TYPE_CHECKING:
    from topicmc.corpora.readers import Progress, Tally


def dropped_notes(dropped: dict[str, int]) -> dict[str, int]:
    """Numbers of rows by why they were left out, as a list of them reads."""
    told = {"no words": "without words", "no words left": "without words left"}
    told["duplicate"] = "duplicates"
    return {told.get(why, why): number for why, number in dropped.items()}


def duplicates_row(number: int, dropped: dict[str, int]) -> str:
    """How many documents repeat another, and what has become of them."""
    gone = dropped.get("duplicate", 0)
    repeat = (
        f"{number:,} document repeats another"
        if number == 1
        else (f"{number:,} documents repeat another")
    )
    return repeat + (", left out" if gone == number else ", some left out" if gone else "")


def metadata_rows(facts: dict[str, Any]) -> dict[str, str]:
    """What there is to say of ids, titles, times and columns, given the facts of
    `describe_metadata`."""
    of = f"of {facts['documents']:,} documents"
    rows = {}
    if facts["ids"] is not None:
        rows["ids"] = f"{facts['ids']:,} {of}"
    if facts["columns"]:
        rows["columns"] = ", ".join(facts["columns"])
    if facts["titles"] is not None:
        rows["titles"] = f"{facts['titles']:,} {of}"
    if facts["times"] is not None:
        rows["times"] = f"{facts['times']:,} {of}"
        if facts["times"]:
            rows["times"] += f", from {facts['first_time']} to {facts['last_time']}"
    return rows


def left_out(told: dict[str, Any]) -> str:
    """What the provenance says of rows that made no document, by why, as a list."""
    notes = {**dropped_notes(told["dropped"]), **told["skipped"]}
    return ", ".join(f"{number:,} {what}" for what, number in notes.items() if number)


def warn_of_reading(told: dict[str, Any]) -> None:
    """What the provenance says of sources that people would stumble over later."""
    if told["cut_short"]:
        echo(f"Warning: {told['cut_short']}.", err=True)
    if told["times_unread"]:
        echo(
            f"Warning: times that cannot be read: {told['times_unread']:,}, the first "
            f"{told['time_unread']}; write years, or dates as 2020-12-31.",
            err=True,
        )
    _warn_of_text(told)
    if told["duplicates_split"]:
        echo(
            "Warning: so many documents are equal that some are both trained on and held out; "
            "--duplicates drop keeps one of each.",
            err=True,
        )
    if n := told.get("files_left_out"):
        like, file = f"named like {told['format']}", told["file_left_out"]
        if n == 1:
            note(f"1 file is left out that is not {like}: {file}")
        else:
            note(f"{n:,} files are left out that are not {like}, the first {file}")
    warn_of_ids(told)


def _warn_of_text(told: dict[str, Any]) -> None:
    """Markup, and clauses for words."""
    from topicmc.corpora.text.scripts import advice

    names = {"html": "HTML", "latex": "LaTeX"}
    if told["markup"]:
        found = " and ".join(f"{n:,} {names[kind]}" for kind, n in told["markup"].items())
        option = f"--strip {','.join(told['markup'])}"
        note(f"some documents hold markup ({found}), which {option} removes")
    if told["uncut"]:
        echo(f"Warning: {advice(told['uncut'])}.", err=True)


def warn_of_ids(told: dict[str, Any]) -> None:
    """What the provenance says of rows whose ids do not name them."""
    apart = "by these ids documents cannot be told apart"
    if again := told.get("ids_repeated"):
        first = f", the first {told['id_repeated']}" if "id_repeated" in told else ""
        have = "1 row has" if again == 1 else f"{again:,} rows have"
        echo(f"Warning: {have} the id of an earlier one{first}: {apart}.", err=True)
    if known := told.get("ids_known"):
        have = "1 document has" if known == 1 else f"{known:,} documents have"
        first = f", the first {told['id_known']!r}"
        echo(f"Warning: {have} the id of one that was there before{first}: {apart}.", err=True)
    if missing := told.get("ids_missing"):
        rows = "1 row has" if missing == 1 else f"{missing:,} rows have"
        echo(f"Warning: {rows} no id; file and row name their documents.", err=True)


@contextmanager
def reading_progress(sources: tuple[Path, ...], n_passes: int) -> Iterator[Progress]:
    """A bar of bytes on a terminal; nothing elsewhere."""
    from topicmc.corpora.readers.sources import source_size

    size = source_size(sources) if sys.stderr.isatty() else 0  # of perhaps a million files
    with byte_bar(n_passes * size or None) as update:
        passed: list[Tally] = []  # each pass keeps a tally of its own

        def report(tally: Tally) -> None:
            if all(tally is not other for other in passed):
                passed.append(tally)
            done = sum(t.finished + t.position for t in passed)
            update(completed=done, description=f"{tally.n_read:,} documents")

        yield report
