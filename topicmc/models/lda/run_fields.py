"""What the JSON files of a run of LDA may say besides what those of any run may, and its states;
DataError names the file and the field that cannot be.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from topicmc.errors import DataError, UsageError
from topicmc.models.lda.priors.seed_settings import checked_seeds
from topicmc.models.lda.settings import MAX_TOPICS
from topicmc.models.names import fault_of_name
from topicmc.samplers.row_prior import Additions
from topicmc.storage.fields import PLACE, SHA256, Record

_ROWS = 64  # of θ that are looked at together


def check_settings(path: Path, facts: Any) -> None:
    """``run.json``: settings that readers use, and what is said of the corpus."""
    facts = Record(path, facts)
    config, corpus = facts.record("config"), facts.record("corpus")
    if "topics" in config:
        config.whole("topics", least=1, most=MAX_TOPICS)
    if "alpha" in config:
        _check_alpha(config)
    if "beta" in config:
        config.number("beta", least=0)
    if "passes" in facts:
        facts.number("passes", least=0)
    if "labels" in facts:
        _check_labels(path, facts.record("labels").texts(r"\d{1,9}", "(?s).*"))
    for seeds in (config.value.get("seeds"), facts.value.get("seeds")):
        _check_seeds(path, seeds, config.value.get("topics", MAX_TOPICS))
    if "sampler" in config:
        config.text("sampler", "[a-z]+")
    if config.value.get("from_run") is not None:
        config.text("from_run", PLACE)
    for name in ("documents", "tokens", "words"):
        if name in corpus:
            corpus.whole(name, least=1)
    if "fingerprint" in corpus:
        corpus.text("fingerprint")
    if "origin" in facts:
        states = [*facts.record("origin").records("states")]
        if not states:
            raise DataError(f"{path}: damaged, its origin has no states; restore it")
        for state in states:
            state.text("file", r"origin-\d{3}\.npz")
            state.text("checksum", SHA256)
            state.number("beta", least=0)
            state.numbers("alpha", config.whole("topics", least=2, most=MAX_TOPICS), least=0)
    for name in ("vocabulary", "prior"):
        if name in facts:
            facts.text(name, SHA256)


def _check_labels(path: Path, labels: Mapping[str, str]) -> None:
    """Names that topics can have."""
    for fault in filter(None, map(fault_of_name, labels.values())):
        raise DataError(f"{path}: damaged, {fault}; restore it")


def _check_seeds(path: Path, seeds: Any, n_topics: int) -> None:
    """Words of topics, if there are any, and of no more than there are."""
    if seeds is None:
        return
    try:
        n_seeded = len(checked_seeds(seeds))
    except UsageError as error:
        raise DataError(f"{path}: damaged, {str(error).removeprefix('--')}; restore it") from None
    if n_seeded > n_topics:
        raise DataError(
            f"{path}: damaged, seeds name {n_seeded} topics and there are {n_topics}; restore it"
        )


def _check_alpha(config: Record) -> None:
    """One number, or one for each topic."""
    if isinstance(config.value.get("alpha"), list):
        config.numbers("alpha", config.whole("topics"), least=0)
    else:
        config.number("alpha", least=0)


def check_complete(path: Path, facts: Any) -> None:
    """That ``run.json`` has what every reader needs."""
    facts = Record(path, facts)
    config, corpus = facts.record("config"), facts.record("corpus")
    config.whole("topics", least=2)
    _check_alpha(config)
    config.number("beta")
    config.text("sampler")
    corpus.text("fingerprint")
    corpus.text("path")


def check_entries(path: Path, index: Any, n_topics: int | None) -> None:
    """``samples/index.json``: the priors of each state of so many topics."""
    for entry in Record(path, index).records("samples"):
        if "beta" in entry:
            entry.number("beta", least=0)
        for name in ("alpha", "share"):
            if name in entry:
                entry.numbers(name, n_topics, least=0)
        if "mean" in entry:
            entry.record("mean").numbers("share", n_topics, least=0)


def check_additions(
    path: Path, arrays: Mapping[str, np.ndarray], shape: tuple[int | None, int | None]
) -> Additions:
    """Additions to the prior of topics from ``path``: ``row_of`` (W,) and ``values`` (R, K) as
    `Additions` has them, W and K as in ``shape`` where that is known."""
    row_of, values = arrays.get("row_of"), arrays.get("values")
    if (
        row_of is None or values is None or row_of.dtype != np.int32 or values.dtype != np.float64
        or row_of.ndim != 1 or shape[0] not in (None, len(row_of))
        or values.ndim != 2 or shape[1] not in (None, values.shape[1])
        or not 0 <= row_of.min(initial=0) <= row_of.max(initial=0) < len(values)
        or values[0].any() or not (np.isfinite(values).all() and (values >= 0).all())
    ):  # fmt: skip
        raise DataError(f"{path}: holds no prior of this run's topics; restore or remake it")
    return Additions(row_of, values)


def check_theta(path: Path, theta: np.ndarray, shape: tuple[int | None, int | None]) -> np.ndarray:
    """``theta``, a state from ``path``: float32 (W, K), as in ``shape`` where that is known, no
    number of it negative or none, and no topic without weight."""
    fits = theta.ndim == 2 and all(n in (m, None) for n, m in zip(shape, theta.shape, strict=True))
    if not fits or theta.dtype != np.float32:
        raise DataError(
            f"{path}: holds {theta.dtype} {theta.shape} in place of the weights of a run's words"
            " and topics; restore or remake it"
        )
    if not (theta.min(initial=0) >= 0 and np.isfinite(theta.max(initial=0))):  # NaN propagates
        raise DataError(f"{path}: holds weights that are no weights; restore or remake it")
    lacking = np.arange(theta.shape[1])  # the first rows have weights in all topics, as a rule
    for first in range(0, len(theta), _ROWS):
        lacking = lacking[~theta[first : first + _ROWS, lacking].any(axis=0)]
        if len(lacking) == 0:
            break
    if len(lacking):
        raise DataError(f"{path}: holds a topic without weight; restore or remake it")
    return theta
