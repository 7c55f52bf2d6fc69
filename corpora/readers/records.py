"""Documents of text as they are read, and in batches: what one worker process counts at a time."""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from topicmc.corpora.metadata import NO_DAY, parse_day
from topicmc.corpora.readers import Tally
from topicmc.corpora.streams import Stream, unless_utf8
from topicmc.errors import DataError

NONE = "none"
ALL = ("all",)
_MAX_TEXTS = 1000
_MAX_LETTERS = 1 << 19


class Fields(NamedTuple):
    """How to read sources: names of fields, as asked for by --field, --title, --time, --id, --keep
    and --tokens, and what else has to be known.

    By default the text is ``text``, the title is ``title`` where there is one, and nothing else is
    read; the title and the id ``none`` stand for none. ``columns`` are the fields to be kept, or
    `ALL`: all others. ``quote`` encloses fields of CSV, " by default, `NONE` where nothing does.
    ``tokens`` is read instead of a text. ``optional`` names the options whose fields may be
    missing; an optional delimiter or encoding is used where it fits. ``likely`` is the format of
    sources whose name and content tell none, and ``first_index`` the least index that SVMlight may
    have, 0 or 1, where it is known.
    """

    field: str | None = None
    title: str | None = None
    time: str | None = None
    id: str | None = None
    columns: tuple[str, ...] = ()
    delimiter: str | None = None
    encoding: str | None = None
    quote: str | None = None
    tokens: str | None = None
    optional: frozenset[str] = frozenset()
    likely: str | None = None
    first_index: int | None = None

    @property
    def has_titles(self) -> bool:
        return self.title != NONE

    @property
    def id_name(self) -> str | None:
        return None if self.id == NONE else self.id

    @property
    def asked(self) -> dict[str, str | None]:
        """What is not optional, by the names of options."""
        options = {**self._asdict(), "keep": ",".join(self.columns)}
        others = {"columns", "optional", "likely", "first_index", *self.optional}
        return {option: value for option, value in options.items() if option not in others}

    @property
    def required(self) -> list[tuple[str, str]]:
        """Options and the names that they ask for, but for the text."""
        title = self.title if self.has_titles else None
        asked = [("title", title), ("time", self.time), ("id", self.id_name)]
        asked += [("keep", name) for name in self.columns if self.columns != ALL]
        return [(o, name) for o, name in asked if name is not None and o not in self.optional]


class Record(NamedTuple):
    text: str
    title: str = ""
    day: int = NO_DAY  # since 1970
    row: int = 0  # of its source, counted from 1, in the unit of the reader
    id: str = ""
    columns: str = ""  # a JSON object, or empty


class Source(NamedTuple):
    """A file or folder that is read among others.

    unit         what its rows are called
    number       how many sources come before it
    rows_before  how many rows these have
    """

    path: Path
    unit: str
    number: int
    rows_before: int


class Batch(NamedTuple):
    """The fields of as many records of a source."""

    source: Source
    texts: list[str]
    titles: list[str]
    days: list[int]
    rows: list[int]
    ids: list[str]
    columns: list[str]


class RecordReader:
    """A format that holds text. Derived classes say what its records are."""

    unit = "line"  # what a row is called
    min_tokens = 0  # documents with fewer are skipped
    plain: Callable[[str], str | None] | None = None  # strips markup, in worker processes
    column_names: list[str] | None = None  # those that are kept, where any are

    def __init__(self, path: Path, fields: Fields | None = None) -> None:
        self.path = path
        self.fields = fields or Fields()

    def stream(self, path: Path) -> Stream:
        """A file in the encoding of the source."""
        encoding, is_optional = self.fields.encoding, "encoding" in self.fields.optional
        return Stream(path, unless_utf8(path, encoding) if is_optional else encoding)

    def records(self, tally: Tally) -> Iterator[Record]:
        """All documents in order; DataError names file and line of what is wrong."""
        raise NotImplementedError

    def batches(self, tally: Tally) -> Iterator[Batch]:
        """Up to 1,000 documents, or about half a million letters, at a time."""
        source = Source(self.path, self.unit, len(tally.sources), tally.rows_before)
        return _batches(self.records(tally), source)


def all_batches(readers: Iterable[RecordReader], tally: Tally) -> Iterator[Batch]:
    """The batches of all sources, one after the other. DataError where one is cut short and another
    follows."""
    for reader in readers:
        if tally.cut is not None:
            raise DataError(
                f"{tally.cut}; only the last source may be cut short: fetch this one again"
            )
        yield from reader.batches(tally)
        tally.next_source(reader.path, reader.unit)


def _batches(records: Iterable[Record], source: Source) -> Iterator[Batch]:
    found: list[Record] = []
    n_letters = n_named = 0  # apart, so that usual titles and ids change no batch
    for record in records:
        found.append(record)
        n_letters += len(record.text) + len(record.columns)
        n_named += len(record.title) + len(record.id)
        if len(found) == _MAX_TEXTS or max(n_letters, n_named) >= _MAX_LETTERS:
            yield _batch(found, source)
            found, n_letters, n_named = [], 0, 0
    if found:
        yield _batch(found, source)


def _batch(records: list[Record], source: Source) -> Batch:
    return Batch(source, *(list(values) for values in zip(*records, strict=True)))


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


def read_id(value: Any, where: str) -> str:
    """Text and numbers as they are written; DataError when it is neither."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise DataError(f"{where}: the id is neither text nor a number; pass another --id")
    return str(value)


def columns_text(values: dict[str, Any]) -> str:
    """What is kept of a row, as JSON. NaN, which stands where nothing is known, is null; what else
    JSON has no word for is text."""
    try:
        return _json(values)
    except ValueError:  # NaN, or infinite
        told = json.dumps(values, default=str)
        return _json(json.loads(told, parse_constant=lambda name: None if name == "NaN" else name))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, default=str)
