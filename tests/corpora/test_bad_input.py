"""Whatever is wrong with a source is told in one sentence that names file, line and way out, and
leaves nothing behind."""

import bz2
import codecs
import errno
import gzip
import io
import os
import re
import tarfile
import zipfile
from contextlib import nullcontext
from pathlib import Path

import bags
import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse
from pyarrow import parquet

from topicmc.corpora import pipes, prepare, streams, wikipedia_extract
from topicmc.corpora.readers import npz, text, triplets, wikipedia
from topicmc.corpora.text import vocabulary
from topicmc.errors import DataError, UsageError

HEAD = "3\n5\n3\n"
MARKET = "%%MatrixMarket matrix coordinate integer general\n% made by hand\n3 5 2\n"
VOCABULARY = "one\ntwo\nthree\nfour\nfive\n"


def refused(tmp_path, files, *patterns, source=None, error=DataError, **options):
    """Writes files, prepares the first, and looks for every pattern in the one sentence."""
    for name, content in files.items():
        content = content.encode() if isinstance(content, str) else content
        (tmp_path / name).write_bytes(content)
    made = {tmp_path / "made"}
    before = set(tmp_path.rglob("*")) - made
    sources = source if source is not None else tmp_path / next(iter(files))
    with pytest.raises(error) as caught:
        prepare(sources, tmp_path / "made" / "out", **options)
    message = str(caught.value)
    for pattern in patterns:
        assert re.search(pattern, message), message
    assert "\n" not in message
    assert not message.endswith(".")
    assert set(tmp_path.rglob("*")) - made == before


BODIES = {
    "word 0": ("1 1 1\n1 0 2\n2 1 1\n", "line 5: word id 0, .*1 to 5; if .* add 1 to each"),
    "word beyond W": ("1 1 1\n1 2 2\n2 6 1\n", "line 6: word id 6, .*1 to 5; mend the line"),
    "document 0": ("0 1 1\n1 2 2\n2 5 1\n", "line 4: document 0.*1 to 3; if .* add 1 to each"),
    "document beyond D": ("1 1 1\n1 2 2\n4 5 1\n", "line 6: document 4.*1 to 3; mend the line"),
    "count 0": ("1 1 1\n1 2 0\n2 5 1\n", "line 5: count 0"),
    "count negative": ("1 1 1\n1 2 2\n2 5 -3\n", "line 6: count -3"),
    "count beyond int32": ("1 1 1\n1 2 99999999999\n2 5 3\n", "line 5: count 99999999999"),
    "count beyond all": (f"1 1 1\n1 2 {'9' * 5000}\n2 5 3\n", "line 5: count .*not a whole number"),
    "count not whole": ("1 1 1\n1 2 2.5\n2 5 1\n", "line 5: count '2.5' is not a whole number"),
    "count a word": ("1 1 x\n1 2 2\n2 5 1\n", "line 4: count 'x' is not a whole number"),
    "count missing": ("1 1 1\n1 2 1\n2 5\n", "line 6: '2 5' where document, word and count"),
    "column too many": ("1 1 1\n1 2 1 1\n2 5 1\n", "line 5: '1 2 1 1' where"),
    "unsorted": ("1 1 1\n2 2 2\n1 5 1\n", "line 6: document 1 after document 2; sort"),
    "too few entries": ("1 1 1\n1 2 2\n", "header promises 3 entries, the body holds 2"),
    "too many entries": ("1 1 1\n1 2 2\n1 3 2\n1 4 1\n", "promises 3 entries, the body holds 4"),
    "counts of one word": ("1 1 2147483647\n" * 3, r"docword\.x\.txt: counts of one word .*2³²"),
    "word of nine zeros": (
        "1 1 1\n1 1000000000 2\n2 5 1\n",
        "line 5: word id 1000000000",
    ),
    "word beyond int64": ("1 1 1\n1 99999999999999999999 2\n", "line 5: word id .*not a whole"),
    "NUL": ("1 1 1\n1 \x002 2\n2 5 1\n", "line 5: word id .* is not a whole number"),
    "binary": ("1 1 1\n\x00\x01\x02 2 2\n1 3 2\n", "line 5: document .* is not a whole number"),
}


@pytest.mark.parametrize(("body", "pattern"), BODIES.values(), ids=BODIES)
def test_docword_body(tmp_path, body, pattern):
    files = {"docword.x.txt": HEAD + body, "vocab.x.txt": VOCABULARY}
    refused(tmp_path, files, r"docword\.x\.txt", pattern)


def test_wrong_line_is_named_far_into_the_file(tmp_path):
    """Beyond the first block of 8 MB, after blank lines."""
    lines = "".join(f"{d} {w} 1\n" for d in range(1, 200_001) for w in (1, 2, 3, 4, 5))
    head = f"200000\n5\n{5 * 200_000}\n\n\n"
    files = {"docword.x.txt": head + lines.replace("\n180000 3 1\n", "\n180000 33 1\n")}
    number = 5 + 179_999 * 5 + 3
    refused(tmp_path, files | {"vocab.txt": VOCABULARY}, f"line {number}: word id 33")


@pytest.mark.parametrize(
    ("head", "pattern"),
    [
        ("", "line 1"),
        ("3\n5\n", "line 3: '' where the number of entries"),
        ("3\nfive\n2\n", "line 2: 'five' where the number of words"),
        ("-3\n5\n2\n", "line 1: '-3' where the number of documents"),
        ("3 5 2\n1 1 1\n", "line 1: '3 5 2' where the number of documents.*--format"),
        ("3\n6\n2\n1 1 1\n2 1 1\n", "line 2: 6 words, but its vocabulary has 5.*--vocab"),
        ("3\n5\n0\n", "holds no documents"),
        ("0\n5\n0\n", "holds no documents"),
    ],
)
def test_docword_header(tmp_path, head, pattern):
    refused(tmp_path, {"docword.x.txt": head, "vocab.txt": VOCABULARY}, pattern, format="docword")


def test_documents_beyond_memory_in_the_header_cost_nothing(tmp_path):
    body = "999999999999999999\n5\n2\n1 1 1\n999999999999999999 2 1\n"
    path = tmp_path / "docword.x.txt"
    path.write_text(body)
    (tmp_path / "vocab.txt").write_text(VOCABULARY)
    corpus = prepare(path, tmp_path / "out")
    assert corpus.n_docs == 2
    assert corpus.provenance["documents_empty"] == 999999999999999997


@pytest.mark.parametrize("cut", [20, 60, -1])
@pytest.mark.parametrize("format", ["auto", "docword"])
def test_truncated_gzip(tmp_path, cut, format):
    raw = "".join(f"{d} {w} {d % 7 + 1}\n" for d in range(1, 301) for w in range(1, 6))
    whole = gzip.compress(f"300\n5\n1500\n{raw}".encode())
    files = {"docword.x.txt.gz": whole[:cut], "vocab.x.txt": VOCABULARY}
    refused(tmp_path, files, r"docword\.x\.txt\.gz is cut short or damaged.*again", format=format)


def test_damaged_gzip(tmp_path):
    raw = bytearray(gzip.compress((HEAD + "1 1 1\n1 2 2\n2 5 1\n").encode()))
    raw[-6] ^= 1  # in the checksum
    refused(tmp_path, {"docword.x.txt.gz": bytes(raw), "vocab.x.txt": VOCABULARY}, "damaged")


@pytest.mark.parametrize(
    ("vocabulary", "pattern"),
    [
        ("one\ntwo\none\nfour\nfive\n", "line 3: 'one' stands on line 1 already"),
        ("one\n\nthree\nfour\nfive\n", "line 2: no word"),
        ("one\nt\rwo\nthree\nfour\nfive\n", r"line 2: 't\\rwo' holds control characters; remove"),
        ("one\ntwo\n\x1b[2Jx\nfour\nfive\n", r"line 3: .*x1b\[2Jx' holds control characters"),
        (b"one\ntwo\nthr\xff\xfe\nfour\nfive\n", "line 3: not UTF-8 .*; save it as UTF-8$"),
        ("", "holds no words"),
        ("one\ntwo\n", "5 words, but its vocabulary has 2"),
    ],
)
def test_vocabulary(tmp_path, vocabulary, pattern):
    body = HEAD + "1 1 1\n1 2 2\n2 5 1\n"
    refused(tmp_path, {"docword.x.txt": body, "vocab.x.txt": vocabulary}, pattern)


def test_vocabulary_is_asked_for(tmp_path):
    body = HEAD + "1 1 1\n1 2 2\n2 5 1\n"
    refused(tmp_path, {"docword.x.txt": body}, "no vocabulary lies beside it", "--vocab")
    refused(tmp_path, {"docword.x.txt": body}, "nowhere.txt does not exist", vocab="nowhere.txt")


@pytest.mark.parametrize(
    ("content", "pattern"),
    [
        (MARKET + "1 1 1\n3 6 1\n", "line 5: word id 6"),
        (MARKET + "2 1 1\n1 2 1\n", "line 5: document 1 after document 2"),
        (MARKET + "1 1 1\n", "promises 2 entries, the body holds 1"),
        (MARKET.replace("3 5 2", "3 4 2") + "1 1 1\n2 1 1\n", "line 3: 4 columns.*5 words"),
        (MARKET.replace("3 5 2", "3 5"), "line 3: '3 5' where the number of rows"),
        (MARKET.replace("integer", "complex"), "line 1: a complex general matrix"),
        (MARKET.replace("coordinate", "array"), "line 1: .*coordinate"),
        (MARKET.replace("integer", "real") + "1 1 1\n2 1 0.5\n", "line 5: count '0.5' is not"),
        (MARKET.replace("integer", "real") + "1 1 1\n2 1 nan\n", "line 5: count 'nan' is not"),
        (MARKET.replace("integer", "real") + "1 1 1\n2 1 1_0\n", "line 5: count '1_0' is not"),
    ],
)
def test_matrix_market(tmp_path, content, pattern):
    files = {"x.mtx": content, "vocab.txt": VOCABULARY}
    refused(tmp_path, files, r"x\.mtx", pattern, format="mm")


@pytest.mark.parametrize(
    ("format", "content", "pattern"),
    [
        ("ldac", "1 0:1\n2 0:1\n", "line 2: 2 words announced, 1 follow"),
        ("ldac", "1 0:1\n1 5:1\n", "line 2: word id 5, but ids go from 0 to 4"),
        ("ldac", "1 0:1\n1 4:-1\n", "line 2: count -1"),
        ("ldac", "1 0:1\n1 4:0\n", "line 2: count 0"),
        ("ldac", "1 0:1.0\n", "line 1: count '1.0' is not a whole number"),
        ("ldac", "1 0:1\n1 4\n", "line 2: '4' where id:count"),
        ("ldac", "1 0:1\n1 1:2:3\n", "line 2: count '2:3'"),
        ("ldac", "2 1:2:3 4\n", "line 1: count '2:3'"),
        ("ldac", "1 0:1_0\n", "line 1: count '1_0'"),
        ("ldac", "word 0:1\n", "line 1: number of words 'word'"),
        ("svmlight", "1 1:1\n1 6:1\n", "line 2: word id 6, but ids go from 1 to 5"),
        ("svmlight", "1 0:1\n1 5:1\n", "line 2: word id 5, but ids go from 0 to 4"),
        ("svmlight", "1 1:1\n\n1 2:0.5\n", "line 3: count '0.5' is not a whole number"),
        ("svmlight", "some words here\n", "line 1: 'some' where a label"),
        ("svmlight", "1 1:-1\n", "line 1: count -1"),
        ("svmlight", "1 1:1_0\n", "line 1: count '1_0'"),
    ],
)
def test_pairs(tmp_path, format, content, pattern):
    refused(tmp_path, {"x.dat": content, "vocab.txt": VOCABULARY}, pattern, format=format)


def npz_bytes(**members):
    matrix = scipy.sparse.csr_matrix(np.array([[1, 0, 0, 2, 0], [0, 0, 3, 0, 0]]))
    content = {
        "format": np.array(b"csr"),
        "shape": np.array(matrix.shape),
        "indptr": matrix.indptr,
        "indices": matrix.indices,
        "data": matrix.data,
    }
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **(content | members))
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("members", "pattern"),
    [
        ({"indices": np.array([0, 5, 2], np.int32)}, "row 0: column 5.*0 to 4"),
        ({"indices": np.array([0, 3, -1], np.int32)}, "row 1: column -1"),
        ({"data": np.array([1, 2, -3])}, "row 1, column 2: count -3 is not"),
        ({"data": np.array([1, 0, 3])}, r"row 0, column 3: count 0 .*eliminate_zeros"),
        ({"data": np.array([1, 2.5, 3])}, "row 0, column 3: count 2.5 is not"),
        ({"data": np.array([1, np.nan, 3])}, "row 0, column 3: count nan is not"),
        ({"data": np.array([1, np.inf, 3])}, "row 0, column 3: count inf is not"),
        ({"data": np.array([1, 2])}, "data holds .* where 3 numbers"),
        ({"data": np.array(["a", "b", "c"])}, "data holds"),
        ({"data": np.array([1, 2, {}], dtype=object)}, "data holds|[Oo]bject"),
        ({"indptr": np.array([0, {}, 3], dtype=object)}, "[Oo]bject"),
        ({"indptr": np.array([0, 4, 3])}, "indptr"),
        ({"indptr": np.array([0, 3])}, "indptr"),
        ({"indptr": np.array([0.0, 2.0, 3.0])}, "indptr is not one of CSR"),
        (
            {
                "indptr": np.array([0, 2**63 - 1, -(2**63), -1, 3]),  # rises, if differences wrap
                "shape": np.array([4, 5]),
            },
            "indptr is not one of CSR",
        ),
        ({"shape": np.array([2, 6])}, "6 columns, but its vocabulary has 5 words"),
        ({"shape": np.array([2])}, "damaged|shape"),
        ({"shape": np.zeros(1000, int)}, "shape.npy of 8128 bytes"),
        ({"format": np.array(b"csc")}, r"csc matrix: save matrix.tocsr\(\)"),
    ],
)
def test_npz(tmp_path, members, pattern):
    files = {"x.npz": npz_bytes(**members), "vocab.txt": VOCABULARY}
    refused(tmp_path, files, r"x\.npz", pattern)


def test_npz_that_is_none(tmp_path):
    files = {"x.npz": b"not a zip", "vocab.txt": VOCABULARY}
    refused(tmp_path, files, "damaged or not a CSR matrix")
    refused(tmp_path, {"x.npz": npz_bytes()[:-40]}, "damaged or not a CSR matrix")
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("indices.npy", b"")
    raw = (tmp_path / "x.npz").read_bytes()
    refused(tmp_path, {"x.npz": raw}, "damaged or not a CSR matrix")


@pytest.mark.parametrize(
    ("member", "pattern"),
    [
        ("[Content_Types].xml", "Excel, Word or the like: save a table as CSV"),
        ("mimetype", "Excel, Word or the like: save a table as CSV"),
        ("texts.csv", "zip archive: unpack it first"),
    ],
)
def test_archives_that_hold_no_arrays(tmp_path, member, pattern):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(member, "text\nred green\n")
    refused(tmp_path, {"x.csv": buffer.getvalue()}, r"x\.csv is .*" + pattern)
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "x.docx").write_bytes(buffer.getvalue())
    refused(tmp_path, {}, r"x\.docx", pattern, source=folder)


def tarred():
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a.txt"))
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "advice", "formats"),
    [
        (
            "x.pdf",
            b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n",
            "PDF.*extract its text first",
            ("auto", "text"),
        ),
        ("x.doc", b"\xd0\xcf\x11\xe0\0\0\0\n", "does not look like text", ("text", "csv")),
        ("x.doc", b"\xd0\xcf\x11\xe0\0\0\0\n", "Word or the like: save a table", ("auto",)),
        ("x.txt", b"{\\rtf1\\ansi a word}", "is RTF: save it as plain text", ("auto",)),
        (
            "x.tar.gz",
            gzip.compress(tarred(), mtime=0),
            "is a tar archive: unpack it first",
            ("auto",),
        ),
        ("x.txt", tarred(), "is a tar archive: unpack it first", ("auto",)),
    ],
)
def test_files_that_are_no_text_in_any_encoding(tmp_path, name, content, advice, formats):
    for format in formats:
        refused(tmp_path, {name: content}, advice, r"^(?!.*cp1252)", format=format)


def test_npz_that_is_encrypted_or_asks_for_all_memory(tmp_path):
    raw = bytearray(npz_bytes())
    raw[raw.find(b"PK\x01\x02") + 8] |= 1
    raw[6] |= 1
    refused(tmp_path, {"x.npz": bytes(raw), "vocab.txt": VOCABULARY}, "encrypted")
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(3, np.int64))
    lie = buffer.getvalue().replace(b"(3,), }" + b" " * 16, b"(%d,), }" % 10**16 + b" ")
    with (
        zipfile.ZipFile(tmp_path / "x.npz", "w") as archive,
        zipfile.ZipFile(io.BytesIO(npz_bytes())) as good,
    ):
        for name in good.namelist():
            archive.writestr(name, lie if name == "indptr.npy" else good.read(name))
    refused(tmp_path, {"x.npz": (tmp_path / "x.npz").read_bytes()}, "damaged")


def test_npz_with_a_flipped_byte(tmp_path):
    matrix = scipy.sparse.random(200, 5, 0.5, "csr", rng=np.random.default_rng(1))
    matrix.data[:] = np.arange(len(matrix.data)) % 50 + 1
    scipy.sparse.save_npz(tmp_path / "x.npz", matrix, compressed=False)
    raw = bytearray((tmp_path / "x.npz").read_bytes())
    at = raw.find(np.float64(17).tobytes(), raw.find(b"data.npy"))
    raw[at : at + 8] = np.float64(18).tobytes()  # sound, but for the archive's checksum
    refused(tmp_path, {"x.npz": bytes(raw), "vocab.txt": VOCABULARY}, "damaged", "CRC")


@pytest.mark.parametrize(
    ("name", "content", "options", "pattern", "error"),
    [
        ("x.jsonl", '{"text": "a b"}\n{"text": \n', {}, "line 2: not JSON", DataError),
        ("x.jsonl", '{"text": "a b"}\n[1]\n', {}, "line 2: not a JSON object", DataError),
        ("x.json", '[{"text": "a"},\n', {}, "line 1: not JSON .*give one object a line", DataError),
        (
            "x.json",
            '[{"text": "a"}]\n',
            {},
            "line 1: not a JSON object; .* a line, .* jq",
            DataError,
        ),
        ("x.jsonl", "{" + '"text":[' * 1 + "[" * 100_000, {}, "line 1: not JSON", DataError),
        ("x.jsonl", '{"b": 1}\n{"text": "a"}\n', {"field": "text"}, "line 1: no field", DataError),
        ("x.jsonl", '{"id": 1, "body": "a"}\n', {}, "--field .has: id, body", UsageError),
        ("x.jsonl", '{"text": 3}\n', {}, "line 1: field 'text' is not text", DataError),
        (
            "x.jsonl",
            '{"text": "a", "x": ' + "[" * 201 + "]" * 201 + "}\n",
            {"columns": ("x",)},
            "line 1: field 'x' is nested more than 200 levels deep; .*--keep",
            DataError,
        ),
        ("x.jsonl", b'{"text": "a"}\n{"text": "\xff"}\n', {}, "line 2: not UTF-8", DataError),
        ("x.jsonl", "", {}, "holds no documents", DataError),
        ("x.csv", "id,body\n1,a\n", {}, "--field .has: id, body", UsageError),
        ("x.csv", "id,body\n1,a\n", {"field": "text"}, "line 1: no column 'text'", DataError),
        ("x.csv", "text\na\n", {"title": "x"}, "line 1: no column 'x' .*--title", DataError),
        ("x.csv", "text\na\n", {"time": "x"}, "line 1: no column 'x' .*--time", DataError),
        ("x.jsonl", '{"text": "a"}\n', {"title": "x"}, "no field 'x' .*--title", DataError),
        ("x.jsonl", '{"text": "a"}\n', {"time": "x"}, "no field 'x' .*--time", DataError),
        ("x.txt", "a word\n", {"title": "x"}, "--title x: only jsonl, csv, parquet", UsageError),
        ("x.txt", "a word\n", {"time": "x"}, "--time x: only jsonl, .* this is text", UsageError),
        ("x.csv", 'text,id\n"a\nb",1\nc\n', {}, "line 4: 1 columns, .*header has 2", DataError),
        ("x.csv", 'text,id\n"a,1\n', {}, "line 2: not CSV", DataError),
        (
            "x.csv",
            "text,id\ra,1\r",
            {},
            r"not CSV \(new-line .* unquoted field\); mend .* carriage returns .* tr ",
            DataError,
        ),
        (
            "x.txt",
            "a word\ranother\r",
            {},
            "its only line holds carriage returns; if they end lines, .* tr .*, else to spaces",
            DataError,
        ),
        (
            "x.jsonl",
            '{"text": "a"}\r{"text": "b"}\r',
            {},
            r"line 1: not JSON \(Extra data\); mend .* if carriage returns end all lines, .* tr ",
            DataError,
        ),
        ("x.csv", "id^text\n1^a\n", {}, r"--field \(has: id\^text\), or a --delim", UsageError),
        ("x.csv", "id^text\n1^a\n", {"field": "text"}, "--field, or a --delimiter$", DataError),
        ("x.csv", "body\na\n", {}, r"--field \(has: body\)$", UsageError),
        ("x.csv", "\n\nid;text\n1;a;b\n", {}, "line 4: 3 columns, .*header has 2", DataError),
        ("x.csv", '\nsep="\n\nid"text\n', {}, "line 2: .* names no delimiter", DataError),
        ("x.csv", 'sep="\nid"text\n1"a\n', {}, "line 1: .* names no delimiter", DataError),
        ("x.csv", "sep=~\nid~text\n1~a\n", {"quote": "~"}, "line 1: .* no delimiter", DataError),
        ("x.tsv", 'id\ttext\n1\t"a\n2\tb\n', {}, "line 3: not CSV .*--quote none", DataError),
        ("x.csv", b"text\na\n\xff\n", {}, "line 3: not UTF-8", DataError),
        (
            "x.txt",
            b"good line\n\xe9t\xe9\n",
            {},
            "line 2: not UTF-8.*--encoding cp1252",
            DataError,
        ),
        ("x.txt", "12 34\n5\n", {}, "holds no documents", DataError),
        (
            "x.txt",
            "a word\n",
            {"field": "text"},
            "--field text: only jsonl, csv, parquet",
            UsageError,
        ),
        ("x.bin", b"\x00\x01\x02", {}, "format is not clear.*--format", DataError),
        ("x.txt", "a word\n", {"format": "word"}, "--format word: it is one of", UsageError),
    ],
)
def test_text(tmp_path, name, content, options, pattern, error):
    refused(tmp_path, {name: content}, pattern, error=error, **options)


def test_folder(tmp_path):
    folder = tmp_path / "texts"
    folder.mkdir()
    refused(tmp_path, {}, "holds no files", source=folder)
    (folder / "a.txt").write_text("fine words here")
    (folder / "b.txt").write_bytes(b"fine\nwords\nh\xe9re\n")
    refused(tmp_path, {}, r"b\.txt, line 3: not UTF-8", source=folder)
    (folder / "b.txt").write_bytes(codecs.BOM_UTF8 + b"fine\n\xe9t\xe9 words\nmore\n")
    refused(tmp_path, {}, r"b\.txt, line 2: not UTF-8", source=folder)
    none = r"texts holds no file named \*\.jsonl or \*\.ndjson or \*\.json: name the files"
    refused(tmp_path, {}, none, source=folder, format="jsonl")
    (folder / "c.csv").write_text("text\nfine words\n")
    refused(tmp_path, {}, r"c\.csv looks like csv: pass --format csv", source=folder)
    bags.docword(folder / "a.txt", [{0: 1}], 5)
    refused(tmp_path, {}, r"a\.txt looks like docword: give the file itself", source=folder)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_tables_behind_many_texts_are_no_texts(tmp_path, ending):
    folder = tmp_path / "texts"
    folder.mkdir()
    for number in range(9):
        (folder / f"{number}.txt").write_text("fine words here")
    (folder / f"x.{ending}").write_bytes(b"")
    told = rf"x\.{ending} looks like {ending}: pass --format {ending} for all that are"
    refused(tmp_path, {}, told, source=folder)
    (folder / f"x.{ending}").rename(folder / "x.rtf")
    (folder / "x.rtf").write_bytes(b"{\\rtf1\\ansi a word}")
    refused(tmp_path, {}, r"x\.rtf is RTF: save it as plain text", source=folder)
    with tarfile.open(folder / "x.rtf", "w") as archive:
        archive.add(folder / "1.txt")
    refused(tmp_path, {}, r"x\.rtf is a tar archive: unpack it first", source=folder)


def test_missing_source(tmp_path):
    refused(tmp_path, {}, "nowhere.txt does not exist", source=tmp_path / "nowhere.txt")
    refused(tmp_path, {}, "No source", source=[], error=UsageError)


def test_sources_that_differ(tmp_path):
    bags.docword(tmp_path / "docword.a.txt", [{0: 1}], 5)
    files = {"b.jsonl": '{"text": "a"}\n', "vocab.txt": VOCABULARY}
    both = [tmp_path / "docword.a.txt", tmp_path / "b.jsonl"]
    refused(tmp_path, files, "b.jsonl looks like jsonl, .* like docword", source=both)
    bags.docword(tmp_path / "docword.c.txt", [{0: 1}], 5)
    files = {"vocab.c.txt": VOCABULARY.replace("one", "uno")}
    both = [tmp_path / "docword.a.txt", tmp_path / "docword.c.txt"]
    refused(tmp_path, files, "differ: .*share one vocabulary", source=both)


@pytest.mark.parametrize(
    ("options", "pattern"),
    [
        ({"min_df": -1}, "--min-df -1"),
        ({"max_df": 0.0}, "--max-df 0"),
        ({"max_df": 1.5}, "--max-df 1.5"),
        ({"keep": 0}, "--keep 0"),
        ({"seed": -1}, "--seed -1"),
        ({"n_shards": 0}, "--shards 0"),
        ({"n_shards": 5, "n_heldout": 0}, "--shards 5: 4 training documents make 1 to 4"),
        ({"n_heldout": 4}, "--heldout 4: of 4 documents 0 to 3"),
        ({"n_heldout": -1}, "--heldout -1"),
        ({"stopwords": "klingon"}, "no file klingon"),
        ({"quote": "ab"}, "--quote 'ab': give one character"),
        ({"quote": ","}, "--quote ',': give one character"),
        ({"quote": "none"}, "--quote none: it goes with csv; this is text"),
    ],
)
def test_options(tmp_path, options, pattern):
    files = {"x.txt": "red green\nblue\ngreen grey\nblack\n"}
    refused(tmp_path, files, pattern, error=UsageError, **options)


def test_pruning_that_leaves_nothing(tmp_path):
    refused(tmp_path, {"x.txt": "red green\nblue\n"}, "pruning leaves no words", min_df=2)
    files = {"x.txt": "red green\nblue\n", "words": "yellow\n"}
    refused(tmp_path, files, "against the vocabulary", vocab=tmp_path / "words")


DUMP_HEAD = (
    '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/"><siteinfo></siteinfo>\n'
    "<page><title>T</title><ns>0</ns><id>1</id><revision><text>word</text></revision></page>\n"
)


@pytest.mark.parametrize(
    ("content", "pattern"),
    [
        (DUMP_HEAD, "ends too early, at line 3; read up to page 1 .'T'.: no document"),
        (DUMP_HEAD[:60], "the XML is broken or cut short"),
        (DUMP_HEAD + "<page><title>&</title></page></mediawiki>", "line 3: the XML is broken"),
        (DUMP_HEAD + "</mediawiki>", "holds no documents"),
        (DUMP_HEAD + "<page></page></mediawiki>", "not a MediaWiki dump"),
        ("<html><body></body></html>", "not a MediaWiki dump"),
        ("", "line 1: the XML is broken"),
    ],
)
def test_wikipedia(tmp_path, content, pattern):
    refused(tmp_path, {"x.xml": content}, r"x\.xml", pattern, format="wikipedia")


@pytest.mark.parametrize(
    ("option", "pattern"),
    [
        ({"time": "date"}, "--time date: the time of an article is its timestamp"),
        ({"title": "name"}, "--title name: only jsonl, .* this is wikipedia"),
    ],
)
def test_fields_of_dumps(tmp_path, option, pattern):
    options = {"format": "wikipedia", "error": UsageError} | option
    refused(tmp_path, {"x.xml": DUMP_HEAD + "</mediawiki>"}, pattern, **options)


def test_truncated_dump(tmp_path):
    """gensim 4.4's own reader waits here until it is interrupted: the process that feeds it has
    died, and nobody tells."""
    raw = wikipedia_extract().read_bytes()
    refused(tmp_path, {"x.xml.bz2": raw[:1000]}, "cut short or damaged")
    damaged = raw[: len(raw) // 2] + bytes(1000) + raw[len(raw) // 2 + 1000 :]
    refused(tmp_path, {"x.xml.bz2": damaged}, "cut short or damaged")
    both = [tmp_path / "x.xml.bz2", tmp_path / "y.xml.bz2"]
    files = {"x.xml.bz2": raw[: len(raw) // 2], "y.xml.bz2": raw}
    refused(tmp_path, files, r"x\.xml\.bz2.*read up to page .*only the last", source=both)


def test_what_libraries_say_of_an_error_becomes_part_of_a_sentence():
    assert streams.reason(OSError("\n Bad magic number.\nin file x")) == "Bad magic number"
    assert streams.reason(EOFError()) == streams.reason(ValueError(" \n")) == "unexpected end"


@pytest.mark.parametrize("format", ["text", "jsonl", "csv", "docword", "ldac", "wikipedia"])
def test_line_without_end(tmp_path, monkeypatch, format):
    """Ten megabytes of nothing from a few bytes: memory stays bounded."""
    for module, limit in ((streams, "_MAX_LINE"), (wikipedia, "_MAX_PAGE")):
        monkeypatch.setattr(module, limit, 1 << 20)
    head = {"docword": HEAD, "wikipedia": DUMP_HEAD + "<page><title>"}.get(format, "")
    packed = bz2.compress(head.encode() + b"1" * (10 << 20))
    files = {"x.bz2": packed, "vocab.txt": VOCABULARY}
    refused(tmp_path, files, r"x\.bz2", "of more than 1 MiB", format=format)


def test_a_pipe_that_breaks_is_named(monkeypatch):
    """And not the copy that is made of it."""

    class Broken(io.BytesIO):
        def read(self, *_):
            raise ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))

    def fdopen(number, mode):
        os.close(number)
        return Broken()

    monkeypatch.setattr(pipes, "_is_pipe", lambda path: True)
    monkeypatch.setattr(pipes.os, "fdopen", fdopen)
    why = re.escape(f"/dev/stdin: cannot be read ({os.strerror(errno.ECONNRESET)})")
    with pytest.raises(DataError, match=why), pipes.readable(["-"]):
        pass


def test_a_pipe_is_put_where_large_files_go(tmp_path, monkeypatch):
    """And not into a folder that is memory."""
    monkeypatch.setattr(pipes, "aside", lambda: tmp_path)
    monkeypatch.setattr(pipes, "_is_pipe", lambda path: True)
    (tmp_path / "x").write_text("red")
    with pipes.readable([tmp_path / "x"]) as [path]:
        copy = pipes.local(path)
        assert copy.read_text() == "red" and copy != path and tmp_path in copy.parents
    assert list(tmp_path.iterdir()) == [tmp_path / "x"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device here is always full")
@pytest.mark.parametrize("n_bytes", [3, 1 << 21])
def test_where_a_pipe_finds_no_room_the_way_out_is_told(tmp_path, monkeypatch, n_bytes):
    """Also for its last bytes, which wait in memory until the copy is closed."""
    (tmp_path / "copy").symlink_to("/dev/full")
    monkeypatch.setattr(pipes, "temporary_folder", lambda *_: nullcontext(tmp_path))
    monkeypatch.setattr(pipes, "_is_pipe", lambda path: True)
    (tmp_path / "x").write_bytes(bytes(n_bytes))
    why = "/copy: no space left on the disk; .*, or have TMPDIR name a folder on another disk$"
    with pytest.raises(DataError, match=why), pipes.readable([tmp_path / "x"]):
        pass


@pytest.mark.parametrize("name", ["docword", "npz"])
def test_document_of_too_many_entries(tmp_path, monkeypatch, name):
    for module in (triplets, npz):
        monkeypatch.setattr(module, "MAX_ENTRIES", 100)
    monkeypatch.setattr(triplets, "line_blocks", lambda stream: streams.line_blocks(stream, 64))
    body = "1\n5\n500\n" + "1 1 1\n" * 500
    indptr = np.array([0, 0, 500])
    many = npz_bytes(indptr=indptr, indices=np.zeros(500, int), data=np.ones(500, int))
    files = {"docword": {"docword.x.txt": body}, "npz": {"x.npz": many}}[name]
    refused(tmp_path, files | {"vocab.txt": VOCABULARY}, "more than 100 entries", format=name)


def test_members_and_vocabularies_that_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(npz, "_MAX_WHOLE", 1000)
    bomb = npz_bytes(indptr=np.zeros(10_000, np.int64), shape=np.array([9999, 5]))
    refused(
        tmp_path,
        {"x.npz": bomb, "vocab.txt": VOCABULARY},
        "indptr.npy of .* bytes, .* for 125 documents; split the matrix",
    )
    monkeypatch.setattr(vocabulary, "_MAX_WORDS", 3)
    body = HEAD + "1 1 1\n1 2 2\n2 5 1\n"
    refused(tmp_path, {"docword.x.txt": body, "vocab.x.txt": VOCABULARY}, "more than 3 words")


def test_document_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "_MAX_FILE", 1 << 20)
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt.bz2").write_bytes(bz2.compress(b"word " * (1 << 20)))
    refused(tmp_path, {}, "a.txt.bz2 is too large", source=tmp_path / "texts")


@pytest.mark.parametrize("name", ["csv", "parquet"])
def test_row_without_end(tmp_path, monkeypatch, name):
    """None of whose fields is too long by itself."""
    for module in ("table", "parquet"):
        monkeypatch.setattr(f"topicmc.corpora.readers.{module}._MAX_ROW", 1 << 20)
    half = "word " * 120_000
    content = {
        "csv": f'id,text\n1,short\n"{half}\n","{half}"\n',
        "parquet": parquet_bytes(id=["1", half], text=["short", half]),
    }[name]
    where = {"csv": "line 3: .*a row", "parquet": "row 2:"}[name]
    refused(tmp_path, {f"x.{name}": content}, f"{where} .*more than 1 MiB", id="id")


def test_stop_words_that_are_no_utf8(tmp_path):
    files = {"x.txt": "red green\n", "stop": b"f\xfcr\n"}
    advice = "stop, line 1: not UTF-8 .*; save it as UTF-8$"
    refused(tmp_path, files, advice, stopwords=str(tmp_path / "stop"))


def test_entities_that_multiply(tmp_path):
    """The billion laughs: expat stops them."""
    lines = [f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 12)]
    body = f'<?xml version="1.0"?><!DOCTYPE m [<!ENTITY e0 "ha">{"".join(lines)}]>\n'
    body += DUMP_HEAD.replace("<text>word", "<text>&e11;") + "</mediawiki>"
    refused(tmp_path, {"x.xml": body}, "the XML is broken", format="wikipedia")


def parquet_bytes(**columns):
    buffer = io.BytesIO()
    parquet.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "options", "pattern", "error"),
    [
        (parquet_bytes(body=["a"], id=[1]), {}, "--field .has: body, id", UsageError),
        (parquet_bytes(body=["a"]), {"field": "x"}, "no column 'x' .has: body", DataError),
        (parquet_bytes(text=["a"]), {"title": "x"}, "no column 'x' .*--title", DataError),
        (parquet_bytes(text=["a"]), {"time": "x"}, "no column 'x' .*--time", DataError),
        (parquet_bytes(text=[1]), {}, "'text' holds int64, not text; .* --field", DataError),
        (parquet_bytes(text=[["a"]]), {}, "not text; pass --tokens text$", DataError),
        (
            parquet_bytes(text=["a"], x=pa.array([[10**12]], pa.list_(pa.timestamp("s")))),
            {"columns": ("x",)},
            "column x holds what cannot be text",
            DataError,
        ),
        (parquet_bytes(text=["a b"])[:-9], {}, "damaged or not Parquet", DataError),
        (parquet_bytes(text=["a b"])[:40], {}, "damaged or not Parquet", DataError),
        (b"PAR1" + b"\xff" * 50 + b"PAR1", {}, "damaged or not Parquet", DataError),
    ],
)
def test_parquet(tmp_path, content, options, pattern, error):
    refused(tmp_path, {"x.parquet": content}, r"x\.parquet", pattern, error=error, **options)


@pytest.mark.parametrize(
    ("name", "content"), [("x.parquet.gz", parquet_bytes(text=["a b"])), ("x.npz.gz", npz_bytes())]
)
def test_what_is_compressed_in_itself_is_not_read_when_it_is_compressed_again(
    tmp_path, name, content
):
    files = {name: gzip.compress(content), "vocab.txt": VOCABULARY}
    refused(tmp_path, files, rf"{re.escape(name)} is compressed by gzip: unpack it first")
