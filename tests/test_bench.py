"""Benches that take the time want a quiet machine, and changes that are planted have a place."""

import ast
import importlib
import importlib.util
import time
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[1] / "bench"


@pytest.fixture
def quiet():
    spec = importlib.util.spec_from_file_location("bench_quiet", BENCH / "quiet.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_busy_machine_is_refused_unless_told_otherwise(quiet, monkeypatch):
    monkeypatch.setattr("os.getloadavg", lambda: (0.514, 0.0, 0.0))
    with pytest.raises(SystemExit, match=r"load is 0\.51.*--anyway"):
        quiet.conditions(anyway=False)
    date = {"date": time.strftime("%Y-%m-%d")}
    assert quiet.conditions(anyway=True) == {"load": 0.51, "anyway": True, **date}
    monkeypatch.setattr("os.getloadavg", lambda: (0.5, 9.0, 9.0))
    assert quiet.conditions(anyway=False) == {"load": 0.5, "anyway": False, **date}


def test_the_load_of_the_measurement_before_may_go_down(quiet, monkeypatch):
    loads = iter([2.0, 1.0, 0.4])
    monkeypatch.setattr("os.getloadavg", lambda: (next(loads), 0.0, 0.0))
    monkeypatch.setattr(quiet, "busy_cores", lambda seconds: 0.3)
    found = quiet.again(anyway=False)
    assert found["load"] == 0.4 and "busy" not in found


def test_a_load_of_what_has_ended_does_not_count(quiet, monkeypatch):
    """The 1-minute load falls slowly; cores that are idle are idle at once."""
    monkeypatch.setattr("os.getloadavg", lambda: (2.0, 0.0, 0.0))
    busy = iter([1.9, 0.04])
    monkeypatch.setattr(quiet, "busy_cores", lambda seconds: next(busy))
    found = quiet.again(anyway=False)
    assert (found["load"], found["busy"]) == (2.0, 0.04)
    monkeypatch.setattr(quiet, "busy_cores", lambda seconds: 0.11)
    with pytest.raises(SystemExit, match=r"load is 2\.00"):
        quiet.conditions(anyway=False, patience=0.01)


def test_what_is_kept_with_results(quiet):
    told = quiet.record(quiet.conditions(anyway=True), "no-such-package")
    assert {"load", "anyway", "date", "machine", "versions"} <= set(told)
    assert {"processor", "cores"} <= set(told["machine"])
    assert {"python", "numpy", "numba", "topicmc"} <= set(told["versions"])
    assert told["versions"]["no-such-package"] is None


@pytest.mark.parametrize("path", sorted(BENCH.glob("*.py")), ids=lambda path: path.stem)
def test_every_bench_that_takes_the_time_asks(path):
    text = path.read_text(encoding="utf-8")
    timed = any(clock in text for clock in ("perf_counter()", "process_time()", "--time-budget"))
    others = ("generate", "quiet", "mutations", "sbc", "kills")  # that only say how long it took
    asks = "quiet.add_option(" in text and ("quiet.start(" in text or "quiet.record(" in text)
    assert not timed or path.stem in others or asks, "see bench/quiet.py"


def test_the_readme_names_every_bench():
    told = (BENCH / "README.md").read_text(encoding="utf-8")
    benches = [path for path in BENCH.glob("*.py") if "def main(" in path.read_text()]
    assert len(benches) > 20
    assert [path.name for path in benches if f"`{path.name}`" not in told] == []


@pytest.mark.parametrize("path", sorted(BENCH.rglob("*.py")), ids=lambda path: path.stem)
def test_what_benches_import_of_topicmc_is_there(path):
    """Few of them run in the tests."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "topicmc":
            module = importlib.import_module(node.module)
            for name in (alias.name for alias in node.names):
                there = hasattr(module, name) or importlib.util.find_spec(f"{node.module}.{name}")
                assert there, f"{path.name}, line {node.lineno}: {node.module} has no {name}"


def test_every_planted_change_has_its_place(monkeypatch):
    """Else bench/mutations.py could not plant it any more."""
    monkeypatch.syspath_prepend(str(BENCH))
    planted = importlib.import_module("planted").PLANTED
    assert len(planted) >= 40
    for change in planted:
        text = (BENCH.parent / change.file).read_text(encoding="utf-8")
        assert text.count(change.old) == 1, f"{change.file}: {change.old!r}"
        assert (BENCH.parent / change.test.partition("::")[0]).is_file(), change.test
