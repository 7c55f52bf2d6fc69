"""Files of seed words: TOML, JSON or CSV.

TOML and JSON hold topics with lists of their words, ``sport = ["match", "team"]``, or with weights,
``sport = ["match", ["team", 2]]`` or ``sport = {match = 1, team = 2}``. CSV has the columns topic,
word and, if some have one, weight.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from topicmc.errors import DataError, UsageError
from topicmc.models.lda.priors.seed_settings import Seeds, checked_seeds
from topicmc.storage.fields import quoted
from topicmc.storage.files import read_text
from topicmc.storage.handwritten import parse_csv, parse_json, parse_number, rows_below


def read_seeds(path: Path) -> Seeds:
    """Seeds by the name of the file: ``.toml``, ``.json`` or ``.csv``. DataError when it cannot be
    read, or holds anything else."""
    readers: dict[str, Callable[[str], Any]] = {
        ".toml": _toml,
        ".json": parse_json,
        ".csv": _csv,
    }
    where = f"--seeds {path}"
    read = readers.get(path.suffix.lower())
    if read is None and str(path).isdecimal():
        raise DataError(
            f"{where}: is no file of seed words; the number that decides chance is --seed {path}"
        )
    if read is None:
        raise DataError(f"{where}: seeds are in a file named .toml, .json or .csv; rename it")
    text = read_text(path, "--seeds")
    try:
        seeds = read(text)
    except (ValueError, RecursionError) as error:
        kind = path.suffix[1:].upper()
        raise DataError(f"{where}: cannot be read as {kind} ({error}); correct it") from None
    try:
        return checked_seeds(seeds)
    except UsageError as error:
        raise DataError(f"{where}: {str(error).removeprefix('--seeds: ')}") from None


def _toml(text: str) -> Any:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        end = f"at line {len(text.splitlines())}, the end"
        raise ValueError(str(error).replace("at end of document", end)) from None


def _csv(text: str) -> Seeds:
    seeds: Seeds = {}
    for number, row in rows_below(parse_csv(text), "topic", "word", more="weight"):
        name, word, weight = (row.get(key, "") for key in ("topic", "word", "weight"))
        words = seeds.setdefault(name, {})
        if not name or not word or word in words:
            fault = f"{quoted(word)} comes twice" if word in words else "has no topic or no word"
            raise ValueError(f"row {number}: {fault}")
        try:
            words[word] = parse_number(weight) if weight else 1.0
        except ValueError:
            raise ValueError(f"row {number}: the weight {quoted(weight)} is no number") from None
    return seeds
