"""One part of a corpus, a shard or the held-out documents: a folder of arrays."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from topicmc.corpora.documents import Documents
from topicmc.corpora.files import NpyWriter, sha256
from topicmc.corpora.metadata import FILES, NO_DAY, NO_ROW, TEXTS, TIME, Metadata, kinds
from topicmc.corpora.strings import Strings
from topicmc.errors import DataError
from topicmc.storage.arrays import load_array
from topicmc.storage.files import unreadable, within

ARRAYS = ("indptr", "word_ids", "counts")
_DTYPES: dict[str, tuple[np.dtype, ...]] = {"times": (TIME,), "rows": (np.dtype(np.int64),)}
_OF_TEXTS = np.dtype(np.uint8), np.dtype(np.int64)


def id_dtype(n_words: int) -> np.dtype:
    return np.dtype(np.uint16 if n_words <= 1 << 16 else np.uint32)


def count_dtype(largest: int) -> np.dtype:
    return np.dtype(np.uint16 if largest < 1 << 16 else np.uint32)


class PartWriter:
    """Appends to arrays in ``root/name``: own ones, of some types, and those of the ``kinds`` of
    metadata that are kept, of those in `FILES`. The files are closed when the block ends."""

    def __init__(
        self, root: Path, name: str, dtypes: dict[str, np.dtype], kinds: Sequence[str]
    ) -> None:
        self._name, self._kinds = name, kinds
        self._folder = root / name
        self._folder.mkdir(parents=True)
        for kind in kinds:
            dtypes = dtypes | dict(zip(FILES[kind], _DTYPES.get(kind, _OF_TEXTS), strict=True))
        self._files = {
            array: NpyWriter(self._folder / f"{array}.npy", dtype)
            for array, dtype in dtypes.items()
        }
        for kind in TEXTS.keys() & set(kinds):
            self._files[TEXTS[kind][1]].append(np.zeros(1, dtype=np.int64))

    def _append_metadata(self, metadata: Metadata) -> None:
        for kind in self._kinds:
            values = getattr(metadata, kind)
            if kind in TEXTS:
                text, offsets = (self._files[array] for array in TEXTS[kind])
                offsets.append(values.offsets[1:] + text.size)
                text.append(values.text)
            else:
                self._files[kind].append(values)

    def _finish(self) -> dict[str, str]:
        """Closes the files, and returns their checksums."""
        for file in self._files.values():
            file.close()
        return {array: sha256(self._folder / f"{array}.npy") for array in self._files}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        for file in self._files.values():
            file.abandon()


class ShardWriter(PartWriter):
    """Appends documents to ``root/name``; ``close`` returns the shard's row of the table.

    ``kinds`` says which metadata are kept.
    """

    def __init__(
        self,
        root: Path,
        name: str,
        ids: np.dtype,
        counts: np.dtype,
        kinds: Sequence[str] = (),
    ) -> None:
        dtypes = {"indptr": np.dtype(np.int64), "word_ids": ids, "counts": counts}
        super().__init__(root, name, dtypes, kinds)
        self._files["indptr"].append(np.zeros(1, dtype=np.int64))
        self._n_tokens = 0

    def append(self, documents: Documents) -> None:
        self._files["indptr"].append(documents.indptr[1:] + self._files["word_ids"].size)
        self._files["word_ids"].append(documents.word_ids)
        self._files["counts"].append(documents.counts)
        self._n_tokens += documents.n_tokens
        self._append_metadata(documents.metadata or Metadata.blank(documents.n_docs))

    def close(self) -> dict[str, Any]:
        return {
            "name": self._name,
            "n_docs": self._files["indptr"].size - 1,
            "n_entries": self._files["word_ids"].size,
            "n_tokens": self._n_tokens,
            "sha256": self._finish(),
        }


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
    """What a part has of the kinds in ``wanted``; blank where it has none of a kind. DataError as
    above."""
    n_docs = table["n_docs"]
    has = set(kinds(table)) & set(wanted)
    texts = (
        _map_strings(root, table, kind) if kind in has else Strings.blank(n_docs) for kind in TEXTS
    )
    times, rows = (
        map_array(file_of(root, table, kind), dtype, n_docs)
        if kind in has
        else np.full(n_docs, nothing, np.int64).view(dtype)
        for kind, dtype, nothing in (("times", TIME, NO_DAY), ("rows", np.dtype(np.int64), NO_ROW))
    )
    return Metadata.with_texts(texts, times, rows)


def _map_strings(root: Path, table: dict[str, Any], kind: str) -> Strings:
    text_name, offsets_name = TEXTS[kind]
    text = map_array(file_of(root, table, text_name), np.dtype(np.uint8))
    offsets = file_of(root, table, offsets_name)
    starts = map_array(offsets, np.dtype(np.int64), table["n_docs"] + 1)
    _check_ends(offsets, starts, len(text))
    return Strings(text, starts)


def map_array(path: Path, dtype: np.dtype, size: int | None = None) -> np.ndarray:
    """A read-only map of a one-dimensional .npy file; DataError unless it is as expected."""
    try:
        array = load_array(path, mmap=True)
    except FileNotFoundError as error:
        raise DataError(f"{path} is missing: prepare the corpus again") from error
    except OSError as error:
        raise unreadable(path, error) from error
    except ValueError as error:
        raise DataError(f"{path} is truncated or damaged: prepare the corpus again") from error
    shape = (array.size if size is None else size,)
    if array.dtype != dtype or array.shape != shape:
        raise DataError(
            f"{path} holds {array.dtype} {array.shape} where corpus.json says {dtype} {shape}: "
            "prepare the corpus again"
        )
    return np.asarray(array)


def _check_ends(path: Path, indptr: np.ndarray, size: int) -> None:
    if int(indptr[0]) != 0 or int(indptr[-1]) != size:
        raise DataError(f"{path} is damaged: prepare the corpus again")
