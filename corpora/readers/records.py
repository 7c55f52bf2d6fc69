"""Documents of text as they are read, and in batches: what one worker process counts at a time."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from topicmc.corpora.metadata import NO_DAY, parse_day
from topicmc.corpora.readers import Tally

_MAX_TEXTS = 1000
_MAX_LETTERS = 1 << 19


class Record(NamedTuple):
    text: str
    title: str = ""
    day: int = NO_DAY  # since 1970


class Batch(NamedTuple):
    """Texts, titles and days of as many documents."""

    texts: list[str]
    titles: list[str]
    days: list[int]


class RecordReader:
    """A format that holds text. Derived classes say what its records are."""

    min_tokens = 0  # documents with fewer are skipped
    plain: Callable[[str], str] | None = None  # strips markup, in worker processes

    def __init__(self, path: Path) -> None:
        self.path = path

    def records(self, tally: Tally) -> Iterator[Record]:
        """All documents in order; DataError names file and line of what is wrong."""
        raise NotImplementedError

    def batches(self, tally: Tally) -> Iterator[Batch]:
        """Up to 1,000 documents, or about half a million letters, at a time."""
        return _batches(self.records(tally))

    def texts(self, tally: Tally) -> Iterator[list[str]]:
        """The texts of each batch."""
        return (batch.texts for batch in self.batches(tally))


def _batches(records: Iterable[Record]) -> Iterator[Batch]:
    batch = Batch([], [], [])
    n_letters = 0
    for record in records:
        batch.texts.append(record.text)
        batch.titles.append(record.title)
        batch.days.append(record.day)
        n_letters += len(record.text)
        if len(batch.texts) == _MAX_TEXTS or n_letters >= _MAX_LETTERS:
            yield batch
            batch, n_letters = Batch([], [], []), 0
    if batch.texts:
        yield batch


def read_title(value: Any) -> str:
    """Text and numbers as they are; anything else is no title."""
    return str(value) if isinstance(value, str | int | float) else ""


def read_day(value: Any, where: str, tally: Tally) -> int:
    """The day of a time as it was read; NO_DAY, which the tally counts, when it is none."""
    text = "" if value is None else str(value)
    if not text.strip():
        return NO_DAY
    try:
        return parse_day(text)
    except ValueError:
        tally.unread_time(text, where)
        return NO_DAY
