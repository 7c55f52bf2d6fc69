"""The file of results: facts about machine, versions and settings, and a list of points.

A point belongs to a corpus, a contender, a seed and a budget, and to a number of topics where the
settings do not say it; it holds at least ``seconds`` of training and ``perplexity``. It is written
as soon as it is known, so that a run that was cut off goes on where it was.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from topicmc.storage.files import read_json, write_json

sys.path.append(str(Path(__file__).parents[1]))
from quiet import machine, versions

_KEY = ("corpus", "contender", "topics", "seed", "unit", "budget")


class Results:
    """Points in a file, made when it is not there.

    ``settings`` hold for all of them. SystemExit when the file holds figures of another machine,
    other libraries or other settings, which must not be mixed.
    """

    def __init__(self, path: Path, settings: dict[str, Any] | None = None) -> None:
        self.path = path
        if settings is None or path.exists():
            self._content = read_json(path, points=list, settings=dict)
        else:
            self._content = {"format": 1, "corpora": {}, "points": []}
        if settings is None:
            return
        for name, now in (("machine", machine()), ("versions", versions()), ("settings", settings)):
            if self._content.setdefault(name, now) != now:
                raise SystemExit(
                    f"{path}: holds figures with {name} {self._content[name]}, not {now};"
                    " name another file"
                )

    @property
    def settings(self) -> dict[str, Any]:
        return self._content["settings"]

    @property
    def corpora(self) -> dict[str, Any]:
        """Facts of each corpus, by name."""
        return self._content["corpora"]

    def note_corpus(self, name: str, corpus) -> None:
        """SystemExit when another corpus of that name has points."""
        facts = {
            "documents": corpus.n_docs,
            "tokens": corpus.n_tokens,
            "words": corpus.n_words,
            "heldout": corpus.heldout.n_docs,
            "fingerprint": corpus.fingerprint,
        }
        if self.corpora.setdefault(name, facts) != facts:
            raise SystemExit(f"{self.path}: holds figures of another corpus named {name}")

    def points(self, **where: Any) -> list[dict[str, Any]]:
        """Those with these values, by contender, seed and budget in the order of their making."""
        return [
            point
            for point in self._content["points"]
            if all(point.get(name) == value for name, value in where.items())
        ]

    def missing(self, budgets: list[float], **where: Any) -> list[float]:
        known = {point["budget"] for point in self.points(**where)}
        return [budget for budget in budgets if budget not in known]

    def add(self, point: dict[str, Any]) -> None:
        """Writes a point, in the place of what was there for the same budget."""
        self.drop(**{name: point.get(name) for name in _KEY})
        self._content["points"].append(point)
        write_json(self.path, self._content)

    def drop(self, **where: Any) -> None:
        """Forgets points with these values."""
        gone = self.points(**where)
        self._content["points"] = [p for p in self._content["points"] if p not in gone]
