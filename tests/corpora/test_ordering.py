"""Corpora in another order: the same documents with their titles and times, in an order that is
uniform and that the seed decides; and shards near equal in tokens."""

import json
import pickle
import resource
from math import factorial
from pathlib import Path

import bags
import numpy as np
import pytest
from scipy.stats import chi2
from test_maintenance import WORDS, made, random_bags, spelled

from topicmc.corpora import Corpus, prepare, verify
from topicmc.corpora.dropped import EMPTY
from topicmc.corpora.making import maintenance, ordering, split
from topicmc.corpora.making.ordering import in_order, in_source_order, random_keys


@pytest.fixture
def plain(tmp_path):
    return made(tmp_path, "a", random_bags(60, 20, 1), WORDS)


@pytest.fixture
def titled(tmp_path):
    """Sixty documents with titles and times, each told by its word counts; and five without."""
    rows = [
        {"text": " ".join([WORDS[i % 9]] * (1 + i)), "title": f"Title {i}", "time": str(1900 + i)}
        for i in range(60)
    ]
    rows += [{"text": " ".join([WORDS[i]] * 99)} for i in range(5)]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return prepare([tmp_path / "x.jsonl"], tmp_path / "t", n_shards=3, n_heldout=4, time="time")


def known(corpus):
    """Each training document with its title and time."""
    return list(zip(map(str, spelled(corpus)), corpus.titles, map(str, corpus.times), strict=True))


@pytest.mark.parametrize("bucket", [1 << 23, 16])
def test_a_shuffled_corpus_holds_the_same_documents(tmp_path, plain, bucket, monkeypatch):
    monkeypatch.setattr(ordering, "_BUCKET_ENTRIES", bucket)
    shuffled = maintenance.reshard(plain.path, tmp_path / "c", 4, shuffle=True, seed=7)
    verify(shuffled.path)
    before, after = map(str, spelled(plain)), map(str, spelled(shuffled))
    assert sorted(before) == sorted(after)
    assert spelled(plain) != spelled(shuffled)
    assert shuffled.index["heldout"]["sha256"] == plain.index["heldout"]["sha256"]
    assert shuffled.fingerprint != plain.fingerprint
    assert shuffled.provenance["history"][-1] | {"topicmc": ""} == {
        "topicmc": "", "step": "reshard", "shards": 4, "before": 2, "shuffled": 7,
    }  # fmt: skip


def test_titles_and_times_move_along(tmp_path, titled):
    shuffled = maintenance.reshard(titled.path, tmp_path / "c", 2, shuffle=True)
    verify(shuffled.path)
    assert sorted(known(shuffled)) == sorted(known(titled))
    assert known(shuffled) != known(titled)
    assert ("", "NaT") in {row[1:] for row in known(shuffled)}


def test_the_seed_decides_the_order_and_nothing_else(tmp_path, plain, monkeypatch):
    """Not the shards before, nor how many documents are sorted at a time."""
    one = maintenance.reshard(plain.path, tmp_path / "one", 3, shuffle=True, seed=1)
    cut = maintenance.reshard(plain.path, tmp_path / "cut", 7)
    monkeypatch.setattr(ordering, "_BUCKET_ENTRIES", 40)
    monkeypatch.setattr(split, "_CHUNK", 11)
    again = maintenance.reshard(cut.path, tmp_path / "again", 3, shuffle=True, seed=1)
    assert again.fingerprint == one.fingerprint
    other = maintenance.reshard(plain.path, tmp_path / "other", 3, shuffle=True, seed=2)
    assert other.fingerprint != one.fingerprint


def test_orders_are_uniform():
    """All orders of five documents are equally likely over seeds; and of 3,000 documents the first,
    the second and the last land anywhere, alone and in pairs. χ², by chance once in 10⁶ each."""

    def check(seen, n_cells, n_draws):
        expected = n_draws / n_cells
        counts = np.bincount(seen, minlength=n_cells)
        assert ((counts - expected) ** 2 / expected).sum() < chi2.isf(1e-6, n_cells - 1)

    few = np.array([np.argsort(random_keys(seed)(np.arange(5))) for seed in range(12_000)])
    check(np.unique(few, axis=0, return_inverse=True)[1].ravel(), factorial(5), len(few))
    many = np.array(
        [np.argsort(random_keys(s)(np.arange(3000)))[[0, 1, 2999]] for s in range(6400)]
    )
    for coarse in (many // 375, many % 8):
        for a, b in ((0, 1), (0, 2), (1, 2)):
            check(coarse[:, a] * 8 + coarse[:, b], 64, len(many))


def test_documents_come_in_the_order_of_their_keys(tmp_path, titled, monkeypatch):
    """Those of equal keys keep theirs."""
    values = np.arange(titled.n_docs) % 3

    def keys(positions):
        return (2 - values[positions]).astype(np.uint64) << np.uint64(62)

    monkeypatch.setattr(maintenance, "random_keys", lambda seed: keys)
    done = maintenance.reshard(titled.path, tmp_path / "c", 3, shuffle=True)
    verify(done.path)
    rows = known(titled)
    assert known(done) == [rows[i] for i in np.argsort(-values, kind="stable")]


@pytest.mark.parametrize("n_shards", [1, 4, 13])
def test_shards_are_near_equal_in_tokens(tmp_path, n_shards, monkeypatch):
    """Long documents first; also where documents arrive one by one."""
    lengths = np.sort(np.random.default_rng(1).pareto(1.2, 200) * 5 + 1).astype(int)[::-1]
    corpus = made(tmp_path, "a", [{0: min(n, 400)} for n in map(int, lengths)], WORDS, n_heldout=0)
    cut = maintenance.reshard(corpus.path, tmp_path / "c", n_shards)
    tokens = [row["n_tokens"] for row in cut.index["shards"]]
    assert max(tokens) <= cut.n_tokens / n_shards + 400
    assert spelled(cut) == spelled(corpus)
    monkeypatch.setattr("topicmc.corpora.documents._BLOCK_ENTRIES", 1)
    again = maintenance.reshard(corpus.path, tmp_path / "d", n_shards)
    assert again.fingerprint == cut.fingerprint


def test_each_shard_has_a_document(tmp_path):
    """Also when one document holds nearly all tokens, wherever it stands."""
    for place in (0, 3, 6):
        rows = [{0: 1}] * 7
        rows[place] = {0: 1000}
        corpus = made(tmp_path, f"a{place}", rows, WORDS, n_heldout=0)
        for n_shards in (2, 5, 7):
            output = tmp_path / f"c{place}-{n_shards}"
            assert min(maintenance.reshard(corpus.path, output, n_shards).shard_sizes) >= 1
            assert spelled(Corpus.open(output)) == spelled(corpus)
            assert bags.training(corpus)[place] == {0: 1000}


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files cannot be counted")
def test_few_files_are_open_at_a_time(tmp_path, titled, monkeypatch):
    """Of thirty shards, of seven files each."""
    monkeypatch.setattr("topicmc.corpora.store.available_cores", lambda: 2)
    corpus = maintenance.reshard(titled.path, tmp_path / "c", 30)
    titles, n_docs = corpus.titles, corpus.n_docs + corpus.n_heldout
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = max(int(file.name) for file in Path("/proc/self/fd").iterdir()) + 25
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, before[1]))
    try:
        shuffled = sum(part.n_docs for part in in_order(corpus, random_keys(0)))
        listed = sum(part.n_docs for part, _, _ in in_source_order(corpus))
        assert (shuffled, listed, len([*titles])) == (corpus.n_docs, n_docs, corpus.n_docs)
        assert len(corpus.times) == len(corpus.rows) == corpus.n_docs
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_corpus_whose_titles_were_read_can_be_sent_to_another_process(titled):
    titles = titled.titles[:]
    assert pickle.loads(pickle.dumps(titled)).titles[:] == titles


def test_rows_that_made_no_document_are_not_copied(tmp_path):
    rows = [{"text": WORDS[i] if i % 2 else "", "note": "x" * 99} for i in range(8)]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    dropped = prepare(tmp_path / "x.jsonl", tmp_path / "a", columns=("note",), n_heldout=0).dropped
    metadata, reasons = dropped.each()
    assert metadata.rows.tolist() == [1, 3, 5, 7] and reasons.tolist() == [EMPTY] * 4
    assert np.shares_memory(metadata.columns.text, dropped.metadata.columns.text)
