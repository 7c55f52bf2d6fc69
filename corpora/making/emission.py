"""From the spool to a corpus folder: prune, hold out, cut into shards."""

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from topicmc.corpora.documents import Documents, kept_lengths, remap, select
from topicmc.corpora.dropped import KEPT, PRUNED, REPEATED, DroppedWriter
from topicmc.corpora.making.duplicates import first_of_each, repeating
from topicmc.corpora.making.split import choose_heldout
from topicmc.corpora.making.spool import Block, Spool
from topicmc.corpora.metadata import TEXTS
from topicmc.corpora.shards import ShardWriter, count_dtype, id_dtype
from topicmc.errors import UsageError

_SHARD_DOCS = 1_000_000
_SHARD_ENTRIES = 1 << 26  # on average


class Size(NamedTuple):
    """What pruning leaves.

    firsts   int64 (n_docs,): where the first document equal to each stands; None if all differ
    repeats  documents that repeat one before them
    """

    n_docs: int
    n_entries: int
    firsts: np.ndarray | None
    repeats: int


class Pruned:
    """The rows of a spool under their final ids, and which of them stay.

    ``new_ids`` are those of `settle`; ``repeated``, bool, one for each row of the spool, marks
    those to be left out as duplicates.
    """

    def __init__(
        self, spool: Spool, new_ids: np.ndarray | None, repeated: np.ndarray | None = None
    ) -> None:
        self.spool = spool
        self._new_ids = new_ids
        self._repeated = repeated

    def _blocks(
        self, texts: Collection[str] = TEXTS
    ) -> Iterator[tuple[Block, np.ndarray, np.ndarray]]:
        """With the entries that each row keeps, and why it is left out if it is."""
        start = 0
        for block in self.spool.blocks(texts):
            documents, lengths = block.documents, block.documents.lengths
            if self._new_ids is not None:
                lengths = kept_lengths(documents, self._new_ids[documents.word_ids] >= 0)
            nothing_left = (lengths == 0) & (block.reasons == KEPT)
            reasons = np.where(nothing_left, PRUNED, block.reasons).astype(np.uint8)
            if self._repeated is not None:
                again = self._repeated[start : start + documents.n_docs]
                reasons[again & (reasons == KEPT)] = REPEATED
            start += documents.n_docs
            yield block, lengths, reasons

    def measure(self) -> Size:
        """How much stays, and which documents of it are equal."""
        n_docs = n_entries = 0
        file = self.spool.folder / "digests_kept"
        with file.open("wb") as stream:
            for block, lengths, reasons in self._blocks(texts=()):
                stays = reasons == KEPT
                n_docs += int(np.count_nonzero(stays))
                n_entries += int(lengths[stays].sum())
                stream.write(block.digests[stays].data)
        return Size(n_docs, n_entries, *first_of_each(file))

    def documents(self, dropped: DroppedWriter) -> Iterator[Documents]:
        """Those that stay, with their metadata; the others go to ``dropped``."""
        for block, _, reasons in self._blocks():
            documents = block.documents
            if self._new_ids is not None:
                documents = remap(documents, self._new_ids)
            assert documents.metadata is not None
            dropped.append(documents.metadata, reasons)
            yield select(documents, reasons == KEPT)


def repeated_rows(spool: Spool) -> np.ndarray | None:
    """bool, one for each row of the spool: whether it repeats a row before it; None if none does.
    What it says of rows without words is to be passed over."""
    spool.flush()
    firsts, _ = first_of_each(spool.folder / "digests")
    return None if firsts is None else repeating(firsts)


class Split(NamedTuple):
    """How documents are split: shards (None: by size), held-out documents (None: a tenth, at most
    1,000), and the seed by which these are chosen."""

    n_shards: int | None
    n_heldout: int | None
    seed: int

    def check(self) -> None:
        """UsageError for numbers that suit no corpus, which are refused before anything is read."""
        if self.n_shards is not None and self.n_shards < 1:
            raise UsageError(f"--shards {self.n_shards}: give a whole number, 1 or more")
        if self.n_heldout is not None and self.n_heldout < 0:
            raise UsageError(f"--heldout {self.n_heldout}: give a number of documents, 0 or more")


def heldout_size(n_docs: int, wanted: int | None) -> int:
    """The default is a tenth of the documents, at most 1,000."""
    if wanted is None:
        return min(1000, n_docs // 10)
    if wanted >= n_docs:
        raise UsageError(
            f"--heldout {wanted}: of {n_docs} documents 0 to {n_docs - 1} can be held out"
        )
    return wanted


def shard_bounds(n_docs: int, n_entries: int, wanted: int | None) -> list[int]:
    """Where contiguous shards of near equal size begin and end, S + 1 positions."""
    n_shards = wanted
    if n_shards is None:
        n_shards = max(1, -(-n_docs // _SHARD_DOCS), -(-n_entries // _SHARD_ENTRIES))
        n_shards = min(n_shards, n_docs)
    check_shards(n_shards, n_docs)
    return [n_docs * i // n_shards for i in range(n_shards + 1)]


def check_shards(n_shards: int, n_docs: int) -> None:
    """UsageError unless each shard can have a document."""
    if not 1 <= n_shards <= n_docs:
        raise UsageError(f"--shards {n_shards}: {n_docs} training documents make 1 to {n_docs}")


def emit(
    pruned: Pruned,
    folder: Path,
    split: Split,
    *,
    n_words: int,
    size: Size,
    n_rows: int,
    gaps: bool,
) -> tuple[dict[str, Any], bool]:
    """Writes heldout/, shards/ and dropped/ into folder; returns their tables, as ``write_index``
    takes them, and whether equal documents are on both sides of the split, because there are hardly
    any others.

    ``size`` is what `Pruned.measure` returned, and ``n_rows`` counts the rows of the sources; with
    ``gaps`` those that the spool has not are empty ones.
    """
    spool = pruned.spool
    wanted = heldout_size(size.n_docs, split.n_heldout)
    chosen = choose_heldout(size.n_docs, wanted, split.seed, size.firsts)
    parted = 2 * len(chosen) < wanted  # hardly anything but groups too large to be held out
    if parted:
        chosen = choose_heldout(size.n_docs, wanted, split.seed)
    with DroppedWriter(folder, spool.kinds, gaps=gaps) as dropped:
        tables = write_parts(
            pruned.documents(dropped),
            folder,
            dtypes=(id_dtype(n_words), count_dtype(spool.max_count)),
            chosen=chosen,
            bounds=shard_bounds(size.n_docs - len(chosen), size.n_entries, split.n_shards),
            kinds=spool.kinds,
        )
        return {**tables, "dropped": dropped.close(n_rows)}, parted


def write_parts(
    blocks: Iterator[Documents],
    folder: Path,
    *,
    dtypes: tuple[np.dtype, np.dtype],
    chosen: np.ndarray,
    bounds: Sequence[int],
    kinds: Sequence[str] = (),
) -> dict[str, Any]:
    """Writes the documents of ``blocks`` as heldout/ and shards/; returns types and tables, as
    ``write_index`` takes them.

    ``chosen``, ascending int64, are the positions of the held-out documents; the others are cut
    into shards at ``bounds``. Types are those of word ids and counts; ``kinds`` are the metadata to
    keep.
    """
    with ShardWriter(folder, "heldout", *dtypes, kinds) as heldout:
        training = _split(blocks, chosen, heldout)
        shards = write_shards(training, folder, dtypes=dtypes, bounds=bounds, kinds=kinds)
        for _ in training:  # held-out documents may stand last
            pass
        return {"dtypes": dtypes, "shards": shards, "heldout": heldout.close()}


def write_shards(
    blocks: Iterator[Documents],
    folder: Path,
    *,
    dtypes: tuple[np.dtype, np.dtype],
    bounds: Sequence[int],
    kinds: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Cuts documents at ``bounds`` into shards; returns their table."""
    shards = []
    rest: Documents | None = None
    for number, (start, stop) in enumerate(pairwise(bounds)):
        with ShardWriter(folder, f"shards/{number:05d}", *dtypes, kinds) as shard:
            missing = stop - start
            while missing:
                block = next(blocks) if rest is None else rest
                head, rest = _cut(block, missing)
                shard.append(head)
                missing -= head.n_docs
            shards.append(shard.close())
    return shards


def _split(
    blocks: Iterator[Documents], chosen: np.ndarray, heldout: ShardWriter
) -> Iterator[Documents]:
    """Puts the chosen documents into heldout and passes the others on."""
    start = 0
    for block in blocks:
        first, last = np.searchsorted(chosen, [start, start + block.n_docs])
        start += block.n_docs
        if first == last:
            yield block
            continue
        held = np.zeros(block.n_docs, dtype=bool)
        held[chosen[first:last] - (start - block.n_docs)] = True
        heldout.append(select(block, held))
        yield select(block, ~held)


def _cut(block: Documents, n_docs: int) -> tuple[Documents, Documents | None]:
    """The first n_docs documents, and the others if there are any."""
    if block.n_docs <= n_docs:
        return block, None
    return block.part(0, n_docs), block.part(n_docs, block.n_docs)
