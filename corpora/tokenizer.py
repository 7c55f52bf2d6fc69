"""From a text to its words, in any script.

Text is in Unicode's composed form (NFC) and in lower case before words are looked for, so that
composed and decomposed spellings are one word. What a corpus was cut by is kept in its index, and
new documents are cut alike.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass, replace
from dataclasses import field as field_
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any
from unicodedata import normalize

import regex

from topicmc.corpora.markup import KINDS, strip_markup
from topicmc.errors import DataError, UsageError
from topicmc.fields import Record, shown

ALLOWED = ("digits", "hyphens", "apostrophes")
_LETTERS = 2, 40  # lengths of words by the default pattern
_MOST = 200  # letters of any word
# Seconds of a document's text that a pattern may take: the first ones, and for each letter.
_PATIENCE = 10, 1e-5

# What shows nothing and parts no words: soft hyphens, Arabic tatweel, marks of direction, variation
# selectors.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u0640\u061c\u180e\u200e\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]"
)
_JOINERS = "\u200c\u200d"
_IDLE_JOINERS = re.compile(f"(?<![\u0600-\U0010ffff])[{_JOINERS}]+")  # before the Arabic script
_HYPHENS = re.compile("[\u2010\u2011]")
_APOSTROPHES = re.compile("[\u2019\uff07]")
_UNSHOWN = regex.compile(r"[\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069]")
_EARLIER = re.compile(r"[^\W\d_]+")
_FUNCTION = re.compile(r"\w+(\.\w+)*:\w+(\.\w+)*")


def _names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({name.strip() for name in names}))


def _check_known(option: str, names: tuple[str, ...], known: tuple[str, ...]) -> None:
    for name in names:
        if name not in known:
            close = get_close_matches(name, known, 1)
            hint = f"; did you mean {close[0]}?" if close else "."
            raise UsageError(f"--{option} {shown(name)}: it is one of {', '.join(known)}{hint}")


class CutError(DataError):
    """A document whose words cannot be told; ``number`` is its place in its batch, from 1."""

    number = 0


@dataclass(frozen=True)
class Tokenizer:
    """How texts are cut into words; called with a text, it returns its words in order.

    allow       what words may hold beside letters and their marks, of `ALLOWED`
    pattern     a regular expression of a word, in the syntax of the ``regex`` package, instead
    function    MODULE:FUNCTION, called with a text for a list of its words, instead
    field       of lists of words made elsewhere, instead of texts
    min_length, max_length    letters (code points) of a word; others are dropped
    strip       markup that is removed first, of `KINDS`
    earlier     words end at marks, as in the first corpora, which say nothing of how they were cut
    owner       the file that these settings were read from, if any

    Raises UsageError for settings that cannot be honoured.
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
        ways = {"pattern": "token-pattern", "function": "tokenizer", "field": "tokens"}
        given = [option for name, option in ways.items() if getattr(self, name) is not None]
        given += ["allow"] if self.allow else []
        if len(given) > 1:
            raise UsageError(f"--{given[0]} and --{given[1]} exclude each other: give one.")
        if self.field is not None and self.strip:
            raise UsageError("--tokens are words already: --strip goes with text.")
        _check_known("allow", self.allow, ALLOWED)
        _check_known("strip", self.strip, KINDS)
        if self.function is not None and not _FUNCTION.fullmatch(self.function):
            raise UsageError(f"--tokenizer {shown(self.function)}: give MODULE:FUNCTION.")
        if self.pattern is not None:
            _compiled(self.pattern)
        by_letters = not given or given == ["allow"]
        least, most = _LETTERS if by_letters else (1, _MOST)
        for name, default in {"min_length": least, "max_length": most}.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, default)
        if not 1 <= self.min_length <= self.max_length <= _MOST:  # type: ignore[operator]
            raise UsageError(
                f"--min-length {self.min_length}, --max-length {self.max_length}: words have"
                f" 1 to {_MOST} letters, and the one is at most the other."
            )

    @classmethod
    def asked(cls, allow: str | None = None, strip: str | None = None, **options: Any) -> Tokenizer:
        """From options; ``allow`` and ``strip`` are lists with commas."""
        return cls(_listed(allow), strip=_listed(strip), **options)

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
        return Tokenizer(field=field, function=function, strip=() if field else self.strip)

    def load(self) -> None:
        """Imports what it needs. UsageError when that cannot be, or is a function that only a file
        asks for, which may be anybody's."""
        if self.function is not None and self.owner is not None:
            raise UsageError(
                f"{self.owner} says that words are cut by {self.function}, which is run only when"
                f" you ask for it: add --tokenizer {self.function}, or give words by --tokens."
            )
        _cutter(self)

    def __call__(self, text: str) -> list[str]:
        if self.strip:
            text = strip_markup(text, self.strip)
        least, most = self.min_length, self.max_length
        return [word for word in _cutter(self)(text) if least <= len(word) <= most]  # type: ignore[operator]


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


def normal(text: str) -> str:
    """Lower case, composed, without what is not seen."""
    if text.isascii():
        return text.lower()
    text = _INVISIBLE.sub("", text)
    if any(joiner in text for joiner in _JOINERS):
        text = _IDLE_JOINERS.sub("", text)
    text = normalize("NFC", text.lower())
    if "i\u0307" in text:  # what becomes of İ
        text = normalize("NFC", text.replace("i\u0307", "i"))
    return text


@cache
def _cutter(tokenizer: Tokenizer) -> Callable[[str], Iterable[str]]:
    if tokenizer.earlier:
        return lambda text: _EARLIER.findall(text.lower())
    if tokenizer.field is not None:
        return lambda text: filter(None, map(_clean, text.split()))
    if tokenizer.function is not None:
        return _by_function(tokenizer.function)
    if tokenizer.pattern is not None:
        return _by_pattern(tokenizer.pattern)
    return _by_letters(tokenizer.allow)


def _by_letters(allow: tuple[str, ...]) -> Callable[[str], Iterable[str]]:
    letters = r"\p{L}\p{N}" if "digits" in allow else r"\p{L}"
    between = ("-" if "hyphens" in allow else "") + ("'" if "apostrophes" in allow else "")
    joined = rf"[{_JOINERS}]+[{letters}\p{{M}}]+"
    if between:
        joined = rf"(?:{joined}|[{between}][{letters}][{letters}\p{{M}}]*)"
    find = regex.compile(rf"[{letters}][{letters}\p{{M}}]*(?:{joined})*").findall
    if not allow:
        return lambda text: find(normal(text))

    def cut(text: str) -> Iterable[str]:
        text = _APOSTROPHES.sub("'", _HYPHENS.sub("-", normal(text)))
        return filter(_HAS_LETTER.search, find(text))

    return cut


_HAS_LETTER = regex.compile(r"\p{L}")


def _by_pattern(pattern: str) -> Callable[[str], Iterable[str]]:
    find = _compiled(pattern).findall

    def cut(text: str) -> Iterable[str]:
        patience = _PATIENCE[0] + _PATIENCE[1] * len(text)
        try:
            found = find(normal(text), timeout=patience)
        except TimeoutError:
            raise CutError(
                f"the pattern {shown(pattern)} finds no end within {patience:.0f} seconds; write"
                " one that is not ambiguous, as (a+)+ is"
            ) from None
        return filter(None, map(_clean, found))

    return cut


@cache
def _compiled(pattern: str) -> regex.Pattern[str]:
    try:
        compiled = regex.compile(pattern)
    except regex.error as error:
        raise UsageError(f"--token-pattern {shown(pattern)}: {error}.") from None
    except (RecursionError, OverflowError, MemoryError):
        raise UsageError(f"--token-pattern {shown(pattern)}: too deep or large.") from None
    if compiled.groups > 1:
        raise UsageError(
            f"--token-pattern {shown(pattern)}: it has {compiled.groups} groups; give one for what"
            " is the word, and write others as (?:…)."
        )
    return compiled


def _by_function(name: str) -> Callable[[str], Iterable[str]]:
    function = _imported(name)

    def cut(text: str) -> Iterable[str]:
        try:
            with redirect_stdout(sys.stderr):  # stdout carries our data
                words = function(text)
            words = words if isinstance(words, str) else list(words)
        except (Exception, SystemExit) as error:
            raise CutError(f"the tokenizer {name} failed ({_reason(error)})") from error
        if isinstance(words, str) or not all(isinstance(word, str) for word in words):
            raise CutError(f"the tokenizer {name} must return a list of words")
        return filter(None, map(_clean, words))

    return cut


def _imported(name: str) -> Callable[[str], Any]:
    """The function of MODULE:FUNCTION; modules may lie in the current folder."""
    module, _, path = name.partition(":")
    if os.getcwd() not in sys.path:  # noqa: PTH109
        sys.path.append(str(Path.cwd()))
    try:
        with redirect_stdout(sys.stderr):
            found: Any = importlib.import_module(module)
    except (Exception, SystemExit) as error:
        raise UsageError(
            f"--tokenizer {name}: the module {module} cannot be imported ({_reason(error)}); name"
            " one that is installed, or lies in the current folder."
        ) from error
    for part in path.split("."):
        if not hasattr(found, part):
            where = getattr(found, "__file__", None) or module
            close = get_close_matches(part, dir(found), 1)
            hint = f"did you mean {close[0]}?" if close else "check the name."
            raise UsageError(f"--tokenizer {name}: {where} has no {part}; {hint}")
        found = getattr(found, part)
    if not callable(found):
        raise UsageError(f"--tokenizer {name}: not a function ({type(found).__name__}).")
    return found


def _reason(error: BaseException) -> str:
    """An error of somebody's code, in one line."""
    reason = " ".join(_UNSHOWN.sub(" ", f"{type(error).__name__}: {error}").split()).rstrip(":")
    return reason if len(reason) <= 200 else f"{reason[:199]}…"


def _clean(word: str) -> str:
    """A word that was made elsewhere, as it can stand on a line of its own: composed, spaces within
    as ``_``, without control characters."""
    if word.isascii() and word.isprintable() and " " not in word:
        return word
    return normalize("NFC", _UNSHOWN.sub("", "_".join(word.split())))


def _listed(text: str | None) -> tuple[str, ...]:
    """The names in a list with commas."""
    return () if text is None else _names(text.split(","))
