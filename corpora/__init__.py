"""Corpora on disk: readers, vocabulary, shards. Knows nothing of topics."""

from topicmc.corpora.documents import Documents
from topicmc.corpora.preparation import prepare
from topicmc.corpora.readers.wikipedia import wikipedia_extract
from topicmc.corpora.store import Corpus
from topicmc.corpora.verification import verify

__all__ = ["Corpus", "Documents", "prepare", "verify", "wikipedia_extract"]
