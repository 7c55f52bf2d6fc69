"""How training shows itself in a notebook: a bar under the cell, without any widget to install."""

from __future__ import annotations

import sys
from html import escape
from time import monotonic
from typing import Any

from topicmc.engine.loop import Listener, Status
from topicmc.models.lda.run import TopicRun

_EVERY = 0.2  # seconds between two pictures


def in_notebook() -> bool:
    """Whether an IPython kernel shows what is printed."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


def listener(verbose: int) -> Listener:
    """Silence for 0; else a bar in a notebook, and what `topicmc train` shows elsewhere."""
    if verbose and in_notebook():
        return Notebook()
    from topicmc.engine.listeners import Terms, listener

    return listener("auto" if verbose else "none", Terms.of(TopicRun))


class Notebook:
    """A bar that stays when training has ended, and the sentences that were said."""

    def __init__(self) -> None:
        from IPython.display import HTML, display

        self._html = HTML
        self._text: list[str] = []
        self._status: Status | None = None
        self._perplexity = ""
        self._shown = 0.0
        self._handle = display(HTML(self._page()), display_id=True)

    def progress(self, status: Status) -> None:
        self._status = status
        if monotonic() - self._shown >= _EVERY:
            self._show()

    def evaluated(self, record: dict[str, Any]) -> None:
        perplexity = record["perplexity"]
        self._perplexity = "" if perplexity is None else f" · perplexity {perplexity:,.1f}"

    def message(self, text: str) -> None:
        self._text.append(text)
        self._show()

    def close(self) -> None:
        self._show()

    def _show(self) -> None:
        self._shown = monotonic()
        self._handle.update(self._html(self._page()))

    def _page(self) -> str:
        said = "".join(f"<div>{escape(text)}</div>" for text in self._text)
        if self._status is None:
            return f"<div>preparing …</div>{said}"
        at = self._status
        return (
            f'<progress value="{at.fraction:.4f}" max="1" aria-label="training"></progress>'
            f" {at.fraction:.0%} · update {at.update:,} · {at.seconds:.0f} s ·"
            f" {at.speed / 1e6:.2f} M tokens/s{self._perplexity}{said}"
        )
