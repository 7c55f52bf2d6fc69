"""MALLET's files, read by pandas as its users read them, and by MALLET's own rules."""

import gzip

import numpy as np
import pandas as pd
import pytest
from made_run import BETAS

from topicmc.export import export
from topicmc.export.mixture import GroupTopics
from topicmc.kernels.random import stream_key
from topicmc.kernels.threads import Threads


@pytest.fixture(scope="module")
def folder(made, tmp_path_factory):
    place = tmp_path_factory.mktemp("mallet") / "topics"
    export(made.source(threads=1), "mallet", place)
    return place


@pytest.fixture(scope="module")
def state(folder) -> pd.DataFrame:
    return pd.read_csv(
        folder / "state.gz", compression="gzip", sep=" ", skiprows=[1, 2], keep_default_na=False
    )


def test_the_head_of_the_state(folder, topics):
    with gzip.open(folder / "state.gz", "rt", encoding="utf-8") as stream:
        names, alpha, beta = (next(stream) for _ in range(3))
    assert names == "#doc source pos typeindex type topic\n"
    assert alpha.startswith("#alpha : ")
    assert [float(value) for value in alpha.split()[2:]] == topics.alpha.tolist()
    assert beta.startswith("#beta : ")
    assert float(beta.removeprefix("#beta : ")) == pytest.approx(np.mean(BETAS[0]))


def test_the_tokens_are_those_of_the_corpus(state, small_corpus, topics):
    counts = np.zeros((small_corpus.n_docs, small_corpus.n_words), int)
    first = 0
    for number in range(small_corpus.n_shards):
        shard = small_corpus.shard(number)
        rows = first + np.repeat(np.arange(shard.n_docs), shard.lengths)
        counts[rows, shard.word_ids] = shard.counts
        first += shard.n_docs
    found = np.zeros_like(counts)
    np.add.at(found, (state["#doc"], state["typeindex"]), 1)
    np.testing.assert_array_equal(found, counts)
    names = {f"docword.small.txt,_document_{row}" for row in small_corpus.rows}
    assert set(state["source"]) == names
    assert state["pos"].tolist() == state.groupby("#doc").cumcount().tolist()
    words = [word.replace(" ", "_") for word in topics.vocabulary]
    assert state["type"].tolist() == [words[w] for w in state["typeindex"]]
    assert set(state["topic"]) == set(range(5))


def departures(documents: np.ndarray, words, z, phi, alpha) -> np.ndarray:
    """How far the topics z of tokens are from their law given all others: for each topic, Σ over
    tokens of 1[z = k] − p(k | …), in standard errors by document; (K,)."""
    n_topics = len(alpha)
    own = np.eye(n_topics)[z]
    counts = np.zeros((documents.max() + 1, n_topics))
    np.add.at(counts, documents, own)
    weights = (counts[documents] - own + alpha) * phi[:, words].T
    residuals = np.zeros_like(counts)
    np.add.at(residuals, documents, own - weights / weights.sum(axis=1, keepdims=True))
    return residuals.sum(axis=0) / np.sqrt((residuals**2).sum(axis=0))


def test_the_topics_are_a_draw_given_phi_and_alpha(state, made, even, topics, small_corpus):
    """Each of five figures is normal; one of them is beyond 4.5 once in 29,000 seeds, and the seed
    is fixed. A draw under another prior is found out."""
    of_tokens = state["#doc"].to_numpy(), state["typeindex"].to_numpy()
    law = topics.phi, topics.alpha
    assert np.abs(departures(*of_tokens, state["topic"].to_numpy(), *law)).max() < 4.5
    wrong = [z for _, z in even.assignments(small_corpus, stream_key(3, "x"), Threads(1))]
    assert np.abs(departures(*of_tokens, np.concatenate(wrong), *law)).max() > 6


def test_the_same_bytes_for_any_number_of_threads(folder, made, tmp_path, monkeypatch):
    """And for any number of documents that are sampled at a time."""
    monkeypatch.setattr("topicmc.export.source.CHUNK", 700)
    export(made.source(threads=3), "mallet", tmp_path / "topics")
    for name in ("state.gz", "topic-keys.txt", "topic-word-weights.txt"):
        assert (tmp_path / "topics" / name).read_bytes() == (folder / name).read_bytes()


def test_documents_of_groups_come_some_at_a_time(topics, small_corpus, monkeypatch):
    """A shard may hold many millions of tokens."""
    monkeypatch.setattr("topicmc.export.source.CHUNK", 100)
    of = np.arange(small_corpus.n_docs, dtype=np.int32) % 5
    groups = GroupTopics(**vars(topics), sizes=np.bincount(of), groups=of)
    found = list(groups.assignments(small_corpus, stream_key(3, "x"), Threads(1)))
    assert len(found) > 2 * small_corpus.n_shards
    assert np.concatenate([batch.doc_ids for batch, _ in found]).tolist() == list(range(len(of)))
    for batch, z in found:
        np.testing.assert_array_equal(z, np.repeat(of[batch.doc_ids], np.diff(batch.offsets)))


def test_the_keys(folder, topics):
    lines = (folder / "topic-keys.txt").read_text(encoding="utf-8").splitlines()
    for k, line in enumerate(lines):
        number, alpha, words = line.split("\t")
        assert int(number) == k
        assert float(alpha) == topics.alpha[k]
        best = np.argsort(-topics.phi[k])[:20]
        assert words.split() == [topics.vocabulary[w].replace(" ", "_") for w in best]
    assert len(lines) == 5


def test_the_weights(folder, topics):
    rows = pd.read_csv(
        folder / "topic-word-weights.txt", sep="\t", header=None, quoting=3, keep_default_na=False
    )
    assert rows[0].tolist() == np.repeat(np.arange(5), 120).tolist()
    words = [word.replace(" ", "_") for word in topics.vocabulary]
    assert rows[1].tolist() == words * 5
    np.testing.assert_allclose(rows[2].to_numpy().reshape(5, 120), topics.phi, atol=1e-15)
