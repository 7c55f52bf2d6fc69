"""Titles and times: each stays with the words of its document, whatever is done to the corpus."""

import csv
import json
import re
import shutil
import tempfile
import tracemalloc
from pathlib import Path
from unittest.mock import patch

import bags
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from topicmc.corpora import Corpus, parallel, prepare, soundness, streams, strings, verify
from topicmc.corpora.documents import Documents, blocks
from topicmc.corpora.dropped import EMPTY
from topicmc.corpora.files import sha256
from topicmc.corpora.making import addition, emission, maintenance, spool
from topicmc.corpora.making.ordering import in_order, random_keys
from topicmc.corpora.metadata import Metadata, clean_title, parse_day
from topicmc.corpora.readers import Tally, jsonl, records
from topicmc.corpora.readers.records import Fields
from topicmc.corpora.strings import Strings
from topicmc.errors import DataError
from topicmc.storage.files import own_checksum

NAT = np.datetime64("NaT")
NAMES = bags.words(60)  # document i holds the word NAMES[i], and no other does
COMMON = ["red", "green", "blue"]

times = st.sampled_from(
    [
        (None, NAT),
        ("", NAT),
        ("31.12.99", NAT),
        ("1999", np.datetime64("1999-01-01")),
        ("2020-05", np.datetime64("2020-05-01")),
        ("2024-02-29", np.datetime64("2024-02-29")),
        ("1789-07-14T23:30:00-05:00", np.datetime64("1789-07-14")),
    ]
)
documents = st.lists(
    st.tuples(st.booleans(), st.text(max_size=12), times), min_size=6, max_size=40
).filter(lambda drawn: sum(has_words for has_words, _, _ in drawn) > 5)


def write_jsonl(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_csv(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["when", "title", "text"])
        writer.writeheader()
        writer.writerows(rows)


def write_parquet(path, rows):
    parquet.write_table(pa.Table.from_pylist(rows), path, row_group_size=5)


WRITERS = {"jsonl": write_jsonl, "csv": write_csv, "parquet": write_parquet}


def rows_of(drawn, first=0):
    return [
        {
            "when": time,
            "title": title,
            "text": f"{NAMES[first + i]} {COMMON[i % 3]}" if has_words else "42 the",
        }
        for i, (has_words, title, (time, _)) in enumerate(drawn)
    ]


def expected(drawn, first=0):
    """By the word that only this document holds: its title and time."""
    return {
        NAMES[first + i]: (clean_title(title), time)
        for i, (has_words, title, (_, time)) in enumerate(drawn)
        if has_words
    }


def found(corpus):
    """The same as the corpus has it, training documents by the public sequences."""
    parts = [corpus.shard(number) for number in range(corpus.n_shards)]
    numbered = [bag for part in parts for bag in bags.read_back(part)]
    assert len(numbered) == corpus.n_docs
    titles = corpus.titles if corpus.titles is not None else [""] * corpus.n_docs
    times = corpus.times if corpus.times is not None else [NAT] * corpus.n_docs
    assert len(titles) == len(times) == corpus.n_docs
    held = corpus.part(corpus.index["heldout"])
    told = list(zip(numbered, titles, times, strict=True))
    for d, bag in enumerate(bags.read_back(held)):
        known = held.metadata
        told.append((bag, known.titles[d] if known else "", known.times[d] if known else NAT))
    words = corpus.vocabulary
    named = {}
    for bag, title, time in told:
        (name,) = {words[i] for i in bag} & set(NAMES)
        named[name] = (title, time)
    return named


def same(one, other):
    """NaT is not equal to itself."""
    return {k: (t, str(d)) for k, (t, d) in one.items()} == {
        k: (t, str(d)) for k, (t, d) in other.items()
    }


@pytest.mark.parametrize("name", list(WRITERS))
@given(
    drawn=documents, n_shards=st.integers(1, 3), n_heldout=st.integers(0, 2), size=st.integers(1, 9)
)
@settings(max_examples=12)
def test_round_trip(name, drawn, n_shards, n_heldout, size):
    """Batches and blocks of a few documents put borders everywhere."""
    with (
        tempfile.TemporaryDirectory() as folder,
        patch.object(records, "_MAX_TEXTS", size),
        patch.object(spool, "_BLOCK_ENTRIES", size),
        patch.object(parallel, "available_cores", lambda: 1),  # no processes for so little
    ):
        source = Path(folder) / f"x.{name}"
        WRITERS[name](source, rows_of(drawn))
        options = {"stopwords": "english", "min_df": 1, "max_df": 1.0}
        options |= {"n_shards": n_shards, "n_heldout": n_heldout}
        corpus = prepare(source, Path(folder) / "a", time="when", **options)
        verify(corpus.path)
        assert same(found(corpus), expected(drawn))
        unread = sum(time == "31.12.99" for _, _, (time, _) in drawn)
        assert corpus.provenance["times_unread"] == unread

        cut = maintenance.reshard(corpus.path, Path(folder) / "b", min(2, corpus.n_docs))
        verify(cut.path)
        assert same(found(cut), expected(drawn))
        plain = prepare(source, Path(folder) / "c", title="none", **options)
        assert (plain.titles, plain.times) == (None, None)
        assert plain.fingerprint == corpus.fingerprint, "runs go on when titles come or go"


FIRST = [(True, f"First {i}", ("2001", np.datetime64("2001-01-01"))) for i in range(12)]
SECOND = [(True, f"Second {i}", ("2002", np.datetime64("2002-01-01"))) for i in range(9)]


def made(folder, name, drawn, first, **options):
    write_jsonl(folder / f"{name}.jsonl", rows_of(drawn, first))
    (folder / "words").write_text("\n".join([*NAMES, *COMMON]))
    options = {"n_shards": 2, "n_heldout": 3, "vocab": folder / "words", "time": "when"} | options
    return prepare(folder / f"{name}.jsonl", folder / name, **options)


def without(drawn, title=True, time=True):
    return [(w, "" if title else t, (None, NAT) if time else d) for w, t, d in drawn]


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    "lacking", [{}, {"title": "none"}, {"time": None}, {"title": "none", "time": None}]
)
def test_merge_of_corpora_that_lack_some(tmp_path, turned, lacking):
    """Turned: other ids, so that shards are written anew and not copied."""
    one = made(tmp_path, "a", FIRST, 0)
    words = tmp_path / "turned"
    words.write_text("\n".join([*COMMON, *NAMES[::-1]] if turned else [*NAMES, *COMMON]))
    two = made(tmp_path, "b", SECOND, 20, vocab=words, **lacking)
    for order in ([one, two], [two, one]):
        merged = maintenance.merge([corpus.path for corpus in order], tmp_path / "c", force=True)
        verify(merged.path)
        rest = without(SECOND, "title" in lacking, "time" in lacking)
        assert same(found(merged), expected(FIRST) | expected(rest, 20))
        again = maintenance.reshard(merged.path, tmp_path / "d", 3, force=True)
        verify(again.path)
        assert same(found(again), found(merged))


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("old", [{}, {"title": "none", "time": None}])
def test_add(tmp_path, in_place, old):
    first = made(tmp_path, "a", FIRST, 0, **old)
    source = tmp_path / "more.jsonl"
    write_jsonl(source, rows_of(SECOND, 20))
    output = None if in_place else tmp_path / "c"
    told = {"title": "title", "time": "when"} if old else {}  # else as in the corpus
    grown = addition.add(first.path, [source], output, n_heldout=2, **told)
    verify(grown.path)
    kept = without(FIRST, bool(old), bool(old))
    assert same(found(grown), expected(kept) | expected(SECOND, 20))


def test_the_order_is_that_of_training(tmp_path):
    corpus = made(tmp_path, "a", FIRST, 0)
    titles, held = list(corpus.titles), corpus.part(corpus.index["heldout"]).metadata
    assert titles == sorted(titles, key=lambda title: int(title.split()[1]))
    assert corpus.titles[-1] == titles[-1] and corpus.titles[np.int64(4)] == titles[4]
    with pytest.raises(IndexError):
        corpus.titles[corpus.n_docs]
    assert {held.titles[d] for d in range(3)} == {t for _, t, _ in FIRST} - set(titles)
    assert corpus.times.dtype == np.dtype("datetime64[D]") and not corpus.times.flags.writeable
    one = maintenance.reshard(corpus.path, tmp_path / "one", 1)
    assert isinstance(one.times.base, np.memmap)
    assert (one.times == corpus.times).all() and list(one.titles) == titles


def test_memory_does_not_grow_with_the_corpus(tmp_path, monkeypatch):
    """Peak at small blocks: four times the documents may add a quarter. Titles kept in memory, of
    140 bytes for each of 3,000 documents more, would double it."""
    line_blocks = streams.line_blocks
    monkeypatch.setattr(streams, "line_blocks", lambda s, _=0: line_blocks(s, 1 << 13))
    monkeypatch.setattr(records, "_MAX_TEXTS", 20)
    monkeypatch.setattr(spool, "_BLOCK_ENTRIES", 1 << 8)
    monkeypatch.setattr(emission, "choose_heldout", lambda *_: np.array([1, 5]))
    monkeypatch.setattr(parallel, "available_cores", lambda: 1)
    (tmp_path / "words").write_text("\n".join(NAMES))
    peaks = []
    for n_docs in (1_000, 1_000, 4_000):
        rows = [
            {"text": NAMES[i % 60], "title": f"{i} " * 35, "when": f"{1900 + i % 100}"}
            for i in range(n_docs)
        ]
        write_jsonl(tmp_path / "x.jsonl", rows)
        del rows
        tracemalloc.start()
        options = {"vocab": tmp_path / "words", "time": "when", "force": True}
        corpus = prepare(tmp_path / "x.jsonl", tmp_path / "out", **options)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert corpus.titles[-1].startswith(f"{n_docs - 1} ") and len(corpus.times) == n_docs - 2
    assert peaks[2] < 1.25 * peaks[1]


def test_blocks_are_bounded_by_what_is_kept_with_documents(tmp_path, monkeypatch):
    """A kilobyte each, of which three make no block of 3,000 bytes."""
    for name in (
        "making.spool._BLOCK_TEXT",
        "documents._BLOCK_TEXT",
        "making.ordering._BUCKET_TEXT",
    ):
        monkeypatch.setattr(f"topicmc.corpora.{name}", 3000)
    monkeypatch.setattr(records, "_MAX_TEXTS", 1)
    monkeypatch.setattr(parallel, "available_cores", lambda: 1)
    plain, read = spool.Spool.blocks, []

    def noted(self, *texts, **named):
        for block in plain(self, *texts, **named):
            read.append(block.documents.metadata.n_bytes)
            yield block

    monkeypatch.setattr(spool.Spool, "blocks", noted)
    (tmp_path / "words").write_text("\n".join(NAMES))
    write_jsonl(tmp_path / "x.jsonl", [{"text": NAMES[0], "note": "x" * 1000}] * 40)
    options = {"vocab": tmp_path / "words", "columns": ["note"], "n_heldout": 0, "n_shards": 1}
    corpus = prepare(tmp_path / "x.jsonl", tmp_path / "out", **options)
    assert read and max(read) <= 3000
    found = [*blocks(corpus.part(corpus.index["shards"][0]))]
    assert [block.n_docs for block in found] == [2] * 20
    found = [*in_order(corpus, random_keys(0))]
    assert len(found) > 5 and sum(block.n_docs for block in found) == 40


def test_corpora_are_checked_a_little_text_at_a_time(tmp_path, monkeypatch):
    """A kilobyte a document, of which four make more than 3,000 bytes."""
    monkeypatch.setattr(strings, "_BYTES", 3000)
    plain, sizes = soundness._check_texts, []

    def noted(part, *files):
        sizes.append(len(part.text))
        plain(part, *files)

    monkeypatch.setattr(soundness, "_check_texts", noted)
    write_jsonl(tmp_path / "x.jsonl", [{"text": "red", "note": "x" * 1000}] * 40)
    options = {"columns": ["note"], "max_df": 1.0, "n_heldout": 0}
    verify(prepare(tmp_path / "x.jsonl", tmp_path / "out", **options).path)
    assert sum(sizes) > 40_000 and max(sizes) < 5000


@pytest.mark.parametrize("name", ["title", "id", "text", "note"])
def test_batches_are_bounded_by_all_that_is_read(tmp_path, monkeypatch, name):
    monkeypatch.setattr(records, "_MAX_LETTERS", 3000)
    row = {"text": "red", "title": "", "id": "1", "note": ""} | {name: "x" * 1500}
    write_jsonl(tmp_path / "x.jsonl", [row] * 12)
    reader = jsonl.JsonLinesReader(tmp_path / "x.jsonl", Fields(id="id", columns=("note",)))
    assert [len(batch.texts) for batch in reader.batches(Tally())] == [2] * 6


@pytest.mark.parametrize("columns", ["note", "all"])
def test_a_text_is_the_name_of_one_column(tmp_path, columns):
    """Not four of a letter."""
    (tmp_path / "words").write_text("\n".join(NAMES))
    write_jsonl(tmp_path / "x.jsonl", [{"text": NAMES[0], "note": "red"}] * 3)
    options = {"vocab": tmp_path / "words", "columns": columns, "n_heldout": 0}
    assert prepare(tmp_path / "x.jsonl", tmp_path / "out", **options).index["columns"] == ["note"]


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("A  plain\n title\t", "A plain title"),
        ("\x1b[31mred\x07\x00", "[31mred"),
        ("a\u202eb\u2066c\ud800d", "a b c d"),
        ("<script>é 漢 👩‍👩‍👧</script>", "<script>é 漢 👩‍👩‍👧</script>"),
        ("x" * 200, "x" * 200),
        ("x" * 201, "x" * 199 + "…"),
        ("x" * 198 + " y z", "x" * 198 + "…"),
        (" \n", ""),
    ],
)
def test_clean_titles(raw, clean):
    assert clean_title(raw) == clean


@given(st.text(st.characters(), max_size=300))
def test_any_title_is_one_short_line_of_utf8(raw):
    title = clean_title(raw)
    assert len(title) <= 200 and title.encode().decode() == title
    assert title.isprintable() or not re.search(r"[\x00-\x1f\x7f-\x9f]", title)
    assert clean_title(title) == title


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("1970", "1970-01-01"),
        ("1999.0", "1999-01-01"),
        ("1999-12", "1999-12-01"),
        (" 1999-12-31 ", "1999-12-31"),
        ("1969-12-31T23:59:59.123Z", "1969-12-31"),
        ("0800-12-25 08:00:00+01:00", "0800-12-25"),
    ],
)
def test_days(text, day):
    assert np.datetime64(parse_day(text), "D") == np.datetime64(day)


@pytest.mark.parametrize(
    "text",
    ["99", "19991", "1999.5", "1999-13", "1999-02-29", "1999-1-1", "31.12.1999", "0000", "now",
     "946684800", "1012123100000", "1999-12-31x", "1999-12-31T", "19991231", "-1999"],
)  # fmt: skip
def test_no_days(text):
    with pytest.raises(ValueError):
        parse_day(text)


def test_parquet_types(tmp_path):
    day = np.array(["1999-12-31", "NaT"], "M8[D]")
    columns = {
        "text": ["waaa", "waab"],
        "title": pa.array([7, None]),
        "date": pa.array(day),
        "stamp": pa.array(day.astype("M8[ns]")),
        "zoned": pa.array(day.astype("M8[us]"), pa.timestamp("us", "Pacific/Auckland")),
        "year": pa.array([1999.0, None]),
        "packed": pa.array(["1999-12-31", None]).dictionary_encode(),
        "list": [[1], [2]],
    }
    parquet.write_table(pa.table(columns), tmp_path / "x.parquet")
    for column in ("date", "stamp", "zoned", "packed", "year"):
        corpus = prepare(tmp_path / "x.parquet", tmp_path / "out", time=column, force=True)
        first = "1999-01-01" if column == "year" else "1999-12-31"
        assert [str(time) for time in corpus.times] == [first, "NaT"], column
        assert list(corpus.titles) == ["7", ""]
    for option in ("title", "time"):
        with pytest.raises(DataError, match=f"'list' holds list.*pass another --{option}"):
            prepare(tmp_path / "x.parquet", tmp_path / "bad", **{option: "list"})
    renamed = {"text": ["waaa"], "title": [[1]]}
    parquet.write_table(pa.table(renamed), tmp_path / "x.parquet")
    assert prepare(tmp_path / "x.parquet", tmp_path / "out", force=True).titles is None


def test_json_titles_that_are_none(tmp_path):
    titles = ["A", None, 7, 1.5, ["x"], {"y": 1}, "lone \ud800 half"]
    rows = [{"text": NAMES[i], "title": title} for i, title in enumerate(titles)]
    write_jsonl(tmp_path / "x.jsonl", [*rows, {"text": NAMES[20]}])
    corpus = prepare(tmp_path / "x.jsonl", tmp_path / "out")
    assert list(corpus.titles) == ["A", "", "7", "1.5", "", "", "lone half", ""]


def test_a_field_may_come_late_but_not_never(tmp_path, monkeypatch):
    monkeypatch.setattr(jsonl, "_LOOK", 3)
    rows = [{"text": NAMES[i]} for i in range(6)]
    rows[2] |= {"name": "Late"}
    write_jsonl(tmp_path / "x.jsonl", rows)
    assert prepare(tmp_path / "x.jsonl", tmp_path / "out", title="name").titles[2] == "Late"
    for wrong in (rows[3:5], [*rows[3:], *rows]):
        write_jsonl(tmp_path / "x.jsonl", wrong)
        with pytest.raises(DataError, match=r"x\.jsonl: no field 'name' .has: text.; .*--title"):
            prepare(tmp_path / "x.jsonl", tmp_path / "bad", title="name")
    assert not (tmp_path / "bad").exists()


@pytest.mark.parametrize("option", ["id", "time", "columns"])
def test_a_field_may_be_missing_in_some_of_the_files(tmp_path, option):
    """As where nulls are left out, and a part has nothing else."""
    sources = [tmp_path / f"{name}.jsonl" for name in "abc"]
    write_jsonl(sources[0], [{"text": NAMES[0], "doi": "1999"}])
    for source in sources[1:]:
        write_jsonl(source, [{"text": NAMES[1]}] * 2)
    asked = {option: ("doi",) if option == "columns" else "doi"}
    for order in (sources, sources[::-1]):
        assert prepare(order, tmp_path / "out", n_heldout=0, force=True, **asked).n_docs == 5
    with pytest.raises(DataError, match=r"c\.jsonl: no field 'doi' .has: text.; pass another --"):
        prepare(sources[1:], tmp_path / "bad", **asked)


def test_files_are_named_by_their_path(tmp_path):
    folder = tmp_path / "texts"
    (folder / "sub").mkdir(parents=True)
    (folder / "b.txt").write_text("waab")
    (folder / "a.txt").write_text("42")
    (folder / "sub" / "ç\x07.txt").write_text("waaa")
    corpus = prepare(folder, tmp_path / "out", n_heldout=0)
    assert list(corpus.titles) == ["b.txt", "sub/ç .txt"]
    assert corpus.times is None
    assert prepare(folder, tmp_path / "out", title="none", force=True).titles is None


PAGE = (
    "<page><title>{title}</title><ns>0</ns><revision><timestamp>{time}</timestamp>"
    "<text>{text}</text></revision></page>"
)


def test_articles_with_stubs_between_them(tmp_path):
    pages = [
        PAGE.format(title=f"No. {i}", time=f"200{i % 10}-05-06T07:08:09Z", text=f"{NAMES[i]} " * n)
        for i, n in enumerate([60, 3, 60, 60, 7, 60])
    ]
    head = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/">'
    (tmp_path / "x.xml").write_text(head + "".join(pages) + "</mediawiki>")
    corpus = prepare(tmp_path / "x.xml", tmp_path / "out", time="timestamp")
    assert same(
        found(corpus),
        {NAMES[i]: (f"No. {i}", np.datetime64(f"200{i}-05-06")) for i in (0, 2, 3, 5)},
    )
    assert prepare(tmp_path / "x.xml", tmp_path / "out", force=True).times is None
    assert prepare(tmp_path / "x.xml", tmp_path / "out", title="none", force=True).titles is None


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    return made(tmp_path_factory.mktemp("sound"), "a", FIRST, 0).path


@pytest.fixture
def corpus(sound, tmp_path):
    shutil.copytree(sound, tmp_path / "corpus")
    return tmp_path / "corpus"


def flip(place):
    def change(raw):
        raw = bytearray(raw)
        raw[int(place * (len(raw) - 1))] ^= 1
        return bytes(raw)

    return change


DAMAGE = {"header": flip(0.1), "body": flip(0.99), "cut": lambda raw: raw[:-2], "gone": None}


@pytest.mark.parametrize("part", ["shards/00001", "heldout"])
@pytest.mark.parametrize("name", ["titles", "title_offsets", "times"])
@pytest.mark.parametrize("damage", list(DAMAGE))
def test_damage_is_found_where_it_matters(corpus, tmp_path, part, name, damage):
    file = corpus / part / f"{name}.npy"
    change = DAMAGE[damage]
    file.write_bytes(change(file.read_bytes())) if change else file.unlink()
    opened = Corpus.open(corpus)
    pattern = rf"{part}/{name}\.npy (was changed|is damaged|is missing)"
    for look in (
        lambda: verify(corpus),
        lambda: maintenance.reshard(corpus, tmp_path / "out", 1),
        lambda: (part == "heldout" and verify(corpus)) or (opened.titles, opened.times),
    ):
        with pytest.raises(DataError, match=pattern):
            look()
    opened.check([0, 1])  # training needs neither
    assert opened.shard(1).n_docs


@pytest.mark.parametrize(
    ("name", "change", "pattern"),
    [
        ("titles", lambda a: a.__setitem__(3, 0xFF), r"titles\.npy .*not UTF-8"),
        ("titles", lambda a: a.__setitem__(slice(6, 8), [0xC3, 0xA9]), r"offsets\.npy .*inside"),
        ("title_offsets", lambda a: a.__setitem__(1, 99), r"title_offsets\.npy .*ends before"),
        ("title_offsets", lambda a: a.__setitem__(-1, 9), r"title_offsets\.npy is damaged"),
        (
            "title_offsets",  # rise, if differences wrap
            lambda a: a.__setitem__(slice(1, 4), [2**63 - 1, -(2**63), -1]),
            r"title_offsets\.npy .*ends before",
        ),
        ("times", lambda a: a.view(np.int64).__setitem__(0, 1 << 62), r"times\.npy .*no day"),
    ],
)
def test_wrong_content_under_right_checksums(corpus, name, change, pattern):
    """Titles of shard 0 begin "First 0First 1": byte 7 is the first of the second."""
    path = corpus / "shards/00000" / f"{name}.npy"
    array = np.load(path)
    change(array)
    np.save(path, array)
    index = json.loads((corpus / "corpus.json").read_text())
    index["shards"][0]["sha256"][name] = sha256(path)
    index["checksum"] = own_checksum(index)
    (corpus / "corpus.json").write_text(json.dumps(index))
    with pytest.raises(DataError, match=pattern):
        verify(corpus)


def test_rows_cannot_be_left_out_for_no_reason(tmp_path):
    """They would come on top of those that corpus.json tells of."""
    write_jsonl(tmp_path / "x.jsonl", [{"text": text} for text in (NAMES[0], "", "")])
    corpus = prepare(tmp_path / "x.jsonl", tmp_path / "out", n_heldout=0).path
    index = json.loads((corpus / "corpus.json").read_text())
    for name, values in {"spans": [2, 1], "reasons": [EMPTY, 9]}.items():
        path = corpus / f"dropped/{name}.npy"
        np.save(path, np.array(values, np.load(path).dtype))
        index["dropped"]["sha256"][name] = sha256(path)
    index["checksum"] = own_checksum(index)
    (corpus / "corpus.json").write_text(json.dumps(index))
    with pytest.raises(DataError, match=r"reasons\.npy is damaged \(a reason that is none"):
        _ = Corpus.open(corpus).dropped


def test_a_few_texts_are_taken_without_a_pass_over_all(monkeypatch):
    texts = Strings.of(["red", "", "été", "b", "green"])

    def passed(self):
        raise AssertionError("all lengths were asked for")

    monkeypatch.setattr(Strings, "lengths", property(passed))
    taken = texts.take(np.array([2, 4, 1, 2]))
    assert [taken[i] for i in range(len(taken))] == ["été", "green", "", "été"]


def test_a_pass_over_what_was_read_has_no_texts_but_those_it_asks_for(tmp_path):
    rows = np.array([1, 2])
    known = Metadata.of(["First", "Second"], [0, 1], rows, ["a", "b"], ['{"n": 1}', ""])
    read = Documents(np.array([0, 1, 3]), np.array([4, 2, 5]), np.array([1, 1, 7]), known)
    kept = spool.Spool(tmp_path / "spool")
    kept.append(read, np.array([8, 9], np.uint64), np.zeros(2, np.uint8))
    (block,) = kept.blocks(["ids"])
    kept.close()
    found = block.documents.metadata
    assert [found.ids[i] for i in range(2)] == ["a", "b"]
    assert found.titles.n_known == found.columns.n_known == 0
    assert found.rows.tolist() == [1, 2] and block.documents.counts.tolist() == [1, 1, 7]
