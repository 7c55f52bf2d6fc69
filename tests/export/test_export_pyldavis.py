"""What pyLDAvis prepares, from its JSON and as a page."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from browser import chromium

from topicmc.export import export

pyldavis = pytest.importorskip("pyLDAvis")
NAMES = ("mdsDat", "tinfo", "token.table", "R", "lambda.step", "plot.opts", "topic.order")


def strict(text: str) -> dict:
    """JSON as browsers read it, without NaN."""
    return json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))


@pytest.fixture(scope="module")
def data(made, tmp_path_factory):
    """The file as the object that pyLDAvis works with."""
    path = tmp_path_factory.mktemp("pyldavis") / "topics.json"
    export(made.source(), "pyldavis", path)
    told = strict(path.read_text(encoding="utf-8"))
    parts = [told[name] for name in NAMES]
    return pyldavis.PreparedData(*map(pd.DataFrame, parts[:3]), *parts[3:])


def test_numbers_and_sizes_are_ours(data, topics):
    assert data.topic_coordinates["topics"].tolist() == [0, 1, 2, 3, 4]
    assert data.topic_order == [0, 1, 2, 3, 4]
    np.testing.assert_allclose(data.topic_coordinates["Freq"] / 100, topics.share, atol=1e-9)


def test_probabilities_are_ours(data, topics):
    place = {word: w for w, word in enumerate(topics.vocabulary)}
    for k in range(5):
        terms = data.sorted_terms(topic=k, _lambda=1)
        words = [place[term] for term in terms["Term"]]
        found = terms["Freq"] / (topics.share[k] * topics.n_tokens)
        np.testing.assert_allclose(found, topics.phi[k, words], atol=1e-9)
        best = np.argsort(-topics.phi[k])[:10]
        assert terms["Term"].tolist()[:10] == [topics.vocabulary[w] for w in best]


def test_pyldavis_makes_a_page_of_it(data):
    assert '"Topic0"' in pyldavis.prepared_data_to_html(data)


class Scripts(HTMLParser):
    """The scripts of a page, and where it loads from."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts: list[str] = []
        self.places: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.append(tag)
        self.places += [value for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data) -> None:
        if data.strip() and self.tags[-1] == "script":
            self.scripts.append(data)


def test_a_page_that_needs_no_network_and_that_no_word_breaks(made, tmp_path):
    export(made.source(), "pyldavis", tmp_path / "topics.HTML")
    page = Scripts()
    page.feed((tmp_path / "topics.HTML").read_text(encoding="utf-8"))
    assert page.tags == ["script", "script", "link", "div", "script"]
    assert [place.split(";")[0] for place in page.places] == [
        "data:text/javascript", "data:text/javascript", "data:text/css",
    ]  # fmt: skip
    (script,) = page.scripts
    told = strict(re.search(r"\{\"mdsDat.*\}(?=\);)", script)[0])
    assert "</script><b>" in told["tinfo"]["Term"]


def test_a_browser_shows_our_numbers_and_words(made, topics, tmp_path):
    export(made.source(), "pyldavis", tmp_path / "topics.html")
    k = int((topics.phi[:, 11] * topics.share).argmax())
    with chromium() as driver:
        driver.get((tmp_path / "topics.html").as_uri())
        told = driver.execute_script(
            """
            const texts = (selector) => [...document.querySelectorAll(selector)].map(
              (element) => element.textContent);
            const numbers = texts("text.txt");
            const circle = document.getElementById(`topics-topic${arguments[0]}`);
            circle.dispatchEvent(new MouseEvent("mouseover"));
            return [numbers, texts("text.bubble-tool"), texts("text.terms")];
            """,
            k,
        )
        severe = [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]
    numbers, (title,), words = told
    assert sorted(numbers) == ["0", "1", "2", "3", "4"]
    assert f"Topic {k} ({100 * topics.share[k]:.1f}% of tokens)" in title
    assert "</script><b>" in words
    assert severe == []


def test_two_topics_one_of_them_empty(even):
    """pyLDAvis divides by sizes, and its own map would need more topics."""
    from dataclasses import replace

    from topicmc.export.pyldavis import prepared_data

    two = replace(even, phi=even.phi[:2], share=np.array([1.0, 0.0]), alpha=even.alpha[:2])
    told = strict(prepared_data(two).to_json())
    assert told["mdsDat"]["Freq"] == pytest.approx([100, 0], abs=1e-6)
