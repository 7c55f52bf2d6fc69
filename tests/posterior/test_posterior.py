"""Which samples are kept: half to all of the number asked for, always from the run's second half,
and never one that an earlier moment has thrown away."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicmc.engine.samples import KeptSamples
from topicmc.engine.transport.local import LocalTransport
from topicmc.errors import DataError
from topicmc.kernels.threads import Threads
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.run_fields import check_theta
from topicmc.models.lda.samples import add_phi, phi_of, write_sample
from topicmc.posterior.thinning import evenly, is_kept, longest_kept, number_kept
from topicmc.samplers.state import Chain
from topicmc.storage import runs


def kept(now: int, samples: int) -> set[int]:
    return {r for r in range(1, now + 1) if is_kept(r, now, samples)}


@given(st.integers(1, 3000), st.integers(1, 40))
def test_number_and_place(now, samples):
    rounds = kept(now, samples)
    assert 1 <= len(rounds) <= samples
    assert min(rounds) > now // 2
    for first in (0, now // 3, now // 2 + 2, now, now + 1):
        assert number_kept(first, now, samples) == len([r for r in rounds if r >= first])
    if now >= 4 * samples and samples > 1:
        assert len(rounds) >= samples // 2


@given(st.integers(1, 600), st.integers(1, 20))
def test_what_is_kept_later_was_kept_all_along(now, samples):
    for later in (now + 1, now + 7, 2 * now - 1):
        for number in kept(later, samples):
            assert number > now or number in kept(now, samples)
            assert is_kept(number, number, samples)


@given(st.integers(0, 3000), st.integers(1, 200))
def test_what_is_reached_at_a_jump_is_the_position_kept_longest(before, step):
    """Workers that do not wait may complete several sweeps between two looks."""
    now = before + step
    found = longest_kept(before, now)
    assert before < found <= now
    power = found & -found
    assert all(number & -number <= power for number in range(before + 1, now + 1))


def test_of_many_samples_some_are_taken():
    assert evenly(1, 16) == [0]
    assert evenly(16, 16) == list(range(16))
    assert evenly(32, 16) == [0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31]


def test_topics_are_added_up_a_square_at_a_time(monkeypatch):
    monkeypatch.setattr("topicmc.kernels.threads._SIDE", 3)
    theta = np.random.default_rng(0).gamma(1.0, size=(10, 7)).astype(np.float32)
    sums, total = theta.sum(axis=0, dtype=np.float64), np.ones((7, 10))
    add_phi(total, theta, sums, Threads(2))
    np.testing.assert_array_equal(total, 1 + (theta / sums).T)


def test_topics_are_transposed_a_square_at_a_time(monkeypatch):
    """To the same bits."""
    theta = np.random.default_rng(0).gamma(1.0, size=(10, 7)).astype(np.float32)
    phi = theta.T.astype(np.float64, order="C")
    phi /= phi.sum(axis=1, keepdims=True)
    for side in (3, 512):
        monkeypatch.setattr("topicmc.kernels.threads._SIDE", side)
        found = phi_of(theta)
        np.testing.assert_array_equal(found, phi)
        assert found.flags.c_contiguous


@pytest.mark.parametrize("rows", [1, 3, 64])
def test_a_topic_without_weight_is_found_in_whatever_row_it_has_none(monkeypatch, rows):
    monkeypatch.setattr("topicmc.models.lda.run_fields._ROWS", rows)
    for seed in range(20):
        theta = np.random.default_rng(seed).binomial(1, 0.3, (10, 4)).astype(np.float32)
        if theta.any(axis=0).all():
            assert check_theta(Path("x"), theta, (10, 4)) is theta
        else:
            with pytest.raises(DataError, match="x: holds a topic without weight"):
                check_theta(Path("x"), theta, (10, 4))


class Start:
    """A method of one chain whose start takes three sweeps of two rounds each."""

    def __init__(self) -> None:
        self.rounds = 0
        self.chains = {0: Chain(0, np.ones((2, 2), np.float32), np.full(2, 2.0), beta=0.5)}

    @property
    def position(self) -> int:
        return self.rounds // 2

    @property
    def in_burn_in(self) -> bool:
        return self.is_start(self.position)

    def is_start(self, position: int) -> bool:
        return position < 3

    def position_of_round(self, number: int) -> int:
        return number // 2

    def distinct(self) -> list[int]:
        return [0]


def kept_samples(run: TopicRun, n_samples: int) -> KeptSamples:
    def write(chain, number):
        return write_sample(run, chain, number, n_tokens=100)

    return KeptSamples(run, LocalTransport(1), n_samples, write, lambda *_: None)


def seen(run: TopicRun) -> list[tuple[int, bool]]:
    """Positions in the index, each of which has its file, and no file is there besides."""
    entries = run.sample_index()
    assert sorted(run.sample_files()) == sorted(entry["file"] for entry in entries)
    return [(entry["position"], entry["burn_in"]) for entry in entries]


def test_a_state_of_the_start_stands_in_until_there_is_a_sample(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "OUTLIVES", 0.0)
    run = TopicRun.create(tmp_path / "run", {})
    samples, method = kept_samples(run, 4), Start()
    story = []
    for number in range(1, 11):
        method.rounds = number
        samples.keep(method, number)
        samples.keep_provisional(method, number)
        story.append(seen(run))
    assert story[:5] == [[(0, True)], [(1, True)], [(1, True)], [(2, True)], [(2, True)]]
    assert story[5:] == 2 * [[(3, False)]] + 2 * [[(3, False), (4, False)]] + [
        [(3, False), (4, False), (5, False)]
    ]
    assert [entry["position"] for entry in samples.entries] == [3, 4, 5]
    method.rounds = 8
    samples.rewind(method, 8)
    assert seen(run) == [(3, False), (4, False)]


def test_who_read_the_index_before_finds_the_files_for_a_while(tmp_path, monkeypatch):
    """Also those that were dropped meanwhile: until a later change of the index, at the end of the
    run, or when it is gone on with."""
    now = 0.0
    monkeypatch.setattr(runs.time, "monotonic", lambda: now)
    run = TopicRun.create(tmp_path / "run", {})
    samples, method = kept_samples(run, 1), Start()

    def reach(number):
        method.rounds = number
        samples.keep(method, number)
        return set(run.sample_files())

    first, second = reach(8), reach(16)
    assert first < second and len(run.sample_index()) == 1
    now = 0.9 * runs.OUTLIVES
    third = reach(32)
    assert second < third
    now = 1.1 * runs.OUTLIVES
    assert first.isdisjoint(reach(64)) and third - second <= set(run.sample_files())
    samples.clean_up()
    assert run.sample_files() == [entry["file"] for entry in run.sample_index()]
    fifth = reach(128)
    assert len(fifth) == 2
    samples.rewind(method, 128)
    assert len(run.sample_files()) == 1


def test_who_reads_for_long_is_told_that_the_run_has_trained_on(tmp_path):
    """And not that a file is missing, which would be damage."""
    run = TopicRun.create(tmp_path / "run", {})
    samples, method, indices = kept_samples(run, 1), Start(), []
    for number in (8, 16):
        method.rounds = number
        samples.keep(method, number)
        indices.append(run.sample_index())
    samples.clean_up()
    (older,), (newer,) = indices
    with pytest.raises(DataError, match="has trained on since .* and no longer keeps chain-000-"):
        run.read_sample(older)
    run.place_of_sample(newer).unlink()
    with pytest.raises(DataError, match="no such file"):
        run.read_sample(newer)


def test_a_file_whose_name_comes_back_is_not_deleted(tmp_path):
    """A resumed run writes the states after its checkpoint again, under the names of before."""
    run = TopicRun.create(tmp_path / "run", {})
    entry = {**run.keep_sample(0, 1, np.ones((2, 2), np.float32)), "burn_in": False}
    run.write_sample_index([entry])
    run.write_sample_index([], [entry["file"]])
    run.write_sample_index([entry], [entry["file"]])
    run.delete_dropped()
    assert run.sample_files() == [entry["file"]]


def test_what_another_process_is_writing_is_not_deleted(tmp_path):
    """A file that the index does not name yet stays, whatever is kept or dropped meanwhile."""
    run = TopicRun.create(tmp_path / "run", {})
    samples, method = kept_samples(run, 2), Start()
    for number in range(1, 40):
        method.rounds = number
        entry = run.keep_sample(1, number, np.ones((2, 2), np.float32))
        samples.keep(method, number)
        samples.keep_provisional(method, number)
        assert run.place_of_sample(entry).exists()
