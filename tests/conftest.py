"""A small corpus with known topics, prepared once for all tests that train."""

import pytest
from synthetic import lda_documents, write_docword

from topicmc.corpora import Corpus, prepare


@pytest.fixture(scope="session")
def small_corpus(tmp_path_factory) -> Corpus:
    """300 documents over 120 words from 5 topics; 30 more are held out."""
    folder = tmp_path_factory.mktemp("small")
    source = write_docword(folder, lda_documents(330, 120, 5, seed=1), 120)
    return prepare([source], folder / "corpus", n_heldout=30, n_shards=3, seed=4)
