"""The run directory: nothing that was written can be half read, nothing is overwritten unasked."""

import json
import os
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from topicmc import LDA
from topicmc.errors import DataError, TopicmcError, UsageError
from topicmc.models.factors.run import FactorRun
from topicmc.models.lda.progress import reached
from topicmc.models.lda.run import TopicRun
from topicmc.models.mixture.run import MixtureRun
from topicmc.storage import arrays, runs
from topicmc.storage.arrays import read_array, write_array
from topicmc.storage.files import (
    atomic_write,
    check_new_file,
    new_file,
    own_checksum,
    read_json,
    temporary_folder,
    user_errors_for,
    write_json,
)
from topicmc.storage.runs import files_of

FACTS = {
    "config": {"topics": 2, "alpha": 0.1, "beta": 0.01, "sampler": "scir"},
    "corpus": {"path": "corpus", "fingerprint": "0"},
}


def test_a_failed_write_leaves_the_old_content_and_no_debris(tmp_path):
    path = tmp_path / "facts.json"
    write_json(path, {"a": 1})
    with pytest.raises(RuntimeError), atomic_write(path) as stream:
        stream.write("half")
        raise RuntimeError
    assert read_json(path) == {"a": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["facts.json"]


def test_a_file_that_comes_meanwhile_stays(tmp_path):
    """Unless whoever asks for a new one says that it may go."""
    path = tmp_path / "page.html"
    for force, kept in ((False, "theirs"), (True, "ours")):
        path.unlink(missing_ok=True)
        refused = nullcontext() if force else pytest.raises(UsageError, match="exists already")
        with refused, new_file(path, force=force) as stream:
            stream.write("ours")
            path.write_text("theirs")
        assert path.read_text() == kept and [*tmp_path.iterdir()] == [path]


def test_folders_of_a_file_that_fails_go_again(tmp_path):
    with pytest.raises(RuntimeError), new_file(tmp_path / "some" / "where" / "page.html"):
        raise RuntimeError
    assert [*tmp_path.iterdir()] == []


def test_a_place_is_tried_without_following_a_link(tmp_path):
    """Names with the number of a process can be foretold, in folders where others may write."""
    draft = tmp_path / f".page.html.{os.getpid()}.tmp"
    draft.symlink_to(tmp_path / "elsewhere")
    check_new_file(tmp_path / "page.html", (".html",))
    assert [*tmp_path.iterdir()] == []


def test_names_that_are_no_utf8_are_kept_in_json(tmp_path):
    """Of a corpus below a folder that is called in Latin-1, for instance."""
    facts = {"path": os.fsdecode(b"caf\xe9"), "é": "語"}
    write_json(tmp_path / "facts.json", facts)
    assert (tmp_path / "facts.json").read_text(encoding="utf-8").count("é") == 1
    assert read_json(tmp_path / "facts.json") == facts
    assert own_checksum(read_json(tmp_path / "facts.json")) == own_checksum(facts)


def test_a_temporary_folder_is_gone_when_a_signal_meets_its_making(tmp_path, monkeypatch):
    make = os.mkdir

    def make_and_leave(*arguments, **options):
        make(*arguments, **options)
        raise SystemExit(143)  # as `unwound` does, at the next line of Python

    monkeypatch.setattr(os, "mkdir", make_and_leave)
    with pytest.raises(SystemExit), temporary_folder(tmp_path, ".run-"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_no_space_left_is_one_sentence():
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    full = Path("/dev/full")
    with (
        pytest.raises(DataError, match="x.npy: no space left on the disk"),
        user_errors_for(Path("x.npy")),
        full.open("wb", buffering=0) as stream,
    ):
        stream.write(b"x")


def test_an_unwritable_place_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(TopicmcError, match="cannot be written"):
        TopicRun.create(tmp_path / "file" / "run", {})


@pytest.mark.parametrize("damage", ["flip", "cut", "gone"])
def test_damaged_arrays_are_refused_by_name(tmp_path, damage):
    path = tmp_path / "theta.npy"
    checksum = write_array(path, np.arange(10.0))
    content = path.read_bytes()
    if damage == "flip":
        path.write_bytes(content[:-1] + b"\x7f")
    elif damage == "cut":
        path.write_bytes(content[:40])
    else:
        path.unlink()
    with pytest.raises(DataError, match="theta.npy"):
        read_array(path, checksum)


def test_arrays_never_need_pickle(tmp_path):
    np.save(tmp_path / "evil.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match="evil.npy"):
        read_array(tmp_path / "evil.npy")


def test_runs_are_not_overwritten_unasked(tmp_path):
    TopicRun.create(tmp_path / "run", {"config": {}})
    with pytest.raises(UsageError, match="--resume.*--force"):
        TopicRun.create(tmp_path / "run", {})
    new = {**FACTS, "config": {**FACTS["config"], "seed": 1}}
    TopicRun.create(tmp_path / "run", new, force=True)
    assert TopicRun.open(tmp_path / "run").facts()["config"] == new["config"]


@pytest.mark.parametrize("force", [False, True])
def test_a_run_that_could_not_be_made_leaves_its_place_free(tmp_path, monkeypatch, force):
    """Stopped between its folders and ``run.json``, as by Ctrl-C or a full disk."""
    if force:
        TopicRun.create(tmp_path / "run", FACTS, words=["a", "b"])
    with monkeypatch.context() as patched:
        patched.setattr(TopicRun, "write_vocabulary", lambda *_: ends())
        with pytest.raises(KeyboardInterrupt):
            TopicRun.create(tmp_path / "run", FACTS, force, ["a", "b"])
    assert list((tmp_path / "run").iterdir()) == []
    run = TopicRun.create(tmp_path / "run", FACTS, words=["a", "b"])
    assert run.vocabulary() == ["a", "b"]


def ends():
    raise KeyboardInterrupt


def test_force_replaces_no_run_of_another_model(tmp_path):
    TopicRun.create(tmp_path / "run", FACTS)
    for other in (MixtureRun, FactorRun):
        with pytest.raises(UsageError, match="is a run of the model 'lda', which is not replaced"):
            other.check_free(tmp_path / "run", force=True)
    assert TopicRun.open(tmp_path / "run").facts()["config"] == FACTS["config"]
    (tmp_path / "run" / "run.json").write_text("[]")  # damaged
    TopicRun.create(tmp_path / "run", FACTS, force=True)


def test_force_leaves_folders_that_are_not_runs_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(UsageError, match="exists and is not a run"):
        TopicRun.create(tmp_path, {}, force=True)
    assert (tmp_path / "thesis.txt").read_text() == "precious"


def test_only_what_its_own_writers_left_is_deleted(tmp_path):
    """Other commands may be writing in the folder of a run, or below it."""
    run = TopicRun.create(tmp_path / "run", FACTS, words=["a", "b"])
    own = [
        run.path / ".run.json.7.tmp",
        run.path / ".origin-000.npz.7.tmp",
        run.path / "samples" / ".index.json.7.tmp",
        run.path / "checkpoint" / "round-000000001" / ".theta.npy.7.tmp",
    ]
    others = [
        run.path / ".mixes.csv.7.tmp",
        run.path / ".model.7.tmp" / "phi.npy",
        run.path / "second" / "samples" / ".index.json.7.tmp",
    ]
    for path in (*own, *others):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("half")
    run.remove_temporaries()
    assert not any(path.exists() for path in own)
    TopicRun.create(run.path, FACTS, force=True)
    assert all(path.exists() for path in others)


def test_no_output_takes_the_place_of_a_part(tmp_path):
    """But it may lie beside them."""
    run = TopicRun.create(tmp_path / "run", FACTS)
    (run.path / "origin-001.npz").touch()
    for name in ("trace.jsonl", "origin-001.npz", "samples"):
        with pytest.raises(UsageError, match="is what is read, and would be lost"):
            run.check_no_part(run.path / name)
    with pytest.raises(UsageError, match="lies in .*samples"):
        run.check_no_part(run.path / "samples" / "mixes.npy")
    run.check_no_part(run.path / "mixes.npy")
    (run.path / "corpus" / "heldout").mkdir(parents=True)
    with pytest.raises(UsageError, match="lies in .*corpus"):
        run.check_no_part(run.path / "corpus" / "heldout" / "counts.npy")
    for elsewhere in ("elsewhere", "moved"):
        (tmp_path / elsewhere).mkdir()
    run.update_facts(corpus={**FACTS["corpus"], "path": str(tmp_path / "elsewhere")})
    run.check_no_part(run.path / "corpus" / "mixes.npy")
    with pytest.raises(UsageError, match="lies in .*elsewhere"):
        run.check_no_part(tmp_path / "elsewhere" / "mixes.npy", tmp_path / "moved")
    with pytest.raises(UsageError, match="lies in .*moved"):
        run.check_no_part(tmp_path / "moved" / "mixes.npy", tmp_path / "moved")
    run.check_no_part(run.path / "mixes.npy", tmp_path)  # which holds the run
    with pytest.raises(UsageError, match="lies in "):
        run.check_no_part(tmp_path / "mixes.npy", tmp_path)
    run.check_no_part(tmp_path / "mixes.npy", tmp_path / ("x" * 300))  # which no system looks up


@pytest.mark.parametrize("change", [{"config": {"topics": 7}}, {"created": ""}])
def test_facts_changed_by_hand_are_refused(tmp_path, change):
    run = TopicRun.create(tmp_path / "run", FACTS)
    run.update_facts(created="1999 é")
    path = run.path / "run.json"
    written = read_json(path)
    write_json(path, written | change)
    with pytest.raises(DataError, match=r"run.json: changed or damaged.*--resume"):
        TopicRun.open(run.path)
    write_json(path, written)
    assert TopicRun.open(run.path).facts()["created"] == "1999 é"


def test_runs_of_before_there_was_a_checksum_open(tmp_path):
    run = TopicRun.create(tmp_path / "run", FACTS)
    facts = run.facts()
    write_json(run.path / "run.json", facts)
    assert TopicRun.open(run.path).facts() == facts


def test_newer_formats_are_refused(tmp_path):
    TopicRun.create(tmp_path / "run", {})
    write_json(tmp_path / "run" / "run.json", {"format": 99})
    with pytest.raises(DataError, match="format 99"):
        TopicRun.open(tmp_path / "run")


@pytest.mark.parametrize(("name", "clock"), [("metrics", "round"), ("trace", "position")])
def test_records_survive_a_line_cut_short(tmp_path, name, clock):
    run = TopicRun.create(tmp_path / "run", {})
    append, records, rewind = (
        getattr(run, method) for method in (f"append_{name}", name, f"rewind_{name}")
    )
    assert records() == []
    for number in range(3):
        append({clock: number, "chains": {"0": {"log joint": -1.5}}})
    path = run.path / f"{name}.jsonl"
    path.write_bytes(path.read_bytes()[:-5])
    assert [record[clock] for record in records()] == [0, 1]
    rewind(*{"metrics": [0], "trace": [0, 0]}[name])
    assert records() == [{clock: 0, "chains": {"0": {"log joint": -1.5}}}]
    path.write_text('{"torn\n' + path.read_text())
    with pytest.raises(DataError, match=f"{name}.jsonl, line 1: not JSON"):
        records()
    assert TopicRun.create(run.path, {"config": {}}, force=True).path == run.path
    assert not path.exists()


def test_a_trace_is_rewound_by_position_and_by_round(tmp_path):
    """Lines of before there were rounds go by their position alone."""
    run = TopicRun.create(tmp_path / "run", {})
    for line in ({}, {"round": 7}, {"round": 8}):
        run.append_trace({"position": 2, **line, "chains": {}})
    run.append_trace({"position": 3, "chains": {}})
    run.rewind_trace(2, 7)
    assert [(line["position"], line.get("round")) for line in run.trace()] == [(2, None), (2, 7)]


@pytest.mark.parametrize("damaged", [(3,), (4,), (3, 5), (3, 4, 5), (5,)])
def test_damage_behind_a_checkpoint_goes_with_what_is_behind_it(tmp_path, damaged):
    """A crash may leave zeros in place of lines that nothing had the disk keep."""
    run = TopicRun.create(tmp_path / "run", {})
    lines = [json.dumps({"position": 2 * n, "round": n, "chains": {}}) for n in range(6)]
    wrong = dict(enumerate(lines)) | dict.fromkeys(damaged, "\0" * 40)
    path = run.path / "trace.jsonl"
    path.write_text("".join(f"{wrong[n]}\n" for n in range(6)))
    run.rewind_trace(5, 2)
    assert path.read_text().splitlines() == lines[:3]
    told = [f"{path}, line {damaged[0] + 1}: not JSON, and left out"] * (damaged != (5,))
    assert run.notices == told


def test_damage_before_a_checkpoint_is_told(tmp_path):
    run = TopicRun.create(tmp_path / "run", {})
    lines = ['{"position": 1, "chains": {}}', '{"position": 2}', '{"position": 8, "chains": {}}']
    path = run.path / "trace.jsonl"
    for line in ("\0" * 40, '{"position": 1, "chains": {"0": {"x": "y"}}}', '{"position": "x"}'):
        content = "\n".join([lines[0], line, *lines[1:], ""])
        path.write_text(content)
        with pytest.raises(DataError, match="trace.jsonl, line 2: |trace.jsonl: line 2: "):
            run.rewind_trace(2, 2)
        assert path.read_text() == content
    late = '{"position": 3, "chains": {"0": {"x": "y"}}}'  # says itself that it is behind
    path.write_text("\n".join([lines[0], late, lines[1], ""]))
    with pytest.raises(DataError, match="line 2: y is no number"):
        run.trace()
    path.write_text("\n".join([*lines[:2], late, ""]))
    run.rewind_trace(2, 2)
    assert path.read_text().splitlines() == lines[:2] and run.notices == []


def test_the_sample_index_deletes_what_it_is_told_to(tmp_path):
    """But nothing that it names, and nothing that it does not know."""
    run = TopicRun.create(tmp_path / "run", {})
    theta = np.ones((4, 2), np.float32)
    entries = [{**run.keep_sample(0, number, theta), "burn_in": False} for number in (1, 2, 3)]
    files = [entry["file"] for entry in entries]
    run.write_sample_index(entries[1:2], files[:2])
    run.delete_dropped()
    assert sorted(run.sample_files()) == files[1:]
    assert run.read_sample(run.sample_index()[0]).shape == (4, 2)


def test_index_entries_that_stay_become_text_once(tmp_path, monkeypatch):
    """Of many topics each holds many numbers. What has changed, as by a mean, is written anew."""
    run, dumped = TopicRun.create(tmp_path / "run", {}), []

    def dumps(value, **options):
        dumped.append(value["round"])
        return json.dumps(value, **options)

    monkeypatch.setattr(runs, "json", SimpleNamespace(dumps=dumps, loads=json.loads))
    theta = np.ones((4, 2), np.float32)
    entries = [{**run.keep_sample(0, n, theta), "burn_in": False} for n in (1, 2, 3)]
    for kept in (entries[:2], [dict(entry) for entry in entries], entries[1:]):
        run.write_sample_index(kept)
        assert run.sample_index() == kept
    assert dumped == [1, 2, 3]
    entries[2]["share"] = [0.25, 0.75]
    run.write_sample_index(entries[1:])
    assert run.sample_index() == entries[1:]
    assert dumped == [1, 2, 3, 3]


def test_indices_of_checkpoints_are_read_once(tmp_path, monkeypatch):
    """In a line, for an indented one takes twice as long to write, and much memory. Files that the
    two checkpoints name are not deleted."""
    run, read = TopicRun.create(tmp_path / "run", {}), []
    theta = np.ones((4, 2), np.float32)
    entries = [{**run.keep_sample(0, n, theta), "burn_in": False} for n in range(1, 6)]
    files, known = files_of(entries), run.samples_of
    monkeypatch.setattr(run, "samples_of", lambda saved: read.append(saved) or known(saved))
    indices = entries[:2], entries[1:3], entries[3:4]
    for number, kept in enumerate(indices, start=1):
        sums = run.write_checkpoint_part(number, "samples", {}, {"samples": kept})
        (index,) = run.path.glob(f"checkpoint/*{number}/samples.json")
        assert index.read_text().count("\n") == 1
        run.commit_checkpoint(number, sums, {})
        named = {f for of in indices[max(0, number - 2) : number] for f in files_of(of)}
        assert run._of_checkpoints() == run._of_checkpoints() == named
        assert len(read) == number
    run.write_sample_index(entries[4:], files)
    run.delete_dropped()
    assert sorted(run.sample_files()) == files[1:]


def test_lines_are_for_whom_the_umask_lets_read(tmp_path):
    run, mask = TopicRun.create(tmp_path / "run", {}), os.umask(0o002)
    try:
        run.append_metrics({"round": 1})
    finally:
        os.umask(mask)
    assert (run.path / "metrics.jsonl").stat().st_mode & 0o777 == 0o664


def test_headers_that_numpy_cannot_parse(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.arange(3))
    path.write_bytes(path.read_bytes().replace(b"}", b"|", 1))
    with pytest.raises(DataError, match=r"a\.npy: not a readable"):
        read_array(path)


def test_headers_are_parsed_by_one_thread_at_a_time(tmp_path, monkeypatch):
    """Of arrays alone, and of those of an archive."""
    parse, held = arrays.npy.read_array_header_1_0, []

    def parsed(*args, **named):
        held.append(arrays._HEADERS.locked())
        return parse(*args, **named)

    monkeypatch.setattr(arrays.npy, "read_array_header_1_0", parsed)
    read_array(tmp_path / "a.npy", write_array(tmp_path / "a.npy", np.ones(3)))
    path = tmp_path / "a.npz"
    arrays.read_arrays(path, arrays.write_arrays(path, {"a": np.ones(3), "b": np.ones(2)}))
    assert held == [True] * 3


@pytest.mark.parametrize("kind", [TopicRun, MixtureRun, FactorRun])
def test_a_run_without_samples_says_how_to_go_on(tmp_path, monkeypatch, kind):
    with kind._made(tmp_path / "run", force=False) as run:
        monkeypatch.setattr(run, "facts", lambda: {"corpus": {"path": ""}})
    told = rf"no samples yet; continue training \({kind.command} train -o .*run"
    with pytest.raises(DataError, match=told):
        run.states_to_read()


def test_settings_of_a_newer_version_are_told_with_their_file(tmp_path):
    config = {**FACTS["config"], "colour": "red"}
    run = TopicRun.create(tmp_path / "run", {**FACTS, "config": config}, words=["a", "b"])
    run.append_metrics({"round": 1, "update": 1, "documents": 3, "tokens": 9, "seconds": 1.0})
    for reader in (reached, lambda run: LDA.from_run(run.path)):
        with pytest.raises(DataError, match=r"run\.json: unknown setting 'colour'"):
            reader(run)


def test_lines_that_are_no_utf8_are_damaged(tmp_path):
    run = TopicRun.create(tmp_path / "run", FACTS, words=["a", "b"])
    for update in range(3):
        run.append_metrics({"round": update, "update": update, "seconds": 1.0})
    lines = (run.path / "metrics.jsonl").read_bytes().split(b"\n")
    lines[1] = b"\xff" + lines[1][1:]
    (run.path / "metrics.jsonl").write_bytes(b"\n".join(lines))
    with pytest.raises(DataError, match=r"metrics\.jsonl, line 2: not JSON"):
        run.metrics()


def test_words_that_hold_other_ends_of_lines_are_one_word(tmp_path):
    words = ["a\rb", "c\x85d", "e\u2028f", "g"]
    run = TopicRun.create(tmp_path / "run", FACTS, words=words)
    assert run.vocabulary() == words


def test_a_vocabulary_of_another_size_is_refused(tmp_path):
    """Whatever its checksum says."""
    facts = {**FACTS, "corpus": {**FACTS["corpus"], "words": 3}}
    TopicRun.create(tmp_path / "run", facts, words=["a", "b"])
    with pytest.raises(DataError, match=r"vocabulary\.txt: missing or damaged; copy"):
        TopicRun.open(tmp_path / "run").vocabulary()


@pytest.mark.parametrize("name", ["\x1b[2J", " ", "a" * 101, "x\u202e"])
def test_names_of_topics_that_cannot_be_are_refused(tmp_path, name):
    TopicRun.create(tmp_path / "run", {**FACTS, "labels": {"0": name}})
    with pytest.raises(DataError, match=r"run\.json: damaged, the name .*; restore it"):
        TopicRun.open(tmp_path / "run")
