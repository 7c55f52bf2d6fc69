"""What samplers have in common that move every word in every update: none of them waits."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from topicmc.samplers.state import Chain


class Eager:
    """Nothing to bring up to date, and no state but θ."""

    state: ClassVar[type[Chain]] = Chain
    waits: ClassVar[bool] = False

    @classmethod
    def whole(cls) -> type[Self]:
        """Itself."""
        return cls

    def refresh(self, chain: Chain, words: np.ndarray, **_: Any) -> None:
        pass

    def settle(self, chain: Chain, **_: Any) -> None:
        pass
