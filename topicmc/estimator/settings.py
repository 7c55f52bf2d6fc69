"""Parameters of `LDA`, and the settings of a run that they become."""

from __future__ import annotations

import math
from typing import Any

from topicmc.settings.parameters import plain

PARAMETERS = {
    "topics": "n_components",
    "alpha": "doc_topic_prior",
    "beta": "topic_word_prior",
    "topic_prior": "topic_word_prior",
    "seeds": "seeds",
    "seed_weight": "seed_weight",
    "sampler": "sampler",
    "epochs": "max_iter",
    "time_budget": "time_budget",
    "batch_size": "batch_size",
    "samples": "n_samples",
}
"""By setting. ``topic_word_prior`` becomes one of two: a number is β."""
WORDS = PARAMETERS | {"step_size": "the step size"}
"""What errors say in place of options."""


def whole_number(name: str, value: Any) -> int:
    """A parameter as a whole number from 1 on; ValueError where it is none."""
    value = plain(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 1 <= value < math.inf or value % 1 != 0:
        raise ValueError(f"{name} {value!r} is not a whole number from 1 on")
    return int(value)
