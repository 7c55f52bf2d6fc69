"""A sampler is one file and one line: a toy with a state of its own that travels and is saved."""

import numpy as np
import pytest
from trained import begun, ended, resumed

from topicmc.engine.transport.local import LocalTransport
from topicmc.errors import UsageError
from topicmc.models.lda import jobs
from topicmc.models.lda.settings import TrainConfig
from topicmc.report.citation import citation
from topicmc.samplers.registry import SAMPLERS, sampler_of
from topicmc.samplers.state import Chain


@pytest.fixture
def toy(monkeypatch):
    monkeypatch.setitem(SAMPLERS, "toy", "toy_sampler:Toy")


def trained(corpus, path, updates):
    config = TrainConfig(
        topics=4, sampler="toy", workers=2, seed=1, threads=1, batch_size=10, trajectory=2,
        updates=updates, anneal_updates=4, balance=False,
    )  # fmt: skip
    return ended(begun(config, corpus, path))


def test_a_sampler_with_a_state_of_its_own(toy, small_corpus, tmp_path):
    whole = trained(small_corpus, tmp_path / "whole", 12)
    trained(small_corpus, tmp_path / "parted", 8)
    parted = ended(resumed(tmp_path / "parted", 2, updates=12))
    states = [training.method.held["chains"] for training in (whole, parted)]
    assert states[0].keys() == states[1].keys() == {0, 1}
    for worker in (0, 1):
        one, other = (held[worker] for held in states)
        assert np.array_equal(one.theta, other.theta) and np.array_equal(one.moved, other.moved)
        assert one.moved.any()
    assert "moved-000.npy" in parted.run.checkpoint().manifest["files"]
    told = citation([parted.run.facts()], "a corpus")
    assert "A toy." in told["references"] and "(toy; seed 1)" in told["text"]


def test_kept_assignments_know_no_other_state(toy, small_corpus, tmp_path):
    """It would be lost when the run goes on."""
    config = TrainConfig(topics=4, sampler="toy", remember=True)
    with pytest.raises(UsageError, match="--remember: chains of --sampler toy are more"):
        jobs.start(config, small_corpus.path, tmp_path / "run", LocalTransport(1))


@pytest.mark.parametrize("name", SAMPLERS)
def test_every_sampler_says_what_is_usual_for_it(name):
    sampler = sampler_of(name)
    assert sampler.start in ("plain", "anneal", "stream")
    assert issubclass(sampler.state, Chain) and sampler.tokens_per_move > 0 and sampler.paper
    total = sampler.initial_total(0.1, 100, 5, 10_000)
    for kept in (False, True):
        a, b, c = sampler.steps(total, 5, 10_000, kept=kept)
        assert a > 0 and b > 0 and 0 <= c <= 1
