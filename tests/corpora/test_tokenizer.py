"""Words of every script: what stays whole, what is chosen, and what is refused."""

import pickle
import signal
import unicodedata
from functools import partial
from pathlib import Path

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from topicmc.corpora import patience
from topicmc.corpora.text.cutting import CutError, normal
from topicmc.corpora.text.scripts import letters_of, uncut
from topicmc.corpora.text.stopwords import LANGUAGES, stop_words
from topicmc.corpora.text.tokenizer import EARLIER, Tokenizer
from topicmc.errors import DataError, UsageError

default = Tokenizer()


@pytest.mark.parametrize(
    "words",
    [
        "हिन्दी भाषा विश्वविद्यालय",
        "العربيّة لغة",
        "и́стина мирa",
        "café naïve",
        "größe straße ärzte",
        "தமிழ் மொழி",
        "tiếng việt",
        "한국어 문장",
        "עִבְרִית שפה",
        "می‌خواهم",  # a joiner that Persian needs
        "র‍্যাব",
    ],
)
def test_words_of_scripts_with_marks_stay_whole(words):
    for form in ("NFC", "NFD"):
        given = unicodedata.normalize(form, words)
        assert default(given) == [normal(word) for word in words.split()]


def test_what_is_not_seen_joins_no_words_and_parts_none():
    assert default("Donau\u00addampf عـــربي \u200fعربي\u200e \u202eabc\u202c foo\u200cbar") == [
        *("donaudampf", "عربي", "عربي", "abc", "foobar")
    ]
    assert default("one\u200btwo x\ud800yz 👩‍👩‍👧 word\u0301\ufe0f \u0301start") == [
        *("one", "two", "yz", "word\u0301", "start")
    ]
    assert default("İstanbul I\u0307zmir iğne") == ["istanbul", "izmir", "iğne"]
    assert default("m² word¹ H₂O x̂ ①") == ["word", "x̂"]
    assert default("a" * 40 + " " + "b" * 41 + " c") == ["a" * 40]


def test_words_of_plain_text_are_those_of_earlier_versions():
    ascii_text = "Don't: H2O, gpt-4 e_mail 1984 x " + "".join(map(chr, range(128))) + "z" * 41
    assert default(ascii_text) == EARLIER(ascii_text)
    assert EARLIER("Naïve हिन्दी и́стина") == ["naïve", "стина"]


anything = st.text(
    st.characters(codec=None)
    | st.sampled_from("aéß ıİΣ-'’1²\u0301\u200c\u200dक\u094d\u0640عा\u00ad\ud800\x00\n")
)


@given(anything, st.sampled_from([(), ("digits",), ("digits", "hyphens", "apostrophes")]))
@settings(max_examples=300)
def test_words_are_composed_and_begin_with_no_mark(text, allow):
    tokenizer = Tokenizer(allow, min_length=1)
    words = tokenizer(text)
    composed, decomposed = (unicodedata.normalize(form, text) for form in ("NFC", "NFD"))
    assert words == tokenizer(composed) == tokenizer(decomposed)
    for word in words:
        assert unicodedata.is_normalized("NFC", word) and word == normal(word)
        assert not regex.match(r"\p{M}", word) and regex.search(r"\p{L}", word)
        assert not regex.search(r"[\s\p{Cc}\p{Cs}]", word)
        assert tokenizer(word) == [word]


@given(st.lists(anything))
@settings(max_examples=100)
def test_words_from_elsewhere_can_stand_on_lines(words):
    for word in Tokenizer(field="words")(" ".join("_".join(w.split()) for w in words)):
        assert word and word.split() == [word] and word.encode() and "\x00" not in word


def test_allowed_characters():
    text = "COVID19 gpt-4 H2O 5G e-mail n95 1984 2019-nCoV don’t 12-3 x--y l'eau state‐of-the-art"
    assert Tokenizer(("digits",))(text)[:4] == ["covid19", "gpt", "h2o", "5g"]
    assert Tokenizer(("digits", "hyphens"))(text) == [
        *("covid19", "gpt-4", "h2o", "5g", "e-mail", "n95", "2019-ncov", "don", "eau"),
        "state-of-the-art",
    ]
    assert Tokenizer(("apostrophes",))("don’t п'ять 'quoted' rock'n'roll") == [
        *("don't", "п'ять", "quoted", "rock'n'roll")
    ]
    assert Tokenizer(("digits",))("1" * 100_000) == []


def test_patterns():
    assert Tokenizer(pattern=r"\S+")("a 1, B\n") == ["a", "1,", "b"]
    assert Tokenizer(pattern=r"#(\w+)")("#one two #three") == ["one", "three"]
    assert Tokenizer(pattern=r"[^,]+", min_length=3)("new york,x,\x00ok ay") == [
        "new_york",
        "ok_ay",
    ]
    for pattern, told in {
        "(ab": "position 3",
        "(a)(b)": "2 groups",
        "(" * 5000: "too deep",
        r"(?a)(?u)\w+": "mutually incompatible",
    }.items():
        with pytest.raises(UsageError, match=told):
            Tokenizer(pattern=pattern)


def test_a_pattern_that_finds_no_end_is_given_up(monkeypatch):
    monkeypatch.setattr(patience, "_SECONDS", (0.2, 0))
    with pytest.raises(CutError, match="no end within"):
        Tokenizer(pattern="(?:x|xx)+(?<=z)")("x" * 60)


def test_markup_that_finds_no_end_is_given_up(monkeypatch):
    def forever(text, kinds):
        while True:
            pass

    monkeypatch.setattr(patience, "_SECONDS", (0.02, 0))
    monkeypatch.setattr("topicmc.corpora.text.tokenizer.strip_markup", forever)
    with pytest.raises(CutError, match="its markup is not removed within 0 seconds"):
        Tokenizer(strip=("latex",))("word")


def test_patience_leaves_timers_and_handlers_as_they_were():
    """Also those of one around it."""
    timer = partial(signal.getitimer, signal.ITIMER_VIRTUAL)
    before = signal.getsignal(signal.SIGVTALRM), timer()
    with patience.patience(100):
        with pytest.raises(patience.OutOfPatience), patience.patience(0.05):
            while True:
                pass
        assert 90 < timer()[0] < 101
    assert (signal.getsignal(signal.SIGVTALRM), timer()) == before


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"allow": ("digit",)}, "did you mean digits"),
        ({"strip": ("tex",)}, "html, latex"),
        ({"allow": ("digits",), "pattern": "x"}, "exclude each other"),
        ({"function": "a:b", "field": "c"}, "exclude each other"),
        ({"function": "nocolon"}, "MODULE:FUNCTION"),
        ({"field": "c", "strip": ("html",)}, "--strip"),
        ({"min_length": 0}, "1 to 200"),
        ({"min_length": 41}, "at most"),
    ],
)
def test_settings_that_cannot_be(options, told):
    with pytest.raises(UsageError, match=told):
        Tokenizer(**options)


MADE = """
def words(text): return text.split()
def text(text): return text
def numbers(text): return [1]
def fails(text): raise KeyError("two\\nlines")
def leaves(text): raise SystemExit
count = 3
"""


def test_functions(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("made_here.py").write_text(MADE)
    Path("broken_here.py").write_text("import no_such_module")
    assert Tokenizer(function="made_here:words")("Two  wörds x") == ["Two", "wörds", "x"]
    for name, told in {
        "made_here:word": "did you mean words",
        "made_here:count": "not a function",
        "no_such_module:words": "cannot be imported",
        "broken_here:words": "No module named 'no_such_module'",
    }.items():
        with pytest.raises(UsageError, match=told):
            Tokenizer(function=name).load()
    for name, told in {
        "text": "must return a list",
        "numbers": "must return a list",
        "fails": "KeyError",
        "leaves": "SystemExit",
    }.items():
        with pytest.raises(CutError, match=told) as caught:
            Tokenizer(function=f"made_here:{name}")("text")
        assert "\n" not in str(caught.value)


def test_settings_are_kept_and_read_back():
    for made in (
        default,
        Tokenizer(("digits",), strip=("html",), min_length=3),
        Tokenizer(pattern=r"\S+"),
        Tokenizer(field="words"),
    ):
        kept = {"tokenizer": made.as_dict()}
        read = Tokenizer.read(Path("corpus.json"), kept)
        assert read == made and read.owner == "corpus.json"
        assert pickle.loads(pickle.dumps(made)) == made
    assert Tokenizer.read(Path("x"), {}) == EARLIER
    assert Tokenizer.read(Path("x"), {"tokenizer": None}) == default


@pytest.mark.parametrize(
    "change",
    [
        {"min_length": "2"},
        {"min_length": True},
        {"allow": ["all"]},
        {"allow": [3]},
        {"pattern": "("},
        {"pattern": "(?au)x"},
        {"function": "os system"},
        {"strip": "html"},
        {"field": 3},
    ],
)
def test_settings_that_cannot_be_are_not_read(change):
    with pytest.raises(DataError, match="run.json"):
        Tokenizer.read(Path("run.json"), {"tokenizer": default.as_dict() | change})
    with pytest.raises(DataError, match="run.json"):
        Tokenizer.read(Path("run.json"), {"tokenizer": [1]})


def test_a_function_that_only_a_file_asks_for_is_not_run():
    read = Tokenizer.read(
        Path("run.json"), {"tokenizer": Tokenizer(function="os:system").as_dict()}
    )
    with pytest.raises(UsageError, match="add --tokenizer os:system"):
        read.load()
    read.again(None, "os:getenv").load()


CUT = {  # as segmenters write them, with spaces
    "Chinese or Japanese": "量子 计算 的 基本 原理 影像 分割 機械 学習 は 学ぶ コンピューター",
    "Thai": "การเรียนรู้ ของ เครื่อง เป็น สาขา หนึ่ง ของ ปัญญา ประดิษฐ์",
    "Khmer": "ភាសា ខ្មែរ គឺជា ភាសា កំណើត",
    "Burmese": "မြန်မာ ဘာသာ စကား",
    "Lao": "ພາສາ ລາວ ເປັນ ພາສາ",
}


@pytest.mark.parametrize("script", CUT)
def test_clauses_are_told_from_words(script):
    words = CUT[script]
    assert uncut(letters_of([words])) == {}
    assert uncut(letters_of([words.replace(" ", "")])) == {script: 1.0}
    english = " and so on in English" * 2 * len(words)
    assert uncut(letters_of([words.replace(" ", "") + english])) == {}
    assert uncut(letters_of(["བོད་སྐད་དང་བོད་ཡིག"])).keys() == {"Tibetan"}
    assert uncut(letters_of(["한국어 문장은 띄어쓰기를 한다 हिन्दी भाषा"])) == {}


def test_stop_words_of_languages(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    import stopwordsiso

    assert set(LANGUAGES) == stopwordsiso.langs()
    assert {"und", "für", "daß"} <= stop_words("de") == stop_words("German")
    assert stop_words("en") == stop_words("english")
    assert stop_words("de,en") == stop_words("de") | stop_words("en")
    assert unicodedata.normalize("NFC", "में") in stop_words("hi")
    Path("own, and more.txt").write_text("Cafe\u0301\n\nund\n", encoding="utf-8")
    assert stop_words("own, and more.txt") == {"café", "und"}
    Path("own").write_text("xyz\n")
    assert stop_words("fr,own") == stop_words("fr") | {"xyz"}
    for name, told in {"deu": "mean de?", "germann": "mean german?", "xx": "af, ar"}.items():
        with pytest.raises(UsageError, match=told.replace("?", r"\?")):
            stop_words(name)


def test_another_field_or_function_keeps_the_lengths():
    again = Tokenizer(min_length=3, max_length=7).again("words", None)
    assert (again.field, again.min_length, again.max_length) == ("words", 3, 7)
