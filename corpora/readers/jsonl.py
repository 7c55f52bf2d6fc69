"""JSON Lines: one object a line, of which one field is the document's text."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from topicmc.corpora.readers import Tally
from topicmc.corpora.readers.batches import batches
from topicmc.corpora.streams import Stream, numbered_lines
from topicmc.errors import DataError, UsageError

DEFAULT_FIELD = "text"


class JsonLinesReader:
    min_tokens = 0
    plain = None

    def __init__(self, path: Path, field: str | None = None) -> None:
        self.path = path
        self._field = field

    def texts(self, tally: Tally) -> Iterator[list[str]]:
        return batches(self._texts(tally))

    def _texts(self, tally: Tally) -> Iterator[str]:
        with Stream(self.path) as stream:
            for number, line in numbered_lines(stream):
                if line.strip():
                    tally.n_read += 1
                    tally.position = stream.position
                    yield self._text(line, f"{self.path}, line {number}")

    def _text(self, line: str, where: str) -> str:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else "too deep or large"
            raise DataError(f"{where}: not JSON ({reason}); mend the line.") from error
        if not isinstance(record, dict):
            raise DataError(f"{where}: not a JSON object; give one object a line.")
        name = self._field or DEFAULT_FIELD
        if name not in record:
            fields = ", ".join(list(record)[:20]) or "none"
            if self._field is None:
                raise UsageError(f"{where}: which field is the text? Pass --field (has: {fields}).")
            raise DataError(f"{where}: no field {name!r} (has: {fields}); pass another --field.")
        return _flat(record[name], name, where)


def _flat(value: Any, name: str, where: str) -> str:
    """Text, a list of texts, or null for an empty document."""
    if value is None:
        return ""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return "\n".join(value)
    if not isinstance(value, str):
        raise DataError(f"{where}: field {name!r} is not text; pass another --field.")
    return value
