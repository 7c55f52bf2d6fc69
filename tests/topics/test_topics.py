"""Rankings of words, coherence and descriptions of topics, against slow twins and known cases."""

from dataclasses import replace
from itertools import combinations, pairwise
from math import log

import numpy as np
import pytest

from topicmc.errors import UsageError
from topicmc.topics import coherence
from topicmc.topics.coherence import DocumentCounts, c_v, document_counts, measure, npmi, u_mass
from topicmc.topics.ranking import _ranks, exclusivity, frex, rank, relevance, top
from topicmc.topics.reading import DETAILS, describe, diversity

K, W = 4, 60


@pytest.fixture(scope="module")
def phi():
    return np.random.default_rng(0).dirichlet(np.full(W, 0.3), K)


@pytest.fixture(scope="module")
def share():
    return np.array([0.4, 0.1, 0.3, 0.2])


@pytest.fixture(scope="module")
def words(small_corpus):
    """Six of the sixty most frequent words in each of five topics."""
    held = documents(small_corpus)
    frequent = np.argsort([-sum(w in document for document in held) for w in range(120)])[:60]
    return np.random.default_rng(1).permuted(np.tile(frequent, (5, 1)), axis=1)[:, :6]


def documents(corpus) -> list[set[int]]:
    """The words of each training document."""
    shards = map(corpus.shard, range(corpus.n_shards))
    return [
        set(shard.word_ids[a:b].tolist())
        for shard in shards
        for a, b in zip(shard.indptr[:-1], shard.indptr[1:], strict=True)
    ]


# ---- rankings


def test_relevance_runs_from_lift_to_probability(phi, share):
    overall = sum(share[k] * phi[k] for k in range(K))
    assert (top(relevance(phi, overall, 1.0), W) == top(phi, W)).all()
    assert (top(relevance(phi, overall, 0.0), W) == top(phi / overall, W)).all()
    expected = 0.3 * log(phi[1, 5]) + 0.7 * log(phi[1, 5] / overall[5])
    assert relevance(phi, overall, 0.3)[1, 5] == pytest.approx(expected)
    with pytest.raises(UsageError, match="--relevance 1.5"):
        relevance(phi, overall, 1.5)


def test_relevance_and_exclusivity_of_words_that_topics_lack():
    sparse = np.array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.5, 0.5, 0.0]])
    scores = relevance(sparse, sparse.mean(axis=0), 0.5)
    assert not np.isnan(scores).any()
    assert np.isneginf(scores[:, 3]).all()
    assert exclusivity(sparse).tolist() == [[1, 0.5, 0, 0], [0, 0.5, 1, 0]]


def test_frex_is_the_harmonic_mean_of_two_ranks(phi):
    for weight in (0.5, 0.7):
        scores = frex(phi, weight)
        for k, w in ((0, 3), (2, 59), (3, 17)):
            exclusive = phi[:, w][k] / phi[:, w].sum()
            share_of = [phi[k, v] / phi[:, v].sum() for v in range(W)]
            among_exclusive = sum(value <= exclusive for value in share_of) / W
            among_frequent = sum(value <= phi[k, w] for value in phi[k]) / W
            expected = 1 / (weight / among_exclusive + (1 - weight) / among_frequent)
            assert scores[k, w] == pytest.approx(expected)


def test_the_first_words_are_those_of_a_full_sort(phi):
    tied = np.round(np.tile(phi, (1, 10)), 2)
    for n in (1, 7, 300, 5000):
        assert (top(tied, n) == np.argsort(-tied, axis=1, kind="stable")[:, :n]).all()
    with pytest.raises(UsageError, match="beauty"):
        rank("beauty", phi, phi.mean(axis=0), 3)


def test_some_topics_are_ranked_as_among_all(phi, share):
    p_w, total = share @ phi, phi.sum(axis=0)
    for ranking, scores in (("relevance", relevance(phi, p_w)), ("frex", frex(phi))):
        expected = top(scores, 7)
        assert (rank(ranking, phi, p_w, 7) == expected).all()
        assert (rank(ranking, phi[[2, 0]], p_w, 7, total=total) == expected[[2, 0]]).all()
    weights = np.array([[0.0], [0.3], [1.0]])
    several = relevance(phi[[1]], p_w, weights)
    assert (several == [relevance(phi, p_w, w)[1] for w in weights.ravel()]).all()


def test_ranks_count_what_is_no_greater():
    values = np.random.default_rng(0).integers(0, 9, 50) / 7
    assert _ranks(values).tolist() == [(values <= value).mean() for value in values]


# ---- coherence


def test_documents_are_counted_as_by_hand(small_corpus, words, monkeypatch):
    held = documents(small_corpus)
    expected = [
        [[sum(v in doc and w in doc for doc in held) for w in topic] for v in topic]
        for topic in words.tolist()
    ]
    for at_once in (4_000_000, 50):  # all in one piece, and a document or two at a time
        monkeypatch.setattr(coherence, "_ENTRIES", at_once)
        counts = document_counts(words, small_corpus)
        assert counts.together.tolist() == expected
        assert counts.n_docs == len(held) == 300


def test_many_topics_look_at_more_documents_together(small_corpus, words, monkeypatch):
    """Each block costs as much a topic, however little it holds. Counts are the same."""
    blocks, documents_of = [], coherence._documents

    def counting(*asked):
        blocks.append(0)
        for block in documents_of(*asked):
            blocks[-1] += 1
            yield block

    expected = document_counts(words, small_corpus).together.tolist()
    monkeypatch.setattr(coherence, "_documents", counting)
    monkeypatch.setattr(coherence, "_ENTRIES", 50)
    for topics in (1000, 1):
        monkeypatch.setattr(coherence, "_TOPICS", topics)
        assert document_counts(words, small_corpus).together.tolist() == expected
    assert blocks[1] < blocks[0] / 4


def test_u_mass_and_npmi_are_their_formulas(small_corpus, words):
    counts = document_counts(words, small_corpus)
    for k in range(len(words)):
        d = counts.together[k]
        pairs = list(combinations(range(6), 2))
        mimno = [log((d[i, j] + 1) / d[i, i]) for i, j in pairs]
        assert u_mass(counts)[k] == pytest.approx(np.mean(mimno))
        bouma = [
            log(300 * d[i, j] / (d[i, i] * d[j, j])) / -log(d[i, j] / 300) if d[i, j] else -1
            for i, j in pairs
        ]
        assert npmi(counts)[k] == pytest.approx(np.mean(bouma))


def test_npmi_of_known_pairs():
    """Always together, never, independent, and in every document."""
    pairs = [[[50, 50], [50, 50]], [[50, 0], [0, 50]], [[50, 25], [25, 50]], [[100, 100]] * 2]
    counts = coherence.DocumentCounts(np.array(pairs), 100)
    np.testing.assert_allclose(npmi(counts), [1, -1, 0, 0], atol=1e-12)


def test_c_v_is_gensims_on_the_whole_documents(small_corpus, words):
    from gensim.corpora import Dictionary
    from gensim.models import CoherenceModel

    texts = [[str(w) for w in sorted(document)] for document in documents(small_corpus)]
    model = CoherenceModel(
        topics=[[str(w) for w in topic] for topic in words], texts=texts, processes=1, topn=6,
        dictionary=Dictionary(texts), coherence="c_v", window_size=10_000,
    )  # fmt: skip
    np.testing.assert_allclose(c_v(words, small_corpus), model.get_coherence_per_topic())


def test_words_of_one_document_cohere_more_than_others(small_corpus, words):
    held = documents(small_corpus)
    real = np.array([sorted(document)[:6] for document in held[:20] if len(document) >= 6])
    together, apart = (measure(w, small_corpus, coherence.MEASURES) for w in (real, words))
    for name in coherence.MEASURES:
        assert together[name].mean() > apart[name].mean()
    with pytest.raises(UsageError, match="c_w"):
        measure(real, small_corpus, ["c_w"])


def test_words_of_the_same_documents_have_a_u_mass_above_zero():
    """D = 2 documents, with both words: log (3 / 2)."""
    counts = DocumentCounts(np.full((1, 2, 2), 2), 9)
    assert u_mass(counts) == pytest.approx(log(1.5))


def test_words_that_no_document_holds(small_corpus):
    """The vocabulary of the corpus has them; C_v is not defined then, and no number in JSON."""
    counts = document_counts(np.arange(120)[None], small_corpus).together[0].diagonal()
    absent = np.flatnonzero(counts == 0)
    assert len(absent) >= 2
    phi = np.random.default_rng(5).dirichlet(np.where(counts > 30, 1, 1e-3), 2)
    phi[0, absent[:2]] = 1.0
    measures = {"corpus": small_corpus, "coherence": ("c_v", "npmi", "u_mass")}
    topics = describe(phi, np.ones(2), small_corpus.vocabulary, sort="coherence", **measures)
    assert [topic.number for topic in topics] == [1, 0]
    assert topics[1].c_v is None
    assert -1 <= topics[1].npmi <= 1


def test_a_single_word_has_no_pairs(small_corpus):
    found = measure(np.array([[3], [4]]), small_corpus, ["u_mass", "npmi"])
    assert [scores.tolist() for scores in found.values()] == [[0, 0], [0, 0]]


# ---- descriptions


VOCABULARY = [f"w{i}" for i in range(W)]


def test_a_plain_description_is_what_topics_json_holds(phi, share):
    topics = describe(phi, share, VOCABULARY, 3)
    assert [topic.number for topic in topics] == [0, 2, 3, 1]
    told = topics[0].as_dict()
    assert set(told) == {"topic", "share", "coherence", "words"}
    best = int(phi[0].argmax())
    assert told["words"][0] == {"word": f"w{best}", "probability": phi[0, best]}


def test_details(phi, share):
    near = np.vstack([phi, 0.9 * phi[1] + 0.1 * phi[0]])
    topics = describe(near, np.full(5, 0.2), VOCABULARY, 4, details=True, sort="exclusivity")
    by_number = {topic.number: topic for topic in topics}
    assert by_number[4].similar[0][0] == 1
    assert by_number[1].similar[0][0] == 4
    assert len(by_number[0].relevant) == len(by_number[0].frex) == 4
    scores = [topic.exclusivity for topic in topics]
    assert scores == sorted(scores, reverse=True)
    words = top(near, 10)[2]
    assert by_number[2].exclusivity == pytest.approx(
        np.mean(near[2, words] / near[:, words].sum(0))
    )


def test_details_that_are_named_are_those_of_all(phi, share, monkeypatch):
    """And others are not sought, which takes long."""
    whole = describe(phi, share, VOCABULARY, 4, details=True)
    for name in DETAILS:
        nothing = dict.fromkeys({*DETAILS} - {name})
        expected = [replace(topic, **nothing) for topic in whole]
        assert describe(phi, share, VOCABULARY, 4, details=[name]) == expected
        assert all(getattr(topic, name) is not None for topic in expected)
    monkeypatch.setattr("topicmc.topics.reading.distances", None)
    monkeypatch.setattr("topicmc.topics.ranking.frex", None)
    describe(phi, share, VOCABULARY, 4, details=["exclusivity", "relevant"])


def test_some_topics_are_described_as_among_all(phi, share, small_corpus):
    documents = np.arange(8).reshape(4, 2)
    options = {"details": True, "sort": "exclusivity", "corpus": small_corpus}
    every = describe(phi, share, VOCABULARY, 4, documents=documents, **options)
    some = describe(phi, share, VOCABULARY, 4, documents=documents, columns=[3, 1], **options)
    expected = [topic for topic in every if topic.number in (1, 3)]
    for one, other in zip(some, expected, strict=True):
        assert replace(one, similar=None) == replace(other, similar=None)
        assert [k for k, _ in one.similar] == [k for k, _ in other.similar]


def test_sorted_by_the_first_coherence(small_corpus):
    phi = np.random.default_rng(4).dirichlet(np.full(120, 0.1), 5)
    vocabulary = small_corpus.vocabulary
    options = {"sort": "coherence", "corpus": small_corpus}
    topics = describe(phi, np.ones(5), vocabulary, coherence=("npmi", "u_mass"), **options)
    assert all(a.npmi >= b.npmi for a, b in pairwise(topics))
    topics = describe(phi, np.ones(5), vocabulary, **options)
    assert all(a.coherence >= b.coherence for a, b in pairwise(topics))
    assert topics[0].npmi is None


@pytest.mark.parametrize("asked", [{"sort": "coherence"}, {"documents": np.zeros((K, 1), int)}])
def test_what_the_corpus_tells_needs_the_corpus(phi, share, asked):
    with pytest.raises(UsageError, match="give the training corpus"):
        describe(phi, share, VOCABULARY, **asked)


def test_documents_are_named_by_file_and_row(phi, share, small_corpus):
    chosen = np.arange(8).reshape(4, 2)
    topics = describe(phi, share, VOCABULARY, corpus=small_corpus, documents=chosen)
    place = {"file": "docword.small.txt", "id": None, "title": None}
    assert topics[0].as_dict()["documents"] == [
        {"document": 0, "row": 1, **place}, {"document": 1, "row": 2, **place}
    ]  # fmt: skip


def test_diversity():
    assert diversity(np.array([[1, 2], [2, 3]])) == 0.75
