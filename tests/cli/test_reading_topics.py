"""``topics`` and ``evaluate``: what is shown of one run and of several, and what is refused."""

import json
import os
import re
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from rich.cells import cell_len
from shell import LENGTH, SETTINGS, on_a_terminal, one_sentence, topicmc

from topicmc.cli.topic_table import Asked, print_topics
from topicmc.corpora import Corpus
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.samples import posterior_mean
from topicmc.storage.lease import Lease
from topicmc.topics.reading import Topic


@pytest.fixture(scope="session")
def second(finished) -> None:
    """A run with another seed beside the finished one."""
    more = (*LENGTH, "--seed", 1, "--evaluate-every", 3)
    done = topicmc("train", "corpus", "-o", "second", *SETTINGS, *more, cwd=finished)
    assert done.status == 0, done.stderr


@pytest.fixture
def runs(second, run) -> tuple[str, str]:
    return "run", "second"


def lines(result) -> list[str]:
    assert result.status == 0, result.stderr
    return result.stdout.splitlines()


def test_the_table_grows_by_what_is_asked_for(run, command):
    assert lines(command("topics", run))[0].split() == ["topic", "share", "words"]
    shown = lines(command("topics", run, "--details", "--coherence", "npmi"))
    assert shown[0].split() == ["topic", "share", "NPMI", "exclusive", "nearest", "words"]
    assert all(re.match(r" {4}\d +\d+\.\d% +-?\d\.\d\d +0\.\d\d +\d \(0\.\d\d\)  word", line)
               for line in shown[1:])  # fmt: skip
    assert len(shown) == 6


def test_words_by_other_rankings(run, command):
    told = json.loads(command("topics", run, "--details", "--json", "--relevance", 0).stdout)
    for field, *by in (("relevant", "relevance", "--relevance", 0), ("frex", "frex")):
        shown = lines(command("topics", run, "--by", *by))[1:]
        for line, topic in zip(shown, told["topics"], strict=True):
            assert line.endswith(" " + " ".join(topic[field]))


def test_a_table_seeks_what_it_shows():
    """Words by FREX and the nearest of many topics take long. Pages and JSON have all."""
    nothing = {"n_words": 10, "sort": "size", "by": "probability", "weight": None, "level": None}
    nothing |= dict.fromkeys(("details", "uncertainty", "tree", "as_json"), False)
    nothing |= {"coherence": (), "numbers": (), "n_documents": None}
    every = {"exclusivity", "similar", "relevant", "frex"}
    for asked, shown in (
        ({}, set()),
        ({"as_json": True}, set()),
        ({"details": True}, {"exclusivity", "similar"}),
        ({"by": "relevance"}, {"exclusivity", "relevant"}),
        ({"by": "frex", "details": True}, {"exclusivity", "similar", "frex"}),
        ({"by": "frex", "as_json": True}, every),
        ({"numbers": (3,)}, every),
        ({"n_documents": 2}, every),
    ):
        assert {*Asked(**nothing | asked).shown} == shown


def test_json_with_everything(runs, command):
    told = json.loads(
        command("topics", *runs, "--details", "--coherence", "npmi", "--coherence", "u_mass",
                "--json").stdout,
        parse_constant=pytest.fail,
    )  # fmt: skip
    assert set(told) == {"topics", "chains", "samples", "level", "coverage", "remark"}
    assert (told["chains"], told["level"]) == (2, 0.9)
    topic = told["topics"][0]
    assert set(topic) == {
        "topic", "share", "share_low", "share_high", "stable", "found", "distance", "words",
        "coherence", "npmi", "exclusivity", "relevant", "frex", "similar",
    }  # fmt: skip
    word = topic["words"][0]
    assert set(word) == {"word", "probability", "low", "high", "in_top"}
    assert word["low"] < word["probability"] < word["high"]
    assert topic["share_low"] < topic["share"] < topic["share_high"]


def test_intervals_of_several_runs(runs, command):
    result = command("topics", *runs, "--level", 0.5)
    shown = lines(result)
    assert result.stderr == ""
    assert shown[0].split()[:6] == ["topic", "share", "50%", "interval", "found", "by"]
    assert all(re.search(r"\d–\d+\.\d%  +[12] of 2 ", line) for line in shown[1:6])
    found = sum(" 2 of 2 " in line for line in shown[1:6])
    assert shown[-1].startswith(f"{found} of 5 topics are found by both chains. Intervals are")
    assert "one chain" in lines(command("topics", runs[0], "--uncertainty"))[-1]
    finer = lines(command("topics", *runs, "--level", 0.975))
    assert finer[0].split()[2:4] == ["97.5%", "interval"]
    assert "97.5% intervals of one chain" in finer[-1] or "No topic was found" in finer[-1]
    page = lines(command("topics", *runs, "--level", 0.975, "--topic", 3))
    assert sum("97.5% interval" in line for line in page) >= 2


def test_states_of_a_start_have_no_intervals(run, command):
    """They stand in for samples, are said to, and give no interval of others' a width."""
    early = ("--updates", 12, "--anneal-updates", 16, "--seed", 1)
    assert command("train", "corpus", "-o", "early", *SETTINGS, *early).status == 0
    result = command("topics", "early", "--uncertainty")
    shown = lines(result)
    assert shown[-1] == "No posterior sample yet of early; train for longer (--resume)."
    assert sum("  cannot be told  " in line for line in shown[1:6]) == 5
    assert "word" in shown[1] and "(" not in "".join(shown[1:6])
    assert result.stderr.startswith("Note: early has no posterior sample yet: ")
    page = lines(command("topics", "early", "--topic", 0))
    assert "nan" not in "".join(page) and page[-3].split()[2:] == ["cannot", "be", "told"] * 2
    told = json.loads(command("topics", "early", "--uncertainty", "--json").stdout)
    assert told["samples"] == 0
    assert {word["in_top"] for topic in told["topics"] for word in topic["words"]} == {None}
    alone, both = (
        {topic["topic"]: topic for topic in json.loads(result.stdout)["topics"]}
        for result in (
            command("topics", "run", "--uncertainty", "--json"),
            command("topics", "run", "early", "--json"),
        )
    )
    for number, topic in both.items():
        for end in ("share_low", "share_high"):
            assert topic[end] == alone[number][end]
    refused = command("export", "early", "--to", "arviz", "-o", "draws.nc")
    assert (refused.status, "no posterior sample yet" in refused.stderr) == (3, True)


def test_words_stand_under_each_other_whatever_topics_are_called(capfd):
    names = ("体育", "Law", None)
    print_topics([Topic(k, 0.5, ("word",), (0.1,), label=name) for k, name in enumerate(names)])
    shown = capfd.readouterr().out.splitlines()
    assert {cell_len(line.partition("word")[0]) for line in shown} == {4 + 5 + 7 + 2}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--topic", 9), "--topic 9: the topics are 0 to 4"),
        (("--uncertainty", "--corpus", "corpus"), "--corpus is read for --coherence"),
        (("--documents", 2, "--corpus", "nowhere"), "nowhere"),
    ],
)
def test_what_cannot_be_told_is_refused_before_samples_are_read(
    run, command, monkeypatch, options, told
):
    def reading(*_):
        raise AssertionError("samples were read")

    monkeypatch.setattr("topicmc.topics.uncertainty.posterior_of", reading)
    done = command("topics", run, *options)
    assert done.status in (2, 3) and told in one_sentence(done)


def test_all_about_one_topic(run, command):
    shown = lines(command("topics", run, "--topic", 3, "-n", 4))
    assert re.fullmatch(r"topic 3: \d+\.\d% of the tokens", shown[0])
    assert [line.split()[0] for line in shown[-6:-2]] == json_words(command, run, 3, 4)
    assert json.loads(command("topics", run, "--topic", 3, "--json").stdout)["topics"][0][
        "topic"
    ] == 3  # fmt: skip


def json_words(command, run, number: int, n: int) -> list[str]:
    topics = json.loads(command("topics", run, "--json").stdout)["topics"]
    (words,) = (topic["words"][:n] for topic in topics if topic["topic"] == number)
    return [word["word"] for word in words]


def test_documents_of_topics_hold_them(run, command):
    """The five documents of a topic have more of the words that are likeliest in it than others."""
    told = json.loads(command("topics", run, "--documents", 5, "--json").stdout)["topics"]
    corpus, phi = Corpus.open("corpus"), posterior_mean(TopicRun.open(run)).phi
    held = [
        np.bincount(phi[:, words].argmax(axis=0), weights=counts, minlength=5) / counts.sum()
        for shard in map(corpus.shard, range(corpus.n_shards))
        for words, counts in (
            (shard.word_ids[a:b], shard.counts[a:b]) for a, b in pairwise(shard.indptr)
        )
    ]
    for topic in told:
        chosen = [document["document"] for document in topic["documents"]]
        assert len(set(chosen)) == 5
        share = np.array(held)[:, topic["topic"]]
        assert share[chosen].mean() > np.quantile(share, 0.8)


def test_a_terminal_gets_a_table_that_fits(finished):
    script = (
        "import fcntl, struct, sys, termios; fcntl.ioctl(1, termios.TIOCSWINSZ,"
        " struct.pack('HHHH', 30, 60, 0, 0)); from topicmc.cli import main; main(['topics', 'run'])"
    )
    environment = {**os.environ, "TERM": "xterm-256color"}
    environment.pop("COLUMNS", None)
    command = [sys.executable, "-P", "-c", script]
    content = on_a_terminal(command, "stdout", cwd=finished, env=environment)
    shown = re.sub(r"\x1b\[[0-9;]*m", "", content.decode()).split("\r\n")[:-1]
    assert len(shown) == 6
    assert max(map(len, shown)) <= 60
    assert all("…" in line for line in shown[1:])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("topics", "run", "--topic", 5), "--topic 5: the topics are 0 to 4"),
        (("topics", "run", "--topic", -1), "--topic -1: the topics are 0 to 4"),
        (("topics", "run", "--uncertainty", "--level", 90), "--level 90: .* between 0 and 1"),
        (("topics", "run", "--by", "relevance", "--relevance", 2), "--relevance 2: .* from 0 to 1"),
        (("topics", "run", "--level", 0.5), "--level 0.5: is for intervals; add --uncertainty"),
        (("topics", "run", "--relevance", 1), "--relevance 1 .*; add --by relevance"),
        (("evaluate", "run", "run", "--topics-file", "phi.npy"), "one RUN"),
    ],
)
def test_what_cannot_be_is_refused(run, command, arguments, sentence):
    result = command(*arguments)
    assert re.search(sentence, one_sentence(result))
    assert result.status == 2


def test_a_run_made_again_is_no_other_chain(run, command):
    made = command("train", "corpus", "-o", "again", *SETTINGS, *LENGTH)
    assert made.status == 0, made.stderr
    told = "again: has the same samples as run; train one of them with another --seed"
    for arguments in (("topics",), ("evaluate",), ("report", "-o", "page.html")):
        refused = command(*arguments, "run", "again")
        assert (refused.status, one_sentence(refused)) == (2, told)
    assert not Path("page.html").exists()


def test_evaluate_ends_with_a_verdict(runs, command):
    shown = lines(command("evaluate", runs[1]))
    assert re.match(r"(Converged|Not converged|Cannot tell)\b.*\.$", shown[-1])
    assert any(re.match(r"perplexity  +[▁-█]+ [\d.,]+ to [\d.,]+ in \d+ s", line) for line in shown)
    told = json.loads(command("evaluate", *runs, "--json").stdout, parse_constant=pytest.fail)
    assert [score["run"] for score in told["runs"]] == list(runs)
    assert told["verdict"] == lines(command("evaluate", *runs))[-1]
    assert set(told["rhat"]) == set(told["ess"])
    assert told["traces"][f"perplexity of {runs[1]}"]


def test_traces_have_the_names_of_their_runs(runs, command):
    """Whatever words these hold; bars stand under bars."""
    names = ("averaged_a", "b_c_of_a_long_name")
    for run, name in zip(runs, names, strict=True):
        Path(run).rename(name)
    shown = [line for line in lines(command("evaluate", *names)) if re.search("[▁-█]{2}", line)]
    assert [line.split()[:3] for line in shown if line.startswith("perplexity")] == [
        ["perplexity", "of", name] for name in names
    ]
    assert len({re.search("[▁-█]{2}", line).start() for line in shown}) == 1


def test_a_matrix_has_no_verdict(run, command):
    np.save("phi.npy", np.full((2, 120), 1 / 120))
    result = command("evaluate", run, "--topics-file", "phi.npy", "--alpha", 0.1, "--json")
    told = json.loads(result.stdout)
    assert "verdict" not in told
    assert told["documents"] == 30


@pytest.mark.parametrize(
    ("asked", "done"),
    [
        ({"updates": 40}, "12 of 40 updates"),
        ({"updates": None, "epochs": 16.0}, "1.6 of 16 epochs"),
        ({"updates": None, "time_budget": 3600.0}, "0 of 3600 seconds"),
    ],
)
def test_a_run_that_was_stopped_says_so(run, command, asked, done):
    """12 updates of 40 of the 300 documents were made."""
    opened = TopicRun(run)
    assert command("topics", run).stderr == ""
    opened.update_facts(config={**opened.facts()["config"], **asked})
    on = "when it was last evaluated; go on with it (topicmc train -o run --resume)"
    told = f"Note: run had done {done} {on}.\n"
    assert command("topics", run).stderr == told
    assert command("infer", run, "corpus", "-o", "mixes.csv").stderr == told
    assert "finish it (topicmc train -o run --resume" in lines(command("evaluate", run))[-1]


def test_a_run_that_is_being_trained_says_so(run, command):
    opened = TopicRun(run)
    opened.update_facts(config={**opened.facts()["config"], "updates": 40})
    lease = Lease(run)
    told, verdict = command("topics", run).stderr, lines(command("evaluate", run))[-1]
    lease.release()
    assert re.fullmatch(
        rf"Note: run is being trained \(process {os.getpid()} on .+\) and had done 12 of 40 updates"
        r" when it was last evaluated\.\n",
        told,
    )
    assert "; wait until training ends" in verdict and "--resume" not in verdict


@pytest.mark.parametrize(
    ("asked", "advice"),
    [
        ({}, "continue training ({} --updates 24), some 30 s more."),
        ({"updates": 5}, "continue training ({} --updates 24), some 30 s more."),
        ({"updates": 36}, "finish it ({}), some 60 s more."),
        (
            {"updates": None, "epochs": 1.0, "until": "converged"},
            "continue training ({} --epochs 3.2 --until converged), some 30 s more.",
        ),
        (
            {"updates": None, "time_budget": 10.0},
            "continue training ({} --time-budget 60s), some 30 s more.",
        ),
    ],
)
def test_the_advice_can_be_followed_and_says_how_long_it_takes(run, command, asked, advice):
    """A run that made its 12 updates, 1.6 epochs, in 30 seconds, also when less was asked for
    since."""
    metrics = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    metrics[-1]["seconds"] = 30.0
    (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in metrics))
    opened = TopicRun(run)
    opened.update_facts(config={**opened.facts()["config"], **asked})
    verdict = lines(command("evaluate", run))[-1]
    assert verdict.endswith("; " + advice.format("topicmc train -o run --resume"))


@pytest.mark.parametrize(
    "how",
    [
        ("adlda", "--start-sweeps", 20, "--epochs", 2),
        ("scir", "--batch-size", 40, "--anneal-updates", 30, "--updates", 3),
    ],
    ids=lambda how: how[0],
)
def test_the_advice_leads_out_of_a_start(run, command, how):
    settings = ("--topics", 5, "--progress", "none", "--sampler", *how)
    assert command("train", "corpus", "-o", "short", *settings).status == 0
    verdict = lines(command("evaluate", "short"))[-1]
    assert "has not left its start; continue training (" in verdict
    (advice,) = re.findall(r"topicmc (train -o short --resume[^;)]*)", verdict)
    assert command(*advice.split(), "--progress", "none").status == 0
    assert "has not left its start" not in lines(command("evaluate", "short"))[-1]


def test_the_advice_is_for_all_runs(runs, command):
    verdict = lines(command("evaluate", *runs))[-1]
    more = [f"topicmc train -o {name} --resume --updates 24" for name in runs]
    assert f"; continue training both ({'; '.join(more)})." in verdict
    opened = TopicRun(Path("second"))
    opened.update_facts(config={**opened.facts()["config"], "updates": 40})
    verdict = lines(command("evaluate", *runs))[-1]
    assert "; finish it (topicmc train -o second --resume" in verdict


def test_resuming_says_what_it_cannot_do(run, command):
    """Nothing that is left to do, and priors that the run learns."""
    for more in ((), ("--updates", 5)):
        done = command("train", "-o", run, "--resume", "--progress", "none", *more)
        assert (done.status, done.stdout) == (0, "")
        assert re.fullmatch(
            r"Nothing to do: run ended after 12 updates and [\d.]+ s of training; it goes on with"
            r" longer --updates, --epochs or --time-budget, which count from its beginning\n",
            done.stderr,
        )
    opened = TopicRun(run)
    opened.update_facts(config={**opened.facts()["config"], "learn": "both"})
    beta = opened.facts()["config"]["beta"]
    refused = command("train", "-o", run, "--resume", "--beta", beta)
    assert (refused.status, "learns beta" in one_sentence(refused)) == (2, True)


def test_the_advice_names_a_corpus_that_is_gone(run, command):
    opened = TopicRun(run)
    opened.update_facts(
        config={**opened.facts()["config"], "updates": 40},
        corpus={**opened.facts()["corpus"], "path": "moved"},
    )
    assert command("topics", run).stderr.endswith(
        "go on with it (topicmc train CORPUS -o run --resume).\n"
    )
