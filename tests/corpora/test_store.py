"""The folder on disk: what is written is sound, and whatever happens to it afterwards is found."""

import errno
import io
import json
import os
import shutil
import time
from pathlib import Path

import bags
import numpy as np
import pytest

from topicmc.corpora import Corpus, Documents, prepare, stamps, store, verify
from topicmc.corpora.files import NpyWriter
from topicmc.corpora.offsets import offsets
from topicmc.errors import DataError
from topicmc.storage.files import own_checksum

FILES = [
    "corpus.json",
    "vocabulary.txt",
    *(
        f"{part}/{array}.npy"
        for part in ("shards/00000", "shards/00001", "heldout")
        for array in ("indptr", "word_ids", "counts", "rows")
    ),
    *(f"dropped/{array}.npy" for array in ("rows", "spans", "reasons")),
]


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sound")
    rng = np.random.default_rng(5)
    written = [
        {int(w): int(rng.integers(1, 5)) for w in rng.choice(40, 6, replace=False)}
        for _ in range(60)
    ]
    bags.docword(folder / "docword.x.txt", written, 40)
    bags.write_vocabulary(folder / "vocab.txt", 40)
    return prepare(folder / "docword.x.txt", folder / "corpus", n_shards=2, n_heldout=9).path


@pytest.fixture
def corpus(sound, tmp_path):
    shutil.copytree(sound, tmp_path / "corpus")
    return tmp_path / "corpus"


def test_sound_corpus_passes(corpus):
    assert verify(corpus).fingerprint == Corpus.open(corpus).fingerprint
    assert sorted(str(f.relative_to(corpus)) for f in corpus.rglob("*") if f.is_file()) == sorted(
        FILES
    )


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("place", [0.3, 1.0])
def test_flipped_bit(corpus, name, place):
    raw = bytearray((corpus / name).read_bytes())
    raw[int(place * (len(raw) - 1))] ^= 1
    (corpus / name).write_bytes(raw)
    with pytest.raises(DataError, match=name.split("/")[-1].replace(".", r"\.")):
        verify(corpus)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("keep", [0, 10, -2])
def test_truncated_file(corpus, name, keep):
    (corpus / name).write_bytes((corpus / name).read_bytes()[:keep])
    with pytest.raises(DataError, match=name.split("/")[-1].replace(".", r"\.")):
        verify(corpus)


@pytest.mark.parametrize("name", FILES)
def test_missing_file(corpus, name):
    (corpus / name).unlink()
    with pytest.raises(DataError, match=name.split("/")[-1].replace(".", r"\.")):
        verify(corpus)


@pytest.mark.parametrize("array", ["indptr", "word_ids", "counts"])
def test_swapped_shards(corpus, array):
    one, two = (corpus / "shards" / s / f"{array}.npy" for s in ("00000", "00001"))
    raw = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(raw)
    with pytest.raises(DataError, match=rf"{array}\.npy"):
        verify(corpus)


def resign(corpus, name, change):
    """Changes an array and every checksum with it, as a faulty writer would."""
    from topicmc.corpora.files import sha256
    from topicmc.corpora.index import content_fingerprint

    path = corpus / name
    array = np.load(path)
    change(array)
    np.save(path, array)
    index = json.loads((corpus / "corpus.json").read_text())
    index["shards"][0]["sha256"][path.stem] = sha256(path)
    index["fingerprint"] = content_fingerprint(index)
    index["checksum"] = own_checksum(index)
    (corpus / "corpus.json").write_text(json.dumps(index))


@pytest.mark.parametrize(
    ("name", "change", "pattern"),
    [
        ("word_ids", lambda a: a.__setitem__(5, 40), r"word_ids\.npy .*word id 40 of 40"),
        ("word_ids", lambda a: a.__setitem__(slice(0, 2), a[1::-1].copy()), "do not ascend"),
        ("word_ids", lambda a: a.__setitem__(1, a[0]), "do not ascend"),
        ("counts", lambda a: a.__setitem__(7, 0), "a count is 0"),
        ("counts", lambda a: a.__setitem__(7, a[7] + 1), r"counts\.npy .*tokens, not"),
        ("indptr", lambda a: a.__setitem__(1, 0), r"indptr\.npy .*empty"),
        (
            "indptr",  # rises, if differences wrap
            lambda a: a.__setitem__(slice(1, 4), [2**63 - 1, -(2**63), -1]),
            r"indptr\.npy .*empty",
        ),
        ("indptr", lambda a: a.__setitem__(0, 1), r"indptr\.npy is damaged"),
    ],
)
def test_wrong_content_under_right_checksums(corpus, name, change, pattern):
    resign(corpus, f"shards/00000/{name}.npy", lambda array: None)
    verify(corpus)
    resign(corpus, f"shards/00000/{name}.npy", change)
    with pytest.raises(DataError, match=pattern):
        verify(corpus)


def test_opening(corpus, tmp_path):
    with pytest.raises(DataError, match=r"nowhere does not exist"):
        Corpus.open(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"is not a corpus \(no corpus.json\)"):
        Corpus.open(tmp_path)
    index = json.loads((corpus / "corpus.json").read_text())
    for change, pattern in (
        ({"version": 3}, "version 3, this topicmc reads 1 to 2"),
        ({"format": "zarr"}, "does not describe a corpus"),
        ({"n_docs": 7}, "changed or damaged"),
    ):
        (corpus / "corpus.json").write_text(json.dumps(index | change))
        with pytest.raises(DataError, match=pattern):
            Corpus.open(corpus)
    for raw in (b"[]", b"{}", b"\xff", b""):
        (corpus / "corpus.json").write_bytes(raw)
        with pytest.raises(DataError, match=r"corpus\.json cannot be read"):
            Corpus.open(corpus)


@pytest.mark.parametrize("name", ["corpus.json", "vocabulary.txt", "shards/00000/counts.npy"])
def test_what_the_system_refuses_is_not_called_damaged(corpus, monkeypatch, name):
    """To prepare anew takes hours, and would not help."""
    plain = Path.open

    def refuse(path, *args, **options):
        if path == corpus / name:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return plain(path, *args, **options)

    monkeypatch.setattr(Path, "open", refuse)
    for read in (verify, lambda path: (Corpus.open(path).vocabulary, Corpus.open(path).shard(0))):
        with pytest.raises(DataError, match=rf"{name}: cannot be read \(.*\); check the disk, and"):
            read(corpus)


def test_shards_are_read_only_maps(corpus):
    shard = Corpus.open(corpus).shard(1)
    for array in (shard.indptr, shard.word_ids, shard.counts):
        assert type(array) is np.ndarray and not array.flags.writeable
        assert isinstance(array.base, np.memmap)


@pytest.mark.parametrize(
    ("n_words", "count", "dtypes"),
    [
        (65_536, 65_535, ("uint16", "uint16")),
        (65_537, 65_536, ("uint32", "uint32")),
    ],
)
def test_dtypes_follow_the_corpus(tmp_path, n_words, count, dtypes):
    last = n_words - 1
    bags.ldac(tmp_path / "x.ldac", [{0: 1, last: count}], n_words)
    (tmp_path / "vocab.txt").write_text("\n".join(f"w{i}" for i in range(n_words)))
    corpus = prepare(tmp_path / "x.ldac", tmp_path / "out")
    shard = corpus.shard(0)
    assert (shard.word_ids.dtype.name, shard.counts.dtype.name) == dtypes
    assert bags.read_back(shard) == [{0: 1, last: count}]
    assert corpus.heldout.n_docs == 0
    verify(corpus.path)


def test_growing_npy_is_what_numpy_writes(tmp_path):
    for parts in ([], [0], [3, 0, 100_000], [1] * 12):
        path = tmp_path / "a.npy"
        writer = NpyWriter(path, np.uint16)
        values = [np.arange(size) for size in parts]
        for value in values:
            writer.append(value)
        writer.close()
        expected = np.concatenate([*values, []]).astype(np.uint16)
        buffer = io.BytesIO()
        np.save(buffer, expected)
        assert path.read_bytes() == buffer.getvalue()


def test_documents_check_their_shape():
    ids = np.zeros(3, dtype=np.uint16)
    assert Documents(offsets(np.array([1, 2])), ids, ids + 2).n_tokens == 6
    for arrays in (([], ids, ids), ([0, 2], ids, ids), ([0, 3], ids, ids[:2])):
        with pytest.raises(ValueError):
            Documents(np.array(arrays[0], dtype=np.int64), *arrays[1:])


def test_large_corpora_are_not_read_again_at_every_start(corpus, monkeypatch):
    """A stamp spares the reading; whatever touches a file ends that; verify trusts none."""
    monkeypatch.setattr(stamps, "_SETTLED", 600_000_000_000)
    read = []
    plain = store.sha256
    monkeypatch.setattr(store, "sha256", lambda path: read.append(path.name) or plain(path))
    Corpus.open(corpus).check([0])
    assert len(read) == 6
    Corpus.open(corpus).check([0])
    assert len(read) == 12, "files of this very moment are read again"
    monkeypatch.setattr(stamps, "_SETTLED", 0)
    Corpus.open(corpus).check([0])
    read.clear()
    Corpus.open(corpus).check([0])
    assert read == []
    Corpus.open(corpus).check([0, 1])
    assert len(read) == 3
    shard = corpus / "shards/00000/counts.npy"
    raw = bytearray(shard.read_bytes())
    raw[-1] ^= 1
    time.sleep(0.02)
    shard.write_bytes(raw)
    with pytest.raises(DataError, match=r"counts\.npy was changed"):
        Corpus.open(corpus).check([0])
    raw[-1] ^= 1
    shard.write_bytes(raw)
    (corpus / stamps.NAME).write_text("[")
    Corpus.open(corpus).check([0, 1])
    verify(corpus)


def test_corpus_that_cannot_be_written_is_checked_all_the_same(corpus, monkeypatch):
    def fail(*args):
        raise PermissionError(13, "no")

    read = []
    plain = store.sha256
    monkeypatch.setattr(store, "sha256", lambda path: read.append(path.name) or plain(path))
    monkeypatch.setattr(stamps, "write_text", fail)
    monkeypatch.setattr(stamps, "_SETTLED", 0)
    Corpus.open(corpus).check([0, 1])
    Corpus.open(corpus).check([0, 1])
    assert len(read) == 9, "once in a process"
