"""Ways to cut a text into words: by letters, by a pattern, by a function that is given."""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any
from unicodedata import normalize

import regex

from topicmc.corpora.patience import seconds_for
from topicmc.errors import DataError, UsageError
from topicmc.storage.fields import UNSHOWN, quoted

Cut = Callable[[str], Iterable[str]]

# What shows nothing and parts no words: soft hyphens, Arabic tatweel, marks of direction, variation
# selectors.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u0640\u061c\u180e\u200e\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]"
)
_JOINERS = "\u200c\u200d"
_IDLE_JOINERS = re.compile(f"(?<![\u0600-\U0010ffff])[{_JOINERS}]+")  # before the Arabic script
_HYPHENS = re.compile("[\u2010\u2011]")
_APOSTROPHES = re.compile("[\u2019\uff07]")


class CutError(DataError):
    """A document whose words cannot be told; ``number`` is its place in its batch, from 1."""

    number = 0


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


def by_letters(allow: tuple[str, ...]) -> Cut:
    """Into runs of letters, and of what is allowed in them besides: digits, hyphens,
    apostrophes."""
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


def by_pattern(pattern: str) -> Cut:
    """Into what a pattern finds, or its group. UsageError when it is none; the cut raises CutError
    where the pattern comes to no end."""
    find = compiled(pattern).findall

    def cut(text: str) -> Iterable[str]:
        seconds = seconds_for(text)
        try:
            found = find(normal(text), timeout=seconds)
        except TimeoutError:
            raise CutError(
                f"the pattern {quoted(pattern)} finds no end within {seconds:.0f} seconds; write"
                " one that is not ambiguous, as (a+)+ is"
            ) from None
        return filter(None, map(clean, found))

    return cut


@cache
def compiled(pattern: str) -> regex.Pattern[str]:
    """A pattern of one group at most; UsageError when it is none."""
    try:
        found = regex.compile(pattern)
    except (regex.error, ValueError) as error:
        raise UsageError(f"--token-pattern {quoted(pattern)}: {error}") from None
    except (RecursionError, OverflowError, MemoryError):
        raise UsageError(f"--token-pattern {quoted(pattern)}: too deep or large") from None
    if found.groups > 1:
        raise UsageError(
            f"--token-pattern {quoted(pattern)}: it has {found.groups} groups; give one for what"
            " is the word, and write others as (?:…)"
        )
    return found


def by_function(name: str) -> Cut:
    """Into what MODULE:FUNCTION returns of a text. UsageError when it cannot be imported; the cut
    raises CutError where it fails, or returns no words."""
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
        return filter(None, map(clean, words))

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
            " one that is installed, or lies in the current folder"
        ) from error
    for part in path.split("."):
        if not hasattr(found, part):
            where = getattr(found, "__file__", None) or module
            close = get_close_matches(part, dir(found), 1)
            hint = f"did you mean {close[0]}?" if close else "check the name"
            raise UsageError(f"--tokenizer {name}: {where} has no {part}; {hint}")
        found = getattr(found, part)
    if not callable(found):
        raise UsageError(f"--tokenizer {name}: not a function ({type(found).__name__})")
    return found


def _reason(error: BaseException) -> str:
    """An error of the function, in one line."""
    reason = " ".join(UNSHOWN.sub(" ", f"{type(error).__name__}: {error}").split()).rstrip(":")
    return reason if len(reason) <= 200 else f"{reason[:199]}…"


def clean(word: str) -> str:
    """A word that was made elsewhere, as it can stand on a line of its own: composed, spaces within
    as ``_``, without control characters."""
    if word.isascii() and word.isprintable() and " " not in word:
        return word
    return normalize("NFC", UNSHOWN.sub("", "_".join(word.split())))
