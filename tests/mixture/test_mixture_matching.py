"""Groups found again, and documents completed by mixtures, beside slow twins."""

from types import SimpleNamespace

import naive_mixture as naive
import numpy as np
import pytest
from naive_mixture import documents

from topicmc.kernels import mixture as kernels
from topicmc.kernels import partitions
from topicmc.kernels.threads import Threads
from topicmc.models.heldout import split_documents
from topicmc.models.mixture import reading
from topicmc.models.mixture.completion import token_probabilities
from topicmc.models.mixture.matching import FOUND, GroupSamples, adjusted_rand, pairs
from topicmc.models.mixture.reading import Groups, Number, numbers_of_groups
from topicmc.models.mixture.run import Sample
from topicmc.models.mixture.state import bags_of


@pytest.mark.parametrize("seed", range(4))
def test_the_adjusted_rand_index_is_that_of_pairs(seed):
    rng = np.random.default_rng(seed)
    one = rng.integers(0, 5, 80).astype(np.int32)
    other = np.where(rng.random(80) < 0.5, one, rng.integers(0, 3, 80)).astype(np.int32)
    assert adjusted_rand(one, other) == pytest.approx(naive.adjusted_rand(one, other))
    assert adjusted_rand(one, (one + 1) % 5) == pytest.approx(1)


def test_partitions_with_nothing_to_tell_agree():
    whole, apart = np.zeros(6, np.int32), np.arange(6, dtype=np.int32)
    assert adjusted_rand(whole, whole) == adjusted_rand(apart, apart) == 1
    assert adjusted_rand(whole, apart) == 0
    assert adjusted_rand(whole[:1], whole[:1]) == 1


def test_groups_are_paired_such_that_jaccard_indices_add_up_to_most():
    one = np.repeat([0, 1, 2], [5, 4, 1]).astype(np.int32)
    other = np.array([3, 3, 3, 0, 0, 0, 0, 0, 0, 3], np.int32)  # groups 1 and 2 are empty
    found = pairs(one, other)
    np.testing.assert_array_equal(found.to, [3, 0, -1])
    np.testing.assert_allclose(found.jaccard, [3 / 6, 4 / 6, 0])


def test_no_token_is_impossible():
    """Words whose weight in a group is too small to be kept; other groups are out of question."""
    phi = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]], np.float32)
    sample = Sample(np.zeros(1, np.int32), np.array([0.6, 0.4]), phi, 1.0, 1e-12)
    split = split_documents(documents(np.array([[400, 400, 1]] * 60)), seed=1)
    found = token_probabilities(split, sample, np.arange(3), np.arange(3))
    assert (split.scored_word == 2).any() and (found > 0).all()


def test_tokens_are_completed_as_by_bayes():
    """With words that others lack left out of groups and documents alike, and doubled tokens."""
    rng = np.random.default_rng(3)
    x = rng.integers(0, 4, (40, 6))
    x[:, 5] = 0  # which another model does not know
    ids, columns = np.arange(5), np.array([4, 2, 0, 1, 3])
    phi = rng.dirichlet(np.full(6, 0.3), 3)
    weights = np.array([0.5, 0.2, 0.1])
    sample = Sample(np.zeros(1, np.int32), weights, phi.astype(np.float32), 1.0, 0.4)
    split = split_documents(documents(x), seed=1)
    found = token_probabilities(split, sample, columns, ids)
    known = phi.astype(np.float32)[:, columns].astype(float)
    known /= known.sum(axis=1, keepdims=True)
    batch = split.observed
    observed = np.zeros((len(batch.doc_ids), 5), int)
    rows = np.repeat(np.arange(len(observed)), np.diff(batch.offsets))
    np.add.at(observed, (rows, batch.words[batch.tokens]), 1)
    expected = [
        naive.completion(observed[doc], int(w), weights, known, 0.4)
        for doc, w in zip(split.scored_doc, split.scored_word, strict=True)
    ]
    assert len(found) == split.n_scored > 20
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_the_log_joint_is_that_of_seats_and_words():
    rng = np.random.default_rng(4)
    x, groups = rng.integers(0, 3, (12, 5)), rng.integers(0, 4, 12).astype(np.int32)
    groups[groups == 1] = 0  # an empty group adds nothing
    sizes, words = np.zeros(4, np.int64), np.zeros((4, 5), np.int32)
    kernels.add_docs(bags_of(documents(x)), np.arange(12), groups, 1, words, sizes)
    expected = naive.log_joint(x, groups, 1.7, 0.3)
    assert partitions.log_joint(sizes, words, 0.3, 1.7) == pytest.approx(expected)


def test_what_a_group_says_is_of_the_samples_that_have_found_it():
    """A sample whose matched group shares too few documents counts for nothing."""

    class Run:
        def read_sample(self, entry):
            return entry["sample"]

    phi = [np.array([[0.8, 0.2], [0.1, 0.9]]), np.array([[0.3, 0.7], [0.6, 0.4]])]
    samples = [Sample(np.zeros(1, np.int32), np.ones(2) / 2, p, 1.0, 0.1) for p in phi]
    groups = Groups(np.array([3, 2]), np.ones(2) / 2, phi[0], 0.0, 0.1, 1.0, np.zeros(5, np.int32))
    found = GroupSamples(
        groups,
        [(Run(), {"sample": sample}) for sample in samples],
        chain=np.array([0, 1]),
        kept=2,
        stick=np.array([[0, 1], [1, -1]]),
        jaccard=np.array([[1, 1], [FOUND, FOUND / 2]]),
        share=np.array([[0.6, 0.4], [0.5, 0.0]]),
    )
    np.testing.assert_allclose(found.mean_phi(), [[0.7, 0.3], [0.1, 0.9]])
    assert [len(part) for part in found.of_group(0, found.share[:, 0])] == [1, 1]
    assert [len(part) for part in found.of_group(1, found.share[:, 1])] == [1]


def test_how_many_groups_there_are_by_all_draws_of_all_chains(tmp_path):
    """Those of the second half; a null is none. A run without a trace has its kept samples, and a
    state of a start is none of them."""
    first, second = [8, 8, 8, 8, 3, 3, 4, 6], [1, 1, 1, 1, 3, None, 4, 4]
    records = [
        {"position": i, "burn_in": False, "chains": {"0": {"groups": a}, "1": {"groups": b}}}
        for i, (a, b) in enumerate(zip(first, second, strict=True), start=1)
    ]
    entries = [{"groups": n, "burn_in": n == 9} for n in (3, 9, 4)]
    runs = [
        SimpleNamespace(
            path=tmp_path,
            trace=lambda told=told: told,
            facts=lambda: {"corpus": {"documents": 9}},
            states_to_read=lambda: entries,
        )
        for told in (records, [])
    ]
    expected = [(3, 4 / 9), (4, 4 / 9), (5, 0), (6, 1 / 9)]
    assert numbers_of_groups(*runs) == [Number(*pair) for pair in expected]
    expected = [(3, 3 / 7), (4, 3 / 7), (5, 0), (6, 1 / 7)]
    assert numbers_of_groups(runs[0]) == [Number(*pair) for pair in expected]


def test_scores_of_documents_and_tokens(monkeypatch):
    """Of two chains with two samples each, by hand."""
    scores = {"a": [-1.0, -2.0], "b": [-3.0, -3.0], "c": [-2.0, -4.0], "d": [-1.0, -1.0]}
    entries = [
        {"chain": chain, "file": file, "burn_in": False}
        for chain, file in zip((0, 1, 0, 1), scores, strict=True)
    ]
    run = SimpleNamespace(states_to_read=lambda: entries, read_sample=lambda entry: entry["file"])
    two = SimpleNamespace(n_docs=2, n_tokens=10)
    monkeypatch.setattr(reading, "_scored", lambda run, corpus: (two, 3, 4))
    monkeypatch.setattr(reading, "of_sample", lambda file, *_: np.array(scores[file]))
    found = reading.score(run, None, Threads(1))
    assert found.nats_per_document == pytest.approx((3 + 1) / 2)
    together = -np.log(np.exp(list(scores.values())).mean(axis=0)).sum()
    assert found.nats_per_document_averaged == pytest.approx(together / 2)
    assert found.nats_per_token == pytest.approx(together / 10)
    assert (found.samples, found.documents, found.tokens) == (4, 2, 10)
    assert (found.unknown_documents, found.unknown_words) == (3, 4)
