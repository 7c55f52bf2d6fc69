"""``topicmc effects`` on a table."""

import csv
import json
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from shell import one_sentence, show_bars, topicmc

from topicmc.models.lda.run import TopicRun
from topicmc.posterior.passes import told_of_samples
from topicmc.topics.document_groups import Groups

SUBJECTS = {"left": "tax school health union wage", "right": "border army market church farm"}
TRAIN = ("--topics", 2, "--sampler", "adlda", "--epochs", 60, "--threads", 1, "--progress", "none")


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    """A run on 120 speeches of two parties in four years, most of their words on the subject of the
    party; were that as many in all, blends of the subjects would be topics, too."""
    folder, generator = tmp_path_factory.mktemp("effects"), np.random.default_rng(2)
    with (folder / "speeches.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["text", "party", "date"])
        for i in range(120):
            party = ("left", "right")[i % 2]
            other = ("right", "left")[i % 2]
            subjects = np.where(generator.random(40) < generator.beta(4, 1), party, other)
            words = [generator.choice(SUBJECTS[s].split()) for s in subjects]
            writer.writerow([" ".join(words), party, f"{2001 + i // 30}-03-01"])
    options = ("--keep", "party", "--time", "date", "--min-df", 0, "--max-df", 1, "--heldout", 0)
    made = topicmc("prepare", "speeches.csv", "-o", "corpus", *options, cwd=folder)
    assert made.status == 0, made.stderr
    done = topicmc("train", "corpus", "-o", "run", *TRAIN, cwd=folder)
    assert done.status == 0, done.stderr
    return folder


def test_each_pass_over_the_samples_is_told(trained, command, monkeypatch):
    """One for the topics, and one for the tokens of the documents."""
    monkeypatch.chdir(trained)
    n = len(TopicRun.open(Path("run")).states_to_read())
    heard = []
    with told_of_samples(lambda *at: heard.append(at)):
        assert command("effects", "run", "--by", "party").status == 0
    assert heard == [(i, of) for of in (n, min(n, 16)) for i in range(of + 1)]
    show_bars(monkeypatch)
    assert "Reading samples" in command("effects", "run", "--by", "party").stderr


def test_two_parties(trained, command, monkeypatch):
    monkeypatch.chdir(trained)
    done = command("effects", "run", "--by", "party", "-o", "e.csv", "--force")
    assert done.status == 0, done.stderr
    head, first, second, *rest = done.stdout.splitlines()
    assert head.split() == [
        "topic", "share", "left", "right", "left", "less", "right,", "points", "words",
    ]  # fmt: skip
    assert "+" in first.split()[2] and "−" in second.split()[2]  # from the left to the right
    assert set(first.split()[-4:]) < set(SUBJECTS["left"].split())
    assert "10% of the shares would be marked" in "".join(rest)
    shares = [float(first.split()[at].rstrip("%+−")) for at in (2, 3)]
    assert float(first.split()[4]) == pytest.approx(shares[0] - shares[1], abs=0.2)  # in points
    told = json.loads(command("effects", "run", "--by", "party", "--json").stdout)
    left = max(told["topics"], key=lambda topic: topic["groups"][0]["share"])
    group = left["groups"][0]
    assert (group["group"], group["documents"]) == ("left", 60)
    assert 0.65 < group["low"] < group["share"] < group["high"] < 0.95
    assert 0 < group["difference_low"] < group["difference"] < group["difference_high"]
    with Path("e.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 4
    number = str(left["topic"])
    (row,) = [r for r in rows if r["topic"] == number and r["group"] == "left"]
    assert float(row["share"]) == group["share"] and int(row["tokens"]) == group["tokens"]


def test_years_and_one_topic(trained, command, monkeypatch):
    monkeypatch.chdir(trained)
    done = command("effects", "run", "--by", "year", "--topic", 1)
    assert done.status == 0, done.stderr
    assert done.stdout.startswith("topic 1: ")
    assert [line.split()[0] for line in done.stdout.splitlines()[2:6]] == [
        "2001", "2002", "2003", "2004",
    ]  # fmt: skip
    assert "From 2001 to 2004, in percentage points: " in done.stdout
    assert "points above the others" in done.stdout.splitlines()[1]
    told = json.loads(command("effects", "run", "--by", "year", "--json", "--topic", 1).stdout)
    (topic,) = told["topics"]
    assert topic["topic"] == 1 and topic["change_low"] < topic["change"] < topic["change_high"]


def test_how_many_chains_have_found_a_topic_is_said(trained, command, monkeypatch, tmp_path):
    """Where there are several: the interval of a topic of one of them is as narrow as any."""
    monkeypatch.chdir(trained)
    assert command("train", "corpus", "-o", tmp_path / "two", *TRAIN, "--chains", 2).status == 0
    by = ("effects", tmp_path / "two", "--by", "party")
    topics = json.loads(command(*by, "--json").stdout)["topics"]
    found = {topic["topic"]: topic["found"] for topic in topics}
    head, *rows = command(*by).stdout.splitlines()[:3]
    assert head.split()[:4] == ["topic", "share", "found", "by"]
    for number, *row in map(str.split, rows):
        told = f"{found[int(number)]} of 2"
        assert " ".join(row[1:4]) == told
        assert f"tokens, found by {told} chains; " in command(*by, "--topic", number).stdout


def test_what_a_table_needs_said_is_not_said_of_one_topic(trained, command, monkeypatch):
    """Which has no signs, and all groups."""
    monkeypatch.chdir(trained)
    monkeypatch.setattr(import_module("topicmc.cli.effects"), "MOST_COLUMNS", 2)
    for options, is_said in (((), True), (("--topic", 1), False)):
        told = command("effects", "run", "--by", "year", *options).stdout
        assert ("would be marked" in told) == is_said
        assert ("There are 4 groups" in told) == is_said
        assert "samples of one chain" in told


def test_words_are_not_drawn(trained, command, monkeypatch):
    """They are those of the mean; of one chain nothing is told but what tokens say."""

    def drawing(*_):
        raise AssertionError("a sample was drawn for words")

    monkeypatch.chdir(trained)
    monkeypatch.setattr("topicmc.topics.uncertainty.draw_of", drawing)
    for options in ((), ("--topic", 1), ("--json",)):
        assert command("effects", "run", "--by", "party", *options).status == 0


def test_how_many_documents_were_read_is_said(trained, command, monkeypatch):
    monkeypatch.chdir(trained)
    monkeypatch.setattr("topicmc.topics.prevalence.MOST_DOCUMENTS", 60)
    told = command("effects", "run", "--by", "party").stdout
    assert "60 of 120 documents were read, drawn at random." in told


@pytest.mark.parametrize(("n", "have"), [(1, "1 document has"), (1200, "1,200 documents have")])
def test_documents_without_a_value_are_counted(n, have):
    groups = Groups("party", ["left", "right"], False, np.arange(2000), np.zeros(2000), n, [])
    found, posterior = SimpleNamespace(groups=groups), SimpleNamespace(remark=lambda: "")
    sentences = import_module("topicmc.cli.effects")._sentences(found, posterior, 2000)
    assert f"{have} no value of party." in sentences


def test_a_view_shows_its_topics(trained, command, monkeypatch, tmp_path):
    monkeypatch.chdir(trained)
    view = tmp_path / "view"
    assert command("edit", "run", "--label", "0=one", "-o", view).status == 0
    told = json.loads(command("effects", view, "--by", "party", "--json").stdout)["topics"]
    whole = json.loads(command("effects", "run", "--by", "party", "--json").stdout)["topics"]
    assert [topic.get("name") for topic in told] == ["one", None]
    assert [topic["groups"] for topic in told] == [topic["groups"] for topic in whole]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--by", "partie"), "did you mean party?"),
        (("--by", "party", "--topic", 7), "--topic 7: the topics are 0 to 1"),
        (("--by", "party", "-o", "e.txt"), "the name must end in .csv"),
        (("--by", "party", "-o", "run/samples/e.csv"), "samples, whose files are read"),
        (("--by", "party", "-o", "corpus/e.csv"), "corpus/e.csv: lies in "),
        (("--by", "party", "--level", 2), "--level 2: the probability of intervals"),
    ],
)
def test_what_cannot_be_asked(trained, command, monkeypatch, arguments, told):
    monkeypatch.chdir(trained)
    done = command("effects", "run", *arguments)
    assert done.status == 2 and told in one_sentence(done)


def test_a_file_that_comes_meanwhile_stays(trained, command, monkeypatch, tmp_path, latecomer):
    monkeypatch.chdir(trained)
    refused = command("effects", "run", "--by", "party", "-o", tmp_path / "e.csv")
    assert refused.status == 2 and "e.csv: exists already" in one_sentence(refused)
    assert (tmp_path / "e.csv").read_text() == "theirs"
