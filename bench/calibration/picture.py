"""Differences of empirical distribution functions as small SVG pictures, in the style of
`topicmc.topics.choose.plots`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np

from topicmc.topics.choose.plots import STYLE

COLUMNS, WIDTH, HEIGHT = 3, 232, 190  # of one panel, in px
LEFT, RIGHT, TOP, BOTTOM = 36, 8, 24, 34
MORE = """
  text { font-size: 11px } .band { fill: #1f5fa8; fill-opacity: 0.13; stroke: none }
  .in { fill: none; stroke: #1f5fa8; stroke-width: 1.2 }
  .out { fill: none; stroke: #c2410c; stroke-width: 2 } .said { fill: #c2410c }
  @media (prefers-color-scheme: dark) {
    .band { fill: #7db3f0 } .in { stroke: #7db3f0 } .out { stroke: #fb923c } .said { fill: #fb923c }
  }
"""


@dataclass(frozen=True)
class Panel:
    """Lines by name over the points ``at``, and the band that each should lie in."""

    title: str
    at: np.ndarray
    low: np.ndarray
    high: np.ndarray
    lines: Mapping[str, np.ndarray]

    def outside(self) -> list[str]:
        """The lines that leave the band."""
        return [
            name
            for name, line in self.lines.items()
            if np.any(line < self.low - 1e-12) or np.any(line > self.high + 1e-12)
        ]


def write_grid(path: Path, title: str, panels: Sequence[Panel]) -> None:
    """Panels side by side, each with a scale of its own; lines that leave the band stand out."""
    rows = -(-len(panels) // COLUMNS)
    width, height = WIDTH * min(COLUMNS, len(panels)), HEIGHT * rows
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
        f' width="{width}" height="{height}" role="img">',
        f"<title>{escape(title)}</title><style>{STYLE}{MORE}</style>",
    ]
    for number, panel in enumerate(panels):
        parts += _panel(panel, number % COLUMNS * WIDTH, number // COLUMNS * HEIGHT)
    path.write_text("\n".join([*parts, "</svg>"]) + "\n", encoding="utf-8")


def _panel(panel: Panel, x0: float, y0: float) -> list[str]:
    most = 1.05 * max(
        np.abs(values).max() for values in (panel.low, panel.high, *panel.lines.values())
    )
    middle, half = y0 + (TOP + HEIGHT - BOTTOM) / 2, (HEIGHT - TOP - BOTTOM) / 2

    def points(at: np.ndarray, values: np.ndarray) -> str:
        xs = x0 + LEFT + (WIDTH - LEFT - RIGHT) * at
        ys = middle - half * values / most
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True))

    ends = np.concatenate([panel.at, panel.at[::-1]])
    edge = np.concatenate([panel.low, panel.high[::-1]])
    left, right = x0 + LEFT, x0 + WIDTH - RIGHT
    parts = [
        _text(x0 + 4, y0 + 15, panel.title, "start", "title"),
        f'<line class="grid" x1="{left}" x2="{right}" y1="{middle:.1f}" y2="{middle:.1f}"/>',
        f'<polygon class="band" points="{points(ends, edge)}"/>',
        _text(left - 4, middle - half + 8, f"{most:.2g}", "end"),
        _text(left - 4, middle + 4, "0", "end"),
        _text(left - 4, middle + half, f"−{most:.2g}", "end"),
    ]
    outside = panel.outside()
    for name, line in panel.lines.items():
        kind = "out" if name in outside else "in"
        parts.append(f'<polyline class="{kind}" points="{points(panel.at, line)}"/>')
    said = "all inside" if not outside else f"outside: {outside[0]}"
    said += f" and {len(outside) - 1} more" if len(outside) > 1 else ""
    kind = "said" if outside else "label"
    parts.append(_text(x0 + 4, y0 + HEIGHT - 14, said, "start", kind))
    return parts


def _text(x: float, y: float, text: str, anchor: str, kind: str = "label") -> str:
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
    )
