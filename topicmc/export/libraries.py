"""Libraries that only an export needs, and that may not be there."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from topicmc.errors import UsageError


def library(name: str, format: str) -> Any:
    """A module; UsageError, saying how to install it, when it cannot be imported."""
    try:
        return import_module(name)
    except ImportError as error:
        raise UsageError(
            f"--to {format} needs {name} ({error}): pip install 'topicmc[export]'"
        ) from None
