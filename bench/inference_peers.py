"""How other systems infer topic mixes of documents, for `inference.py`.

tomotopy, gensim and scikit-learn are given the same φ; topica takes no other topics than those it
has trained itself, so that only its time says something.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from topicmc.corpora import Corpus, Documents


def rows(documents: Documents) -> Iterator[np.ndarray]:
    """The tokens of each document."""
    ids, counts = np.asarray(documents.word_ids), np.asarray(documents.counts)
    for start, stop in zip(documents.indptr[:-1], documents.indptr[1:], strict=True):
        yield np.repeat(ids[start:stop], counts[start:stop])


class Tomotopy:
    """A model, trained by tomotopy with its own settings but for the number of topics."""

    def __init__(self, corpus: Corpus, n_topics: int, sweeps: int, threads: int) -> None:
        import tomotopy as tp

        self.words = corpus.vocabulary
        self.threads = threads
        self.model = tp.LDAModel(k=n_topics, alpha=0.1, eta=0.01, seed=1)
        for number in range(corpus.n_shards):
            for tokens in rows(corpus.shard(number)):
                self.model.add_doc([self.words[w] for w in tokens])
        self.model.train(sweeps, workers=threads)

    def topics(self) -> tuple[np.ndarray, np.ndarray]:
        """φ float64 (K, W), and α float64 (K,)."""
        position = {word: i for i, word in enumerate(self.words)}
        columns = [position[word] for word in self.model.used_vocabs]
        phi = np.full((self.model.k, len(self.words)), 1e-12)
        for k in range(self.model.k):
            phi[k, columns] = self.model.get_topic_word_dist(k)
        return phi / phi.sum(axis=1, keepdims=True), np.array(self.model.alpha, np.float64)

    def documents(self, documents: Sequence[np.ndarray]) -> list:
        return [self.model.make_doc([self.words[w] for w in tokens]) for tokens in documents]

    def infer(self, documents: list, iterations: int) -> np.ndarray:
        mixes, _ = self.model.infer(documents, iterations, workers=self.threads)
        return np.array(mixes, np.float64)


class Gensim:
    """Variational Bayes on one core, which is all that its `inference` uses; its own settings."""

    def __init__(self, phi: np.ndarray, alpha: np.ndarray) -> None:
        from gensim.models import LdaModel

        words = {w: str(w) for w in range(phi.shape[1])}
        self.model = LdaModel(id2word=words, num_topics=len(phi), alpha=alpha.tolist())
        self.model.expElogbeta = phi.astype(self.model.dtype)

    def documents(self, documents: Sequence[np.ndarray]) -> list:
        counted = (np.unique(tokens, return_counts=True) for tokens in documents)
        return [list(zip(words.tolist(), n.tolist(), strict=True)) for words, n in counted]

    def infer(self, documents: list) -> np.ndarray:
        gamma = self.model.inference(documents)[0].astype(np.float64)
        return gamma / gamma.sum(axis=1, keepdims=True)


class Sklearn:
    """Variational Bayes with a symmetric prior, the mean of α, which is all it takes."""

    def __init__(self, phi: np.ndarray, alpha: np.ndarray, threads: int) -> None:
        from sklearn.decomposition import LatentDirichletAllocation

        self.n_words = phi.shape[1]
        self.model = LatentDirichletAllocation(
            n_components=len(phi), doc_topic_prior=float(alpha.mean()), n_jobs=threads
        )
        # As a fit leaves them.
        self.model.components_ = self.model.exp_dirichlet_component_ = phi
        self.model.doc_topic_prior_ = float(alpha.mean())
        self.model.n_features_in_ = self.n_words
        self.model.random_state_ = np.random.RandomState(0)

    def documents(self, documents: Sequence[np.ndarray]) -> sparse.csr_array:
        indptr = np.concatenate([[0], np.cumsum([len(tokens) for tokens in documents])])
        tokens = np.concatenate(documents)
        made = sparse.csr_array(
            (np.ones(len(tokens)), tokens, indptr), shape=(len(documents), self.n_words)
        )
        made.sum_duplicates()
        return made

    def infer(self, documents: sparse.csr_array) -> np.ndarray:
        return self.model.transform(documents)


class Topica:
    """A model of its own after so many sweeps."""

    def __init__(self, corpus: Corpus, n_topics: int, sweeps: int, threads: int) -> None:
        import topica

        self.words = corpus.vocabulary
        self.model = topica.LDA(n_topics, num_threads=threads, seed=1)
        trained: list[Any] = []
        for number in range(corpus.n_shards):
            trained += self.documents(list(rows(corpus.shard(number))))
        made = topica.Corpus.from_documents(trained, vocabulary=list(self.words))
        self.model.fit(made, iters=sweeps, progress=False, keep_theta_draws=False)

    def documents(self, documents: Sequence[np.ndarray]) -> list:
        return [[self.words[w] for w in tokens] for tokens in documents]

    def infer(self, documents: list) -> np.ndarray:
        return np.asarray(self.model.transform(documents))
