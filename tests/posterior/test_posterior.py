"""Which samples are kept: half to all of the number asked for, always from the run's second half,
and never one that an earlier moment has thrown away."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from topicmc.distributed.transport import LocalTransport
from topicmc.posterior.samples import KeptSamples, is_kept
from topicmc.runs import RunDirectory
from topicmc.samplers import Chain


def kept(now: int, samples: int) -> set[int]:
    return {r for r in range(1, now + 1) if is_kept(r, now, samples)}


@given(st.integers(1, 3000), st.integers(1, 40))
def test_number_and_place(now, samples):
    rounds = kept(now, samples)
    assert 1 <= len(rounds) <= samples
    assert min(rounds) > now // 2
    if now >= 4 * samples and samples > 1:
        assert len(rounds) >= samples // 2


@given(st.integers(1, 600), st.integers(1, 20))
def test_what_is_kept_later_was_kept_all_along(now, samples):
    for later in (now + 1, now + 7, 2 * now - 1):
        for number in kept(later, samples):
            assert number > now or number in kept(now, samples)
            assert is_kept(number, number, samples)


class Start:
    """A method of one chain whose start takes three rounds."""

    def __init__(self) -> None:
        self.round_number = 0
        self.chains = {0: Chain(0, np.ones((2, 2), np.float32), np.full(2, 2.0))}

    @property
    def burning_in(self) -> bool:
        return self.round_number < 3

    def distinct(self) -> list[int]:
        return [0]


def test_a_state_of_the_start_stands_in_until_there_is_a_sample(tmp_path):
    run = RunDirectory.create(tmp_path / "run", {})
    samples, method = KeptSamples(run, LocalTransport(1), 4), Start()
    seen = []
    for number in range(1, 6):
        method.round_number = number
        samples.keep(method)
        samples.stand_in(method)
        seen.append([(entry["round"], entry["burn_in"]) for entry in run.sample_index()])
    assert seen[:2] == [[(1, True)], [(2, True)]]
    assert seen[2:] == [
        [(3, False)],
        [(3, False), (4, False)],
        [(3, False), (4, False), (5, False)],
    ]
    assert len(list((run.path / "samples").glob("*.npy"))) == 3
    assert [entry["round"] for entry in samples.at(5)] == [3, 4, 5]
