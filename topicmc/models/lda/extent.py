"""How large a corpus is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from topicmc.corpora import Corpus


class Extent(NamedTuple):
    """How large a corpus is, or a part of one: what settings that nobody gave are decided by."""

    n_docs: int
    n_tokens: int
    n_words: int

    @classmethod
    def of(cls, corpus: Corpus | Extent) -> Extent:
        """That of an open corpus, or itself."""
        return cls(corpus.n_docs, corpus.n_tokens, corpus.n_words)
