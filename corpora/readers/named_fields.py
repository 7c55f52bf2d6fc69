"""What formats of named fields share: JSON Lines, CSV and Parquet."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from topicmc.corpora.readers.records import RecordReader
from topicmc.errors import DataError, TopicmcError, UsageError

NONE = "none"
ALL = ("all",)
_MOST_COLUMNS = 10_000
_SHOWN = 60  # characters of a name in a message


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


class Columns(NamedTuple):
    """Names of the fields that a file has for the parts of a document; None for none."""

    text: str
    title: str | None
    time: str | None
    id: str | None
    kept: list[str]

    def named(self) -> Iterator[str]:
        """All of them."""
        yield from (name for name in self[:4] if name is not None)
        yield from self.kept


class FieldReader(RecordReader):
    """Reads the text of a document and what belongs to it from named fields."""

    kind = "field"

    def __init__(self, path: Path, fields: Fields | None = None) -> None:
        self.fields = fields or Fields()
        super().__init__(path, self.fields.encoding, unless_utf8="encoding" in self.fields.optional)
        self.text_option = "field" if self.fields.tokens is None else "tokens"
        self.text_asked = self.fields.tokens or self.fields.field
        self.text_name = self.text_asked or "text"
        self.title_name = (self.fields.title or "title") if self.fields.has_titles else None
        self._learned: set[str] = set()
        if self.fields.columns:
            self.column_names = [] if self.fields.columns == ALL else [*self.fields.columns]

    def columns(self, has: Sequence[str], where: str) -> Columns:
        """Those of a file that has these columns. DataError, or UsageError when the text is not
        named, for one that is not there, or there twice."""
        text = self.text_in(has, where)
        for option, name in self.fields.required:
            if name not in has:
                raise self.lacking(option, has, where, name)
        title, time, id = (
            name if name in has else None
            for name in (self.title_name, self.fields.time, self.fields.id_name)
        )
        found = Columns(text, title, time, id, self._kept(has, text, title, id))
        for name in found.named():
            if has.count(name) > 1:
                raise DataError(
                    f"{where}: {has.count(name)} {self.kind}s are called {name!r}; rename them"
                )
        if self.fields.columns == ALL:
            self.column_names = found.kept
        return found

    def _kept(self, has: Sequence[str], *others: str | None) -> list[str]:
        if self.fields.columns == ALL:
            return [name for name in has if name not in others]
        return [name for name in self.fields.columns if name in has]

    def text_in(self, has: Iterable[str], where: str) -> str:
        """The name of the text, or of the lists of words, among those in ``has``."""
        names = [self.text_name]
        if self.fields.tokens is None and "field" in self.fields.optional:
            names.append("text")
        for name in names:
            if name in has:
                return name
        raise self.lacking(self.text_option, has, where, self.text_asked)

    def learn_columns(self, names: Iterable[str]) -> None:
        """Columns to keep, of which some may be new, as they turn up in a row."""
        assert self.column_names is not None
        self.column_names += [name for name in names if name not in self._learned]
        self._learned |= set(self.column_names[len(self._learned) :])
        if len(self.column_names) > _MOST_COLUMNS:
            raise DataError(
                f"{self.path} has more than {_MOST_COLUMNS:,} {self.kind}s: name those to --keep"
            )

    def lacking(
        self, option: str, has: Iterable[str], where: str, name: str | None
    ) -> TopicmcError:
        """The error for a field that ``option`` asks for and that is not among those in ``has``."""
        names = (n if len(n) <= _SHOWN else f"{n[: _SHOWN - 1]}…" for n in islice(has, 20))
        told = f"(has: {', '.join(names) or 'none'})"
        if name is None:
            return UsageError(f"{where}: which {self.kind} is the text? Pass --field {told}")
        return DataError(f"{where}: no {self.kind} {name!r} {told}; pass another --{option}")


def words_as_text(words: Iterable[str]) -> str:
    """A list of words as a text that its spaces cut into them again; spaces in a word become _."""
    return " ".join("_".join(word.split()) for word in words)
