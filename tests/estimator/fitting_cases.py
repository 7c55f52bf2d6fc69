"""Forty small documents of two subjects, settings that fit them at once, and a stream of them."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from topicmc import LDA

TEXTS = ["tea milk cup tea", "rain wind cloud", "cup tea milk", "wind rain rain", "cloud rain"] * 8
TOKENS = [text.split() for text in TEXTS]
WORDS = sorted({word for tokens in TOKENS for word in tokens})
COUNTS = np.array([[tokens.count(word) for word in WORDS] for tokens in TOKENS])
QUICK = {"n_components": 2, "max_iter": 20, "random_state": 3, "n_jobs": 1}


def stream(model: LDA, n_calls: int) -> list[int]:
    """Parts of TOKENS, and after which calls the model has warned."""
    warned = []
    for call in range(n_calls):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.partial_fit([TOKENS[(i + 20 * call) % 40] for i in range(20)])
        if any(w.category is ConvergenceWarning for w in caught):
            warned.append(call)
    return warned
