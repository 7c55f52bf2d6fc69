"""HTML and LaTeX: removed where they are, and nothing else."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topicmc.corpora.text import markup
from topicmc.corpora.text.markup import KINDS, looks_like, strip_markup


def words(text, *kinds):
    return strip_markup(text, kinds or KINDS).split()


def test_html_is_removed():
    text = "<p>Hi <b>w</b>ord H<sub>2</sub>O &amp; caf&eacute;<br>new</p><script>evil</script><i>x"
    assert words(text) == ["Hi", "word", "H2O", "&", "café", "new", "x"]
    assert words("<jats:p>Text<mml:math>x</mml:math></jats:p>") == ["Text", "x"]
    assert words("if n<m then <em>stop</em>") == ["if", "n<m", "then", "stop"]
    assert words("a<!-- gone --> b</p>c\ud800") == ["a", "b", "c?"]


def test_latex_is_removed():
    text = (
        r"The $\alpha$-stable \emph{laws} of caf\'e \cite{smith} by \citep[see][p. 3]{jones}, 50%"
        r" of \textbf{them} \begin{equation}a=b\end{equation} \href{http://a.b}{link} % no"
    )
    told = ["The", "-stable", "laws", "of", "café", "by", ",", "50%", "of", "them", "link"]
    assert words(text) == told
    assert words(r"costs $5 and \emph{more}") == ["costs", "$5", "and", "more"]


@pytest.mark.parametrize(
    "text",
    [
        *("a < b and c > d", "AT&T; R&D", "n<m", r"C:\Users\name", "costs $5 or $6", "50 % of a_b"),
        *("<3", "a\x00b", ""),
    ],
)
def test_other_text_stays_as_it_is(text):
    assert strip_markup(text, KINDS) == text
    assert not any(looks_like(kind, text) for kind in KINDS)


def test_only_what_is_asked_for_is_removed():
    both = r"<p>a</p> \emph{b}"
    assert words(both, "html") == ["a", r"\emph{b}"]
    assert words(both, "latex") == ["<p>a</p>", "b"]


def test_formulas_of_several_lines_are_cut_out_where_latex_is_broken(monkeypatch):
    monkeypatch.setattr(markup, "_latex", lambda: 1 / 0)
    assert words(r"so \[ x \\[2pt] y \] and \( a \\(b) c \) or \\[2pt] word \[ z \]", "latex") == [
        "so", "and", "or", "[2pt]", "word",
    ]  # fmt: skip


HOSTILE = {
    "nested": "<div>" * 100_000 + "word" + "</p>",
    "unclosed": "<a<a" * 100_000 + "</p> word",
    "comments": "</p> word " + "<!-" * 100_000,
    "attributes": "<a " + "x " * 100_000 + "></p> word",
    "entities": "&amp" * 100_000 + "</p> word",
    "braces": r"\emph{" * 50_000 + "word",
    "environments": r"\begin{a}" * 20_000 + " word",
    "dollars": "$" * 20_001 + r"\emph{ } word",
    "lines": r"\[ " + r"\\[" * 50_000 + r"\emph{ word",
    "displays": r"\[" * 50_000 + r"\emph{ word",
    "brackets": r"\(" * 50_000 + r"\emph{ word",
    "formulas": "$" + "^" * 20_000 + r"\emph{ word",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_markup_is_read_to_the_end(text):
    began = time.process_time()
    found = strip_markup(text, KINDS)
    assert "word" in found
    assert time.process_time() - began < 20


PIECES = (
    r"< </ > !-- --> p script a = ' & # x41 ; \0 { } $ \ begin{x} end{x} % [ ] emph verb | frac ^ _"
    r" <table> <select> <svg> <![CDATA[ \[ \( é"
)
pieces = st.sampled_from(PIECES.split())


@given(st.lists(pieces | st.text(st.characters(codec=None), max_size=3), max_size=40))
@settings(max_examples=300)
def test_any_text_has_an_answer(parts):
    assert isinstance(strip_markup("".join(parts) + r"</p>\emph{", KINDS), str)
