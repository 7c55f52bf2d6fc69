"""A prepared corpus on disk: what its folder holds, how it is written and opened.

corpus.json      format version, counts, shard table with SHA-256 checksums, provenance
vocabulary.txt   one word a line; line i is word id i
shards/00000/    indptr.npy  word_ids.npy  counts.npy
heldout/         the same three
"""

import hashlib
import json
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from topicmc.corpora import stamps
from topicmc.corpora.documents import Documents
from topicmc.corpora.files import NpyWriter, sha256, write_text
from topicmc.corpora.parallel import thread_map, usable_cores
from topicmc.errors import DataError

INDEX = "corpus.json"
FORMAT = "topicmc-corpus"
VERSION = 1
ARRAYS = ("indptr", "word_ids", "counts")


def id_dtype(n_words: int) -> np.dtype:
    return np.dtype(np.uint16 if n_words <= 1 << 16 else np.uint32)


def count_dtype(largest: int) -> np.dtype:
    return np.dtype(np.uint16 if largest < 1 << 16 else np.uint32)


class ShardWriter:
    """Appends documents to ``root/name``; ``close`` returns the shard's row of the table."""

    def __init__(self, root: Path, name: str, ids: np.dtype, counts: np.dtype) -> None:
        self._name = name
        self._folder = root / name
        self._folder.mkdir(parents=True)
        dtypes = (np.dtype(np.int64), ids, counts)
        self._files = {
            array: NpyWriter(self._folder / f"{array}.npy", dtype)
            for array, dtype in zip(ARRAYS, dtypes, strict=True)
        }
        self._files["indptr"].append(np.zeros(1, dtype=np.int64))
        self._n_tokens = 0

    def append(self, documents: Documents) -> None:
        self._files["indptr"].append(documents.indptr[1:] + self._files["word_ids"].size)
        self._files["word_ids"].append(documents.word_ids)
        self._files["counts"].append(documents.counts)
        self._n_tokens += documents.n_tokens

    def close(self) -> dict[str, Any]:
        for file in self._files.values():
            file.close()
        return {
            "name": self._name,
            "n_docs": self._files["indptr"].size - 1,
            "n_entries": self._files["word_ids"].size,
            "n_tokens": self._n_tokens,
            "sha256": {array: sha256(self._folder / f"{array}.npy") for array in ARRAYS},
        }

    def __enter__(self) -> "ShardWriter":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for file in self._files.values():
            file.abandon()


def write_vocabulary(path: Path, words: list[str]) -> None:
    write_text(path, "".join(f"{word}\n" for word in words))


def write_index(
    root: Path,
    *,
    n_words: int,
    dtypes: tuple[np.dtype, np.dtype],
    shards: list[dict[str, Any]],
    heldout: dict[str, Any],
    provenance: dict[str, Any],
) -> None:
    """Writes corpus.json, last of all: a folder without it is no corpus."""
    index: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "n_docs": sum(shard["n_docs"] for shard in shards),
        "n_words": n_words,
        "n_tokens": sum(shard["n_tokens"] for shard in shards),
        "n_entries": sum(shard["n_entries"] for shard in shards),
        "n_heldout": heldout["n_docs"],
        "dtypes": {"word_ids": dtypes[0].name, "counts": dtypes[1].name},
        "vocabulary": {"name": "vocabulary.txt", "sha256": sha256(root / "vocabulary.txt")},
        "shards": shards,
        "heldout": heldout,
        "provenance": provenance,
    }
    index["fingerprint"] = content_fingerprint(index)
    index["checksum"] = index_checksum(index)
    write_text(root / INDEX, json.dumps(index, indent=1, ensure_ascii=False) + "\n")


def index_checksum(index: dict[str, Any]) -> str:
    """SHA-256 of the index without this very field."""
    rest = {key: value for key, value in index.items() if key != "checksum"}
    canonical = json.dumps(rest, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def content_fingerprint(index: dict[str, Any]) -> str:
    """Of the content alone: the checksums of vocabulary, shards and held-out documents."""
    parts = [index["vocabulary"]["sha256"]]
    for table in [*index["shards"], index["heldout"]]:
        parts += [table["sha256"][array] for array in ARRAYS]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


class Corpus:
    """A prepared corpus, opened; its documents are memory-mapped when asked for.

    Counts speak of the training documents; the held-out ones stand apart in ``heldout``.
    """

    def __init__(self, path: Path, index: dict[str, Any]) -> None:
        self.path = path
        self.index = index
        self.n_docs: int = index["n_docs"]
        self.n_words: int = index["n_words"]
        self.n_tokens: int = index["n_tokens"]
        self.n_entries: int = index["n_entries"]
        self.n_heldout: int = index["n_heldout"]
        self.fingerprint: str = index["fingerprint"]
        self.provenance: dict[str, Any] = index["provenance"]
        self.shard_sizes: list[int] = [shard["n_docs"] for shard in index["shards"]]
        self.n_shards = len(self.shard_sizes)

    @classmethod
    def open(cls, path: str | Path) -> "Corpus":
        """Reads corpus.json only. DataError when it is missing, damaged or of another version."""
        path = Path(path)
        return cls(path, read_index(path))

    @cached_property
    def vocabulary(self) -> list[str]:
        """Word i is the word of id i; DataError when the file disagrees with corpus.json."""
        path = self.path / self.index["vocabulary"]["name"]
        if not path.is_file():
            raise DataError(f"{path} is missing: prepare the corpus again.")
        if sha256(path) != self.index["vocabulary"]["sha256"]:
            raise DataError(f"{path} was changed or damaged: prepare the corpus again.")
        return path.read_text(encoding="utf-8").split("\n")[:-1]

    def shard(self, number: int) -> Documents:
        """Training documents of one shard, memory-mapped and read-only.

        Raises DataError when a file is missing, truncated or not of the size in corpus.json.
        """
        return self._documents(self.index["shards"][number])

    @property
    def heldout(self) -> Documents:
        """The documents kept out of training, as ``shard`` gives its own."""
        return self._documents(self.index["heldout"])

    def check(self, shards: Iterable[int]) -> None:
        """Reads some shards and the held-out documents; DataError names a file whose bytes are not
        those that corpus.json promises. Files that were read before and have not been touched
        since are not read again (`stamps`)."""
        sums: dict[str, str] = {}
        for table in [*(self.index["shards"][number] for number in shards), self.index["heldout"]]:
            self._documents(table)
            for array in ARRAYS:
                sums[f"{table['name']}/{array}.npy"] = table["sha256"][array]
        names = stamps.unchecked(self.path, sums)
        if not names:
            return
        digests = thread_map(self._digest, names, usable_cores())
        for name, digest in zip(names, digests, strict=True):
            if digest != sums[name]:
                raise DataError(
                    f"{self.path / name} was changed or damaged: prepare the corpus again."
                )
        stamps.stamp(self.path, sums, names)

    def _digest(self, name: str) -> str:
        return sha256(self.path / name)

    def _documents(self, table: dict[str, Any]) -> Documents:
        dtypes = self.index["dtypes"]
        sizes = {
            "indptr": (np.dtype(np.int64), table["n_docs"] + 1),
            "word_ids": (np.dtype(dtypes["word_ids"]), table["n_entries"]),
            "counts": (np.dtype(dtypes["counts"]), table["n_entries"]),
        }
        folder = self.path / table["name"]
        arrays = [map_array(folder / f"{name}.npy", *sizes[name]) for name in ARRAYS]
        if int(arrays[0][0]) != 0 or int(arrays[0][-1]) != table["n_entries"]:
            raise DataError(f"{folder / 'indptr.npy'} is damaged: prepare the corpus again.")
        return Documents(*arrays)


def map_array(path: Path, dtype: np.dtype, size: int) -> np.ndarray:
    """A read-only map of a one-dimensional .npy file; DataError unless it is as expected."""
    try:
        # An empty file part cannot be mapped.
        array = np.load(path, mmap_mode="r" if size else None, allow_pickle=False)
    except FileNotFoundError as error:
        raise DataError(f"{path} is missing: prepare the corpus again.") from error
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"{path} is truncated or damaged: prepare the corpus again.") from error
    if array.dtype != dtype or array.shape != (size,):
        raise DataError(
            f"{path} holds {array.dtype} {array.shape} where corpus.json says {dtype} ({size},): "
            "prepare the corpus again."
        )
    return np.asarray(array)


def read_index(path: Path) -> dict[str, Any]:
    """corpus.json of the corpus at path, checked against its own checksum."""
    file = path / INDEX
    if not path.exists():
        raise DataError(f"{path} does not exist: make a corpus with topicmc prepare.")
    if not file.is_file():
        raise DataError(f"{path} is not a corpus (no {INDEX}): make one with topicmc prepare.")
    try:
        index = json.loads(file.read_text(encoding="utf-8"))
        kind, version = index["format"], index["version"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{file} cannot be read: prepare the corpus again.") from error
    if kind != FORMAT:
        raise DataError(f"{file} does not describe a corpus of topicmc: check the path.")
    if version != VERSION:
        raise DataError(
            f"{file} has version {version}, this topicmc reads {VERSION}: prepare the corpus again "
            "or use the topicmc that made it."
        )
    if index.get("checksum") != index_checksum(index):
        raise DataError(f"{file} was changed or damaged: prepare the corpus again.")
    return index
