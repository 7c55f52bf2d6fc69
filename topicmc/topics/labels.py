"""Names of topics: those of a run or view, and files of them.

A file of names is CSV with the columns topic and label, or JSON: an object of names by number, or
a list of objects with ``topic`` and ``name`` or ``label``, alone or under ``topics``, as
``topicmc topics --json`` has it. Who made it, a person or a program, does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from topicmc.errors import DataError
from topicmc.models.lda.run import TopicRun
from topicmc.models.mixture.run import MixtureRun
from topicmc.storage.fields import quoted
from topicmc.storage.files import read_text
from topicmc.storage.handwritten import parse_csv, parse_json, rows_below


@dataclass(frozen=True)
class Labels:
    """The topics in the order of all arrays: their numbers, and the names of those that have one
    by number."""

    numbers: tuple[int, ...]
    names: Mapping[int, str]

    @classmethod
    def of(cls, run: TopicRun) -> Labels:
        """Those of a run or view."""
        return cls(run.numbers, run.labels)

    @classmethod
    def of_groups(cls, run: MixtureRun, n_groups: int) -> Labels:
        """Those of a mixture or view."""
        return cls(tuple(range(n_groups)), run.labels)

    @classmethod
    def plain(cls, n_topics: int) -> Labels:
        """Numbers from 0 on, without names."""
        return cls(tuple(range(n_topics)), {})

    @property
    def are_plain(self) -> bool:
        """Whether places in arrays are all that there is to tell."""
        return not self.names and self.numbers == tuple(range(len(self.numbers)))

    def name(self, column: int) -> str | None:
        """The name of the topic at a place in arrays, if it has one."""
        return self.names.get(self.numbers[column])

    def tag(self, column: int) -> str:
        """Its number, and its name if it has one."""
        name = self.name(column)
        return f"{self.numbers[column]}" if name is None else f"{self.numbers[column]} {name}"

    def columns(self) -> list[str]:
        """What tables call the topics, after ``topic_`` or ``sd_``: ``3``, or ``3_Sport``."""
        return [self.tag(column).replace(" ", "_", 1) for column in range(len(self.numbers))]


def read_labels(path: Path) -> dict[int, str]:
    """Names by number, from a file; DataError when it holds something else, or two names of one
    topic. Topics without a name are passed over."""
    found: dict[int, str] = {}
    kind, pairs = ("JSON", _of_json) if path.suffix.lower() == ".json" else ("CSV", _of_csv)
    text = read_text(path, "--labels")
    try:
        told = [*pairs(path, text)]
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: cannot be read as {kind} ({error}); correct it") from None
    for where, topic, label in told:
        if label is None or (isinstance(label, str) and not label.strip()):
            continue
        number = _whole(topic)
        if number is None:
            raise DataError(f"{path}{where}: {quoted(topic)} is no number of a topic; give 0, 1, …")
        if not isinstance(label, str):
            raise DataError(f"{path}{where}: {quoted(label)} is no name; give text")
        if number in found:
            raise DataError(f"{path}{where}: topic {number} has a name already; leave one")
        found[number] = label.strip()
    if not found:
        raise DataError(f"{path}: holds no names; give a number and a name for each topic")
    return found


def _whole(value: Any) -> int | None:
    if isinstance(value, str) and value.strip().isdecimal() and len(value) <= 9:
        return int(value)
    return value if type(value) is int and value >= 0 else None


def _of_json(path: Path, text: str) -> Iterator[tuple[str, Any, Any]]:
    content = parse_json(text)
    if isinstance(content, dict) and isinstance(content.get("topics"), list):
        content = content["topics"]
    if isinstance(content, dict):
        yield from (("", topic, label) for topic, label in content.items())
        return
    for number, item in enumerate(content if isinstance(content, list) else [None], start=1):
        if not isinstance(item, dict) or "topic" not in item:
            raise DataError(
                f'{path}, item {number}: names no topic; give {{"3": "Sport"}}, or a list of'
                ' {"topic": 3, "name": "Sport"}'
            )
        yield f", item {number}", item["topic"], item.get("name", item.get("label"))


def _of_csv(path: Path, text: str) -> Iterator[tuple[str, Any, Any]]:
    for number, row in rows_below(parse_csv(text), "topic", "label"):
        if "topic" not in row or "label" not in row:
            raise DataError(f"{path}, row {number}: has no label; give topic,label")
        yield f", row {number}", row["topic"], row["label"]
