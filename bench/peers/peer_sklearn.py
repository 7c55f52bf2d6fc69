"""scikit-learn: online variational Bayes.

Minibatches of 4,096 documents in random order, the size that the paper behind it (Hoffman et al.,
2010) found best, or of a twentieth of a smaller corpus: with its default of 128, jobs cost more to
start than they save. It cannot learn α.

The clock counts ``partial_fit``, a minibatch at a time, once its worker processes have started.
"""

from __future__ import annotations

import numpy as np
from marks import Marks, Settings, bags

from topicmc.engine.clock import Clock


def train(corpus, settings: Settings, marks: Marks) -> None:
    """Passes until the last mark."""
    from sklearn.base import clone
    from sklearn.decomposition import LatentDirichletAllocation

    matrix = _matrix(corpus)
    n_docs = matrix.shape[0]
    batch_size = min(4096, max(128, n_docs // 20))
    model = LatentDirichletAllocation(
        n_components=settings.topics,
        doc_topic_prior=settings.alpha,
        topic_word_prior=settings.beta,
        learning_method="online",
        batch_size=batch_size,
        total_samples=n_docs,
        n_jobs=settings.threads,
        random_state=settings.seed + 1,
    )
    clone(model).partial_fit(matrix[: 2 * settings.threads])  # starts the workers
    generator = np.random.default_rng(settings.seed)
    clock = Clock()
    while marks.open:
        for batch in np.array_split(generator.permutation(n_docs), max(1, n_docs // batch_size)):
            chosen = matrix[batch]
            with clock.running():
                model.partial_fit(chosen)
            if marks.due(clock.seconds):
                phi = model.components_ / model.components_.sum(axis=1, keepdims=True)
                marks.take(clock.seconds, phi)
            if not marks.open:
                break


def _matrix(corpus):
    """Documents × words, float64 as scikit-learn would make it."""
    from scipy.sparse import csr_matrix

    documents = list(bags(corpus))
    counts = np.concatenate([counts for _, counts in documents]).astype(np.float64)
    ids = np.concatenate([ids for ids, _ in documents]).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum([len(ids) for ids, _ in documents])])
    return csr_matrix((counts, ids, starts), shape=(len(documents), corpus.n_words))
