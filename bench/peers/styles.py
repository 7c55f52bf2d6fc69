"""How contenders are told apart in pictures: by colour, marker and line, the same in each."""

from __future__ import annotations

from typing import Any

LEARNED = "-alpha"  # ends the names of contenders that learn α

# Okabe & Ito 2008, which people who see colours differently tell apart; without yellow, which is
# faint on white.
_COLOURS = {
    "topicmc-auto": "#0072B2",
    "topicmc": "#0072B2",
    "topicmc-minibatch": "#009E73",
    "topicmc-sgrld": "#56B4E9",
    "tomotopy": "#D55E00",
    "topica": "#CC79A7",
    "topica-warp": "#999999",
    "gensim": "#000000",
    "sklearn": "#E69F00",
}
_MARKERS = dict(zip(_COLOURS, "oo^vsDPX*", strict=True))
_OTHERS = "<>hdp"


def style(name: str) -> dict[str, Any]:
    """Keywords of matplotlib's ``plot``: ours are solid, peers dashed, and those that learn α
    dotted with hollow markers."""
    base = name.removesuffix(LEARNED)
    other = sum(map(ord, base))
    looks = {
        "color": _COLOURS.get(base) or list(_COLOURS.values())[1 + other % (len(_COLOURS) - 1)],
        "marker": _MARKERS.get(base) or _OTHERS[other % len(_OTHERS)],
        "linestyle": "-" if name.startswith("topicmc") else "--",
        "markersize": 5,
        "label": name,
    }
    if name.endswith(LEARNED):
        looks |= {"linestyle": ":", "markerfacecolor": "white"}
    return looks
