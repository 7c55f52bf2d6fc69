"""``topicmc report``: one file, whole or not at all, and what is said when it cannot be."""

import json
import os
import shutil
from pathlib import Path

import pytest
from shell import one_sentence

from topicmc.models.lda.run import TopicRun


def test_a_report_is_one_file_of_the_run(run, command):
    result = command("report", run, "-o", "page.html", "--threads", 1)
    assert (result.status, result.stdout) == (0, "page.html\n")
    page = Path("page.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "<title>Topics of corpus</title>" in page
    assert list(Path().glob(".page*")) == []


def test_names_that_are_no_utf8_are_titles(run, command):
    """Of a corpus in a folder of an old archive, and as they are given."""
    place = Path(os.fsdecode(b"caf\xe9"))
    Path("corpus").rename(place)
    facts = TopicRun.open(run).facts()["corpus"]
    TopicRun(run).update_facts(corpus={**facts, "path": str(place.resolve())})
    for title in ((), ("--title", os.fsdecode(b"\xe9t\xe9"))):
        result = command("report", run, "-o", "page.html", "--force", *title)
        assert result.status == 0, result.stderr
    assert "<title>?t?</title>" in Path("page.html").read_text(encoding="utf-8")


def test_report_json(run, command):
    result = command("report", run, "-o", "page.html", "--title", "Five", "--json")
    told = json.loads(result.stdout)
    assert set(told) == {"report", "bytes", "topics", "words", "converged"}
    assert (told["topics"], told["bytes"]) == (5, Path("page.html").stat().st_size)
    assert "<title>Five</title>" in Path("page.html").read_text(encoding="utf-8")


def test_a_report_without_the_corpus_says_what_it_lacks(run, command):
    shutil.move("corpus", "elsewhere")
    result = command("report", run, "-o", "page.html")
    assert result.status == 0
    assert result.stderr.startswith("Note: no coherence, documents or trends: ")
    assert "--corpus" in result.stderr
    moved = command("report", run, "-o", "moved.html", "--corpus", "elsewhere")
    assert (moved.status, moved.stderr) == (0, "")
    assert one_sentence(command("report", run, "-o", "no.html", "--corpus", "nowhere"))
    assert not Path("no.html").exists()


def test_a_corpus_that_nobody_may_look_at_is_one_that_is_gone(run, command):
    """As that of someone else is, and their stop words. Root may look anywhere, but at no name of
    so many letters."""
    facts = TopicRun.open(run).facts()["corpus"]
    reading = {**facts["reading"], "stopwords": "s" * 300}
    TopicRun(run).update_facts(corpus={**facts, "path": "/" + "x" * 300, "reading": reading})
    result = command("report", run, "-o", "page.html")
    assert result.status == 0 and "cannot be read (File name too long)" in result.stderr
    Path("new.txt").write_text("word003 word004\n")
    assert command("infer", run, "new.txt", "-o", "mixes.csv").status == 0
    assert command("topics", run, "--coherence", "npmi").status == 3


def test_a_note_on_a_damaged_corpus_has_one_full_stop(run, command):
    Path("corpus/corpus.json").write_text("{}")
    result = command("report", run, "-o", "page.html")
    assert result.status == 0
    assert "corpus.json cannot be read: prepare the corpus again.\n" in result.stderr


def test_the_place_is_tried_before_the_work(run, command, monkeypatch):
    """What cannot be written costs no waiting."""
    monkeypatch.setattr("topicmc.report.gather.gather", lambda *_, **__: pytest.fail("worked"))
    monkeypatch.setattr("topicmc.corpora.reading.read_known", lambda *_, **__: pytest.fail("read"))
    Path("file").write_text("")
    for place in ("file", "/proc/nowhere"):
        for name in ("report", "infer"):
            ending = {"report": "html", "infer": "csv"}[name]
            result = command(name, run, "-o", f"{place}/page.{ending}")
            assert f"{place}/page.{ending}: cannot be written" in one_sentence(result)


def test_periods_are_tried_before_the_work(run, command, monkeypatch):
    monkeypatch.setattr("topicmc.report.gather.posterior_of", lambda *_: pytest.fail("read"))
    result = command("report", run, "-o", "page.html", "--by", "month")
    assert result.status == 2 and "--time FIELD" in one_sentence(result)


def test_folders_are_made(run, command):
    assert command("report", run, "-o", "some/where/page.html").status == 0
    assert Path("some/where/page.html").is_file()
    assert command("corpus", "dropped", "corpus", "-o", "else/where/rows.csv").status == 0
    assert Path("else/where/rows.csv").is_file()


def test_what_stands_in_the_way_of_a_report(run, command):
    Path("thesis.html").write_text("mine")
    for arguments, word in (
        ((run, "-o", "thesis.html"), "--force"),
        ((run, "-o", "thesis.html", "--force"), "not a report"),
        ((run, "-o", run), "folder"),
        ((run, "-o", "page.html", "--level", 1), "level"),
        ((run, "-o", "page.pdf"), ".html or .htm"),
        ((run, "-o", "page"), ".html or .htm"),
        ((run, "-o", f"{run}/samples/page.html"), "whose files are read"),
        ((run, "-o", "corpus/page.html"), "whose files are read"),
    ):
        result = command("report", *arguments)
        assert result.status in (1, 2)
        assert word in one_sentence(result)
    result = command("report", run, "gone", "-o", "page.html")
    assert result.status == 3
    assert "gone" in one_sentence(result)
    assert Path("thesis.html").read_text() == "mine"
    assert not Path("page.html").exists()


def test_a_file_that_comes_meanwhile_stays(run, command, latecomer):
    refused = command("report", run, "-o", "page.html")
    assert refused.status == 2 and "page.html: exists already" in one_sentence(refused)
    assert Path("page.html").read_text() == "theirs"
