"""All documents of a preparation as read, on disk, before pruning and splitting."""

from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import numpy as np

from topicmc.corpora.documents import Documents, offsets
from topicmc.corpora.metadata import NO_DAY, TIME, Metadata

_BLOCK_ENTRIES = 1 << 20
_FILES = {
    "lengths": np.uint32,
    "word_ids": np.uint32,
    "counts": np.uint32,
    "title_lengths": np.uint32,
    "titles": np.uint8,
    "days": np.int64,
}


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
        self.n_titles = 0
        self.n_times = 0
        self._paths = {name: folder / name for name in _FILES}
        self._files = {name: path.open("wb") for name, path in self._paths.items()}
        self._blocks: list[tuple[int, int]] = []

    def append(self, documents: Documents) -> None:
        lengths = documents.lengths
        kept = lengths > 0
        n_docs = int(np.count_nonzero(kept))
        if n_docs == 0:
            return
        self._write("lengths", lengths[kept])
        self._write("word_ids", documents.word_ids)
        self._write("counts", documents.counts)
        metadata = documents.metadata
        self._write_metadata(metadata.select(kept) if metadata else Metadata.blank(n_docs))
        self._count_block(n_docs, documents.n_entries)
        self.n_docs += n_docs
        self.n_entries += documents.n_entries
        self.n_tokens += documents.n_tokens
        self.max_count = max(self.max_count, int(documents.counts.max()))

    def _write_metadata(self, metadata: Metadata) -> None:
        days = metadata.times.view(np.int64)
        self._write("title_lengths", metadata.lengths)
        self._write("titles", metadata.text)
        self._write("days", days)
        self.n_titles += int(np.count_nonzero(metadata.lengths))
        self.n_times += int(np.count_nonzero(days != NO_DAY))

    def _write(self, name: str, values: np.ndarray) -> None:
        self._files[name].write(np.ascontiguousarray(values, dtype=_FILES[name]).data)

    def _count_block(self, n_docs: int, n_entries: int) -> None:
        """Small neighbours are read back as one block."""
        if self._blocks and self._blocks[-1][1] + n_entries <= _BLOCK_ENTRIES:
            last_docs, last_entries = self._blocks.pop()
            n_docs, n_entries = n_docs + last_docs, n_entries + last_entries
        self._blocks.append((n_docs, n_entries))

    @property
    def kinds(self) -> list[str]:
        """Which metadata some document has, of "titles" and "times"."""
        known = {"titles": self.n_titles, "times": self.n_times}
        return [kind for kind, number in known.items() if number]

    def blocks(self) -> Iterator[Documents]:
        """Reads rather than maps: pages of a map would count as this process's memory."""
        for file in self._files.values():
            file.flush()
        with ExitStack() as stack:
            files = {n: stack.enter_context(path.open("rb")) for n, path in self._paths.items()}

            def read(name: str, size: int) -> np.ndarray:
                return np.fromfile(files[name], _FILES[name], size)

            for n_docs, n_entries in self._blocks:
                lengths = read("lengths", n_docs)
                word_ids, counts = read("word_ids", n_entries), read("counts", n_entries)
                metadata = None
                if self.kinds:
                    starts = offsets(read("title_lengths", n_docs))
                    text = read("titles", int(starts[-1]))
                    metadata = Metadata(text, starts, read("days", n_docs).view(TIME))
                yield Documents(offsets(lengths), word_ids, counts, metadata)

    def close(self) -> None:
        """Also after a failure, when what is still buffered may find no space: nobody needs it."""
        for file in self._files.values():
            with suppress(OSError):
                file.close()
