"""Corpora on disk: readers, vocabulary, shards. Knows nothing of topics."""

from topicmc.corpora.documents import Documents
from topicmc.corpora.making.preparation import prepare
from topicmc.corpora.readers.wikipedia import wikipedia_extract
from topicmc.corpora.store import Corpus
from topicmc.corpora.text.stopwords import stop_words
from topicmc.corpora.text.tokenizer import Tokenizer
from topicmc.corpora.verification import verify

__all__ = [
    "Corpus",
    "Documents",
    "Tokenizer",
    "prepare",
    "stop_words",
    "verify",
    "wikipedia_extract",
]
