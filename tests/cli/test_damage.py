"""Files that were damaged, cut short, lost or moved are named, with status 3, by whoever reads
them; nothing is written next to them."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from shell import damage, one_sentence, tree

RESUME = ("train", "-o", "run", "--resume", "--updates", 15, "--progress", "none")
TOPICS, EVALUATE = ("topics", "run"), ("evaluate", "run")
EXPORT = ("export", "run", "--to", "npy", "-o", "new")

READERS = {
    "run.json": (RESUME, TOPICS, EVALUATE, EXPORT),
    "vocabulary.txt": (TOPICS, EVALUATE, EXPORT),
    "samples/index.json": (TOPICS, EVALUATE, EXPORT),
    "samples/chain-*-round-*.npz": (EVALUATE,),
    "samples/chain-*-mean-*.npz": (TOPICS, EVALUATE, EXPORT),
    "checkpoint/current.json": (RESUME,),
    "checkpoint/round-*/theta-000.npy": (RESUME,),
    "checkpoint/round-*/rank-000.json": (RESUME,),
    "checkpoint/round-*/samples.json": (RESUME,),
}


@pytest.mark.parametrize("how", ["flip", "cut", "gone"])
@pytest.mark.parametrize("name", READERS)
def test_a_damaged_run_is_refused(run, command, name, how):
    path = sorted(run.glob(name))[-1]
    if how == "gone" and name == "checkpoint/current.json":
        pytest.skip("a run killed before its first checkpoint has none, and starts again")
    if how == "flip" and path.suffix == ".json" and "rank" not in name:
        path.write_text("[1]")  # JSON still, but no longer what it was
    else:
        damage(path, how)
    before = tree(Path())
    for arguments in READERS[name]:
        result = command(*arguments)
        assert re.search(path.name, one_sentence(result))
        assert result.status == 3
        after = tree(Path())
        after["run/run.json"] = before.get("run/run.json", b"")  # --resume noted what was asked for
        assert {**before, "run/run.json": after["run/run.json"]} == after


@pytest.mark.parametrize("name", ["run.json", "checkpoint/current.json"])
def test_json_of_another_shape_is_refused(run, command, name):
    (run / name).write_text('{"format": 1}')
    result = command(*RESUME)
    assert re.search(f"{Path(name).name}: damaged, it has no '", one_sentence(result))
    assert result.status == 3


@pytest.mark.parametrize("how", ["flip", "cut", "gone"])
def test_a_damaged_index_of_samples_becomes_that_of_the_checkpoint(run, command, how):
    path = run / "samples" / "index.json"
    then = json.loads(path.read_text())["samples"]
    damage(path, how)
    assert command("train", "-o", "run", "--resume", "--progress", "none").status == 0
    assert json.loads(path.read_text())["samples"] == then
    assert command(*EVALUATE).status == 0


TRAIN = ("train", "corpus", "-o", "new", "--topics", 5, "--progress", "none")
COHERENCE = (*TOPICS, "--sort", "coherence")
VERIFY = ("corpus", "verify", "corpus")
STAMPS = "corpus/.checked.json"


@pytest.mark.parametrize("how", ["flip", "cut", "gone"])
@pytest.mark.parametrize(
    ("name", "readers"),
    [
        ("shards/00001/word_ids.npy", (TRAIN, RESUME, COHERENCE, VERIFY)),
        ("shards/00002/counts.npy", (TRAIN, RESUME, COHERENCE, VERIFY)),
        ("shards/00000/indptr.npy", (TRAIN, RESUME, COHERENCE, VERIFY)),
        ("heldout/word_ids.npy", (TRAIN, RESUME, EVALUATE, VERIFY)),
        ("vocabulary.txt", (TRAIN, VERIFY)),
        ("corpus.json", (TRAIN, RESUME, COHERENCE, EVALUATE, VERIFY)),
    ],
)
def test_a_damaged_corpus_is_refused(run, command, name, readers, how):
    path = Path("corpus") / name
    damage(path, how)
    before = tree(Path())
    for arguments in readers:
        result = command(*arguments)
        assert re.search(path.name, one_sentence(result))
        assert result.status == 3
        # Which files were found sound on the way is noted.
        assert {**tree(Path()), STAMPS: before[STAMPS]} == before


def test_a_corpus_that_moved_is_asked_for_and_remembered(run, command):
    Path("corpus").rename("moved")
    for arguments in (RESUME, EVALUATE, COHERENCE):
        result = command(*arguments)
        assert re.search("corpus of the run in run is not there any more", one_sentence(result))
        assert result.status == 3
    assert command(*TOPICS).status == 0
    assert command(*EXPORT).status == 0
    assert command(*EVALUATE, "--corpus", "moved").status == 0
    assert command(*COHERENCE, "--corpus", "moved").status == 0
    assert command("train", "moved", *RESUME[1:]).status == 0
    assert command(*EVALUATE).status == 0


def test_a_corpus_made_anew_is_not_the_same(run, command):
    lines = "red green\n" * 20 + "blue green\n" * 20
    Path("text.txt").write_text(lines)
    made = command("prepare", "text.txt", "-o", "corpus", "--force", "--min-df", 1, "--max-df", 1)
    assert made.status == 0, made.stderr
    result = command(*RESUME)
    assert re.search("corpus: this corpus has changed since the run in run", one_sentence(result))
    assert result.status == 3


def test_a_run_without_a_checkpoint_starts_again(run, command):
    (run / "checkpoint" / "current.json").unlink()
    result = command("train", "-o", "run", "--resume", "--updates", 3, "--progress", "plain")
    assert "the run starts from its beginning" in result.stderr
    assert result.status == 0
    lines = (run / "metrics.jsonl").read_text().splitlines()
    updates = [json.loads(line)["update"] for line in lines]
    assert updates == sorted(set(updates)) and updates[-1] == 3


def test_a_run_without_samples_says_so(run, command):
    (run / "samples" / "index.json").write_text('{"format": 1, "samples": []}')
    for arguments in (TOPICS, EVALUATE, EXPORT):
        result = command(*arguments)
        assert "run: no samples yet; continue training" in one_sentence(result)
        assert "stands in" not in result.stderr  # which a state of the start would do
        assert result.status == 3


@pytest.mark.parametrize(
    ("array", "sentence"),
    [
        (np.ones(120), "not a K × W matrix"),
        (np.ones((120, 5)), "transpose it"),
        (np.ones((5, 7)), "has 7 columns, but the vocabulary has 120 words"),
        (-np.ones((5, 120)), "negative or non-finite"),
        (np.full((5, 120), np.nan), "negative or non-finite"),
        (np.zeros((5, 120)), "topic 0 is all zeros"),
        (np.ones((5, 120), complex), "not a K × W matrix"),
        (np.full((5, 120), "x"), "not a K × W matrix"),
    ],
)
def test_topics_that_are_no_topics_are_refused(run, command, array, sentence):
    np.save("topics.npy", array)
    result = command("evaluate", "--corpus", "corpus", "--topics-file", "topics.npy", "--alpha", 1)
    assert re.search("topics.npy: .*" + sentence, one_sentence(result))
    assert result.status == 3
