"""The comparison with other systems in bench/: its arithmetic, its file, and its own contender."""

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

BENCH = Path(__file__).parents[2] / "bench" / "peers"
sys.path.insert(0, str(BENCH))
import marks as peers_marks  # noqa: E402
import results as peers_results  # noqa: E402
import tables as peers_tables  # noqa: E402

sys.path.remove(str(BENCH))


def point(**facts):
    base = {"corpus": "c", "contender": "a", "seed": 0, "unit": "s", "budget": 5.0}
    return {**base, "seconds": facts.get("budget", 5.0), **facts}


def test_time_to_reach_lies_between_the_points():
    curve = [(40.0, 1000.0), (10.0, 1200.0), (20.0, 1100.0)]
    assert peers_tables.time_to_reach(curve, 1100) == (20.0, True)
    seconds, exact = peers_tables.time_to_reach(curve, 1150)
    assert exact and math.isclose(seconds, 10 * 2**0.5)
    assert peers_tables.time_to_reach(curve, 1300) == (10.0, False)
    assert peers_tables.time_to_reach(curve, 999) is None


def test_time_to_reach_errs_on_the_late_side():
    """On curves of the shape a + b t⁻ᶜ, which fall faster at first also in log time."""
    times = np.array([5.0, 10, 15, 30, 60, 100])
    for power in (0.5, 1.0, 2.0):
        curve = [(float(t), 1400 + 1000 * float(t) ** -power) for t in times]
        for true in (6.0, 12.0, 20.0, 50.0):
            seconds, _ = peers_tables.time_to_reach(curve, 1400 + 1000 * true**-power)
            assert true <= seconds < 1.2 * true


def test_ratios_use_every_seed():
    points = [
        point(contender="tomotopy", budget=30.0, perplexity=1500.0),
        *(point(seed=s, budget=5.0, perplexity=1600.0) for s in (0, 1, 2)),
        *(point(seed=s, budget=10.0, perplexity=p) for s, p in enumerate((1500.0, 1400.0, 1450.0))),
    ]
    (_, row) = peers_tables.against_reference(points)
    seconds = sorted(5 * 2 ** (100 / drop) for drop in (100, 200, 150))
    low, middle, high = seconds
    assert row == ["a", f"{middle:.1f} ({low:.1f}–{high:.1f}) s ({30 / middle:.1f} ×)"]
    points[-1]["perplexity"] = 1501.0
    assert peers_tables.against_reference(points)[1][1] == "never in 1 of 3"


def test_the_best_peer_counts_with_its_best_figure():
    given = {"perplexity_given_alpha": 1480.0}
    points = [
        point(contender="tomotopy-alpha", perplexity=1450.0, perplexity_averaged=1430.0, **given),
        point(contender="topica-alpha", perplexity=1460.0, **given),
        point(contender="topicmc-alpha", perplexity=1420.0, perplexity_averaged=1387.1, **given),
    ]
    assert peers_tables.learned(points)[-1][-1] == "-3.0%"


def test_a_state_stands_for_all_marks_that_it_has_passed(tmp_path):
    kept = []
    marks = peers_marks.Marks([1.0, 2.0, 8.0], "s", tmp_path, kept.append, sampled=True)
    assert not marks.due(0.9)
    for seconds in (2.5, 4.4, 4.6, 9.0):
        if marks.due(seconds):
            marks.take(seconds, np.full((2, 3), seconds))
    assert [k.budgets for k in kept] == [(1.0, 2.0), (), (8.0,)]
    assert [k.seconds for k in kept] == [2.5, 4.6, 9.0]
    assert [k.sample for k in kept] == [False, True, True]
    assert not marks.open
    assert [np.load(k.file)[0, 0] for k in kept] == [k.seconds for k in kept]


def test_results_are_gone_on_with_and_not_mixed(tmp_path):
    path = tmp_path / "r.json"
    settings = {"topics": 5}
    results = peers_results.Results(path, settings)
    results.add(point(budget=5.0, perplexity=2.0))
    again = peers_results.Results(path, settings)
    where = {"corpus": "c", "contender": "a", "seed": 0, "unit": "s"}
    assert again.missing([5.0, 10.0], **where) == [10.0]
    assert again.missing([5.0], **{**where, "seed": 1}) == [5.0]
    again.add(point(budget=5.0, perplexity=3.0))
    assert [p["perplexity"] for p in peers_results.Results(path).points()] == [3.0]
    with pytest.raises(SystemExit, match="settings"):
        peers_results.Results(path, {"topics": 6})


def test_our_figure_is_that_of_train_export_and_evaluate(small_corpus, tmp_path, command):
    """The whole chain, once by the bench and once by hand."""
    options = ["--topics", "5", "--alpha", "0.1", "--beta", "0.05", "--threads", "1"]
    results = tmp_path / "r.json"
    bench = [sys.executable, str(BENCH), "run", str(results), str(small_corpus.path), *options]
    bench += ["--anyway", "--seeds", "1"]
    fixed = "--updates 20 --sampler scir"
    done = subprocess.run(
        [*bench, "--seconds", "600", "--contenders", "", "--ours", f"mine={fixed}"],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(results.read_text())["points"]
    assert "| mine |" in done.stdout

    run = tmp_path / "run"
    by_hand = ["train", small_corpus.path, "-o", run, *options, "--seed", "0"]
    command(*by_hand, *fixed.split(), "--time-budget", "600s")
    command("export", run, "--to", "npy", "-o", tmp_path / "topics")
    score = command(
        *("evaluate", "--corpus", small_corpus.path, "--alpha", "0.1", "--json"),
        *("--topics-file", tmp_path / "topics" / "phi.npy"),
    )
    assert found["perplexity"] == json.loads(score.stdout)["perplexity"]
