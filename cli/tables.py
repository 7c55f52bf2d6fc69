"""Tables: plain text, and on a terminal with a bold head and no line too long for it."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, last_left: bool = False
) -> None:
    """Columns as wide as they need to be: the first flush left, the others flush right, or the last
    one flush left too. Columns that are empty throughout are left out."""
    used = [i for i in range(len(columns)) if i == 0 or any(row[i] for row in rows)]
    lines = [[line[i] for i in used] for line in (columns, *rows)]
    left = {0, len(used) - 1} if last_left else {0}
    if sys.stdout.isatty():
        _print_rich(lines, left)
        return
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    for line in lines:
        cells = [
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        click.echo("  ".join(cells).rstrip())


def _print_rich(lines: Sequence[Sequence[str]], left: set[int]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    head, *rows = lines
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for i, name in enumerate(head):
        last = i == len(head) - 1
        table.add_column(
            name, justify="left" if i in left else "right", no_wrap=True, overflow="ellipsis",
            min_width=None if last else max(len(line[i]) for line in lines),
        )  # fmt: skip
    for row in rows:
        table.add_row(*map(Text, row))
    Console(highlight=False).print(table)
