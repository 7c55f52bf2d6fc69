"""How the sources of a corpus were read, so that new documents are read alike unasked."""

from __future__ import annotations

from typing import Any

from topicmc.corpora.readers.named_fields import Fields
from topicmc.corpora.store import Corpus

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
