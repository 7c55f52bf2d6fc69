"""How the sources of a corpus were read and pruned, so that new documents are treated alike
unasked."""

from __future__ import annotations

from typing import Any

from topicmc.corpora.index import INDEX
from topicmc.corpora.readers.named_fields import Fields
from topicmc.corpora.store import Corpus
from topicmc.corpora.vocabulary import Pruning
from topicmc.storage.fields import Record

_KEPT = ("field", "title", "time", "id", "delimiter", "encoding")
_GUESSED = ("csv", "text")  # neither name nor content may tell these


def fields_like(corpus: Corpus | None, **asked: Any) -> Fields:
    """`Fields` as asked for, where an option is not None, and else as those of a corpus were: these
    names are used where a source has them, the delimiter where it parts the header into most of
    them, and the encoding where a source is not UTF-8."""
    fields = Fields()
    if corpus is not None:
        told = {
            option: value
            for option in _KEPT
            if isinstance(value := corpus.provenance.get(option), str)
        }
        format = corpus.provenance.get("format")
        fields = Fields(
            **told,
            columns=tuple(corpus.index.get("columns", ())),
            optional=frozenset({*told, "keep"}),
            likely=format if format in _GUESSED else None,
        )
    new = {option: value for option, value in asked.items() if value is not None}
    settled = {"keep" if option == "columns" else option for option in new}
    return fields._replace(**new, optional=fields.optional - settled)


def pruning_of(corpus: Corpus) -> Pruning:
    """That of a corpus; none where it says nothing. DataError when it says what cannot be."""
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
