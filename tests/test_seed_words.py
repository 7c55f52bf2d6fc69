"""Seeds as they are written, and found in a vocabulary."""

import json
import os
import time
from pathlib import Path

import numpy as np
import pytest

from topicmc.errors import DataError, UsageError
from topicmc.models.lda.priors.seed_files import read_seeds
from topicmc.models.lda.priors.seed_settings import checked_seeds
from topicmc.models.lda.priors.seeds import found_in

VOCABULARY = [
    "match",
    "team",
    "teams",
    "game",
    "economy",
    "economic",
    "economist",
    "new_york",
    "café",
    "Apple",
    "apple",
]
SEEDS = {"sport": {"match": 1.0, "team": 20.0}, "money": {"econom*": 1.0}}
TOML = 'sport = {match = 1, team = 20}\nmoney = ["econom*"]\n'
JSON = json.dumps({"sport": {"match": None, "team": 20}, "money": ["econom*"]})
PAIRS = 'money = ["econom*"]\nsport = ["match", ["team", 20]]'
CSV = "topic,word,weight\nsport,match,\nmoney,econom*,\nsport,team,20\n"


@pytest.mark.parametrize(("name", "text"), [("a.toml", TOML), ("a.JSON", JSON), ("a.csv", CSV)])
def test_files_of_every_kind_say_the_same(tmp_path, name, text):
    (tmp_path / name).write_text("\ufeff" + text, encoding="utf-8")
    assert read_seeds(tmp_path / name) == SEEDS
    assert list(read_seeds(tmp_path / name)) == ["sport", "money"]


def test_a_word_of_a_list_may_have_a_weight(tmp_path):
    (tmp_path / "a.toml").write_text(PAIRS)
    assert read_seeds(tmp_path / "a.toml") == SEEDS


BROKEN = {
    "a.txt": ("", "named .toml, .json or .csv"),
    "gone.toml": (None, "no such file"),
    "a.toml": ("a = [1]\nsport = \nb = 3", "cannot be read as TOML .*line 2"),
    "b.toml": ("", "holds no topics"),
    "c.toml": ('sport = "match"', "the words of topic sport are of type str, not list"),
    "d.toml": ("sport = []", "topic sport has no words"),
    "e.toml": ("sport = [1]", "1 is no word"),
    "f.toml": ('sport = {match = "x"}', "the weight x is no number above 0"),
    "g.toml": ("sport = {match = 0}", "the weight 0 is no number above 0"),
    "h.toml": ("sport = {match = nan}", "the weight nan is no number"),
    "i.toml": ("sport = {match = true}", "the weight True is no number"),
    "j.toml": ('sport = ["*"]', "names no word; write for example econom"),
    "m.toml": ('sport = ["match", "match"]', "topic sport: match comes twice"),
    "n.toml": ('sport = [["match", 2, 3]]', "is no word; give"),
    "p.toml": (f"sport = {{match = 1{400 * '0'}}}", "is no number above 0"),
    "o.toml": ("sport = {match = 1e300}", "is no number above 0 and up to 1,000,000; give how"),
    "k.toml": ('" a" = ["match"]', "empty or has blanks at an end"),
    "l.toml": ('"a\\u0007" = ["match"]', "cannot be printed"),
    "a.json": ("[1, 2]", "holds no topics"),
    "b.json": ('{"a": ["x"], "a": ["y"]}', "cannot be read as JSON .a comes twice"),
    "c.json": ("[" * 100_000, "cannot be read as JSON"),
    "a.csv": ("sport,match\n", "names its columns: topic,word"),
    "b.csv": ("topic,word\nsport,\n", "row 2: has no topic or no word"),
    "c.csv": ("topic,word\nsport,match\nsport,match\n", "row 3: match comes twice"),
    "d.csv": ("topic,word,weight\nsport,match,much\n", "row 2: the weight much is no number"),
    "e.csv": ("topic,word,weight\nsport,match,-3\n", "is no number above 0"),
    "f.csv": ("topic,word\n", "holds no topics"),
    "g.csv": ("topic,word\nsport,match,team\n", "row 2 has 3 cells, and the first line 2"),
    "h.csv": ("topic,word,word\nsport,match,team\n", "names its columns: topic,word"),
    "i.csv": ("topic,word,weight\nsport,match,1_0\n", "the weight '1_0' is no number"),
    "63": ("", "named .toml, .json or .csv"),  # as the shell names what it gives
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_of_anything_else_is_refused_in_a_sentence(tmp_path, name):
    text, told = BROKEN[name]
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=told) as error:
        read_seeds(tmp_path / name)
    assert str(error.value).startswith(f"--seeds {tmp_path / name}: ") and "\n" not in str(
        error.value
    )


def test_a_number_is_taken_for_that_of_chance():
    with pytest.raises(DataError, match="the number that decides chance is --seed 3"):
        read_seeds(Path("3"))


def test_a_file_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "a.toml").mkdir()
    os.mkfifo(tmp_path / "a.json")
    told = {"a.csv": "is no text in UTF-8", "a.toml": "is a folder", "a.json": "is a pipe"}
    for name, sentence in told.items():
        with pytest.raises(DataError, match=sentence):
            read_seeds(tmp_path / name)


@pytest.mark.parametrize("seeds", [None, [], 3, {}, {1: ["a"]}, {"a": 3}, {"a": None}, {"a": {}}])
def test_seeds_from_python_are_checked_too(seeds):
    with pytest.raises(UsageError, match="--seeds"):
        checked_seeds(seeds)


def found(**seeds):
    return found_in(checked_seeds(seeds), VOCABULARY)


def test_words_are_found_as_they_are_spelled_or_folded():
    """A decomposed é, capitals, blanks in a phrase; Apple is not apple where both are words."""
    weights = found(a=["CAFE\u0301", "New York", "Apple", "APPLE", " match "]).weights[0]
    assert [VOCABULARY[w] for w in weights] == ["café", "new_york", "Apple", "apple", "match"]


def test_patterns_stand_for_words_and_named_words_outweigh_them():
    seeds = found(money={"economist": 5.0, "econom*": None, "*eam*": 2.0}, other=["econom*"])
    names = {VOCABULARY[w]: weight for w, weight in seeds.weights[0].items()}
    assert names == {"economy": 1.0, "economic": 1.0, "economist": 5.0, "team": 2.0, "teams": 2.0}
    assert len(seeds.weights[1]) == 3
    with pytest.raises(UsageError, match=r"e\.onomy"):
        found(a=["e.onomy"])  # no expression but *
    began = time.process_time()
    many = checked_seeds({"a": ["*".join(9 * "a") + "b"]})
    assert not found_in(many, ["a" * 40], lenient=True).weights[0]
    assert time.process_time() - began < 1  # and not 40! / (9! 31!) trials


def test_weights_are_multiples_of_tokens():
    additions = found(sport={"match": None, "team": 20}, game=["match", "game"]).additions(11, 4, 7)
    expected = np.zeros((11, 4))
    expected[0, :2], expected[1, 0], expected[3, 1] = 7, 140, 7
    np.testing.assert_array_equal(additions.of(np.arange(11)), expected)


def test_unknown_words_are_told_with_the_nearest():
    told = found(sport=["match", "temas"], money=["economy", "zzz", "gamme"]).remark()
    assert told.startswith("3 seed words are not in the vocabulary and left out: ")
    assert "temas (sport; nearest: teams)" in told and "zzz (money)," in told
    assert found(sport=["match"]).remark() is None
    assert found(sport=["match", "x"]).remark().startswith("1 seed word is not")


def test_a_topic_of_unknown_words_is_an_error_with_the_nearest():
    told = r"no seed word of topic money is in the vocabulary: ecomony \(money; nearest: economy\)"
    with pytest.raises(UsageError, match=told):
        found(sport=["match"], money=["ecomony"])
