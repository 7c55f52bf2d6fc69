"""What settings may say of seed words (`topicmc.models.lda.priors.seeds`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

from topicmc.errors import UsageError
from topicmc.models.names import fault_of_name
from topicmc.storage.fields import quoted

Seeds = dict[str, dict[str, float]]
MOST_WEIGHT = 1e9
"""In tokens."""
MOST_TIMES = 1e6
"""Of the usual weight."""
_SHAPE = 'give topics with their words, as {"sport": ["match", "team"]}'


def checked_seeds(seeds: Any) -> Seeds:
    """Seeds from ``{"sport": ["match", ["team", 2]]}`` or ``{"sport": {"match": 1, "team": 2}}``;
    UsageError for anything else."""
    if not isinstance(seeds, Mapping) or not seeds:
        raise UsageError(f"--seeds: holds no topics; {_SHAPE}")
    found: Seeds = {}
    for name, words in seeds.items():
        if not isinstance(name, str):
            raise UsageError(f"--seeds: {quoted(name)} is no name of a topic; {_SHAPE}")
        if fault := fault_of_name(name):
            raise UsageError(f"--seeds: {fault}; give another")
        if isinstance(words, str) or not isinstance(words, Mapping | Sequence):
            kind = type(words).__name__
            raise UsageError(
                f"--seeds: the words of topic {quoted(name)} are of type {kind}, not list; {_SHAPE}"
            )
        if not words:
            raise UsageError(f"--seeds: topic {quoted(name)} has no words; {_SHAPE}")
        weights = found[name] = {}
        for word, weight in words.items() if isinstance(words, Mapping) else map(_pair, words):
            if word in weights:
                raise UsageError(f"--seeds: topic {quoted(name)}: {quoted(word)} comes twice")
            weights[word] = _weight(name, word, weight)
    return found


def _pair(item: Any) -> tuple[str, Any]:
    """A word with its weight, from the word alone or a list of both."""
    word, weight = item if isinstance(item, list | tuple) and len(item) == 2 else (item, None)
    if not isinstance(word, str):
        raise UsageError(f'--seeds: {quoted(item)} is no word; give "match" or ["match", 2]')
    return word, weight


def _weight(name: str, word: Any, weight: Any) -> float:
    where = f"--seeds: topic {quoted(name)}"
    if not isinstance(word, str) or not word.strip(" *"):
        raise UsageError(f"{where}: {quoted(word)} names no word; write for example econom*")
    if weight is None:
        return 1.0
    is_number = isinstance(weight, Real) and not isinstance(weight, bool)
    if not is_number or not 0 < weight <= MOST_TIMES:
        raise UsageError(
            f"{where}, {quoted(word)}: the weight {quoted(weight)} is no number above 0 and up to"
            f" {MOST_TIMES:,.0f}; give how many times --seed-weight"
        )
    return float(weight)
