"""Memory for the samples that an estimator holds."""

from __future__ import annotations

from topicmc.errors import UsageError
from topicmc.host.machine import available_memory


def check_room(needed: float, what: str, remedy: str) -> None:
    """UsageError, which says for ``what`` and the remedy, where so many bytes are not free."""
    free = available_memory()
    if free is not None and needed > free:
        raise UsageError(
            f"{what} need about {needed / 1e9:.1f} GB of memory, and {free / 1e9:.1f} GB are free;"
            f" {remedy}"
        )


def of_samples(number: int, n_topics: int, n_words: int) -> float:
    """Bytes of so many samples of topics all together, with one as it is read, or their mean in
    float64."""
    return 4.0 * (number + 2) * n_topics * n_words
