"""Warnings that name the line of whoever called an estimator, however deep they are raised."""

from __future__ import annotations

import sys
import warnings
from types import FrameType

_WITHIN = ("topicmc", "sklearn", "joblib")
"""scikit-learn wraps `transform`, and calls in pipelines and searches, there by joblib."""


def warn(text: str, category: type[Warning]) -> None:
    """As `warnings.warn`, of the innermost line outside of these packages."""
    level = 1
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _WITHIN:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)
