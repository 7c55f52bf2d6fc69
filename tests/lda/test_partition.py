"""Which documents a worker has: each document one worker, shares near equal in tokens."""

import itertools
import shutil
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic import write_docword
from test_adlda import CONFIG, method, recount
from trained import StopAfter, train

from topicmc.corpora import Corpus, prepare
from topicmc.errors import UsageError
from topicmc.models.lda.partition import DocumentRange, partition, share_out
from topicmc.models.lda.workers import WorkerDocuments, expand

SETTINGS = replace(CONFIG, topics=4)

documents_of_files = st.lists(
    st.lists(st.integers(1, 9) | st.integers(1, 4000), max_size=12), min_size=1, max_size=9
)


def shared_out(files, n_workers):
    """The ranges, and the files whose lengths were asked for."""
    asked = []

    def lengths(i):
        asked.append(i)
        return np.array(files[i])

    return partition([len(f) for f in files], [sum(f) for f in files], n_workers, lengths), asked


@given(documents_of_files, st.integers(1, 25))
def test_each_document_has_one_worker(files, n_workers):
    """In the order of the corpus; files are asked for lengths only where they are divided."""
    n_docs, n_files = sum(map(len, files)), sum(map(bool, files))
    if n_docs < n_workers:
        with pytest.raises(UsageError, match=f"use at most {n_docs} workers"):
            shared_out(files, n_workers)
        return
    ranges, asked = shared_out(files, n_workers)
    assert len(ranges) == n_workers and all(ranges)
    pieces = [piece for mine in ranges for piece in mine]
    assert all(first < last for _, first, last in pieces)
    covered = [(shard, doc) for shard, first, last in pieces for doc in range(first, last)]
    assert covered == [(i, doc) for i, file in enumerate(files) for doc in range(len(file))]
    if n_files >= n_workers:
        assert not asked and all((f, last) == (0, len(files[i])) for i, f, last in pieces)
    assert len(asked) == len(set(asked))


@given(documents_of_files, st.integers(1, 25))
def test_no_share_exceeds_the_mean_by_more_than_a_document(files, n_workers):
    """Where files are divided, or by more than a file where they stay whole: the shares are as near
    to equal as the units allow, also when one holds nearly all tokens."""
    if sum(map(len, files)) < n_workers:
        return
    ranges, _ = shared_out(files, n_workers)
    tokens = [sum(sum(files[i][first:last]) for i, first, last in mine) for mine in ranges]
    whole = sum(map(bool, files)) >= n_workers
    unit = max(sum(f) for f in files) if whole else max(itertools.chain(*files))
    assert max(tokens) <= -(-sum(tokens) // n_workers) + unit


def test_files_are_chosen_by_tokens_not_by_documents():
    """Four files of ten documents, those of the last as long as all others together."""
    files = [[1] * 10, [1] * 10, [1] * 10, [3] * 10]
    assert shared_out(files, 2) == (
        [[DocumentRange(i, 0, 10) for i in range(3)], [DocumentRange(3, 0, 10)]],
        [],
    )


@pytest.fixture(scope="module")
def heavy(tmp_path_factory):
    """2,000 documents with lengths of a Pareto law (exponent 1.5: infinite variance), the longest
    first, in one file: the first half has three times the tokens of the second."""
    random = np.random.default_rng(5)
    lengths = np.sort(np.minimum(5 * (1 + random.pareto(1.5, 2000)), 500).astype(int))[::-1]
    documents = [random.integers(0, 30, n) for n in lengths]
    folder = tmp_path_factory.mktemp("heavy")
    source = write_docword(folder, documents, 30)
    return prepare([source], folder / "corpus", n_heldout=0, stopwords="none", n_shards=1)


@pytest.mark.parametrize("n_workers", [2, 4, 7])
def test_heavy_tails_are_shared_out_near_equally(heavy, n_workers):
    """The largest share, on which AD-LDA's barrier waits, is within 2 % of the mean. Documents
    shared out by number are at 1.5 to 3.4 times the mean."""
    tokens = [len(expand(heavy, mine)[1]) for mine in share_out(heavy, n_workers)]
    assert sum(tokens) == heavy.n_tokens
    assert max(tokens) / np.mean(tokens) < 1.02
    by_number = np.array_split(np.diff(expand(heavy, share_out(heavy, 1)[0])[0]), n_workers)
    assert by_number[0].sum() / np.mean(tokens) > 1.5


def test_both_kinds_of_workers_have_these_documents(heavy):
    """What trains has the documents that `share_out` says, whichever the sampler."""
    ranges = share_out(heavy, 3)
    numbers = [sum(last - first for _, first, last in mine) for mine in ranges]
    assert len(set(numbers)) == 3
    collapsed = method(replace(SETTINGS, workers=3), heavy).samplers
    assert [len(collapsed[worker].offsets) - 1 for worker in range(3)] == numbers
    minibatch = method(replace(SETTINGS, sampler="scir", workers=3), heavy).target.documents
    assert [minibatch[worker].n_docs for worker in range(3)] == numbers


def test_a_worker_reads_no_other_files(heavy, tmp_path):
    """Its tokens, and its minibatches: not even the type of the ids is read elsewhere."""
    source = tmp_path / "docword.small.txt"
    write_docword(tmp_path, [np.array([i % 5, i % 7]) for i in range(40)], 7)
    corpus = prepare([source], tmp_path / "corpus", n_heldout=0, stopwords="none", n_shards=4)
    mine = share_out(corpus, 2)[1]
    whole = expand(corpus, mine)
    for shard in ("00000", "00001"):
        shutil.rmtree(corpus.path / "shards" / shard)
    corpus = Corpus.open(corpus.path)
    assert share_out(corpus, 2)[1] == mine
    for before, after in zip(whole, expand(corpus, mine), strict=True):
        np.testing.assert_array_equal(before, after)
    assert WorkerDocuments(corpus, mine).minibatch(np.arange(20)).n_docs == 20


def test_runs_that_were_shared_out_by_number_go_on(heavy, tmp_path, monkeypatch):
    """As on another number of workers: every token keeps its topic, no worker takes over the
    topics of other documents, and it is said."""

    def by_number(corpus, n_workers):
        n = corpus.n_docs
        return [
            [DocumentRange(0, n * w // n_workers, n * (w + 1) // n_workers)]
            for w in range(n_workers)
        ]

    config = replace(SETTINGS, workers=3, epochs=100, start="plain")
    with monkeypatch.context() as old:
        old.setattr("topicmc.models.lda.collapsed.adlda.share_out", by_number)
        run, _ = train(config, heavy, tmp_path / "run", StopAfter(5))
    checkpoint = run.checkpoint()
    before = [checkpoint.array(f"z-{worker:03d}") for worker in range(3)]
    after = method(config, heavy)
    said = after.restore(checkpoint)
    assert said and "other documents than when this run was saved" in said
    now = [after.samplers[worker].z for worker in range(3)]
    assert [len(z) for z in now] != [len(z) for z in before]
    np.testing.assert_array_equal(np.concatenate(now), np.concatenate(before))
    counts = after.reconciliation.counts()
    np.testing.assert_array_equal(counts, recount(after.samplers.values(), counts.shape))
    after.round()
    run, _ = train(config, heavy, tmp_path / "run", StopAfter(3), resume=True)
    assert method(config, heavy).restore(run.checkpoint()) is None
