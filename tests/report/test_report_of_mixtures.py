"""The report of a mixture in a real browser, over words and titles that would like to be markup."""

import contextlib
import copy
import json
import time
from dataclasses import replace

import numpy as np
import pytest
from browser import chromium, resize
from report_runs import HOSTILE, hostile_corpus

from topicmc.cli import main
from topicmc.corpora import prepare
from topicmc.errors import UsageError
from topicmc.models.mixture.run import MixtureRun
from topicmc.models.views import View
from topicmc.report import write_report
from topicmc.report.group_posterior import GroupPosterior
from topicmc.report.groups import gather_groups


def trained(corpus, path, *options) -> MixtureRun:
    asked = ("train", corpus.path, "-o", path, "--model", "mixture", "--updates", 120)
    settings = ("--chains", 2, "--beta", 0.3, "--threads", 1, "--progress", "none", *options)
    with contextlib.suppress(SystemExit):
        main([str(argument) for argument in (*asked, *settings)])
    return MixtureRun.open(path)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mixture")
    corpus = hostile_corpus(folder)
    return trained(corpus, folder / "run"), corpus


@pytest.fixture(scope="module")
def page(run, tmp_path_factory):
    """The page, and what it shows."""
    path = tmp_path_factory.mktemp("page") / "report.html"
    opened, corpus = run
    corpus.titles = [HOSTILE[i % len(HOSTILE)] for i in range(corpus.n_docs)]
    data = gather_groups([opened], corpus, title=HOSTILE[0])
    write_report(data, path)
    return path, data


def test_groups_whose_documents_have_no_time(tmp_path):
    """Where theirs is the last number, too."""
    rng = np.random.default_rng(1)
    rows = [{"text": " ".join(rng.choice(["ant", "bee", "cow"], 12)), "time": f"200{i % 2}-05-01"}
            for i in range(60)]  # fmt: skip
    rows += [
        {"text": " ".join(rng.choice(["dog", "eel", "fox"], 12)), "time": ""} for _ in range(20)
    ]
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, rows)))
    corpus = prepare(
        [tmp_path / "x.jsonl"], tmp_path / "corpus", n_heldout=0, time="time", max_df=1.0
    )
    run = trained(corpus, tmp_path / "run", "--updates", 300, "--chains", 1, "--beta", 0.1)
    partitions = [run.read_sample(entry).groups for entry in run.sample_index()]
    assert any(max(groups[60:]) > max(groups[:60]) for groups in partitions)
    data = gather_groups([run], corpus)
    trends = np.array([topic["trend"] for topic in data["topics"]], float)
    assert np.nanmax(trends[1, :, 0]) < 0.1 and np.nanmin(trends[0, :, 0]) > 0.9


def test_names_of_one_run_are_not_put_on_groups_of_several(run):
    opened = copy.copy(run[0])
    opened.view = View(1, ((0,),), {0: "News"})
    with pytest.raises(UsageError, match="has names for the groups of one run"):
        GroupPosterior([opened, opened], 0.9)


def wait_for(driver, selector: str) -> None:
    until = time.monotonic() + 10
    while not driver.execute_script(f"return document.querySelector('{selector}')"):
        assert time.monotonic() < until
        time.sleep(0.02)


def charts_of(driver) -> set[str]:
    return set(
        driver.execute_script(
            "return [...document.querySelectorAll('#traces h3')].map((e) => e.textContent)"
        )
    )


def test_a_browser_shows_groups_and_how_many(page):
    path, data = page
    with chromium() as driver:
        resize(driver, 1280)
        driver.get(f"{path.as_uri()}#group-1")
        wait_for(driver, ".column")
        one = "return document.querySelector('{}').textContent"
        assert driver.execute_script(one.format("#title")) == HOSTILE[0]
        assert driver.execute_script(one.format("#topic .overline")).startswith("Group 1")
        columns = driver.execute_script("return document.querySelectorAll('.column').length")
        assert columns == len(data["how_many"])
        rows = driver.execute_script("return document.querySelectorAll('#topics tbody tr').length")
        assert rows == len(data["topics"])
        assert "of samples" in driver.execute_script(one.format("#topics tbody"))
        assert {"Number of groups", "Log joint", "Concentration"} <= charts_of(driver)
        assert driver.get_log("browser") == []


def test_what_only_one_of_two_runs_traced_is_drawn(run, tmp_path):
    opened, corpus = run
    other = trained(corpus, tmp_path / "other", "--seed", 1, "--learn", "both")
    with chromium() as driver:
        resize(driver, 1280)
        for number, runs in enumerate(([opened, other], [other, opened])):
            path = tmp_path / f"{number}.html"
            write_report(gather_groups(runs, None), path)
            driver.get(path.as_uri())
            wait_for(driver, "#traces h3")
            traced = {"Number of groups", "Log joint", "Concentration", "Prior of words"}
            assert traced <= charts_of(driver)
            assert driver.get_log("browser") == []


def test_shares_and_intervals_are_of_the_samples_that_found_a_group(run):
    posterior = GroupPosterior([run[0]], 0.9)
    samples = posterior.samples
    for k in range(len(posterior.phi)):
        found = samples.stick[:, k] >= 0
        assert posterior.held[k] == pytest.approx(found.mean())
        assert posterior.share[k] == pytest.approx(samples.share[found, k].mean())
        low, high = posterior.share_low[k], posterior.share_high[k]
        assert not low > posterior.share[k] and not high < posterior.share[k]


def test_intervals_of_some_groups_are_those_among_all(run):
    posterior = GroupPosterior([run[0]], 0.9)
    shape = len(posterior.phi), 5
    words = np.random.default_rng(0).integers(0, posterior.phi.shape[1], shape)
    some = np.arange(len(words))[::-2]
    every, mine = posterior.intervals(words), posterior.intervals(words[some], some)
    for field, of_all in every._asdict().items():
        np.testing.assert_array_equal(getattr(mine, field), of_all[some])


def test_words_of_a_group_share_what_its_samples_are_worth(run):
    """Of one chain. By the correlation of each alone widths would differ fivefold by chance."""
    posterior = GroupPosterior([run[0]], 0.9)
    stick, n = posterior.samples.stick, len(posterior.samples.entries)
    chain = np.zeros(n, int)
    posterior.samples = replace(posterior.samples, chain=chain, stick=np.zeros_like(stick))
    values = np.random.default_rng(0).gamma(20, 0.005, (n, 50))
    low, high = posterior.interval(0, values)
    width = (np.cbrt(high) - np.cbrt(low)) / np.cbrt(values).std(axis=0)
    assert low.shape == (50,) and width[0] > 0
    np.testing.assert_allclose(width, width[0])


def test_a_run_in_its_start_says_nothing_where_another_has_samples(run, tmp_path):
    opened, corpus = run
    early = trained(corpus, tmp_path / "early", "--seed", 1, "--updates", 20)
    assert early.is_starting()
    alone, both = GroupPosterior([opened], 0.9), GroupPosterior([opened, early], 0.9)
    for name in ("phi", "held", "share", "share_low", "share_high"):
        np.testing.assert_array_equal(getattr(both, name), getattr(alone, name))
    assert (both.n_samples, both.n_chains) == (alone.n_samples, alone.n_chains)
    assert both.remark() == f"No posterior sample yet of {early.path}; train for longer (--resume)."
    assert "found again" in alone.remark()
