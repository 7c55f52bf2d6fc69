"""JSON Lines: one object a line, whose fields are the document's text and what belongs to it."""

import json
from collections.abc import Iterator
from typing import Any

from topicmc.corpora.readers import Tally
from topicmc.corpora.readers.named_fields import ALL, FieldReader, words_as_text
from topicmc.corpora.readers.records import Record, columns_text, read_day, read_id, read_title
from topicmc.corpora.streams import numbered_lines
from topicmc.errors import DataError

# A title or time may be missing here and there; one that so many objects lack is misspelt.
_LOOK = 1000


class JsonLinesReader(FieldReader):
    def records(self, tally: Tally) -> Iterator[Record]:
        unseen, n_read = self.fields.required, 0
        with self.stream(self.path) as stream:
            for number, line in numbered_lines(stream):
                if not line.strip():
                    continue
                tally.n_read += 1
                tally.row = number
                tally.position = stream.position
                where = f"{self.path}, line {number}"
                found = _parse(line, where)
                if not n_read:
                    text_name = self.text_in(found, where)
                n_read += 1
                if unseen:
                    unseen = [(o, name) for o, name in unseen if name not in found]
                    if n_read == _LOOK:
                        self._check_seen(unseen, found)
                yield self._record(found, text_name, where, number, tally)
        if n_read:
            self._check_seen(unseen, found)

    def _check_seen(self, unseen: list[tuple[str, str]], last: dict[str, Any]) -> None:
        for option, name in unseen:
            raise self.lacking(option, last, f"{self.path}", name)

    def _record(
        self, found: dict[Any, Any], text_name: str, where: str, number: int, tally: Tally
    ) -> Record:
        if text_name not in found:
            raise self.lacking(self.text_option, found, where, self.text_asked)
        return Record(
            self._flat(found[text_name], text_name, where),
            read_title(found.get(self.title_name)),
            read_day(found.get(self.fields.time), where, tally),
            number,
            read_id(found.get(self.fields.id_name), where),
            self._kept_of(found, text_name) if self.fields.columns else "",
        )

    def _flat(self, value: Any, name: str, where: str) -> str:
        """A text, a list of texts or of words, or null for an empty document."""
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

    def _kept_of(self, found: dict[Any, Any], text_name: str) -> str:
        if self.fields.columns != ALL:
            return columns_text({n: found[n] for n in self.fields.columns if n in found})
        others = (text_name, self.title_name, self.fields.id_name)
        kept = {name: value for name, value in found.items() if name not in others}
        self.learn_columns(kept)
        return columns_text(kept)


class _Number(float):
    """A number that remembers how it is written: an id of 1.10 is not 1.1."""

    _text: str

    def __new__(cls, text: str) -> "_Number":
        number = super().__new__(cls, text)
        number._text = text
        return number

    def __str__(self) -> str:
        return self._text


def _parse(line: str, where: str) -> dict[Any, Any]:
    try:
        found = json.loads(line, parse_float=_Number)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "too deep or large"
        raise DataError(f"{where}: not JSON ({reason}); mend the line") from error
    if not isinstance(found, dict):
        raise DataError(f"{where}: not a JSON object; give one object a line")
    return found
