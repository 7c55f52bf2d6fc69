"""Further documents for a corpus, read as its own were."""

import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from topicmc.corpora.documents import blocks
from topicmc.corpora.files import staging
from topicmc.corpora.index import INDEX, NAMES
from topicmc.corpora.making.accounts import (
    account_of_equals,
    account_of_joined_ids,
    account_of_repeated,
)
from topicmc.corpora.making.concatenation import Part, concatenate, dtypes_of, parts_of
from topicmc.corpora.making.emission import Split
from topicmc.corpora.making.maintenance import finish, opened
from topicmc.corpora.making.preparation import prepare
from topicmc.corpora.pipes import readable
from topicmc.corpora.readers import Progress
from topicmc.corpora.readers.sources import ID_READERS, open_sources
from topicmc.corpora.remembered import fields_like, pruning_of, told_of
from topicmc.corpora.store import Corpus
from topicmc.corpora.text.stopwords import stop_words
from topicmc.corpora.text.tokenizer import Tokenizer
from topicmc.corpora.text.vocabulary import Pruning, default_pruning, spelled
from topicmc.errors import DataError, UsageError
from topicmc.storage.files import check_no_source, sync_tree
from topicmc.storage.staging import clear_up

_NOT_OF_PREPARE = ("tokens", "likely")  # the tokenizer says the one, the format the other
_UNPRUNED = {"min_df": 0, "max_df": 1.0, "keep": 10**9, "stopwords": "none"}


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
    progress: Progress | None = None,
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
    Of those that are not given, what the corpus was prepared by is used where it fits. ``progress``
    is that of `prepare`.
    """
    split = Split(None, n_heldout, seed)
    split.check()
    target = Path(source) if output is None else Path(output)
    if output is None:
        clear_up(target)  # a corpus whose replacement was killed is there again
    corpus = opened(source)
    _check(source, documents, target, split)
    cut = corpus.tokenizer.again(tokens, tokenizer)
    fields = fields_like(told_of(corpus), **options)
    how = {name: value for name, value in fields._asdict().items() if name not in _NOT_OF_PREPARE}
    with (
        readable([Path(path) for path in documents]) as paths,
        staging(target, names=NAMES, force=force or output is None) as folder,
    ):
        format, _ = open_sources(paths, format, fields._replace(tokens=cut.field))
        rules = _rules(corpus, format not in ID_READERS) if new_words else None
        new = _prepared(
            corpus,
            paths,
            folder / "new",
            format=format,
            vocab=vocab,
            cut=cut,
            new_words=new_words,
            split=split,
            how={**how, "progress": progress},
        )
        words = corpus.vocabulary + (_new_words(corpus, new, rules) if new_words else [])
        parts = parts_of([corpus, new], words)
        dtypes = dtypes_of([corpus, new], len(words))
        tables = concatenate(parts, folder, dtypes, link=output is None)
        if len(tables["shards"]) == corpus.n_shards:
            raise DataError(f"{paths[0]} holds no words of the vocabulary of {source}")
        step = _step(corpus, new, parts, tables, len(words) - corpus.n_words if new_words else None)
        shutil.rmtree(folder / "new")
        finish(folder, corpus.provenance, words, dtypes, tables, step)
        sync_tree(folder)  # which takes minutes
        if output is None and Corpus.open(target).index != corpus.index:
            raise DataError(f"{source}: was changed meanwhile; give the same command again")
    return Corpus.open(target)


def _check(source: str | Path, documents: Sequence[str | Path], target: Path, split: Split) -> None:
    """UsageError for what is refused before any document is read."""
    for path in documents:
        if (Path(path) / INDEX).is_file():
            raise UsageError(
                f"{path} is a corpus: topicmc corpus merge"
                f" {shlex.join([str(source), str(path)])} -o NEW joins both"
            )
    check_no_source(target, map(Path, documents))
    if split.seed and not split.n_heldout:
        raise UsageError(f"--seed {split.seed} chooses the held-out documents: add --heldout N")


def _prepared(
    corpus: Corpus,
    paths: Sequence[Path],
    folder: Path,
    *,
    format: str,
    vocab: str | Path | None,
    cut: Tokenizer,
    new_words: bool,
    split: Split,
    how: dict[str, Any],
) -> Corpus:
    """The new documents as a corpus of their own: text over the old vocabulary, or over all its
    words where new ones are wanted. UsageError for a vocabulary of text."""
    is_text = format not in ID_READERS
    if is_text and vocab is not None:
        raise UsageError(f"--vocab {vocab}: only sources of word ids need one; this is text")
    if is_text and not new_words:
        vocab = corpus.path / corpus.index["vocabulary"]["name"]
    unpruned: dict[str, Any] = _UNPRUNED if is_text and new_words else {}
    return prepare(
        paths,
        folder,
        format=format,
        vocab=vocab,
        tokenizer=None if cut.owner and not is_text else cut,
        n_heldout=split.n_heldout,
        seed=split.seed,
        phrases=corpus.vocabulary if is_text and corpus.provenance.get("phrases") else False,
        **how,
        **unpruned,
    )


def _step(
    corpus: Corpus, new: Corpus, parts: Sequence[Part], tables: dict[str, Any], n_new: int | None
) -> dict[str, Any]:
    """What the history says of it, given the tables of the whole, and how many words are new."""
    step: dict[str, Any] = {
        "step": "add",
        **new.provenance,
        **account_of_joined_ids([corpus, new]),
    }
    if n_new is not None:
        step["words_new"] = n_new
    step["dropped"] = _more(tables["dropped"]["reasons"], corpus)
    step |= account_of_equals(parts) | account_of_repeated(*parts)
    added = _n_tokens(tables["shards"], tables["heldout"]) - _tokens_of(corpus)
    step["tokens_unknown"] = _tokens_of(new) - added
    return step


def _more(reasons: dict[str, int], than: Corpus) -> dict[str, int]:
    """How many more rows made no document than of a corpus, by why."""
    before = than.index.get("dropped", {}).get("reasons", {})
    return {why: more for why, n in reasons.items() if (more := n - before.get(why, 0))}


def _tokens_of(corpus: Corpus) -> int:
    """Tokens of all documents, held-out ones too."""
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
