"""What formats of named fields share: JSON Lines, CSV and Parquet."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from topicmc.corpora.readers.records import ALL, Fields, RecordReader
from topicmc.errors import DataError, TopicmcError, UsageError

_MOST_COLUMNS = 10_000
_SHOWN = 60  # characters of a name in a message


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
        super().__init__(path, fields)
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
