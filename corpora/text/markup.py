"""HTML and LaTeX in texts: noticed, and removed when asked for.

A text is only touched where it looks like markup, so that ``a < b`` and ``$5`` stay as they are.
Whatever a text holds, there is an answer: no nesting is too deep.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

# An end tag, a tag without an end, or an entity; a command with an argument, or a formula.
_LOOKS = {
    "html": re.compile(
        r"</[a-z][\w:-]*\s*>|<(?:p|br|hr|img|div)\b[^<>]*>|&(?:[a-z]{2,8}|#\d{1,7}|#x[\da-f]{1,6});",
        re.IGNORECASE,
    ),
    "latex": re.compile(r"\\[A-Za-z]+\*?\{|\$[^$\n]{0,200}[\\^_][^$\n]{0,200}\$|\\[\[(]"),
}
KINDS = tuple(_LOOKS)
_SIGNS = {"html": "<&", "latex": "\\$"}  # one of which there must be

# What is no tag, comment or declaration.
_NO_TAG = re.compile(r"<(?!/?[A-Za-z][^<>]*>|[!?][^<>]*>|!--)")
_UNSEEN = {"script", "style"}
# Tags but those of elements that end no word, as in H<sub>2</sub>O.
_PARTING = re.compile(
    r"<(?=/?[a-z])(?!/?(?:a|abbr|acronym|b|bdo|big|cite|code|del|dfn|em|font|i|ins|kbd|mark|q|s|samp"
    r"|small|span|strike|strong|sub|sup|tt|u|var|wbr)[\s/>])",
    re.IGNORECASE,
)
# Commands whose arguments are no prose, as LaTeX and natbib have them.
_UNREAD = {
    **dict.fromkeys(("cite", "citet", "citep", "citealp", "citeauthor", "citeyear"), "*[[{"),
    **dict.fromkeys(("ref", "eqref", "pageref", "autoref", "cref", "Cref", "label", "url"), "*{"),
    **dict.fromkeys(("bibliography", "bibliographystyle"), "{"),
    "includegraphics": "*[[{",
}
# None holds a mark that another begins by: many of these would each be followed to the end. But
# \\[2pt] and \\( begin none: these end lines.
_FORMULA = re.compile(
    r"\$\$[^$]*\$\$|\$[^$]*\$"
    r"|(?<!\\)\\\[(?:(?!(?<!\\)\\\[).)*?\\\]"
    r"|(?<!\\)\\\((?:(?!(?<!\\)\\\().)*?\\\)",
    re.DOTALL,
)
_DOLLAR = re.compile(r"(?<!\\)\$")
_COMMAND = re.compile(r"\\[A-Za-z]+\*?|[\\{}$~&]")


def looks_like(kind: str, text: str) -> bool:
    """Whether a text looks like markup of a kind, of `KINDS`."""
    return any(sign in text for sign in _SIGNS[kind]) and _LOOKS[kind].search(text) is not None


def strip_markup(text: str, kinds: Sequence[str]) -> str:
    """The text without markup of these kinds, of `KINDS`, where it looks like having any."""
    if "html" in kinds and looks_like("html", text):
        text = _without_html(text)
    if "latex" in kinds and looks_like("latex", text):
        text = _without_latex(text)
    return text


class _Text:
    """Takes the events of lxml's parser and keeps the text."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._unseen = 0

    def start(self, tag: str, attributes: Any) -> None:
        self._unseen += tag in _UNSEEN

    def end(self, tag: str) -> None:
        self._unseen -= tag in _UNSEEN

    def data(self, text: str) -> None:
        if not self._unseen:
            self._parts.append(text)

    def close(self) -> str:
        return "".join(self._parts)


def _without_html(text: str) -> str:
    from lxml import etree

    parser = etree.HTMLParser(target=_Text(), huge_tree=True)
    text = _PARTING.sub(" <", _NO_TAG.sub("&lt;", text))
    parser.feed(text.encode("utf-8", "replace").decode())
    return parser.close()


def _without_latex(text: str) -> str:
    """By pylatexenc; where that gives up, formulas and commands are cut out."""
    text = re.sub(r"(\d\s?)%", r"\1\\%", text)  # per cent, no comment
    if len(_DOLLAR.findall(text)) % 2:
        text = _DOLLAR.sub(r"\\$", text)  # sums of money, no formulas
    try:
        return _latex()(text)
    except Exception:  # RecursionError among others: whatever its parsers meet in broken input
        return _COMMAND.sub(" ", _FORMULA.sub(" ", text))


@cache
def _latex() -> Callable[[str], str]:
    from pylatexenc import latex2text, latexwalker, macrospec

    logging.getLogger("pylatexenc").setLevel(logging.CRITICAL)
    arguments = {**_UNREAD, "href": "{{"}
    grammar = latexwalker.get_default_latex_context_db()
    grammar.add_context_category(
        "topicmc",
        prepend=True,
        macros=[macrospec.MacroSpec(name, spec) for name, spec in arguments.items()],
    )
    texts = latex2text.get_default_latex_context_db()
    texts.add_context_category(
        "topicmc",
        prepend=True,
        macros=[latex2text.MacroTextSpec(name, discard=True) for name in _UNREAD]
        + [latex2text.MacroTextSpec("href", simplify_repl="%(2)s")],
    )
    converter = latex2text.LatexNodes2Text(math_mode="remove", latex_context=texts)
    return partial(converter.latex_to_text, latex_context=grammar, tolerant_parsing=True)
