"""Which runs are mixtures."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from topicmc.errors import DataError, UsageError


def is_mixture(path: Path) -> bool:
    """Whether a run of a mixture, or a view of one, is at a path; False where there is no run or it
    is damaged."""
    from topicmc.storage.files import read_json

    def read(place: Path) -> Any:
        with suppress(DataError):
            return read_json(place)
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
