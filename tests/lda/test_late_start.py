"""A start that takes more of a time budget than it may is cut short, and samples are kept."""

import itertools
import math
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from trained import StopAfter, ended, kept_bits, opened, parted, resumed, train

from topicmc.engine import loop
from topicmc.engine.clock import Clock
from topicmc.host.interrupts import Interrupt
from topicmc.models.lda.collapsed import asynclda
from topicmc.models.lda.planning.starts import is_late, told_late
from topicmc.models.lda.progress import reached
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.settings import TrainConfig

BUDGET = 60.0  # seconds
CONFIG = TrainConfig(
    topics=5, sampler="adlda", start="grow", start_sweeps=100, time_budget=BUDGET, alpha=0.3,
    beta=0.1, seed=3, threads=1, batch_size=150, trajectory=1, balance=False, samples=50,
    evaluate_every="10m", checkpoint_every="10m",
)  # fmt: skip
MINIBATCHES = {
    "sampler": "scir", "remember": False, "start": "subset", "start_documents": 70,
    "batch_size": 20, "anneal_updates": 3, "time_budget": 80.0,
}  # fmt: skip
STARTS = {
    "grow": {},
    "grow, four workers": {"workers": 4},
    "grow, two chains": {"chains": 2},
    "grow, scir": {"sampler": "scir", "remember": True},
    "anneal": {"start": "anneal"},
    "consensus, in its third member": {"start": "consensus", "start_sweeps": 110},
    "consensus, in its first member": {"start": "consensus", "start_sweeps": 300},
    "consensus, in its last member": {"start": "consensus", "start_sweeps": 25},
    "consensus, as a member ends": {
        "start": "consensus",
        "start_sweeps": 125,
        "time_budget": 65.0,
    },
    "subset": {"start": "subset", "start_documents": 70, "start_sweeps": 160},
    "asynclda": {"sampler": "asynclda", "workers": 2},
    "subset, minibatches": MINIBATCHES,
    "subset, minibatches, two workers": {**MINIBATCHES, "workers": 2},
}
BLOCKS = 4
"""Rounds of a sweep over the subset of minibatches."""
LONG = {
    "sampler": "scir", "remember": False, "batch_size": 20, "anneal_updates": 100,
    "start_sweeps": "auto",
}  # fmt: skip
UPDATES = {
    "stream": {**LONG, "start": "stream"},
    "anneal": {**LONG, "sampler": "sgrld", "start": "anneal"},
    "anneal, priors learned": {**LONG, "start": "anneal", "learn": "both"},
    "stream, two workers averaged": {**LONG, "start": "stream", "workers": 2, "trajectory": 3},
    "after a subset": {**LONG, "start": "subset", "start_documents": 70, "start_sweeps": 2},
    "after a late subset": {**MINIBATCHES, "anneal_updates": 100, "time_budget": 120.0},
}
# Sweeps over the subset that are made, and the update at which the start of the chains ends: a
# sixth of it comes after three fifths of the budget, or what a subset has, but no less than 20.
ENDS = {
    "stream": (0, 37 + 7),
    "anneal": (0, 37 + 7),
    "anneal, priors learned": (0, 37 + 7),
    "stream, two workers averaged": (0, 3 * 37 + 22),
    "after a subset": (2, 36 + 7),
    "after a late subset": (73 // BLOCKS + 5, 20),
}
UPDATES["stream, two workers averaged"]["anneal_updates"] = 300
STARTED = {**STARTS, **UPDATES}


def first_late(start):
    """The first second that is more of the budget than the start may take: seven tenths if it
    grows or is annealed, else three fifths."""
    config = replace(CONFIG, **STARTED[start])
    share = 0.6 if not config.keeps_assignments or "con" in start or "sub" in start else 0.7
    return math.floor(share * config.time_budget) + 1


class Ticks(Clock):
    """Each round takes a second."""

    ROUND = 1.0

    @contextmanager
    def running(self):
        yield
        self.seconds += self.ROUND


@pytest.fixture(autouse=True)
def ticks(monkeypatch):
    monkeypatch.setattr(loop, "Clock", Ticks)


def check_sweeps(start, config, run, outcome):
    """There is time for samples."""
    entries = run.sample_index()
    assert outcome.samples > 0 and not any(entry["burn_in"] for entry in entries)
    last = run.metrics()[-1]
    left_out = 95 - first_late(start) // BLOCKS
    if config.keeps_assignments:
        left_out = last["sweep"] - last["position"]
    assert min(entry["position"] for entry in entries) > config.start_sweeps - left_out
    assert outcome.score_averaged < 80  # uniform guessing has some 120
    assert reached(run).of_start >= 1


def check_updates(start, config, run, outcome):
    """Those of the start are left out."""
    sweeps, end = ENDS[start]
    first = sweeps + end // config.trajectory + 1
    rounds = [(row["position"], row["burn_in"]) for row in run.trace()]
    assert [burns for _, burns in rounds] == [position < first for position, _ in rounds]
    kept = run.sample_index()
    assert kept and min(entry["position"] for entry in kept) in (first, first + 1)
    has_mean = config.sampler == "scir"  # of updates past the start
    assert any("mean" in entry for entry in kept) == has_mean
    assert outcome.score_averaged < 100  # uniform guessing has some 120


@pytest.mark.parametrize("start", STARTED)
def test_a_start_that_is_late_is_cut_short(small_corpus, tmp_path, start):
    """Also in a run that was stopped then, which goes on to the same bits."""
    config, late = replace(CONFIG, **STARTED[start]), first_late(start)
    whole, outcome = train(config, small_corpus, tmp_path / "whole")
    check = check_updates if start in UPDATES else check_sweeps
    check(start, config, whole, outcome)
    for run in parted(config, small_corpus, tmp_path, range(late - 1, late + 3)):
        assert kept_bits(run) == kept_bits(whole) != []


@pytest.mark.parametrize("start", ["grow", "grow, four workers", "grow, two chains", "asynclda"])
def test_sweeps_that_were_left_out_are_no_updates(small_corpus, tmp_path, start):
    config = replace(CONFIG, updates=150, **STARTS[start])
    train(config, small_corpus, tmp_path / "run", StopAfter(first_late(start) + 3))
    run, outcome = train(config, small_corpus, tmp_path / "run", resume=True)
    last = run.metrics()[-1]
    assert outcome.seconds == BUDGET and last["sweep"] > 100 > last["position"]
    assert last["update"] == last["round"] == BUDGET - 1  # it takes a second to leave them out


@pytest.mark.parametrize("start", ["subset, minibatches", "subset, minibatches, two workers"])
def test_sweeps_over_a_subset_that_were_left_out_are_no_updates(small_corpus, tmp_path, start):
    config = replace(CONFIG, updates=150, **STARTS[start])
    train(config, small_corpus, tmp_path / "run", StopAfter(first_late(start) + 9))
    run, outcome = train(config, small_corpus, tmp_path / "run", resume=True)
    last, made = run.metrics()[-1], first_late(start) // BLOCKS + 100 - 95
    assert outcome.seconds == config.time_budget
    rounds = last["round"] - first_late(start) - BLOCKS * (100 - 95)  # after the subset
    assert last["update"] == last["position"] == made + rounds
    kept = [entry["position"] for entry in run.sample_index()]
    assert made + config.anneal_updates < min(kept) <= made + config.anneal_updates + 2


def test_a_start_is_as_long_as_the_sweeps_that_were_made(small_corpus, tmp_path):
    """17 over the subset and 3 updates, of which it has one; advice on the rest goes by that."""
    config = replace(CONFIG, updates=18, **STARTS["subset, minibatches"])
    run, outcome = train(config, small_corpus, tmp_path / "run")
    assert outcome.update == 18 and reached(run).of_start == 18 / 20


def test_a_start_of_thousands_of_sweeps_leaves_samples_near_each_other(small_corpus, tmp_path):
    """They are thinned by the sweeps that were made."""
    config = replace(CONFIG, start_sweeps=5_000)
    run, outcome = train(config, small_corpus, tmp_path / "run")
    positions = [entry["position"] for entry in run.sample_index()]
    assert positions == list(range(positions[0], positions[0] + outcome.samples))
    assert outcome.samples >= 3


def test_updates_are_those_of_as_many_workers_as_go_on(small_corpus, tmp_path):
    """Two workers make half as many of the same sweeps, and leave out half as many."""
    config = replace(CONFIG, **STARTS["grow"])
    _, outcome = train(config, small_corpus, tmp_path / "run", StopAfter(first_late("grow") + 5))
    training = resumed(tmp_path / "run", 2, small_corpus.path, workers=2)
    assert abs(training.update - outcome.update / 2) <= 1


def test_updates_of_a_slice_are_counted_when_a_start_is_late(small_corpus, monkeypatch):
    """Of several processes a round of Async-LDA is many updates."""
    method = opened(replace(CONFIG, **{**STARTS["asynclda"], "batch_size": 10}), small_corpus)
    monkeypatch.setattr(method.transport, "n_processes", 2)
    monkeypatch.setattr(asynclda, "SLICE", 0.05)
    for _ in range(3):
        method.round()
    before, sweep = method.update, method.metrics()["sweep"]
    assert before > 3 and sweep == round(method.schedule.swept(before), 3)
    method.end_start()
    assert method.update == before and method.sweep == 95


@pytest.mark.parametrize(("budget", "trajectories"), [(10.0, 2), (400.0, 16)])
def test_a_slice_is_a_fortieth_of_a_short_budget(small_corpus, monkeypatch, budget, trajectories):
    """Else two seconds; here a trajectory takes an eighth of one."""
    told = {**STARTS["asynclda"], "batch_size": 5, "time_budget": budget}
    method = opened(replace(CONFIG, **told), small_corpus)
    monkeypatch.setattr(method.transport, "n_processes", 2)
    seconds = (i / 8 for i in itertools.count())
    monkeypatch.setattr(asynclda, "time", SimpleNamespace(perf_counter=lambda: next(seconds)))
    method.round()
    assert method.update == trajectories


def test_averaging_goes_on_where_that_is_asked_for_later(small_corpus, tmp_path):
    """The updates of the start that were left out do not come back."""
    start = "stream, two workers averaged"
    config = replace(CONFIG, **UPDATES[start])
    train(config, small_corpus, tmp_path / "run", StopAfter(first_late(start) + 2))
    training = ended(resumed(tmp_path / "run", 2, small_corpus.path, average_until=156))
    burns = [row["position"] for row in training.run.trace() if row["burn_in"]]
    assert max(burns) == 156 / config.trajectory


def test_averaging_that_was_asked_for_later_outlives_another_stop(small_corpus, tmp_path):
    """To the same bits, and updates of averaged chains have no part in their mean."""
    start = "stream, two workers averaged"
    for path, stops in ((tmp_path / "whole", [None]), (tmp_path / "run", [3, None])):
        config = replace(CONFIG, **UPDATES[start])
        train(config, small_corpus, path, StopAfter(first_late(start) + 2))
        told = {"average_until": 156}
        for stop in stops:
            training = resumed(path, 2, small_corpus.path, **told)
            assert training.method.average_until == 156
            assert training.method._updates.is_start(156)
            training.train(Interrupt() if stop is None else StopAfter(stop))
            told = {}
    assert kept_bits(training.run) == kept_bits(TopicRun.open(tmp_path / "whole")) != []


def test_when_it_is_late():
    assert not is_late(36.0, BUDGET, 0.6) and is_late(36.1, BUDGET, 0.6)
    assert not is_late(1e9, None, 0.6)
    assert "after 1,200 of 1,500 sweeps 295 are left out" in told_late(1200, 295, 1500)


def late(start, corpus):
    """A method whose start has become late."""
    method = opened(replace(CONFIG, **STARTS[start]), corpus)
    for _ in range(first_late(start)):
        method.round()
    assert method.is_late(first_late(start)) and not method.is_late(first_late(start) - 1)
    return method


@pytest.mark.parametrize(
    ("start", "sweep"),
    [("grow", 95), ("grow, two chains", 95), ("asynclda", 95), ("subset", 100)],
)
def test_all_chains_go_on_with_the_same_sweep(small_corpus, start, sweep):
    method = late(start, small_corpus)
    made = method.position
    assert f"after {made} of" in method.end_start() and method.position == made < sweep
    assert {chain.sweep for chain in getattr(method, "_members", [method])} == {sweep}


@pytest.mark.parametrize("start", ["grow", "subset, minibatches"])
def test_what_ends_within_its_start_is_left_alone(small_corpus, tmp_path, start, monkeypatch):
    """The last round goes from half of the budget to its end."""
    config = replace(CONFIG, **STARTS[start])
    monkeypatch.setattr(Ticks, "ROUND", config.time_budget / 2)
    run, outcome = train(config, small_corpus, tmp_path / "run")
    assert outcome.seconds == config.time_budget and outcome.samples == 0
    assert [entry["position"] for entry in run.sample_index()] == [run.metrics()[-1]["position"]]
    assert run.metrics()[-1]["position"] <= 3


@pytest.mark.parametrize(
    ("which", "ended"),
    [
        ("in its third member", 2),
        ("in its first member", 1),
        ("in its last member", 9),
        ("as a member ends", 2),
    ],
)
def test_members_that_have_ended_are_what_the_chain_goes_on_with(small_corpus, which, ended):
    """The one under way is forgotten, unless there is no other."""
    method = late(f"consensus, {which}", small_corpus)
    members = [counts.copy() for counts in method.start_topics.members]
    before = method.reconciliation.counts()[:, :5].copy()
    if len(members) < ended:
        members.append(before)
    method.end_start()
    np.testing.assert_array_equal(method.reconciliation.counts()[:, :5], before)  # if it stops now
    assert method.sweep == method.schedule.given.start
    method.round()
    assert len(members) == len(method.start_topics.members) == ended and all(map(np.any, members))
    for mine, theirs in zip(members, method.start_topics.members, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    drawn = sum(int(sampler.joined.sum()) for sampler in method.samplers.values())
    assert drawn == small_corpus.n_docs // 2  # a block of two: the others have no topics any more


@pytest.mark.parametrize("start", ["grow", "consensus, in its third member", "subset"])
def test_all_documents_take_part_at_last(small_corpus, start):
    """Every token has a topic, and the counts are theirs, some sweeps before the first sample."""
    method = opened(replace(CONFIG, **STARTS[start]), small_corpus)
    for seconds in range(1, int(BUDGET)):
        method.round()
        if method.is_late(seconds):
            assert "sweeps" in method.end_start()
        if not method.in_burn_in:
            break
    else:
        pytest.fail("the start does not end")
    counts = np.zeros((small_corpus.n_words, 5), int)
    for sampler in method.samplers.values():
        assert sampler.joined.all()
        np.add.at(counts, (sampler.tokens, sampler.z), 1)
    assert counts.sum() == small_corpus.n_tokens
    np.testing.assert_array_equal(method.reconciliation.counts()[:, :5], counts)
