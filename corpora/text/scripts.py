"""Scripts that put no spaces between words: noticed where the default pattern cannot cut them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import regex


class _Script(NamedTuple):
    """Letters of a script, the mean length that its words do not reach when they are cut, and what
    cuts them."""

    letters: str
    longest: float
    cutters: str


_SCRIPTS = {
    "Chinese or Japanese": _Script(
        r"\p{Han}\p{Hiragana}\p{Katakana}ー",
        4,
        "jieba for Chinese, SudachiPy or MeCab for Japanese",
    ),
    "Thai": _Script(r"\p{Thai}", 9, "pythainlp"),
    "Lao": _Script(r"\p{Lao}", 9, "laonlp"),
    "Khmer": _Script(r"\p{Khmer}", 9, "khmer-nltk"),
    "Burmese": _Script(r"\p{Myanmar}", 9, "PyICU"),
    "Tibetan": _Script(r"\p{Tibetan}", 0, "botok"),  # always: what is found are syllables
}
_SHARE = 0.05  # of all letters, from which it matters
_WORD = regex.compile(r"\p{L}[\p{L}\p{M}]*")
_RUNS = regex.compile(
    "|".join(rf"([{script.letters}][{script.letters}\p{{M}}]*)" for script in _SCRIPTS.values())
)


def letters_of(texts: Iterable[str]) -> Counter[str]:
    """Letters of some texts under "letters"; of each script without spaces, letters under its name,
    and under ``NAME words`` what stands there as one word."""
    found: Counter[str] = Counter()
    for text in texts:
        found["letters"] += sum(map(len, _WORD.findall(text)))
        if not text.isascii():
            for match in _RUNS.finditer(text):
                name = _NAMES[match.lastindex - 1]
                found[name] += len(match[0])
                found[f"{name} words"] += 1
    return found


_NAMES = tuple(_SCRIPTS)


def uncut(found: Mapping[str, int]) -> dict[str, float]:
    """Of what `letters_of` found, the share of letters of each script that is read in whole
    clauses."""
    shares = {}
    for name, script in _SCRIPTS.items():
        share = found.get(name, 0) / max(1, found.get("letters", 0))
        if share >= _SHARE and found[name] > script.longest * found[f"{name} words"]:
            shares[name] = round(share, 3)
    return shares


def advice(shares: Mapping[str, Any]) -> str:
    """A sentence for the scripts of `uncut`."""
    told = " and ".join(f"{share:.0%} are {name}" for name, share in shares.items())
    cutters = "; ".join(_SCRIPTS[name].cutters for name in shares if name in _SCRIPTS)
    return (
        f"of the letters {told}, written without spaces, and whole clauses were read as words; cut"
        f" the text into words first ({cutters}) by --tokenizer or --tokens, as docs/corpora.md"
        " shows"
    )
