"""Every format, read back, is what was written: across block borders, compressions and shards."""

import bz2
import codecs
import errno
import gzip
import json
import lzma
import os
import re
import tempfile
import zipfile
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import bags
import numpy as np
import pyarrow as pa
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from topicmc.corpora import prepare, streams, verify
from topicmc.corpora.readers import pairs, records, triplets
from topicmc.corpora.readers.detect import detect
from topicmc.corpora.readers.parquet import _texts
from topicmc.corpora.readers.records import columns_text
from topicmc.corpora.readers.sources import FIELD_READERS, FORMATS, ID_READERS
from topicmc.errors import DataError

N_WORDS = 30
ids = st.integers(0, N_WORDS - 1)
corpora = st.lists(
    st.dictionaries(ids, st.integers(1, 9) | st.just(70_000), max_size=8), min_size=1, max_size=25
).filter(any)
text_corpora = st.lists(
    st.dictionaries(ids, st.integers(1, 3), max_size=8), min_size=1, max_size=19
).filter(any)


def prepared(source, **options):
    options = {"n_heldout": 0, "force": True, "stopwords": "none"} | options
    return prepare(source, Path(source).parent / "out", **options)


def blocks_of(size):
    return lambda stream, _=0: streams.line_blocks(stream, size)


def test_every_format_is_written_here():
    assert bags.WRITERS.keys() == {*FORMATS} - {"wikipedia"}  # which has tests of its own


@pytest.mark.parametrize("name", ID_READERS)
@given(written=corpora, size=st.integers(1, 60), n_shards=st.integers(1, 3))
@settings(max_examples=25)
def test_ids_round_trip(name, written, size, n_shards):
    """Tiny blocks put every document once on a border between two of them."""
    write, file = bags.WRITERS[name]
    full = [bag for bag in written if bag]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / file
        write(path, written, N_WORDS)
        bags.write_vocabulary(path.with_name("vocab.txt"), N_WORDS)
        small = lambda stream, _=0: streams.line_blocks(stream, size)  # noqa: E731
        with (
            patch.object(triplets, "line_blocks", small),
            patch.object(pairs, "line_blocks", small),
        ):
            corpus = prepared(path, n_shards=min(n_shards, len(full)))
        assert bags.training(corpus) == [dict(sorted(bag.items())) for bag in full]
        assert corpus.vocabulary == bags.words(N_WORDS)
        assert corpus.provenance["documents_read"] == len(written)
        assert corpus.provenance["documents_empty"] == len(written) - len(full)
        assert corpus.n_tokens == sum(sum(bag.values()) for bag in full)
        verify(corpus.path)


@pytest.mark.parametrize("name", ["text", *FIELD_READERS])
@pytest.mark.parametrize("known", [False, True])
@given(written=text_corpora)
@settings(max_examples=10)
def test_text_round_trips(name, known, written):
    write, file = bags.WRITERS[name]
    full = [bag for bag in written if bag]
    used = sorted(set().union(*full))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / file
        write(path, written, N_WORDS)
        vocab = path.with_name("words")
        bags.write_vocabulary(vocab, N_WORDS)
        corpus = prepared(path, vocab=vocab if known else None)
        rename = {w: w if known else used.index(w) for w in used}
        expected = [{rename[w]: bag[w] for w in sorted(bag)} for bag in full]
        assert bags.training(corpus) == expected
        assert corpus.vocabulary == [
            w for i, w in enumerate(bags.words(N_WORDS)) if known or i in used
        ]
        assert corpus.provenance["documents_read"] == len(written)


WRITTEN = [{0: 2, 3: 1}, {}, {1: 1, 2: 5, 29: 1}, {4: 3}]
FULL = [bag for bag in WRITTEN if bag]


@pytest.mark.parametrize("name", list(bags.WRITERS))
@pytest.mark.parametrize(
    "compress",
    [gzip.compress, bz2.compress, lzma.compress, partial(pa.compress, codec="zstd", asbytes=True)],
)
def test_compressions_by_content(name, compress, tmp_path):
    if name in ("npz", "parquet"):
        pytest.skip("it is compressed by itself")
    write, file = bags.WRITERS[name]
    path = tmp_path / file
    write(path, WRITTEN, N_WORDS)
    bags.write_vocabulary(tmp_path / "vocab.txt", N_WORDS)
    path.write_bytes(compress(path.read_bytes()))  # the name says nothing of it
    corpus = prepared(path, format=name, vocab=tmp_path / "vocab.txt")
    assert bags.training(corpus) == FULL


def test_gzip_of_several_members(tmp_path):
    path = tmp_path / "docword.x.txt.gz"
    bags.docword(path, WRITTEN, N_WORDS)
    raw = path.read_bytes()
    path.write_bytes(gzip.compress(raw[:9]) + gzip.compress(raw[9:]))
    bags.write_vocabulary(tmp_path / "vocab.x.txt", N_WORDS)
    assert bags.training(prepared(path)) == FULL


def test_folder_of_files(tmp_path):
    folder = tmp_path / "texts"
    (folder / "sub").mkdir(parents=True)
    (folder / ".hidden").write_text("secret")
    (folder / "b.txt").write_text("waab waab\nwaaa")
    (folder / "a.txt").write_text("\ufeffwaac", encoding="utf-8")
    (folder / "sub" / "c.txt").write_text("waaa")
    corpus = prepared(folder)
    assert corpus.vocabulary == ["waaa", "waab", "waac"]
    assert bags.training(corpus) == [{2: 1}, {0: 1, 1: 2}, {0: 1}]


def test_several_sources_follow_each_other(tmp_path):
    paths = [tmp_path / "docword.a.txt", tmp_path / "docword.b.txt"]
    for path in paths:
        bags.docword(path, WRITTEN, N_WORDS)
    bags.write_vocabulary(tmp_path / "vocab.txt", N_WORDS)
    corpus = prepare(paths, tmp_path / "out", n_heldout=0)
    assert bags.training(corpus) == FULL + FULL
    assert corpus.provenance["documents_read"] == 8


def test_any_spacing_and_line_ends_in_docword(tmp_path):
    path = tmp_path / "docword.x.txt"
    path.write_bytes(b"2\r\n30\r\n3\r\n1 1 2\r\n\r\n1\t4  1\r\n2 2 1")
    bags.write_vocabulary(tmp_path / "vocab.txt", N_WORDS)
    assert bags.training(prepared(path)) == [{0: 2, 3: 1}, {1: 1}]


def test_repeated_words_of_a_document_are_summed_and_told(tmp_path):
    path = tmp_path / "docword.x.txt"
    path.write_text("2\n30\n5\n1 9 2\n1 4 1\n1 9 1\n2 9 1\n2 4 1\n")
    bags.write_vocabulary(tmp_path / "vocab.txt", N_WORDS)
    corpus = prepared(path)
    assert bags.training(corpus) == [{3: 1, 8: 3}, {3: 1, 8: 1}]
    assert corpus.provenance["entries_merged"] == 1


def test_real_and_pattern_matrix_market(tmp_path):
    bags.write_vocabulary(tmp_path / "vocab.txt", N_WORDS)
    real = tmp_path / "real.mm"
    with real.open("wb") as file:
        scipy.io.mmwrite(file, bags.csr(WRITTEN, N_WORDS, np.float64), comment="of counts")
    assert b"real" in real.read_bytes()[:60]
    assert bags.training(prepared(real)) == FULL
    pattern = tmp_path / "pattern.mtx"
    pattern.write_text("%%MatrixMarket matrix coordinate pattern general\n%\n2 30 2\n1 3\n2 1\n")
    assert bags.training(prepared(pattern)) == [{2: 1}, {0: 1}]


def test_what_a_comment_of_svmlight_says_is_no_index(tmp_path):
    path = tmp_path / "x.svmlight"
    path.write_text("1 1:2 3:1 # crawled 2020-05-01 00:15\n1 2:1\n")
    bags.write_vocabulary(tmp_path / "vocab.txt", N_WORDS)
    assert bags.training(prepared(path)) == [{0: 2, 2: 1}, {1: 1}]


def test_svmlight_from_zero_with_real_counts_and_queries(tmp_path):
    path = tmp_path / "x.svmlight"
    path.write_text("# made by hand\n-1.5 qid:3 0:2.0 4:1\n1,2 29:3e0\n\n")
    bags.write_vocabulary(tmp_path / "vocab.txt", N_WORDS)
    assert bags.training(prepared(path)) == [{0: 2, 4: 1}, {29: 3}]


def test_an_index_of_zero_may_begin_a_file_of_svmlight(tmp_path):
    """Whose labels are missing."""
    (tmp_path / "x.svmlight").write_text("0:2 3:1\n1:1\n")
    bags.write_vocabulary(tmp_path / "vocab.txt", N_WORDS)
    assert bags.training(prepared(tmp_path / "x.svmlight")) == [{0: 2, 3: 1}, {1: 1}]


def test_npz_of_floats_and_unsorted_rows(tmp_path):
    matrix = scipy.sparse.csr_matrix(
        (np.array([1.0, 2.0, 1.0]), np.array([5, 1, 5]), np.array([0, 3])), shape=(1, N_WORDS)
    )
    scipy.sparse.save_npz(tmp_path / "x.npz", matrix)
    bags.write_vocabulary(tmp_path / "vocab.txt", N_WORDS)
    assert bags.training(prepared(tmp_path / "x.npz")) == [{1: 2, 5: 2}]


def test_json_lists_nulls_and_another_field(tmp_path):
    path = tmp_path / "x.jsonl"
    empty = '{"body": null}\n{"body": NaN}\n{"other": 1}\n'
    path.write_text(f'{{"body": ["waaa", "waab"]}}\n\n{empty}{{"body": "waab"}}\n')
    corpus = prepared(path, field="body")
    assert bags.training(corpus) == [{0: 1, 1: 1}, {1: 1}]
    assert corpus.provenance["dropped"] == {"empty": 3}


def test_tab_separated_with_byte_order_mark(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text('\ufefftext\tid\n"waaa\nwaab"\t1\n', encoding="utf-8")
    assert bags.training(prepared(path)) == [{0: 1, 1: 1}]


def test_blank_lines_may_stand_above_a_header(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("\n \nid;text\n7;waaa\n")
    corpus = prepared(path, id="id")
    assert (corpus.ids[:], corpus.rows.tolist()) == (["7"], [1])


def test_other_kinds_of_text_in_parquet(tmp_path):
    kinds = (pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string()))
    for number, kind in enumerate(kinds):
        path = tmp_path / f"{number}.parquet"
        texts = pa.array(["waab", None, "waaa", "waab"], kind)
        try:
            parquet.write_table(pa.table({"text": texts, "name": texts}), path)
        except pa.ArrowNotImplementedError:  # of views, by earlier versions
            continue
        corpus = prepared(path, title="name", columns=("name",))
        assert bags.training(corpus) == [{1: 1}, {0: 1}, {1: 1}]
        assert corpus.titles[:] == [c["name"] for c in corpus.columns] == ["waab", "waaa", "waab"]


def test_a_value_of_a_dictionary_is_one_in_memory():
    """However many rows of a file that is small by it have the value."""
    column = pa.array(["long", None, "x", "long", "long"]).dictionary_encode()[1:]
    found = _texts(column)
    assert found == [None, "x", "long", "long"] and found[2] is found[3]


@pytest.mark.parametrize("name", list(bags.WRITERS))
def test_content_is_recognised_without_a_telling_name(name, tmp_path):
    if name in ("text", "csv"):
        pytest.skip("known by name only")
    write, _ = bags.WRITERS[name]
    path = tmp_path / ("x.npz" if name == "npz" else "x.dat")
    write(path, WRITTEN, N_WORDS)
    if name not in ("npz", "parquet"):
        path.write_bytes(codecs.BOM_UTF8 + path.read_bytes())  # as editors of Windows put it
    bags.write_vocabulary(tmp_path / "vocab.txt", N_WORDS)
    corpus = prepared(path, vocab=tmp_path / "vocab.txt")
    assert corpus.provenance["format"] == name
    assert bags.training(corpus) == FULL


def test_a_line_that_is_cut_where_looking_ends_tells_nothing(tmp_path):
    path = tmp_path / "x.dat"
    line = b"3000 " + b" ".join(b"%d:1" % i for i in range(3000)) + b"\n"
    for mark in (b"", codecs.BOM_UTF8):
        path.write_bytes(mark + 4 * line)
        assert detect(path) == "ldac"


def test_files_of_svmlight_that_are_read_together_count_from_the_same_number(tmp_path):
    (tmp_path / "a.svmlight").write_text("1 0:2 1:1\n")
    (tmp_path / "b.svmlight").write_text("1 1:3 2:1\n")
    bags.write_vocabulary(tmp_path / "vocab.txt", N_WORDS)
    sources = [tmp_path / "a.svmlight", tmp_path / "b.svmlight"]
    for order in (sources, sources[::-1]):
        corpus = prepare(order, tmp_path / "out", n_heldout=0, n_shards=1, force=True)
        found = bags.training(corpus)
        assert sorted(found, key=min) == [{0: 2, 1: 1}, {1: 3, 2: 1}]


@pytest.mark.parametrize("kind", ["link to a folder", "link to nothing"])
def test_what_would_be_missing_of_a_folder_of_texts_is_refused(tmp_path, kind):
    texts, other = tmp_path / "texts", tmp_path / "other"
    for folder in (texts, other):
        folder.mkdir()
        (folder / "a.txt").write_text("red green\n")
    (texts / "b").symlink_to(other if "folder" in kind else tmp_path / "gone")
    (texts / ".hidden").symlink_to(tmp_path / "gone")
    with pytest.raises(DataError, match=r"texts/b: is a link to "):
        prepare(texts, tmp_path / "out", n_heldout=0)
    (texts / "b").unlink()
    assert prepare(texts, tmp_path / "out", n_heldout=0, min_df=1, max_df=1.0).n_docs == 1


def test_what_json_has_no_word_for_does_not_change_the_rest_of_its_row():
    kept = {"category": "NaN", "year": 2020, "score": float("nan"), "list": [1, float("-inf")]}
    told = json.loads(columns_text(kept), parse_constant=pytest.fail)
    assert told == {"category": "NaN", "year": 2020, "score": None, "list": [1, "-Infinity"]}


def test_nan_in_parquet_stands_where_nothing_is_known(tmp_path):
    """As other programs than pandas write it; what is text stays what it is."""
    numbers = pa.array([1999.0, float("nan"), None])
    table = {"text": ["red ant", "blue bee", "grey cow"], "name": ["nan"] * 3}
    table |= {"title": numbers, "when": numbers, "id": numbers, "score": numbers}
    table["parts"] = pa.array([[0.5], [float("nan")], None])
    parquet.write_table(pa.table(table), tmp_path / "x.parquet")
    options = {"time": "when", "id": "id", "columns": ("name", "score", "parts")}
    corpus = prepared(tmp_path / "x.parquet", n_heldout=0, **options)
    number = str(corpus.ids[0])
    assert float(number) == 1999
    assert corpus.ids[:] == corpus.titles[:] == [number, "", ""]
    assert corpus.times.astype(str).tolist() == ["1999-01-01", "NaT", "NaT"]
    assert corpus.provenance["times_unread"] == 0
    assert corpus.columns[:] == [
        {"name": "nan", "score": 1999.0, "parts": [0.5]},
        {"name": "nan", "score": None, "parts": [None]},
        {"name": "nan", "score": None, "parts": None},
    ]


def test_digits_that_count_nothing_are_text(tmp_path):
    """As those above a line and those in circles."""
    texts = tmp_path / "texts"
    texts.mkdir()
    for path in (tmp_path / "x.txt", texts / "x.txt"):
        path.write_text("² word other\n① word\n", encoding="utf-8")
    for source in (tmp_path / "x.txt", texts):
        corpus = prepared(source)
        assert corpus.provenance["format"] == "text"
        assert corpus.vocabulary == ["other", "word"]


def test_a_parquet_file_that_may_not_be_read_is_named(tmp_path, monkeypatch):
    """PyArrow's error names no file, and the output is none that cannot be written."""
    path = tmp_path / "x.parquet"
    bags.parquet(path, WRITTEN, N_WORDS)

    def refuse(name):
        raise PermissionError(errno.EACCES, "Failed to open local file")

    monkeypatch.setattr(pa, "OSFile", refuse)
    why = re.escape(f"x.parquet: cannot be read ({os.strerror(errno.EACCES)})")
    with pytest.raises(DataError, match=why):
        prepared(path, format="parquet")


@pytest.mark.parametrize("name", ["parquet", "npz", "jsonl"])
def test_a_file_whose_disk_fails_is_named_and_not_called_damaged(tmp_path, monkeypatch, name):
    """It is opened, and read no further; nor is it the output that cannot be written."""
    write, file = bags.WRITERS[name]
    write(tmp_path / file, WRITTEN, N_WORDS)
    bags.write_vocabulary(tmp_path / "vocab.txt", N_WORDS)

    def fail(*_, **__):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    class Failing(streams.Stream):
        def __init__(self, *options):
            super().__init__(*options)
            self._file = SimpleNamespace(read=fail, close=self._raw.close)

    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", fail)
    monkeypatch.setattr(zipfile.ZipExtFile, "read", fail)
    monkeypatch.setattr(records, "Stream", Failing)
    why = re.escape(f"{file}: cannot be read ({os.strerror(errno.EIO)}); check the disk")
    options = {"vocab": tmp_path / "vocab.txt"} if name == "npz" else {}
    with pytest.raises(DataError, match=why):
        prepared(tmp_path / file, format=name, **options)
