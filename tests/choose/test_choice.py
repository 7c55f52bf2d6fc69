"""What is made of the figures, and how they are drawn."""

import math
from xml.etree import ElementTree

import numpy as np
import pytest
from fake_runs import make_run, topic_shapes

from topicmc.topics.choose import choice
from topicmc.topics.choose.choice import Point, RunFigures
from topicmc.topics.choose.plots import Panel, write_panels

SVG = "{http://www.w3.org/2000/svg}"


def point(topics, perplexities, npmi=0.1, stable=None, converged=True, settled=True) -> Point:
    runs = tuple(
        RunFigures(f"k{topics}-seed{seed}", seed, 100, 9.0, perplexity, npmi, 0.5)
        for seed, perplexity in enumerate(perplexities)
    )
    return Point(topics, runs, stable, converged, settled)


def advice(points, longer="--epochs 900"):
    return choice.advice(points, longer)


def test_the_smallest_number_among_those_that_seeds_cannot_tell_apart_is_suggested():
    """Two seeds that differ by 10: two standard errors of a difference of means are 14.1."""
    points = [
        point(20, [1600, 1610], stable=0.9),
        point(50, [1514, 1504], npmi=0.3, stable=0.5),
        point(100, [1490, 1500], stable=0.6),
        point(200, [1505, 1515], stable=0.3),
    ]
    told = advice(points)
    assert "lowest at K = 100 (1,495.0); K = 50 is not measurably worse (by less than" in told
    assert "NPMI coherence is highest at K = 50" in told
    assert "and chains agree most at K = 20" in told
    assert "A first choice is K = 50" in told


def test_one_seed_knows_no_spread():
    points = [point(20, [1005]), point(50, [1000]), point(100, [1020])]
    told = advice(points)
    assert "; K = 20 is not measurably worse (one seed cannot show differences below 1%)" in told
    assert "agree most" not in told
    assert "A first choice is K = 20" in told


@pytest.mark.parametrize(("best", "sentence"), [(10, "the smallest K tried"), (40, "the largest")])
def test_a_minimum_at_the_end_is_no_minimum(best, sentence):
    told = advice([point(k, [1000 + 50 * (k != best)]) for k in (10, 20, 40)])
    assert sentence in told
    assert ("first choice" in told) == (best == 10)
    assert "tried" not in advice([point(k, [1000 + 50 * (k != 20)]) for k in (10, 20, 40)])


def test_a_curve_that_has_flattened_is_no_reason_for_more():
    told = advice([point(20, [1200]), point(50, [1003]), point(100, [1000])])
    assert "tried" not in told
    assert "A first choice is K = 50" in told


def test_nothing_is_suggested_before_perplexities_are_at_rest():
    told = advice([point(20, [1000]), point(50, [900], settled=False), point(90, [950])])
    assert "But perplexity had not come to rest at K = 50: the rows of K = 20, 90 are to be" in told
    assert "no K is suggested; the same command with --epochs 900 trains all runs on" in told
    assert "first choice" not in told
    told = advice([point(k, [1000], settled=False) for k in (20, 50)])
    assert "at rest" not in told and "K = 20, 50: no row is to be relied on yet" in told


def test_perplexity_is_at_rest_where_no_change_is_told_from_chance(tmp_path):
    noise = np.random.default_rng(1).normal(0, 0.02, 12)
    for name, scores, expected in (
        ("level", -7 + noise, True),
        ("falls", -7 + noise / 10 + np.linspace(0, 0.1, 12), False),
        ("few", -7 + noise[:5], None),
    ):
        theta = np.random.default_rng(0).gamma(1.0, size=(1, 30, 3)) + 1e-3
        run = make_run(tmp_path / name, {0: theta}, [[score] for score in scores])
        assert choice._has_settled(run) is expected, name
    young = make_run(tmp_path / "young", {0: theta}, [[-7.0]] * 12, burn_in=True)
    assert choice._has_settled(young) is False
    unscored = make_run(tmp_path / "unscored", {0: theta}, [None] * 12)
    assert choice._has_settled(unscored) is None


def test_what_was_traced_tells_whether_perplexity_is_at_rest_where_evaluations_are_few(tmp_path):
    level = -7 + 0.01 * (np.arange(240.0) % 40 < 20)
    for name, trace, expected in (
        ("level", level, True),
        ("climbs", level + np.linspace(0, 0.1, 240), False),
        ("short", level[:11], None),
        ("no number", np.where(np.arange(240) == 7, np.nan, level), None),
    ):
        theta = np.random.default_rng(0).gamma(1.0, size=(2, 30, 3)) + 1e-3
        recorded = {"log likelihood": trace[None]}
        run = make_run(tmp_path / name, {0: theta}, [[-7.0]] * 5, trace=recorded)
        assert choice._has_settled(run) is expected, name


def test_which_topics_are_stable_nobody_knows_before_there_are_samples(tmp_path, small_corpus):
    """Two states of the start say as little of it as one chain."""
    theta, stable = topic_shapes(small_corpus.n_words, 3), []
    for name, burn_in in (("young", True), ("old", False)):
        runs = [
            make_run(tmp_path / f"{name}{i}", {0: [theta + i]}, burn_in=burn_in, seed=i)
            for i in (0, 1)
        ]
        stable.append(Point.of(runs, small_corpus, 0).stable)
    assert stable == [None, 1.0]


def test_chains_that_are_apart_do_not_withhold_a_choice():
    told = advice([point(20, [1000]), point(50, [900], converged=False), point(90, [950])])
    assert "A first choice is K = 50" in told
    assert "; chains of K = 50 had not come to rest in every respect (topicmc evaluate" in told


def test_what_cannot_be_told_is_not_said_to_be_so():
    points = [point(20, [1000], converged=None), point(50, [900]), point(90, [950])]
    told = advice(points)
    assert "A first choice is K = 50" in told
    assert "; whether chains of K = 20 had come to rest in every respect cannot be told" in told
    told = advice([*points[:1], point(50, [900], converged=False), *points[2:]])
    assert "in every respect, and whether those of K = 20 had cannot be told yet (topicmc" in told
    untold = point(90, [950], settled=None)
    told = advice([*points[:2], untold])
    assert "But whether perplexity had come to rest cannot be told yet at K = 90: the rows" in told
    assert "first choice" not in told
    told = advice([point(20, [1000], settled=False), points[1], untold])
    assert "not come to rest at K = 20, and whether it had cannot be told yet at K = 90: on" in told
    told = advice([point(20, [None], settled=None)])
    assert told.startswith("No run has a perplexity yet. But whether perplexity had come to rest")


def test_dots_lie_where_values_are_and_text_is_escaped(tmp_path):
    panels = [Panel("<b> & co", [[1.0, 3.0], [2.0], [5.0]]), Panel("level", [[7.0], [7.0], [7.0]])]
    write_panels(tmp_path / "plot.svg", "<script>", [10, 100, 1000], "K", panels)
    root = ElementTree.parse(tmp_path / "plot.svg").getroot()
    assert root.find(f"{SVG}title").text == "<script>"
    assert "<b> & co" in [text.text for text in root.iter(f"{SVG}text")]
    dots = [(float(dot.get("cx")), float(dot.get("cy"))) for dot in root.iter(f"{SVG}circle")]
    first, level = dots[:4], dots[4:]
    xs = [x for x, _ in level]
    assert xs[2] - xs[1] == pytest.approx(xs[1] - xs[0], abs=0.2)  # a logarithmic axis
    ys = [y for _, y in first]
    assert ys[0] > ys[2] > ys[1] > ys[3]  # larger values lie higher
    assert (ys[0] - ys[1]) / (ys[0] - ys[3]) == pytest.approx(0.5, abs=0.01)
    assert len({y for _, y in level}) == 1
    mean = root.find(f"{SVG}polyline").get("points").split()[0].split(",")
    assert float(mean[1]) == pytest.approx((ys[0] + ys[1]) / 2, abs=0.2)


def test_a_run_without_a_sample_has_no_perplexity():
    young = point(50, [None, 900.0], converged=None, settled=False)
    assert math.isnan(young.mean("perplexity")) and young.as_dict()["perplexity"] is None
    told = advice([point(20, [1000.0, 1001.0]), young])
    assert "lowest at K = 20 (1,000.5)" in told and "not come to rest at K = 50" in told
    assert advice([young]).startswith("No run has a perplexity yet. But perplexity had not come")
