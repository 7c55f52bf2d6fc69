"""What commands print and write when all is well: data on stdout, progress on stderr."""

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from shell import LENGTH, SETTINGS, TOPICMC, on_a_terminal, one_sentence, show_bars, topicmc, tree

from topicmc.cli import printing
from topicmc.cli.printing import byte_bar
from topicmc.corpora import prepare
from topicmc.models.lda.run import TopicRun
from topicmc.posterior.passes import told_of_samples

PUBLISHED = Path(__file__).parents[2] / "bench" / "papers" / "settings"
TRAIN = ("train", "corpus", "-o", "new", *SETTINGS[:-1])  # a style of progress comes last
TOPIC = re.compile(r" {0,4}\d+  ?\d\d?\.\d%( +-?\d+\.\d\d)?  word\d{3}( word\d{3})*")


def test_train_prints_topics_and_says_how_it_goes(run, command):
    result = command(*TRAIN, "plain", "--updates", 6, "--evaluate-every", 3)
    assert result.status == 0
    topics = result.stdout.splitlines()
    assert len(topics) == 5
    assert all(TOPIC.fullmatch(line) for line in topics)
    number = r"[\d,]+(\.\d+)?"
    expected = [
        r"300 documents, 11,911 tokens, 120 words; 5 topics by scir, 40 documents a batch,"
        r" 1 worker x 1 thread",
        r"--updates 6 is too short for any posterior sample past the start; .*",
        *[
            rf"update {n}  {number} s  perplexity {number}  {number} [kMG]? ?tokens/s"
            for n in (3, 6)
        ],
        r"there is no posterior sample yet: the newest state stands in .*",
        rf"Trained new: 6 updates, {number} s of training, held-out perplexity {number}",
    ]
    lines = [line for line in result.stderr.splitlines() if "compiling" not in line]
    for line, pattern in zip(lines, expected, strict=True):
        assert re.fullmatch(pattern, line)


def test_train_json(run, command):
    result = command(*TRAIN, "none", *LENGTH, "--json")
    told = json.loads(result.stdout)
    assert set(told) == {
        "run", "updates", "documents", "seconds", "perplexity", "perplexity_averaged",
        "averaged_over", "samples",
    }  # fmt: skip
    assert (told["run"], told["updates"], told["documents"]) == ("new", 12, 480)
    assert 1 < told["perplexity_averaged"] < 120
    assert [line for line in result.stderr.splitlines() if "compiling" not in line] == []


@pytest.mark.parametrize("chains", [1, 2])
def test_train_and_evaluate_and_compare_tell_the_same_figures(run, command, chains):
    workers = ("--workers", 2, "--transport", "local", "--trajectory", 1)
    several = (*workers, "--chains", chains, "--groups", chains)
    end = command(*TRAIN, "none", *LENGTH, *several).stderr.splitlines()[-1]
    told = json.loads(command("evaluate", "new", "--json").stdout)
    model = json.loads(command("compare", "new", run, "--json").stdout)["models"][0]
    assert told["averaged_over"] == model["samples"] > 1
    for name in ("perplexity", "perplexity_averaged"):
        assert model[name] == pytest.approx(told[name], rel=1e-9)
    assert end.endswith(
        f"held-out perplexity {told['perplexity']:,.1f} of the newest sample,"
        f" {told['perplexity_averaged']:,.1f} averaged over {told['averaged_over']}"
    )


def test_progress_as_json_lines(run, command):
    result = command(*TRAIN, "json", "--updates", 4, "--evaluate-every", 2)
    records = [json.loads(line) for line in result.stderr.splitlines()]
    assert [r["update"] for r in records if "fraction" in r] == [1, 2, 3, 4]
    assert records[-1]["message"].startswith("Trained new: 4 updates")
    metrics = [json.loads(line) for line in (Path("new") / "metrics.jsonl").open()]
    assert [r for r in records if "perplexity" in r] == metrics
    assert {"update", "documents", "seconds", "perplexity", "perplexity_averaged",
            "tokens_per_second", "step_size"} <= set(metrics[0])  # fmt: skip


def test_remarks_are_shown_without_progress(run, command):
    """As of seed words that the corpus lacks: they are no progress, and nobody says them later."""
    Path("seeds.json").write_text('{"some": ["word001", "wort"]}')
    result = command(*TRAIN, "none", "--updates", 6, "--seeds", "seeds.json")
    lines = [line for line in result.stderr.splitlines() if "compiling" not in line]
    assert lines[0].startswith("1 seed word is not in the vocabulary and left out: wort (some")
    assert lines[1].startswith("--updates 6 is too short for any posterior sample")
    assert lines[2].startswith("there is no posterior sample yet")
    assert [line.split(":")[0] for line in lines[3:]] == ["Trained new"]


def test_a_bar_can_be_asked_for(run, command):
    result = command(*TRAIN, "bar", "--updates", 4)
    assert "update 4" in result.stderr
    assert "100%" in result.stderr
    assert len(result.stdout.splitlines()) == 5


def on_terminal(*arguments: object, **environment: str) -> bytes:
    """What topicmc writes to a terminal as its stderr."""
    usual = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    environment = {**usual, "TERM": "xterm-256color", **environment}
    command = [TOPICMC, *arguments]
    return on_a_terminal(command, "stderr", stdout=subprocess.DEVNULL, env=environment)


READING = {  # and how often the samples are read
    ("evaluate", "run"): 2,
    ("topics", "run", "--uncertainty"): 2,
    ("topics", "other"): 2,
    ("report", "run", "-o", "page.html", "--force"): 2,
    ("compare", "run", "run", "--drift"): 4,
    ("edit", "run", "-o", "view", "--stable", "--with", "again", "--force"): 2,
    ("export", "other", "--to", "npy", "-o", "npy", "--force"): 1,
    ("infer", "run", "-o", "mixes.csv", "--se", "--force"): 1,
}


@pytest.mark.parametrize("arguments", READING, ids=lambda arguments: arguments[0])
def test_reading_samples_shows_how_far_it_is(run, command, monkeypatch, arguments):
    """On a terminal, once people have to wait."""
    Path("seeds.json").write_text('{"some": ["word001"]}')
    for name, more in (("other", ("--seeds", "seeds.json")), ("again", ())):
        if name in arguments:
            made = ("train", "corpus", "-o", name, "--sampler", "adlda", "--topics", 5, *more)
            length = ("--epochs", 20, "--until", "end", "--threads", 1, "--progress", "none")
            assert command(*made, *length).status == 0
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(printing, "PATIENCE", 0)
    passes = []
    with told_of_samples(lambda done, total: passes.append(total) if done == total else None):
        plain = command(*arguments)
    assert (plain.status, len(passes)) == (0, READING[arguments])
    assert "Reading samples" not in plain.stderr
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    shown = command(*arguments)
    assert "Reading samples" in shown.stderr
    assert shown.stdout == plain.stdout
    monkeypatch.setattr(printing, "PATIENCE", 1000)
    assert "Reading samples" not in command(*arguments).stderr


def test_the_bar_of_samples_goes_before_that_of_bytes_comes(run, command, monkeypatch):
    """Two at once would write over each other."""
    show_bars(monkeypatch)
    shown = command("infer", "run", "-o", "mixes.csv", "--se").stderr
    read = shown.rindex("Reading samples")
    assert not re.search(r"\d (bytes|[kM]B)", shown[:read])
    assert re.search(r"\d (bytes|[kM]B)", shown[read:])


def test_colours_only_on_a_terminal_and_never_with_no_color(finished, tmp_path):
    """A pseudo-terminal gets a bar in colour, or without when NO_COLOR is set."""
    written = {}
    for name, more in (("coloured", {}), ("plain", {"NO_COLOR": "1"})):
        arguments = ["train", finished / "corpus", "-o", tmp_path / name, *SETTINGS[:-2]]
        written[name] = on_terminal(*arguments, "--updates", 5, **more)
        assert b"100%" in written[name]
    colour = re.compile(rb"\x1b\[[0-9;]*3[0-9][0-9;]*m")
    assert colour.search(written["coloured"])
    assert not colour.search(written["plain"])


def test_a_corpus_without_held_out_documents(run, command):
    Path("text.txt").write_text("red green blue\n" * 30 + "black white grey\n" * 30)
    options = ("--heldout", 0, "--min-df", 1, "--max-df", 1)
    assert command("prepare", "text.txt", "-o", "all", *options).status == 0
    arguments = ("train", "all", "-o", "new", "--topics", 2, "--updates", 5)
    result = command(*arguments, "--json", "--progress", "json")
    told = json.loads(result.stdout, parse_constant=pytest.fail)
    assert told["perplexity"] is None
    assert told["perplexity_averaged"] is None
    result = command(*arguments, "--progress", "plain", "--force")
    assert "no documents are held out (topicmc prepare --heldout N)" in result.stderr
    for line in (Path("new") / "metrics.jsonl").read_text().splitlines():
        json.loads(line, parse_constant=pytest.fail)
    none = "perplexity            none: no documents are held out (topicmc prepare --heldout N)"
    told = json.loads(command("evaluate", "new", "--json").stdout)
    assert (told["perplexity"], told["documents"], told["split"]) == (None, 0, None)
    assert command("report", "new", "-o", "page.html").status == 0
    Path("all").rename("moved")
    shown = command("evaluate", "new", "--corpus", "moved")  # convergence can be told all the same
    assert shown.status == 0, shown.stderr
    assert shown.stdout.startswith(f"{none}\n")
    assert told["verdict"].partition(";")[0] in shown.stdout.splitlines()[-1]


def test_settings_come_from_options_then_the_file_then_the_corpus(run, command):
    Path("settings.toml").write_text(
        'topics = 7\nbatch-size = 50\nalpha = 0.3\ntime-budget = "90s"\nevaluate_every = 5\n'
    )
    result = command("train", "corpus", "--config", "settings.toml", "--topics", 6, "--dry-run",
                     "--json")  # fmt: skip
    told = json.loads(result.stdout)
    assert (told["topics"], told["batch_size"], told["alpha"]) == (6, 50, 0.3)
    assert (told["time_budget"], told["evaluate_every"]) == (90.0, "5")
    assert isinstance(told["sweeps"], int)
    assert not Path("topicmc-run").exists()
    plain = command("train", "corpus", "--dry-run", "--topics", 6).stdout.splitlines()
    assert "topics = 6" in plain


def test_a_run_has_a_name_when_none_is_given(run, command):
    assert command("train", "corpus", *SETTINGS, "--updates", 2).status == 0
    assert TopicRun.open(Path("topicmc-run")).facts()["config"]["updates"] == 2
    assert command("train", "corpus", *SETTINGS).status == 2


def test_force_replaces_a_run_and_nothing_else(run, command):
    (run / "notes.txt").write_text("mine")
    result = command("train", "corpus", "-o", run, *SETTINGS, "--updates", 2, "--force", "--json")
    assert json.loads(result.stdout)["updates"] == 2
    assert (run / "notes.txt").read_text() == "mine"
    metrics = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    assert max(record["update"] for record in metrics) == 2


def test_topics(run, command):
    head, *lines = command("topics", run, "-n", 3).stdout.splitlines()
    assert head.split() == ["topic", "share", "words"]
    assert len(lines) == 5
    assert all(TOPIC.fullmatch(line) and len(line.split()) == 5 for line in lines)
    shares = [float(line.split()[1].rstrip("%")) for line in lines]
    assert shares == sorted(shares, reverse=True)
    told = json.loads(command("topics", run, "--json").stdout)["topics"]
    assert [topic["topic"] for topic in told] == [int(line.split()[0]) for line in lines]
    assert set(told[0]) == {"topic", "share", "coherence", "words"}
    assert set(told[0]["words"][0]) == {"word", "probability"}
    told = json.loads(command("topics", run, "--sort", "coherence", "--json").stdout)["topics"]
    scores = [topic["coherence"] for topic in told]
    assert scores == sorted(scores, reverse=True)


def test_evaluate(run, command):
    told = json.loads(command("evaluate", run, "--json").stdout)
    assert set(told) == {
        "perplexity", "perplexity_averaged", "perplexity_mean", "perplexity_mean_error", "samples",
        "averaged_over", "documents", "tokens_scored", "unknown_words", "split", "verdict",
        "converged", "rhat", "ess", "flags", "traces",
    }  # fmt: skip
    assert told["documents"] == 30
    assert told["unknown_words"] == 0
    lines = command("evaluate", run).stdout.splitlines()
    n, averaged = told["averaged_over"], told["perplexity_averaged"]
    assert lines[:2] == [
        f"perplexity            {told['perplexity']:,.2f}  of the newest sample",
        f"                      {averaged:,.2f}  averaged over {n} samples",
    ]
    last = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])
    # A state is scored as it is while training, and as it is stored, in two bytes, afterwards.
    assert told["perplexity_averaged"] == pytest.approx(last["perplexity_averaged"], rel=1e-4)


def test_a_score_does_not_depend_on_where_the_topics_come_from(run, command):
    """The exported posterior mean, scored as a foreign matrix: near the run's own figure."""
    command("export", run, "--to", "npy", "-o", "new")
    alpha = np.load("new/alpha.npy")[0]
    foreign = command("evaluate", "--corpus", "corpus", "--topics-file", "new/phi.npy", "--alpha",
                      alpha, "--json")  # fmt: skip
    own = command("evaluate", run, "--json")
    told, known = json.loads(foreign.stdout), json.loads(own.stdout)
    assert told["split"] == known["split"]
    assert told["perplexity"] == pytest.approx(known["perplexity_averaged"], rel=0.1)
    file = ("--topics-file", "new/phi.npy", "--alpha", alpha)
    lines = command("evaluate", "--corpus", "corpus", *file).stdout.splitlines()
    assert lines[:2] == [  # of what is no sample
        f"perplexity            {told['perplexity']:,.2f}  of the topics in new/phi.npy",
        "held-out documents    30",
    ]


def test_export(run, command):
    result = command("export", run, "--to", "npy", "-o", "npy")
    assert result.stdout.split() == ["npy/alpha.npy", "npy/phi.npy", "npy/vocabulary.txt"]
    phi, alpha = np.load("npy/phi.npy"), np.load("npy/alpha.npy")
    words = Path("npy/vocabulary.txt").read_text().split()
    assert words == Path("corpus/vocabulary.txt").read_text().split()
    assert (phi.shape, phi.dtype, alpha.shape) == ((5, 120), np.float64, (5,))
    np.testing.assert_allclose(phi.sum(axis=1), 1, atol=1e-12)
    assert command("export", run, "--to", "csv", "-o", "topics.csv").status == 0
    rows = [line.split(",") for line in Path("topics.csv").read_text().splitlines()]
    assert rows[0] == ["topic", "share", "alpha", "rank", "word", "probability"]
    assert len(rows) == 1 + 5 * 20
    for row in rows[1:]:
        assert float(row[5]) == phi[int(row[0]), words.index(row[4])]
    assert command("export", run, "--to", "jsonl", "-o", "topics.jsonl").status == 0
    records = [json.loads(line) for line in Path("topics.jsonl").read_text().splitlines()]
    assert [record["probabilities"] for record in records] == (-np.sort(-phi)[:, :20]).tolist()
    assert [record["top_words"][0] for record in records] == [words[i] for i in phi.argmax(axis=1)]


@pytest.mark.parametrize("format", ["jsonl", "npy"])
def test_what_an_export_has_written_is_told(run, command, format):
    """One file or a folder of them; tests/export looks at all formats, and what is in the files."""
    result = command("export", run, "--to", format, "-o", "deep/topics", "--json")
    assert result.status == 0
    told = json.loads(result.stdout)
    assert set(told) == {"format", "files", "remarks"}
    assert told["format"] == format
    written = {str(path) for path in Path("deep").rglob("*") if path.is_file()}
    assert written == set(told["files"])


def test_export_for_mallet_of_a_corpus_that_has_moved(run, command):
    export = ("export", run, "--to", "mallet", "-o", "deep/er/topics")
    Path("corpus").rename("moved")
    result = command(*export)
    assert result.status == 3 and not Path("deep").exists()
    assert "corpus" in one_sentence(result)
    assert command(*export, "--corpus", "moved", "--threads", 1).status == 0


def test_export_replaces_only_with_force(run, command):
    Path("topics.csv").write_text("mine")
    assert command("export", run, "--to", "csv", "-o", "topics.csv").status == 2
    assert Path("topics.csv").read_text() == "mine"
    assert command("export", run, "--to", "csv", "-o", "topics.csv", "--force").status == 0
    assert Path("topics.csv").read_text() != "mine"


def test_looking_at_a_run_does_not_change_it(run, command):
    before = tree(Path())
    for arguments in (("topics", run), ("evaluate", run), ("topics", run, "--sort", "coherence")):
        assert command(*arguments).status == 0
    assert tree(Path()) == before


def test_doctor(command):
    told = json.loads(command("doctor", "--json").stdout)
    assert {"topicmc", "python", "numpy", "numba", "cores", "mpiexec", "kernel cache"} <= set(told)
    lines = command("doctor").stdout.splitlines()
    assert [line.split("  ")[0] for line in lines] == list(told)


def test_the_version(command):
    assert command("--version").stdout == f"topicmc, version {version('topicmc')}\n"


def test_diverging_is_status_4(run, command):
    result = command(*TRAIN, "none", "--updates", 20, "--sampler", "sgrld", "--step-size", 1e38,
                     "--step-decay", 0)  # fmt: skip
    assert result.status == 4
    assert "lower --step-size" in result.stderr
    assert result.stdout == ""


def test_no_bar_of_bytes_is_made_where_nobody_sees_it(capsys, monkeypatch):
    """Earlier versions of Rich end a hidden one with an empty line."""
    monkeypatch.setattr("rich.progress.Progress", None)
    with byte_bar(5) as update:
        update(completed=3, description="file")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "koi8-r", "utf-8"])
def test_json_is_json_whatever_the_locale(tmp_path, encoding):
    (tmp_path / "t.txt").write_text("été neige\n" * 4, encoding="utf-8")
    prepare(
        tmp_path / "t.txt", tmp_path / "corpus", min_df=0, max_df=1.0, stopwords="none", n_heldout=0
    )
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    done = topicmc("corpus", "info", tmp_path / "corpus", "--json", env=environment)
    assert done.status == 0, done.stderr
    assert sorted(json.loads(done.stdout)["frequent"]) == [["neige", 4], ["été", 4]]


def test_module_and_script_are_the_same(tmp_path):
    module = subprocess.run(
        [sys.executable, "-P", "-m", "topicmc.cli", "--help"],
        capture_output=True, text=True, cwd=tmp_path,
    )  # fmt: skip
    assert module.stdout == topicmc("--help").stdout


@pytest.mark.parametrize("path", sorted(PUBLISHED.glob("*.toml")), ids=lambda path: path.stem)
def test_published_settings_are_files_for_config(path, tmp_path):
    done = topicmc("train", "--config", path, "--dry-run", "--json", "-o", tmp_path / "run")
    assert done.status == 0, done.stderr
    told = json.loads(done.stdout)
    published = tomllib.loads(path.read_text())
    assert {name: told[name] for name in published} == published


@pytest.mark.parametrize("estimate", ["cv", "saga"])
def test_estimates_are_settings_of_the_command(small_corpus, command, estimate):
    settings = command(
        "train", small_corpus.path, "--estimate", estimate, "--dry-run"
    ).stdout.splitlines()
    assert f"estimate = {estimate}" in settings and "sampler = scir" in settings


def test_settings_that_few_ask_for_are_those_of_the_run(small_corpus, tmp_path, command):
    (tmp_path / "settings.toml").write_text("balance = false\n")
    told = command(
        *("train", small_corpus.path, "--config", tmp_path / "settings.toml", "--balance"),
        *("--sampler", "sgrld", "--step-offset", 300, "--start-weight", 2.5, "--dry-run", "--json"),
    )
    settings = json.loads(told.stdout)
    assert (settings["step_offset"], settings["start_weight"]) == (300, 2.5)
    assert settings["balance"] is True


def test_a_dry_run_refuses_what_training_refuses(small_corpus, tmp_path, command):
    asked = (
        "train",
        small_corpus.path,
        "--sampler",
        "adlda",
        "--step-size",
        0.1,
        "-o",
        tmp_path / "run",
    )
    trained = command(*asked)
    assert "--step-size is a setting of minibatch chains" in trained.stderr
    shown = command(*asked, "--dry-run")
    assert (shown.status, shown.stderr) == (trained.status, trained.stderr) and trained.status == 2
