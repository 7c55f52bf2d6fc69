"""The draws of a trace are those past burn-in in the second half of a run, equally far apart."""

import json

import numpy as np
import pytest

from topicmc.errors import DataError
from topicmc.models.lda.run import TopicRun
from topicmc.posterior.traces import traces


def run_with(tmp_path, records) -> TopicRun:
    run = TopicRun.create(tmp_path / "run", {"config": {}, "corpus": {}})
    for record in records:
        run.append_trace(record)
    return run


def record(position: int, burn_in: bool = False, **chains) -> dict:
    chains = chains or {"0": {"log joint": -float(position)}}
    return {"position": position, "round": 1, "seconds": 1.0, "burn_in": burn_in, "chains": chains}


def positions(tmp_path, recorded, start: int = 0) -> list[int]:
    run = run_with(tmp_path, [record(p, burn_in=p <= start) for p in recorded])
    return (-traces(run)["log joint"][0]).astype(int).tolist()


def test_the_stride_is_the_coarsest(tmp_path):
    """A run that recorded every position up to 16, then every second, then every fourth."""
    recorded = [*range(1, 17), *range(18, 33, 2), *range(36, 49, 4)]
    assert positions(tmp_path, recorded) == [28, 32, 36, 40, 44, 48]


@pytest.mark.parametrize(
    ("recorded", "start", "expected"),
    [
        (range(1, 9), 0, [5, 6, 7, 8]),  # of 8 the first half is burn-in
        (range(1, 9), 6, [7, 8]),  # and so is the start
        ([1, 2, 3, 4, 6, 8, 9], 0, [6, 8]),  # 9 is no multiple of the stride
        ([20, 22, 24, 26, 32, 34, 36, 38], 0, [32, 34, 36, 38]),  # a gap, as from a lost file
        ([7], 0, [7]),
    ],
)
def test_positions(tmp_path, recorded, start, expected):
    assert positions(tmp_path, recorded, start) == expected


def test_nothing_past_burn_in(tmp_path):
    assert traces(run_with(tmp_path, [])) == {}
    assert traces(run_with(tmp_path / "b", [record(p, burn_in=True) for p in range(9)])) == {}


def test_chains_and_scalars_that_records_lack(tmp_path):
    """As where a second chain is known of later, and where a number is none."""
    one, two = {"a": 1.0, "b": None}, {"a": 2.0, "b": float("nan"), "c": 3.0}
    chains = [{"0": one}, {"0": one, "10": two}, {"0": one}, {"0": one, "10": two}]
    records = [record(1), *(record(p, **held) for p, held in enumerate(chains, start=5))]
    found = traces(run_with(tmp_path, records))
    assert list(found) == ["a", "c"]
    assert list(found["a"]) == [0, 10]
    np.testing.assert_array_equal(found["a"][0], [1, 1, 1, 1])
    np.testing.assert_array_equal(found["a"][10], [2, np.nan, 2])
    np.testing.assert_array_equal(found["c"][10], [3, np.nan, 3])


def test_chains_that_were_given_up_are_not_judged(tmp_path):
    """As on fewer workers: they have no newest draws."""
    both = {number: {"log joint": 1.0} for number in ("0", "1")}
    records = [record(p, **both) for p in range(1, 9)]
    records += [record(p, **{"0": both["0"]}) for p in (9, 10)]
    found = traces(run_with(tmp_path, records))
    assert list(found["log joint"]) == [0] and len(found["log joint"][0]) == 5


@pytest.mark.parametrize(
    "line",
    [
        "5", "[]", "{}", '{"position": "x", "burn_in": false, "chains": {}}',
        '{"position": 1, "burn_in": false, "chains": [1]}',
        '{"position": 1, "burn_in": false, "chains": {"a": {"b": 1}}}',
        '{"position": 1, "burn_in": false, "chains": {"0": {"b": "x"}}}',
        '{"position": 1, "burn_in": false, "chains": {"0": {"b": [1]}}}',
    ],
)  # fmt: skip
def test_what_is_no_trace_is_named(tmp_path, line):
    run = run_with(tmp_path, [record(1)])
    (run.path / "trace.jsonl").write_text(json.dumps(record(1)) + "\n" + line + "\n")
    with pytest.raises(DataError, match="trace.jsonl"):
        traces(run)
