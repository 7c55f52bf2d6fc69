"""What the JSON files of any run may say; DataError names the file and the field that cannot be.

Fields that only later versions write, or only earlier ones, may be missing; what every reader needs
may not. What those of one model hold besides is checked in its folder.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from topicmc.errors import DataError, UsageError
from topicmc.settings.groups import RunSettings
from topicmc.settings.values import MAX_WORKERS
from topicmc.storage.fields import PLACE, SHA256, Record, quoted

_SAMPLE = r"chain-\d{3,9}-[a-z]+-\d{9,12}\.np[yz]"
_POSITION = 10**12  # most rounds, updates or sweeps
Settings = TypeVar("Settings", bound=RunSettings[Any])


def check_facts(path: Path, facts: Any) -> None:
    """``run.json``: settings that readers use, and where the corpus is, if there is one."""
    facts = Record(path, facts)
    config = facts.record("config")
    for name in ("workers", "chains", "threads"):
        if name in config:
            config.whole(name, least=1, most=MAX_WORKERS)
    if "seed" in config:
        config.whole("seed", most=2**63 - 1)
    for name in ("created", "topicmc", "model"):
        if name in facts:
            facts.text(name)
    if "versions" in facts:
        facts.record("versions").texts("(?s).*", "(?s).*")
    if "asked" in facts:
        facts.record("asked")
    if "corpus" in facts and "path" in (corpus := facts.record("corpus")):
        corpus.text("path", PLACE)


def settings_in(path: Path, facts: Mapping[str, Any], kind: type[Settings]) -> Settings:
    """The settings in ``run.json``; DataError when they are none of this kind."""
    try:
        return kind.from_dict(facts["config"])
    except UsageError as error:
        raise DataError(f"{path}: {error}") from None


def check_samples(path: Path, index: Any) -> None:
    """``samples/index.json``: each entry names a file of its folder."""
    for entry in Record(path, index).records("samples"):
        for file in (entry, *([entry.record("mean")] if "mean" in entry else [])):
            file.text("file", _SAMPLE)
            file.text("checksum", SHA256)
            if "position" in file:
                file.whole("position", most=_POSITION)
        entry.whole("chain", most=MAX_WORKERS)
        entry.whole("round", most=_POSITION)
        entry.flag("burn_in")


def check_line(path: Path, line: int, record: Any, counted: Sequence[str], figure: str) -> None:
    """One line of ``metrics.jsonl`` or ``trace.jsonl``: the clock, what is counted of the data, and
    the score on held-out data."""
    fields = Record(path, record, f"line {line}: ")
    fields.whole("position" if path.stem == "trace" else "round", most=_POSITION)
    for name in ("round", "update", "samples", "averaged_over", *counted):
        if name in fields:
            fields.whole(name)
    for name in ("seconds", "beta", "epochs", *(f"{unit}_per_second" for unit in counted)):
        if name in fields:
            fields.number(name, least=0)
    for name, value in record.items():
        if name.startswith("step_size") and not (_is_real(value) and math.isfinite(value)):
            raise DataError(f"{path}, line {line}: {quoted(value)} is no step size; remake it")
    for name in (figure, f"{figure}_averaged"):
        if name in fields and record[name] is not None:
            fields.number(name, least=0)
    if record.get("log_likelihood") is not None:
        fields.numbers("log_likelihood")
    if "chains" in fields and path.stem == "trace":
        chains = fields.record("chains")
        for chain in chains.value:
            for value in chains.record(chain).value.values():
                if value is not None and not _is_real(value):
                    raise DataError(f"{path}, line {line}: {quoted(value)} is no number; remake it")


def _is_real(value: Any) -> bool:
    """Whether a JSON value is a number that float64 can hold; it has NaN and infinities, too."""
    is_whole = type(value) is int and abs(value) <= sys.float_info.max
    return is_whole or type(value) is float


def scored(record: Mapping[str, Any], name: str) -> Any:
    """A figure of a line of ``metrics.jsonl``; None where it is missing, or is said to be averaged
    and no sample was scored."""
    if name.endswith("_averaged") and record.get("averaged_over") == 0:
        return None
    return record.get(name)
