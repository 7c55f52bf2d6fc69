"""The file of results: facts about machine, versions and settings, and a list of points.

A point belongs to a corpus, a contender, a seed and a budget, and holds at least ``seconds`` of
training and ``perplexity``. It is written as soon as it is known, so that a run that was cut off
goes on where it was.
"""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from topicmc.storage.files import read_json, write_json

_LIBRARIES = ("numpy", "scipy", "numba")
_KEY = ("corpus", "contender", "seed", "unit", "budget")


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
            if all(point[name] == value for name, value in where.items())
        ]

    def missing(self, budgets: list[float], **where: Any) -> list[float]:
        known = {point["budget"] for point in self.points(**where)}
        return [budget for budget in budgets if budget not in known]

    def add(self, point: dict[str, Any]) -> None:
        """Writes a point, in the place of what was there for the same budget."""
        self.drop(**{name: point[name] for name in _KEY})
        self._content["points"].append(point)
        write_json(self.path, self._content)

    def drop(self, **where: Any) -> None:
        """Forgets points with these values."""
        gone = self.points(**where)
        self._content["points"] = [p for p in self._content["points"] if p not in gone]


def machine() -> dict[str, Any]:
    """Processor, cores, memory and system."""
    names = _of_proc("/proc/cpuinfo", "model name")
    memory = _of_proc("/proc/meminfo", "MemTotal")
    return {
        "processor": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "memory": memory[0] if memory else None,
        "system": f"{platform.system()} {platform.machine()}",
    }


def _of_proc(path: str, name: str) -> list[str]:
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    return [line.partition(":")[2].strip() for line in lines if line.startswith(name)]


def versions() -> dict[str, str]:
    """Of Python and what everybody uses."""
    return {"python": platform.python_version(), **{name: version(name) for name in _LIBRARIES}}


def version_of(package: str) -> str | None:
    """Of a contender, None if it is not installed; for topicmc with the commit, where known."""
    try:
        known = version(package)
    except PackageNotFoundError:
        return None
    return f"{known} {commit}".strip() if package == "topicmc" and (commit := _commit()) else known


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    try:
        done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip()
