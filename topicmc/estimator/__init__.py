"""LDA for scikit-learn: what it reads, trains by and shows."""

from topicmc.estimator.lda import LDA
from topicmc.estimator.watching import Evaluation

__all__ = ["LDA", "Evaluation"]
