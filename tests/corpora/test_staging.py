"""Nothing half-written: whatever ends a preparation early, the folder is as it was."""

import errno
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import bags
import numpy as np
import pytest

from topicmc.corpora import Corpus, files, prepare, streams, verify
from topicmc.corpora.files import NpyWriter
from topicmc.corpora.index import write_index
from topicmc.corpora.making import duplicates, emission, split, spool
from topicmc.corpora.readers import triplets
from topicmc.errors import DataError, TopicmcError, UsageError
from topicmc.storage import scratch, staging


def small(folder: Path, n_docs: int = 50) -> Path:
    written = [{d % 40: 1, 40 + d % 5: 2} for d in range(n_docs)]
    bags.docword(folder / "docword.x.txt", written, 50)
    bags.write_vocabulary(folder / "vocab.txt", 50)
    return folder / "docword.x.txt"


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (KeyboardInterrupt(), KeyboardInterrupt),
        (MemoryError(), MemoryError),
        (OSError(errno.ENOSPC, "No space left on device"), DataError),
        (OSError(errno.EIO, "Input/output error"), TopicmcError),
    ],
)
@pytest.mark.parametrize("place", ["spool", "shards", "index"])
@pytest.mark.parametrize("existing", [False, True])
def test_failure_leaves_what_was(tmp_path, monkeypatch, raised, expected, place, existing):
    source = small(tmp_path)
    output = tmp_path / "out"
    if existing:
        before = prepare(source, output, seed=9).fingerprint
    left = names(tmp_path)

    def fail(*args, **kwargs):
        raise raised

    if place == "spool":
        monkeypatch.setattr(spool.Spool, "append", fail)
    elif place == "shards":
        monkeypatch.setattr(NpyWriter, "append", fail)
    else:
        monkeypatch.setattr("topicmc.corpora.making.preparation.write_index", fail)
    with pytest.raises(expected) as caught:
        prepare(source, output, force=True)
    if isinstance(raised, OSError):
        pattern = "No space left for .*-o" if raised.errno == errno.ENOSPC else "Input/output"
        assert caught.match(pattern)
    assert names(tmp_path) == left
    if existing:
        assert verify(output).fingerprint == before


def test_existing_output_is_kept_unless_forced(tmp_path):
    source = small(tmp_path)
    first = prepare(source, tmp_path / "out", seed=1)
    with pytest.raises(UsageError, match=r"out exists: .*--force"):
        prepare(source, tmp_path / "out", seed=2)
    assert Corpus.open(tmp_path / "out").fingerprint == first.fingerprint
    assert prepare(source, tmp_path / "out", seed=2, force=True).fingerprint != first.fingerprint
    assert names(tmp_path) == {"docword.x.txt", "vocab.txt", "out"}


def test_what_is_no_corpus_is_never_replaced(tmp_path):
    source = small(tmp_path)
    precious = tmp_path / "home"
    precious.mkdir()
    (precious / "thesis.txt").write_text("all of it")
    for output, why in ((precious, "is not a corpus"), (source, "is what is read")):
        with pytest.raises(UsageError, match=why):
            prepare(source, output, force=True)
    assert (precious / "thesis.txt").read_text() == "all of it"
    empty = tmp_path / "empty"
    empty.mkdir()
    assert prepare(source, empty).n_docs == 45


@pytest.mark.parametrize("is_corpus", [False, True])
def test_what_comes_into_being_while_a_corpus_is_synced_is_kept(tmp_path, monkeypatch, is_corpus):
    """Of a large corpus that takes minutes."""
    source, output = small(tmp_path), tmp_path / "out"
    other = prepare(source, tmp_path / "other", seed=1)
    plain = files.sync_tree

    def slow(folder):
        plain(folder)
        if is_corpus:
            other.path.rename(output)
        else:
            output.mkdir()
            (output / "thesis.txt").write_text("all of it")

    monkeypatch.setattr(files, "sync_tree", slow)
    with pytest.raises(UsageError, match=r"out exists"):
        prepare(source, output)
    if is_corpus:
        assert verify(output).fingerprint == other.fingerprint
    else:
        assert (output / "thesis.txt").read_text() == "all of it"


def test_a_folder_that_is_not_to_be_replaced_is_not(tmp_path):
    """One that came between the last look and the rename."""
    place = tmp_path / "place"
    with pytest.raises(OSError, match="not empty"), staging.staged(place, replace=False):
        place.mkdir()
        (place / "thesis.txt").write_text("all of it")
    assert names(tmp_path) == {"place"} and names(place) == {"thesis.txt"}


@pytest.mark.parametrize("is_folder", [False, True])
def test_what_has_come_since_the_beginning_is_not_replaced(tmp_path, is_folder):
    """Nobody has looked whether it may be; what was there before is replaced."""
    place = tmp_path / "place"

    def put(at, text):
        if is_folder:
            at.mkdir(exist_ok=True)
        (at / "file" if is_folder else at).write_text(text)

    with (
        pytest.raises(OSError, match="exists|not empty"),
        staging.staged(place, is_folder=is_folder) as draft,
    ):
        put(draft, "new")
        put(place, "theirs")
    assert names(tmp_path) == {"place"}
    kept = place / "file" if is_folder else place
    assert kept.read_text() == "theirs"
    with staging.staged(place, is_folder=is_folder) as draft:
        put(draft, "new")
    assert names(tmp_path) == {"place"} and kept.read_text() == "new"


@pytest.mark.parametrize("has_come", [False, True])
def test_what_is_stopped_while_it_replaces_leaves_what_was(tmp_path, monkeypatch, has_come):
    """By Ctrl-C, or a disk that does not take the new name."""
    place, plain = tmp_path / "place", staging.put_in_place
    place.mkdir()
    (place / "old").touch()

    def stopped(draft, to):
        if has_come:
            plain(draft, to)
        raise KeyboardInterrupt

    monkeypatch.setattr(staging, "put_in_place", stopped)
    with pytest.raises(KeyboardInterrupt), staging.staged(place) as draft:
        (draft / "new").touch()
    assert names(tmp_path) == {"place"} and names(place) == {"old"}


SLOW = """
import sys, time
from topicmc.corpora.making import emission
from topicmc.corpora import prepare
plain = emission.Pruned.documents
def slow(*args):
    print("writing", flush=True)
    time.sleep(60)
    yield from plain(*args)
emission.Pruned.documents = slow
prepare(sys.argv[1], sys.argv[2])
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_signals(tmp_path, number):
    """A killed process cannot clean up: the next preparation of that output does."""
    source = small(tmp_path)
    output = tmp_path / "out"
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", SLOW, source, output],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        # Started in the background, the tests themselves would pass on that SIGINT is ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"writing\n"
    process.send_signal(number)
    assert process.wait(20) != 0
    process.stdout.close()
    assert not output.exists()
    if number == signal.SIGKILL:
        assert any(name.endswith(".partial") for name in names(tmp_path))
        prepare(source, output)
        assert names(tmp_path) == {"docword.x.txt", "vocab.txt", "out"}
    else:
        assert names(tmp_path) == {"docword.x.txt", "vocab.txt"}


def test_a_program_that_handles_sigterm_keeps_its_own_way(tmp_path, monkeypatch):
    source, heard = small(tmp_path), []

    def told(*args, **named):
        os.kill(os.getpid(), signal.SIGTERM)
        write_index(*args, **named)

    monkeypatch.setattr("topicmc.corpora.making.preparation.write_index", told)
    before = signal.signal(signal.SIGTERM, lambda *_: heard.append(1))
    try:
        prepare(source, tmp_path / "out")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard and verify(tmp_path / "out").n_docs == 45


KILLED = """
import os, sys
from topicmc.corpora import prepare
from topicmc.storage import staging
plain = staging.put_in_place
def put(folder, place):
    if sys.argv[3] == "1":
        plain(folder, place)
    os._exit(9)
staging.put_in_place = put
prepare(sys.argv[1], sys.argv[2], force=True, n_heldout=3)
"""


@pytest.mark.parametrize("replaced", [False, True])
def test_a_corpus_whose_replacement_was_killed_is_there_again(tmp_path, replaced):
    """Killed between putting the old corpus aside and putting the new one in its place, or before
    the old one was removed."""
    source, output = small(tmp_path), tmp_path / "out"
    first = prepare(source, output).fingerprint

    command = [sys.executable, "-P", "-c", KILLED, source, output, str(int(replaced))]
    assert subprocess.run(command, timeout=60).returncode == 9
    assert output.exists() == replaced
    with pytest.raises(UsageError, match="replace it by --force"):
        prepare(source, output)
    assert names(tmp_path) == {"docword.x.txt", "vocab.txt", "out"}
    assert (Corpus.open(output).fingerprint == first) != replaced


def test_a_running_preparation_is_not_cleaned_away(tmp_path):
    source = small(tmp_path)
    other = tmp_path / f".out.{socket.gethostname()}-{os.getppid()}.partial"
    other.mkdir()
    prepare(source, tmp_path / "out")
    assert other.exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_folder_that_cannot_be_written(tmp_path):
    source = small(tmp_path)
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(DataError, match="Permission denied"):
            prepare(source, tmp_path / "out")
    finally:
        tmp_path.chmod(0o700)


def test_parent_that_is_a_file(tmp_path):
    source = small(tmp_path)
    with pytest.raises(TopicmcError, match=r"docword\.x\.txt"):
        prepare(source, source / "out")


def test_memory_does_not_grow_with_the_corpus(tmp_path, monkeypatch):
    """Peak of what Python and NumPy allocate, at small blocks; four times the documents may add a
    tenth. A reader that kept its documents would add 300 %."""
    monkeypatch.setattr(triplets, "line_blocks", lambda s: streams.line_blocks(s, 1 << 16))
    monkeypatch.setattr(spool, "_BLOCK_ENTRIES", 1 << 14)
    monkeypatch.setattr(emission, "choose_heldout", lambda *_: np.array([1, 5]))
    monkeypatch.setattr(duplicates, "_BUCKET", 1 << 12)
    for module in (duplicates, split):
        monkeypatch.setattr(module, "_CHUNK", 1 << 12)
    monkeypatch.setattr(scratch, "IN_MEMORY", 1 << 10)
    peaks = []
    for n_docs in (30_000, 30_000, 120_000):
        source = small(tmp_path, n_docs)
        tracemalloc.start()
        prepare(source, tmp_path / "out", force=True)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] < 1.1 * peaks[1]


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="maps cannot be listed")
def test_no_file_of_the_spool_is_open_when_it_is_removed(tmp_path, monkeypatch):
    """NFS would keep it, and so the folder."""
    monkeypatch.setattr(scratch, "IN_MEMORY", 0)
    plain, maps = shutil.rmtree, {}

    def noted(folder, **options):
        maps[Path(folder).name] = Path("/proc/self/maps").read_text()
        plain(folder, **options)

    monkeypatch.setattr(shutil, "rmtree", noted)
    (tmp_path / "x.txt").write_text("ant bee\nant bee\ncat\n")
    prepare(tmp_path / "x.txt", tmp_path / "out", duplicates="drop", n_heldout=0)
    assert "/spool/" not in maps["spool"]


def test_quick_enough(tmp_path):
    """A guard against line-by-line parsing: a million entries take about 0.3 s."""
    rows = np.arange(1_000_000)
    body = np.stack([rows // 10 + 1, rows % 10 + 1, rows % 3 + 1], axis=1)
    path = tmp_path / "docword.x.txt"
    with path.open("w") as file:
        file.write("100000\n10\n1000000\n")
        np.savetxt(file, body, fmt="%d")
    bags.write_vocabulary(tmp_path / "vocab.txt", 10)
    start = time.process_time()
    corpus = prepare(path, tmp_path / "out")
    assert time.process_time() - start < 10
    assert corpus.n_entries + corpus.heldout.n_entries == 1_000_000


@pytest.mark.parametrize("n_different", [1, 5, 40, 1000])
def test_duplicates_are_found_across_chunks_and_buckets(tmp_path, monkeypatch, n_different):
    for module in (duplicates, split):
        monkeypatch.setattr(module, "_CHUNK", 7)
    monkeypatch.setattr(duplicates, "_BUCKET", 60)
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 1 << 64, n_different, dtype=np.uint64)
    digests = kinds[rng.integers(0, n_different, 200)]
    digests.tofile(tmp_path / "digests")
    firsts, n_repeats = duplicates.first_of_each(tmp_path / "digests")
    seen = digests.tolist()
    expected = [seen.index(digest) for digest in seen]
    assert firsts is not None and firsts.tolist() == expected
    assert n_repeats == len(seen) - len(set(seen))
