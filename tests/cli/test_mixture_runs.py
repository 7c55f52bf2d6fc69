"""``topicmc train --model mixture``: runs that are trained, resumed, read and refused."""

import csv
import gzip
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
from hostile import edit_json, frugal, refused
from shell import copy_of, damage, one_sentence, show_bars, topicmc
from synthetic import write_docword

from topicmc.corpora import Corpus, prepare
from topicmc.engine.transport.local import LocalTransport
from topicmc.errors import DataError, UsageError
from topicmc.host.machine import COMPILING, PROGRAM
from topicmc.inference.groups import log_memberships
from topicmc.models.mixture import matching, reading
from topicmc.models.mixture.jobs import decided
from topicmc.models.mixture.model import training_documents
from topicmc.models.mixture.run import MixtureRun
from topicmc.models.mixture.settings import MixtureConfig
from topicmc.posterior.passes import told_of_samples
from topicmc.report import groups as report

MODEL = ("--model", "mixture", "--threads", 1, "--progress", "none", "--beta", 0.2)
LENGTH = ("--updates", 120, "--batch-size", 150)


@pytest.fixture(scope="module")
def folder(small_corpus, tmp_path_factory) -> Path:
    """A corpus, and a run on it."""
    folder = tmp_path_factory.mktemp("mixture")
    copy_of(small_corpus.path, folder / "corpus")
    done = topicmc("train", "corpus", "-o", "run", *MODEL, *LENGTH, cwd=folder)
    assert done.status == 0, done.stderr
    assert "number of groups" in done.stdout and "nats a held-out document" in done.stderr
    return folder


@pytest.fixture
def work(folder, tmp_path, monkeypatch) -> Path:
    """A copy of all that in the current folder."""
    shutil.copytree(folder, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    run = MixtureRun(Path("run"))
    run.update_facts(corpus={**run.facts()["corpus"], "path": str(Path("corpus").resolve())})
    return tmp_path / "work"


def states(path) -> dict[str, bytes]:
    """The bits of the kept samples, by file."""
    run = MixtureRun.open(Path(path))
    found = ((entry["file"], run.read_sample(entry)) for entry in run.sample_index())
    return {
        name: b"".join(map(np.ndarray.tobytes, (s.groups, s.weights, s.phi))) for name, s in found
    }


@pytest.mark.parametrize("chains", [1, 2])
def test_a_resumed_run_equals_an_uninterrupted_one(work, command, chains):
    options = (*MODEL, "--batch-size", 150, "--chains", chains)
    whole = command("train", "corpus", "-o", "whole", *options, "--updates", 90)
    assert whole.status == 0, whole.stderr
    command("train", "corpus", "-o", "parts", *options, "--updates", 37)
    command("train", "-o", "parts", "--resume", "--updates", 90, "--threads", 2)
    assert states("whole") == states("parts")
    lines = [Path(name, "trace.jsonl").read_text().splitlines() for name in ("whole", "parts")]
    chains_of = [[json.loads(line)["chains"] for line in some] for some in lines]
    assert chains_of[0] == chains_of[1]


def test_workers_in_one_process_do_not_change_a_bit(work, command):
    command("train", "corpus", "-o", "two", *MODEL, *LENGTH, "--workers", 2, "--transport", "local")
    assert states("two") == states("run")


def test_every_kept_state_is_past_the_start(work):
    entries = MixtureRun.open(Path("run")).sample_index()
    assert entries and all(e["position"] >= 60 and not e["burn_in"] for e in entries)


def test_a_state_of_the_start_is_no_posterior(work, command):
    command("train", "corpus", "-o", "early", *MODEL, "--updates", 20, "--batch-size", 150)
    assert all(entry["burn_in"] for entry in MixtureRun.open(Path("early")).sample_index())
    note = "early has no posterior sample yet: a state of its start stands in for one"
    shown = command("topics", "early")
    assert note in shown.stderr and "The groups of the state of the start" in shown.stdout
    assert "number of groups" not in shown.stdout
    assert json.loads(command("topics", "early", "--json").stdout)["groups"] == []
    scored = command("evaluate", "early")
    assert note in scored.stderr and "number of groups" not in scored.stdout
    assert "nats a document" in scored.stdout and "nats a token" not in scored.stdout
    told = json.loads(command("evaluate", "early", "--json").stdout)
    assert told["nats_per_token"] is told["nats_per_document_averaged"] is None
    # At least twice the start, of 50 updates.
    assert "continue training (topicmc train -o early --resume --updates 120)" in scored.stdout
    assert note in command("edit", "early", "-o", "named", "--label", "0=First").stderr
    assert note in command("infer", "early", "-o", "early.csv").stderr
    assert note in command("export", "early", "--to", "npy", "-o", "out").stderr
    assert "no posterior sample yet" in command("report", "early", "-o", "early.html").stderr


def test_who_reads_a_run_is_told_that_it_has_not_ended(work, command):
    run = MixtureRun(Path("run"))
    run.update_facts(config={**run.facts()["config"], "updates": 900})
    resume = "topicmc train -o run --resume"
    done = "Note: run had done 120 of 900 updates when it was last evaluated"
    note = f"{done}; go on with it ({resume})."
    for arguments in (
        ("topics", "run"),
        ("evaluate", "run"),
        ("infer", "run", "-o", "groups.csv"),
        ("export", "run", "--to", "npy", "-o", "out"),
        ("edit", "run", "-o", "named", "--label", "0=First"),
        ("report", "run", "-o", "page.html"),
    ):
        told = command(*arguments)
        assert told.status == 0 and note in told.stderr, told.stderr
    diagnosis = json.loads(command("evaluate", "run", "--json").stdout)
    assert diagnosis["converged"] or f"finish it ({resume})" in diagnosis["verdict"]


def test_a_run_that_has_converged_has_ended(work):
    run = MixtureRun(Path("run"))
    longer = {**run.facts()["config"], "updates": 900, "until": "converged"}
    run.update_facts(config=longer)
    assert run.reached().is_unfinished
    edit_json(Path("run/checkpoint/current.json"), lambda told: told.update(converged=True))
    assert not run.reached().is_unfinished


def test_a_run_that_memory_cannot_bear_is_refused(work, command, monkeypatch):
    monkeypatch.setattr("topicmc.host.machine.available_memory", lambda: PROGRAM + COMPILING)
    refused = command("train", "corpus", "-o", "new", *MODEL, "--chains", 2)
    assert refused.status == 2 and not Path("new").exists()
    told = one_sentence(refused)
    assert re.search(
        "300 documents and 200 groups over 120 words need about .* MB of memory,", told
    )
    assert (
        "and 163.0 MB are free; use fewer --chains, or prune the vocabulary (topicmc prepare"
        " --min-df N); to go on with a run, free some"
    ) in told


def test_evaluate_says_what_it_scores(work, command):
    told = json.loads(command("evaluate", "run", "--json").stdout)
    assert told["documents"] == 30 and told["samples"] > 0
    assert told["nats_per_document_averaged"] <= told["nats_per_document"] + 1
    assert sum(number["probability"] for number in told["groups"]) == pytest.approx(1)
    assert {"rhat", "ess", "verdict", "converged"} <= told.keys()
    record = MixtureRun.open(Path("run")).metrics()[-1]
    assert record["nats_per_document_averaged"] == pytest.approx(
        told["nats_per_document_averaged"], rel=1e-9
    )
    text = command("evaluate", "run").stdout
    assert "nats a document" in text and "█" in text


def test_a_damaged_corpus_is_not_scored(work, command):
    damage(Path("corpus/heldout/word_ids.npy"), "flip")
    for arguments in (("evaluate", "run"), ("evaluate", "run", "--corpus", "corpus")):
        refused = command(*arguments)
        assert "word_ids.npy was changed or damaged" in one_sentence(refused)
        assert refused.status == 3


def test_documents_without_a_known_word_are_left_out_of_the_score(work, command):
    """Of 240 words the run knows the first 120."""
    rng = np.random.default_rng(0)
    known, foreign = (list(rng.integers(first, first + 120, (20, 30))) for first in (0, 120))
    for name, documents in (("own", known), ("half", known + foreign), ("none", foreign)):
        Path(name).mkdir()
        source = write_docword(Path(name), documents, 240)
        prepare([source], Path(name, "corpus"), n_heldout=0)
    own, half = (
        json.loads(command("evaluate", "run", "--corpus", f"{name}/corpus", "--json").stdout)
        for name in ("own", "half")
    )
    assert (own["documents"], own["unknown_documents"], own["unknown_words"]) == (20, 0, 0)
    assert (half["documents"], half["unknown_documents"], half["unknown_words"]) == (20, 20, 600)
    for name in ("nats_per_document", "nats_per_document_averaged", "nats_per_token"):
        assert half[name] == pytest.approx(own[name])
    assert "20 documents, left out" in command("evaluate", "run", "--corpus", "half/corpus").stdout
    refused = command("evaluate", "run", "--corpus", "none/corpus")
    assert "none of the words is known to the model" in one_sentence(refused)
    assert refused.status == 3


def test_topics_are_groups_with_their_documents(work, command):
    told = json.loads(command("topics", "run", "-n", 4, "--json").stdout)
    assert sum(topic["documents"] for topic in told["topics"]) == 300
    assert all(len(topic["words"]) == 4 for topic in told["topics"])
    weights = sum(topic["weight"] for topic in told["topics"])
    assert weights + told["others"] == pytest.approx(1)
    sizes = [topic["documents"] for topic in told["topics"]]
    assert sizes == sorted(sizes, reverse=True)


def test_infer_and_export(work, command):
    done = command("infer", "run", "-o", "groups.jsonl")
    assert done.status == 0, done.stderr
    rows = [json.loads(line) for line in Path("groups.jsonl").read_text().splitlines()]
    assert len(rows) == 330
    assert all(sum(row["mix"]) == pytest.approx(1, abs=1e-5) for row in rows)
    assert f"groups.jsonl: {len(rows[0]['mix'])} shares a document" in done.stdout
    assert command("infer", "run", "-o", "groups.csv").status == 0
    assert "_other" in Path("groups.csv").read_text().splitlines()[0]
    assert command("export", "run", "--to", "npy", "-o", "out").status == 0
    phi, weights = np.load("out/phi.npy"), np.load("out/weights.npy")
    np.testing.assert_allclose(phi.sum(axis=1), 1)
    assert len(phi) == len(weights) and weights.sum() <= 1
    groups = np.load("out/groups.npy")
    assert groups.shape == (300,) and set(groups) == set(range(len(phi)))


def test_a_report_shows_groups_and_how_many(work, command):
    done = command("report", "run", "-o", "page.html", "--documents", 3)
    assert (done.status, done.stdout, done.stderr) == (0, "page.html\n", "")
    page = Path("page.html").read_text(encoding="utf-8")
    assert "<title>Groups of corpus</title>" in page and "Skip to the groups" in page
    (told,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    data = json.loads(told)
    own = json.loads(command("topics", "run", "--json").stdout)
    assert len(data["topics"]) == len(own["topics"])
    assert data["how_many"] == [[n["groups"], n["probability"]] for n in own["groups"]]
    titles = {trace["title"] for trace in data["runs"][0]["traces"]}
    assert titles == {"Number of groups", "Log joint", "Concentration"}
    assert all(len(topic["documents"]) == 3 for topic in data["topics"])
    assert all(0 < topic["held"] <= 1 for topic in data["topics"])
    assert {"group", "groups"} <= set(data["terms"].values())


def test_groups_are_matched_by_all_documents_though_few_are_looked_at(work, monkeypatch):
    seen = []
    monkeypatch.setattr(reading, "_LOOKED_AT", 100)
    monkeypatch.setattr(matching, "most_central", lambda some: seen.extend(map(len, some)) or 0)
    found = matching.group_samples([MixtureRun.open(Path("run"))])
    assert set(seen) == {100} and len(found.groups.groups) == 300
    np.testing.assert_array_equal(found.jaccard[0], 1)  # the central one with itself


@pytest.mark.parametrize("every", [1, 3])
def test_a_report_shows_the_documents_of_the_highest_odds(work, monkeypatch, every):
    """As if all were sorted, the earliest of equals first; of a large corpus every m-th."""
    run, corpus = MixtureRun.open(Path("run")), Corpus.open("corpus")
    posterior = report.GroupPosterior([run], 0.9)
    shown = report.largest(posterior)
    known = replace(posterior.samples.groups, phi=posterior.phi)
    looked_at = np.arange(0, corpus.n_docs, every)
    score = log_memberships(known, training_documents(corpus))[np.ix_(looked_at, shown)]
    with np.errstate(divide="ignore"):
        odds = score - np.log(-np.expm1(np.minimum(score, -1e-300)))
    best = looked_at[np.argsort(-odds, axis=0, kind="stable")[:5]]
    monkeypatch.setattr(report, "_BLOCK", 7)
    monkeypatch.setattr(report, "_MOST_TOKENS", -(-corpus.n_tokens // every))
    monkeypatch.setattr(report, "tell", lambda _p, _s, _c, numbers, _shares: numbers)
    assert report._documents(posterior, shown, corpus, 5).tolist() == best.T.tolist()


def test_a_trace_without_times_is_damaged(work, command):
    lines = [json.loads(line) for line in Path("run/trace.jsonl").read_text().splitlines()]
    for line in lines:
        del line["seconds"]
    Path("run/trace.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert "is no trace" in one_sentence(command("report", "run", "-o", "page.html"))


def test_a_score_is_never_below_zero(work, command):
    """A corpus of one word leaves nothing to tell; rounding must not make less of it."""
    Path("one.jsonl").write_text('{"text": "word word"}\n{"text": "word"}\n' * 20)
    words = ("--min-df", 1, "--max-df", 1, "--heldout", 5)
    assert command("prepare", "one.jsonl", "-o", "one", *words).status == 0
    assert command("train", "one", "-o", "r", *MODEL, "--updates", 60).status == 0
    told = command("evaluate", "r")
    assert told.status == 0, told.stderr
    assert "nats a document       0.0000" in told.stdout
    assert command("report", "r", "-o", "r.html").status == 0


def test_a_run_made_again_is_no_other_chain(work, command):
    assert command("train", "corpus", "-o", "again", *MODEL, *LENGTH).status == 0
    refused = command("report", "run", "again", "-o", "page.html")
    assert "again: has the same samples as run; train one" in one_sentence(refused)
    assert refused.status == 2


def test_compare_tells_how_far_groupings_agree(work, command):
    command("train", "corpus", "-o", "other", *MODEL, *LENGTH, "--seed", 1)
    done = command("compare", "run", "other", "run", "--json")
    assert done.status == 0, done.stderr
    told = json.loads(done.stdout)
    other, same = told["groupings"]
    assert other["within"][0] == same["within"][0] == same["within"][1] != other["within"][1]
    assert other["between"] < same["between"] < 1 and same["found"] == len(same["pairs"])
    assert same["adjusted_rand"] == 1 and same["variation_of_information"] == pytest.approx(0)
    assert other["adjusted_rand"] < 1
    assert sorted(p["first"] for p in other["pairs"]) == [*range(told["models"][0]["topics"])]
    assert told["matchings"] == []
    text = command("compare", "run", "other", "-n", 1).stdout
    assert "adjusted Rand index" in text and "found again" in text


def test_a_mixture_and_topics_complete_the_same_documents(work, command):
    trained = command("train", "corpus", "-o", "lda", "--topics", 4, "--updates", 30)
    assert trained.status == 0, trained.stderr
    done = command("compare", "lda", "run", "--json")
    assert done.status == 0, done.stderr
    told = json.loads(done.stdout)
    own = json.loads(command("evaluate", "lda", "--json").stdout)
    assert told["split"] == own["split"] and told["tokens_scored"] == own["tokens_scored"]
    perplexities = [model["perplexity_averaged"] for model in told["models"]]
    assert all(1 < value < 120 for value in perplexities)  # better than no model of 120 words
    assert not told["matchings"] and not told["groupings"]
    assert "not matched with topics" in " ".join(told["remarks"])


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_groups_in_tables(work, command, format):
    assert command("export", "run", "--to", format, "-o", "out", "--words", 4).status == 0
    own = json.loads(command("topics", "run", "-n", 4, "--json").stdout)["topics"]
    if format == "csv":
        rows = list(csv.DictReader(Path("out").read_text(encoding="utf-8").splitlines()))
    elif format == "parquet":
        rows = pyarrow.parquet.read_table("out").to_pylist()
    else:
        lines = [json.loads(line) for line in Path("out").read_text().splitlines()]
        assert [line["top_words"] for line in lines] == [group["words"] for group in own]
        rows = [{**line, "word": line["top_words"][0]} for line in lines for _ in range(4)]
    assert len(rows) == 4 * len(own)
    for row, group in zip(rows[::4], own, strict=True):
        assert (int(row["group"]), row["word"]) == (group["topic"], group["words"][0])
        assert int(row["documents"]) == group["documents"]
        assert float(row["weight"]) == pytest.approx(group["weight"])


def test_mallet_gives_every_token_the_group_of_its_document(work, command):
    assert command("export", "run", "--to", "mallet", "-o", "out").status == 0
    assert command("export", "run", "--to", "npy", "-o", "npy").status == 0
    groups = np.load("npy/groups.npy")
    lines = gzip.decompress(Path("out/state.gz").read_bytes()).decode().splitlines()[3:]
    told = [(int(line.split()[0]), int(line.split()[-1])) for line in lines]
    assert {doc for doc, _ in told} == set(range(300))
    assert all(groups[doc] == group for doc, group in told)


def test_views_name_groups_until_the_run_goes_on(work, command):
    done = command("edit", "run", "-o", "view", "--label", "0=First of all")
    assert done.status == 0, done.stderr
    told = json.loads(command("topics", "view", "--json").stdout)["topics"]
    assert [group.get("name") for group in told[:2]] == ["First of all", None]
    assert "0 First of all" in command("infer", "view", "-o", "v.jsonl").stdout
    assert command("report", "view", "-o", "v.html").status == 0
    assert "First of all" in Path("v.html").read_text(encoding="utf-8")
    refused = command("train", "-o", "view", "--resume", "--updates", 130)
    assert "is a view" in one_sentence(refused)
    command("train", "-o", "run", "--resume", "--updates", 160)
    assert "make the view anew" in one_sentence(command("topics", "view"))


def test_a_learned_beta_is_resumed_and_told(work, command):
    options = (*MODEL[:-2], "--learn", "both", "--batch-size", 150)
    whole = command("train", "corpus", "-o", "whole", *options, "--updates", 90)
    assert whole.status == 0, whole.stderr
    command("train", "corpus", "-o", "parts", *options, "--updates", 37)
    command("train", "-o", "parts", "--resume", "--updates", 90)
    assert states("whole") == states("parts")
    betas = {entry["beta"] for entry in MixtureRun.open(Path("whole")).sample_index()}
    assert len(betas) > 1 and all(1e-4 <= beta <= 1e4 for beta in betas)
    assert "beta" in json.loads(command("evaluate", "whole", "--json").stdout)["rhat"]


def test_no_state_is_a_sample_before_beta_is_drawn(work, command):
    options = ("--learn", "both", "--moves-every", 80, "--batch-size", 150)
    command("train", "corpus", "-o", "late", *MODEL[:-2], *options, "--updates", 79)
    assert all(entry["burn_in"] for entry in MixtureRun.open(Path("late")).sample_index())
    done = command("train", "-o", "late", "--resume", "--updates", 90, "--threads", 1)
    assert done.status == 0, done.stderr
    entries = MixtureRun.open(Path("late")).sample_index()
    assert entries and all(e["position"] >= 80 and not e["burn_in"] for e in entries)


def test_sgrld_and_minibatches_train(work, command):
    for number, options in enumerate(
        (("--sampler", "sgrld"), ("--counts", "minibatch"), ("--alpha", "0.5", "--splits", "0"))
    ):
        done = command(
            "train", "corpus", "-o", f"other-{number}", *MODEL, "--updates", 60, *options, "--json"
        )
        assert done.status == 0, done.stderr
        assert json.loads(done.stdout)["nats_per_document"] > 0


IN_PARTS = ("--counts", "minibatch")
LEARN_IN_PARTS = ("--learn", "both", *IN_PARTS)
REFUSED = [
    (("train", "corpus", "-o", "x", *MODEL, "--topics", "5"), "learned"),
    (("train", "corpus", "-o", "x", *MODEL, "--sweeps", "5"), "no such setting"),
    (("train", "corpus", "-o", "x", *MODEL, "--sampler", "adlda"), "scir"),
    (("train", "corpus", "-o", "x", *MODEL, "--alpha", "-1"), "out of range"),
    (("train", "corpus", "-o", "x", *MODEL, "--slow", "0=2"), "--slow"),
    (("train", "-o", "x", *MODEL), "CORPUS"),
    (("train", "corpus", "-o", "x", "--splits", "5"), "--model mixture"),
    (("train", "-o", "run", "--resume", "--model", "lda"), "--model lda"),
    (("train", "-o", "run", "--resume", "--beta", "0.3"), "--beta"),
    (("topics", "run", "run"), "one RUN"),
    (("topics", "run", "corpus"), "is a mixture, and other RUNs are not"),
    (("topics", "run", "--tree"), "--tree"),
    (("topics", "run", "--corpus", "corpus"), "--corpus"),
    (("infer", "run", "-o", "x.csv", "--se"), "--se"),
    (("infer", "run", "-o", "x.csv", "--threads", "2"), "--threads"),
    (("report", "run", "-o", "x.html", "--threads", "2"), "--threads"),
    (("export", "run", "--to", "gensim", "-o", "x"), "npy"),
    (("export", "run", "--to", "sklearn", "-o", "x"), "npy, csv"),
    (("export", "run", "--to", "csv", "-o", "x", "--chain", "0"), "--chain"),
    (("export", "run", "--to", "arviz", "-o", "x.nc", "--words", "3"), "--words 3"),
    (("export", "run", "run", "--to", "csv", "-o", "x"), "several RUNs"),
    (("report", "run", "-o", "x.html", "--level", "2"), "--level"),
    (("report", "run", "-o", "x.html", "--by", "year"), "--time"),
    (("compare", "run"), "two RUNs"),
    (("compare", "run", "run", "--within", "0.3"), "--within"),
    (("compare", "run", "run", "--drift"), "--drift"),
    (("edit", "run", "-o", "view", "--merge", "0+1"), "named only"),
    (("edit", "run", "-o", "view", "--label", "900=x"), "no group 900"),
    (("train", "corpus", "-o", "x", *MODEL, *LEARN_IN_PARTS), "--counts"),
    (("train", "corpus", "-o", "x", *MODEL, *IN_PARTS, "--splits", "5"), "--splits"),
    (
        ("train", "corpus", "-o", "x", *MODEL, *IN_PARTS, "--moves-every", "5", "--dry-run"),
        "--moves",
    ),
    (("train", "corpus", "-o", "x", *MODEL, "--learn", "both", "--alpha", "1"), "--alpha"),
    (("train", "-o", "run", "--resume", "--learn", "both"), "--learn"),
    (
        ("train", "corpus", "-o", "x", *MODEL, "--beta", "0.0001"),
        "--beta 0.0001: over 120 words it must be at least 0.000166667",
    ),
]


@pytest.mark.parametrize("arguments, named", REFUSED)
def test_what_a_mixture_cannot_is_refused_in_a_sentence(work, command, arguments, named):
    done = command(*arguments)
    assert done.status in (2, 3), done.stderr
    assert named in one_sentence(done)


@pytest.mark.parametrize("name", ["samples/index.json", "trace.jsonl"])
def test_more_groups_than_documents_are_refused(work, command, name):
    path = work / "run" / name
    if name == "trace.jsonl":
        line = json.loads(path.read_text().splitlines()[-1])
        line["chains"]["0"]["groups"] = 1e12
        path.write_text(f"{path.read_text()}{json.dumps(line)}\n")
    else:
        edit_json(path, lambda index: index["samples"][-1].update(groups=2**31 - 1))
    with frugal():
        for reader in ("topics", "evaluate"):
            refused(command, reader, "run", where=reader)


@pytest.mark.parametrize("damage", ["groups", "weights", "phi", "nothing", "missing"])
def test_a_damaged_sample_is_refused(work, damage):
    from topicmc.storage.arrays import write_arrays

    run = MixtureRun.open(Path("run"))
    entry = run.sample_index()[0]
    sample = run.read_sample(entry)
    arrays = {"groups": sample.groups, "weights": sample.weights, "phi": sample.phi}
    wrong = {
        "groups": {**arrays, "groups": sample.groups + np.int32(len(sample.weights))},
        "weights": {**arrays, "weights": -sample.weights},
        "phi": {**arrays, "phi": sample.phi[:, 1:]},
        "nothing": {**arrays, "phi": np.r_[0 * sample.phi[:1], sample.phi[1:]]},
        "missing": {"groups": sample.groups},
    }[damage]
    path = run.place_of_sample(entry)
    entry = {**entry, "checksum": write_arrays(path, wrong)}
    with pytest.raises(DataError, match="remake"):
        run.read_sample(entry)


def test_more_tokens_than_groups_can_count_are_refused(small_corpus):
    corpus = Corpus.open(small_corpus.path)
    corpus.n_tokens = 2**31
    with pytest.raises(UsageError, match="has 2,147,483,648 tokens, and a mixture counts"):
        decided(MixtureConfig(), corpus, LocalTransport(1))


def test_a_dry_run_shows_the_settings(work, command):
    told = json.loads(command("train", "corpus", *MODEL, "--dry-run", "--json").stdout)
    assert told["counts"] == "all" and told["alpha"] == "auto" and told["batch_size"] == 300
    asked = ("--model", "mixture", "--learn", "beta", "--dry-run", "--json")
    told = json.loads(command("train", "corpus", *asked).stdout)
    assert (told["learn"], told["alpha"]) == ("beta", 1.0)


READING = {  # and how often the samples are read: three times to find the groups that are shown
    ("topics", "run"): 3,
    ("evaluate", "run"): 1,
    ("infer", "run", "-o", "groups.csv", "--force"): 3,
    ("edit", "run", "-o", "named", "--label", "0=First", "--force"): 3,
    ("export", "run", "--to", "npy", "-o", "out", "--force"): 3,
    ("report", "run", "-o", "page.html", "--force"): 4,
    ("compare", "run", "run"): 10,
}


@pytest.mark.parametrize("arguments", READING, ids=lambda arguments: arguments[0])
def test_reading_samples_shows_how_far_it_is(work, command, monkeypatch, arguments):
    passes = []
    with told_of_samples(lambda done, total: passes.append(total) if done == total else None):
        assert command(*arguments).status == 0
    assert len(passes) == READING[arguments]
    show_bars(monkeypatch)
    assert "Reading samples" in command(*arguments).stderr
