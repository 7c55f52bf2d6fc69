"""LDA for scikit-learn: what it reads, trains by and shows."""

from topicmc.estimator.lda import LDA

__all__ = ["LDA"]
