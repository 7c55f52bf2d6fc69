"""What JSON files may say, checked before anything is made of it.

Files come from other people, too. A name that is to become part of a path, or a number that is to
become a size, is asked for by what it can be; anything else is a DataError with file and field.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from topicmc.errors import DataError

SHA256 = r"sha256:[0-9a-f]{64}"
PLACE = r"[^\0\ud800-\udc7f\udd00-\udfff]*"  # what a path can be
MOST = 1 << 62  # of anything that is counted
UNSHOWN = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, halves of characters, and marks that change the order of what follows: a
terminal obeys them."""


@dataclass(frozen=True)
class Record:
    """A JSON object of a file; ``where`` leads to it, as "shards[3].". Every method raises
    DataError unless the field is there and as it says."""

    path: Path
    value: Any
    where: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.value, dict):
            name = self.where.rstrip(".: ") or "what it holds"
            raise DataError(f"{self.path}: damaged, {name} is no object; restore or remake it")

    def __contains__(self, name: str) -> bool:
        return name in self.value

    def whole(self, name: str, least: int = 0, most: int = MOST) -> int:
        """A whole number."""
        value = self._get(name)
        self._expect(type(value) is int and least <= value <= most, name, "a whole number in range")
        return value

    def number(self, name: str, least: float = -math.inf, most: float = math.inf) -> float:
        """A finite number."""
        value = self._get(name)
        self._expect(is_number(value) and least <= value <= most, name, "a number in range")
        return value

    def flag(self, name: str) -> bool:
        """True or false."""
        value = self._get(name)
        self._expect(isinstance(value, bool), name, "true or false")
        return value

    def text(self, name: str, pattern: str = r"(?s).*") -> str:
        """Text that a regular expression matches as a whole."""
        value = self._get(name)
        fits = isinstance(value, str) and re.fullmatch(pattern, value) is not None
        self._expect(fits, name, "what can stand there")
        return value

    def numbers(self, name: str, length: int | None = None, least: float = -math.inf) -> list[Any]:
        """A list of finite numbers, so many if ``length`` is given."""
        value = self._get(name)
        fits = isinstance(value, list) and all(is_number(x) and x >= least for x in value)
        wanted = "a list of numbers" if length is None else f"a list of {length} numbers"
        self._expect(fits and length in (None, len(value)), name, wanted)
        return value

    def strings(self, name: str) -> list[str]:
        """A list of texts."""
        value = self._get(name)
        fits = isinstance(value, list) and all(isinstance(text, str) for text in value)
        self._expect(fits, name, "a list of texts")
        return value

    def record(self, name: str) -> Record:
        """An object."""
        return Record(self.path, self._get(name), f"{self.where}{name}.")

    def records(self, name: str) -> Iterator[Record]:
        """The objects of a list."""
        value = self._get(name)
        self._expect(isinstance(value, list), name, "a list")
        for number, item in enumerate(value):
            yield Record(self.path, item, f"{self.where}{name}[{number}].")

    def texts(self, pattern: str, of: str) -> dict[str, str]:
        """The object itself, whose names match ``pattern``, and whose values the pattern ``of``."""
        for name in self.value:
            self._expect(re.fullmatch(pattern, name) is not None, name, "no name that can be here")
            self.text(name, of)
        return self.value

    def _get(self, name: str) -> Any:
        if name not in self.value:
            where = f" in {self.where.rstrip('.')}" if self.where else ""
            raise DataError(
                f"{self.path}: damaged, it has no {name!r}{where}; restore or remake it"
            )
        return self.value[name]

    def _expect(self, fits: bool, name: str, wanted: str) -> None:
        if not fits:
            raise DataError(
                f"{self.path}: {self.where}{quoted(name)} is {quoted(self.value.get(name))}, not"
                f" {wanted}; restore or remake it"
            )


def is_number(value: Any) -> bool:
    """Whether a JSON value is a finite number."""
    return type(value) in (int, float) and abs(value) <= MOST


def quoted(value: Any) -> str:
    """A value in a message: short, in one line, without characters that a terminal obeys."""
    text = value if isinstance(value, str) and value.isidentifier() else ascii(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def visible(text: str, keep: str = "\n\t") -> str:
    """Text with the escapes of Python in place of what a terminal would obey, but for what is to be
    kept."""
    return UNSHOWN.sub(lambda m: m[0] if m[0] in keep else ascii(m[0])[1:-1], text)
