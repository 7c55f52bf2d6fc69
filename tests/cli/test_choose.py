"""``topicmc choose``: several numbers of topics, what is kept, and what the figures suggest."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from shell import TOPICMC, one_sentence, tree

from topicmc.cli import printing
from topicmc.corpora import Corpus
from topicmc.engine.transport.local import LocalTransport
from topicmc.models.lda import jobs
from topicmc.models.lda.run import TopicRun
from topicmc.topics.choose.selection import Grid

SETTINGS = 'batch-size = 40\nupdates = 60\nthreads = 1\nstart = "plain"\n'
QUIET = ("--config", "settings.toml", "--progress", "none")


@pytest.fixture
def choose(run, command):
    """The command on the small corpus, with settings that make it quick."""
    Path("settings.toml").write_text(SETTINGS)
    return lambda *more: command("choose", "corpus", "-o", "ks", *QUIET, *more)


def states(folder: Path) -> dict[str, bytes]:
    """What training has left behind, but not run.json, in which the place of the corpus stands."""
    return {name: content for name, content in tree(folder).items() if ".npy" in name}


def test_each_number_is_trained_with_each_seed_and_compared(choose, command):
    result = choose("--topics", "6,3", "--seeds", 2)
    assert result.status == 0
    columns, *rows = result.stdout.splitlines()[:3]
    assert columns.split()[:3] == ["topics", "perplexity", "±"]
    assert [row.split()[0] for row in rows] == ["3", "6"]
    told = json.loads(choose("--topics", "3,6", "--seeds", 2, "--json").stdout)
    assert [point["topics"] for point in told["topics"]] == [3, 6]
    for point in told["topics"]:
        assert [one["path"] for one in point["runs"]] == [
            f"ks/k{point['topics']}-seed{seed}" for seed in (0, 1)
        ]
        perplexities = []
        for one in point["runs"]:
            scored = json.loads(command("evaluate", one["path"], "--json").stdout)
            assert one["perplexity"] == pytest.approx(scored["perplexity_averaged"], rel=1e-9)
            assert one["updates"] == 60
            perplexities.append(one["perplexity"])
        assert point["perplexity"] == pytest.approx(sum(perplexities) / 2)
        assert point["perplexity_spread"] == pytest.approx(
            abs(perplexities[0] - perplexities[1]) / 2**0.5
        )
        assert 0 <= point["stable"] <= 1
        assert (Path(point["runs"][0]["path"]) / "topics.json").is_file()
    assert "Do not take the lowest perplexity on trust" in told["advice"]
    assert json.loads(Path("ks/choice.json").read_text())["advice"] == told["advice"]
    dots = ElementTree.parse("ks/choice.svg").findall(".//{http://www.w3.org/2000/svg}circle")
    assert len(dots) == 4 * 4 + 2  # four figures of four runs, and the stability of both K


def test_runs_that_have_ended_are_kept_and_others_added(choose):
    assert choose("--topics", "3,5").status == 0
    before = states(Path("ks"))
    result = choose("--topics", "3,5,7", "--seeds", 2)
    assert result.status == 0
    after = states(Path("ks"))
    assert {name: after[name] for name in before} == before
    assert sorted({name.split("/")[0] for name in after}) == [
        f"k{n}-seed{seed}" for n in (3, 5, 7) for seed in (0, 1)
    ]


def test_remarks_on_runs_are_shown_without_progress(choose, monkeypatch):
    """Under the name of the run, which is shown for them only."""

    def told():
        lines = choose("--topics", "3,5", "--updates", 6).stderr.splitlines()
        return [line for line in lines if "compiling" not in line]

    first, *remarks, last = told()
    assert first == "run 1 of 2: 3 topics, seed 0, in ks/k3-seed0"
    assert remarks[0].startswith("--updates 6 is too short for any posterior sample")
    assert remarks[1] == "run 2 of 2: 5 topics, seed 0, in ks/k5-seed0"
    assert last == "Plot: ks/choice.svg"
    assert told() == ["Plot: ks/choice.svg"]
    monkeypatch.setattr(TopicRun, "recover", lambda run: run.notices.append("damaged"))
    assert told()[:2] == [first, "damaged"]


def test_reading_samples_shows_how_far_it_is_as_progress_has_it(choose, monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(printing, "PATIENCE", 0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert "Reading samples" not in choose("--topics", "3,5").stderr
    assert "Reading samples" in choose("--topics", "3,5", "--progress", "auto").stderr


def test_a_larger_budget_goes_on_with_the_same_runs(choose):
    assert choose("--topics", "3,5").status == 0
    told = json.loads(choose("--topics", "3,5", "--updates", 66, "--json").stdout)
    assert [point["runs"][0]["updates"] for point in told["topics"]] == [66, 66]


def test_perplexities_are_averaged_over_the_same_number_of_samples(choose, command):
    """Training averages over fewer where topics are many: here it is made to say so of one run."""
    told = json.loads(choose("--topics", "3,5", "--json").stdout)["topics"]
    metrics = Path("ks/k5-seed0/metrics.jsonl")
    *before, last = metrics.read_text().splitlines()
    record = json.loads(last)
    assert record["averaged_over"] > 1
    metrics.write_text("\n".join([*before, json.dumps({**record, "averaged_over": 1}), ""]))
    few, many = json.loads(choose("--topics", "3,5", "--json").stdout)["topics"]
    assert many["perplexity"] == told[1]["perplexity"]
    newest = json.loads(command("evaluate", "ks/k3-seed0", "--json").stdout)["perplexity"]
    assert few["perplexity"] == pytest.approx(newest, rel=1e-9)
    assert few["perplexity"] != told[0]["perplexity"]


def test_the_advice_names_the_budget_that_was_given(choose):
    told = json.loads(choose("--topics", "3,5", "--updates", 66, "--json").stdout)
    moving = not all(point["settled"] for point in told["topics"])
    assert ("with --updates 132 trains" in told["advice"]) == moving
    grid = Grid(Path("ks"), Path("corpus"), [3, 5], [0], {"updates": 66})
    assert grid.twice_as_long() == "--updates 132"


LENGTHS = "topicmc.models.lda.collapsed.defaults._RUN_EPOCHS"


def test_without_a_length_all_numbers_have_that_of_the_largest(run, monkeypatch):
    monkeypatch.setattr(LENGTHS, (1, 10**9))  # within which it depends on the number
    corpus, settings = Path("corpus"), {"sampler": "adlda"}
    grid = Grid(Path("ks"), corpus, [3, 20], [0], settings)
    alone = {n: Grid(Path(f"k{n}"), corpus, [n], [0], settings) for n in (3, 20)}
    epochs = {n: one._config(n, 0).epochs for n, one in alone.items()}
    assert epochs[3] > epochs[20]
    assert [grid._config(n, 0).epochs for n in grid.topics] == [epochs[20]] * 2
    assert grid.twice_as_long() == f"--epochs {2 * epochs[20]:.10g}"


def test_numbers_that_are_added_have_the_length_of_those_that_are_there(run, monkeypatch):
    monkeypatch.setattr(LENGTHS, (1, 10**9))
    first = Grid(Path("ks"), Path("corpus"), [3, 5], [0], {"sampler": "adlda"})
    for n in first.topics:
        jobs.start(first._asked(n, 0), Path("corpus"), first.path(n, 0), LocalTransport(1))
    later = Grid(Path("ks"), Path("corpus"), [3, 5, 20], [0], {})
    assert later.twice_as_long() == first.twice_as_long()
    assert {later._config(n, 0).sampler for n in later.topics} == {"adlda"}
    monkeypatch.setattr(LENGTHS, (1, 10))
    again = Grid(Path("ks"), Path("corpus"), [5, 20], [0], {})
    assert again.twice_as_long() == first.twice_as_long()


def test_numbers_that_are_added_keep_topics_as_those_that_are_there(run, command, monkeypatch):
    """Whatever memory and time would allow for them, and for the others by now."""
    few = {3, 5}

    def remembers(config, *machine):
        return "because there are few" if config.topics in few else None

    monkeypatch.setattr("topicmc.models.lda.planning.defaults.remembers", remembers)
    monkeypatch.setattr(LENGTHS, (10, 10))
    Path("brief.toml").write_text('batch-size = 40\nthreads = 1\nstart = "plain"\n')
    brief = ("--config", "brief.toml", "--progress", "none", "--sampler", "scir")
    assert command("choose", "corpus", "-o", "ks", *brief, "--topics", "3,5").status == 0
    before = states(Path("ks"))
    few.clear()
    added = command("choose", "corpus", "-o", "ks", *brief, "--topics", "3,5,7")
    assert added.status == 0, added.stderr
    after = states(Path("ks"))
    assert {name: after[name] for name in before} == before
    settings = [TopicRun.open(path).facts()["config"] for path in Path("ks").glob("k*")]
    assert [(one["remember"], one["epochs"]) for one in settings] == [(True, 30)] * 3


@pytest.mark.parametrize("length", [{}, {"epochs": 5.0}])
def test_all_numbers_keep_topics_or_none_does(run, monkeypatch, length):
    def remembers(config, *machine):
        return "because there are few" if config.topics == 3 else None

    monkeypatch.setattr("topicmc.models.lda.planning.defaults.remembers", remembers)
    grid = Grid(Path("ks"), Path("corpus"), [3, 20], [0], {"sampler": "scir", **length})
    assert re.fullmatch("--epochs 10" if length else r"--updates \d+", grid.twice_as_long())
    assert not any(grid._config(n_topics, 0).remember for n_topics in grid.topics)


def test_runs_go_on_with_the_sampler_that_they_began_with(choose):
    """Whatever would be chosen now."""
    assert choose("--topics", "3,5", "--sampler", "sgrld").status == 0
    told = json.loads(choose("--topics", "3,5,7", "--json").stdout)
    assert len(told["topics"]) == 3
    samplers = {TopicRun.open(path).facts()["config"]["sampler"] for path in Path("ks").glob("k*")}
    assert samplers == {"sgrld"}


def test_numbers_that_are_added_have_the_settings_of_those_that_are_there(choose, command):
    """Which the second command leaves out, with the file of the first."""
    assert choose("--topics", "3,5", "--alpha", 0.3, "--beta", 0.05).status == 0
    kept = json.loads(Path("ks/choice.json").read_text())["settings"]
    assert (kept["alpha"], kept["batch_size"], "updates" in kept) == (0.3, 40, False)
    added = command("choose", "corpus", "-o", "ks", "--topics", "3,5,7", "--progress", "none")
    assert added.status == 0, added.stderr
    configs = [TopicRun.open(path).facts()["config"] for path in sorted(Path("ks").glob("k*"))]
    assert [config.pop("topics") for config in configs] == [3, 5, 7]
    told = ("alpha", "beta", "learn", "batch_size", "start", "sampler", "updates", "threads")
    first, *others = [{name: config[name] for name in told} for config in configs]
    assert others == [first] * 2
    assert (first["alpha"], first["beta"], first["updates"]) == (0.3, 0.05, 60)


def test_threads_may_be_left_to_the_machine_again(choose):
    for threads, told in ((), 1), (("--threads", "auto"), "auto"):
        assert choose("--topics", "3,5", *threads).status == 0
        runs = [TopicRun.open(path) for path in sorted(Path("ks").glob("k*"))]
        assert [run.facts()["threads"] for run in runs] == [told] * 2


def test_a_damaged_list_of_settings_is_told(choose):
    assert choose("--topics", "3,5").status == 0
    place = Path("ks/choice.json")
    facts = json.loads(place.read_text())
    for settings, told in ((5, "has no 'settings'"), ({"alhpa": 1}, "unknown setting 'alhpa'")):
        place.write_text(json.dumps({**facts, "settings": settings}))
        result = choose("--topics", "3,5")
        assert result.status == 3 and told in one_sentence(result)


def test_several_workers_share_the_documents_of_each_run(choose, command):
    """As when such a run is trained alone, and when it goes on with more updates."""
    Path("settings.toml").write_text(SETTINGS + 'sampler = "adlda"\nworkers = 2\n')

    def bits(path):
        run = TopicRun.open(path)
        checkpoint = run.checkpoint()
        z = {name: checkpoint.array(name) for name in ("z-000", "z-001")}
        assert sum(part.size for part in z.values()) == Corpus.open("corpus").n_tokens
        samples = [entry["checksum"] for entry in run.sample_index()]
        return {name: part.tobytes() for name, part in z.items()}, samples

    train = ("train", "corpus", "-o", "alone", "--transport", "local", "--until", "end", *QUIET)
    assert choose("--topics", "3,5").status == 0
    assert command(*train, "--topics", 3).status == 0
    assert bits("ks/k3-seed0") == bits("alone")
    assert choose("--topics", "3,5", "--updates", 66).status == 0
    assert command(*train, "--resume", "--updates", 66).status == 0
    assert TopicRun.open("alone").facts()["config"]["updates"] == 66
    assert bits("ks/k3-seed0") == bits("alone")


def test_an_interruption_prints_the_command_that_goes_on(choose, tmp_path):
    """SIGINT in the second run: status 130, the first is whole, the second has a checkpoint."""
    arguments = ["choose", "corpus", "-o", "ks", "--topics", "3,5", "--config", "settings.toml"]
    process = subprocess.Popen(
        [TOPICMC, *arguments, "--time-budget", "1s", "--updates", "100000", "--progress", "json"],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "k5-seed0" in line:
            while '"update"' not in process.stderr.readline():
                pass
            process.send_signal(signal.SIGINT)
            break
    rest = process.stderr.read().splitlines()
    assert process.wait(60) == 130
    assert process.stdout is not None
    assert process.stdout.read() == ""
    goes_on = json.loads(rest[-1])["message"].splitlines()[-1].split()
    assert goes_on[:4] == ["topicmc", "choose", "corpus", "-o"]
    assert Path("ks/k3-seed0/topics.json").is_file()
    assert Path("ks/k5-seed0/checkpoint/current.json").is_file()
    assert not Path("ks/k5-seed0/topics.json").exists()
    before = states(Path("ks/k3-seed0"))
    assert subprocess.run([TOPICMC, *goes_on[1:]], capture_output=True).returncode == 0
    assert states(Path("ks/k3-seed0")) == before
    assert Path("ks/k5-seed0/topics.json").is_file()


def test_copies_that_mpiexec_starts_are_refused(choose, monkeypatch):
    """Each would train in the folder of the others."""
    monkeypatch.setenv("PMI_SIZE", "3")
    refused = choose("--topics", "3,5")
    assert refused.status == 2 and not Path("ks").exists()
    assert "mpiexec runs 3 copies of it; start it without mpiexec" in one_sentence(refused)


def test_other_settings_are_not_mixed_into_a_folder(choose):
    assert choose("--topics", "3,5").status == 0
    before = tree(Path("ks"))
    result = choose("--topics", "2,3,5", "--alpha", 0.7)  # nor is 2 trained with them
    assert re.search("--alpha 0.7: the run in ks/k3-seed0 began with", one_sentence(result))
    assert result.status == 2
    assert tree(Path("ks")) == before


BAD = [
    (("--topics", "5"), "name two numbers or more", 2),
    (("--topics", "5,5"), "name two numbers or more", 2),
    (("--topics", "5,many"), "--topics.*as 20,50,100", 2),
    (("--topics", "3,5", "--seeds", 20240101), "--seeds.*20240101 is not in the range", 2),
    (("--topics", "1,5"), "--topics 1 is out of range", 2),
    (("--topics", "5,60000"), "--topics 60000 is more than a corpus of .* tokens can bear", 2),
    (("--topics", "3,5", "-o", "run"), "run: holds something else", 2),
    (("--topics", "3,5", "-o", "settings.toml"), "settings.toml: holds something else", 2),
    (("--topics", "3,5", "--config", "seed.toml"), "seed.toml: leave out seed", 2),
    (("--topics", "3,5", "-o", "other"), "other: its runs are on another corpus", 3),
]


@pytest.mark.parametrize(("arguments", "sentence", "status"), BAD)
def test_bad_arguments(choose, arguments, sentence, status):
    Path("seed.toml").write_text("seed = 3\n")
    Path("other").mkdir()
    Path("other/choice.json").write_text('{"format": 1, "corpus": "0"}')
    before = tree(Path())
    result = choose(*arguments)
    assert re.search(sentence, one_sentence(result))
    assert result.status == status
    assert tree(Path()) == before
