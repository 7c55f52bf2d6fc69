"""What formats of named fields share: JSON Lines, CSV and Parquet."""

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from topicmc.corpora.readers.records import RecordReader
from topicmc.errors import DataError, TopicmcError, UsageError

NO_TITLE = "none"


class Fields(NamedTuple):
    """Names of what to read, as asked for by --field, --title, --time and --tokens.

    By default the text is ``text``, the title is ``title`` where there is one, and times are not
    read; the title ``none`` stands for no titles. ``tokens`` is read instead of a text.
    """

    field: str | None = None
    title: str | None = None
    time: str | None = None
    tokens: str | None = None

    @property
    def has_titles(self) -> bool:
        return self.title != NO_TITLE

    @property
    def required(self) -> dict[str, str]:
        """Names of the titles and times that were asked for, by option."""
        asked = {"title": self.title if self.has_titles else None, "time": self.time}
        return {option: name for option, name in asked.items() if name is not None}


class FieldReader(RecordReader):
    """Reads the text of a document, its title and time, from named fields."""

    kind = "field"

    def __init__(self, path: Path, fields: Fields | None = None) -> None:
        super().__init__(path)
        self.fields = fields or Fields()
        self.text_option = "field" if self.fields.tokens is None else "tokens"
        self.text_name = self.fields.tokens or self.fields.field or "text"
        self.title_name = (self.fields.title or "title") if self.fields.has_titles else None

    def columns(self, has: Sequence[str], where: str) -> list[str | None]:
        """Those of text, title and time; None for what is not to be read. DataError, or UsageError
        when the text is not named, for one that is not there."""
        if self.text_name not in has:
            raise self.lacking(self.text_option, has, where)
        for option, name in self.fields.required.items():
            if name not in has:
                raise self.lacking(option, has, where)
        title = self.title_name if self.title_name in has else None
        return [self.text_name, title, self.fields.time]

    def lacking(self, option: str, has: Iterable[str], where: str) -> TopicmcError:
        """The error for a field that ``option`` asks for and that is not among those in ``has``."""
        told = f"(has: {', '.join(islice(has, 20)) or 'none'})"
        name = getattr(self.fields, option)
        if name is None:
            return UsageError(f"{where}: which {self.kind} is the text? Pass --field {told}.")
        return DataError(f"{where}: no {self.kind} {name!r} {told}; pass another --{option}.")


def words_as_text(words: Iterable[str]) -> str:
    """A list of words as a text that its spaces cut into them again; spaces in a word become _."""
    return " ".join("_".join(word.split()) for word in words)
