"""No space left: status 3 and one sentence, and whatever is on the disk can be read."""

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from fake_runs import make_run
from shell import SETTINGS, one_sentence, small_tmpfs, topicmc
from trained import StopAfter, train

from topicmc.errors import DataError
from topicmc.export import FORMATS
from topicmc.host.machine import in_units
from topicmc.models.lda import memory
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.planning.defaults import resolve
from topicmc.models.lda.planning.planned import disk_of
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.samples import write_sample
from topicmc.models.lda.settings import Resolved, TrainConfig
from topicmc.samplers.state import Chain
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


def test_what_a_run_takes_is_told_before_it_begins(run, command, monkeypatch):
    """And where less is free, when it begins."""
    facts = json.loads(command("corpus", "info", "corpus", "--topics", 40, "--json").stdout)
    assert f"run on disk  up to {in_units(facts['run_disk'])}\n" in (
        command("corpus", "info", "corpus", "--topics", 40).stdout
    )
    dry = command("train", "corpus", "--topics", 40, "--dry-run")
    assert dry.status == 0 and f"up to {in_units(facts['run_disk'])} of disk" in dry.stderr
    train = ("train", "corpus", "-o", "new", *SETTINGS, "--updates", 2)

    def remarks(*options):
        assert command(*train, *options).status == 0
        return " ".join(TopicRun.open(Path("new")).facts()["plan"]["remarks"])

    assert "of disk" not in remarks()
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=1000))
    assert "B of disk, and 1.0 kB are free there; fewer --samples take less" in remarks("--force")
    monkeypatch.setattr("topicmc.host.machine.lies_in_memory", lambda place: True)
    assert "B of memory, in which this folder lies, and 1.0 kB are free" in remarks("--force")


SIZES = memory.Sizes(
    n_docs=8_200_000, n_words=141_043, n_tokens=730_000_000, id_bytes=4,
    batch_tokens=100_000, batch_words=20_000,
    heldout_docs=1_000, heldout_tokens=90_000, heldout_words=10_000,
)  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "gigabytes"),
    [
        # 32 samples of two bytes a weight; three checkpoints of θ and its mean, each with a mean.
        ({"sampler": "scir", "remember": False, "topics": 10_000}, 35 * 2.82 + 3 * 11.28),
        # Counts of pairs of word and topic; topics of tokens; words, topics and orders in files.
        ({"sampler": "adlda", "topics": 1000}, 32 * 0.847 + 3 * 1.46 + 5.84),
    ],
)
def test_what_is_stated(settings, gigabytes):
    config = resolve(TrainConfig(**settings), Extent.of(SIZES))
    assert memory.disk(config, SIZES) == pytest.approx(gigabytes * 1e9, rel=0.01)


@pytest.mark.parametrize(("tokens", "n_bytes"), [(1_000, 2), (1_000_000, 4)])
def test_a_sample_takes_what_is_stated(tmp_path, tokens, n_bytes):
    """Two bytes a weight, or four where these tell too little of a word that has many tokens in one
    of 20 topics."""
    theta = np.ones((10_000, 20), np.float32)
    theta[0, 0] = tokens
    sums = theta.sum(axis=0, dtype=np.float64)
    n_tokens = int(sums.sum())
    chain = Chain(0, theta, sums, share=sums / n_tokens)
    run = make_run(tmp_path / "run", {0: [theta]})
    written = run.place_of_sample(write_sample(run, chain, 1, n_tokens))
    settings = TrainConfig(sampler="scir", remember=False, topics=20)
    config = resolve(settings, Extent(1000, n_tokens, len(theta)))
    commonest = int(theta[0].sum())
    sizes = SIZES._replace(n_tokens=n_tokens, n_words=len(theta), commonest=commonest)
    one_more = replace(config, samples=config.samples + 1)
    stated = memory.disk(one_more, sizes) - memory.disk(config, sizes)
    assert stated == n_bytes * theta.size
    assert written.stat().st_size == pytest.approx(stated, rel=0.05)


def test_the_commonest_word_is_known_by_the_documents(small_corpus):
    shards = [small_corpus.shard(number) for number in range(small_corpus.n_shards)]
    counts = sum(np.bincount(s.word_ids, s.counts, small_corpus.n_words) for s in shards)
    sizes = memory.sizes_of(small_corpus, small_corpus.n_docs)
    assert (sizes.commonest, sizes.batch_tokens) == (counts.max(), small_corpus.n_tokens)
    assert sizes.batch_words == np.count_nonzero(counts)
    assert memory.sizes_of(small_corpus, 0).batch_tokens == 0


def test_members_of_a_start_take_what_is_stated(small_corpus, tmp_path):
    """They are saved before there are samples: ten of two sweeps each, in a start of 30."""
    settings = TrainConfig(
        topics=5, sampler="adlda", start="consensus", start_sweeps=30, epochs=45.0, samples=1,
        alpha=0.3, beta=0.1, learn="none", threads=1, batch_size=300, checkpoint_every="21",
    )  # fmt: skip
    run, outcome = train(settings, small_corpus, tmp_path / "run", StopAfter(22))
    assert outcome.interrupted and len(list(run.path.rglob("member-*.npy"))) == 2 * 10
    taken = sum(path.stat().st_size for path in run.path.rglob("*.np[yz]"))
    stated = disk_of(Resolved.from_dict(run.facts()["config"]), small_corpus)
    assert stated / 2 < taken < stated


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
