"""JSON Lines: one object a line, whose fields are the document's text and what belongs to it."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from topicmc.corpora.readers import Tally
from topicmc.corpora.readers.named_fields import FieldReader, words_as_text
from topicmc.corpora.readers.records import (
    ALL,
    Fields,
    Record,
    columns_text,
    read_day,
    read_id,
    read_title,
)
from topicmc.corpora.streams import IF_ONLY_RETURNS, numbered_lines
from topicmc.errors import DataError

# A title or time may be missing here and there; one that so many objects lack is misspelt.
_LOOK = 1000
_ONE_A_LINE = "give one object a line, which jq -c '.[]' makes of a list"
_DEEPEST = 200  # levels of a field that is kept: what reads it again may stand deep in the stack


class JsonLinesReader(FieldReader):
    """The first object of each file must have the text, and some object of the files that are read
    together each of the other fields that are asked for."""

    def __init__(self, path: Path, fields: Fields | None = None) -> None:
        super().__init__(path, fields)
        self._missing = _Missing(self)

    @staticmethod
    def read_together(readers: "Sequence[JsonLinesReader]") -> None:
        """Lets some readers, in this order, have the fields together."""
        missing = _Missing(readers[-1])
        for reader in readers:
            reader._missing = missing

    def records(self, tally: Tally) -> Iterator[Record]:
        text_name = None
        with self.stream(self.path) as stream:
            for number, line in numbered_lines(stream):
                if not line.strip():
                    continue
                tally.n_read += 1
                tally.row = number
                tally.position = stream.position
                where = f"{self.path}, line {number}"
                found = _parse(line, where)
                text_name = text_name or self.text_in(found, where)
                self._missing.look(found, self)
                yield self._record(found, text_name, where, number, tally)
        self._missing.end(self)

    def _record(
        self, found: dict[Any, Any], text_name: str, where: str, number: int, tally: Tally
    ) -> Record:
        return Record(
            self._flat(found.get(text_name), text_name, where),
            read_title(found.get(self.title_name)),
            read_day(found.get(self.fields.time), where, tally),
            number,
            read_id(found.get(self.fields.id_name), where),
            self._kept_of(found, text_name, where) if self.fields.columns else "",
        )

    def _flat(self, value: Any, name: str, where: str) -> str:
        """A text, a list of texts or of words, or None for an empty document."""
        if value is None:
            return ""
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return "\n".join(value) if self.fields.tokens is None else words_as_text(value)
        if not isinstance(value, str):
            wanted = "text" if self.fields.tokens is None else "a list of words"
            raise DataError(
                f"{where}: field {name!r} is not {wanted}; pass another --{self.text_option}"
            )
        return value

    def _kept_of(self, found: dict[Any, Any], text_name: str, where: str) -> str:
        if self.fields.columns != ALL:
            kept = {n: found[n] for n in self.fields.columns if n in found}
        else:
            others = (text_name, self.title_name, self.fields.id_name)
            kept = {name: value for name, value in found.items() if name not in others}
            self.learn_columns(kept)
        for name, value in kept.items():
            if _is_deep(value):
                raise DataError(
                    f"{where}: field {name!r} is nested more than {_DEEPEST} levels deep; leave it"
                    " out of --keep"
                )
        return columns_text(kept)


class _Missing:
    """Fields that are asked for and that no object had so far, of files up to the ``last``."""

    def __init__(self, last: JsonLinesReader) -> None:
        self._last = last
        self._fields = last.fields.required
        self._n_read = 0
        self._found: dict[Any, Any] = {}

    def look(self, found: dict[Any, Any], reader: JsonLinesReader) -> None:
        """DataError when an object is the last that may lack them."""
        if self._fields:
            self._fields = [(o, name) for o, name in self._fields if name not in found]
            self._n_read, self._found = self._n_read + 1, found
            if self._n_read == _LOOK:
                self._check(reader)

    def end(self, reader: JsonLinesReader) -> None:
        """DataError when the file was the last one, and there were objects."""
        if reader is self._last and self._n_read:
            self._check(reader)

    def _check(self, reader: JsonLinesReader) -> None:
        for option, name in self._fields:
            raise reader.lacking(option, self._found, f"{reader.path}", name)


def _is_deep(value: Any) -> bool:
    """Whether lists and objects lie in one another more than `_DEEPEST` levels deep."""
    level = [value]
    for _ in range(_DEEPEST + 1):
        groups = [item for item in level if isinstance(item, list | dict)]
        if not groups:
            return False
        level = [i for g in groups for i in (g.values() if isinstance(g, dict) else g)]
    return True


class _Number(float):
    """A number that remembers how it is written: an id of 1.10 is not 1.1."""

    _text: str

    def __new__(cls, text: str) -> "_Number":
        number = super().__new__(cls, text)
        number._text = text
        return number

    def __str__(self) -> str:
        return self._text


def _constant(name: str) -> float | None:
    """Of NaN, Infinity and -Infinity; NaN is what Python programs write where nothing is known."""
    return None if name == "NaN" else float(name)


def _parse(line: str, where: str) -> dict[Any, Any]:
    try:
        found = json.loads(line, parse_float=_Number, parse_constant=_constant)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "too deep or large"
        way = _ONE_A_LINE
        if "\r" in line:
            way = IF_ONLY_RETURNS
        raise DataError(f"{where}: not JSON ({reason}); mend the line, or {way}") from error
    if not isinstance(found, dict):
        raise DataError(f"{where}: not a JSON object; {_ONE_A_LINE}")
    return found
