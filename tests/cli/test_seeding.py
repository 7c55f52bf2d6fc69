"""Seed words and given priors by command: names everywhere, verdicts, and bad files."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from shell import one_sentence, said

from topicmc.models.lda.run import TopicRun

TRUTH = np.random.default_rng(1).dirichlet(np.full(120, 0.05), 5)  # of `small_corpus`
LIKELIEST = np.argsort(-(TRUTH**2) / TRUTH.sum(axis=0), axis=1)[:, :5]
SEEDS = {name: [f"word{w:03d}" for w in LIKELIEST[k]] for name, k in (("Big sport", 3), ("Law", 1))}
QUICK = ("--sampler", "adlda", "--threads", 1, "--progress", "none")


@pytest.fixture(scope="module")
def seeded(finished, tmp_path_factory) -> Path:
    """A folder with a run whose first topics are seeded; not to be changed."""
    from shell import topicmc

    folder = tmp_path_factory.mktemp("seeded")
    (folder / "corpus").symlink_to(finished / "corpus")
    seeds = {**SEEDS, "Law": [*SEEDS["Law"], SEEDS["Big sport"][0], "wurd003"]}
    (folder / "seeds.json").write_text(json.dumps(seeds))
    done = topicmc(
        *("train", "corpus", "-o", "run", "--seeds", "seeds.json", "--topics", 5),
        *("--epochs", 60, "--sampler", "adlda", "--threads", 1, "--progress", "plain"),
        cwd=folder,
    )
    assert done.status == 0, done.stderr
    (folder / "told").write_text(done.stdout + done.stderr)
    return folder


@pytest.fixture
def here(seeded, tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("corpus", "run"):
        Path(name).symlink_to(seeded / name)
    return seeded


def test_training_names_topics_and_tells_unknown_words(here):
    told = (here / "told").read_text()
    assert "1 seed word is not in the vocabulary and left out: wurd003 (Law; nearest: word" in told
    rows = [line.split() for line in told.splitlines() if "%" in line]
    assert ["0", "Big", "sport"] in [row[:3] for row in rows]
    kept = json.loads((here / "run" / "topics.json").read_text())["topics"]
    names = {topic["topic"]: topic.get("name") for topic in kept}
    assert names == {0: "Big sport", 1: "Law", 2: None, 3: None, 4: None}


def test_topics_tell_what_became_of_the_seeds(here, command):
    told = json.loads(said(command("topics", "run", "--json")))["topics"]
    seeds = {topic["name"]: topic["seeds"] for topic in told if "seeds" in topic}
    verdicts = [word["verdict"] for word in seeds["Big sport"]]
    assert verdicts.count("accepted") >= 4 and "refused" not in verdicts
    assert [word["word"] for word in seeds["Law"]][:5] == SEEDS["Law"]
    stray = seeds["Law"][5]
    assert stray["word"] == SEEDS["Big sport"][0] and stray["share"] < 0.5
    text = said(command("topics", "run"))
    table, _, verdicts = text.partition("Seed words, ")
    assert "Big sport" in table and f"0 Big sport: {SEEDS['Big sport'][0]} " in verdicts
    assert "Law" not in said(command("topics", "run", "--topic", 0)).partition("Seed words")[2]


def test_names_are_in_mixes_exports_reports_and_views(here, command):
    said(command("infer", "run", "corpus", "-o", "mixes.csv"))
    with Path("mixes.csv").open() as stream:
        assert {"topic_0_Big sport", "topic_1_Law", "topic_2"} <= set(next(csv.reader(stream)))
    said(command("export", "run", "--to", "csv", "-o", "topics.csv", "--words", 2))
    assert "Big sport" in Path("topics.csv").read_text()
    said(command("export", "run", "--to", "jsonl", "-o", "t.jsonl"))
    assert json.loads(Path("t.jsonl").read_text().splitlines()[1])["label"] == "Law"
    said(command("report", "run", "-o", "page.html"))
    assert "Big sport" in Path("page.html").read_text()
    said(command("edit", "run", "-o", "view", "--merge", "1+3", "--label", "4=More"))
    assert dict(TopicRun.open(Path("view")).labels) == {0: "Big sport", 1: "Law", 4: "More"}
    told = json.loads(said(command("topics", "view", "--json")))["topics"]
    assert {topic["topic"] for topic in told if "seeds" in topic} == {0, 1}


def test_a_run_that_goes_on_keeps_names_and_verdicts(here, command):
    said(command("train", "corpus", "--from", "run", "-o", "new", "--epochs", 3, *QUICK))
    new = TopicRun.open(Path("new"))
    assert dict(new.labels) == {0: "Big sport", 1: "Law"}
    told = json.loads(said(command("topics", "new", "--json")))["topics"]
    assert sum("seeds" in topic for topic in told) == 2
    wrong = command("train", "corpus", "--from", "run", "-o", "n", "--alpha", "1,2", *QUICK)
    assert "--alpha has 2 numbers for 5 topics; give as many" in one_sentence(wrong)


def test_settings_may_be_in_a_file_and_cannot_change(here, command):
    Path("all.toml").write_text(
        "topics = 5\nepochs = 3\nalpha = [1, 1, 1, 1, 0.5]\nseed-weight = 30\n"
        f'[seeds]\nlaw = ["{SEEDS["Law"][0]}", ["{SEEDS["Law"][1]}", 2]]\n'
    )
    said(command("train", "corpus", "-o", "new", "--config", "all.toml", *QUICK))
    additions = TopicRun.open(Path("new")).additions()
    assert additions is not None and additions.totals.tolist() == [90, 0, 0, 0, 0]
    Path("other.csv").write_text(f"topic,word\nlaw,{SEEDS['Law'][0]}\n")
    done = command("train", "-o", "new", "--resume", "--seeds", "other.csv", *QUICK)
    assert "--seeds: the run in new began with others" in one_sentence(done)
    said(command("train", "-o", "new", "--resume", "--epochs", 4, *QUICK))


def test_a_file_may_weigh_the_seeds_of_the_command(here, command):
    Path("weight.toml").write_text("topics = 5\nseed-weight = 30\nupdates = 100\n")
    Path("law.csv").write_text(f"topic,word\nlaw,{SEEDS['Law'][0]}\n")
    more = ("--config", "weight.toml", "--seeds", "law.csv", "--epochs", 3)
    said(command("train", "corpus", "-o", "new", *more, *QUICK))
    additions = TopicRun.open(Path("new")).additions()
    assert additions is not None and additions.totals.tolist() == [30, 0, 0, 0, 0]


def spoilt() -> bytes:
    """An array, with bytes that zlib cannot unpack."""
    stream = io.BytesIO()
    np.savez_compressed(stream, np.ones((5, 120)))
    content = bytearray(stream.getvalue())
    name, more = (int.from_bytes(content[i : i + 2], "little") for i in (26, 28))
    content[30 + name + more] = 7  # no kind of block
    return bytes(content)


BAD = {
    "seeds": {
        "a.toml": ("a = [1]\nb = ", "cannot be read as TOML (Invalid value (at line 2"),
        "b.toml": ('x = ["wurd003"]', "no seed word of topic x is in the vocabulary: wurd003 (x;"),
        "c.toml": ('x = [["word003", 1e7]]', "the weight 10000000.0 is no number above 0"),
        "d.toml": ("x = []", "topic x has no words"),
        "e.toml": (b"\xff\xfe\x00\x01", "is no text in UTF-8"),
        "f.json": ('{"a": ["word003"], "a": ["word004"]}', "a comes twice"),
        "g.csv": ("topic,word\na,word003\na,word003\n", "row 3: word003 comes twice"),
        "h.csv": ("topic,word,weight\na,word003,nan\n", "the weight nan is no number"),
        "i.txt": ("word003", "named .toml, .json or .csv"),
        "gone.toml": (None, "no such file"),
    },
    "alpha": {
        "a.txt": ("0.1\nx\n", "cannot be read as α (could not convert string to float: 'x')"),
        "b.txt": ("0.1\n0.2\n", "--alpha has 2 numbers for 5 topics"),
        "c.txt": ("0.1\n0.2\n0\n1\n1\n", "--alpha 0.0 is out of range"),
        "d.txt": ("0.1 nan 1 1 1", "--alpha nan"),
        "e.txt": (b"\xff\xfe\x00\x01", "is no text in UTF-8"),
        "gone": (None, "is no number, no numbers with commas between them, and no file"),
    },
    "topic-prior": {
        "a.csv": ("topic,word,prior\n0,wurd003,1\n", "row 2: wurd003 is not in the vocabulary"),
        "b.csv": ("topic,word,prior\n7,word003,1\n", "is of 8 topics, and --topics is 5"),
        "c.csv": ("topic,word,prior\n4,word003,-1\n", "a prior is a positive number"),
        "d.csv": ("topic,word,prior\n4,word003,nan\n", "a prior is a positive number"),
        "e.npy": (b"\x93NUMPY\x01\x00", "cannot be read as NPY"),
        "f.npz": (b"PK\x03\x04", "cannot be read as NPZ"),
        "g.npz": (spoilt(), "cannot be read as NPZ (Error -3 while decompressing"),
        "gone.npy": (None, "no such file"),
    },
}


@pytest.mark.parametrize(("option", "name"), [(o, name) for o in BAD for name in BAD[o]])
def test_bad_files_are_refused_in_a_sentence(here, command, option, name):
    content, told = BAD[option][name]
    if isinstance(content, str):
        Path(name).write_text(content)
    elif content is not None:
        Path(name).write_bytes(content)
    done = command("train", "corpus", "-o", "new", f"--{option}", name, "--topics", 5, *QUICK)
    assert done.status in (2, 3)
    sentence = one_sentence(done)
    assert told in sentence and f"--{option}" in sentence
    assert not Path("new").exists()


def test_a_weight_that_drowns_the_data_is_told(here, command):
    Path("s.json").write_text(json.dumps(SEEDS))
    done = command(
        *("train", "corpus", "-o", "new", "--seeds", "s.json", "--seed-weight", 1e6),
        *("--topics", 5, "--epochs", 2, "--progress", "plain", "--sampler", "adlda"),
    )
    assert "weigh 5,000,000 tokens, more than the " in done.stderr
