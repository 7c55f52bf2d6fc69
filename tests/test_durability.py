"""What was reported as written is on the disk: in which order things are synced and renamed, what a
crash between any two of these steps leaves, and what is done about a damaged checkpoint."""

import errno
import hashlib
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from synthetic import lda_documents, write_docword

from topicmc.corpora import Corpus, prepare, verify
from topicmc.engine.transport.local import LocalTransport
from topicmc.errors import DataError
from topicmc.models.lda import jobs
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.settings import TrainConfig
from topicmc.storage import arrays, checkpoints, files
from topicmc.storage.runs import RunDirectory


class Crash(BaseException):
    """The power fails."""


class Disk:
    """Records what is asked of it; fails before its ``last``-th step."""

    CHANGES = ("fsync", "replace", "rename", "unlink", "rmdir", "mkdir")

    def __init__(self, monkeypatch, last: int = 10**9) -> None:
        self.steps: list[tuple[str, str]] = []
        for name in self.CHANGES:
            monkeypatch.setattr(os, name, self._watched(name, getattr(os, name), last))

    def _watched(self, name, function, last):
        def call(*given, **named):
            if len(self.steps) >= last:
                raise Crash
            if name == "fsync":
                place = str(Path(f"/proc/self/fd/{given[0]}").readlink())
            else:
                place = os.fspath(given[1] if name in ("replace", "rename") else given[0])
            self.steps.append((name, place))
            return function(*given, **named)

        return call

    def at(self, name: str, path: Path) -> int:
        """The place of a step in the order of all."""
        return self.steps.index((name, str(path)))


pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="names files by /proc")


def test_a_file_is_synced_then_renamed_then_its_folder_is_synced(tmp_path, monkeypatch):
    disk = Disk(monkeypatch)
    path = tmp_path / "facts.json"
    files.write_json(path, {})
    temporary = tmp_path / f".facts.json.{os.getpid()}.tmp"
    done = [step for step in disk.steps if step[0] != "unlink"]
    assert done == [("fsync", str(temporary)), ("replace", str(path)), ("fsync", str(tmp_path))]


def test_a_temporary_name_that_is_a_link_is_not_followed(tmp_path):
    (tmp_path / f".x.json.{os.getpid()}.tmp").symlink_to(tmp_path / "precious")
    (tmp_path / "precious").write_text("all of it")
    files.write_json(tmp_path / "x.json", 1)
    assert (tmp_path / "precious").read_text() == "all of it"


def write(run: TopicRun, number: int) -> None:
    theta = np.full((3, 2), number, np.float32)
    sums = run.write_checkpoint_part(number, "rank-000", {"theta-000": theta}, {"round": number})
    run.commit_checkpoint(number, sums, {"seconds": float(number)})


def found(run: TopicRun) -> int:
    """The round to go on from, every file of it sound."""
    run.recover()
    checkpoint = run.checkpoint()
    if checkpoint is None:
        return 0
    checkpoint.verify()
    number = checkpoint.facts("rank-000")["round"]
    assert (checkpoint.array("theta-000") == number).all()
    assert checkpoint.manifest["round"] == number
    return number


def test_a_manifest_comes_after_its_files_and_before_anything_is_deleted(tmp_path, monkeypatch):
    run = TopicRun.create(tmp_path / "run", {})
    for number in (1, 2):
        write(run, number)
    disk = Disk(monkeypatch)
    write(run, 3)
    root = run.path / "checkpoint"
    committed = disk.at("replace", root / "current.json")
    for name in ("theta-000.npy", "rank-000.json"):
        assert disk.at("replace", root / "round-000000003" / name) < committed
    assert disk.at("fsync", root / "round-000000003") < committed
    assert disk.steps.index(("fsync", str(root))) < committed
    assert disk.steps[committed + 1] == ("fsync", str(root))
    assert disk.at("rmdir", root / "round-000000001") > committed + 1
    assert sorted(path.name for path in root.glob("round-*")) == [
        "round-000000002",
        "round-000000003",
    ]


def test_lines_are_on_the_disk_before_a_checkpoint_that_follows_them(tmp_path, monkeypatch):
    run = TopicRun.create(tmp_path / "run", {})
    run.append_metrics({"round": 1})
    run.append_trace({"position": 1, "chains": {}})
    disk = Disk(monkeypatch)
    write(run, 1)
    committed = disk.at("replace", run.path / "checkpoint" / "current.json")
    for place in (run.path / "metrics.jsonl", run.path / "trace.jsonl", run.path):
        assert disk.at("fsync", place) < committed


def test_the_name_of_a_new_run_is_on_the_disk_before_the_run_is_one(tmp_path, monkeypatch):
    disk = Disk(monkeypatch)
    run = TopicRun.create(tmp_path / "run", {})
    made, named = disk.at("mkdir", run.path), disk.at("fsync", tmp_path)
    assert made < named < disk.at("replace", run.path / "run.json")


def test_a_crash_between_any_two_steps_leaves_the_old_checkpoint_or_the_new(tmp_path):
    """Every prefix of the steps of a third checkpoint; and the run goes on from there."""
    run = TopicRun.create(tmp_path / "run", {})
    for number in (1, 2):
        write(run, number)
    last, seen = 0, set()
    while True:
        copy = TopicRun(Path(shutil.copytree(run.path, tmp_path / f"crash-{last}")))
        with pytest.MonkeyPatch.context() as monkeypatch:
            Disk(monkeypatch, last)
            try:
                write(copy, 3)
                ended = True
            except Crash:
                ended = False
        seen.add(number := found(copy))
        assert number in (2, 3)
        write(copy, 4)
        assert found(copy) == 4
        if ended:
            break
        last += 1
    assert seen == {2, 3} and last > 12


def test_what_is_not_read_back_as_it_was_written_is_no_checkpoint(tmp_path, monkeypatch):
    """A disk that takes a byte for another: the checkpoint before stays the newest."""
    run = TopicRun.create(tmp_path / "run", {})
    write(run, 1)
    save = arrays.save_array

    def bad_disk(stream, array):
        save(stream, array)
        stream._stream.seek(-1, os.SEEK_CUR)
        stream._stream.write(b"\x55")

    monkeypatch.setattr(arrays, "save_array", bad_disk)
    with pytest.raises(DataError, match="theta-000.npy: what was read back is not"):
        write(run, 2)
    assert found(run) == 1


@pytest.mark.parametrize("name", ["theta-000.npy", "rank-000.json", "current.json"])
@pytest.mark.parametrize("how", ["flip", "cut", "gone"])
def test_a_damaged_checkpoint_gives_way_to_the_one_before(tmp_path, name, how):
    run = TopicRun.create(tmp_path / "run", {})
    for number in (1, 2, 3):
        write(run, number)
    path = next((run.path / "checkpoint").rglob(name) if name == "current.json" else
                (run.path / "checkpoint" / "round-000000003").glob(name))  # fmt: skip
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x55
    path.write_bytes(content if how == "flip" else content[: len(content) // 2])
    if how == "gone":
        path.unlink()
    if name == "current.json" and how == "flip":
        path.write_text(path.read_text(errors="replace").replace("round", "roond"))
    assert found(run) == 2
    assert "goes on from the checkpoint before it, of round 2, which is sound" in run.notices[0]
    assert name in run.notices[0]
    write(run, 3)
    assert found(run) == 3 and run.notices == []
    # Both damaged: nothing is made up.
    for folder in (run.path / "checkpoint").glob("round-*"):
        (folder / "theta-000.npy").write_bytes(b"")
    with pytest.raises(DataError, match="theta-000.npy: (damaged|cannot be read)"):
        run.recover()


@pytest.mark.parametrize(("old", "new"), [('"seconds": 3.0', '"seconds": 7.0'), ("secon", "sekon")])
def test_a_manifest_says_itself_whether_it_is_whole(tmp_path, old, new):
    """A flipped bit leaves it JSON with other totals, or without one. Those of earlier versions
    have no checksum."""
    run = TopicRun.create(tmp_path / "run", {})
    for number in (1, 2, 3):
        write(run, number)
    path = run.path / "checkpoint" / "current.json"
    whole = path.read_text()
    path.write_text(whole.replace(old, new))
    assert found(run) == 2
    assert "current.json: changed or damaged, its checksum is wrong" in run.notices[0]
    write(run, 3)
    manifest = json.loads(path.read_text())
    del manifest["checksum"]
    path.write_text(json.dumps(manifest))
    assert found(run) == 3 and run.notices == []


@pytest.mark.parametrize("name", ["theta-000.npy", "rank-000.json"])
def test_a_checkpoint_that_cannot_be_read_gives_way_to_the_one_before(tmp_path, monkeypatch, name):
    run = TopicRun.create(tmp_path / "run", {})
    for number in (1, 2):
        write(run, number)
    bad, digest = run.path / "checkpoint" / "round-000000002" / name, hashlib.file_digest

    def failing(stream, algorithm):
        if Path(stream.name) == bad:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return digest(stream, algorithm)

    monkeypatch.setattr(hashlib, "file_digest", failing)
    assert found(run) == 1
    assert f"{name}: cannot be read ({os.strerror(errno.EIO)})" in run.notices[0]


def test_what_an_unfinished_checkpoint_left_is_deleted_when_the_run_goes_on(tmp_path):
    """On a disk that it has filled, no other could be written beside it."""
    run = TopicRun.create(tmp_path / "run", {})

    def left() -> list[str]:
        arrays = {"theta-000": np.zeros((3, 2), np.float32)}
        run.write_checkpoint_part(9, "rank-000", arrays, {"round": 9})
        run.recover()
        return sorted(path.name for path in (run.path / "checkpoint").glob("round-*"))

    assert left() == []
    for number in (1, 2):
        write(run, number)
    assert left() == ["round-000000001", "round-000000002"]


def test_a_corpus_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    source = write_docword(tmp_path, lda_documents(60, 30, 3, seed=1), 30)
    disk = Disk(monkeypatch)
    corpus = prepare([source], tmp_path / "corpus", n_heldout=5)
    named = disk.at("replace", corpus.path)
    synced = {Path(place).name for step, place in disk.steps[:named] if step == "fsync"}
    assert {path.name for path in corpus.path.rglob("*") if path.is_file()} <= synced
    assert {"shards", "00000", "heldout"} <= synced
    assert ("fsync", str(tmp_path)) in disk.steps[named:]


def test_the_extract_is_in_its_run_before_that_is_one(tmp_path, monkeypatch):
    """And a run that cannot be made in place of another leaves no extract, its own or the old."""
    source = write_docword(tmp_path, lda_documents(60, 30, 3, seed=1), 30)
    monkeypatch.setattr("topicmc.corpora.wikipedia_extract", lambda: source)
    config, run = TrainConfig(topics=3, sampler="adlda", epochs=20.0, threads=1), tmp_path / "run"
    with monkeypatch.context() as patched:
        disk = Disk(patched)
        jobs.start(config, None, run, LocalTransport())
    placed = disk.at("replace", run / "corpus")
    assert placed < disk.steps.index(("fsync", str(run)), placed)
    assert disk.steps.index(("fsync", str(run)), placed) < disk.at("replace", run / "run.json")
    assert TopicRun.open(run).facts()["corpus"]["path"] == "corpus"

    def crash(*_):
        raise Crash

    monkeypatch.setattr(RunDirectory, "_write_facts", crash)
    with pytest.raises(Crash):
        jobs.start(config, None, run, LocalTransport(), force=True)
    assert list(run.iterdir()) == []


@pytest.mark.parametrize("is_named", [False, True])
def test_a_link_to_the_extract_goes_with_its_run(tmp_path, monkeypatch, is_named):
    """Where a run takes that one's place, on the extract or on a CORPUS. What it leads to stays."""
    source = write_docword(tmp_path, lda_documents(60, 30, 3, seed=1), 30)
    monkeypatch.setattr("topicmc.corpora.wikipedia_extract", lambda: source)
    config, run = TrainConfig(topics=3, sampler="adlda", epochs=20.0, threads=1), tmp_path / "run"
    jobs.start(config, None, run, LocalTransport())
    moved = (run / "corpus").rename(tmp_path / "moved")
    (run / "corpus").symlink_to(moved)
    named = prepare([source], tmp_path / "named").path if is_named else None
    jobs.start(config, named, run, LocalTransport(), force=True)
    assert not (run / "corpus").is_symlink() and (run / "corpus").exists() != is_named
    verify(moved)


def test_a_crash_while_a_corpus_is_replaced_leaves_the_old_or_the_new(tmp_path):
    """Between the two renames it may have no name for a moment, but it is there, whole."""
    source = write_docword(tmp_path, lda_documents(60, 30, 3, seed=1), 30)
    place = tmp_path / "corpus"
    prints = {prepare([source], place, seed=seed, force=True).fingerprint for seed in (2, 1)}
    last = 0
    while True:
        with pytest.MonkeyPatch.context() as monkeypatch:
            Disk(monkeypatch, last)
            try:
                prepare([source], place, seed=2, force=True)
                break
            except Crash:
                pass
        whole = [p for p in (place, *tmp_path.glob(".corpus*")) if (p / "corpus.json").is_file()]
        assert any(verify(path).fingerprint in prints for path in whole), last
        for path in tmp_path.glob(".corpus*"):
            shutil.rmtree(path) if place.exists() else path.rename(place)
        last += 1
    assert Corpus.open(place).fingerprint in prints and last > 10


def test_the_one_before_is_not_taken_for_its_successor(tmp_path):
    """A checkpoint of the same round made again, after a fallback, replaces the damaged one."""
    run = TopicRun.create(tmp_path / "run", {})
    for number in (1, 2):
        write(run, number)
    (run.path / "checkpoint" / "round-000000002" / "theta-000.npy").write_bytes(b"")
    assert found(run) == 1
    write(run, 2)
    names = {name: json.loads((run.path / "checkpoint" / name).read_text())["round"]
             for name in (checkpoints.CURRENT, checkpoints.PREVIOUS)}  # fmt: skip
    assert names == {"current.json": 2, "previous.json": 1}
