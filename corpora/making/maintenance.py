"""Making corpora of corpora: merged, added to, cut into other shards. Memory stays bounded.

Documents keep their order unless they are shuffled. What becomes of a corpus is told in its
provenance, under ``history``.
"""

import shlex
import shutil
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from topicmc.corpora.documents import blocks
from topicmc.corpora.files import staging
from topicmc.corpora.index import INDEX, NAMES, write_index
from topicmc.corpora.making.accounts import account_of_equals, account_of_joined_ids
from topicmc.corpora.making.concatenation import (
    Dtypes,
    carry,
    concatenate,
    dtypes_of,
    kinds_of,
    parts_of,
)
from topicmc.corpora.making.emission import check_shards, check_split
from topicmc.corpora.making.ingestion import spelled
from topicmc.corpora.making.ordering import Keys, in_order, random_keys, write_even_shards
from topicmc.corpora.making.preparation import default_pruning, prepare
from topicmc.corpora.pipes import readable
from topicmc.corpora.readers.sources import ID_READERS, open_sources
from topicmc.corpora.remembered import differing_rules, fields_like, pruning_of, told_of
from topicmc.corpora.store import Corpus
from topicmc.corpora.text.stopwords import stop_words
from topicmc.corpora.text.vocabulary import Pruning
from topicmc.errors import DataError, UsageError
from topicmc.host.version import VERSION
from topicmc.storage.files import check_no_source, write_words

_NOT_OF_PREPARE = ("tokens", "likely")  # the tokenizer says the one, the format the other
_UNPRUNED = {"min_df": 0, "max_df": 1.0, "keep": 10**9, "stopwords": "none"}


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
    step = {"shuffled": seed} if shuffle else {}
    keys = random_keys(seed) if shuffle else None
    return rewrite(source, output, n_shards, keys, step, force=force)


def rewrite(
    source: str | Path,
    output: str | Path,
    n_shards: int,
    keys: Keys | None,
    told: dict[str, Any],
    *,
    force: bool = False,
) -> Corpus:
    """The same documents in shards near equal in tokens, in ascending order of their keys, or in
    their own; ``told`` is what the step of the history says of it. Raises as `reshard`."""
    corpus = _opened(source)
    check_shards(n_shards, corpus.n_docs)
    rows = corpus.index["shards"]
    dtypes = dtypes_of([corpus], corpus.n_words)
    with staging(Path(output), names=NAMES, force=force) as folder:
        documents = chain.from_iterable(blocks(corpus.part(row)) for row in rows)
        shards = write_even_shards(
            documents if keys is None else in_order(corpus, keys),
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
        step = {"step": "reshard", "shards": n_shards, "before": corpus.n_shards, **told}
        tables["shards"] = shards
        _finish(folder, corpus.provenance, corpus.vocabulary, dtypes, tables, step)
    return Corpus.open(output)


def merge(
    sources: Sequence[str | Path], output: str | Path, *, union: bool = False, force: bool = False
) -> Corpus:
    """The documents of several corpora, one after the other, held-out ones among themselves.

    Vocabularies must hold the same words, in any order; the first one's order is kept. With
    ``union`` words that are missing in one are added. Raises DataError when they differ.

    New documents are then read as those of the first, but phrases are joined if those of any were.
    Where the corpora were read by different rules, the step of the history says by which.
    """
    corpora = [_opened(source) for source in sources]
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
        _finish(folder, told, words, dtypes, tables, step)
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
    new_words: bool = False,
    n_heldout: int = 0,
    seed: int = 0,
    force: bool = False,
    **options: Any,
) -> Corpus:
    """The corpus with further documents behind its own, in shards of their own; in place when no
    output is given.

    The vocabulary stays: words that it lacks are left out. With ``new_words`` those of them that
    the pruning of the corpus would keep, were the new documents all there is, come in behind the
    others, in alphabetical order; ids that there are stay. Sources of word ids need their own
    vocabulary, whose words are matched by spelling; documents of unknown words alone fall away,
    also those chosen to be held out. Texts are cut as those of the corpus were; ``tokens`` names
    another field of words, ``tokenizer`` the MODULE:FUNCTION that cuts them. ``options`` are those
    of `prepare` that tell how to read: field, title, time, id, columns, delimiter, quote, encoding.
    Of those that are not given, what the corpus was prepared by is used where it fits.
    """
    check_split(None, n_heldout)
    corpus = _opened(source)
    target = Path(source) if output is None else Path(output)
    words = corpus.vocabulary
    for path in documents:
        if (Path(path) / INDEX).is_file():
            raise UsageError(
                f"{path} is a corpus: topicmc corpus merge"
                f" {shlex.join([str(source), str(path)])} -o NEW joins both"
            )
    check_no_source(target, map(Path, documents))
    if seed and not n_heldout:
        raise UsageError(f"--seed {seed} chooses the held-out documents: add --heldout N")
    cut = corpus.tokenizer.again(tokens, tokenizer)
    fields = fields_like(told_of(corpus), **options)
    how = {name: value for name, value in fields._asdict().items() if name not in _NOT_OF_PREPARE}
    with (
        readable([Path(path) for path in documents]) as paths,
        staging(target, names=NAMES, force=force or output is None) as folder,
    ):
        format, _ = open_sources(paths, format, fields._replace(tokens=cut.field))
        is_text = format not in ID_READERS
        unpruned: dict[str, Any] = {}
        rules = _rules(corpus, is_text) if new_words else None
        if is_text and vocab is not None:
            raise UsageError(f"--vocab {vocab}: only sources of word ids need one; this is text")
        if is_text and new_words:
            unpruned = _UNPRUNED
        elif is_text:
            vocab = corpus.path / corpus.index["vocabulary"]["name"]
        new = prepare(
            paths,
            folder / "new",
            format=format,
            vocab=vocab,
            tokenizer=None if cut.owner and not is_text else cut,
            n_heldout=n_heldout,
            seed=seed,
            phrases=words if is_text and corpus.provenance.get("phrases") else False,
            **how,
            **unpruned,
        )
        before = len(words)
        if new_words:
            words = words + _new_words(corpus, new, rules)
        parts = parts_of([corpus, new], words)
        dtypes = dtypes_of([corpus, new], len(words))
        tables = concatenate(parts, folder, dtypes, link=output is None)
        if len(tables["shards"]) == corpus.n_shards:
            raise DataError(f"{paths[0]} holds no words of the vocabulary of {source}")
        step = {"step": "add", **new.provenance, **account_of_joined_ids([corpus, new])}
        if new_words:
            step["words_new"] = len(words) - before
        step["dropped"] = _more(tables["dropped"]["reasons"], corpus)
        step |= account_of_equals(parts)
        added = _n_tokens(tables["shards"], tables["heldout"]) - _tokens_of(corpus)
        step["tokens_unknown"] = _tokens_of(new) - added
        shutil.rmtree(folder / "new")
        _finish(folder, corpus.provenance, words, dtypes, tables, step)
        if output is None and Corpus.open(target).index != corpus.index:
            raise DataError(f"{source}: was changed meanwhile; give the same command again")
    return Corpus.open(target)


def _more(reasons: dict[str, int], than: Corpus) -> dict[str, int]:
    """How many more rows made no document than of a corpus, by why."""
    before = than.index.get("dropped", {}).get("reasons", {})
    return {why: more for why, n in reasons.items() if (more := n - before.get(why, 0))}


def _tokens_of(corpus: Corpus) -> int:
    """Of all documents, those held out too."""
    return _n_tokens(corpus.index["shards"], corpus.index["heldout"])


def _n_tokens(shards: Sequence[dict[str, Any]], heldout: dict[str, Any]) -> int:
    return sum(part["n_tokens"] for part in (*shards, heldout))


def _rules(corpus: Corpus, is_text: bool) -> Pruning | None:
    """By which a corpus takes new words: its own, or, where it pruned no text, None: those of any
    new text. DataError when its stop words cannot be read again."""
    if is_text and corpus.provenance.get("vocabulary") != "built":
        return None
    rules = pruning_of(corpus)
    try:
        stop_words(rules.stopwords)
    except UsageError as error:
        raise DataError(f"{corpus.path} was pruned by stop words that are gone: {error}") from None
    return rules


def _new_words(corpus: Corpus, new: Corpus, rules: Pruning | None) -> list[str]:
    """The words of new documents that a corpus lacks and some rules keep, by the alphabet."""
    doc_freq = np.zeros(new.n_words, np.int64)
    for documents in (*(new.shard(number) for number in range(new.n_shards)), new.heldout):
        for block in blocks(documents):
            doc_freq += np.bincount(block.word_ids, minlength=new.n_words)
    n_docs = new.n_docs + new.n_heldout
    pruning = rules or default_pruning(n_docs)
    known = spelled(corpus.vocabulary)
    kept = np.flatnonzero(pruning.mask(new.vocabulary, doc_freq, n_docs)).tolist()
    return sorted(word for w in kept if (word := new.vocabulary[w]) not in known)


def _opened(path: str | Path) -> Corpus:
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


def _finish(
    folder: Path,
    provenance: dict[str, Any],
    words: list[str],
    dtypes: Dtypes,
    tables: dict[str, Any],
    step: dict[str, Any],
) -> None:
    write_words(folder / "vocabulary.txt", words)
    history = [*provenance.get("history", []), {"topicmc": VERSION, **step}]
    write_index(
        folder,
        n_words=len(words),
        dtypes=dtypes,
        provenance={**provenance, "history": history},
        **tables,
    )
