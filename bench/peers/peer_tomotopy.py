"""tomotopy: collapsed Gibbs sampling in C++ with AVX.

Two or more workers under its default parallel scheme, which its documentation says it chooses best
by itself (for LDA: PARTITION). Its α optimisation is off, or on as by default: every 10 sweeps.

The clock counts sweeps, α optimisation among them; not the adding of documents, and not the first
assignments, which ``train(0)`` draws. Sweeps are made one at a time, which costs nothing beside
``train(n)``.
"""

from __future__ import annotations

import numpy as np
from marks import Marks, Settings, token_lists

from topicmc.engine.clock import Clock


def train(corpus, settings: Settings, marks: Marks, learn: bool) -> None:
    """Sweeps until the last mark."""
    import tomotopy

    model = tomotopy.LDAModel(
        k=settings.topics, alpha=settings.alpha, eta=settings.beta, seed=settings.seed + 1
    )
    model.optim_interval = 10 if learn else 0
    for words in token_lists(corpus):
        model.add_doc(words)
    model.train(0, workers=settings.threads)
    column = {word: w for w, word in enumerate(corpus.vocabulary)}
    columns = np.array([column[word] for word in model.used_vocabs])
    clock, sweeps = Clock(), 0
    while marks.open:
        with clock.running():
            model.train(1, workers=settings.threads)
        sweeps += 1
        if marks.due(clock.seconds, sweeps):
            phi = _phi(model, columns, corpus.n_words, settings.beta)
            alpha = np.array(model.alpha, float) if learn else None
            marks.take(clock.seconds, phi, alpha, sweeps)


def _phi(model, columns: np.ndarray, n_words: int, beta: float) -> np.ndarray:
    """float32 (K, W), (n_kw + β) / (n_k + W β). Words that tomotopy was not given, and so does not
    count in its own W, have n_kw = 0."""
    phi = np.empty((model.k, n_words), np.float32)
    for row, k, size in zip(phi, range(model.k), model.get_count_by_topics(), strict=True):
        total = size + beta * n_words
        row[:] = beta / total
        row[columns] = model.get_topic_word_dist(k) * ((size + beta * len(columns)) / total)
    return phi
