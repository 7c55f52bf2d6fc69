"""From the spool to a corpus folder: prune, hold out, cut into shards."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from topicmc.corpora.documents import Documents, kept_lengths, remap, select
from topicmc.corpora.shards import ShardWriter
from topicmc.corpora.split import choose_heldout
from topicmc.corpora.spool import Spool
from topicmc.corpora.store import count_dtype, id_dtype
from topicmc.errors import UsageError

_SHARD_DOCS = 1_000_000
_SHARD_ENTRIES = 1 << 26


def pruned_blocks(spool: Spool, new_ids: np.ndarray | None) -> Iterator[Documents]:
    """The spool's documents under their final ids, without those that pruning left empty."""
    for block in spool.blocks():
        if new_ids is not None:
            block = remap(block, new_ids)
            block = select(block, block.lengths > 0)
        yield block


def measure(spool: Spool, new_ids: np.ndarray | None) -> tuple[int, int]:
    """How many documents and entries pruning leaves."""
    if new_ids is None:
        return spool.n_docs, spool.n_entries
    stays = new_ids >= 0
    n_docs = n_entries = 0
    for block in spool.blocks():
        lengths = kept_lengths(block, stays[block.word_ids])
        n_docs += int(np.count_nonzero(lengths))
        n_entries += int(lengths.sum())
    return n_docs, n_entries


def heldout_size(n_docs: int, wanted: int | None) -> int:
    """The default is a tenth of the documents, at most 1,000."""
    if wanted is None:
        return min(1000, n_docs // 10)
    if wanted < 0 or wanted >= n_docs:
        raise UsageError(
            f"--heldout {wanted}: of {n_docs} documents 0 to {n_docs - 1} can be held out."
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
        raise UsageError(f"--shards {n_shards}: {n_docs} training documents make 1 to {n_docs}.")


def emit(
    spool: Spool,
    new_ids: np.ndarray | None,
    folder: Path,
    *,
    n_words: int,
    size: tuple[int, int],
    n_shards: int | None,
    n_heldout: int | None,
    seed: int,
) -> dict[str, Any]:
    """Writes heldout/ and shards/ into folder; returns their tables, as ``write_index`` takes them.

    ``size`` is what ``measure`` returned: documents and entries.
    """
    n_docs, n_entries = size
    chosen = choose_heldout(n_docs, heldout_size(n_docs, n_heldout), seed)
    return write_parts(
        pruned_blocks(spool, new_ids),
        folder,
        dtypes=(id_dtype(n_words), count_dtype(spool.max_count)),
        chosen=chosen,
        bounds=shard_bounds(n_docs - len(chosen), n_entries, n_shards),
        kinds=spool.kinds,
    )


def write_parts(
    blocks: Iterator[Documents],
    folder: Path,
    *,
    dtypes: tuple[np.dtype, np.dtype],
    chosen: np.ndarray,
    bounds: Sequence[int],
    kinds: Sequence[str] = (),
) -> dict[str, Any]:
    """Writes the documents of ``blocks`` as heldout/ and shards/, and returns what ``emit`` does.

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
