"""Tables of plain text; on a terminal with a bold head, and no line too long for it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from topicmc.cli.printing import echo
from topicmc.storage.fields import visible

if TYPE_CHECKING:
    from topicmc.posterior.verdict import Convergence
    from topicmc.topics.diagnostics import Diagnostics

UNTOLD = "cannot be told"
"""What stands in place of a figure that the samples cannot carry."""
_BAR = 40


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, last_left: bool = False
) -> None:
    """Columns as wide as they need to be: the first flush left, the others flush right, or the last
    one flush left too. Columns that are empty throughout are left out."""
    from rich.cells import cell_len

    used = [i for i in range(len(columns)) if i == 0 or any(row[i] for row in rows)]
    lines = [[visible(line[i], keep="") for i in used] for line in (columns, *rows)]
    left = {0, len(used) - 1} if last_left else {0}
    widths = [max(map(cell_len, cells)) for cells in zip(*lines, strict=True)]
    for number, line in enumerate(lines):
        cells = [
            cell + gap if i in left else gap + cell
            for i, cell in enumerate(line)
            for gap in [" " * (widths[i] - cell_len(cell))]
        ]
        print_line("  ".join(cells).rstrip(), bold=number == 0)


def print_line(line: str, bold: bool = False) -> None:
    """A line that on a terminal is cut to its width, and bold if it is to be."""
    line = visible(line, keep="")
    if not sys.stdout.isatty():
        click.echo(line)
        return
    from rich.cells import cell_len, set_cell_size

    width = shutil.get_terminal_size().columns
    if cell_len(line) > width:
        line = set_cell_size(line, width - 1) + "…"
    click.echo(click.style(line, bold=True) if bold and "NO_COLOR" not in os.environ else line)


def bar(share: float) -> str:
    """A bar for a share of the highest: of 40 marks at most, and of one at least unless it is 0."""
    mark = "█" if "utf" in (sys.stdout.encoding or "").lower() else "#"
    return mark * max(round(_BAR * share), 1 if share else 0)


def print_score(
    label: str,
    newest: float,
    averaged: float | None,
    n_samples: int,
    precision: str = ".4f",
    start: str = "the newest state, there is no sample",
) -> None:
    """A score of the newest sample, and that averaged over so many; or of what stands in for one at
    the ``start``."""
    echo(f"{label:<21} {newest:{precision}}  of {'the newest sample' if n_samples else start}")
    if n_samples:
        many = f"averaged over {n_samples} sample{'s' * (n_samples > 1)}"
        echo(f"{'':<21} {averaged:{precision}}  {many}")


def print_convergence(found: Convergence | Diagnostics, flags: Sequence[str] = ()) -> None:
    """R̂ and effective sample size of what was traced, what else is odd, and the verdict."""
    rows = [
        (name, _figure(value, 2), _figure(found.ess[name], 0)) for name, value in found.rhat.items()
    ]
    if rows:
        echo()
        print_table(("", "R̂", "effective samples"), rows)
    echo()
    for flag in flags:
        echo(f"Note: {flag}.")
    echo(found.verdict)


def _figure(value: float | None, digits: int) -> str:
    return UNTOLD if value is None or value != value else f"{value:.{digits}f}"
