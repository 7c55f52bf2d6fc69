"""Plots as SVG, which any browser opens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np

from topicmc.storage.files import atomic_write

WIDTH, HEIGHT = 640, 150  # of one panel, in px
LEFT, RIGHT, TOP, BOTTOM = 80, 20, 30, 20  # margins of one panel
STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #222 }
  .title { font-weight: 600 }
  .grid { stroke: #ddd } .mean { fill: none; stroke: #1f5fa8; stroke-width: 2 }
  .run { fill: #1f5fa8; fill-opacity: 0.45 }
  svg { background: #fff }
  @media (prefers-color-scheme: dark) {
    text { fill: #ddd } svg { background: #16181c } .grid { stroke: #3a3d44 }
    .mean { stroke: #7db3f0 } .run { fill: #7db3f0 }
  }
"""


@dataclass(frozen=True)
class Panel:
    """One quantity: at each place on the x axis, its values, shown as dots; a line joins their
    means."""

    title: str
    values: Sequence[Sequence[float]]


def write_panels(
    path: Path, title: str, ticks: Sequence[float], label: str, panels: Sequence[Panel]
) -> None:
    """Writes panels, one above the other, over a common logarithmic x axis.

    Args:
        path: of the SVG file; an existing one is replaced.
        title: read out by screen readers.
        ticks: places on the x axis, positive, ascending.
        label: of the x axis.
        panels: with as many lists of values as there are ticks.
    """
    height = HEIGHT * len(panels) + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"'
        f' width="{WIDTH}" height="{height}" role="img">',
        f"<title>{escape(title)}</title><style>{STYLE}</style>",
    ]
    across = _scale(np.log(ticks), LEFT + 15, WIDTH - RIGHT - 15)
    for number, panel in enumerate(panels):
        parts += _panel(panel, across, number * HEIGHT)
    bottom = HEIGHT * len(panels)
    for x, tick in zip(across, ticks, strict=True):
        parts.append(_text(x, bottom + 5, f"{tick:g}", "middle"))
    parts.append(_text(WIDTH / 2, bottom + 28, label, "middle"))
    with atomic_write(path) as stream:
        stream.write("\n".join([*parts, "</svg>"]) + "\n")


def _panel(panel: Panel, across: np.ndarray, top: float) -> list[str]:
    upper, lower = top + TOP, top + HEIGHT - BOTTOM
    sizes = [len(values) for values in panel.values]
    heights = _scale(np.concatenate(panel.values), lower, upper)
    places = np.split(heights, np.cumsum(sizes)[:-1])
    ends = (min(map(min, panel.values)), max(map(max, panel.values)))
    parts = [_text(LEFT, top + 18, panel.title, "start", "title")]
    for value, y in zip(ends, (lower, upper), strict=True) if ends[0] < ends[1] else []:
        parts.append(
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        )
        parts.append(_text(LEFT - 8, y + 4, f"{value:,.4g}", "end"))
    line = " ".join(f"{x:.1f},{ys.mean():.1f}" for x, ys in zip(across, places, strict=True))
    parts.append(f'<polyline class="mean" points="{line}"/>')
    for x, ys in zip(across, places, strict=True):
        parts += [f'<circle class="run" cx="{x:.1f}" cy="{y:.1f}" r="4"/>' for y in ys]
    return parts


def _text(x: float, y: float, text: str, anchor: str, kind: str = "label") -> str:
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
    )


def _scale(values: np.ndarray, start: float, end: float) -> np.ndarray:
    """Values mapped to the line from ``start`` to ``end``; its middle when they are all equal."""
    low, high = values.min(), values.max()
    if low == high:
        return np.full(len(values), (start + end) / 2)
    return start + (values - low) / (high - low) * (end - start)
