"""Corpora and runs of every earlier format: read, gone on with, evaluated and exported for ever.

``tests/formats/1`` was written by the version that had this format, by ``tests/formats/make.py``;
so what is expected below comes from the files themselves, not from the code that reads them.
"""

import itertools
import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from shell import copy_of

from topicmc.cli import COMMANDS
from topicmc.export import FORMATS
from topicmc.models.lda.run import TopicRun

FORMATS_FOLDER = Path(__file__).parent.parent / "formats"
# Sweeps, or epochs of minibatches, that a run is resumed to, about twice as many as it has made;
# and whether it is still in its start then.
RUNS = {
    "adlda": (8, False),
    "adlda-two-chains": (8, False),
    "adlda-two-workers": (12, False),
    "adlda-two-ranks": (12, False),
    "asynclda": (12, False),
    "scir": (1.6, False),
    "scir-two-chains": (3.2, False),
    "scir-two-ranks": (3.2, False),
    "sgrld": (6.4, False),
    "scir-remembered": (8, False),
    "sgrld-remembered": (8, False),
    "adlda-interrupted-in-start": (3, True),
    "scir-interrupted-in-start": (3.2, True),
    "sgrld-interrupted": (3.2, True),  # it was to learn its priors up to update 400
}
AVERAGED = {"scir-two-ranks"}  # its states are means of chains, which later versions may not count
DOCUMENTS, WORDS, TOPICS, SAMPLES = 30, 21, 3, 4
NO_RUN = {
    "fetch",
    "prepare",
    "doctor",
    "factors",
}  # commands that read neither corpora nor runs of topics


@pytest.fixture
def old(tmp_path, monkeypatch) -> Path:
    """A copy of the files of format 1; the current folder."""
    folder = copy_of(FORMATS_FOLDER / "1", tmp_path / "old")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def done(command):
    """A command that must succeed; returns what it printed."""

    def call(*arguments: object) -> str:
        result = command(*arguments)
        assert result.status == 0, f"{arguments}: {result.stderr}"
        assert "Traceback" not in result.stderr
        return result.stdout

    return call


def written(run: str) -> list[dict]:
    """The sample index of a run as it was written, without our own reader."""
    path = FORMATS_FOLDER / "1" / run / "samples"
    entries = json.loads((path / "index.json").read_text())["samples"]
    return [{**entry, "theta": np.load(path / entry["file"])} for entry in entries]


def test_every_command_that_reads_a_run_is_tested_here():
    tested = {
        "train", "evaluate", "compare", "choose", "topics", "infer", "effects", "report", "export",
        "edit",
    }  # fmt: skip
    assert set(COMMANDS) == tested | {"corpus"} | NO_RUN


def test_old_corpora_are_sound_and_can_be_cared_for(old, done):
    assert json.loads(done("corpus", "verify", "corpus", "--json"))["sound"]
    info = json.loads(done("corpus", "info", "corpus", "--json"))
    assert (info["documents"], info["heldout"], info["words"]) == (DOCUMENTS, 6, WORDS)
    assert info["titles"] == info["times"] == DOCUMENTS
    done("corpus", "reshard", "corpus", "--shards", 3, "-o", "resharded")
    shutil.copytree("corpus", "twin")
    done("corpus", "merge", "corpus", "twin", "-o", "merged")
    done("corpus", "add", "corpus", "documents.jsonl", "-o", "added", "--time", "date")
    for made, documents in (("resharded", 30), ("merged", 60), ("added", 66)):
        assert json.loads(done("corpus", "verify", made, "--json"))["sound"]
        assert json.loads(done("corpus", "info", made, "--json"))["documents"] == documents


@pytest.mark.parametrize("name", RUNS)
def test_old_samples_are_read_as_they_were_written(name, old, done):
    """The mean of φ of the first chain, in float64, from the files themselves."""
    entries = [entry for entry in written(name) if entry["chain"] == 0]
    run = TopicRun.open(Path(name))
    read = [run.read_sample(entry) for entry in run.sample_index() if entry["chain"] == 0]
    for entry, theta in zip(entries, read, strict=True):
        assert theta.dtype == np.float32
        assert np.array_equal(theta, entry["theta"])
    phi = np.mean([e["theta"].T / e["theta"].sum(axis=0, dtype=np.float64)[:, None]
                   for e in entries], axis=0)  # fmt: skip
    done("export", name, "--to", "npy", "-o", "topics")
    np.testing.assert_allclose(np.load("topics/phi.npy"), phi, rtol=1e-5)
    alpha = np.mean([entry["alpha"] for entry in entries], axis=0)
    np.testing.assert_allclose(np.load("topics/alpha.npy"), alpha, rtol=1e-6)
    assert Path("topics/vocabulary.txt").read_text() == Path("corpus/vocabulary.txt").read_text()


@pytest.mark.parametrize("name", RUNS)
def test_old_runs_go_on(name, old, done):
    """Resumed, the clock goes on from where it was: nothing is drawn twice or left out, and the
    start is over when it should be."""
    target, starting = RUNS[name]
    metrics = Path(name, "metrics.jsonl")
    before = [json.loads(line) for line in metrics.read_text().splitlines()]
    config = json.loads(Path(name, "run.json").read_text())["config"]
    workers = ("--workers", config["workers"], "--transport", "local")
    settings = ("--epochs", target, "--threads", 1, "--progress", "none", "--json")
    told = json.loads(done("train", "-o", name, "--resume", *workers, *settings))

    after = [json.loads(line) for line in metrics.read_text().splitlines()]
    assert len(after) > len(before)
    for old_record, record in zip(before, after, strict=False):
        assert old_record.items() <= record.items()
    for earlier, later in itertools.pairwise(after):
        assert later["documents"] > earlier["documents"]
        assert later["seconds"] >= earlier["seconds"]
        assert later["update"] > earlier["update"]
    chains = config["chains"] if config["sampler"] == "adlda" else 1
    drawn = chains * DOCUMENTS * target
    assert abs(told["documents"] - drawn) <= 2 * chains * config["batch_size"] * config["workers"]
    assert told["updates"] == pytest.approx(config_updates(config, target), rel=0.1)
    assert math.isfinite(told["perplexity"]) and 1 < told["perplexity"] < 20 * WORDS
    assert after[-1]["burn_in"] == starting

    run = TopicRun.open(Path(name))
    index = run.sample_index()
    numbers = sorted({entry["chain"] for entry in index})
    if name not in AVERAGED:
        assert {entry["burn_in"] for entry in index} == {starting}
    for chain in numbers:
        thetas = [run.read_sample(entry) for entry in index if entry["chain"] == chain]
        assert 1 <= len(thetas) <= SAMPLES
        assert starting or len(thetas) >= SAMPLES // 2
        for theta in thetas:
            assert (theta.shape, theta.dtype) == ((WORDS, TOPICS), np.float32)
            assert np.isfinite(theta).all() and (theta > 0).all()
        for theta, entry in zip(thetas, written(name), strict=False):
            assert not np.array_equal(theta, entry["theta"])
    # What was resumed is as good as new.
    assert json.loads(done("evaluate", name, "--json"))
    done("export", name, "--to", "npy", "-o", "topics")


@pytest.mark.parametrize(("name", "workers"), [("adlda", 2), ("adlda-two-workers", 1)])
def test_old_runs_go_on_with_other_workers(name, workers, old, done):
    settings = ("--epochs", 12, "--threads", 1, "--progress", "none", "--json")
    where = ("--workers", workers, "--transport", "local")
    told = json.loads(done("train", "-o", name, "--resume", *where, *settings))
    assert 1 < told["perplexity"] < 20 * WORDS


def config_updates(config: dict, epochs: float) -> float:
    """Updates of each chain that draw every document so often."""
    at_once = config["batch_size"]
    if config["sampler"] in ("adlda", "asynclda") or config["remember"]:
        per_round = config["workers"] * config["trajectory"] * at_once
        return epochs * config["trajectory"] * -(-DOCUMENTS // per_round)
    return epochs * DOCUMENTS / (config["chains"] * at_once)


@pytest.mark.parametrize("name", RUNS)
def test_old_runs_are_evaluated(name, old, done):
    told = json.loads(done("evaluate", name, "--json"))
    assert (told["documents"], told["tokens_scored"]) == (6, 6)
    if name not in AVERAGED:
        assert told["samples"] == sum(not entry.get("burn_in") for entry in written(name))
    record = json.loads(Path(name, "metrics.jsonl").read_text().splitlines()[-1])
    if not RUNS[name][1]:
        fit = record["perplexity_averaged"]
        assert told["perplexity_averaged"] == pytest.approx(fit, rel=0.5)


@pytest.mark.parametrize("format", FORMATS)
def test_old_runs_are_exported(format, old, done):
    files = json.loads(
        done("export", "adlda-two-chains", "--to", format, "-o", f"topics-{format}", "--json")
    )["files"]
    assert files and all(Path(file).stat().st_size > 0 for file in files)


@pytest.mark.parametrize("name", ["adlda-two-chains", "scir", "scir-interrupted-in-start"])
def test_old_runs_are_shown(name, old, done, monkeypatch):
    monkeypatch.setattr("topicmc.topics.document_groups.LEAST_DOCUMENTS", 2)  # of each year
    for options in ((), ("--details",), ("--uncertainty",)):
        assert "telescope" in done("topics", name, *options)
    assert "topic 1" in done("topics", name, "--topic", 1)
    done("report", name, "-o", "report.html")
    assert json.loads(done("effects", name, "--by", "year", "--json"))["topics"]
    page = Path("report.html").read_text(encoding="utf-8")
    assert "telescope" in page and "Note 1" in page
    told = json.loads(done("compare", name, "sgrld", "--json"))
    assert len(told["models"]) == 2
    done("infer", name, "documents.jsonl", "-o", "mixes.npy")
    mixes = np.load("mixes.npy")
    assert mixes.shape == (36, TOPICS)
    np.testing.assert_allclose(mixes.sum(axis=1), 1, atol=1e-5)
    se = () if name.endswith("in-start") else ("--se",)  # which rests on samples
    done("infer", name, "documents.jsonl", "-o", "mixes.csv", *se)
    done("edit", name, "-o", "view", "--label", "1=Sky", "--merge", "0+2")
    assert "Sky" in done("topics", "view")


def test_an_old_choice_is_kept(old, done):
    """Runs of ``topicmc choose`` that have ended are not made again, and other K can be added."""
    before = {k: Path(f"chosen/k{k}-seed0/metrics.jsonl").read_text() for k in (2, 3)}
    told = json.loads(
        done(
            *("choose", "corpus", "-o", "chosen", "--topics", "2,3,4", "--sampler", "adlda"),
            *("--updates", 16, "--threads", 1, "--progress", "none", "--json"),
        )
    )
    assert [point["topics"] for point in told["topics"]] == [2, 3, 4]
    for k, text in before.items():
        assert Path(f"chosen/k{k}-seed0/metrics.jsonl").read_text() == text
