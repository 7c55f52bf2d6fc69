"""Kept states vary as the posterior does, however many chains are coupled in burn-in.

While R chains are averaged after every trajectory, the states have 1/R of the posterior's variance
(for SCIR given its counts exactly so). None of them may be kept as a sample."""

from dataclasses import replace

import numpy as np
import pytest
from synthetic import write_docword
from trained import train

from topicmc.corpora import Corpus, prepare
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.samples import phi_of
from topicmc.models.lda.settings import TrainConfig

BETA = 0.1
COUNTS = np.array([800, 100, 100, 4, 0, 0, 0])
"""Of the words of each of two topics: with β they make the sparse Dirichlet of Baker's thesis."""
CONFIG = TrainConfig(
    topics=2, sampler="scir", alpha=0.01, beta=BETA, seed=5, threads=1, step_size=1.0,
    step_offset=1e9, sweeps=2, burn_in=1, trajectory=3, anneal_updates=30, samples=256,
    updates=1500, evaluate_every="10m", checkpoint_every="10m", balance=False,
)  # fmt: skip


@pytest.fixture(scope="module")
def sparse(tmp_path_factory) -> Corpus:
    """Four shards of the same documents, each of words of one topic alone: a minibatch of a whole
    shard tells the counts of the corpus without noise."""
    folder = tmp_path_factory.mktemp("sparse")
    documents = []
    for _ in range(4):
        for topic in (0, 1):
            words = np.repeat(np.arange(7), COUNTS // 4) + 7 * topic
            documents += list(words.reshape(-1, 251))
    source = write_docword(folder, documents, 14)
    return prepare([source], folder / "corpus", n_heldout=0, n_shards=4, stopwords="none")


def draws(run: TopicRun) -> np.ndarray:
    """φ of the kept samples: (chains × n, K, W)."""
    entries = run.sample_index()
    assert not any(entry["burn_in"] for entry in entries)
    return np.array([phi_of(run.read_sample(entry)) for entry in entries])


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_the_sparse_dirichlet(sparse, tmp_path, workers):
    """Variances of the frequent words' shares over the exact ones: of 128 to 256 samples a chain,
    three relaxation times apart, their mean has a standard error of 0.06 or less, so that by chance
    fewer than one test in 10⁶ fails. Averages have 1/2 and 1/4."""
    config = replace(CONFIG, workers=workers, batch_size=sparse.n_docs // workers)
    found = draws(train(config, sparse, tmp_path / "run")[0])
    assert len(found) >= 128 * workers
    shapes = COUNTS + BETA
    mean = shapes / shapes.sum()
    exact = mean * (1 - mean) / (shapes.sum() + 1)
    ratios = []
    for phi in np.moveaxis(found, 1, 0):
        own = phi[:, :7] if phi[:, :7].mean() > phi[:, 7:].mean() else phi[:, 7:]
        np.testing.assert_allclose(own.mean(axis=0)[:3], mean[:3], rtol=0.1)
        ratios.append((own.var(axis=0) / exact)[[0, 1, 2, 3]])
    assert 0.7 < np.mean(ratios) < 1.3


def test_averages_that_go_on_are_no_samples(sparse, tmp_path):
    """They may be asked for, and are marked as what they are."""
    config = replace(CONFIG, workers=4, batch_size=2, updates=90, average_until=10_000)
    run, _ = train(config, sparse, tmp_path / "run")
    (entry,) = run.sample_index()
    assert entry["burn_in"] and run.is_starting()
    config = replace(config, average_until=60)
    run, _ = train(config, sparse, tmp_path / "until")
    assert {entry["position"] for entry in run.sample_index()} == set(range(21, 31))
    assert {entry["chain"] for entry in run.sample_index()} == {0, 1, 2, 3}


def test_lda_of_overlapping_topics(small_corpus, tmp_path):
    """The variance of likely words' shares in the kept states of each chain, of 2 and of 4 chains
    beside that of one: ratios of means over 60 entries and 64 samples or more. Over twelve seeds
    of runs twice as long they were 1.02 and 0.99 in the mean, standard deviation 0.03. Averages
    have 1/2 and 1/4."""
    config = replace(
        CONFIG, topics=5, alpha=0.1, step_size=0.05, batch_size=75, updates=1500,
        anneal_updates=300, samples=128, trajectory=2,
    )  # fmt: skip
    spread = {}
    for workers in (1, 2, 4):
        run, _ = train(replace(config, workers=workers), small_corpus, tmp_path / str(workers))
        chains = {entry["chain"] for entry in run.sample_index()}
        assert chains == set(range(workers))
        variances = []
        for chain in chains:
            entries = [entry for entry in run.sample_index() if entry["chain"] == chain]
            phi = np.array([phi_of(run.read_sample(entry)) for entry in entries])
            likely = np.argsort(-phi.mean(axis=0), axis=1)[:, :12]
            mean = np.take_along_axis(phi.mean(axis=0), likely, axis=1)
            variances.append((np.take_along_axis(phi.var(axis=0), likely, axis=1) / mean).mean())
        spread[workers] = np.mean(variances)
    assert 0.7 < spread[2] / spread[1] < 1.4
    assert 0.7 < spread[4] / spread[1] < 1.4
