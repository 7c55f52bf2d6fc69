"""topicmc prepare and topicmc corpus, as a user meets them."""

import gzip
import json
import os
import re

import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import parquet

from topicmc.cli.corpus import corpus
from topicmc.cli.prepare import _FORMATS, prepare
from topicmc.corpora import Corpus, verify
from topicmc.corpora.readers.sources import FORMATS
from topicmc.errors import UsageError
from topicmc.models.lda.planning.planned import memory_of
from topicmc.models.lda.settings import TrainConfig

DOCWORD = "4\n5\n6\n1 1 2\n1 5 1\n2 2 1\n3 2 1\n3 3 40\n3 4 1\n"


@pytest.fixture
def source(tmp_path):
    (tmp_path / "docword.x.txt").write_text(DOCWORD)
    (tmp_path / "vocab.x.txt").write_text("red\ngreen\nblue\ngrey\nblack\n")
    return tmp_path / "docword.x.txt"


def run(command, *arguments):
    result = CliRunner().invoke(command, [str(a) for a in arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_summary(source, tmp_path):
    result = run(prepare, source, "-o", tmp_path / "out", "--shards", 2)
    assert result.stdout.splitlines() == [
        "documents   3 to train on, 0 held out; of 4 read, 1 empty",
        "vocabulary  5 words",
        "tokens      46 kept",
        "shards      2",
        f"written to  {tmp_path / 'out'}",
    ]


def test_json(source, tmp_path):
    result = run(prepare, source, "-o", tmp_path / "out", "--heldout", 1, "--seed", 4, "--json")
    told = json.loads(result.stdout)
    assert (told["documents"], told["heldout"], told["words"]) == (2, 1, 5)
    assert told["provenance"]["documents_empty"] == 1
    assert told["provenance"]["seed"] == 4


def test_every_option_reaches_the_corpus(tmp_path):
    (tmp_path / "x.csv").write_text("id,body\n1,red green\n2,red blue\n3,red the\n4,grey blue\n")
    (tmp_path / "stop").write_text("grey\n")
    options = ["--format", "csv", "--field", "body", "--min-df", "1", "--max-df", "0.7"]
    options += ["--keep", "2", "--stopwords", str(tmp_path / "stop"), "--heldout", "0", "--json"]
    told = json.loads(run(prepare, tmp_path / "x.csv", "-o", tmp_path / "out", *options).stdout)
    assert (tmp_path / "out" / "vocabulary.txt").read_text() == "blue\ngreen\n"
    assert told["documents"] == 3
    (tmp_path / "words").write_text("red\nblue\n")
    options = ["--field", "body", "--vocab", tmp_path / "words", "--force", "--json"]
    told = json.loads(run(prepare, tmp_path / "x.csv", "-o", tmp_path / "out", *options).stdout)
    assert (told["documents"], told["tokens"]) == (4, 5)


def test_lengths_of_words_and_repeated_documents_reach_the_corpus(tmp_path):
    (tmp_path / "x.txt").write_text("red green\nred green\nred bluebell\n")
    options = ["--max-length", 5, "--duplicates", "drop", "--min-df", 1, "--max-df", 1]
    options += ["--heldout", 0, "--json"]
    told = json.loads(run(prepare, tmp_path / "x.txt", "-o", tmp_path / "out", *options).stdout)
    assert (told["documents"], told["tokens"]) == (2, 3)
    assert set(Corpus.open(tmp_path / "out").vocabulary) == {"red", "green"}


ROWS = "text,name,year\nred green,One,1999\nred blue,,2003\nred grey,Three,soon\nthe,Four,1990\n"


def test_titles_and_times(tmp_path):
    (tmp_path / "x.csv").write_text(ROWS)
    options = ["-o", tmp_path / "out", "--title", "name", "--time", "year", "--force"]
    result = run(prepare, tmp_path / "x.csv", *options)
    assert result.stdout.splitlines()[3:5] == [
        "titles      2 of 3 documents",
        "times       2 of 3 documents, from 1999-01-01 to 2003-01-01",
    ]
    assert re.search(r"Warning: times .*: 1, the first 'soon' \(.*x\.csv, line 4\)", result.stderr)
    told = json.loads(run(prepare, tmp_path / "x.csv", *options, "--json").stdout)
    facts = json.loads(run(corpus, "info", tmp_path / "out", "--json").stdout)
    for known in (told, facts):
        assert (known["titles"], known["times"]) == (2, 2)
        assert (known["first_time"], known["last_time"]) == ("1999-01-01", "2003-01-01")
    lines = run(corpus, "info", tmp_path / "out").stdout.splitlines()
    assert lines[5:7] == [
        "left out     1 without words left",
        "titles       2 of 3 documents",
    ]
    added = json.loads(
        run(corpus, "add", tmp_path / "out", tmp_path / "x.csv", "--title", "year", "--json").stdout
    )
    assert list(Corpus.open(added["corpus"]).titles) == ["One", "", "Three", "1999", "2003", "soon"]


def test_titles_and_times_that_are_nowhere(tmp_path):
    (tmp_path / "x.csv").write_text("text,name,year\nred green,,\nred blue,,\n")
    options = ["-o", tmp_path / "out", "--title", "name", "--time", "year"]
    result = run(prepare, tmp_path / "x.csv", *options)
    assert "titles      none found" in result.stdout and "times       none found" in result.stdout
    assert result.stderr == ""


def test_formats_are_all_offered():
    assert set(_FORMATS) == {"auto", *FORMATS}


def test_given_words_that_are_in_no_document_are_counted(tmp_path):
    (tmp_path / "x.txt").write_text("new york\nred green\n")
    (tmp_path / "words").write_text("new_york\nred\nblue\n")
    options = ["-o", tmp_path / "out", "--vocab", tmp_path / "words", "--force"]
    told = run(prepare, tmp_path / "x.txt", *options).stdout
    assert "vocabulary  3 words, 2 in no document\n" in told
    told = run(prepare, tmp_path / "x.txt", *options, "--phrases").stdout
    assert "vocabulary  3 words, 1 in no document\n" in told


def test_merge_add_reshard(source, tmp_path):
    for name in ("a", "twin"):
        run(prepare, source, "-o", tmp_path / name)
    told = run(corpus, "merge", tmp_path / "a", tmp_path / "twin", "-o", tmp_path / "b").stdout
    assert told == (
        f"{tmp_path / 'b'}: 6 documents to train on, 0 held out, 5 words, 92 tokens, 2 shards\n"
    )
    told = json.loads(run(corpus, "add", tmp_path / "a", source, "--json").stdout)
    assert (told["corpus"], told["documents"]) == (str(tmp_path / "a"), 6)
    with pytest.raises(UsageError, match="--force goes with -o"):
        run(corpus, "add", tmp_path / "a", source, "--force")
    options = ["--shards", 3, "-o", tmp_path / "c", "--json"]
    cut = json.loads(run(corpus, "reshard", tmp_path / "a", *options).stdout)
    assert (cut["shards"], cut["tokens"]) == (3, 92)
    run(corpus, "verify", tmp_path / "c")
    with pytest.raises(UsageError, match="merge: name two corpora or more"):
        run(corpus, "merge", tmp_path / "a", "-o", tmp_path / "d")
    with pytest.raises(UsageError, match="would count 2 times; name it once"):
        run(corpus, "merge", *(tmp_path / name for name in ("a", "twin", "a")), "-o", tmp_path)
    with pytest.raises(UsageError, match="--force"):
        run(corpus, "reshard", tmp_path / "a", *options)


def test_a_merge_warns_of_rules_that_differ(tmp_path):
    (tmp_path / "x.txt").write_text("red green\nred blue\n")
    for name, stop in (("a", "none"), ("b", "en")):
        run(prepare, tmp_path / "x.txt", "-o", tmp_path / name, "--stop-words", stop)
    told = run(corpus, "merge", tmp_path / "a", tmp_path / "b", "-o", tmp_path / "c").stderr
    assert told == (
        "Warning: the corpora were read with different rules (stop words): new documents will be"
        f" read as those of {tmp_path / 'a'}.\n"
    )


def test_reshard_shuffled(tmp_path):
    """By the seed, 0 unless it is given, which the history tells."""
    words = [a + b for a in "abcdefgh" for b in "ijklm"]
    (tmp_path / "x.txt").write_text("".join(f"{word} {word}\n" for word in words))
    run(prepare, tmp_path / "x.txt", "-o", tmp_path / "a", "--heldout", 0, "--min-df", 1)
    orders, seeds = [], []
    for number, options in enumerate(((), ("--shuffle",), ("--shuffle", "--seed", 5))):
        place = tmp_path / str(number)
        run(corpus, "reshard", tmp_path / "a", "--shards", 2, "-o", place, *options)
        made = Corpus.open(place)
        orders.append([int(w) for i in range(2) for w in made.shard(i).word_ids])
        seeds.append(made.provenance["history"][-1].get("shuffled"))
    assert seeds == [None, 0, 5]
    assert sorted(orders[1]) == sorted(orders[2]) == orders[0]
    assert orders[0] != orders[1] != orders[2] != orders[0]


def test_dump_that_ends_too_early_is_told(tmp_path):
    page = "<page><title>{0}</title><revision><text>{1}</text></revision></page>"
    head = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/">'
    body = page.format("A", "word " * 60) + page.format("B", "#REDIRECT [[A]]")
    (tmp_path / "x.xml").write_text(head + body + "<page><title>C")
    result = run(prepare, tmp_path / "x.xml", "-o", tmp_path / "out")
    assert "Warning: " in result.stderr and "read up to page 2 ('B')" in result.stderr
    assert "of 2 read, 1 redirects" in result.stdout
    added = run(corpus, "add", tmp_path / "out", tmp_path / "x.xml")
    assert "read up to page 2 ('B')" in added.stderr
    assert "of 2 documents read, 1 redirects\n" in added.stderr


def test_info(source, tmp_path):
    run(prepare, source, "-o", tmp_path / "out")
    lines = run(corpus, "info", tmp_path / "out", "--topics", 4).stdout.splitlines()
    assert lines[:7] == [
        f"corpus       {tmp_path / 'out'}",
        "documents    3 to train on, 0 held out",
        "vocabulary   5 words",
        "tokens       46 to train on, 0 held out",
        "entries      6 to train on, 0 held out",
        "left out     1 empty",
        "shards       1 of 3 to 3 documents",
    ]
    assert re.fullmatch(r"run on disk  up to \d\.\d kB", lines[8])
    assert re.fullmatch(r"memory       \d\d\.\d MB for 4 topics by adlda, on one worker", lines[9])
    assert lines[12:18] == [
        "documents by tokens",
        "          1 to 1                    1  ████████████████████████████████████████",
        "          2 to 4                    1  ████████████████████████████████████████",
        "          5 to 9                    0",
        "         10 to 19                   0",
        "         20 to 49                   1  ████████████████████████████████████████",
    ]
    assert lines[-1] == "blue 40, red 2, green 2, grey 1, black 1"


def test_info_and_verify_json(source, tmp_path):
    made = json.loads(run(prepare, source, "-o", tmp_path / "out", "--json").stdout)
    facts = json.loads(run(corpus, "info", tmp_path / "out", "--json").stdout)
    assert facts["lengths"] == [[1, 2, 1], [2, 5, 1], [5, 10, 0], [10, 20, 0], [20, 50, 1]]
    assert facts["frequent"][0] == ["blue", 40]
    assert facts["topics"] == 4 and facts["memory"] > 0  # as many as 46 tokens bear
    told = json.loads(run(corpus, "info", tmp_path / "out", "--topics", 4, "--json").stdout)
    config, needed = memory_of(TrainConfig(topics=4), Corpus.open(tmp_path / "out"))
    assert (told["sampler"], told["memory"]) == (config.sampler, needed)
    with pytest.raises(UsageError, match="--topics 5 is more than"):
        run(corpus, "info", tmp_path / "out", "--topics", 5)
    checked = run(corpus, "verify", tmp_path / "out", "--json")
    assert json.loads(checked.stdout)["sound"] is True
    assert json.loads(checked.stdout)["fingerprint"] == facts["fingerprint"] == made["fingerprint"]
    assert "checking shards/00000" in checked.stderr


def test_names_that_are_no_utf8(tmp_path):
    """Of files, as old archives have them, and of fields."""
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    text = json.dumps({"text": "red green", "\ud800": 1})
    (folder / "x.jsonl").write_text(text + "\n" + text + "\n")
    result = run(prepare, folder / "x.jsonl", "-o", tmp_path / "out", "--keep", "all")
    assert result.exit_code == 0
    run(corpus, "verify", tmp_path / "out")
    (column,) = Corpus.open(tmp_path / "out").index["columns"]
    assert column == "?"


@pytest.mark.parametrize("ending", ["jsonl.gz", "parquet"])
def test_sources_that_pyarrow_opens_may_have_such_names_too(tmp_path, ending):
    path = tmp_path / os.fsdecode(f"caf\xe9.{ending}".encode("latin-1"))
    with path.open("wb") as stream:
        if ending == "parquet":
            parquet.write_table(pa.table({"text": ["red green"] * 2}), stream)
        else:
            stream.write(gzip.compress(b'{"text": "red green"}\n' * 2))
    assert run(prepare, path, "-o", tmp_path / "out").exit_code == 0
    assert Corpus.open(tmp_path / "out").n_docs == 2


@pytest.mark.parametrize("name", ["mixes.csv", "run"])
def test_what_lies_in_the_folder_of_a_corpus_is_not_lost(source, tmp_path, name):
    """Whether the corpus is added to or replaced."""
    place = tmp_path / "out"
    run(prepare, source, "-o", place)
    before = verify(place).fingerprint
    (place / name).write_text("precious")
    for arguments in (
        (corpus, "add", place, source),
        (prepare, source, "-o", place, "--force"),
        (corpus, "reshard", place, "-o", place, "--shards", 1, "--force"),
    ):
        with pytest.raises(UsageError, match=f"out: holds {name}, which is no part of a corpus"):
            run(*arguments)
    assert (place / name).read_text() == "precious"
    assert verify(place).fingerprint == before
    (place / name).unlink()
    assert run(corpus, "add", place, source).exit_code == 0


def test_the_current_folder_is_not_replaced(source, tmp_path, monkeypatch):
    """It would be another one by its name, and empty for whoever stands in it."""
    run(prepare, source, "-o", tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    before = sorted(tmp_path.rglob("*"))
    for arguments in ((prepare, source, "-o", ".", "--force"), (corpus, "add", ".", source)):
        with pytest.raises(UsageError, match=r"\.: is or holds the folder that you are in"):
            run(*arguments)
    after = sorted(tmp_path.rglob("*"))
    assert [path for path in after if path.name != ".checked.json"] == before


def test_a_number_of_words_has_one_sign(source, tmp_path):
    assert run(prepare, source, "-o", tmp_path / "out", "--keep", "+3").exit_code == 0
    with pytest.raises(UsageError, match="keep"):
        run(prepare, source, "-o", tmp_path / "new", "--keep=+-5")
