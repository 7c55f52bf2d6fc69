"""How the sources of a corpus were read and pruned, so that new documents are treated alike
unasked. A run keeps it, too, as its corpus may be gone when documents are inferred."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from topicmc.corpora.index import INDEX
from topicmc.corpora.readers.records import Fields
from topicmc.corpora.readers.sources import ID_READERS
from topicmc.corpora.store import Corpus
from topicmc.corpora.text.stopwords import named
from topicmc.corpora.text.vocabulary import Pruning
from topicmc.storage.fields import Record

_KEPT = ("field", "title", "time", "id", "delimiter", "encoding", "quote")
_GUESSED = ("csv", "text")  # neither name nor content may tell these


def told_of(corpus: Corpus) -> dict[str, Any]:
    """What a corpus says of it, as JSON values: the options of `_KEPT` that were given, ``columns``
    that were kept, ``format``, ``first_index``, ``stopwords``, and whether ``phrases`` are joined.
    """
    known = corpus.provenance
    format, pruning = known.get("format"), known.get("pruning")
    told: dict[str, Any] = {
        option: value for option in _KEPT if isinstance(value := known.get(option), str)
    }
    told |= {"columns": list(corpus.index.get("columns", ()))}
    told |= {name: known[name] for name in ("format", "first_index") if name in known}
    if isinstance(pruning, dict) and isinstance(pruning.get("stopwords"), str):
        told["stopwords"] = pruning["stopwords"]
    # Where words came as ids, nothing is known of how text would be cut.
    if "phrases" in known and format not in ID_READERS:
        told["phrases"] = bool(known["phrases"])
    return told


def fields_like(told: Mapping[str, Any] | None, **asked: Any) -> Fields:
    """`Fields` as asked for, where an option is not None, and else as `told_of` a corpus: these
    names are used where a source has them, the delimiter where it parts the header into most of
    them, and the encoding where a source is not UTF-8."""
    fields = Fields()
    if told is not None:
        known = {name: value for name in _KEPT if isinstance(value := told.get(name), str)}
        format, columns = told.get("format"), told.get("columns")
        columns = columns if isinstance(columns, list) else []
        fields = Fields(
            **known,
            columns=tuple(name for name in columns if isinstance(name, str)),
            optional=frozenset({*known, "keep"}),
            likely=format if format in _GUESSED else None,
            first_index=0 if told.get("first_index") == 0 else None,
        )
    new = {option: value for option, value in asked.items() if value is not None}
    settled = {"keep" if option == "columns" else option for option in new}
    return fields._replace(**new, optional=fields.optional - settled)


def differing_rules(corpora: Sequence[Corpus]) -> list[str]:
    """Which rules for the words of texts differ among corpora. What a corpus does not say of them
    differs from nothing."""
    rules = [_rules_of(corpus) for corpus in corpora]
    return [name for name in rules[0] if len({of[name] for of in rules} - {None}) > 1]


def _rules_of(corpus: Corpus) -> dict[str, Any]:
    """None for what a corpus does not say: nothing is known of how word ids were made of text, and
    a vocabulary that was given was pruned elsewhere."""
    told, known = told_of(corpus), corpus.provenance
    built = known.get("vocabulary") == "built"
    return {
        "tokenizer": None if known.get("format") in ID_READERS else corpus.tokenizer,
        "phrases": known["phrases"] is not None if "phrases" in told else None,
        "stop words": named(told["stopwords"]) if built and "stopwords" in told else None,
    }


def pruning_of(corpus: Corpus) -> Pruning:
    """The pruning of a corpus; none where it says nothing. DataError when it says what cannot
    be."""
    told = corpus.provenance.get("pruning")
    if told is None:
        return Pruning()
    rules = Record(corpus.path / INDEX, told, "provenance.pruning.")
    keep = None if told.get("keep") is None else rules.whole("keep", least=1)
    return Pruning(
        min_df=rules.whole("min_df"),
        max_df=rules.number("max_df", least=1e-9, most=1),
        keep=keep,
        stopwords=rules.text("stopwords"),
    )
