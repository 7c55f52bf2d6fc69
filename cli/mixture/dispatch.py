"""Which runs are mixtures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from topicmc.errors import UsageError


def is_mixture(path: Path) -> bool:
    """Whether a run of a mixture is there, or a view of one; what is no run, or damaged, is none of
    it."""
    import json

    def read(place: Path) -> Any:
        try:
            return json.loads(place.read_bytes())
        except (OSError, ValueError, RecursionError):
            return None

    path = Path(path)
    view = read(path / "view.json")
    if isinstance(view, dict) and isinstance(view.get("run"), str):
        path = path / view["run"]
    facts = read(path / "run.json")
    return isinstance(facts, dict) and facts.get("model") == "mixture"


def are_mixtures(paths: Sequence[Path]) -> bool:
    """Whether runs are mixtures; UsageError when some are and others are not."""
    mixtures = [path for path in paths if is_mixture(path)]
    if mixtures and len(mixtures) < len(paths):
        raise UsageError(
            f"{mixtures[0]}: is a mixture, and other RUNs are not; name runs of one model"
        )
    return bool(mixtures)


def only_one(paths: Sequence[Path]) -> Path:
    """The only one of some runs; UsageError when there are several."""
    if len(paths) != 1:
        raise UsageError(
            "groups of several mixtures are not matched; name one RUN (compare takes several)"
        )
    return paths[0]


def refuse(options: Mapping[str, object], why: str = "means nothing to a mixture") -> None:
    """UsageError for the first of some options, by their names, that was given: whose value is
    not empty."""
    for name, value in options.items():
        if value is not None and value is not False and value not in ((), ""):
            raise UsageError(f"{name} {why}; leave it out")


def refuse_runs(paths: Sequence[Path], what: str) -> None:
    """UsageError when one of some runs is a mixture, which a command does not know."""
    for path in paths:
        if is_mixture(path):
            _refuse(path, what)


def _refuse(path: Path, what: str) -> NoReturn:
    raise UsageError(f"{path}: is a mixture, and {what}")
