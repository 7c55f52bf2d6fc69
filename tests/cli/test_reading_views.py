"""Every command that reads runs reads views; none that trains does."""

import csv
import gzip
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hostile import refused
from shell import Command, one_sentence, said

from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.samples import posterior_mean

EDIT = (
    *("--label", "1=Big sport", "--label", "4=Law", "--merge", "1+3", "--drop", 2),
    *("--group", "Public=1,4"),
)


@pytest.fixture
def view(run, command) -> Path:
    """Of five topics 0, 1 with 3, and 4 are shown."""
    done = command("edit", run, "-o", "view", *EDIT)
    assert done.status == 0, done.stderr
    return Path("view")


def test_edit_says_what_it_did_in_shares(view, run, command):
    share = posterior_mean(run).share
    told = said(command("edit", "view", "-o", "again"))
    assert f"Merged: 1 + 3 as 1 Big sport, {share[1] + share[3]:.1%} of the tokens." in told
    assert f"Dropped: 2, {share[2]:.1%} of the tokens." in told
    assert "Group Public: " in told and "1 Big sport, 4 Law." in told
    assert {path.name for path in view.iterdir()} == {"view.json"}
    told = json.loads(said(command("edit", "view", "-o", "more", "--json")))
    assert told["dropped"] == {"topics": [2], "share": pytest.approx(share[2], rel=1e-6)}
    assert told["labels"] == {"1": "Big sport", "4": "Law"}


def test_stable_topics_alone(run, command):
    for options, told in (
        (("--stable", "--merge", "1+3"), "--stable: does not go with --merge"),
        (("--with", "run"), "--with run: is for --stable"),
        (("--stable",), "has one chain"),
    ):
        done = command("edit", "run", "-o", "v", *options)
        assert done.status == 2 and told in one_sentence(done)


def test_topics_that_all_chains_have_found(run, command):
    """All five, by chains that have the same samples and say to be others."""
    shutil.copytree(run, "twin")
    twin = TopicRun(Path("twin"))
    twin.update_facts(config={**twin.facts()["config"], "seed": 1})
    Path("names.csv").write_text("topic,label\n1,Sport\n3,Law\n")
    stable = ("--stable", "--with", "twin", "--labels", "names.csv")
    told = json.loads(said(command("edit", "run", "-o", "v", *stable, "--json")))
    assert told["labels"] == {"1": "Sport", "3": "Law"} and told["dropped"]["topics"] == []


def test_names_of_topics_that_are_not_stable_are_passed_over(run, command, monkeypatch):
    """Nobody knows beforehand which they are."""
    monkeypatch.setattr("topicmc.topics.editing.unstable", lambda run, others: [3])
    Path("names.csv").write_text("topic,label\n1,Sport\n3,Law\n")
    options = ("--stable", "--labels", "names.csv", "--group", "Public=1,3")
    told = json.loads(said(command("edit", "run", "-o", "v", *options, "--json")))
    assert told["labels"] == {"1": "Sport"} and told["dropped"]["topics"] == [3]
    assert [(group["group"], group["topics"]) for group in told["groups"]] == [("Public", [1])]
    done = command("edit", "run", "-o", "w", "--stable", "--label", "9=Art")
    assert done.status == 2 and "--label or --labels: there is no topic 9" in one_sentence(done)


def test_topics(view, run, command):
    rows = said(command("topics", "view", "--tree", "--uncertainty")).splitlines()
    assert any(row.split()[:3] == ["1", "Big", "sport"] for row in rows)
    told = json.loads(said(command("topics", "view", "--json", "--tree", "--uncertainty")))
    before = json.loads(said(command("topics", "run", "--json", "--uncertainty")))
    by_number = {topic["topic"]: topic for topic in told["topics"]}
    same = {topic["topic"]: topic for topic in before["topics"]}
    assert sorted(by_number) == [0, 1, 4]
    assert by_number[0] == same[0] and by_number[4] == {**same[4], "name": "Law"}
    assert by_number[1]["name"] == "Big sport"
    assert {part.get("topic") for join in told["tree"] for part in join["parts"]} == {0, 1, 4, None}
    group = told["view"]["groups"][0]
    assert group["share"] == pytest.approx(by_number[1]["share"] + by_number[4]["share"])
    assert group["share_low"] < group["share"] < group["share_high"]
    near = json.loads(said(command("topics", "view", "--json", "--details")))["topics"]
    for topic in near:
        others = {other["topic"] for other in topic["similar"]}
        assert others == {0, 1, 4} - {topic["topic"]}
    # What a view drops is of the whole corpus that relevance speaks of: 0 and 4 stay as they were.
    before = json.loads(said(command("topics", "run", "--json", "--details", "--relevance", 0)))
    after = json.loads(said(command("topics", "view", "--json", "--details", "--relevance", 0)))
    relevant, same = (
        {topic["topic"]: topic["relevant"] for topic in told["topics"] if topic["topic"] in (0, 4)}
        for told in (after, before)
    )
    assert relevant == same
    page = said(command("topics", "view", "--topic", 1))
    assert page.startswith("topic 1 Big sport: ")
    assert "it is part of topic 1; name 1" in one_sentence(command("topics", "view", "--topic", 3))
    assert "it was dropped" in one_sentence(command("topics", "view", "--topic", 2))


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl", "npy"])
def test_infer_adds_up_the_mixes_of_the_run(view, run, command, ending):
    se = () if ending == "npy" else ("--se",)
    done = command("infer", "view", "corpus", "-o", f"view.{ending}", *se)
    assert "in order    0, 1 Big sport, 4 Law" in said(done) or ending in ("csv", "parquet")
    assert "those of the dropped are left out" in done.stderr
    said(command("infer", "run", "corpus", "-o", f"run.{ending}", *se))
    if ending == "npy":
        mixes, whole = np.load("view.npy"), np.load("run.npy")
    elif ending == "jsonl":
        mixes, whole = (
            np.array([json.loads(line)["mix"] for line in Path(name).read_text().splitlines()])
            for name in ("view.jsonl", "run.jsonl")
        )
    else:
        read = pd.read_csv if ending == "csv" else pd.read_parquet
        table, before = read(f"view.{ending}"), read(f"run.{ending}")
        assert [name for name in table if name.startswith("topic_")] == [
            "topic_0", "topic_1_Big sport", "topic_4_Law",
        ]  # fmt: skip
        np.testing.assert_array_equal(table["sd_0"], before["sd_0"])
        np.testing.assert_array_equal(table["sd_4_Law"], before["sd_4"])
        # Var(a + b) lies between the extremes of what their correlation can make of it.
        one, three, both = before["sd_1"], before["sd_3"], table["sd_1_Big sport"]
        assert (both < one + three + 1e-6).all() and (both > abs(one - three) - 1e-6).all()
        mixes = table.filter(regex="^topic_").to_numpy()
        whole = before.filter(regex="^topic_").to_numpy()
    expected = np.stack([whole[:, 0], whole[:, 1] + whole[:, 3], whole[:, 4]], axis=1)
    np.testing.assert_allclose(mixes, expected, atol=1e-6)


def test_evaluate_and_compare(view, run, command):
    done = command("evaluate", "view", "--json")
    merged = json.loads(said(done))
    assert "a merged topic is one topic of all its words" in done.stderr
    assert re.search(r"\(topicmc evaluate \S*run\)\.$", done.stderr)
    whole = json.loads(said(command("evaluate", "run", "--json")))
    assert merged["perplexity"] > whole["perplexity"]  # fewer topics fit less
    told = json.loads(said(command("compare", "view", "run", "--json")))
    assert told["models"][0]["perplexity"] == pytest.approx(merged["perplexity"])
    assert told["models"][0]["topics"] == 3
    pairs = {pair["first"]: pair for pair in told["matchings"][0]["pairs"]}
    assert sorted(pairs) == [0, 1, 4] and pairs[4]["other"] == 4 and pairs[0]["distance"] < 1e-6
    assert pairs[1]["first_label"] == "Big sport" and pairs[1]["other_label"] is None
    assert "Law: " in said(command("compare", "view", "run"))
    drift = json.loads(said(command("compare", "view", "run", "--drift", "--json")))["drifts"][0]
    changed = {topic["first"]: topic for topic in drift["topics"]}
    assert changed[4]["other"] == 4 and changed[4]["gained"] == changed[4]["lost"] == []


def test_a_view_of_names_alone_scores_as_its_run(run, command):
    said(command("edit", "run", "-o", "named", "--label", "2=Law"))
    done = command("evaluate", "named", "--json")
    assert done.stderr == "" and done.stdout == said(command("evaluate", "run", "--json"))
    opened = TopicRun(run)
    opened.write_sample_index(opened.sample_index()[1:])
    assert (
        "run has been trained on since named was made of it" in command("evaluate", "named").stderr
    )


def test_exports(view, run, command):
    mean = posterior_mean(TopicRun.open(view))
    left = f"{mean.share.sum():.1%} of the tokens"
    for ending in ("csv", "parquet"):
        said(command("export", "view", "--to", ending, "-o", f"t.{ending}", "--words", 2))
        rows = pd.read_csv("t.csv", keep_default_na=False) if ending == "csv" else pd.read_parquet(
            "t.parquet"
        ).fillna("")  # fmt: skip
        assert rows["topic"].tolist() == [0, 0, 1, 1, 4, 4]
        assert rows["label"].tolist() == ["", "", "Big sport", "Big sport", "Law", "Law"]
    said(command("export", "view", "--to", "jsonl", "-o", "t.jsonl"))
    lines = [json.loads(line) for line in Path("t.jsonl").read_text().splitlines()]
    assert [(line["topic"], line.get("label")) for line in lines] == [
        (0, None), (1, "Big sport"), (4, "Law"),
    ]  # fmt: skip
    for kind, extra in (("npy", ()), ("mallet", ()), ("gensim", ()), ("sklearn", ())):
        done = command("export", "view", "--to", kind, "-o", kind, *extra)
        said(done)
        assert "topics.csv says which topics the indices" in done.stderr
        with Path(kind, "topics.csv").open() as stream:
            assert list(csv.reader(stream)) == [
                ["index", "topic", "label"], ["0", "0", ""], ["1", "1", "Big sport"],
                ["2", "4", "Law"],
            ]  # fmt: skip
        said(command("export", "view", "--to", kind, "-o", kind, "--force"))
        if kind in ("gensim", "sklearn"):
            assert f"topic mixes are of the topics that are left, which have {left}" in done.stderr
    np.testing.assert_array_equal(np.load("npy/phi.npy"), mean.phi)
    np.testing.assert_array_equal(np.load("npy/alpha.npy"), mean.alpha)
    done = command("export", "view", "--to", "pyldavis", "-o", "t.json")
    assert said(done) and "stand for the topics 0, 1 Big sport, 4 Law" in done.stderr
    assert f"percentages are of the topics that are left, which have {left}" in done.stderr
    terms = json.loads(Path("t.json").read_text())["tinfo"]
    opened = TopicRun.open(run)
    tokens = mean.share @ mean.phi * opened.facts()["corpus"]["tokens"]
    of_word = dict(zip(opened.vocabulary(), tokens, strict=True))
    rows = [*zip(terms["Category"], terms["Term"], terms["Total"], strict=True)]
    of_topics = {word: total for category, word, total in rows if category != "Default"}
    assert of_topics == pytest.approx({word: of_word[word] for word in of_topics}, rel=1e-4)


def state(folder: str) -> list[list[str]]:
    """The lines of tokens in a state of MALLET, without their topic, and that."""
    text = gzip.decompress(Path(folder, "state.gz").read_bytes()).decode()
    return [line.rsplit(" ", 1) for line in text.splitlines()[3:]]


@pytest.mark.parametrize("chain", [0, 1])
def test_mallet_has_the_tokens_of_the_run_without_those_of_dropped_topics(command, run, chain):
    """In each chain's own numbers of the topics."""
    settings = ("--sampler", "adlda", "--topics", 5, "--alpha", 0.1, "--epochs", 40, "--threads", 1)
    chains = ("--chains", 2, "--progress", "none")
    said(command("train", "corpus", "-o", "two", *settings, *chains))
    said(command("edit", "two", "-o", "view", *EDIT))
    said(command("export", "two", "--to", "mallet", "-o", "whole", "--chain", chain))
    done = command("export", "view", "--to", "mallet", "-o", "mallet", "--chain", chain)
    assert said(done)
    order = TopicRun.open(Path("view")).view.orders.get(chain, np.arange(5)).tolist()
    home = {str(order[k]): index for k, index in ((0, "0"), (1, "1"), (3, "1"), (4, "2"))}
    whole = state("whole")
    assert state("mallet") == [[token, home[k]] for token, k in whole if k in home]
    left_out = sum(k not in home for _, k in whole)
    assert left_out and f"state.gz leaves out {left_out:,} tokens" in done.stderr


def test_arviz(view, command):
    xarray = pytest.importorskip("xarray")
    said(command("export", "view", "--to", "arviz", "-o", "t.nc"))
    tree = xarray.open_datatree("t.nc", engine="h5netcdf")
    assert tree["posterior"]["topic"].values.tolist() == [0, 1, 4]
    assert tree["constant_data"]["label"].values.tolist() == ["", "Big sport", "Law"]


def test_report(view, run, command):
    said(command("report", "view", "-o", "view.html"))
    text = Path("view.html").read_text()
    data = json.loads(text.split('id="data">')[1].split("</script>")[0])
    topics = {topic["number"]: topic for topic in data["topics"]}
    whole = posterior_mean(run)
    assert sorted(topics) == data["numbers"] == [0, 1, 4]
    assert (topics[1]["label"], topics[1]["group"]) == ("Big sport", "Public")
    assert (topics[0]["label"], topics[0]["group"]) == (None, None)
    assert {k for word in data["spread"] for k, _ in word} <= {0, 1, 4}
    # Uses in the topic that is dropped are of the whole corpus, and are not told.
    words = TopicRun.open(run).vocabulary()
    ids = [words.index(word) for word in data["words"]]
    dropped = whole.share[2] * whole.phi[2, ids] / np.array(data["overall"])
    told = np.array([sum(part for _, part in uses) for uses in data["spread"]])
    assert dropped.max() > 0.5
    assert (np.abs(told + dropped - 1) < 0.1).all()
    assert all(set(topic["near"]) <= {0, 1, 4} for topic in data["topics"])
    assert any(note.startswith("Dropped: 2, ") for note in data["notes"])
    assert len(data["tree"]) == 2
    assert str(Path.cwd()) not in text  # where somebody's files are is nobody's business


def test_views_are_not_trained(view, run, command):
    told = refused(command, "train", "-o", "view", "--resume", "--updates", 20)
    assert "train its run (topicmc train -o run --resume)" in told.stderr
    told = refused(command, "train", "corpus", "-o", "more", "--from", "view", "--updates", 20)
    assert "is a view that merges or drops topics; go on from its run" in told.stderr
    told = refused(command, "train", "corpus", "-o", "run", "--force", "--from", "view")
    assert "is the run to be made" in told.stderr
    refused(command, "train", "corpus", "-o", "view", "--updates", 20)
    refused(command, "train", "corpus", "-o", "view", "--force", "--updates", 20)


def test_names_go_along_to_new_documents(run, command):
    said(command("edit", "run", "-o", "named", "--label", "1=Big sport"))
    for name in ("run", "named"):
        new = (f"{name}-on", "--from", name, "--updates", 6, "--batch-size", 40, "--threads", 1)
        said(command("train", "corpus", "--progress", "none", "-o", *new))
    one, other = (TopicRun.open(Path(f"{name}-on")) for name in ("run", "named"))
    assert (dict(one.labels), dict(other.labels)) == ({}, {1: "Big sport"})
    assert [e["checksum"] for e in one.sample_index()] == [
        e["checksum"] for e in other.sample_index()
    ]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--label", "Sport"), "give a number and a name, as 3=Sport"),
        (("--label", "9=Sport"), "the topics are 0 to 4"),
        (("--merge", "1+9"), "the topics are 0 to 4"),
        (("--merge", "1,2"), "give numbers of topics, as 3+7"),
        (("--drop", "x"), "give numbers of topics, as 3,7"),
        (("--drop", "-1"), "give numbers of topics"),
        (("--group", "1,2"), "give a name and numbers"),
        (("--group", "=1,2"), "is empty"),
        (("--group", "A=1", "--group", "A=2"), "--group: A is given twice"),
        (("--label", "1=A", "--label", "1=B"), "--label: 1 is given twice"),
        (("--labels", "none.csv"), "no such file"),
    ],
)
def test_what_edit_refuses(run, command: Command, options, told):
    assert told in refused(command, "edit", "run", "-o", "view", *options).stderr
    assert not Path("view").exists()


@pytest.mark.parametrize("reader", ["topics", "evaluate", "infer", "report", "export", "compare"])
def test_a_view_whose_run_is_gone_is_refused(view, run, command, reader):
    Path("run").rename("moved")
    more = {
        "infer": ("corpus", "-o", "x.csv"),
        "report": ("-o", "x.html"),
        "export": ("--to", "npy", "-o", "x"),
        "compare": ("view",),
    }
    told = refused(command, reader, "view", *more.get(reader, ()))
    assert "its run is not in run any more" in told.stderr


def test_names_by_a_model_come_back_as_they_went(run, command):
    """What `topics --json` says, with a label added to each topic, is a file of names."""
    told = json.loads(said(command("topics", "run", "--json")))
    for topic in told["topics"]:
        topic["name"] = topic["words"][0]["word"].title()
    Path("named.json").write_text(json.dumps(told))
    said(command("edit", "run", "-o", "view", "--labels", "named.json"))
    assert TopicRun.open(Path("view")).labels == {
        topic["topic"]: topic["name"] for topic in told["topics"]
    }


def test_documents_of_topics_are_those_that_infer_says(view, run, command):
    said(command("infer", "view", "corpus", "-o", "mixes.csv"))
    table = pd.read_csv("mixes.csv")
    table = table[~table["heldout"]]
    for topic in json.loads(said(command("topics", "view", "--documents", 2, "--json")))["topics"]:
        name = next(c for c in table if c.startswith(f"topic_{topic['topic']}"))
        best = sorted(table[name], reverse=True)[:2]
        numbers = [document["document"] for document in topic["documents"]]
        assert [table[name].iloc[n] for n in numbers] == pytest.approx(best, abs=1e-6)
