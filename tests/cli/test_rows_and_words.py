"""Ids, columns and pipes together with the ways to cut a text, from ``prepare`` to ``infer``."""

import csv
import json
import os
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest
from fake_runs import make_run
from shell import one_sentence

from topicmc.corpora import Corpus

KEPT = ("--min-df", 1, "--max-df", 1, "--heldout", 0)
ROWS = [
    {"nr": "7", "year": "1999", "body": "covid19 und the gpt-4", "words": "Ab cd"},
    {"nr": "007", "year": "2001", "body": "", "words": ""},
    {"nr": "b", "year": "2003", "body": "gpt-4 gpt-4 comet19", "words": "cd cd zz"},
]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("t.csv", ROWS, "~")


def write(name: str, rows: list[dict[str, str]], delimiter: str) -> None:
    with Path(name).open("w", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0], delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)


def run_on(name: str, words: list[str]) -> None:
    """A run on a corpus, over these words, in place of one that is there."""
    shutil.rmtree("run", ignore_errors=True)
    corpus = Corpus.open(name)
    theta = np.random.default_rng(0).gamma(np.ones((len(words), 2))) + 1e-3
    run = make_run(Path("run"), {0: [theta]}, fingerprint=corpus.fingerprint)
    told = {"path": f"../{name}", "tokenizer": corpus.provenance["tokenizer"]}
    run.update_facts(
        vocabulary=run.write_vocabulary(words), corpus={**run.facts()["corpus"], **told}
    )


def told_of(name: str) -> list[dict]:
    return [json.loads(line) for line in Path(name).read_text().splitlines()]


def through_pipe(name: str, content: bytes) -> str:
    os.mkfifo(name)
    threading.Thread(target=Path(name).write_bytes, args=[content], daemon=True).start()
    return name


def test_infer_takes_the_tokenizer_and_the_names_of_the_corpus(command):
    """Words with digits and hyphens, stop words of two languages, and an odd delimiter."""
    named = ("--field", "body", "--id", "nr", "--keep", "year", "--keep", 500, "--delimiter", "~")
    cut = ("--allow", "digits,hyphens", "--stop-words", "de,en")
    done = command("prepare", "t.csv", "-o", "c", *named, *cut, *KEPT)
    assert done.status == 0, done.stderr
    corpus = Corpus.open("c")
    assert corpus.vocabulary == ["comet19", "covid19", "gpt-4"]
    assert corpus.provenance["pruning"]["keep"] == 500 and corpus.index["columns"] == ["year"]
    run_on("c", ["covid19", "gpt-4"])
    result = command("infer", "run", "t.csv", "-o", "new.jsonl", "--json")
    assert result.status == 0, result.stderr
    counted = json.loads(result.stdout)
    assert (counted["stop_words"], counted["unknown_words"]) == (2, 3)
    found = told_of("new.jsonl")
    assert [row["id"] for row in found] == ["7", "007", "b"]
    assert [row["year"] for row in found] == ["1999", "2001", "2003"]
    assert [row["tokens"] for row in found] == [2, 0, 2]
    assert command("infer", "run", "-o", "own.jsonl").status == 0
    own = told_of("own.jsonl")
    assert [row["id"] for row in own] == ["7", "007", "b"]
    assert [row["mix"] for row in own] == [row["mix"] for row in found]
    write("other.csv", ROWS, ",")  # the delimiter of the corpus is tried first, no more
    assert command("infer", "run", "other.csv", "-o", "other.jsonl").status == 0
    assert [(row["id"], row["mix"]) for row in told_of("other.jsonl")] == [
        (row["id"], row["mix"]) for row in found
    ]
    refused = command("infer", "run", "-o", "no.jsonl", "--tokens", "words")
    assert refused.status == 2 and "a prepared corpus has its own" in one_sentence(refused)


def test_lists_of_words_have_ids_and_may_come_through_pipes(command):
    named = ("--id", "nr", "--delimiter", "~")
    cut = ("--tokens", "words", "--stop-words", "none")
    done = command("prepare", "t.csv", "-o", "c", *named, *cut, "--keep", "all", *KEPT)
    assert done.status == 0, done.stderr
    corpus = Corpus.open("c")
    assert corpus.vocabulary == ["Ab", "cd", "zz"] and corpus.ids[:] == ["7", "b"]
    assert corpus.columns[0] == {"year": "1999", "body": ROWS[0]["body"]}
    content = Path("t.csv").read_bytes()
    options = (*named, "--keep", "year", "--format", "csv")
    added = command("corpus", "add", "c", through_pipe("one", content), "-o", "d", *options)
    assert added.status == 0, added.stderr
    assert Corpus.open("d").ids[:] == ["7", "b"] * 2
    assert Corpus.open("d").columns[2] == {"year": "1999"}
    assert Corpus.open("d").n_tokens == 2 * corpus.n_tokens == 10
    run_on("c", ["Ab", "cd"])
    done = command("infer", "run", through_pipe("two", content), "-o", "m.jsonl", "--format", "csv")
    assert done.status == 0, done.stderr
    assert [(row["id"], row["tokens"]) for row in told_of("m.jsonl")] == [
        ("7", 2), ("007", 0), ("b", 2),
    ]  # fmt: skip
    both = command("infer", "run", "t.csv", "-o", "no.jsonl", "--field", "body")
    assert both.status == 2 and "exclude each other" in one_sentence(both)


def test_a_field_of_the_corpus_gives_way_to_tokens(command):
    named = ("--field", "body", "--delimiter", "~", "--stop-words", "none")
    assert command("prepare", "t.csv", "-o", "c", *named, *KEPT).status == 0
    run_on("c", ["Ab", "cd"])
    done = command("infer", "run", "t.csv", "-o", "m.jsonl", "--tokens", "words")
    assert done.status == 0, done.stderr
    assert [row["tokens"] for row in told_of("m.jsonl")] == [2, 0, 2]


LATIN = [
    {"nr": "7", "year": "1999", "body": "façade naïve", "called": "É"},
    {"nr": "007", "year": "2001", "body": "naïve façade façade", "called": "Ü"},
]
NAMED = ("--field", "body", "--id", "nr", "--keep", "year", "--title", "called", "--time", "year")


def test_further_documents_are_read_as_the_corpus_was(command):
    """Names, delimiter and encoding are told once; a file in UTF-8 is read as that all the same."""
    write("u.csv", LATIN, "~")
    in_latin = Path("u.csv").read_bytes().decode().encode("latin-1")
    Path("l.csv").write_bytes(in_latin)
    how = (*NAMED, "--delimiter", "~", "--encoding", "latin-1")
    done = command("prepare", "l.csv", "-o", "c", *how, *KEPT)
    assert done.status == 0, done.stderr
    run_on("c", ["façade", "naïve"])
    for number, source in enumerate(("l.csv", "u.csv")):
        added = command("corpus", "add", "c", source, "-o", f"d{number}")
        assert added.status == 0, added.stderr
        corpus = Corpus.open(f"d{number}")
        assert corpus.ids[:] == ["7", "007"] * 2
        assert corpus.columns[:] == [{"year": "1999"}, {"year": "2001"}] * 2
        assert corpus.titles[:] == ["É", "Ü"] * 2
        assert corpus.times.astype(str).tolist() == ["1999-01-01", "2001-01-01"] * 2
        assert corpus.n_tokens == 10
        done = command("infer", "run", source, "-o", f"m{number}.jsonl")
        assert done.status == 0, done.stderr
        assert [(row["id"], row["tokens"]) for row in told_of(f"m{number}.jsonl")] == [
            ("7", 2), ("007", 3),
        ]  # fmt: skip
    assert told_of("m0.jsonl") == told_of("m1.jsonl")
    wrong = command("infer", "run", "l.csv", "-o", "no.jsonl", "--encoding", "utf-8")
    assert wrong.status == 3 and "not UTF-8" in one_sentence(wrong)
    lacking = command("corpus", "add", "c", "l.csv", "-o", "e", "--id", "number")
    assert lacking.status == 3 and "pass another --id" in one_sentence(lacking)
    for option in ("--id", "--title", "--keep"):
        added = command("corpus", "add", "c", "l.csv", "-o", "e", "--force", option, "none")
        assert added.status == 0, added.stderr
        corpus = Corpus.open("e")
        assert (corpus.ids[2], corpus.titles[2], corpus.columns[2]) == (
            "" if option == "--id" else "7",
            "" if option == "--title" else "É",
            {} if option == "--keep" else {"year": "1999"},
        )


def test_further_documents_without_ids_are_told(command):
    named = ("--field", "body", "--id", "nr", "--delimiter", "~")
    assert command("prepare", "t.csv", "-o", "c", *named, *KEPT).status == 0
    write("more.csv", [{"body": "comet gpt"}], "~")
    added = command("corpus", "add", "c", "more.csv", "-o", "d")
    assert added.status == 0 and "1 row has no id" in added.stderr
    write("more.csv", [{"body": "comet gpt", "nr": "x"}], "~")
    added = command("corpus", "add", "c", "more.csv", "-o", "e")
    assert added.status == 0 and added.stderr == ""
    write("more.csv", [{"body": "comet gpt unheard unheard of", "nr": "y"}, {"nr": "z"}], "~")
    added = command("corpus", "add", "c", "more.csv", "-o", "f")
    told = "of 2 documents read, 1 empty, 3 tokens of words left out"
    assert added.status == 0 and told in added.stderr


def test_a_pipe_is_taken_for_what_it_must_be(command):
    """A source with fields that is neither JSON Lines nor Parquet is CSV; and a pipe into infer is
    read as the source of the corpus was."""
    content = Path("t.csv").read_bytes()
    plain = ("--delimiter", "~")
    refused = command("prepare", through_pipe("zero", content), "-o", "c", *KEPT)
    assert refused.status == 3 and "pass --format" in one_sentence(refused)
    named = ("--field", "body", *plain, "--id", "nr")
    done = command("prepare", through_pipe("one", content), "-o", "c", *named, *KEPT)
    assert done.status == 0, done.stderr
    assert Corpus.open("c").ids[:] == ["7", "b"]
    run_on("c", ["comet", "gpt"])
    done = command("infer", "run", through_pipe("two", content), "-o", "m.jsonl")
    assert done.status == 0, done.stderr
    assert [row["id"] for row in told_of("m.jsonl")] == ["7", "007", "b"]
    Path("lines.txt").write_text("comet gpt\ngpt\n")
    assert command("prepare", "lines.txt", "-o", "t", *KEPT).status == 0
    run_on("t", ["comet", "gpt"])
    done = command("infer", "run", through_pipe("three", b"gpt gpt comet"), "-o", "n.jsonl")
    assert done.status == 0, done.stderr
    assert [row["tokens"] for row in told_of("n.jsonl")] == [3]
