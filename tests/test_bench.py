"""Benches that take the time want a quiet machine, measure what they say, and changes that are
planted have a place."""

import ast
import importlib
import importlib.util
import json
import time
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest

from topicmc.models.lda.collapsed.growing import Schedule
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.settings import TrainConfig

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
    """Else bench/mutations.py could not plant it any more; and a test that is to catch it. Those
    of the last results were caught, as many as docs/evidence.md says."""
    monkeypatch.syspath_prepend(str(BENCH))
    planted = importlib.import_module("planted").PLANTED
    assert len(planted) >= 40
    for change in planted:
        text = (BENCH.parent / change.file).read_text(encoding="utf-8")
        assert text.count(change.old) == 1, f"{change.file}: {change.old!r}"
        file, _, name = change.test.partition("::")
        tests = (BENCH.parent / file).read_text(encoding="utf-8")
        assert f"def {name.partition('[')[0]}" in tests, change.test
    found = json.loads((BENCH / "results" / "mutations.json").read_text(encoding="utf-8"))
    assert {of["outcome"] for of in found.values()} == {"caught"}
    page = (BENCH.parent / "docs" / "evidence.md").read_text(encoding="utf-8")
    assert f"there were {len(found)}, and each was caught" in " ".join(page.split())


KOS = Extent(3_430, 467_714, 6_906)


def test_chains_that_remember_are_measured_past_their_start(monkeypatch):
    """That of a run without options would take 1,250 sweeps on so small a corpus."""
    monkeypatch.syspath_prepend(str(BENCH))
    inflation, estimates = map(importlib.import_module, ("inflation", "estimates"))
    asked = TrainConfig(topics=50, sampler="scir", alpha=0.1, beta=0.01, estimate="plain")
    config = inflation.remembering(asked, 100, KOS)
    assert config.remember and not Schedule(config, KOS).is_start(100)
    options = Namespace(topics=50, seed=0, batch_size=None, start=200)
    for contender in ("remembered", "adlda"):
        config = estimates.settings_of(contender, options, KOS)
        assert config.keeps_assignments
        assert (config.start, config.start_sweeps) == ("grow", 80)
    config = estimates.settings_of("cv:anneal", options, KOS)
    assert (config.estimate, config.start, config.anneal_updates) == ("cv", "anneal", 200)


def test_updates_are_timed_past_the_start(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    options = Namespace(topics=10, documents=50, tokens=20)
    method = importlib.import_module("updates").chain_of(500, options)
    assert not method.target.updates.in_burn_in(1)


def test_results_of_other_chains_are_made_anew(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(BENCH))
    sbc = importlib.import_module("sbc")
    made, generator = [], np.random.default_rng(0)

    def ranked(case, seed, n, processes):
        made.append(case.name)
        size = len(sbc.NAMES)
        ranks = generator.integers(0, sbc.N_DRAWS + 1, (n, size))
        return ranks, generator.normal(size=(n, sbc.N_DRAWS, size))

    monkeypatch.setattr(sbc, "ranked", ranked)
    path = tmp_path / "sbc.json"
    options = Namespace(results=path, replications=20, seed=1, sampler=None, processes=1)
    sbc.run(options)
    names = [case.name for case in sbc.CASES]
    assert made == names
    results = json.loads(path.read_text())
    results["cases"][names[2]]["chains"] = "others"
    path.write_text(json.dumps(results))
    sbc.run(options)
    assert made == [*names, names[2]]
