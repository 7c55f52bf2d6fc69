"""Runs that train until they have converged: when they are looked at, and where they end."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from fake_runs import autoregression
from trained import StopAfter, begun, kept_bits, resumed

from topicmc import LDA
from topicmc.cli.training import tell_nothing_to_do, tell_result
from topicmc.engine import progress
from topicmc.engine.ending import has_converged, is_due
from topicmc.engine.listeners import Remarks, Silent
from topicmc.engine.progress import advice_to_train
from topicmc.engine.transport.local import LocalTransport
from topicmc.host.interrupts import Interrupt
from topicmc.models.lda.model import look_of
from topicmc.models.lda.planning.planned import planned
from topicmc.models.lda.progress import reached, remarks
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.settings import TrainConfig
from topicmc.posterior.agreement import is_final
from topicmc.topics.reading import write_topics

CONFIG = TrainConfig(
    topics=2, sampler="adlda", seed=4, threads=1, batch_size=100, alpha=0.5, beta=0.3, learn="none",
    evaluate_every="20", checkpoint_every="10m", start_sweeps=6, epochs=300.0, until="converged",
)  # fmt: skip
COUPLED = {"sampler": "scir", "anneal_updates": 100, "updates": 3000, "trajectory": 10}


def test_looks_are_half_as_far_apart_again_each_time():
    assert [p for p in range(1, 200) if is_due(p - 1, p, 20)] == [20, 30, 45, 68, 102, 152]
    assert is_due(10, 100, 20) and not is_due(20, 29, 20)


@pytest.mark.parametrize(
    ("config", "position"),
    [
        ({"sampler": "adlda", "start_sweeps": 80, "epochs": 150.0}, 160),
        ({"sampler": "adlda", "start_sweeps": 80, "epochs": 1500.0}, 500),
        ({"sampler": "adlda", "start_sweeps": 80, "epochs": None}, 160),
        (COUPLED, 100),
        ({"sampler": "scir", "anneal_updates": 105, "updates": 300, "trajectory": 10}, 22),
        ({**COUPLED, "average_until": 700}, 140),
    ],
)
def test_the_first_look_is_behind_twice_the_start_and_a_third_of_the_way(config, position):
    assert look_of(TrainConfig(**config, batch_size=10, workers=2, chains=1), 1000) == position


def test_what_ends_a_run():
    """Chains at rest in one law, or in laws of their own; neither drift nor slow chains."""
    generator = np.random.default_rng(5)
    rest = {"log joint": autoregression(0.1, (2, 200), generator)}
    slow = autoregression(0.98, (2, 200), generator) + np.array([[0.0], [9.0]])
    assert is_final(rest)
    assert is_final({"log joint": rest["log joint"] + np.array([[0.0], [9.0]])})
    assert not is_final({"log joint": rest["log joint"] + np.linspace(0, 9, 200)})
    assert not is_final({"log joint": slow})
    assert is_final({"log joint": rest["log joint"][:, :16]})
    assert not is_final({"log joint": rest["log joint"][:, :15]})
    few = np.array([[0.0, 1.0, 0.0, 1.0], [2.0, 3.0, 2.0, 3.0]])  # R̂ of 1.78, and 2.97 by chance
    assert not is_final({**rest, "held-out log-likelihood": few})
    assert not is_final({})
    assert is_final({"groups": np.full((2, 200), 3.0), **rest})  # a constant has no R̂
    assert not is_final({"groups": np.full((2, 200), 3.0)})
    assert not is_final({"groups": np.full((2, 200), 3.0), "log joint": slow})


def test_what_stands_still_does_not_keep_a_run_from_ending():
    """As a given concentration, or a number of groups: it tells nothing of rest."""
    joint = autoregression(0.1, (2, 200), np.random.default_rng(5)) + np.array([[0.0], [9.0]])
    apart, same = {"log joint": joint}, np.full((2, 200), 3.0)
    for groups in (same, same + np.array([[0.0], [1.0]])):
        assert is_final({"groups": groups, **apart})
        assert is_final({**apart, "groups": groups})
    assert not is_final({**apart, "groups": np.stack([same[0], np.linspace(3, 9, 200)])})


def test_a_run_ends_once_it_has_converged_and_a_resumed_one_at_the_same_state(
    small_corpus, tmp_path, capsys
):
    fractions = []

    class Heard(Silent):
        def progress(self, status):
            fractions.append(status.fraction)

    whole = begun(CONFIG, small_corpus, tmp_path / "whole", Heard())
    end = whole.train(Interrupt())
    assert end.converged and has_converged(whole.run)
    assert fractions[-1] == 1 > 0.9 > fractions[-2]  # a bar is full, though more was allowed
    assert is_due(whole.method.position - 1, whole.method.position, 100)
    assert whole.method.position < 300
    write_topics(whole.run, end.update)
    assert remarks(whole.run) == []
    LDA.from_run(whole.run.path).save(tmp_path / "saved")  # without its checkpoint
    assert remarks(TopicRun.open(tmp_path / "saved")) == []
    stopped = begun(CONFIG, small_corpus, tmp_path / "stopped")
    assert stopped.train(StopAfter(150)).interrupted
    assert reached(stopped.run).is_unfinished
    again = resumed(tmp_path / "stopped")
    assert again.train(Interrupt()).update == end.update
    assert kept_bits(again.run) == kept_bits(whole.run)
    over = resumed(tmp_path / "stopped", epochs=600.0, until="converged").train(Interrupt())
    assert over.update == end.update and over.converged
    tell_nothing_to_do(again.run, reached(again.run), over, Remarks())
    assert re.search(
        "has come to rest, .* goes on with --until end, or longer --", capsys.readouterr().err
    )
    tell_result(again.run, over, "converged", "", "topicmc evaluate", Remarks())
    assert re.search("It has come to rest: topicmc evaluate .*/stopped", capsys.readouterr().err)
    further = resumed(tmp_path / "stopped", epochs=300.0)
    ended = further.train(Interrupt())
    assert ended.update > end.update and not ended.converged  # as far as has been looked
    assert further.method.position == 300


@pytest.mark.parametrize(
    ("passes", "done"), [(0.25, "0.25"), (99.96, "100"), (1234.5, "1,234"), (4500, "4,500")]
)
def test_epochs_are_told_as_people_write_them(passes, done):
    run, config = SimpleNamespace(counted=("documents",)), replace(CONFIG, epochs=9000.0)
    last = {"update": 1, "documents": 10 * passes, "seconds": 1.0}
    assert progress.reached(run, last, config, 10).told == f"{done} of 9,000 epochs"


def test_the_advice_to_continue_trains_a_run_that_has_converged(small_corpus, tmp_path):
    training = begun(CONFIG, small_corpus, tmp_path / "run")
    run, end = training.run, training.train(Interrupt())
    assert end.converged
    write_topics(run, end.update)
    (epochs,) = re.findall(r"--resume --epochs (\S+)\)", advice_to_train([run], [reached(run)]))
    assert float(epochs) == pytest.approx(2 * training.method.position, rel=0.01)
    assert resumed(run.path, epochs=float(epochs)).train(StopAfter(1)).update > end.update


def test_a_run_that_never_converges_ends_at_its_maximum(small_corpus, tmp_path, monkeypatch):
    """One that is to be longer is unfinished then, though its topics are of the last evaluation."""
    monkeypatch.setattr("topicmc.engine.loop.has_converged", lambda run: False)
    training = begun(replace(CONFIG, epochs=40.0), small_corpus, tmp_path / "run")
    end = training.train(Interrupt())
    assert not end.converged
    assert training.method.position == 40
    write_topics(training.run, end.update)
    assert not reached(training.run).is_unfinished
    longer = resumed(tmp_path / "run", epochs=80.0, until="converged")
    assert longer.train(StopAfter(1)).interrupted
    assert reached(longer.run).is_unfinished


def test_a_run_is_looked_at_when_it_comes_to_its_end(small_corpus, tmp_path, monkeypatch, capsys):
    """As one that came to rest after the last look before. A longer run is then at its end, too,
    until it is to make its full length."""
    looks = []

    def looked(run):
        looks.append(training.method.position)
        return looks[-1] == 40

    monkeypatch.setattr("topicmc.engine.loop.has_converged", looked)
    training = begun(replace(CONFIG, epochs=40.0), small_corpus, tmp_path / "run")
    end = training.train(Interrupt())
    assert end.converged and looks == [14, 21, 32, 40]
    write_topics(training.run, end.update)
    tell_nothing_to_do(training.run, reached(training.run), end, Remarks())
    assert re.search("has come to rest, .* goes on with longer --updates", capsys.readouterr().err)
    longer = resumed(tmp_path / "run", epochs=80.0, until="converged").train(Interrupt())
    assert longer.converged and longer.update == end.update
    tell_nothing_to_do(training.run, reached(training.run), longer, Remarks())
    assert "goes on with --until end, or longer --updates" in capsys.readouterr().err
    full = resumed(tmp_path / "run", epochs=80.0, until="end").train(StopAfter(1))
    assert full.update > end.update
    other = begun(replace(CONFIG, epochs=40.0, until="end"), small_corpus, tmp_path / "end")
    assert not other.train(Interrupt()).converged


def test_a_default_run_trains_until_it_has_converged(small_corpus):
    def run(**given) -> TrainConfig:
        return planned(TrainConfig(**given), small_corpus, LocalTransport(1)).config

    assert (run().until, run().epochs) == ("converged", 9000)
    assert run(sampler="scir").epochs == 9000  # of kept assignments
    minibatches = run(sampler="scir", remember=False)
    assert (minibatches.until, minibatches.updates) == ("converged", 1800)
    assert run(epochs=9.0).until == run(until="end").until == "end"
    assert run(time_budget=9.0, until="converged").until == "converged"
