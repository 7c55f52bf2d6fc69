"""Parameters of `LDA`, and the settings of a run that they become."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from topicmc.errors import UsageError

SETTINGS = {
    "n_components": "topics",
    "doc_topic_prior": "alpha",
    "topic_word_prior": "beta",
    "seeds": "seeds",
    "seed_weight": "seed_weight",
    "sampler": "sampler",
    "max_iter": "epochs",
    "time_budget": "time_budget",
    "batch_size": "batch_size",
    "n_samples": "samples",
}


@contextmanager
def in_own_words() -> Iterator[None]:
    """Settings that cannot be honoured, by the names that they have here."""
    try:
        yield
    except UsageError as error:
        text = str(error).replace("--topic-prior", "topic_word_prior")
        for parameter, name in SETTINGS.items():
            text = text.replace("--" + name.replace("_", "-"), parameter)
        raise ValueError(text) from None
