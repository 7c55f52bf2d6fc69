"""Making corpora of corpora: merged, added to, cut into other shards. Memory stays bounded.

Documents keep their order unless they are shuffled or sorted. Shards whose ids, types and documents
need not change keep their bytes. What becomes of a corpus is told in its provenance, under
``history``.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from topicmc.corpora.documents import Documents, blocks, remap, select
from topicmc.corpora.dropped import KEPT, PRUNED, DroppedWriter
from topicmc.corpora.emission import check_shards
from topicmc.corpora.files import NpyWriter, sha256, staging
from topicmc.corpora.metadata import Metadata, kinds
from topicmc.corpora.ordering import Keys, in_order, keys_of, random_keys, write_even_shards
from topicmc.corpora.pipes import readable
from topicmc.corpora.preparation import prepare
from topicmc.corpora.readers.named_fields import Fields
from topicmc.corpora.readers.sources import ID_READERS, open_sources
from topicmc.corpora.shards import ShardWriter, file_of
from topicmc.corpora.store import INDEX, Corpus, id_dtype, write_index, write_vocabulary
from topicmc.errors import DataError
from topicmc.host.version import VERSION

Dtypes = tuple[np.dtype, np.dtype]


class _Part(NamedTuple):
    """A corpus, int64 (W,) from its ids to those of the whole (None: they stay), and how many rows
    the sources of those before it have."""

    corpus: Corpus
    new_ids: np.ndarray | None
    rows_before: int


def reshard(
    source: str | Path,
    output: str | Path,
    n_shards: int,
    *,
    shuffle: bool = False,
    seed: int = 0,
    force: bool = False,
) -> Corpus:
    """The same documents in ``n_shards`` shards near equal in tokens; with ``shuffle`` in a random
    order, which the seed decides.

    What is known of documents moves along; held-out documents stay as they are.
    """
    step = {"shuffled": seed} if shuffle else {}
    return _rewrite(source, output, n_shards, random_keys(seed) if shuffle else None, step, force)


def sort(
    source: str | Path,
    output: str | Path,
    n_shards: int,
    values: np.ndarray,
    *,
    force: bool = False,
) -> Corpus:
    """The same, in ascending order of a value of each training document, (n_docs,); documents of
    equal values keep their order."""
    return _rewrite(source, output, n_shards, keys_of(values), {"sorted": True}, force)


def _rewrite(
    source: str | Path,
    output: str | Path,
    n_shards: int,
    keys: Keys | None,
    told: dict[str, Any],
    force: bool,
) -> Corpus:
    corpus = _opened(source)
    check_shards(n_shards, corpus.n_docs)
    rows = corpus.index["shards"]
    dtypes = _dtypes([corpus], corpus.n_words)
    with staging(Path(output), marker=INDEX, force=force) as folder:
        documents = chain.from_iterable(blocks(corpus.part(row)) for row in rows)
        shards = write_even_shards(
            documents if keys is None else in_order(corpus, keys),
            folder,
            n_shards,
            n_docs=corpus.n_docs,
            n_tokens=corpus.n_tokens,
            dtypes=dtypes,
            kinds=_kinds(rows),
        )
        tables: dict[str, Any] = {
            name: _carry(corpus, corpus.index[name], folder, name)
            for name in ("heldout", "dropped")
            if name in corpus.index
        }
        tables |= {n: corpus.index[n] for n in ("sources", "columns") if n in corpus.index}
        step = {"step": "reshard", "shards": n_shards, "before": corpus.n_shards, **told}
        _finish(folder, corpus, corpus.vocabulary, dtypes, {"shards": shards, **tables}, step)
    return Corpus.open(output)


def merge(
    sources: Sequence[str | Path], output: str | Path, *, union: bool = False, force: bool = False
) -> Corpus:
    """The documents of several corpora, one after the other, held-out ones among themselves.

    Vocabularies must hold the same words, in any order; the first one's order is kept. With
    ``union`` words that are missing in one are added. Raises DataError when they differ.
    """
    corpora = [_opened(source) for source in sources]
    words = corpora[0].vocabulary
    for corpus in corpora[1:]:
        words = _joint(corpora[0], words, corpus, union)
    parts = _parts(corpora, words)
    dtypes = _dtypes(corpora, len(words))
    with staging(Path(output), marker=INDEX, force=force) as folder:
        tables = _write(parts, folder, dtypes)
        step = {"step": "merge", "with": [_origin(corpus) for corpus in corpora[1:]]}
        _finish(folder, corpora[0], words, dtypes, tables, step)
    return Corpus.open(output)


def add(
    source: str | Path,
    documents: Sequence[str | Path],
    output: str | Path | None = None,
    *,
    format: str = "auto",
    vocab: str | Path | None = None,
    tokens: str | None = None,
    tokenizer: str | None = None,
    n_heldout: int = 0,
    seed: int = 0,
    force: bool = False,
    **options: Any,
) -> Corpus:
    """The corpus with further documents behind its own, in shards of their own; in place when no
    output is given.

    The vocabulary stays: words that it lacks are left out. Sources of word ids need their own
    vocabulary, whose words are matched by spelling; documents of unknown words alone fall away,
    also those chosen to be held out. Texts are cut as those of the corpus were; ``tokens`` names
    another field of words, ``tokenizer`` the MODULE:FUNCTION that cuts them. ``options`` are those
    of `prepare` that tell how to read: field, title, time, id, columns, delimiter, encoding.
    """
    corpus = _opened(source)
    target = Path(source) if output is None else Path(output)
    words = corpus.vocabulary
    cut = corpus.tokenizer.again(tokens, tokenizer)
    with (
        readable([Path(path) for path in documents]) as paths,
        staging(target, marker=INDEX, force=force or output is None) as folder,
    ):
        format, _ = open_sources(paths, format, Fields(**options, tokens=cut.field))
        if format not in ID_READERS:
            vocab = corpus.path / corpus.index["vocabulary"]["name"]
        new = prepare(
            paths,
            folder / "new",
            format=format,
            vocab=vocab,
            tokenizer=None if format in ID_READERS and cut.owner else cut,
            n_heldout=n_heldout,
            seed=seed,
            **options,
        )
        parts = _parts([corpus, new], words)
        dtypes = _dtypes([corpus, new], len(words))
        tables = _write(parts, folder, dtypes, link=output is None)
        if len(tables["shards"]) == corpus.n_shards:
            raise DataError(f"{paths[0]} holds no words of the vocabulary of {source}.")
        step = {"step": "add", **new.provenance}
        step["tokens_unknown"] = new.n_tokens - sum(
            shard["n_tokens"] for shard in tables["shards"][corpus.n_shards :]
        )
        shutil.rmtree(folder / "new")
        _finish(folder, corpus, words, dtypes, tables, step)
    return Corpus.open(target)


def _opened(path: str | Path) -> Corpus:
    """A corpus whose bytes are sound: damage must not get a new checksum."""
    corpus = Corpus.open(path)
    corpus.check(range(corpus.n_shards), metadata=True)
    return corpus


def _kinds(rows: Sequence[dict[str, Any]]) -> list[str]:
    return sorted(set().union(*map(kinds, rows)))


def _dtypes(corpora: Sequence[Corpus], n_words: int) -> Dtypes:
    counts = [np.dtype(corpus.index["dtypes"]["counts"]) for corpus in corpora]
    return id_dtype(n_words), max(counts, key=lambda dtype: dtype.itemsize)


def _joint(first: Corpus, words: list[str], other: Corpus, union: bool) -> list[str]:
    known, new = set(words), set(other.vocabulary)
    if union:
        return words + [word for word in other.vocabulary if word not in known]
    if known != new:
        example = min(known ^ new)
        raise DataError(
            f"The vocabularies of {first.path} and {other.path} differ in {len(known ^ new):,} "
            f"words, for instance {example!r}: join them by --union, or prepare the sources with "
            "one --vocab."
        )
    return words


def _new_ids(old: list[str], words: list[str]) -> np.ndarray | None:
    if old == words[: len(old)]:
        return None
    index = {word: i for i, word in enumerate(words)}
    return np.array([index.get(word, -1) for word in old], dtype=np.int64)


def _parts(corpora: Sequence[Corpus], words: list[str]) -> list[_Part]:
    parts, rows = [], 0
    for corpus in corpora:
        parts.append(_Part(corpus, _new_ids(corpus.vocabulary, words), rows))
        rows += corpus.places.n_rows
    return parts


def _renamed(part: _Part, documents: Documents, dropped: DroppedWriter) -> Iterator[Documents]:
    """Blocks under the new ids; documents that lose all their words are dropped."""
    for block in blocks(documents):
        if block.metadata is not None:
            block = replace(block, metadata=block.metadata.moved(part.rows_before))
        if part.new_ids is not None:
            block = remap(block, part.new_ids)
            empty = block.lengths == 0
            metadata = block.metadata or Metadata.blank(block.n_docs)
            dropped.append(metadata, np.where(empty, PRUNED, KEPT).astype(np.uint8))
            block = select(block, ~empty)
        yield block


def _stays(part: _Part, dtypes: Dtypes) -> bool:
    told = part.corpus.index["dtypes"]
    return part.new_ids is None and (told["word_ids"], told["counts"]) == tuple(
        dtype.name for dtype in dtypes
    )


def _write(
    parts: Sequence[_Part], folder: Path, dtypes: Dtypes, *, link: bool = False
) -> dict[str, Any]:
    """Shards, held-out documents and what was dropped; their tables."""
    dropped_kinds = {
        kind for part in parts for row in _tables(part.corpus.index) for kind in kinds(row)
    }
    with DroppedWriter(folder, sorted(dropped_kinds)) as dropped:
        for part in parts:
            old = part.corpus.dropped
            if old is not None:
                dropped.write(old._replace(metadata=old.metadata.moved(part.rows_before)))
        return {
            "shards": _write_shards(parts, folder, dtypes, dropped, link=link),
            "heldout": _write_heldout(parts, folder, dtypes, dropped, link=link),
            "dropped": dropped.close(),
            "sources": [s for part in parts for s in part.corpus.index.get("sources", [])],
            "columns": list(
                dict.fromkeys(n for part in parts for n in part.corpus.index.get("columns", []))
            ),
        }


def _tables(index: dict[str, Any]) -> list[dict[str, Any]]:
    return [*index["shards"], index["heldout"], *([index["dropped"]] if "dropped" in index else [])]


def _write_shards(
    parts: Sequence[_Part],
    folder: Path,
    dtypes: Dtypes,
    dropped: DroppedWriter,
    *,
    link: bool = False,
) -> list[dict[str, Any]]:
    shards: list[dict[str, Any]] = []
    for part in parts:
        for row in part.corpus.index["shards"]:
            name = f"shards/{len(shards):05d}"
            if _stays(part, dtypes):
                moved = part.rows_before
                shards.append(_carry(part.corpus, row, folder, name, link=link, moved=moved))
                continue
            with ShardWriter(folder, name, *dtypes, kinds(row)) as shard:
                for block in _renamed(part, part.corpus.part(row), dropped):
                    shard.append(block)
                written = shard.close()
            if written["n_docs"]:
                shards.append(written)
            else:
                shutil.rmtree(folder / name)
    return shards


def _write_heldout(
    parts: Sequence[_Part],
    folder: Path,
    dtypes: Dtypes,
    dropped: DroppedWriter,
    *,
    link: bool = False,
) -> dict[str, Any]:
    filled = [part for part in parts if part.corpus.n_heldout]
    if len(filled) == 1 and _stays(filled[0], dtypes):
        corpus, moved = filled[0].corpus, filled[0].rows_before
        return _carry(corpus, corpus.index["heldout"], folder, "heldout", link=link, moved=moved)
    rows = [part.corpus.index["heldout"] for part in filled]
    with ShardWriter(folder, "heldout", *dtypes, _kinds(rows)) as heldout:
        for part, row in zip(filled, rows, strict=True):
            for block in _renamed(part, part.corpus.part(row), dropped):
                heldout.append(block)
        return heldout.close()


def _carry(
    corpus: Corpus,
    row: dict[str, Any],
    folder: Path,
    name: str,
    *,
    link: bool = False,
    moved: int = 0,
) -> dict[str, Any]:
    """The files of a shard as they are, linked where the old corpus is about to go; but the rows
    behind so many ``moved`` ones."""
    (folder / name).mkdir(parents=True)
    sums = dict(row["sha256"])
    for array in sums:
        new = folder / name / f"{array}.npy"
        if array == "rows" and moved:
            sums[array] = _write_rows(corpus.part(row), moved, new)
            continue
        old = file_of(corpus.path, row, array).resolve()
        try:
            if not link:
                raise OSError
            os.link(old, new)
        except OSError:
            shutil.copyfile(old, new)
    return {**row, "name": name, "sha256": sums}


def _write_rows(documents: Documents, moved: int, path: Path) -> str:
    assert documents.metadata is not None
    writer = NpyWriter(path, np.int64)
    writer.append(documents.metadata.moved(moved).rows)
    writer.close()
    return sha256(path)


def _origin(corpus: Corpus) -> dict[str, Any]:
    return {
        "corpus": str(corpus.path),
        "fingerprint": corpus.fingerprint,
        "provenance": corpus.provenance,
    }


def _finish(
    folder: Path,
    first: Corpus,
    words: list[str],
    dtypes: Dtypes,
    tables: dict[str, Any],
    step: dict[str, Any],
) -> None:
    write_vocabulary(folder / "vocabulary.txt", words)
    history = [*first.provenance.get("history", []), {"topicmc": VERSION, **step}]
    write_index(
        folder,
        n_words=len(words),
        dtypes=dtypes,
        provenance={**first.provenance, "history": history},
        **tables,
    )
