"""Priors that `LDA` is given: numbers, arrays and seed words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from topicmc.estimator.parameters import plain
from topicmc.estimator.warning import warn
from topicmc.models.lda.priors.given import over_base
from topicmc.models.lda.priors.seed_settings import Seeds, checked_seeds
from topicmc.models.lda.priors.seeds import SeedWords, found_in
from topicmc.models.lda.settings import LEAST_PRIOR, MOST_PRIOR
from topicmc.samplers.row_prior import RowPrior

NO_FILE = "an array in memory"
"""Where a prior lies that was never in a file."""


def alpha_of(doc_topic_prior: Any) -> Any:
    """α as settings have it: a number, or a list of them."""
    if np.ndim(doc_topic_prior) == 0:
        return plain(doc_topic_prior)
    return np.asarray(doc_topic_prior, np.float64).ravel().tolist()


def is_matrix(topic_word_prior: Any) -> bool:
    """Whether the prior of the topics is not one number."""
    return topic_word_prior is not None and np.ndim(topic_word_prior) > 0


def matrix_of(model: Any) -> np.ndarray | None:
    """The prior of every topic and word, float64 (K, W), where it is not one number; ValueError
    unless it has that shape and is positive, from `LEAST_PRIOR` to `MOST_PRIOR`."""
    if not is_matrix(model.topic_word_prior):
        return None
    prior = np.asarray(model.topic_word_prior, np.float64)
    shape = model.n_components, model.n_features_in_
    if prior.shape != shape or not ((prior >= LEAST_PRIOR) & (prior <= MOST_PRIOR)).all():
        raise ValueError(
            f"topic_word_prior must be from {LEAST_PRIOR:g} to {MOST_PRIOR:g}, and one number or an"
            f" array {shape}"
        )
    return prior


def found_seeds(model: Any, vocabulary: Sequence[str] | None) -> SeedWords | None:
    """The seeds of a model in the words of a vocabulary; warns of those that it does not have.

    Raises UsageError for topics of none of its words, ValueError where there is no vocabulary.
    """
    if model.seeds is None:
        return None
    if vocabulary is None:
        raise ValueError("seeds are words, and X knows columns without names: give vocabulary")
    found = found_in(checked_seeds(model.seeds), vocabulary)
    remark = found.remark()
    if remark is not None:
        warn(remark, UserWarning)
    return found


def in_numbers(found: SeedWords) -> Seeds:
    """Seeds with the numbers of words in place of their spelling."""
    return {
        name: {str(w): weight for w, weight in weights.items()}
        for name, weights in zip(found.names, found.weights, strict=True)
    }


def row_prior(model: Any, beta: float, weight: float) -> RowPrior:
    """The prior of the topics of a model that begins without `fit`: over ``beta``, with ``weight``
    tokens for a seed word."""
    matrix, seeds = matrix_of(model), found_seeds(model, model.vocabulary_)
    if matrix is not None:
        return RowPrior(*over_base(matrix, beta, "topic_word_prior"))
    if seeds is None:
        return RowPrior(beta)
    return RowPrior(beta, seeds.additions(model.n_features_in_, model.n_components, weight))
