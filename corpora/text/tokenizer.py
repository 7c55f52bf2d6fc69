"""From a text to its words, in any script.

Text is in Unicode's composed form (NFC) and in lower case before words are looked for, so that
composed and decomposed spellings are one word. What a corpus was cut by is kept in its index, and
new documents are cut alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from dataclasses import field as field_
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from topicmc.corpora.patience import OutOfPatience, patience, seconds_for
from topicmc.corpora.text import cutting
from topicmc.corpora.text.markup import KINDS, strip_markup
from topicmc.errors import DataError, UsageError
from topicmc.storage.fields import Record, quoted

ALLOWED = ("digits", "hyphens", "apostrophes")
_LETTERS = 2, 40  # lengths of words by the default pattern
_MOST = 200  # letters of any word
_EARLIER = re.compile(r"[^\W\d_]+")
# The ways to cut, each by its option.
_WAYS = {"pattern": "token-pattern", "function": "tokenizer", "field": "tokens", "allow": "allow"}
_FUNCTION = re.compile(r"\w+(\.\w+)*:\w+(\.\w+)*")


def _listed(text: str | None) -> tuple[str, ...]:
    """The names in a list with commas."""
    return () if text is None else _names(text.split(","))


def _names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({name.strip() for name in names}))


def _check_known(option: str, names: tuple[str, ...], known: tuple[str, ...]) -> None:
    for name in names:
        if name not in known:
            close = get_close_matches(name, known, 1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise UsageError(f"--{option} {quoted(name)}: it is one of {', '.join(known)}{hint}")


@dataclass(frozen=True)
class Tokenizer:
    """How texts are cut into words; called with a text, it returns its words in order.

    Raises UsageError for settings that cannot be honoured.

    Attributes:
        allow: what words may hold beside letters and their marks, of `ALLOWED`.
        pattern: a regular expression of a word, in the syntax of the ``regex`` package, instead.
        function: MODULE:FUNCTION, called with a text for a list of its words, instead.
        field: of lists of words made elsewhere, instead of texts.
        min_length, max_length: letters (code points) of a word; others are dropped.
        strip: markup that is removed first, of `KINDS`.
        earlier: words end at marks, as in the first corpora, which say nothing of how they were
            cut.
        owner: the file that these settings were read from, if any.
    """

    allow: tuple[str, ...] = ()
    pattern: str | None = None
    function: str | None = None
    field: str | None = None
    min_length: int | None = None
    max_length: int | None = None
    strip: tuple[str, ...] = ()
    earlier: bool = False
    owner: str | None = field_(default=None, compare=False)

    def __post_init__(self) -> None:
        given = [option for name, option in _WAYS.items() if getattr(self, name) not in (None, ())]
        if len(given) > 1:
            raise UsageError(f"--{given[0]} and --{given[1]} exclude each other: give one")
        if self.field is not None and self.strip:
            raise UsageError("--tokens are words already: --strip goes with text")
        _check_known("allow", self.allow, ALLOWED)
        _check_known("strip", self.strip, KINDS)
        if self.function is not None and not _FUNCTION.fullmatch(self.function):
            raise UsageError(f"--tokenizer {quoted(self.function)}: give MODULE:FUNCTION")
        if self.pattern is not None:
            cutting.compiled(self.pattern)
        by_letters = not given or given == ["allow"]
        least, most = _LETTERS if by_letters else (1, _MOST)
        for name, default in {"min_length": least, "max_length": most}.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, default)
        if not 1 <= self.min_length <= self.max_length <= _MOST:  # type: ignore[operator]
            raise UsageError(
                f"--min-length {self.min_length}, --max-length {self.max_length}: words have"
                f" 1 to {_MOST} letters, and the one is at most the other"
            )

    @classmethod
    def asked(cls, allow: str | None = None, strip: str | None = None, **options: Any) -> Tokenizer:
        """From options; ``allow`` and ``strip`` are lists with commas."""
        return cls(_listed(allow), strip=_listed(strip), **options)

    @property
    def option(self) -> str:
        """The first of the options of ``prepare`` that ask for it; there is one."""
        names = {**_WAYS, "strip": "strip", "min_length": "min-length", "max_length": "max-length"}
        usual = Tokenizer()
        return next(f"--{names[n]}" for n in names if getattr(self, n) != getattr(usual, n))

    @property
    def by_letters(self) -> bool:
        """Whether words are what the default pattern finds, or it and what is allowed besides."""
        return self.pattern is None and self.function is None and self.field is None

    def as_dict(self) -> dict[str, Any]:
        """What an index keeps of it."""
        settings = {**asdict(self), "allow": list(self.allow), "strip": list(self.strip)}
        return {name: settings[name] for name in _KEPT}

    @classmethod
    def read(cls, path: Path, facts: Any) -> Tokenizer:
        """From the field ``tokenizer`` of facts in a file. The first corpora lack it, and it is
        null where words came as ids. DataError when it says nothing that can be."""
        if "tokenizer" not in facts:
            return replace(EARLIER, owner=str(path))
        if facts["tokenizer"] is None:
            return cls(owner=str(path))
        settings = Record(path, facts).record("tokenizer").value
        try:
            for name, kind in _KEPT.items():
                if not isinstance(settings[name], kind) or isinstance(settings[name], bool):
                    raise TypeError
            lists = {name: _names(settings[name]) for name in ("allow", "strip")}
            return cls(**{name: settings[name] for name in _KEPT} | lists, owner=str(path))
        except (AttributeError, TypeError, KeyError, UsageError) as error:
            raise DataError(
                f"{path}: damaged, its tokenizer says nothing that can be; restore or remake it"
            ) from error

    def again(self, field: str | None, function: str | None) -> Tokenizer:
        """The one for new documents, where their words stand in a field that is named, or are cut
        by a function that is."""
        if field is None and function is None:
            return self
        return replace(
            Tokenizer(field=field, function=function, strip=() if field else self.strip),
            min_length=self.min_length,
            max_length=self.max_length,
        )

    def load(self) -> None:
        """Imports what it needs. UsageError when that cannot be, or is a function that only a file
        asks for, which may be anybody's."""
        if self.function is not None and self.owner is not None:
            raise UsageError(
                f"{self.owner} says that words are cut by {self.function}, which is run only when"
                f" you ask for it: add --tokenizer {self.function}, or give words by --tokens"
            )
        _cutter(self)

    def __call__(self, text: str) -> list[str]:
        if self.strip:
            text = _stripped(text, self.strip)
        least, most = self.min_length, self.max_length
        return [word for word in _cutter(self)(text) if least <= len(word) <= most]  # type: ignore[operator]


def _stripped(text: str, kinds: tuple[str, ...]) -> str:
    """The text without markup; CutError where its patterns come to no end, as they do in long runs
    of markup that nothing closes."""
    seconds = 10 * seconds_for(text)  # LaTeX of a letter takes 1e-5, and more on slow machines
    try:
        with patience(seconds):
            return strip_markup(text, kinds)
    except OutOfPatience:
        raise cutting.CutError(
            f"its markup is not removed within {seconds:.0f} seconds; mend it, or leave out --strip"
        ) from None


EARLIER = Tokenizer(earlier=True)
# What an index keeps, and of what types.
_KEPT: dict[str, Any] = {
    "allow": list,
    "pattern": str | None,
    "function": str | None,
    "field": str | None,
    "min_length": int,
    "max_length": int,
    "strip": list,
}


@cache
def _cutter(tokenizer: Tokenizer) -> cutting.Cut:
    if tokenizer.earlier:
        return lambda text: _EARLIER.findall(text.lower())
    if tokenizer.field is not None:
        return lambda text: filter(None, map(cutting.clean, text.split()))
    if tokenizer.function is not None:
        return cutting.by_function(tokenizer.function)
    if tokenizer.pattern is not None:
        return cutting.by_pattern(tokenizer.pattern)
    return cutting.by_letters(tokenizer.allow)
