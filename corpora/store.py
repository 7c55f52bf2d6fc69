"""A prepared corpus on disk: what its folder holds, opened and checked.

corpus.json      format version, counts, shard table with SHA-256 checksums, provenance
vocabulary.txt   one word a line; line i is word id i
shards/00000/    indptr.npy  word_ids.npy  counts.npy, and of what is known of the documents:
                 rows.npy  ids.npy  id_offsets.npy  titles.npy  title_offsets.npy  times.npy
                 columns.npy  column_offsets.npy
heldout/         the same
dropped/         spans.npy  reasons.npy, and what is known of the rows that made no document
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from topicmc.corpora import stamps
from topicmc.corpora.documents import Documents
from topicmc.corpora.dropped import ARRAYS as DROPPED
from topicmc.corpora.dropped import Dropped, map_dropped
from topicmc.corpora.files import sha256
from topicmc.corpora.index import INDEX, VOCABULARY, read_index
from topicmc.corpora.metadata import FILES, kinds
from topicmc.corpora.naming import Named, Places, read_columns
from topicmc.corpora.parallel import thread_map
from topicmc.corpora.shards import ARRAYS, file_of, map_documents, map_metadata
from topicmc.corpora.soundness import check_documents, check_metadata, damaged
from topicmc.corpora.strings import Texts
from topicmc.corpora.text.tokenizer import Tokenizer
from topicmc.errors import DataError
from topicmc.host.machine import available_cores
from topicmc.storage.files import within

T = TypeVar("T")


class Corpus:
    """A prepared corpus, opened; its documents are memory-mapped when asked for.

    Counts speak of the training documents; the held-out ones stand apart in ``heldout``.

    Attributes:
        path: its folder.
        n_docs, n_tokens, n_entries: training documents, their tokens, and entries, which are the
            distinct words of documents.
        n_words: words of the vocabulary.
        n_heldout: documents kept out of training.
        n_shards: parts of the training documents, for `shard`.
        fingerprint: names the corpus; another one has another.
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

    @property
    def tokenizer(self) -> Tokenizer:
        """How its texts were cut into words; DataError when corpus.json says nothing that can
        be."""
        return Tokenizer.read(self.path / INDEX, self.provenance)

    @cached_property
    def vocabulary(self) -> list[str]:
        """Word i is the word of id i; DataError when the file disagrees with corpus.json."""
        path = within(self.path, self.path / VOCABULARY)
        if not path.is_file():
            raise DataError(f"{path} is missing: prepare the corpus again")
        if sha256(path) != self.index["vocabulary"]["sha256"]:
            raise DataError(f"{path} was changed or damaged: prepare the corpus again")
        try:
            words = path.read_bytes().decode().split("\n")[:-1]
        except UnicodeDecodeError as error:
            raise damaged(path, "it is not UTF-8") from error
        if len(words) != self.n_words:
            raise damaged(path, f"it holds {len(words)} words, {INDEX} says {self.n_words}")
        return words

    @cached_property
    def titles(self) -> Texts[str] | None:
        """The title of each training document, shard after shard; "" where it has none. None when
        no document has one. DataError when a file disagrees with corpus.json."""
        return self._texts("titles", str)

    @cached_property
    def ids(self) -> Texts[str] | None:
        """The id of each training document, as ``titles``."""
        return self._texts("ids", str)

    @cached_property
    def columns(self) -> Texts[dict[str, Any]] | None:
        """What was kept of the row of each training document, by the names of the columns."""
        return self._texts("columns", read_columns)

    @cached_property
    def times(self) -> np.ndarray | None:
        """datetime64[D] (n_docs,), read-only, NaT where unknown, in the order of ``titles``. None
        when no document has one. Mapped, and joined in memory only when there are several shards.
        """
        return self._array("times")

    @cached_property
    def rows(self) -> np.ndarray | None:
        """int64 (n_docs,), as ``times``: where each training document stands in the sources,
        counted from 1 through all of them (`places`); 0 where unknown."""
        return self._array("rows")

    @cached_property
    def places(self) -> Places:
        """The files and lines of rows."""
        return Places(self.index.get("sources", []))

    @property
    def tables(self) -> list[dict[str, Any]]:
        """What corpus.json says of each part: shards, held-out documents, dropped rows if known."""
        dropped = [self.index["dropped"]] if "dropped" in self.index else []
        return [*self.index["shards"], self.index["heldout"], *dropped]

    @property
    def n_dropped(self) -> int:
        """Rows of the sources that made no document, as far as they are known."""
        return self.index["dropped"]["n_rows"] if "dropped" in self.index else 0

    @property
    def dropped(self) -> Dropped | None:
        """The rows of the sources that made no document; None when they are not known."""
        table = self.index.get("dropped")
        if table is None:
            return None
        self.check_parts([table], table["sha256"])
        return map_dropped(self.path, table, kinds(table))

    def about(self, number: int) -> Named:
        """What is known of a training document, by its number from 0, shard after shard."""
        row = 0 if self.rows is None else int(self.rows[number])
        return Named(
            number,
            self.ids[number] or None if self.ids else None,
            self.places.place(row),
            self.titles[number] or None if self.titles else None,
            self.columns[number] if self.columns else None,
        )

    def _texts(self, kind: str, read: Callable[[str], T]) -> Texts[T] | None:
        tables = self._checked(kind)
        sizes = [table["n_docs"] for table in tables]
        return Texts(sizes, partial(_mapped, self.path, tables, kind), read) if tables else None

    def _array(self, kind: str) -> np.ndarray | None:
        tables = self._checked(kind)
        if not tables:
            return None
        first = _mapped(self.path, tables, kind, 0)
        if len(tables) == 1:
            return first
        joined = np.empty(self.n_docs, first.dtype)
        parts = np.split(joined, np.cumsum(self.shard_sizes)[:-1])
        for number, part in enumerate(parts):  # one by one, as a process may open few files
            part[:] = _mapped(self.path, tables, kind, number)
        joined.flags.writeable = False
        return joined

    def _checked(self, kind: str) -> list[dict[str, Any]]:
        """The shards, whose metadata of a kind are sound; none at all when no shard has any."""
        tables = self.index["shards"]
        if not any(kind in kinds(table) for table in tables):
            return []
        self.check_parts(tables, FILES[kind])
        return tables

    def shard(self, number: int) -> Documents:
        """Training documents of one shard, memory-mapped and read-only, without their metadata.

        Raises DataError when a file is missing, truncated or not of the size in corpus.json.
        """
        return map_documents(self.path, self.index["shards"][number], self.index["dtypes"])

    @property
    def heldout(self) -> Documents:
        """The documents kept out of training, as ``shard`` gives its own."""
        return map_documents(self.path, self.index["heldout"], self.index["dtypes"])

    def part(self, table: dict[str, Any]) -> Documents:
        """Documents with their metadata; ``table`` is a row of shards, or heldout, in the index."""
        documents = map_documents(self.path, table, self.index["dtypes"])
        has = kinds(table)
        return replace(documents, metadata=map_metadata(self.path, table, has) if has else None)

    def check(self, shards: Iterable[int], *, metadata: bool = False) -> None:
        """Reads some shards and the held-out documents; DataError names a file whose bytes are not
        those that corpus.json promises, or cannot be documents (`soundness`). Files that were read
        before and have not been touched since are not read again (`stamps`). Metadata and what was
        dropped are read only with ``metadata``."""
        tables = [*(self.index["shards"][number] for number in shards), self.index["heldout"]]
        for table in tables:
            map_documents(self.path, table, self.index["dtypes"])
        if metadata and "dropped" in self.index:
            tables.append(self.index["dropped"])
        arrays = (*ARRAYS, *DROPPED, *chain(*FILES.values())) if metadata else ARRAYS
        self.check_parts(tables, arrays)

    def check_parts(
        self, tables: Iterable[dict[str, Any]], arrays: Collection[str], *, afresh: bool = False
    ) -> None:
        """Checks some ``arrays`` of parts, of `tables`, as `check` does; with ``afresh`` all are
        read, and no stamps are made."""
        files = {
            f"{table['name']}/{array}.npy": (table, array)
            for table in tables
            for array in arrays
            if array in table["sha256"]
        }
        sums = {name: table["sha256"][array] for name, (table, array) in files.items()}
        names = [*sums] if afresh else stamps.unchecked(self.path, sums)
        if not names:
            return
        digests = thread_map(self._digest, (files[name] for name in names), available_cores())
        for name, digest in zip(names, digests, strict=True):
            if digest != sums[name]:
                raise DataError(
                    f"{self.path / name} was changed or damaged: prepare the corpus again"
                )
        # Once for the documents of a part, and once for what is known of them.
        new: dict[tuple[str, bool], tuple[dict[str, Any], list[str]]] = {}
        for table, array in (files[name] for name in names):
            new.setdefault((table["name"], array in ARRAYS), (table, []))[1].append(array)
        for _ in thread_map(self._check_content, new.values(), available_cores()):
            pass
        if not afresh:
            stamps.stamp(self.path, sums, names)

    def _digest(self, file: tuple[dict[str, Any], str]) -> str:
        path = file_of(self.path, *file)
        if not path.is_file():
            raise DataError(f"{path} is missing: prepare the corpus again")
        return sha256(path)

    def _check_content(self, part: tuple[dict[str, Any], list[str]]) -> None:
        table, arrays = part
        if arrays[0] in ARRAYS:
            check_documents(self.path, table, self.index["dtypes"], self.n_words)
        else:
            check_metadata(self.path, table, arrays, self.places.n_rows)


def _mapped(root: Path, tables: Sequence[dict[str, Any]], kind: str, number: int) -> Any:
    """What a shard has of a kind of metadata."""
    return getattr(map_metadata(root, tables[number], [kind]), kind)
