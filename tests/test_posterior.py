"""Which samples are kept: half to all of the number asked for, always from the run's second half,
and never one that an earlier moment has thrown away."""

from hypothesis import given
from hypothesis import strategies as st

from topicmc.posterior import is_kept, proper


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


def test_states_of_a_start_stand_in_until_there_is_a_sample():
    start = [{"round": 1, "burn_in": True}, {"round": 2, "burn_in": True}]
    sample = {"round": 3, "burn_in": False}
    assert proper(start) == start
    assert proper([*start, sample]) == [sample]
