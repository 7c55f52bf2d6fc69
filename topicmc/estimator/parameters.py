"""Parameters of estimators, as scikit-learn has them, and the settings that they become."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.utils.validation import check_random_state

from topicmc.errors import DivergedError, UsageError
from topicmc.settings.values import option

_SEEDS = 2**31 - 1
_OF_ALL = {"seed": "random_state", "threads": "n_jobs"}
PARAMETERS = {
    "topics": "n_components",
    "alpha": "doc_topic_prior",
    "beta": "topic_word_prior",
    "topic_prior": "topic_word_prior",
    "seeds": "seeds",
    "seed_weight": "seed_weight",
    "from_run": "init_run",
    "sampler": "sampler",
    "epochs": "max_iter",
    "time_budget": "time_budget",
    "batch_size": "batch_size",
    "samples": "n_samples",
}
"""Those of `LDA`, by setting. ``topic_word_prior`` becomes one of two: a number is β."""
PRIORS = ("doc_topic_prior", "topic_word_prior")
"""Which are learned, or have usual values, where they are None."""
WORDS = PARAMETERS | {"step_size": "the step size"}
"""What errors of `LDA` say in place of options."""


@contextmanager
def in_own_words(
    parameters: Mapping[str, str], usage: type[Exception] = ValueError
) -> Iterator[None]:
    """Within the block errors name ``parameters``, which are keyed by setting, and those that all
    estimators have, in place of options; a UsageError becomes a ``usage``, and a DivergedError
    stays one."""
    try:
        yield
    except (DivergedError, UsageError) as error:
        text = str(error)
        for setting, parameter in (_OF_ALL | dict(parameters)).items():
            text = re.sub(rf"{option(setting)}(?![\w-])", parameter, text)
        kind = DivergedError if isinstance(error, DivergedError) else usage
        raise kind(text) from None


def seed_of(random_state: Any) -> int:
    """The seed that a ``random_state`` gives: itself, as --seed, or a number drawn from it."""
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return int(random_state)
    return int(check_random_state(random_state).randint(_SEEDS))


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
