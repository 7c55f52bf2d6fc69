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
from typing import Any, NamedTuple

import numpy as np

from topicmc.corpora.files import staging
from topicmc.corpora.index import INDEX, NAMES, write_index
from topicmc.corpora.making.accounts import account, account_of_ids
from topicmc.corpora.making.emission import Pruned, Size, Split, emit, repeated_rows
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
from topicmc.corpora.readers.records import Fields
from topicmc.corpora.readers.sources import ID_READERS, files_left_out, open_sources
from topicmc.corpora.readers.svmlight import SvmlightReader
from topicmc.corpora.readers.vocabularies import given_vocabulary
from topicmc.corpora.store import Corpus
from topicmc.corpora.text.phrases import learn_phrases, phrases_among
from topicmc.corpora.text.scripts import advice, uncut
from topicmc.corpora.text.stopwords import resolved, stop_words
from topicmc.corpora.text.tokenizer import EARLIER, Tokenizer
from topicmc.corpora.text.vocabulary import Pruning, default_pruning
from topicmc.errors import DataError, UsageError
from topicmc.host.version import VERSION
from topicmc.storage.fields import quoted
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
    # Bad options fail before anything is read.
    asked, stop = _asked_pruning(
        phrases is True, min_df=min_df, max_df=max_df, keep=keep, stopwords=stopwords
    )
    cut = tokenizer or Tokenizer()
    cut.load()
    if seed < 0:
        raise UsageError(f"--seed {seed}: give a whole number, 0 or more")
    split = Split(n_shards, n_heldout, seed)
    split.check()
    check_no_source(Path(output), paths)
    if duplicates not in ("keep", "drop"):
        raise UsageError(f"--duplicates {duplicates}: it is keep or drop")
    fields = Fields(
        *(field, title, time, id, _names(columns), delimiter, encoding, quote),
        tokens=cut.field,
        optional=frozenset(_names(optional)),
        first_index=first_index,
    )

    tally, report = Tally(), progress or _silent
    with ExitStack() as stack:
        folder = stack.enter_context(staging(Path(output), names=NAMES, force=force))
        paths = stack.enter_context(readable(paths))
        opened = _opened(paths, format, fields, Path(vocab) if vocab else None, cut)
        left_out = files_left_out(paths, opened.format)
        spool = stack.enter_context(closing(Spool(folder / "spool")))
        joined = _phrases(phrases, opened, cut, stop, report)
        ingested = _ingested(opened, cut, spool, tally, report, joined)
        if spool.n_docs == 0:
            raise _nothing_read(opened, cut, tally)
        settled = _settled(opened, ingested, spool, asked, drops=duplicates == "drop")
        if settled.size.n_docs == 0:
            raise _nothing_left(opened, tally)
        n_words = len(settled.words)
        tables, parted = emit(
            settled.pruned,
            folder,
            split,
            n_words=n_words,
            size=settled.size,
            n_rows=tally.rows_before,
            gaps=opened.is_ids,
        )
        told = account(tally, settled.ingested, n_words, tables, settled.size.repeats)
        told |= {"duplicates_split": parted, "words_unused": settled.n_unused}
        ids_asked = fields.id_name is not None
        if ids_asked or "ids" in spool.kinds:
            told |= account_of_ids(spool, Places(tally.sources), asked=ids_asked)
        if left_out:
            told |= {"files_left_out": len(left_out), "file_left_out": str(left_out[0])}
        write_words(folder / "vocabulary.txt", settled.words)
        pruning = settled.pruning
        del settled  # its arrays may be files of the spool; NFS keeps those that are open
        spool.close()
        shutil.rmtree(folder / "spool")
        write_index(
            folder,
            n_words=n_words,
            provenance=_provenance(opened, fields, cut, pruning, joined, seed, told),
            sources=tally.sources,
            columns=_kept_columns(opened.readers),
            **tables,
        )
    return Corpus.open(output)


class _Opened(NamedTuple):
    """What is read, once it is open; ``given`` is the path of a vocabulary, and its words."""

    paths: Sequence[Path]
    format: str
    readers: list[Any]
    given: tuple[str, list[str]] | None

    @property
    def is_ids(self) -> bool:
        return self.format in ID_READERS


class _Settled(NamedTuple):
    """The vocabulary, and what it leaves; ``n_unused`` of its words are in no document."""

    words: list[str]
    pruning: Pruning
    pruned: Pruned
    size: Size
    ingested: Ingested
    n_unused: int


def _names(given: Collection[str]) -> tuple[str, ...]:
    """A text is one."""
    return (given,) if isinstance(given, str) else tuple(given)


def _asked_pruning(finds_phrases: bool, **options: Any) -> tuple[dict[str, Any], frozenset[str]]:
    """The options of `Pruning` that are given, with files that are found from any folder, and the
    stop words for phrases; UsageError for bad ones."""
    asked = {name: value for name, value in options.items() if value is not None}
    Pruning(**asked)
    stop = stop_words(asked.get("stopwords", "english" if finds_phrases else "none"))
    if "stopwords" in asked:
        asked["stopwords"] = resolved(asked["stopwords"])
    return asked, stop


def _opened(
    paths: Sequence[Path],
    format: str,
    fields: Fields,
    vocab: Path | None,
    cut: Tokenizer,
) -> _Opened:
    format, readers = open_sources(paths, format, fields)
    is_ids = format in ID_READERS
    if is_ids and cut not in (Tokenizer(), EARLIER):
        raise UsageError(
            f"{cut.option} goes with text, and this is {format}, word ids: leave it out"
        )
    # The words of a prepared corpus are what they are.
    strict = vocab is None or not (vocab.parent / INDEX).is_file()
    given = given_vocabulary(paths if is_ids else [], vocab, strict)
    return _Opened(paths, format, readers, given)


def _phrases(
    asked: bool | Sequence[str],
    opened: _Opened,
    cut: Tokenizer,
    stop: frozenset[str],
    report: Progress,
) -> Any:
    """What joins them; None for none. UsageError where there can be none, though they are asked
    for."""
    if not isinstance(asked, bool):
        return phrases_among(_names(asked))
    if not asked:
        return None
    if opened.is_ids:
        raise UsageError(
            f"--phrases goes with text, and this is {opened.format}, word ids: leave it out"
        )
    if opened.given is None:
        return learn_phrases(opened.readers, cut, stop, Tally(), report)
    found = phrases_among(opened.given[1])
    if found is None:
        raise UsageError("--phrases: no word of the vocabulary is a phrase; leave it out")
    return found


def _ingested(
    opened: _Opened, cut: Tokenizer, spool: Spool, tally: Tally, report: Progress, phrases: Any
) -> Ingested:
    readers, given = opened.readers, opened.given
    if given is None:
        return ingest_new(readers, cut, spool, tally, report, phrases)
    if opened.is_ids:
        return ingest_ids(readers, given[1], spool, tally, report)
    return ingest_known(readers, cut, given[1], spool, tally, report, phrases)


def _settled(
    opened: _Opened, ingested: Ingested, spool: Spool, asked: dict[str, Any], *, drops: bool
) -> _Settled:
    """``drops`` says whether duplicates are left out."""
    n_docs = spool.n_docs
    repeated = repeated_rows(spool) if drops else None
    if repeated is not None:
        ingested, n_docs = without_rows(ingested, spool, repeated)
    pruning = replace(Pruning() if opened.given else default_pruning(n_docs), **asked)
    kept = pruning.mask(ingested.words, ingested.doc_freq, n_docs)
    words, new_ids = settle(ingested, kept, spool.folder, alphabetical=opened.given is None)
    pruned = Pruned(spool, new_ids, repeated)
    n_unused = int(np.count_nonzero(ingested.doc_freq[kept] == 0))
    return _Settled(words, pruning, pruned, pruned.measure(), ingested, n_unused)


def _provenance(
    opened: _Opened,
    fields: Fields,
    cut: Tokenizer,
    pruning: Pruning,
    phrases: Any,
    seed: int,
    told: dict[str, Any],
) -> dict[str, Any]:
    """By what the corpus was made, and what was ``told`` of it."""
    return {
        "topicmc": VERSION,
        "format": opened.format,
        "sources": [str(path) for path in opened.paths],
        "field": fields.field,
        "title": fields.title,
        "time": fields.time,
        "id": fields.id,
        "delimiter": fields.delimiter,
        "encoding": fields.encoding,
        "quote": fields.quote,
        **_numbering(opened.readers),
        "vocabulary": opened.given[0] if opened.given else "built",
        "pruning": asdict(pruning),
        **({} if cut == EARLIER else {"tokenizer": None if opened.is_ids else cut.as_dict()}),
        "phrases": None if phrases is None else len(phrases.phrasegrams),
        "seed": seed,
        **told,
    }


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


def _nothing_read(opened: _Opened, cut: Tokenizer, tally: Tally) -> DataError:
    if tally.cut is not None:
        return DataError(f"{tally.cut}: no document among them")
    why = _why(opened.given, cut, tally)
    return DataError(f"{opened.paths[0]} holds no documents with words that count: {why}")


def _why(given: tuple[str, list[str]] | None, tokenizer: Tokenizer, tally: Tally) -> str:
    if whole := uncut(tally.noticed):
        return advice(whole)
    if given:
        return f"check it against the vocabulary {given[0]}"
    if tokenizer.pattern is not None:
        return f"check what --token-pattern {quoted(tokenizer.pattern)} finds in them"
    if tally.noticed["letters"]:
        least, most = tokenizer.min_length, tokenizer.max_length
        return f"a word has {least} to {most} letters unless --min-length and --max-length say more"
    return "check --format and --field"


def _nothing_left(opened: _Opened, tally: Tally) -> DataError:
    whole = uncut(tally.noticed)
    why = advice(whole) if whole else "loosen --min-df, --max-df or --stop-words"
    return DataError(f"{opened.paths[0]}: pruning leaves no words; {why}")
