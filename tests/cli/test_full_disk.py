"""No space left: status 3 and one sentence, and whatever is on the disk can be read."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from shell import one_sentence, small_tmpfs, topicmc

from topicmc.errors import DataError
from topicmc.export import FORMATS
from topicmc.storage import scratch


@pytest.fixture
def disk(tmp_path):
    """A file system of 400 kB, made full but for what a test needs."""
    place = tmp_path / "disk"
    if not small_tmpfs(place, "400k"):
        pytest.skip("mounting a small file system needs root on Linux")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def test_preparing(disk, tmp_path):
    lines = [f"word{i} word{i + 1} word{i % 97}" for i in range(60_000)]
    (tmp_path / "text.txt").write_text("\n".join(lines))
    result = topicmc("prepare", tmp_path / "text.txt", "-o", disk / "corpus", "--min-df", 1)
    assert "No space left for" in one_sentence(result)
    assert result.status == 3
    assert list(disk.iterdir()) == []


def fill(disk: Path, but: int) -> Path:
    """Leaves so many bytes free."""
    ballast = disk / "ballast"
    space = shutil.disk_usage(disk).free
    ballast.write_bytes(bytes(space - but))
    return ballast


def test_training_and_resuming(disk, run, command):
    """The disk fills while samples and checkpoints are written; freed, the run goes on."""
    ballast = fill(disk, but=110_000)
    train = ("train", "corpus", "-o", disk / "run", "--topics", 40, "--checkpoint-every", 1)
    result = command(*train, "--updates", 30, "--progress", "none")
    assert "no space left on the disk" in one_sentence(result)
    assert result.status == 3
    assert list(disk.rglob(".*")) == []
    ballast.unlink()
    go_on = ("train", "-o", disk / "run", "--resume", "--samples", 32, "--progress", "none")
    assert command(*go_on).status == 0
    assert command("topics", disk / "run").status == 0


@pytest.mark.parametrize("reserves", [True, False])
def test_the_files_of_large_arrays(disk, monkeypatch, reserves):
    """Known before they are written to through memory, when it would be a crash."""
    monkeypatch.setattr(scratch, "IN_MEMORY", 1000)
    if not reserves:
        monkeypatch.delattr("os.posix_fallocate", raising=False)
    kept = scratch.scratch_array(300_000, np.uint8, disk)
    kept[:] = 1
    with pytest.raises(DataError, match=r"disk: no space left on the disk; free some"):
        scratch.scratch_array(300_000, np.uint16, disk)
    assert kept.all() and list(disk.iterdir()) == []


@pytest.mark.parametrize("format", FORMATS)
def test_exporting(disk, run, command, format):
    ballast = fill(disk, but=0)
    result = command("export", run, "--to", format, "-o", disk / "new")
    assert "no space left on the disk" in one_sentence(result)
    assert result.status == 3
    assert list(disk.iterdir()) == [ballast]


def test_the_built_in_extract(disk):
    result = topicmc("train", "-o", disk / "run")
    assert "No space left for" in one_sentence(result)
    assert result.status == 3
    assert list(Path(disk).iterdir()) == []
