"""All rows of a preparation as read, on disk, before pruning and splitting."""

from collections.abc import Collection, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from topicmc.corpora.documents import Documents
from topicmc.corpora.metadata import NO_DAY, NO_ROW, TEXTS, TIME, Metadata
from topicmc.corpora.offsets import offsets
from topicmc.corpora.strings import Strings

_BLOCK_ENTRIES = 1 << 20
_BLOCK_DOCS = 1 << 16
_BLOCK_TEXT = 1 << 26  # bytes of what is kept with documents
_FILES = {
    "lengths": np.uint32,
    "word_ids": np.uint32,
    "counts": np.uint32,
    "digests": np.uint64,
    "reasons": np.uint8,
    "days": np.int64,
    "rows": np.int64,
    **dict.fromkeys(TEXTS, np.uint8),
    **{f"{kind}_lengths": np.uint32 for kind in TEXTS},
}


class Block(NamedTuple):
    """Rows as they were read.

    digests  uint64 (n,): equal for equal documents
    reasons  uint8 (n,): why a row has no words, of `topicmc.corpora.dropped`, or `KEPT`
    """

    documents: Documents
    digests: np.ndarray
    reasons: np.ndarray


class Spool:
    """An append-only store of rows, read back in the same blocks; it lives in bounded memory.

    Rows without entries are kept, too, but ``n_docs`` does not count them.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.n_docs = 0
        self.n_entries = 0
        self.n_tokens = 0
        self.max_count = 0
        self._known = dict.fromkeys((*TEXTS, "times", "rows"), 0)
        self._paths = {name: folder / name for name in _FILES}
        self._files = {name: path.open("wb") for name, path in self._paths.items()}
        self._blocks: list[tuple[int, int, int]] = []  # documents, entries, bytes of texts

    def append(self, documents: Documents, digests: np.ndarray, reasons: np.ndarray) -> None:
        if documents.n_docs == 0:
            return
        self._write("lengths", documents.lengths)
        self._write("word_ids", documents.word_ids)
        self._write("counts", documents.counts)
        self._write("digests", digests)
        self._write("reasons", reasons)
        metadata = documents.metadata or Metadata.blank(documents.n_docs)
        self._write_metadata(metadata)
        self._count_block(documents.n_docs, documents.n_entries, metadata.n_bytes)
        self.n_docs += int(np.count_nonzero(documents.lengths))
        self.n_entries += documents.n_entries
        self.n_tokens += documents.n_tokens
        self.max_count = max(self.max_count, int(documents.counts.max(initial=0)))

    def _write_metadata(self, metadata: Metadata) -> None:
        days = metadata.times.view(np.int64)
        for kind in TEXTS:
            strings = getattr(metadata, kind)
            self._write(kind, strings.text)
            self._write(f"{kind}_lengths", strings.lengths)
            self._known[kind] += strings.n_known
        self._write("days", days)
        self._write("rows", metadata.rows)
        self._known["times"] += int(np.count_nonzero(days != NO_DAY))
        self._known["rows"] += int(np.count_nonzero(metadata.rows != NO_ROW))

    def _write(self, name: str, values: np.ndarray) -> None:
        self._files[name].write(np.ascontiguousarray(values, dtype=_FILES[name]).data)

    def _count_block(self, n_docs: int, n_entries: int, n_bytes: int) -> None:
        """Small neighbours are read back as one block."""
        if self._blocks:
            docs, entries, text = self._blocks[-1]
            docs, entries, text = docs + n_docs, entries + n_entries, text + n_bytes
            if docs <= _BLOCK_DOCS and entries <= _BLOCK_ENTRIES and text <= _BLOCK_TEXT:
                self._blocks[-1] = docs, entries, text
                return
        self._blocks.append((n_docs, n_entries, n_bytes))

    @property
    def kinds(self) -> list[str]:
        """Which kinds of metadata some row has."""
        return [kind for kind, number in self._known.items() if number]

    def blocks(self, texts: Collection[str] = TEXTS) -> Iterator[Block]:
        """With those ``texts`` of their metadata that are asked for; others are blank. Reads rather
        than maps: pages of a map would count as this process's memory."""
        self.flush()
        with ExitStack() as stack:
            files = {n: stack.enter_context(path.open("rb")) for n, path in self._paths.items()}

            def read(name: str, size: int) -> np.ndarray:
                return np.fromfile(files[name], _FILES[name], size)

            def read_strings(kind: str, size: int) -> Strings:
                if kind not in texts:
                    return Strings.blank(size)
                starts = offsets(read(f"{kind}_lengths", size))
                return Strings(read(kind, int(starts[-1])), starts)

            for n_docs, n_entries, _ in self._blocks:
                metadata = Metadata.with_texts(
                    (read_strings(kind, n_docs) for kind in TEXTS),
                    read("days", n_docs).view(TIME),
                    read("rows", n_docs),
                )
                documents = Documents(
                    offsets(read("lengths", n_docs)),
                    read("word_ids", n_entries),
                    read("counts", n_entries),
                    metadata,
                )
                yield Block(documents, read("digests", n_docs), read("reasons", n_docs))

    def flush(self) -> None:
        for file in self._files.values():
            file.flush()

    def close(self) -> None:
        """Also after a failure, when what is still buffered may find no space: it is not needed."""
        for file in self._files.values():
            with suppress(OSError):
                file.close()
