"""Corpora on disk: readers, vocabulary, shards. Knows nothing of topics."""

from topicmc.corpora.documents import Documents
from topicmc.corpora.preparation import prepare
from topicmc.corpora.store import Corpus

__all__ = ["Corpus", "Documents", "prepare"]
