"""Held-out documents: exact in number, uniform, a function of the seed alone."""

import bags
import numpy as np
import pytest
from scipy import stats

from topicmc.corpora import prepare
from topicmc.corpora.making import split
from topicmc.corpora.making.emission import heldout_size, shard_bounds
from topicmc.corpora.making.split import choose_heldout


@pytest.mark.parametrize(("n_docs", "n_heldout"), [(1, 0), (10, 0), (10, 3), (10, 10), (5000, 999)])
def test_exact_distinct_and_repeatable(n_docs, n_heldout, monkeypatch):
    chosen = choose_heldout(n_docs, n_heldout, seed=3)
    assert len(chosen) == n_heldout
    assert (np.diff(chosen) > 0).all()
    assert n_heldout == 0 or (chosen[0] >= 0 and chosen[-1] < n_docs)
    monkeypatch.setattr(split, "_CHUNK", 7)
    assert choose_heldout(n_docs, n_heldout, seed=3).tolist() == chosen.tolist()


def biased(n_docs, n_heldout, seed):
    """A planted fault: the first document is never held out."""
    return choose_heldout(n_docs - 1, n_heldout, seed) + 1


def worst_p(choose):
    """Of how often each of 20 documents, and each of 190 pairs, is among 5 of 20 held out: the
    smallest two-sided binomial tail, times the number of tests (Bonferroni)."""
    n_docs, n_heldout, n_seeds = 20, 5, 4000
    held = np.zeros((n_seeds, n_docs))
    for seed in range(n_seeds):
        held[seed, choose(n_docs, n_heldout, seed)] = 1
    tails = []
    for counts, share in (
        (held.sum(axis=0), 5 / 20),
        ((held.T @ held)[np.triu_indices(n_docs, 1)], 5 * 4 / (20 * 19)),
    ):
        law = stats.binom(n_seeds, share)
        tails += list(2 * np.minimum(law.cdf(counts), law.sf(counts - 1)))
    return min(tails) * len(tails)


def test_uniform():
    """Fails a sound choice with probability below 1e-6; sees a document held out 16 % too often
    or too seldom, or a pair 40 %."""
    assert worst_p(choose_heldout) > 1e-6
    assert worst_p(biased) < 1e-6


def test_known_choice():
    """Pinned: when this changes, everyone's held-out sets change."""
    assert choose_heldout(100, 5, seed=0).tolist() == [23, 26, 47, 51, 69]


def test_training_and_heldout_share_all_documents(tmp_path):
    written = [{d % 50: d + 1} for d in range(100)]
    bags.docword(tmp_path / "docword.x.txt", written, 50)
    bags.write_vocabulary(tmp_path / "vocab.txt", 50)

    def made(**options):
        return prepare(tmp_path / "docword.x.txt", tmp_path / "out", force=True, **options)

    corpus = made(n_heldout=30, n_shards=4, seed=1)
    held, kept = bags.read_back(corpus.heldout), bags.training(corpus)
    assert [len(held), len(kept), corpus.n_docs, corpus.n_heldout] == [30, 70, 70, 30]
    assert sorted([*held, *kept], key=lambda bag: max(bag.values())) == written
    assert [max(b.values()) for b in kept] == sorted(max(b.values()) for b in kept)  # source order
    assert sorted(corpus.shard_sizes) == [17, 17, 18, 18]
    assert made(n_heldout=30, n_shards=4, seed=1).fingerprint == corpus.fingerprint
    assert bags.read_back(made(n_heldout=30, seed=1).heldout) == held  # however many shards
    assert bags.read_back(made(n_heldout=30, seed=2).heldout) != held
    assert made().n_heldout == 10


def test_default_sizes():
    assert [heldout_size(n, None) for n in (3, 106, 9_999, 8_200_000)] == [0, 10, 999, 1000]
    assert shard_bounds(10, 100, None) == [0, 10]
    assert len(shard_bounds(8_200_000, 483_000_000, None)) - 1 == 9
    assert len(shard_bounds(100_000, 483_000_000, None)) - 1 == 8
    assert shard_bounds(10, 100, 3) == [0, 3, 6, 10]
