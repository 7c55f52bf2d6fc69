"""All documents of a preparation as read, on disk, before pruning and splitting."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np

from topicmc.corpora.documents import Documents, offsets

_BLOCK_ENTRIES = 1 << 20


class Spool:
    """An append-only store of documents, read back in the same blocks; it lives in bounded memory.

    Documents without entries are not kept.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.n_docs = 0
        self.n_entries = 0
        self.n_tokens = 0
        self.max_count = 0
        self._paths = [folder / name for name in ("lengths", "word_ids", "counts")]
        self._files = [path.open("wb") for path in self._paths]
        self._blocks: list[tuple[int, int]] = []

    def append(self, documents: Documents) -> None:
        lengths = documents.lengths
        kept = lengths[lengths > 0].astype(np.uint32)
        if len(kept) == 0:
            return
        columns = (kept, documents.word_ids, documents.counts)
        for file, column in zip(self._files, columns, strict=True):
            file.write(np.ascontiguousarray(column, dtype=np.uint32).data)
        self._count_block(len(kept), documents.n_entries)
        self.n_docs += len(kept)
        self.n_entries += documents.n_entries
        self.n_tokens += documents.n_tokens
        self.max_count = max(self.max_count, int(documents.counts.max()))

    def _count_block(self, n_docs: int, n_entries: int) -> None:
        """Small neighbours are read back as one block."""
        if self._blocks and self._blocks[-1][1] + n_entries <= _BLOCK_ENTRIES:
            last_docs, last_entries = self._blocks.pop()
            n_docs, n_entries = n_docs + last_docs, n_entries + last_entries
        self._blocks.append((n_docs, n_entries))

    def blocks(self) -> Iterator[Documents]:
        """Reads rather than maps: pages of a map would count as this process's memory."""
        for file in self._files:
            file.flush()
        lengths, word_ids, counts = (path.open("rb") for path in self._paths)
        with lengths, word_ids, counts:
            for n_docs, n_entries in self._blocks:
                yield Documents(
                    offsets(np.fromfile(lengths, np.uint32, n_docs)),
                    np.fromfile(word_ids, np.uint32, n_entries),
                    np.fromfile(counts, np.uint32, n_entries),
                )

    def close(self) -> None:
        """Also after a failure, when what is still buffered may find no space: nobody needs it."""
        for file in self._files:
            with suppress(OSError):
                file.close()
