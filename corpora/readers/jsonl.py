"""JSON Lines: one object a line, whose fields are the document's text, title and time."""

import json
from collections.abc import Iterator
from typing import Any

from topicmc.corpora.readers import Tally
from topicmc.corpora.readers.named_fields import FieldReader, words_as_text
from topicmc.corpora.readers.records import Record, read_day, read_title
from topicmc.corpora.streams import Stream, numbered_lines
from topicmc.errors import DataError

# A title or time may be missing here and there; one that so many objects lack is misspelt.
_LOOK = 1000


class JsonLinesReader(FieldReader):
    def records(self, tally: Tally) -> Iterator[Record]:
        unseen, n_read = self.fields.required, 0
        with Stream(self.path) as stream:
            for number, line in numbered_lines(stream):
                if not line.strip():
                    continue
                tally.n_read += 1
                tally.position = stream.position
                where = f"{self.path}, line {number}"
                found = _parse(line, where)
                if unseen:
                    n_read += 1
                    unseen = {o: name for o, name in unseen.items() if name not in found}
                    if n_read == _LOOK:
                        self._check_seen(unseen, found)
                yield self._record(found, where, tally)
        if n_read:
            self._check_seen(unseen, found)

    def _check_seen(self, unseen: dict[str, str], last: dict[str, Any]) -> None:
        for option in unseen:
            raise self.lacking(option, last, f"{self.path}")

    def _record(self, found: dict[Any, Any], where: str, tally: Tally) -> Record:
        if self.text_name not in found:
            raise self.lacking(self.text_option, found, where)
        return Record(
            self._flat(found[self.text_name], where),
            read_title(found.get(self.title_name)),
            read_day(found.get(self.fields.time), where, tally),
        )

    def _flat(self, value: Any, where: str) -> str:
        """A text, a list of texts or of words, or null for an empty document."""
        if value is None:
            return ""
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return "\n".join(value) if self.fields.tokens is None else words_as_text(value)
        if not isinstance(value, str):
            wanted = "text" if self.fields.tokens is None else "a list of words"
            raise DataError(
                f"{where}: field {self.text_name!r} is not {wanted}; pass another"
                f" --{self.text_option}."
            )
        return value


def _parse(line: str, where: str) -> dict[Any, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "too deep or large"
        raise DataError(f"{where}: not JSON ({reason}); mend the line.") from error
    if not isinstance(found, dict):
        raise DataError(f"{where}: not a JSON object; give one object a line.")
    return found
