"""Files of seed words: TOML, JSON or CSV.

TOML and JSON hold topics with lists of their words, ``sport = ["match", "team"]``, or with weights,
``sport = ["match", ["team", 2]]`` or ``sport = {match = 1, team = 2}``. CSV has the columns topic,
word and, if some have one, weight.
"""

from __future__ import annotations

import csv
import io
import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from topicmc.errors import DataError, UsageError
from topicmc.models.lda.priors.seed_settings import Seeds, checked_seeds
from topicmc.storage.fields import quoted
from topicmc.storage.files import read_text


def read_seeds(path: Path) -> Seeds:
    """Seeds by the name of the file: ``.toml``, ``.json`` or ``.csv``. DataError when it cannot be
    read, or holds anything else."""
    readers: dict[str, Callable[[str], Any]] = {
        ".toml": _toml,
        ".json": _json,
        ".csv": _csv,
    }
    where = f"--seeds {path}"
    read = readers.get(path.suffix.lower())
    if read is None:
        raise DataError(f"{where}: seeds are in a file named .toml, .json or .csv; rename it")
    text = read_text(path, "--seeds")
    try:
        seeds = read(text)
    except (ValueError, RecursionError, csv.Error) as error:
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


def _json(text: str) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"{quoted(twice)} comes twice")
        return dict(pairs)

    return json.loads(text, object_pairs_hook=unique)


def _csv(text: str) -> Seeds:
    rows = csv.DictReader(io.StringIO(text), strict=True)
    head = [name.strip().lower() for name in rows.fieldnames or ()]
    if "topic" not in head or "word" not in head:
        raise ValueError("the first line of CSV names its columns: topic,word or topic,word,weight")
    rows.fieldnames = head
    seeds: Seeds = {}
    for row in rows:
        number = rows.line_num
        name, word, weight = ((row.get(key) or "").strip() for key in ("topic", "word", "weight"))
        words = seeds.setdefault(name, {})
        if not name or not word or word in words:
            fault = f"{quoted(word)} comes twice" if word in words else "has no topic or no word"
            raise ValueError(f"line {number} {fault}")
        try:
            words[word] = float(weight) if weight else 1.0
        except ValueError:
            raise ValueError(f"line {number}: the weight {quoted(weight)} is no number") from None
    return seeds
