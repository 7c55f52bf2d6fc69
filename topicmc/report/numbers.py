"""Numbers as a page holds them."""

from __future__ import annotations

import math
from collections.abc import Iterable


def digits(values: Iterable[float | None], n: int = 4) -> list[float | None]:
    """Numbers with so many digits that matter; None for what is no finite number."""
    return [
        float(f"{value:.{n}g}") if value is not None and math.isfinite(value) else None
        for value in values
    ]
