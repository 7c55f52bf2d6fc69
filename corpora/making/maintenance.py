"""Making corpora of corpora: merged, or cut into other shards. Memory stays bounded, but for what
`account_of_joined_ids` takes.

Documents keep their order unless they are shuffled. What becomes of a corpus is told in its
provenance, under ``history``.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from topicmc.corpora.documents import blocks
from topicmc.corpora.files import staging
from topicmc.corpora.index import NAMES, write_index
from topicmc.corpora.making.accounts import account_of_equals, account_of_joined_ids
from topicmc.corpora.making.concatenation import (
    Dtypes,
    carry,
    concatenate,
    dtypes_of,
    kinds_of,
    parts_of,
)
from topicmc.corpora.making.emission import check_shards
from topicmc.corpora.making.ordering import in_order, random_keys, write_even_shards
from topicmc.corpora.remembered import differing_rules
from topicmc.corpora.store import Corpus
from topicmc.errors import DataError, UsageError
from topicmc.host.version import VERSION
from topicmc.storage.files import real_path, write_words


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

    What is known of documents moves along; held-out documents stay as they are. DataError when the
    corpus is damaged, UsageError for more shards than documents, or an output that is taken.
    """
    corpus = opened(source)
    check_shards(n_shards, corpus.n_docs)
    rows = corpus.index["shards"]
    dtypes = dtypes_of([corpus], corpus.n_words)
    with staging(Path(output), names=NAMES, force=force) as folder:
        documents = chain.from_iterable(blocks(corpus.part(row)) for row in rows)
        shards = write_even_shards(
            in_order(corpus, random_keys(seed)) if shuffle else documents,
            folder,
            n_shards,
            n_docs=corpus.n_docs,
            n_tokens=corpus.n_tokens,
            dtypes=dtypes,
            kinds=kinds_of(rows),
        )
        tables: dict[str, Any] = {
            name: carry(corpus, corpus.index[name], folder, name)
            for name in ("heldout", "dropped")
            if name in corpus.index
        }
        tables |= {n: corpus.index[n] for n in ("sources", "columns") if n in corpus.index}
        step = {"step": "reshard", "shards": n_shards, "before": corpus.n_shards}
        step |= {"shuffled": seed} if shuffle else {}
        tables["shards"] = shards
        finish(folder, corpus.provenance, corpus.vocabulary, dtypes, tables, step)
    return Corpus.open(output)


def merge(
    sources: Sequence[str | Path], output: str | Path, *, union: bool = False, force: bool = False
) -> Corpus:
    """The documents of several corpora, one after the other, held-out ones among themselves.

    Vocabularies must hold the same words, in any order; the first one's order is kept. With
    ``union`` words that are missing in one are added. Raises DataError when they differ, UsageError
    for a corpus that is named twice.

    New documents are then read as those of the first, but phrases are joined if those of any were.
    Where the corpora were read by different rules, the step of the history says by which.
    """
    corpora = [opened(source) for source in sources]
    for place, times in Counter(real_path(corpus.path) for corpus in corpora).items():
        if times > 1:
            raise UsageError(f"{place}: its documents would count {times} times; name it once")
    words = corpora[0].vocabulary
    for corpus in corpora[1:]:
        words = _joint(corpora[0], words, corpus, union)
    parts = parts_of(corpora, words)
    dtypes = dtypes_of(corpora, len(words))
    with staging(Path(output), names=NAMES, force=force) as folder:
        tables = concatenate(parts, folder, dtypes)
        step: dict[str, Any] = {
            "step": "merge",
            "with": [_origin(corpus) for corpus in corpora[1:]],
            **account_of_joined_ids(corpora),
            **account_of_equals(parts),
        }
        if differing := differing_rules(corpora):
            step["rules_differ"] = differing
        told = dict(corpora[0].provenance)
        if phrases := next(filter(None, (c.provenance.get("phrases") for c in corpora)), None):
            told["phrases"] = phrases
        finish(folder, told, words, dtypes, tables, step)
    return Corpus.open(output)


def opened(path: str | Path) -> Corpus:
    """A corpus whose bytes are sound: damage must not get a new checksum."""
    corpus = Corpus.open(path)
    corpus.check(range(corpus.n_shards), metadata=True)
    return corpus


def _joint(first: Corpus, words: list[str], other: Corpus, union: bool) -> list[str]:
    known, new = set(words), set(other.vocabulary)
    if union:
        return words + [word for word in other.vocabulary if word not in known]
    if known != new:
        example = min(known ^ new)
        raise DataError(
            f"The vocabularies of {first.path} and {other.path} differ in {len(known ^ new):,} "
            f"words, for instance {example!r}: join them by --union, or prepare the sources with "
            "one --vocab"
        )
    return words


def _origin(corpus: Corpus) -> dict[str, Any]:
    return {
        "corpus": str(corpus.path),
        "fingerprint": corpus.fingerprint,
        "provenance": corpus.provenance,
    }


def finish(
    folder: Path,
    provenance: dict[str, Any],
    words: list[str],
    dtypes: Dtypes,
    tables: dict[str, Any],
    step: dict[str, Any],
) -> None:
    """Writes the vocabulary and the index, whose history has one step more."""
    write_words(folder / "vocabulary.txt", words)
    history = [*provenance.get("history", []), {"topicmc": VERSION, **step}]
    write_index(
        folder,
        n_words=len(words),
        dtypes=dtypes,
        provenance={**provenance, "history": history},
        **tables,
    )
