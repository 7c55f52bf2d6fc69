"""Estimators for scikit-learn: what they read, train by and show."""

from topicmc.estimator.lda import LDA
from topicmc.estimator.watching import Evaluation

__all__ = ["LDA", "Evaluation"]
