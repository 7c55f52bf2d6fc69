"""Runs made to harm whoever reads them, with checksums that fit: every command that needs the file
refuses in one sentence, and nothing is written, inside or outside."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from hostile import digest, edit_json, frugal, refused, write_npy, write_npz

from topicmc.storage.files import checksum

READERS = {
    "topics": ("topics", "run"),
    "evaluate": ("evaluate", "run"),
    "export": ("export", "run", "--to", "npy", "-o", "new"),
    "sklearn": ("export", "run", "--to", "mallet", "-o", "new"),
    "infer": ("infer", "run", "corpus", "-o", "mixes.csv"),
    "report": ("report", "run", "-o", "page.html"),
    "compare": ("compare", "run", "run"),
}
RESUME = {"resume": ("train", "-o", "run", "--resume", "--updates", 15, "--progress", "none")}


def setting(name, value):
    return "run.json", lambda facts: facts["config"].__setitem__(name, value)


def of_corpus(name, value):
    return "run.json", lambda facts: facts["corpus"].__setitem__(name, value)


def entry(name, value):
    """Of the last sample."""
    return "samples/index.json", lambda index: index["samples"][-1].__setitem__(name, value)


def manifest(name, value):
    return "checkpoint/current.json", lambda written: written.__setitem__(name, value)


def without(name):
    return "checkpoint/current.json", lambda written: {
        key: value for key, value in written.items() if key != name
    }


FACTS = {
    **{f"topics {v!r}": setting("topics", v) for v in (-1, 0, 10**12, "5", None, 2.5, True)},
    **{f"alpha {v!r}": setting("alpha", v) for v in ("x", float("nan"), -1, None, [])},
    "no beta": ("run.json", lambda facts: facts["config"].pop("beta")),
    "config": ("run.json", lambda facts: facts.__setitem__("config", {})),
    "another number of topics": setting("topics", 7),
    "corpus": of_corpus("fingerprint", 5),
    "words": of_corpus("words", 1 << 40),
    "no documents": of_corpus("documents", 0),
    "more seeds than topics": (
        "run.json",
        lambda facts: facts.__setitem__("seeds", {f"t{k}": ["w"] for k in range(6)}),
    ),
    "an origin of nothing": (
        "run.json",
        lambda facts: facts.__setitem__("origin", {"states": []}),
    ),
    **{f"path {v!r}": of_corpus("path", v) for v in (["x"], "x\0", "\ud800")},
    **{f"from_run {v!r}": setting("from_run", v) for v in (5, ["x"], "x\0", "\ud800")},
    **{f"threads {v!r}": setting("threads", v) for v in (None, 0, "2", 10**12)},
}
SAMPLES = {
    **{f"file {v!r}": entry("file", v)
       for v in ("../../outside.npz", "/etc/passwd", "", "..", "chain-000-round-000000001.npz/..",
                 "chain-000-round-000000001.npz\0", "index.json", 5, None)},
    **{f"chain {v!r}": entry("chain", v) for v in (-1, "0", 10**30, None, 0.5)},
    **{f"round {v!r}": entry("round", v) for v in (-1, "0", 10**30, float("inf"))},
    **{f"share {v!r}": entry("share", v)
       for v in ("x", [1], [0.1] * 4, ["x"] * 5, [float("nan")] * 5, [-1.0] * 5, {})},
    "alpha": entry("alpha", [1.0] * 4000),
    "burn-in": entry("burn_in", "no"),
    "no burn-in": ("samples/index.json", lambda index: index["samples"][-1].pop("burn_in")),
    "checksum": entry("checksum", 5),
    "no object": ("samples/index.json", lambda index: {**index, "samples": [1]}),
    "no file": ("samples/index.json", lambda index: {**index, "samples": [{"chain": 0}]}),
}  # fmt: skip
MANIFEST = {
    **{f"folder {v!r}": manifest("folder", v) for v in ("../samples", "/tmp", "..", "", 5)},
    **{f"round {v!r}": manifest("round", v) for v in (-1, "1", 10**30, True)},
    **{f"seconds {v!r}": manifest("seconds", v) for v in ("1", -1, float("nan"), None)},
    **{f"files {v!r}": manifest("files", v)
       for v in ({"../../run.json": "sha256:" + "0" * 64}, {"rank-000.json": 5}, {}, [1])},
    "record": manifest("record", [1]),
    "documents": manifest("documents", -5),
    "update": manifest("record", {"round": 12, "update": "x"}),
    "seconds of the record": manifest("record", {"seconds": "x"}),
    **{f"no {name}": without(name) for name in ("seconds", "documents", "tokens", "record")},
}  # fmt: skip


@pytest.fixture
def place(run):
    """A run, and a sample of it that lies outside, where a name may lead."""
    shutil.copy(sorted((run / "samples").glob("chain-*"))[-1], "outside.npz")
    return run


def edited(run, edit):
    name, change = edit
    edit_json(run / name, change)


def readers_of(edit: str, edits) -> dict[str, tuple]:
    """All commands for the first edit of a kind, which is the first word of its name."""
    kinds = [name if name.startswith("no ") else name.split()[0] for name in edits]
    at = list(edits).index(edit)
    first = kinds[at] not in kinds[:at]
    return READERS if first else {"topics": READERS["topics"]}


@pytest.mark.parametrize("edit", FACTS)
def test_settings_that_cannot_be(place, command, edit):
    edited(place, FACTS[edit])
    for name, arguments in (readers_of(edit, FACTS) | RESUME).items():
        with frugal():  # --resume notes what was asked for
            refused(command, *arguments, where=name, but="run" if name == "resume" else None)


@pytest.mark.parametrize(("name", "value"), [("time_budget", "1h"), ("samples", "64")])
def test_settings_that_cannot_be_before_any_evaluation(place, command, name, value):
    """Where there is one, they are needed to say how far the run has come."""
    edited(place, setting(name, value))
    (place / "metrics.jsonl").unlink()
    for reader in READERS:
        refused(command, *READERS[reader], where=reader)


def test_a_run_of_more_workers_than_a_machine_can_start(place, command, monkeypatch):
    """They are started if the command says so."""
    monkeypatch.setattr("topicmc.engine.transport.launch.launch", lambda n_workers, arguments: 7)
    edit_json(place / "run.json", lambda facts: facts.update(transport="mpi"))
    edited(place, setting("workers", 100_000))
    assert "had 100,000 workers" in refused(command, *RESUME["resume"]).stderr
    assert command(*RESUME["resume"], "--workers", 100_000).status == 7
    edited(place, setting("workers", 64))
    assert command(*RESUME["resume"]).status == 7


def test_a_run_that_goes_on_from_a_circle_of_links(place, command):
    Path("x").symlink_to("x")
    edited(place, setting("from_run", str(Path("x").absolute())))
    edited(place, setting("start", "warm"))
    assert command(*READERS["compare"]).status == 0


LACKING = {
    "documents": ("topics", lambda facts: facts["corpus"].__delitem__("documents")),
    "tokens": ("export", lambda facts: facts["corpus"].__delitem__("tokens")),
    "seed": ("sklearn", lambda facts: facts["config"].__delitem__("seed")),
    "workers": ("report", lambda facts: facts["config"].__delitem__("workers")),
    **{name: ("report", lambda facts, n=name: facts.__delitem__(n))
       for name in ("created", "topicmc", "versions")},
    "numpy": ("report", lambda facts: facts["versions"].__setitem__("numpy", float("nan"))),
}  # fmt: skip


@pytest.mark.parametrize("name", LACKING)
def test_what_is_read_and_is_not_there_is_named(place, command, name):
    reader, change = LACKING[name]
    edited(place, ("run.json", change))
    assert name in refused(command, *READERS[reader]).stderr


def test_evaluations_without_a_clock(place, command):
    with (place / "metrics.jsonl").open("a") as stream:
        stream.write('{"round": 12}\n')
    told = refused(command, *READERS["report"]).stderr
    assert "metrics.jsonl: damaged, it has no '" in told


@pytest.mark.parametrize("edit", SAMPLES)
def test_an_index_that_cannot_be(place, command, edit):
    """--resume puts that of the checkpoint in its place."""
    edited(place, SAMPLES[edit])
    for name, arguments in readers_of(edit, SAMPLES).items():
        with frugal():
            refused(command, *arguments, where=name)
    for arguments in (RESUME["resume"], READERS["topics"]):
        assert command(*arguments).status == 0


@pytest.mark.parametrize("edit", [n for n in SAMPLES if len(readers_of(n, SAMPLES)) > 1])
def test_an_index_in_a_checkpoint_that_cannot_be(place, command, edit):
    edit_json(next(place.glob("checkpoint/round-*/samples.json")), SAMPLES[edit][1])
    seal(place)
    with frugal():
        refused(command, *RESUME["resume"], but="run")


@pytest.mark.parametrize("edit", MANIFEST.values(), ids=MANIFEST)
def test_a_manifest_that_cannot_be(place, command, edit):
    edited(place, edit)
    with frugal():
        refused(command, *RESUME["resume"], but="run")


def claims(shape):
    return lambda theta: (theta, shape)


def spoilt(value, words=2):
    def change(theta):
        theta = theta.copy()
        theta[words, 1] = value
        return theta

    return change


THETAS = {
    "a shape of terabytes": claims((1 << 42, 5)),
    "a shape that wraps round": claims((1 << 62, 1 << 4)),
    "one word less": lambda theta: theta[:-1],
    "one topic more": lambda theta: np.hstack([theta, theta[:, :1]]),
    "one dimension": lambda theta: theta[:, 0],
    "not a number": spoilt(np.nan),
    "negative": spoilt(-1),
    "infinite": spoilt(np.inf),
    "a topic of nothing": spoilt(0, slice(None)),
    "objects": lambda theta: theta.astype(object),
    "complex": lambda theta: theta.astype(complex),
    "text": lambda theta: theta.astype(str),
}


def replace_samples(run: Path, arrays, packed: bool = False) -> None:
    for sample in (run / "samples").glob("chain-*"):
        write_npz(sample, arrays, packed)

    def seal(index):
        for entry in index["samples"]:
            for part in (entry, *([entry["mean"]] if "mean" in entry else [])):
                part["checksum"] = checksum(run / "samples" / part["file"])

    edit_json(run / "samples" / "index.json", seal)


COUNTS = {
    "shape": np.array([120, 5]), "beta": np.array(0.1), "offsets": np.minimum(np.arange(121), 3),
    "topics": np.array([0, 1, 4], np.uint8), "counts": np.array([1, 2, 300], np.uint16),
}  # fmt: skip
CODES = {
    "codes": np.ones((120, 5), np.uint16), "low": np.array(-3.0), "step": np.array(0.1),
}  # fmt: skip
ENCODED = {
    "a shape of terabytes": COUNTS | {"shape": np.array([1 << 40, 1 << 20])},
    "a negative shape": COUNTS | {"shape": np.array([-120, -5])},
    "half a shape": COUNTS | {"shape": np.array([120])},
    "a topic too many": COUNTS | {"topics": np.array([0, 1, 5], np.uint8)},
    "negative topics": COUNTS | {"topics": np.array([0, 1, -4])},
    "offsets that fall": COUNTS | {"offsets": np.r_[0, 5, np.full(119, 3)]},
    "offsets that wrap": COUNTS | {"offsets": np.r_[0, (1 << 63) - 1, -2, np.full(118, 3)]},
    **{
        f"offsets of {kind}": COUNTS | {"offsets": np.r_[0, 200, np.full(119, 3)].astype(kind)}
        for kind in ("uint8", "uint32", "uint64")
    },
    "offsets of another type": COUNTS | {"offsets": COUNTS["offsets"].astype(np.uint64)},
    "offsets of terabytes": COUNTS | {"offsets": np.r_[np.zeros(120, int), 1 << 50]},
    "no offsets": {name: array for name, array in COUNTS.items() if name != "offsets"},
    "a beta that is none": COUNTS | {"beta": np.array(np.nan)},
    "codes of other types": CODES | {"codes": -np.ones((120, 5), int)},
    "codes of terabytes": CODES | {"codes": (CODES["codes"], (1 << 40, 5))},
    "a step that is none": CODES | {"step": np.ones(3)},
    "a step to infinity": CODES | {"step": np.array(1e6)},
    "nothing": {},
}


@pytest.mark.parametrize("arrays", ENCODED.values(), ids=ENCODED)
def test_encoded_states_that_are_none(place, command, arrays):
    replace_samples(place, arrays)
    for name in ("topics", "evaluate", "infer"):
        with frugal():
            refused(command, *READERS[name], where=name)


def test_a_state_that_unfolds(place, command):
    """A thousandth of its size on the disk."""
    replace_samples(place, {"theta": np.zeros((120, 5 << 17), np.float32)}, packed=True)
    with frugal():
        assert "unfolds" in refused(command, *READERS["topics"]).stderr


def test_states_that_are_sound_are_not_refused(place, command):
    for arrays in (COUNTS, CODES, {"theta": np.ones((120, 5), np.float32)}):
        replace_samples(place, arrays)
        assert command(*READERS["topics"]).status == 0


@pytest.mark.parametrize("change", THETAS.values(), ids=THETAS)
def test_states_that_are_none(place, command, change):
    """In a sample, and as the state that training goes on from: its shape and type are checked, its
    numbers are not."""
    theta = np.ones((120, 5), np.float32)
    replace_samples(place, {"theta": change(theta)})
    for name, arguments in READERS.items():
        with frugal():
            refused(command, *arguments, where=name)
    theta = next(place.glob("checkpoint/round-*/theta-000.npy"))
    theta.write_bytes(write_npy(change(np.load(theta))))
    seal(place)
    numbers = ("not a number", "negative", "infinite", "a topic of nothing")
    if change not in [THETAS[name] for name in numbers]:
        with frugal():
            refused(command, *RESUME["resume"], but="run")


def seal(run: Path) -> None:
    """Makes the checksums of the newest checkpoint right."""
    folder = next(run.glob("checkpoint/round-*"))
    edit_json(run / "checkpoint" / "current.json", lambda written: written.__setitem__(
        "files", {name: f"sha256:{digest(folder, name)}" for name in written["files"]}
    ))  # fmt: skip


PARTS = {
    "empty": lambda part: {},
    "a list": lambda part: [],
    "chains": lambda part: {**part, "chains": {"../../x": {}}},
    "no chains": lambda part: {**part, "chains": 5},
    "positions": lambda part: {**part, "positions": {"0": "x"}},
    "round": lambda part: {**part, "round": "x"},
    "update": lambda part: {
        **part,
        "chains": {c: {**of, "update": "x"} for c, of in part["chains"].items()},
    },
}


@pytest.mark.parametrize("change", PARTS.values(), ids=PARTS)
def test_parts_of_a_checkpoint_that_are_none(place, command, change):
    edit_json(next(place.glob("checkpoint/round-*/rank-000.json")), change)
    seal(place)
    refused(command, *RESUME["resume"], but="run")


@pytest.mark.parametrize("alpha", [[0.1] * 4, [0.1] * 6, [0.1] * 4 + [-1], [0.1] * 4 + ["x"], 0.1])
def test_a_prior_in_a_checkpoint_that_is_none(place, command, alpha):
    settings = ("--threads", 1, "--progress", "none")
    sized = ("--sampler", "adlda", "--topics", 5, "--epochs", 3)
    assert command("train", "corpus", "-o", "run", "--force", *sized, *settings).status == 0
    part = next(place.glob("checkpoint/round-*/rank-000.json"))
    edit_json(part, lambda facts: facts.__setitem__("alpha", alpha))
    seal(place)
    resume = ("train", "-o", "run", "--resume", "--epochs", 4, "--progress", "none")
    assert "holds no state of this run" in refused(command, *resume, but="run").stderr


@pytest.mark.parametrize("line", [
    "5", "[]", '{"round": "x"}', '{"round": -1}', '{"round": 1, "seconds": "x"}', "[" * 100_000,
    '{"round": 1, "perplexity": "<script>"}', '{"round": 1, "perplexity": NaN}',
    '{"round": 1, "log_likelihood": [null]}', '{"round": 1, "update": 1e9}',
    '{"round": 1, "step_size": NaN}', '{"round": 1, "step_size": "x"}',
    pytest.param(f'{{"round": 1, "step_size": 1{400 * "0"}}}', id="a step of 401 digits"),
    '{"round": 1, "epochs": "x"}',
])  # fmt: skip
def test_metrics_that_are_none(place, command, line):
    path = place / "metrics.jsonl"
    path.write_text(line + "\n" + path.read_text())
    for name in ("report", "compare", "evaluate"):
        refused(command, *READERS[name], where=name)
    refused(command, *RESUME["resume"], but="run")


@pytest.mark.parametrize("value", ["1" + 400 * "0", '"x"', "[]", "true"], ids=lambda v: v[:9])
def test_traces_that_are_none(place, command, value):
    with (place / "trace.jsonl").open("a") as stream:
        stream.write(f'{{"position": 9, "burn_in": false, "chains": {{"0": {{"x": {value}}}}}}}\n')
    for name in ("report", "evaluate"):
        refused(command, *READERS[name], where=name)
    refused(command, *RESUME["resume"], but="run")


@pytest.mark.parametrize("name", ["samples", "vocabulary.txt", "checkpoint", "metrics.jsonl"])
def test_links_that_lead_out_are_not_followed(place, command, name):
    (place / name).rename("elsewhere")
    (place / name).symlink_to(Path("elsewhere").resolve())
    for arguments in (RESUME["resume"], READERS["topics"]):
        assert "leads out of" in refused(command, *arguments).stderr


@pytest.mark.parametrize(("kind", "reader"), [("round", "evaluate"), ("mean", "topics")])
def test_a_link_in_place_of_a_sample_or_mean_is_not_followed(place, command, kind, reader):
    path = sorted((place / "samples").glob(f"chain-*-{kind}-*"))[-1]
    path.rename("elsewhere")
    path.symlink_to(Path("elsewhere").resolve())
    assert "leads out of" in refused(command, *READERS[reader]).stderr


def test_a_link_in_place_of_the_index_is_not_followed(place, command):
    path = place / "samples" / "index.json"
    path.rename("elsewhere")
    path.symlink_to(Path("elsewhere").resolve())
    for name in ("topics", "evaluate", "export"):
        assert "index.json: leads out of" in refused(command, *READERS[name], where=name).stderr


@pytest.mark.parametrize("name", ["vocabulary.txt", "samples"])
def test_links_that_lead_in_a_circle(place, command, name):
    (place / name).rename("elsewhere")
    (place / name).symlink_to(name)
    assert name in refused(command, *READERS["topics"]).stderr


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="this system has no /dev/zero")
@pytest.mark.parametrize("reader", ["topics", "evaluate", "export", "infer", "report"])
def test_what_never_ends_is_not_read(place, command, reader):
    (place / "view.json").symlink_to("/dev/zero")
    with frugal():
        assert "leads out of" in refused(command, *READERS[reader]).stderr


def test_words_that_a_terminal_obeys_are_shown_as_they_are_written(place, command):
    words = place / "vocabulary.txt"
    words.write_text("".join(f"w{w}\x1b[2J\n" for w in range(120)))
    edit_json(place / "run.json", lambda facts: facts.update(vocabulary=checksum(words)))
    result = command(*READERS["topics"])
    assert result.status == 0 and r"\x1b[2J" in result.stdout and "\x1b" not in result.stdout
