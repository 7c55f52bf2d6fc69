"""``topicmc factors``: runs that are trained, resumed, read and damaged."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from shell import TOPICMC, one_sentence, show_bars, topicmc
from sklearn.exceptions import ConvergenceWarning
from synthetic import write_ratings

from topicmc import MatrixFactorization
from topicmc.host.machine import COMPILING, PROGRAM
from topicmc.models.factors.prediction import predict, rmse
from topicmc.models.factors.run import FactorRun
from topicmc.models.factors.scoring import score
from topicmc.storage.arrays import write_arrays

SIZE = ("--factors", 3, "--threads", 1, "--progress", "none")
LENGTH = ("--epochs", 8, "--evaluate-every", 40)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Some ratings, and a run on them."""
    folder = tmp_path_factory.mktemp("factors")
    write_ratings(folder)
    (folder / "pairs.csv").write_text("item,user\ni1,u1\ni2,nobody\nnothing,u3\n")
    done = topicmc("factors", "train", "ratings.csv", "-o", "run", *SIZE, *LENGTH, cwd=folder)
    assert done.status == 0, done.stderr
    return folder


@pytest.fixture
def work(folder, tmp_path, monkeypatch) -> Path:
    """A copy of all that in the current folder."""
    shutil.copytree(folder, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def states(path) -> dict[str, bytes]:
    """The bits of the kept samples, by file."""
    run = FactorRun.open(Path(path))
    found = ((entry["file"], run.read_sample(entry)) for entry in run.sample_index())
    return {
        name: b"".join(map(np.ndarray.tobytes, (s.users, s.items, s.item_precision)))
        for name, s in found
    }


# --- what comes out -------------------------------------------------------------------------------


@pytest.mark.parametrize("sampler", ["sgld", "gibbs", "sgd"])
def test_factors_explain_ratings(work, command, sampler):
    """Held-out error below 0.75 of predicting the mean; a sample's is above the average's."""
    sampled = sampler != "sgd"
    epochs = {"sgld": 60, "gibbs": 40, "sgd": 60}[sampler]
    settings = ("--sampler", sampler, "--epochs", epochs, "--seed", 3)
    priors = ("--precision-rate", 0.1) if sampled else ("--precision", 5)
    done = command(
        "factors", "train", "ratings.csv", "-o", "new", *SIZE, *settings, *priors, "--json"
    )
    told = json.loads(done.stdout)
    assert done.status == 0 and told["run"] == "new" and (told["samples"] > 8) == sampled
    score = json.loads(command("factors", "evaluate", "new", "--json").stdout)
    error = score["rmse_averaged"] if sampled else score["rmse"]
    assert error < 0.75 * score["rmse_of_mean"]
    assert not sampled or (error < score["rmse"] and score["coverage"] > 0.8)
    assert score["ratings"] == FactorRun.open(Path("new")).facts()["ratings"]["heldout"] > 100
    if sampled:
        assert told["rmse_averaged"] == pytest.approx(error)


def test_settings_that_few_ask_for_are_those_of_the_run(work, command):
    lines = Path("ratings.csv").read_text().splitlines()
    Path("twice.csv").write_text("\n".join([*lines, lines[-1]]) + "\n")
    asked = ("--step-offset", 300, "--precision-shape", 2, "--no-learn-noise")
    train = ("factors", "train", "twice.csv", "-o", "new", *SIZE, "--epochs", 1, *asked)
    assert command(*train).status == 3  # for the same pair again
    done = command(*train, "--duplicates", "last")
    assert done.status == 0, done.stderr
    config = FactorRun.open(Path("new")).facts()["config"]
    assert (config["step_offset"], config["precision_shape"]) == (300, 2)
    assert config["learn_noise"] is False


def test_evaluate_predict_and_export(work, command):
    shown = command("factors", "evaluate", "run")
    newest, averaged = shown.stdout.splitlines()[:2]
    assert re.fullmatch(r"RMSE +0\.\d{4}  of the newest sample", newest)
    assert re.fullmatch(r" +0\.\d{4}  averaged over \d+ samples", averaged)
    assert "in 90% intervals" in shown.stdout and "R̂" in shown.stdout
    printed = command("factors", "predict", "run", "pairs.csv", "--user", "user", "--item", "item")
    rows = [line.split(",") for line in printed.stdout.splitlines()]
    assert rows[0] == ["user", "item", "rating", "sd"]
    assert [row[:2] for row in rows[1:]] == [["u1", "i1"], ["nobody", "i2"], ["u3", "nothing"]]
    assert "2 of 3 pairs have a user or an item that run was not trained on" in printed.stderr
    for name in ("p.csv", "p.parquet"):
        options = ("--user", "user", "--item", "item", "-o", name)
        assert command("factors", "predict", "run", "pairs.csv", *options).status == 0
    assert Path("p.csv").read_text() == printed.stdout
    by_number = ("--user", "2", "--item", "1", "--json")
    told = json.loads(command("factors", "predict", "run", "pairs.csv", *by_number).stdout)
    assert told["predictions"][0]["rating"] == pytest.approx(float(rows[1][2]), rel=1e-5)
    command("factors", "export", "run", "--to", "npz", "-o", "all.npz")
    stored = np.load("all.npz")
    user, item = (
        np.flatnonzero(stored[name] == id)[0]
        for name, id in (("user_ids", "u1"), ("item_ids", "i1"))
    )
    samples = (
        stored["mean"]
        + (stored["user_factors"][:, user] * stored["item_factors"][:, item]).sum(axis=1)
        + stored["user_biases"][:, user] + stored["item_biases"][:, item]
    )  # fmt: skip
    assert samples.mean() == pytest.approx(float(rows[1][2]), rel=1e-4)
    assert samples.var() + stored["noise_sd"] ** 2 == pytest.approx(
        float(rows[1][3]) ** 2, rel=1e-3
    )
    command("factors", "export", "run", "--to", "csv", "-o", "biases")
    lines = Path("biases/users.csv").read_text().splitlines()
    assert lines[0] == "user,ratings,bias,sd" and len(lines) == 81
    told = next(line.split(",")[1:] for line in lines if line.startswith("u1,"))
    biases, training = stored["user_biases"][:, user], FactorRun.open(Path("run")).data().training
    expected = (training.users == user).sum(), biases.mean(), biases.std()
    np.testing.assert_allclose(np.float64(told), expected, rtol=1e-4)


def test_chains_are_scored_alone_and_together(work, command, monkeypatch):
    """As by their predictions, though each sample is read once."""
    train = ("factors", "train", "ratings.csv", "-o", "two", *SIZE, "--chains", 2)
    assert command(*train, "--epochs", 12).status == 0
    run, read, seen = FactorRun.open(Path("two")), FactorRun.read_sample, []
    entries, testing, scale = run.sample_index(), run.data().testing, run.scale()

    def expected(some) -> tuple[float, float]:
        states = [read(run, entry) for entry in some]
        found = predict(states, testing.users, testing.items, scale)
        covered = np.abs(found.mean - testing.values) <= 1.64485 * found.deviation
        return rmse(found.mean, testing.values), covered.mean()

    def counted(run, entry):
        seen.append(entry["file"])
        return read(run, entry)

    monkeypatch.setattr(FactorRun, "read_sample", counted)
    found = score(run)
    assert sorted(seen) == sorted(entry["file"] for entry in entries) and len(seen) > 4
    each = [[entry for entry in entries if entry["chain"] == chain] for chain in (0, 1)]
    assert (found.rmse_averaged, found.coverage) == pytest.approx(expected(entries))
    assert found.rmse_of_chains == pytest.approx([expected(of)[0] for of in each])
    assert found.rmse == pytest.approx(np.mean([expected(of[-1:])[0] for of in each]))
    mean = run.data().ratings.values[~run.data().heldout].mean()
    assert found.rmse_of_mean == pytest.approx(np.sqrt(np.mean((testing.values - mean) ** 2)))


def test_a_pair_is_not_taken_for_the_header(work, command):
    Path("bare.csv").write_text("u1,i1\nu2,i2\n")
    result = command("factors", "predict", "run", "bare.csv")
    assert result.status == 3
    assert "line 1: is a pair, for the run knows 'u1'" in one_sentence(result)


def test_evaluate_on_other_ratings(work, command):
    Path("new.csv").write_text("user,item,rating\nu1,i1,3\nu1,unheard,4\n")
    told = json.loads(command("factors", "evaluate", "run", "new.csv", "--json").stdout)
    assert (told["ratings"], told["unknown"]) == (2, 1)


def test_ratings_by_users_that_were_not_trained_on_are_counted(work, command):
    """Each of 60 users has one rating: those of whom it is held out are unknown."""
    lines = [f"u{n},i{n % 5},{1 + n % 4}\n" for n in range(60)]
    Path("once.csv").write_text("user,item,rating\n" + "".join(lines))
    settings = ("--heldout", 0.5, "--sampler", "gibbs", "--epochs", 8)
    assert command("factors", "train", "once.csv", "-o", "once", *SIZE, *settings).status == 0
    told = json.loads(command("factors", "evaluate", "once", "--json").stdout)
    assert told["unknown"] == told["ratings"] > 0
    again = json.loads(command("factors", "predict", "once", "once.csv", "--json").stdout)
    assert again["unknown"] == told["unknown"]
    model = MatrixFactorization.from_run("once")
    data = FactorRun.open(Path("once")).data()
    heldout = [data.user_ids[i] for i in data.ratings.users[data.heldout]]
    predicted = model.predict([(user, "i0") for user in ("nobody", *heldout)])
    assert len(set(predicted)) == 1  # as one of whom nothing is known


# --- the same bits --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        ("--sampler", "sgld"),
        ("--sampler", "gibbs"),
        ("--chains", 2, "--learn-noise"),
        ("--workers", 3, "--transport", "local", "--split", "rows"),
        ("--workers", 4, "--transport", "local", "--split", "square"),
    ],
    ids=lambda settings: " ".join(map(str, settings)),
)
def test_resumed_and_on_other_threads_runs_are_the_same(work, command, settings):
    size = ("--factors", 3, "--progress", "none", "--evaluate-every", 40)
    often = () if "gibbs" in settings else ("--precision-every", 2)
    train = ("factors", "train", "ratings.csv", *size, *often, *settings)
    command(*train, "-o", "whole", "--epochs", 8, "--threads", 1)
    command(*train, "-o", "parted", "--epochs", 3, "--threads", 2)
    go_on = ("--resume", "--epochs", 8, "--threads", 3, "--progress", "none")
    again = command("factors", "train", "-o", "parted", *go_on)
    assert again.status == 0, again.stderr
    assert states("whole") == states("parted")
    assert len(states("whole")) >= 3
    other = command(*train, "-o", "other", "--epochs", 8, "--seed", 1)
    assert other.status == 0 and states("other").keys() == states("whole").keys()
    assert not set(states("other").values()) & set(states("whole").values())


def test_a_chain_goes_on_to_its_end_on_fewer_workers(work, command):
    """Epochs are those of each chain: what one has drawn that is given up does not count."""
    train = ("factors", "train", "-o", "two", *SIZE)
    assert command(*train, "ratings.csv", "--chains", 2, "--epochs", 4).status == 0
    again = command(*train, "--resume", "--workers", 1, "--epochs", 8)
    assert again.status == 0, again.stderr
    rounds = [FactorRun.open(Path(run)).checkpoint().manifest["round"] for run in ("two", "run")]
    assert rounds[0] == rounds[1]
    two = FactorRun(Path("two"))
    assert not two.reached().is_unfinished
    two.update_facts(config={**two.facts()["config"], "epochs": 9.0})
    assert two.reached().is_unfinished


def test_chains_that_fewer_workers_gave_up_may_be_told_again(work, command):
    train = ("factors", "train", "-o", "two", *SIZE)
    two = ("--workers", 2, "--transport", "local")
    assert command(*train, "ratings.csv", *two, "--chains", 2, "--epochs", 4).status == 0

    def chains() -> int:
        return FactorRun.open(Path("two")).config().chains

    # What a job on one worker leaves that is killed before it has saved anything.
    run = FactorRun(Path("two"))
    run.update_facts(config={**run.facts()["config"], "workers": 1, "chains": 1, "groups": 1})
    assert command(*train, "--resume", *two, "--epochs", 6).status == 0 and chains() == 2
    assert command(*train, "--resume", "--workers", 1, "--epochs", 8).status == 0 and chains() == 1
    again = command(*train, "--resume", *two, "--chains", 2)
    assert again.status == 0 and chains() == 1, again.stderr


def test_a_run_that_ends_in_its_start_has_no_sample_yet(work, command):
    train = ("factors", "train", "-o", "new", "--sampler", "gibbs", *SIZE[:4], "--json")
    done = command(*train, "ratings.csv", "--progress", "plain", "--epochs", 4)
    told = json.loads(done.stdout)
    assert told["samples"] == 0 and told["rmse_averaged"] is None
    assert "there is no posterior sample yet" in done.stderr
    note = "Note: new has no posterior sample yet: a state of its start stands in for one"
    shown = command("factors", "evaluate", "new")
    assert "the newest state, there is no sample" in shown.stdout
    assert note in shown.stderr and "in 90% intervals" not in shown.stdout
    # At least twice the start, of 5 sweeps.
    assert "continue training (topicmc factors train -o new --resume --epochs 16)" in shown.stdout
    score = json.loads(command("factors", "evaluate", "new", "--json").stdout)
    assert score["samples"] == 0 and score["coverage"] is None
    columns = ("--user", "user", "--item", "item")
    assert note in command("factors", "predict", "new", "pairs.csv", *columns).stderr
    assert note in command("factors", "export", "new", "--to", "npz", "-o", "early.npz").stderr
    with pytest.warns(ConvergenceWarning, match="new: the run is in its start"):
        MatrixFactorization.from_run("new")
    again = command(*train, "--resume", "--progress", "plain", "--epochs", 8)
    assert json.loads(again.stdout)["samples"] == 3  # of sweeps 6 to 8
    assert "there is no posterior sample yet" not in again.stderr
    assert "Note" not in command("factors", "evaluate", "new").stderr


def test_who_reads_a_run_is_told_that_it_has_not_ended(work, command):
    run = FactorRun(Path("run"))
    run.update_facts(config={**run.facts()["config"], "epochs": 80.0})
    resume = "topicmc factors train -o run --resume"
    for arguments in (
        ("evaluate", "run"),
        ("predict", "run", "pairs.csv", "--user", "user", "--item", "item"),
        ("export", "run", "--to", "csv", "-o", "biases"),
    ):
        told = command("factors", *arguments)
        assert told.status == 0, told.stderr
        assert re.search(r"Note: run had done 8[.\d]* of 80 epochs when it was last", told.stderr)
        assert f"; go on with it ({resume})." in told.stderr
    diagnosis = json.loads(command("factors", "evaluate", "run", "--json").stdout)
    assert diagnosis["converged"] or f"finish it ({resume})" in diagnosis["verdict"]


def test_a_run_that_memory_cannot_bear_is_refused(work, command, monkeypatch):
    monkeypatch.setattr("topicmc.host.machine.available_memory", lambda: PROGRAM + COMPILING)
    refused = command(*TRAIN)
    assert refused.status == 2 and not Path("new").exists()
    told = "1,500 ratings of 60 items by 80 users with --factors 20 need about .* MB of"
    assert re.search(told, one_sentence(refused))


def test_a_mode_has_no_samples(work, command):
    options = ("--sampler", "sgd", "--epochs", 4)
    assert command("factors", "train", "ratings.csv", "-o", "mode", *SIZE, *options).status == 0
    shown = command("factors", "evaluate", "mode")
    assert "Note: mode has no samples: the mode that sgd has come to" in shown.stderr
    assert "in 90% intervals" not in shown.stdout and "continue training" not in shown.stdout
    told = json.loads(command("factors", "evaluate", "mode", "--json").stdout)
    assert (told["rhat"], told["ess"], told["converged"]) == ({}, {}, None)
    assert "only chains that sample converge" in told["verdict"]
    again = command("factors", "train", "-o", "mode", "--resume", "--until", "converged")
    assert "--until converged has no meaning with --sampler sgd" in one_sentence(again)


def test_what_tau_is_drawn_by_has_a_meaning_where_lambda_is_fixed(work, command):
    options = ("--precision", 3, "--learn-noise", "--precision-every", 2)
    done = command("factors", "train", "ratings.csv", "-o", "new", *SIZE, "--epochs", 2, *options)
    assert done.status == 0, done.stderr
    refused = command(*TRAIN[:-1], "other", *options, "--precision-rate", 2)
    assert "--precision-rate has no meaning with --precision F" in one_sentence(refused)


def test_an_interrupted_run_goes_on(work):
    """Ctrl-C during training: status 130, the command to go on with, and it does."""
    call = [TOPICMC, "factors", "train", "ratings.csv", "-o", "long", *map(str, SIZE)]
    job = subprocess.Popen([*call, "--epochs", "100000"], stderr=subprocess.PIPE, text=True)
    while not Path("long/metrics.jsonl").exists():
        assert job.poll() is None
        time.sleep(0.05)
    job.send_signal(signal.SIGINT)
    _, told = job.communicate(timeout=60)
    assert job.returncode == 130
    assert "topicmc factors train -o long --resume" in told
    update = FactorRun.open(Path("long")).checkpoint().manifest["round"] * 10
    done = topicmc(
        "factors", "train", "-o", "long", "--resume", "--updates", update + 50, *SIZE[2:]
    )
    assert done.status == 0, done.stderr


# --- what cannot be -------------------------------------------------------------------------------

TRAIN = ("factors", "train", "ratings.csv", "-o", "new")
RESUME = ("factors", "train", "-o", "run", "--resume")
USAGE = [
    (TRAIN[:2], "-o"),
    (("factors", "train", "-o", "new"), "RATINGS is missing"),
    ((*TRAIN, "--factors", -1), "--factors -1 is out of range"),
    ((*TRAIN, "--sampler", "gibs"), "--sampler"),
    ((*TRAIN, "--step-size", 0), "--step-size 0.0 is out of range"),
    ((*TRAIN, "--noise-precision", "nan"), "--noise-precision nan is out of range"),
    ((*TRAIN, "--heldout", 1), "--heldout"),
    ((*TRAIN, "--scale", 5, 1), "--scale 5 1: give two numbers, the first"),
    ((*TRAIN, "--user", "usr"), "--user usr: .* did you mean user"),
    ((*TRAIN, "--delimiter", "ab"), "--delimiter 'ab': give one character"),
    ((*TRAIN, "--delimiter", "§"), "--delimiter '§': give a character of ASCII"),
    ((*TRAIN, "--heldout", "nan"), "--heldout"),
    (("factors", "predict", "run", "pairs.csv", "--force"), "--force is for the file that -o"),
    (("factors", "export", "run", "--to", "npz", "-o", "run/ratings.npz", "--force"), "is what is"),
    (
        ("factors", "predict", "run", "pairs.csv", "-o", "run/samples/p.csv"),
        "lies in run/samples",
    ),
    ((*TRAIN, "--workers", 3, "--split", "square"), "a square number of workers, not 3"),
    ((*TRAIN, "--workers", 2, "--chains", 3, "--transport", "local"), "--chains 3 is out of range"),
    ((*TRAIN, "--sampler", "gibbs", "--split", "rows"), "--split rows: a Gibbs sweep needs all"),
    ((*TRAIN, "--epochs", 2, "--updates", 5), "--updates and --epochs both say"),
    ((*TRAIN, "--factors", 10000, "--chains", 90_000), "memory, the largest part for the factors"),
    ((*TRAIN[:-1], "run"), "run: exists already; add --resume"),
    ((*TRAIN[:-1], "run", "--resume"), "RATINGS does not go with --resume"),
    ((*RESUME, "--duplicates", "last"), "--duplicates does not go with --resume"),
    ((*RESUME, "--scale", 1, 5), "--scale does not go with --resume"),
    ((*TRAIN, "--scale", 0, "inf"), "--scale 0 inf: give two numbers"),
    ((*TRAIN, "--epochs", "inf"), "--epochs inf is out of range: it must be above 0 and at most"),
    ((*TRAIN, "--sampler", "gibbs", "--step-size", 2), "--step-size has no meaning with --sampler"),
    ((*TRAIN, "--sampler", "sgd", "--precision-rate", 2), "--precision-rate has no meaning"),
    ((*TRAIN, "--sampler", "sgd", "--learn-noise"), "--learn-noise: sgd samples nothing"),
    ((*TRAIN, "--sampler", "sgd", "--samples", 9), "--samples has no meaning with --sampler sgd"),
    ((*TRAIN, "--sampler", "sgd", "--until", "converged"), "--until converged has no meaning with"),
    ((*TRAIN, "--precision", 3, "--precision-every", 2), "--precision-every has no meaning with"),
    (("factors", "train", "-o", "run", "--resume", "--factors", 5), "--resume cannot change"),
    (("factors", "train", "-o", "run", "--resume", "--force"), "--resume goes on"),
    (("factors", "evaluate", "run", "--rating", "3"), "--rating says how RATINGS are read"),
    (("factors", "predict", "run", "pairs.csv", "-o", "p.xlsx"), "the name must end in .csv"),
    (("factors", "predict", "run", "pairs.csv", "-o", "ratings.csv"), "exists already"),
    (("factors", "export", "run", "--to", "npz", "-o", "ratings.csv"), "exists already"),
    (("factors", "export", "run", "--to", "gensim", "-o", "x"), "--to"),
]  # fmt: skip
DATA = [
    (("factors", "train", "nothing.csv", "-o", "new"), "nothing.csv does not exist"),
    ((*TRAIN, "--scale", 2, 5), "line .*: the rating 1 lies outside the scale from 2 to 5"),
    (("factors", "evaluate", "ratings.csv"), "ratings.csv: no run here"),
    (("factors", "predict", "run", "nothing.csv"), "nothing.csv does not exist"),
    (("factors", "evaluate", "run", "pairs.csv"), "has 2 columns"),
]


def test_predictions_are_printed_in_utf_8(work):
    """As they are written, whatever the locale."""
    Path("pairs.csv").write_text("user,item\nu1,ié\n", encoding="utf-8")
    done = subprocess.run(
        [TOPICMC, "factors", "predict", "run", "pairs.csv"],
        env={**os.environ, "PYTHONIOENCODING": "latin-1"}, capture_output=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode("utf-8").splitlines()[1].startswith("u1,ié,")


def test_several_chains_go_where_they_are_told_to(work, command, monkeypatch):
    launched = []
    monkeypatch.setattr(
        "topicmc.engine.transport.launch.launch", lambda workers, _: launched.append(workers) or 0
    )
    chains = ("--chains", 2, "--epochs", 1)
    assert command(*TRAIN, *chains, "--transport", "mpi").status == 0
    assert launched == [2]
    assert command(*TRAIN, *chains).status == 0 and launched == [2]
    square = (*chains, "--split", "square", "--force")
    assert command(*TRAIN, *square).status == 0 and launched == [2]
    config = FactorRun.open(Path("new")).config()
    assert (config.workers, config.chains) == (4, 2)


@pytest.mark.parametrize(
    ("arguments", "told", "status"), [*((*x, 2) for x in USAGE), *((*x, 3) for x in DATA)]
)
def test_wrong_arguments_are_a_sentence(work, command, arguments, told, status):
    before = sorted(work.rglob("*"))
    result = command(*arguments)
    assert result.status == status, result.stderr
    assert re.search(told, result.stderr.replace("\n", " ")) and "Traceback" not in result.stderr
    assert sorted(work.rglob("*")) == before


def test_runs_of_another_model_are_refused(work, command):
    for arguments in (("evaluate", "run"), ("topics", "run"), ("train", "-o", "run", "--resume")):
        assert "is a run of the model 'factors'" in one_sentence(command(*arguments))


def test_a_step_that_is_too_large_is_told(work, command):
    result = command(*TRAIN, *SIZE, "--step-size", 1e6)
    assert result.status == 4
    assert "diverged" in result.stderr and "lower --step-size" in result.stderr


# --- damage ---------------------------------------------------------------------------------------


def some_sample(run):
    return run / "samples" / FactorRun.open(run).sample_index()[-1]["file"]


def swap(run, **arrays):
    """Puts other arrays into the newest sample, with a checksum that is right."""
    opened = FactorRun.open(run)
    entries = opened.sample_index()
    path = run / "samples" / entries[-1]["file"]
    entries[-1]["checksum"] = write_arrays(path, {**np.load(path), **arrays})
    opened.write_sample_index(entries)


def change(run, **about):
    opened = FactorRun(run)
    opened._write_facts({**opened.facts(), **about})


DAMAGE = {
    "a bit of the ratings": lambda run: flip(run / "ratings.npz"),
    "no ratings": lambda run: (run / "ratings.npz").unlink(),
    "a bit of a sample": lambda run: flip(some_sample(run)),
    "no sample": lambda run: some_sample(run).unlink(),
    "a sample of another shape": lambda run: swap(run, users=np.zeros((3, 4), np.float32)),
    "a sample of another type": lambda run: swap(run, items=np.zeros((60, 4))),
    "a sample of no numbers": lambda run: swap(run, user_precision=np.full(4, np.nan)),
    "a noise of infinity": lambda run: swap(run, tau=np.array(0.0)),
    "a precision below 0": lambda run: swap(run, user_precision=np.full(4, -1.0)),
    "a deviation of nothing": lambda run: of_ratings(run, deviation=0),
    "no run.json": lambda run: (run / "run.json").unlink(),
    "other settings": lambda run: change(run, config={"factors": -3}),
    "unknown settings": lambda run: change(run, config={"colour": 3}),
    "more users": lambda run: of_ratings(run, users=9),
    "no ratings in run.json": lambda run: change(run, ratings=3),
    "a link out of the run": lambda run: link(run),
    "ids that begin inside a character": lambda run: rewrite(run, split),
    "ids whose lengths wrap": lambda run: rewrite(run, lambda arrays: arrays["user_offsets"].put(
        [1, 2, 3], [(1 << 63) - 1, -(1 << 63), -1]
    )),
}  # fmt: skip


def of_ratings(run, **about):
    change(run, ratings={**FactorRun(run).facts()["ratings"], **about})


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def rewrite(run, edit):
    arrays = dict(np.load(run / "ratings.npz"))
    edit(arrays)
    of_ratings(run, checksum=write_arrays(run / "ratings.npz", arrays))


def split(arrays):
    end = arrays["user_offsets"][1]
    arrays["user_ids"][end - 1 : end + 1] = list("é".encode())


def link(run):
    path = some_sample(run)
    path.rename(run.parent / "elsewhere.npz")
    path.symlink_to(run.parent / "elsewhere.npz")


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_run_is_a_sentence(work, command, damage):
    DAMAGE[damage](work / "run")
    result = command("factors", "predict", "run", "pairs.csv", "--user", "user", "--item", "item")
    assert result.status == 3, result
    assert "run" in one_sentence(result)


def test_help_names_what_there_is(command):
    told = command("factors", "--help").stdout
    assert all(name in told for name in ("train", "evaluate", "predict", "export"))


@pytest.mark.parametrize("name", ["p.csv", "p.parquet"])
def test_a_file_that_comes_meanwhile_stays(work, command, latecomer, name):
    refused = command("factors", "predict", "run", "pairs.csv", "-o", name)
    assert refused.status == 2 and f"{name}: exists already" in one_sentence(refused)
    assert Path(name).read_text() == "theirs"


def test_reading_samples_shows_how_far_it_is(work, command, monkeypatch):
    show_bars(monkeypatch)
    for arguments in (
        ("evaluate", "run"),
        ("predict", "run", "pairs.csv"),
        ("export", "run", "--to", "npz", "-o", "samples.npz"),
        ("export", "run", "--to", "csv", "-o", "samples"),
    ):
        shown = command("factors", *arguments)
        assert (shown.status, "Reading samples" in shown.stderr) == (0, True), shown.stderr
