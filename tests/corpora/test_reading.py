"""New documents against a given vocabulary: each keeps its place."""

import numpy as np
import pytest

from topicmc.corpora import prepare, streams
from topicmc.corpora.readers import Tally, triplets
from topicmc.corpora.reading import read_known
from topicmc.corpora.text.tokenizer import Tokenizer
from topicmc.errors import DataError, UsageError

WORDS = ["ant", "bee", "cow"]


def read(path, *others, **options):
    """Tokens and unknown tokens of each document, and the tally."""
    tally = Tally()
    found = list(read_known([path, *others], WORDS, tally, **options))
    known = np.concatenate([part.documents.sizes for part in found])
    return known, np.concatenate([part.unknown for part in found]), tally


@pytest.mark.parametrize("block", [1 << 20, 64])
def test_documents_without_a_line_keep_their_place(tmp_path, monkeypatch, block):
    """Gaps narrow and wide, at the start, within and at the end, whatever a block holds."""
    monkeypatch.setattr(triplets, "line_blocks", lambda s: streams.line_blocks(s, block))
    numbers = [3, 4, 6, 70, 71, 71, 200, 70_000, 70_001]
    lines = [f"{number} {i % 4 + 1} {i + 1}" for i, number in enumerate(numbers)]
    path = tmp_path / "docword.gaps.txt"
    path.write_text("\n".join(["70010", "4", "9", *lines]) + "\n")
    (tmp_path / "vocab.gaps.txt").write_text("cow\nant\nother\nbee\n")
    known, unknown, tally = read(path)
    assert len(known) == len(unknown) == tally.n_read == 70_010
    expected = np.zeros(70_010, int), np.zeros(70_010, int)
    for i, number in enumerate(numbers):
        expected[i % 4 == 2][number - 1] += i + 1
    assert (known == expected[0]).all()
    assert (unknown == expected[1]).all()


def test_a_header_that_promises_more_documents_than_can_have_rows_is_refused(tmp_path):
    path = tmp_path / "docword.lie.txt"
    path.write_text("999999999999999999\n3\n1\n1 1 1\n")
    (tmp_path / "vocab.lie.txt").write_text("ant\nbee\ncow\n")
    with pytest.raises(DataError, match="promises 999999999999999999 documents"):
        read(path)


def test_short_articles_are_passed_over_and_counted(tmp_path):
    pages = "".join(
        f"<page><title>{title}</title><ns>0</ns><revision><text>{text}</text></revision></page>"
        for title, text in (("long", "ant other " * 30), ("stub", "bee"))
    )
    path = tmp_path / "dump.xml"
    path.write_text(
        f'<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/">{pages}</mediawiki>'
    )
    known, unknown, tally = read(path)
    assert (known.tolist(), unknown.tolist(), tally.skipped) == ([30], [30], 1)


def test_options_that_do_not_fit_are_refused(tmp_path):
    path, ids = tmp_path / "new.txt", tmp_path / "docword.x.txt"
    path.write_text("ant bee\n")
    ids.write_text("1\n3\n1\n1 1 2\n")
    prepare(path, tmp_path / "c")
    with pytest.raises(UsageError, match="only sources of word ids need one"):
        read(path, vocab=path)
    with pytest.raises(UsageError, match="^--tokens goes with text, and this is docword"):
        read(ids, tokenizer=Tokenizer(field="x"))
    with pytest.raises(UsageError, match="^--tokenizer goes with text; a prepared corpus"):
        read(tmp_path / "c", tokenizer=Tokenizer(function="x:y"))


@pytest.mark.parametrize(
    ("written", "encoding", "is_utf8"),
    [
        ("café", "latin-1", False),
        ("plain", "latin-1", True),
        ("plain", "utf-16-le", False),
        ("カフェ", "iso2022_jp", False),
        ("x" * ((1 << 20) - 1) + "é", "utf-8", True),  # a letter over the border of two chunks
        ("é", "utf-8", True),
    ],
)
def test_an_encoding_for_what_is_not_utf8(tmp_path, written, encoding, is_utf8):
    path = tmp_path / "x.txt"
    path.write_bytes(written.encode(encoding))
    asked = "latin-1" if encoding == "utf-8" else encoding
    found = streams.unless_utf8(path, asked)
    assert found == (None if is_utf8 else asked)
    assert path.read_bytes().decode(found or "utf-8") == written


def test_half_a_letter_at_the_end_is_no_utf8(tmp_path):
    (tmp_path / "x.txt").write_bytes("café".encode()[:-1])
    assert streams.unless_utf8(tmp_path / "x.txt", "latin-1") == "latin-1"


def test_files_of_a_folder_have_ids_unless_they_are_tables(tmp_path):
    for name, content in {"texts/a.txt": "ant bee", "tables/a.csv": "text\nant bee\n"}.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(content)
    assert read_known([tmp_path / "texts"], WORDS, Tally()).ids
    assert not read_known([tmp_path / "tables"], WORDS, Tally()).ids
