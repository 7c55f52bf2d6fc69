"""Preparing a corpus: read once into a spool, settle the vocabulary, write shards.

Reading never holds more than a few blocks of documents; the spool lies on the output's disk until
the shards are written. Everything happens in a hidden sibling of the output, which is renamed at
the end.
"""

import shutil
from collections.abc import Collection, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from topicmc.corpora.files import staging
from topicmc.corpora.index import INDEX, NAMES, write_index
from topicmc.corpora.making.accounts import account, account_of_ids
from topicmc.corpora.making.emission import Pruned, check_split, emit, repeated_rows
from topicmc.corpora.making.ingestion import (
    Ingested,
    ingest_ids,
    ingest_known,
    ingest_new,
    settle,
    without_rows,
)
from topicmc.corpora.making.spool import Spool
from topicmc.corpora.naming import Places
from topicmc.corpora.pipes import readable
from topicmc.corpora.readers import Progress, Tally
from topicmc.corpora.readers.named_fields import Fields
from topicmc.corpora.readers.sources import ID_READERS, find_vocabulary, open_sources
from topicmc.corpora.readers.svmlight import SvmlightReader
from topicmc.corpora.store import Corpus
from topicmc.corpora.text.phrases import learn_phrases, phrases_among
from topicmc.corpora.text.scripts import advice, uncut
from topicmc.corpora.text.stopwords import resolved, stop_words
from topicmc.corpora.text.tokenizer import EARLIER, Tokenizer
from topicmc.corpora.text.vocabulary import Pruning, read_vocabulary
from topicmc.errors import DataError, UsageError
from topicmc.host.version import VERSION
from topicmc.storage.fields import shown
from topicmc.storage.files import check_no_source, write_words


def prepare(
    sources: Sequence[str | Path] | str | Path,
    output: str | Path,
    *,
    format: str = "auto",
    vocab: str | Path | None = None,
    field: str | None = None,
    title: str | None = None,
    time: str | None = None,
    tokenizer: Tokenizer | None = None,
    min_df: int | None = None,
    max_df: float | None = None,
    keep: int | None = None,
    stopwords: str | None = None,
    id: str | None = None,
    columns: Sequence[str] = (),
    delimiter: str | None = None,
    encoding: str | None = None,
    quote: str | None = None,
    duplicates: str = "keep",
    n_shards: int | None = None,
    n_heldout: int | None = None,
    phrases: bool | Sequence[str] = False,
    optional: Collection[str] = (),
    first_index: int | None = None,
    seed: int = 0,
    force: bool = False,
    progress: Progress | None = None,
) -> Corpus:
    """Turns sources into a corpus folder at output, and opens it.

    Where the vocabulary is given, by ``vocab`` or beside a file of word ids, it is kept as it is
    unless pruning is asked for; a vocabulary built from text is pruned by default
    (`default_pruning`). With ``phrases`` those found in the text are joined, or those of the
    vocabulary that is given; a list of words stands for those among them. ``n_heldout`` documents,
    chosen uniformly by ``seed``, stay out of the shards. ``field``, ``title``, ``time`` and ``id``
    name the fields of a document's text, title, time and id, and ``columns`` those that are kept
    with it, "all" for all others; titles are kept unasked where they are at hand, unless ``title``
    is "none".
    ``first_index`` is the least that SVMlight may have, found out where it is None.
    What ``optional`` names of all these, and of delimiter and encoding, is used only where it fits.
    ``tokenizer`` says how texts are cut into words. ``delimiter`` and ``quote`` are those of CSV,
    "none" for no quote, and ``encoding`` is that of text, UTF-8 by default. Equal documents are
    counted and stay on one side of the split; with ``duplicates="drop"`` only the first of them is
    kept. Sources and ``vocab`` may be pipes, and "-" is standard input. ``progress`` is called now
    and then with the running `Tally`.

    Raises DataError for what is wrong with the sources and UsageError for what is wrong with the
    options; either way, and when interrupted, output is as it was.
    """
    paths = [Path(s) for s in ([sources] if isinstance(sources, str | Path) else sources)]
    options = {"min_df": min_df, "max_df": max_df, "keep": keep, "stopwords": stopwords}
    asked: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    Pruning(**asked)  # bad options fail before anything is read
    finds = phrases is True
    stop = stop_words(asked.get("stopwords", "english" if finds else "none"))
    if "stopwords" in asked:
        asked["stopwords"] = resolved(asked["stopwords"])
    cut = tokenizer or Tokenizer()
    cut.load()
    if seed < 0:
        raise UsageError(f"--seed {seed}: give a whole number, 0 or more")
    check_split(n_shards, n_heldout)
    check_no_source(Path(output), paths)
    if duplicates not in ("keep", "drop"):
        raise UsageError(f"--duplicates {duplicates}: it is keep or drop")
    fields = Fields(
        *(field, title, time, id, _names(columns), delimiter, encoding, quote),
        tokens=cut.field,
        optional=frozenset(_names(optional)),
        first_index=first_index,
    )

    tally = Tally()
    with ExitStack() as stack:
        folder = stack.enter_context(staging(Path(output), names=NAMES, force=force))
        paths = stack.enter_context(readable(paths))
        format, readers = open_sources(paths, format, fields)
        is_ids = format in ID_READERS
        if is_ids and tokenizer not in (None, Tokenizer(), EARLIER):
            raise UsageError(f"How words are cut is said of text, and this is {format}: word ids")
        vocab = Path(vocab) if vocab else None
        # The words of a prepared corpus are what they are.
        strict = vocab is None or not (vocab.parent / INDEX).is_file()
        given = given_vocabulary(paths if is_ids else [], vocab, strict)
        spool = stack.enter_context(closing(Spool(folder / "spool")))
        report = progress or _silent
        found = None if isinstance(phrases, bool) else phrases_among(_names(phrases))
        if finds and is_ids:
            raise UsageError(f"--phrases goes with text, and this is {format}: word ids")
        if finds and given is not None:
            found = phrases_among(given[1])
            if found is None:
                raise UsageError("--phrases: no word of the vocabulary is a phrase; leave it out")
        elif finds:
            found = learn_phrases(readers, cut, stop, Tally(), report)
        ingested = _ingest(readers, is_ids, cut, given, spool, tally, report, found)
        if spool.n_docs == 0:
            if tally.cut is not None:
                raise DataError(f"{tally.cut}: no document among them")
            why = _why(given, cut, tally)
            raise DataError(f"{paths[0]} holds no documents with words that count: {why}")
        repeated = repeated_rows(spool) if duplicates == "drop" else None
        n_docs = spool.n_docs
        if repeated is not None:
            ingested, n_docs = without_rows(ingested, spool, repeated)
        pruning = replace(Pruning() if given else default_pruning(n_docs), **asked)
        kept = pruning.mask(ingested.words, ingested.doc_freq, n_docs)
        words, new_ids = settle(ingested, kept, alphabetical=given is None)
        pruned = Pruned(spool, new_ids, repeated)
        size = pruned.measure()
        if size.n_docs == 0:
            why = "loosen --min-df, --max-df or --stop-words"
            if whole := uncut(tally.noticed):
                why = advice(whole)
            raise DataError(f"{paths[0]}: pruning leaves no words; {why}")
        tables, split = emit(
            pruned,
            folder,
            n_words=len(words),
            size=size,
            n_rows=tally.rows_before,
            gaps=is_ids,
            n_shards=n_shards,
            n_heldout=n_heldout,
            seed=seed,
        )
        told = account(tally, ingested, len(words), tables, size.repeats)
        told["duplicates_split"] = split
        told["words_unused"] = int(np.count_nonzero(ingested.doc_freq[kept] == 0))
        if fields.id_name is not None:
            told |= account_of_ids(spool, Places(tally.sources))
        spool.close()
        shutil.rmtree(folder / "spool")
        write_words(folder / "vocabulary.txt", words)
        provenance = {
            "topicmc": VERSION,
            "format": format,
            "sources": [str(path) for path in paths],
            "field": field,
            "title": title,
            "time": time,
            "id": id,
            "delimiter": delimiter,
            "encoding": encoding,
            "quote": quote,
            **_numbering(readers),
            "vocabulary": given[0] if given else "built",
            "pruning": asdict(pruning),
            **({} if cut == EARLIER else {"tokenizer": None if is_ids else cut.as_dict()}),
            "phrases": None if found is None else len(found.phrasegrams),
            "seed": seed,
            **told,
        }
        write_index(
            folder,
            n_words=len(words),
            provenance=provenance,
            sources=tally.sources,
            columns=_kept_columns(readers),
            **tables,
        )
    return Corpus.open(output)


def _names(given: Collection[str]) -> tuple[str, ...]:
    """A text is one."""
    return (given,) if isinstance(given, str) else tuple(given)


def default_pruning(n_docs: int) -> Pruning:
    """What a vocabulary built from text goes through unless options say otherwise.

    Words of very few documents teach a topic nothing; those of more than half the documents
    belong to every topic. A handful of documents is left as it is, stop words apart.
    """
    if n_docs < 20:
        return Pruning(stopwords="english")
    min_df = min(5, max(2, n_docs // 50))
    return Pruning(min_df=min_df, max_df=0.5, keep=50_000, stopwords="english")


def given_vocabulary(
    id_paths: Sequence[Path], vocab: Path | None, strict: bool = False
) -> tuple[str, list[str]] | None:
    """Its path and words; None when it is to be built from text."""
    if vocab is not None:
        with readable([vocab]) as [vocab]:
            if vocab in id_paths:
                raise UsageError(f"--vocab {vocab}: is a source, too; name a file of words")
            return str(vocab), read_vocabulary(vocab, strict)
    if not id_paths:
        return None
    beside = [find_vocabulary(path) for path in id_paths]
    words = read_vocabulary(beside[0], strict)
    for path in beside[1:]:
        if path != beside[0] and read_vocabulary(path) != words:
            raise DataError(
                f"{path} and {beside[0]} differ: sources of one corpus share one vocabulary; "
                "prepare them apart, or give it by --vocab"
            )
    return str(beside[0]), words


def _ingest(
    readers: list[Any],
    is_ids: bool,
    tokenizer: Tokenizer,
    given: tuple[str, list[str]] | None,
    spool: Spool,
    tally: Tally,
    report: Progress,
    phrases: Any,
) -> Ingested:
    if given is None:
        return ingest_new(readers, tokenizer, spool, tally, report, phrases)
    if is_ids:
        return ingest_ids(readers, given[1], spool, tally, report)
    return ingest_known(readers, tokenizer, given[1], spool, tally, report, phrases)


def _kept_columns(readers: list[Any]) -> list[str]:
    """Names of the columns that some source has, in order."""
    names = [getattr(reader, "column_names", None) or [] for reader in readers]
    return list(dict.fromkeys(chain.from_iterable(names)))


def _numbering(readers: list[Any]) -> dict[str, int]:
    """How SVMlight numbers words, which later files of the same kind may not show."""
    first = {r.first_index for r in readers if isinstance(r, SvmlightReader)}
    return {"first_index": first.pop()} if first else {}


def _silent(tally: Tally) -> None:
    pass


def _why(given: tuple[str, list[str]] | None, tokenizer: Tokenizer, tally: Tally) -> str:
    if whole := uncut(tally.noticed):
        return advice(whole)
    if given:
        return f"check it against the vocabulary {given[0]}"
    if tokenizer.pattern is not None:
        return f"check what --token-pattern {shown(tokenizer.pattern)} finds in them"
    if tally.noticed["letters"]:
        least, most = tokenizer.min_length, tokenizer.max_length
        return f"a word has {least} to {most} letters unless --min-length and --max-length say more"
    return "check --format and --field"
