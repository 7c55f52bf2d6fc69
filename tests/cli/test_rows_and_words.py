"""Ids, columns and pipes together with the ways to cut a text, from ``prepare`` to ``infer``."""

import csv
import json
import os
import shutil
import threading
from itertools import product
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np
import pytest
from fake_runs import make_run
from shell import one_sentence

from topicmc.corpora import Corpus
from topicmc.corpora.remembered import told_of as reading_of

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


def run_on(name: str, words: list[str], **more: Any) -> None:
    """A run on a corpus, over these words, in place of one that is there; and what more it knows of
    the corpus."""
    shutil.rmtree("run", ignore_errors=True)
    corpus = Corpus.open(name)
    theta = np.random.default_rng(0).gamma(np.ones((len(words), 2))) + 1e-3
    run = make_run(Path("run"), {0: [theta]}, fingerprint=corpus.fingerprint)
    told = {"path": f"../{name}", "tokenizer": corpus.provenance["tokenizer"], **more}
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


def test_a_run_knows_how_its_corpus_was_read(command):
    """Which may have been moved, or added to."""
    write("l.csv", LATIN, "~")
    named = (*NAMED, "--delimiter", "~", "--stop-words", "de")
    assert command("prepare", "l.csv", "-o", "c", *named, *KEPT).status == 0
    run_on("c", ["façade", "naïve"], reading=reading_of(Corpus.open("c")))
    assert command("infer", "run", "l.csv", "-o", "m.jsonl").status == 0
    Path("c").rename("d")
    assert command("infer", "run", "l.csv", "-o", "n.jsonl").status == 0
    assert told_of("n.jsonl") == told_of("m.jsonl")
    assert [(row["id"], row["year"]) for row in told_of("m.jsonl")] == [
        ("7", "1999"),
        ("007", "2001"),
    ]


@pytest.mark.parametrize("joined", [True, False])
def test_phrases_are_joined_where_those_of_the_corpus_were(command, joined):
    """Else words with an underscore are words."""
    lines = ["new york", "old york", "new house"] * 10
    fillers = [f"{first}{second}x" for first, second in product(ascii_lowercase, repeat=2)]
    lines += [f"{word} {word}z" for word in fillers]
    Path("t.txt").write_text("\n".join(lines) + "\nnew_york\n")
    cut = ("--phrases",) if joined else ("--token-pattern", r"\S+")
    assert command("prepare", "t.txt", "-o", "c", *cut, *KEPT).status == 0
    words = ["new", "york", "new_york"]
    assert "new_york" in Corpus.open("c").vocabulary
    run_on("c", words, reading=reading_of(Corpus.open("c")))
    Path("x.txt").write_text("new york\n")
    assert command("infer", "run", "x.txt", "-o", "m.jsonl").status == 0
    assert told_of("m.jsonl")[0]["tokens"] == (1 if joined else 2)


def test_stop_words_are_found_from_any_folder(command, monkeypatch):
    Path("mine.txt").write_text("und\nthe\n")
    named = ("--field", "body", "--delimiter", "~", "--stop-words", "mine.txt")
    assert command("prepare", "t.csv", "-o", "c", *named, *KEPT[:4]).status == 0
    Path("below").mkdir()
    monkeypatch.chdir("below")
    write("more.csv", [{"body": "und the comet heard"}], "~")
    added = command("corpus", "add", "../c", "more.csv", "--new-words", "-o", "d")
    assert added.status == 0, added.stderr
    assert "heard" in Corpus.open("d").vocabulary and "the" not in Corpus.open("d").vocabulary
    Path("../mine.txt").unlink()
    refused = command("corpus", "add", "../c", "more.csv", "--new-words", "-o", "e")
    assert refused.status == 3 and "c was pruned by stop words that are gone" in one_sentence(
        refused
    )


def test_what_add_left_out_is_told_of_held_out_documents_too(command):
    named = ("--field", "body", "--delimiter", "~")
    assert command("prepare", "t.csv", "-o", "c", *named, *KEPT).status == 0
    new = [{"body": "comet unheard of"}] * 2 + [{"body": "und und"}] * 2 + [{"body": "unheard"}] * 4
    write("more.csv", new, "~")
    done = command(
        "corpus", "add", "c", "more.csv", "-o", "d", "--new-words", "--heldout", 4, "--json"
    )
    assert done.status == 0, done.stderr
    made, before = Corpus.open("d"), Corpus.open("c")
    step = made.provenance["history"][-1]
    kept = made.n_tokens + made.heldout.counts.sum() - before.n_tokens
    assert step["tokens_read"] - step["tokens_left_out"] - step["tokens_unknown"] == kept
    n_docs = made.n_docs + made.n_heldout - before.n_docs
    assert step["documents_read"] - sum(step["dropped"].values()) == n_docs


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


def test_ids_that_name_other_documents_already_are_told(command):
    named = ("--field", "body", "--id", "nr", "--delimiter", "~")
    write("t.csv", [{"body": "comet", "nr": n} for n in ("a", "é", "b", "c")], "~")
    assert command("prepare", "t.csv", "-o", "c", *named, *KEPT[:4], "--heldout", 1).status == 0
    new = ("aa", "b", "", "é", "éa", "c", "a")
    write("more.csv", [{"body": "comet", "nr": n} for n in new], "~")
    told = "4 documents have the id of one that was there before, the first 'b'"
    added = command("corpus", "add", "c", "more.csv", "-o", "d")
    assert added.status == 0 and told in added.stderr
    known = "Note: 7 of the new documents repeat one that was there before; all are added.\n"
    assert known in added.stderr
    assert command("prepare", "more.csv", "-o", "m", *named, *KEPT).status == 0
    merged = command("corpus", "merge", "c", "m", "-o", "e")
    assert merged.status == 0 and told in merged.stderr
    write("more.csv", [{"body": "comet", "nr": n} for n in ("d", "ab", "ba")], "~")
    added = command("corpus", "add", "c", "more.csv", "-o", "f")
    assert added.status == 0 and "the id of" not in added.stderr
    assert "1 held-out document is equal to one to train on" in added.stderr


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


def test_a_vocabulary_may_come_through_a_pipe(command):
    """Which nobody can open a second time."""
    words = ["".join(letters) for letters in product(ascii_lowercase, repeat=3)][:5000]
    content = "".join(f"{word}\n" for word in words).encode()
    ours, theirs = os.pipe()

    def send() -> None:
        with os.fdopen(theirs, "wb") as stream:
            stream.write(content)

    threading.Thread(target=send, daemon=True).start()
    Path("x.txt").write_text(f"{words[0]} {words[-1]}\n")
    given = ("--vocab", f"/dev/fd/{ours}", "--heldout", 0)
    done = command("prepare", "x.txt", "-o", "c", *given)
    os.close(ours)
    assert done.status == 0, done.stderr
    assert Corpus.open("c").vocabulary == words and Corpus.open("c").n_tokens == 2
    Path("x.ldac").write_text("2 0:1 4999:1\n")
    given = ("--vocab", through_pipe("fifo", content), "--heldout", 0)
    done = command("prepare", "x.ldac", "-o", "d", *given)
    assert done.status == 0, done.stderr
    assert Corpus.open("d").vocabulary == words
    refused = command("prepare", "x.ldac", "-o", "e", "--vocab", "x.ldac")
    assert refused.status == 2 and "--vocab x.ldac: is a source, too" in one_sentence(refused)


def test_quotes_may_be_part_of_the_text(command):
    """As in tables that nobody quoted. Taken for quotes they would make one row of three."""
    Path("q.tsv").write_text('nr\tbody\n7\t"gpt and comet\n8\tcomet\n9\tgpt"\n')
    named = ("--field", "body", "--id", "nr")
    refused = command("prepare", "q.tsv", "-o", "c", *named, *KEPT)
    assert refused.status == 3
    assert "lines 2 to 4: quotes make one row of them" in one_sentence(refused)
    done = command("prepare", "q.tsv", "-o", "one", *named, *KEPT, "--quote", '"')
    assert done.status == 0 and Corpus.open("one").ids[:] == ["7"]
    done = command("prepare", "q.tsv", "-o", "c", *named, *KEPT, "--quote", "none")
    assert done.status == 0 and Corpus.open("c").ids[:] == ["7", "8", "9"]
    run_on("c", ["comet", "gpt"])
    done = command("infer", "run", "q.tsv", "-o", "m.jsonl")
    assert [row["id"] for row in told_of("m.jsonl")] == ["7", "8", "9"], done.stderr
    assert command("corpus", "add", "c", "q.tsv").status == 0
    assert Corpus.open("c").ids[:] == ["7", "8", "9"] * 2


def test_kept_columns_of_a_corpus_are_left_out_where_none_are_asked_for(command):
    named = ("--field", "body", "--delimiter", "~", "--keep", "year")
    assert command("prepare", "t.csv", "-o", "c", *named, *KEPT).status == 0
    run_on("c", ["comet", "gpt"])
    for sources in ((), ("c",), ("t.csv",)):
        for options, has in (((), True), (("--keep", "none"), False)):
            done = command("infer", "run", *sources, "-o", "m.jsonl", "--force", *options)
            assert done.status == 0, done.stderr
            assert all(("year" in row) is has for row in told_of("m.jsonl"))


def test_ids_that_come_again_are_told_and_lists_are_kept_as_they_are(command):
    rows = [{"nr": nr, "text": "gpt comet", "tags": ["é"]} for nr in "aba"]
    Path("r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    named = ("--id", "nr", "--keep", "tags")
    assert command("prepare", "r.jsonl", "-o", "c", *named, *KEPT).status == 0
    run_on("c", ["comet", "gpt"])
    for source in ("r.jsonl", "c"):
        done = command("infer", "run", source, "-o", "m.csv", "--force")
        assert "Warning: 1 row has the id of an earlier one" in done.stderr
        assert Path("m.csv").read_text(encoding="utf-8").count("é") == 3


def test_a_quote_parts_no_columns(command, monkeypatch):
    """From Python 3.13 on csv.reader refuses to be told so."""
    plain = csv.reader

    def strict(lines, delimiter=",", quotechar='"', **options):
        if delimiter == quotechar:
            raise ValueError("bad delimiter or quotechar value")
        return plain(lines, delimiter=delimiter, quotechar=quotechar, **options)

    monkeypatch.setattr(csv, "reader", strict)
    Path("x.csv").write_text("nr;body\n7;|gpt; comet|\n")
    named = ("--field", "body", "--id", "nr", "--delimiter", ";", "--quote", "|")
    done = command("prepare", "x.csv", "-o", "c", *named, *KEPT)
    assert done.status == 0, done.stderr
    run_on("c", ["comet", "gpt"])
    done = command("infer", "run", "x.csv", "-o", "m.jsonl")
    assert done.status == 0, done.stderr
    assert [(row["id"], row["tokens"]) for row in told_of("m.jsonl")] == [("7", 2)]
    done = command("corpus", "add", "c", "x.csv")
    assert done.status == 0, done.stderr
    assert Corpus.open("c").ids[:] == ["7", "7"]
