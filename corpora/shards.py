"""One part of a corpus, a shard or the held-out documents: a folder of arrays."""

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from topicmc.corpora.documents import Documents
from topicmc.corpora.files import NpyWriter, sha256
from topicmc.corpora.metadata import TIME, Metadata, kinds
from topicmc.errors import DataError
from topicmc.files import load_array, within

ARRAYS = ("indptr", "word_ids", "counts")


class ShardWriter:
    """Appends documents to ``root/name``; ``close`` returns the shard's row of the table.

    ``kinds`` says which metadata are kept: of "titles" and "times".
    """

    def __init__(
        self,
        root: Path,
        name: str,
        ids: np.dtype,
        counts: np.dtype,
        kinds: Sequence[str] = (),
    ) -> None:
        self._name = name
        self._folder = root / name
        self._folder.mkdir(parents=True)
        self._kinds = kinds
        dtypes = {"indptr": np.dtype(np.int64), "word_ids": ids, "counts": counts}
        if "titles" in kinds:
            dtypes |= {"titles": np.dtype(np.uint8), "title_offsets": np.dtype(np.int64)}
        if "times" in kinds:
            dtypes["times"] = TIME
        self._files = {
            array: NpyWriter(self._folder / f"{array}.npy", dtype)
            for array, dtype in dtypes.items()
        }
        for array in {"indptr", "title_offsets"} & self._files.keys():
            self._files[array].append(np.zeros(1, dtype=np.int64))
        self._n_tokens = 0

    def append(self, documents: Documents) -> None:
        self._files["indptr"].append(documents.indptr[1:] + self._files["word_ids"].size)
        self._files["word_ids"].append(documents.word_ids)
        self._files["counts"].append(documents.counts)
        self._n_tokens += documents.n_tokens
        if self._kinds:
            self._append_metadata(documents.metadata or Metadata.blank(documents.n_docs))

    def _append_metadata(self, metadata: Metadata) -> None:
        if "titles" in self._kinds:
            self._files["title_offsets"].append(metadata.offsets[1:] + self._files["titles"].size)
            self._files["titles"].append(metadata.text)
        if "times" in self._kinds:
            self._files["times"].append(metadata.times)

    def close(self) -> dict[str, Any]:
        for file in self._files.values():
            file.close()
        return {
            "name": self._name,
            "n_docs": self._files["indptr"].size - 1,
            "n_entries": self._files["word_ids"].size,
            "n_tokens": self._n_tokens,
            "sha256": {array: sha256(self._folder / f"{array}.npy") for array in self._files},
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


def file_of(root: Path, table: dict[str, Any], array: str) -> Path:
    """A file of a part; DataError when a symbolic link leads out of the corpus."""
    return within(root, root / table["name"] / f"{array}.npy")


def map_documents(root: Path, table: dict[str, Any], dtypes: dict[str, str]) -> Documents:
    """The documents of a part, without their metadata; DataError unless they are as told."""
    n_entries = table["n_entries"]
    starts = file_of(root, table, "indptr")
    indptr = map_array(starts, np.dtype(np.int64), table["n_docs"] + 1)
    word_ids, counts = (
        map_array(file_of(root, table, array), np.dtype(dtypes[array]), n_entries)
        for array in ("word_ids", "counts")
    )
    _check_ends(starts, indptr, n_entries)
    return Documents(indptr, word_ids, counts)


def map_metadata(root: Path, table: dict[str, Any], wanted: Sequence[str]) -> Metadata:
    """Titles, times or both of a part, as ``wanted`` says; blank where it has none of a kind.
    DataError as above."""
    n_docs = table["n_docs"]
    has = set(kinds(table)) & set(wanted)
    times = Metadata.blank(n_docs if "times" not in has else 0).times
    if "times" in has:
        times = map_array(file_of(root, table, "times"), TIME, n_docs)
    if "titles" not in has:
        return Metadata(np.empty(0, np.uint8), np.zeros(n_docs + 1, np.int64), times)
    text = map_array(file_of(root, table, "titles"), np.dtype(np.uint8))
    offsets = file_of(root, table, "title_offsets")
    starts = map_array(offsets, np.dtype(np.int64), n_docs + 1)
    _check_ends(offsets, starts, len(text))
    return Metadata(text, starts, times)


def map_array(path: Path, dtype: np.dtype, size: int | None = None) -> np.ndarray:
    """A read-only map of a one-dimensional .npy file; DataError unless it is as expected."""
    try:
        array = load_array(path, mmap=True)
    except FileNotFoundError as error:
        raise DataError(f"{path} is missing: prepare the corpus again.") from error
    except (OSError, ValueError) as error:
        raise DataError(f"{path} is truncated or damaged: prepare the corpus again.") from error
    shape = (array.size if size is None else size,)
    if array.dtype != dtype or array.shape != shape:
        raise DataError(
            f"{path} holds {array.dtype} {array.shape} where corpus.json says {dtype} {shape}: "
            "prepare the corpus again."
        )
    return np.asarray(array)


def _check_ends(path: Path, indptr: np.ndarray, size: int) -> None:
    if int(indptr[0]) != 0 or int(indptr[-1]) != size:
        raise DataError(f"{path} is damaged: prepare the corpus again.")
