"""The engine on a model that is not LDA: the exact posterior, resumption, and what a state's table
decides."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from toy_model import Mean, NormalMean, ToyModel

from topicmc.engine.dsgld import Dsgld
from topicmc.engine.listeners import Silent
from topicmc.engine.loop import Training
from topicmc.engine.method import EndsStart
from topicmc.engine.schedule import Plan
from topicmc.engine.state import Table
from topicmc.engine.transport.local import LocalTransport
from topicmc.errors import DataError, TopicmcError
from topicmc.host.interrupts import Interrupt
from topicmc.settings.groups import DsgldSettings
from topicmc.storage import runs
from topicmc.storage.runs import RunDirectory

DATA = [
    np.random.default_rng(7).normal(mean, 1, (n, 2)) for n, mean in ((30, 0), (60, 2), (210, 5))
]
HELDOUT = np.random.default_rng(8).normal(4, 1, (20, 2))
CONFIG = DsgldSettings(
    updates=600, chains=3, groups=1, trajectory=4, threads=1, workers=3, samples=8, seed=2,
    evaluate_every="100", checkpoint_every="10m", average_until=100, until="end", balance=False,
)  # fmt: skip


def made(path) -> RunDirectory:
    with RunDirectory._made(path, force=False) as run:
        run._write_facts({"config": {}})
    return run


class Heard(Silent):
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.evaluations: list[int] = []
        self.sentences: list[str] = []

    def evaluated(self, record):
        self.evaluations.append(record["round"])

    def message(self, text):
        self.sentences.append(text)


def begun(path, config=CONFIG, resume=False, listener=None) -> Training:
    transport = LocalTransport(3)
    run = RunDirectory.open(path) if resume else made(path)
    model = ToyModel(config, DATA, HELDOUT, run, transport)
    return Training(config, model, run, transport, listener or Silent(), resume=resume)


def kept(path) -> dict:
    run = RunDirectory.open(path)
    return {
        entry["file"]: np.load(run.place_of_sample(entry))["theta"].tobytes()
        for entry in run.sample_index()
    }


def test_the_posterior_of_unequal_parts_used_unequally_often():
    """Chains on parts of 30, 60 and 210 rows, with trajectories of 6, 4 and 2: the mean is x̄. What
    finite trajectories leave is 0.05, over seeds ± 0.005, so that 0.1 is exceeded by chance less
    than once in 10⁶ runs; without q_s it would be 0.8."""
    target = NormalMean(CONFIG, DATA, range(3))
    method = Dsgld(target, CONFIG, LocalTransport(3))
    method.balance.plan = Plan((6, 4, 2))
    means = []
    for number in range(2_000):
        method.round()
        if number >= 200:
            means.append([chain.theta.copy() for chain in method.chains.values()])
    exact = np.concatenate(DATA).mean(axis=0)
    assert np.abs(np.mean(means, axis=(0, 1)) - exact).max() < 0.1


def test_a_run_is_trained_evaluated_and_kept(tmp_path):
    outcome = begun(tmp_path / "run").train(Interrupt())
    run = RunDirectory.open(tmp_path / "run")
    records = run.metrics()
    assert [record["update"] for record in records] == [100, 200, 300, 400, 500, 600]
    assert records[-1]["rows"] == outcome.items == 3 * 600 * 10
    assert {"distance", "distance_averaged", "rows_per_second", "burn_in"} <= records[-1].keys()
    assert outcome.score_averaged is not None and outcome.samples == len(run.sample_index()) > 8
    assert run.trace()[-1]["chains"]["2"].keys() == {"norm"}


def test_a_resumed_run_is_an_uninterrupted_one(tmp_path):
    begun(tmp_path / "whole").train(Interrupt())
    begun(tmp_path / "parted", replace(CONFIG, updates=324)).train(Interrupt())
    begun(tmp_path / "parted", resume=True).train(Interrupt())
    assert kept(tmp_path / "whole") == kept(tmp_path / "parted")


@pytest.mark.parametrize(("workers", "expected"), [(3, [5, 9, 7]), (2, [9, 9]), (4, [9] * 4)])
def test_other_workers_go_on_past_the_minibatches_that_any_has_seen(workers, expected):
    before = Dsgld(NormalMean(CONFIG, DATA, range(3)), CONFIG, LocalTransport(3))
    before.positions, before.round_number = {0: 5, 1: 9, 2: 7}, 4
    saved = SimpleNamespace(parts=lambda: ["rank-000"], facts=lambda name: before.facts())
    config = replace(CONFIG, workers=workers, chains=min(3, workers))
    target = NormalMean(config, [*DATA, DATA[0]], range(workers))
    target.restored = lambda part, index, *_: target.initial(part, index)
    after = Dsgld(target, config, LocalTransport(workers))
    after.restore(saved)
    assert list(after.positions.values()) == expected


def test_a_start_that_is_late_is_ended_once(tmp_path):
    """Where the method is an `EndsStart`, which others are not."""

    class Late(Dsgld):
        ended = 0

        def is_late(self, seconds):
            return self.ended == 0 and self.update >= 20

        def end_start(self):
            self.ended = self.update
            return "the start was late"

    training = begun(tmp_path / "run", replace(CONFIG, updates=40))
    assert not isinstance(training.method, EndsStart)
    method = Late(NormalMean(CONFIG, DATA, range(3)), CONFIG, LocalTransport(3))
    assert isinstance(method, EndsStart)
    told: list[str] = []
    training.method = training.model.method = method
    training.listener.message = told.append
    training.train(Interrupt())
    assert method.ended == 20 and told.count("the start was late") == 1


@pytest.fixture
def clock(monkeypatch):
    """That of the engine, which goes on where a test says so."""
    clock = SimpleNamespace(now=0.0)
    clock.perf_counter = lambda: clock.now
    monkeypatch.setattr("topicmc.engine.clock.time", clock)
    return clock


def test_how_fast_it_goes_is_told_of_the_time_since_the_last_evaluation(
    tmp_path, monkeypatch, clock
):
    """Twenty-five rounds of 120 rows: in 250 seconds each time, or in 750 later on."""
    training = begun(tmp_path / "run")
    one_round = training.method.round

    def long_round():
        clock.now += 10 if training.update < 200 else 30
        return one_round()

    monkeypatch.setattr(training.method, "round", long_round)
    training.train(Interrupt())
    assert [row["rows_per_second"] for row in training.run.metrics()] == [12, 12, 4, 4, 4, 4]


@pytest.mark.parametrize(
    ("every", "saved"), [("auto", [12, 216, 420, 600]), ("30s", list(range(12, 601, 12)))]
)
def test_checkpoints_take_a_tenth_of_the_time_unless_told_when(
    tmp_path, monkeypatch, clock, every, saved
):
    """Rounds of four updates and 10 seconds, and checkpoints of 52."""
    training, found = begun(tmp_path / "run", replace(CONFIG, checkpoint_every=every)), []
    one_round, arrays = training.method.round, training.method.arrays

    def long_round():
        clock.now += 10
        return one_round()

    def large_arrays():
        clock.now += 52
        found.append(training.update)
        return arrays()

    monkeypatch.setattr(training.method, "round", long_round)
    monkeypatch.setattr(training.method, "arrays", large_arrays)
    training.train(Interrupt())
    assert found == saved


def rounds_kept(path) -> list[int]:
    return [entry["round"] for entry in RunDirectory.open(path).sample_index()]


def go(training: Training, rounds: int) -> None:
    while training.rounds < rounds:
        training._round()


def test_who_is_killed_before_a_checkpoint_counts_goes_back_to_the_one_before(
    tmp_path, monkeypatch
):
    """Killed when the state that stands in for samples is in the index, and the manifest that goes
    with it is not written."""
    monkeypatch.setattr(runs, "OUTLIVES", 0.0)
    commit = RunDirectory.commit_checkpoint

    def killed(self, round_number, *rest):
        if round_number == 10:
            raise KeyboardInterrupt
        commit(self, round_number, *rest)

    short = replace(CONFIG, updates=40, checkpoint_every="24")
    begun(tmp_path / "whole", short).train(Interrupt())
    with monkeypatch.context() as patched:
        patched.setattr(RunDirectory, "commit_checkpoint", killed)
        with pytest.raises(KeyboardInterrupt):
            begun(tmp_path / "run", short).train(Interrupt())
    assert rounds_kept(tmp_path / "run") == [10]
    for _ in range(2):
        training = begun(tmp_path / "run", short, resume=True)
        assert rounds_kept(tmp_path / "run") == [6] and len(kept(tmp_path / "run")) == 1
    training.train(Interrupt())
    assert kept(tmp_path / "run") == kept(tmp_path / "whole") != {}


def test_a_killed_run_goes_on_with_the_samples_of_its_checkpoint(tmp_path, monkeypatch):
    """At nearly twice its checkpoint a run has dropped most of the samples that it had then. They
    are there again when it is resumed, and when the checkpoint that followed is lost."""
    monkeypatch.setattr(runs, "OUTLIVES", 0.0)
    path = tmp_path / "run"
    training = begun(path)
    go(training, 80)
    training._checkpoint()
    then = kept(path)
    go(training, 150)
    assert len(then.keys() & kept(path).keys()) < len(then)
    for _ in range(2):
        training = begun(path, resume=True)
        assert (training.rounds, kept(path)) == (80, then)
        go(training, 150)
    training._checkpoint()
    (path / "checkpoint" / "current.json").unlink()
    RunDirectory.open(path).recover()
    training = begun(path, resume=True)
    assert (training.rounds, kept(path)) == (80, then)
    for rounds in (160, 330):  # no checkpoint names the files of then any more
        go(training, rounds)
        training._checkpoint()
    training.samples.clean_up()
    assert not then.keys() & set(RunDirectory.open(path).sample_files())


def test_what_is_found_when_a_run_goes_on_is_found_once(tmp_path, monkeypatch):
    """It was stopped in its last round: nothing is left but the evaluation and the verdict."""
    path, short = tmp_path / "run", replace(CONFIG, updates=40)
    training = begun(path, short)
    go(training, 10)
    training._checkpoint()
    files = training.run.checkpoint().manifest["files"]
    monkeypatch.setattr("topicmc.engine.loop.has_converged", lambda run: True)
    ending, heard = replace(short, until="converged"), Heard()
    for _ in range(2):
        begun(path, ending, resume=True, listener=heard).train(Interrupt())
        run = RunDirectory.open(path)
        run.recover()
        manifest = run.checkpoint().manifest
        assert [record["round"] for record in run.metrics()] == heard.evaluations == [10]
        assert manifest["converged"] and manifest["files"] == files and not run.notices


@pytest.mark.parametrize("harm", [lambda place: place.unlink(), lambda place: place.write_text("")])
def test_a_run_goes_on_without_a_sample_whose_file_is_not_sound(tmp_path, harm):
    """And says so: the checkpoint is sound, and nobody has that state any more."""
    path = tmp_path / "run"
    begun(path, replace(CONFIG, updates=320)).train(Interrupt())
    run, then = RunDirectory.open(path), rounds_kept(path)
    lost = run.sample_index()[3]
    harm(run.place_of_sample(lost))
    heard = Heard()
    training = begun(path, resume=True, listener=heard)
    assert heard.sentences == [f"{path / 'samples' / lost['file']}: damaged or gone, and left out"]
    assert training.rounds == 80 and len(rounds_kept(path)) == len(then) - 1
    assert training.train(Interrupt()).score_averaged is not None


def test_a_sample_that_cannot_be_read_now_is_not_left_out(tmp_path):
    path = tmp_path / "run"
    begun(path, replace(CONFIG, updates=320)).train(Interrupt())
    run = RunDirectory.open(path)
    place = run.place_of_sample(run.sample_index()[3])
    place.unlink()
    place.mkdir()  # root may read all files
    with pytest.raises(DataError, match="cannot be read"):
        begun(path, resume=True)
    assert place.exists()


def test_what_goes_with_a_checkpoint_of_earlier_versions_is_made_up_for(tmp_path):
    """It holds no index of samples. A run that ended in its start may have been killed when it
    counted, before the state was written that stands in for samples."""
    path, short = tmp_path / "run", replace(CONFIG, updates=40)
    begun(path, short).train(Interrupt())
    expected, place = kept(path), path / "checkpoint" / "current.json"
    manifest = json.loads(place.read_text())
    del manifest["checksum"], manifest["files"]["samples.json"]
    place.write_text(json.dumps(manifest))
    RunDirectory.open(path).write_sample_index([])
    begun(path, short, resume=True).train(Interrupt())
    assert kept(path) == expected != {}


def test_who_lost_its_lease_writes_no_part_of_a_checkpoint_and_no_sample(tmp_path):
    class Lost:
        def check(self):
            raise TopicmcError("taken over")

    training = begun(tmp_path / "run")
    training.run.lease = Lost()
    before = sorted((tmp_path / "run").rglob("*"))
    with pytest.raises(TopicmcError, match="taken over"):
        training._checkpoint()
    with pytest.raises(TopicmcError, match="taken over"):
        training.samples.keep_provisional(training.method, 1)
    assert sorted((tmp_path / "run").rglob("*")) == before


def test_what_does_not_travel_takes_its_default():
    table = Table(Mean, {"d": 2})
    held = {n: Mean(n, np.full(2, n + 0.5), update=2**40 + n, visits=9) for n in range(3)}
    moved = table.hand_over(held, LocalTransport(3), (0, 1, 2), (1, 2, 0))
    assert [moved[w].index for w in range(3)] == [2, 0, 1]
    assert [moved[w].update - 2**40 for w in range(3)] == [2, 0, 1]
    assert [moved[w].theta.tolist() for w in range(3)] == [[2.5, 2.5], [0.5, 0.5], [1.5, 1.5]]
    assert {state.visits for state in moved.values()} == {0}


def test_a_group_takes_the_mean_of_what_is_averaged_and_nothing_else():
    table = Table(Mean, {"d": 2})
    held = {n: Mean(n, np.full(2, float(n)), update=n, visits=n) for n in range(3)}
    table.average(held, LocalTransport(3), [[0, 2], [1]])
    assert [held[n].theta[0] for n in range(3)] == [1.0, 1.0, 1.0]
    held[0].theta[0] = 7.0  # arrays are each state's own
    assert held[2].theta[0] == 1.0
    assert [(held[n].update, held[n].visits) for n in range(3)] == [(0, 0), (1, 1), (2, 2)]


def test_an_array_of_another_shape_is_no_state():
    class Found:
        def array(self, key):
            return np.zeros(3)

    with pytest.raises(ValueError, match=r"theta-000 is float64 \(3,\), not float64 \(2,\)"):
        Table(Mean, {"d": 2}).restored(0, {"index": 0, "arrays": ["theta"]}, Found())


@pytest.mark.parametrize("update", ["7", 7.5, None, [7], True, float("nan")])
def test_what_is_no_whole_number_is_no_count(update):
    class Found:
        def array(self, key):
            return np.zeros(2)

    facts = {"index": 0, "arrays": ["theta"], "update": update}
    with pytest.raises(ValueError, match="update is .*, not int"):
        Table(Mean, {"d": 2}).restored(0, facts, Found())


def test_a_corpus_where_nobody_may_look_is_to_be_named(tmp_path, monkeypatch):
    def refused(place):
        raise PermissionError

    run = RunDirectory(tmp_path)
    monkeypatch.setattr(run, "facts", lambda: {"corpus": {"path": "../theirs/corpus"}})
    with monkeypatch.context() as patched:
        patched.setattr(Path, "exists", refused)
        told = run.resume_command
    assert told == f"topicmc train CORPUS -o {tmp_path} --resume"
