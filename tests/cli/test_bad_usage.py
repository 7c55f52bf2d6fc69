"""Wrong arguments: status 2 or 3, one sentence that names the option or file, nothing written."""

import os
import re
from pathlib import Path

import pytest
from shell import LENGTH, SETTINGS, copy_of, one_sentence, tree

from topicmc.models.lda.run import TopicRun

TRAIN = ("train", "corpus", "-o", "new", "--progress", "none")

USAGE = [
    ((*TRAIN, "--topics", 1), "--topics 1 is out of range.*at least 2"),
    ((*TRAIN, "--topics", 60000), "--topics 60000 is more than a corpus of .* tokens can bear"),
    ((*TRAIN, "--topics", "many"), "'many' is neither a whole number nor auto"),
    ((*TRAIN, "--beta", 1e19), r"--beta 1e\+19 is out of range.*at most 1e\+09"),
    ((*TRAIN, "--alpha", 1e19), r"--alpha 1e\+19 is out of range.*at most 1e\+09"),
    ((*TRAIN, "--step-size", -1), "--step-size -1.0 is out of range"),
    ((*TRAIN, "--updates", 5, "--epochs", 2), "--updates and --epochs both say"),
    (
        (*TRAIN, "--sampler", "sgrld", "--start-sweeps", 5),
        "--start-sweeps is of samplers that keep",
    ),
    ((*TRAIN, "--sampler", "adlda", "--average-until", 5), "--average-until is of chains that are"),
    ((*TRAIN, "--time-budget", "5x"), "--time-budget: '5x' is not a duration.*90s"),
    ((*TRAIN, "--threads", 0), "--threads 0 is out of range"),
    (
        (*TRAIN, "--sampler", "scir", "--chains", 2),
        "--chains 2 is out of range.*a worker holds at most one chain: give more --workers",
    ),
    ((*TRAIN, "--slow", "fast"), "--slow 'fast': write RANK=FACTOR"),
    ((*TRAIN, "--slow", "0=9999999"), "--slow '0=9999999': write RANK=FACTOR"),
    ((*TRAIN, "--schedule", "permute"), "--schedule permute: chains .* and there is one"),
    (
        (*TRAIN, "--sampler", "adlda", "--start", "consensus", "--start-sweeps", 1),
        "--start-sweeps 1 has no room for the chains of a consensus",
    ),
    ((*TRAIN, "--sampler", "gibbs"), "--sampler"),
    (("train", "corpus", "-o", "run"), "run: exists already; add --resume.*--force"),
    (("train", "corpus", "-o", "corpus", "--force"), "corpus: exists and is not a run"),
    (("train", "corpus", "-o", "corpus"), "corpus: exists and is not a run; give another path"),
    (("export", "run", "--to", "csv", "-o", "topics.xlsx"), "topics.xlsx: the name .* in .csv"),
    (("export", "run", "--to", "jsonl", "-o", "topics.jsonl.gz"), "ends in .jsonl or .ndjson"),
    (("train", "corpus", "-o", "corpus/corpus.json"), "corpus.json: is a file"),
    (("train", "-o", "run", "--resume", "--force"), "give one of them"),
    (("train", "-o", "run", "--resume", "--dry-run"), "--dry-run shows the settings of a new run"),
    (("train", "-o", "run", "--resume", "--topics", 7), "--topics 7: .*began with 5"),
    (("topics", "run", "-n", 0), "-n"),
    (("topics",), "RUN"),
    (("topics", "run", "--topic", 0, "--by", "frex"), "--by frex is of the table"),
    (("topics", "run", "--corpus", "corpus"), "--corpus is read for --coherence"),
    (("topics", "run", "--by", "frex", "--relevance", 0.1), "add --by relevance"),
    (("topics", "run", "--details", "--relevance", 0.1), "add --by relevance"),
    (("compare", "run", "run", "--within", "nan"), "--within.*: 'nan' is no number"),
    (("infer", "run", "corpus", "-o", "x.csv", "--format", "csv"), "--format csv: a prepared"),
    (("export", "run", "--to", "npy"), "-o"),
    (("export", "run", "-o", "new"), "--to"),
    (("export", "run", "-o", "new", "--to", "xml"), "'xml' is not one of"),
    (("export", "run", "-o", "corpus", "--to", "npy"), "corpus: exists already; add --force"),
    (("export", "run", "-o", "corpus", "--to", "csv", "--force"), "corpus: is a folder"),
    (
        ("export", "run", "-o", "corpus/corpus.json", "--to", "pyldavis", "--force"),
        "corpus.json: lies in .*corpus, whose files are read",
    ),
    (
        ("infer", "run", "corpus/vocabulary.txt", "--format", "text", "-o", "corpus/mixes.csv"),
        "mixes.csv: lies in .*corpus, whose files are read",
    ),
    (("export", "run", "-o", "run/run.json", "--to", "npy", "--force"), "run.json: is a file"),
    (
        ("export", "run", "-o", "corpus", "--to", "npy", "--force"),
        "corpus: holds .*json, which no export to npy has written",
    ),
    (("export", "run", "run", "-o", "new", "--to", "csv"), "several RUNs do not go with --to csv"),
    (
        ("export", "run", "-o", "new", "--to", "mallet", "--words", 3),
        "--words does not go with --to",
    ),
    (("export", "run", "-o", "new", "--to", "arviz", "--chain", 0), "--chain does not go with"),
    (
        ("export", "run", "-o", "new", "--to", "csv", "--chain", 3),
        "--chain 3: .* of 0 only",
    ),
    (("evaluate",), "name a RUN"),
    (("evaluate", "run", "run"), "give each run once"),
    (("topics", "run", "run", "--uncertainty"), "give each run once"),
    (("evaluate", "--corpus", "corpus"), "--corpus alone"),
    (("evaluate", "--corpus", "corpus", "--topics-file", "x.npy"), "needs --alpha F"),
    (("evaluate", "run", "--alpha", 0.1), "--alpha goes with --topics-file"),
    (("prepare", "corpus/vocabulary.txt"), "-o"),
    (
        ("prepare", "x.txt", "-o", "new", "--keep", 5, "--keep", 7),
        "--keep: give one number of words$",
    ),
    (("corpus", "merge", "corpus", "-o", "new"), "merge: name two corpora or more$"),
    (
        ("corpus", "reshard", "corpus", "-o", "new", "--shards", 2, "--seed", 1),
        "--seed 1 decides the order of --shuffle; give both or neither$",
    ),
    (("prepare", "missing.txt", "-o", "new", "--shards", 0), "--shards 0: give a whole number, 1"),
    (
        ("prepare", "missing.txt", "-o", "new", "--heldout", -1),
        "--heldout -1: give a number of doc",
    ),
    (("corpus", "add", "missing", "missing.txt", "--heldout", -1), "--heldout -1: give a number"),
    (("prepare", "corpus/vocabulary.txt", "-o", "run"), "run exists and is not a corpus"),
]

DATA = [
    (("train", "nowhere", "-o", "new"), "nowhere does not exist: make a corpus"),
    (("train", "run", "-o", "new"), "run is not a corpus"),
    (("train", "-o", "new", "--resume"), "new: no run here"),
    (("train", "nowhere", "-o", "run", "--resume"), "nowhere does not exist"),
    ((*TRAIN, "--config", "none.toml"), "--config none.toml: no such file"),
    ((*TRAIN, "--config", "corpus"), "--config corpus: is a folder"),
    ((*TRAIN, "--config", os.devnull), "--config /dev/null: is a pipe or a device"),
    (("topics", "nowhere"), "nowhere: no run here"),
    (("topics", "corpus"), "corpus: no run here"),
    (("export", "corpus", "--to", "csv", "-o", "new"), "corpus: no run here"),
    (
        ("export", "run", "--to", "mallet", "-o", "new", "--corpus", "nowhere"),
        "nowhere does not exist",
    ),
    (("evaluate", "corpus"), "corpus: no run here"),
    (("evaluate", "run", "--topics-file", "none.npy"), "none.npy: no such file"),
    (("evaluate", "run", "--topics-file", "corpus/corpus.json"), "corpus.json: not a readable"),
    (("evaluate", "run", "--topics-file", "corpus/heldout/indptr.npy"), "not a K × W matrix"),
    (("corpus", "info", "run"), "run is not a corpus"),
    (("corpus", "verify", "nowhere"), "nowhere does not exist"),
]
FAILURE = [
    (("prepare", "corpus/vocabulary.txt", "-o", "/proc/new"), "^/proc/new: cannot be written"),
    ((*TRAIN[:2], "-o", "/proc/new"), "^/proc/new: cannot be written"),
]


@pytest.mark.parametrize(
    ("arguments", "sentence", "status"),
    [(*c, 2) for c in USAGE] + [(*c, 3) for c in DATA] + [(*c, 1) for c in FAILURE],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, tuple) else None,
)
def test_one_sentence_and_nothing_written(run, command, arguments, sentence, status):
    before = tree(Path())
    result = command(*arguments)
    assert re.search(sentence, one_sentence(result)), result.stderr
    assert result.status == status
    assert tree(Path()) == before


TOML = [
    ("topics = [3]", "--topics .3. is not a whole number"),
    ("topics = 3.5", "--topics 3.5 is not a whole number"),
    ('topics = "x"', "--topics 'x' is not a whole number"),
    ('remember = "x"', "--remember 'x' is not true or false"),
    ("balance = 3", "--balance 3 is not true or false"),
    ("updates = true", "--updates True is not a whole number"),
    ("sampler = 3", "--sampler '?3'? is not"),
    ("time-budget = 5", "--time-budget: 5 is not a duration"),
    ("topics = 1", "--topics 1 is out of range"),
    ("topic = 5", "unknown setting 'topic'"),
    ("alpha = []", "--alpha has no number"),
    ('model = "mixture"', "--model is for the command line only; leave it out of the file"),
    ("batch-size = 100\nbatch_size = 200", "--batch-size is there in two spellings"),
]


@pytest.mark.parametrize(("content", "sentence"), TOML)
def test_a_wrong_setting_in_a_file_is_named_with_the_file(run, command, content, sentence):
    Path("settings.toml").write_text(content)
    result = command(*TRAIN, "--config", "settings.toml")
    assert re.search("settings.toml: " + sentence, one_sentence(result))
    assert result.status == 2
    assert not Path("new").exists()


@pytest.mark.parametrize("content", ["topics = ", "a = " + "[" * 100_000], ids=["cut", "deep"])
def test_a_file_that_is_not_toml(run, command, content):
    Path("settings.toml").write_text(content)
    result = command(*TRAIN, "--config", "settings.toml")
    assert "settings.toml: not a TOML file" in one_sentence(result)
    assert result.status == 3


def test_links_that_lead_in_a_circle(run, command):
    Path("x").symlink_to("x")
    for arguments, told in (
        (("prepare", "x", "-o", "new"), "x does not exist"),
        (("prepare", "corpus/vocabulary.txt", "-o", "x"), "x exists and is not a corpus"),
        (("infer", "run", "x", "-o", "mixes.csv"), "x does not exist"),
        (("export", "run", "--to", "npy", "-o", "x"), "x: cannot be written"),
        (("edit", "run", "--label", "0=One", "-o", "x"), "x: cannot be written"),
        ((*TRAIN, "--from", "x"), "x: no run here"),
        (("topics", "x"), "x: no run here"),
    ):
        result = command(*arguments)
        assert told in one_sentence(result), arguments
        assert result.status in (1, 2, 3)
    assert Path("x").is_symlink() and not Path("new").exists()


@pytest.mark.parametrize("setting", ["from", "topic-prior"])
def test_a_place_that_no_path_can_name(run, command, setting):
    Path("settings.toml").write_text(f'{setting} = "x\\u0000"')
    result = command(*TRAIN, "--config", "settings.toml")
    assert f"settings.toml: --{setting}: holds a character that no path" in one_sentence(result)
    assert result.status == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("export", "run", "--to", "csv", "-o", "new", "--words"),
        (*TRAIN, "--evaluate-every"),
        (*TRAIN, "--slow"),
        ("prepare", "corpus/vocabulary.txt", "-o", "new", "--keep"),
    ],
    ids=lambda arguments: arguments[-1],
)
def test_numbers_with_more_digits_than_python_reads(run, command, arguments):
    number = "9" * 5000 + "=5" * (arguments[-1] == "--slow")
    result = command(*arguments, number)
    assert one_sentence(result) and result.status in (2, 3)
    assert not Path("new").exists()


def test_more_topics_than_memory_can_hold(run, command, monkeypatch):
    monkeypatch.setattr("topicmc.host.machine.available_memory", lambda: 1000)
    result = command(*TRAIN, "--topics", 5)
    assert re.search("--topics 5 over 120 words needs about .* MB of memory", one_sentence(result))
    assert result.status == 2
    assert not Path("new").exists()


def test_force_does_not_lose_a_run_for_settings_that_cannot_work(run, command):
    """The built-in extract must be read before its settings can be checked."""
    before = tree(Path())
    result = command("train", "-o", "run", "--force", "--topics", 60000)
    assert result.status == 2
    assert "--topics 60000 is more than" in one_sentence(result)
    assert tree(Path()) == before


def test_force_does_not_lose_a_corpus_that_lies_in_a_run_on_another(run, command):
    """Which CORPUS would have named."""
    (run / "corpus").mkdir()
    (run / "corpus" / "corpus.json").write_text("{}")
    before = tree(Path())
    result = command("train", "-o", run, "--force")
    assert "run/corpus: is no part of the run there" in one_sentence(result)
    assert result.status == 2
    assert tree(Path()) == before


@pytest.mark.parametrize(
    ("place", "corpus", "stays"),
    [("corpus", "corpus", False), ("corpus", "run/corpus", True), ("elsewhere", "corpus", True)],
    ids=["the extract", "the extract, as CORPUS", "another corpus"],
)
def test_force_removes_the_extract_with_its_run_and_nothing_else(
    run, command, place, corpus, stays
):
    copy_of(Path("corpus"), run / "corpus")
    opened = TopicRun(run)
    opened.update_facts(corpus={**opened.facts()["corpus"], "path": place})
    result = command("train", corpus, "-o", run, "--force", *SETTINGS, *LENGTH)
    assert result.status == 0, result.stderr
    assert (run / "corpus" / "corpus.json").is_file() == stays
    path = TopicRun.open(run).facts()["corpus"]["path"]
    # The extract goes with its run wherever that is moved to.
    assert path == ("corpus" if corpus == "run/corpus" else str(Path(corpus).resolve()))


def test_a_place_that_cannot_be_written(run, command):
    """A file stands where a folder is needed."""
    for arguments in ((*TRAIN[:3], "run/run.json/new"), ("train", "-o", "run/run.json/new")):
        result = command(*arguments)
        assert "run.json" in one_sentence(result)
        assert result.status == 1
