"""Real corpora, when the folder that holds them is named by TOPICMC_SHARED."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from topicmc.corpora import Corpus, prepare, verify

SHARED = os.environ.get("TOPICMC_SHARED")
pytestmark = pytest.mark.skipif(
    not SHARED, reason="TOPICMC_SHARED does not name the folder of the real corpora"
)


@pytest.mark.parametrize(
    ("source", "documents", "words", "tokens"),
    [
        ("kos/docword.kos.txt.gz", 3_430, 6_906, 467_714),
        ("wikipedia/wikipedia.npz", 18_933, 7_702, 15_897_286),
        ("wikipedia-paragraphs/wikipedia-paragraphs.npz", 346_640, 7_702, 12_566_068),
    ],
)
def test_counts(source, documents, words, tokens, tmp_path):
    corpus = prepare(Path(SHARED or "") / "data" / source, tmp_path / "out")
    heldout = corpus.heldout
    assert corpus.n_words == words
    assert corpus.n_docs + heldout.n_docs == documents
    assert corpus.n_tokens + heldout.n_tokens == tokens
    assert corpus.provenance["documents_empty"] == 0
    verify(corpus.path)


MEASURED = """
import resource, sys, time
from topicmc.corpora import prepare
start = time.perf_counter()
prepare(sys.argv[1], sys.argv[2])
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_arxiv_in_time_and_memory(tmp_path):
    """Under 30 s and 600 MB; about 2 s and 250 MB when nothing else runs."""
    source = Path(SHARED or "") / "data" / "arxiv" / "docword.arxiv.txt.gz"
    done = subprocess.run(
        [sys.executable, "-P", "-c", MEASURED, source, tmp_path / "out"],
        check=True,
        capture_output=True,
        text=True,
    )
    seconds, kilobytes = map(float, done.stdout.split())
    assert seconds < 30
    assert kilobytes < 600_000
    corpus = Corpus.open(tmp_path / "out")
    assert corpus.n_docs + corpus.n_heldout == 94_095
    assert corpus.n_words == 20_367
    assert corpus.n_tokens + corpus.heldout.n_tokens == 11_561_909


def test_raw_abstracts(tmp_path):
    source = Path(SHARED or "") / "data" / "arxiv" / "abstracts-10k.jsonl.gz"
    corpus = prepare(source, tmp_path / "out", field="abstract")
    assert corpus.n_docs + corpus.n_heldout == 10_000
    assert 5_000 < corpus.n_words < 20_000
    assert not {"the", "of", "and"} & set(corpus.vocabulary)
