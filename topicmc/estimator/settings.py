"""Parameters of `LDA`, and the settings of a run that they become."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

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


def plain(value: Any) -> Any:
    """Numbers of NumPy's types as Python's own, which JSON knows."""
    return value.item() if isinstance(value, np.generic) else value


def whole_number(name: str, value: Any) -> int:
    """A parameter as a whole number from 1 on; ValueError where it is none."""
    value = plain(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 1 <= value < math.inf or value % 1 != 0:
        raise ValueError(f"{name} {value!r} is not a whole number from 1 on")
    return int(value)


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
