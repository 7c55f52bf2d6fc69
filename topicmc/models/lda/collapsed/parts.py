"""Some documents of a worker, side by side."""

from __future__ import annotations

import numpy as np

from topicmc.corpora.offsets import offsets
from topicmc.kernels.gather import gather, scatter


class Part:
    """Documents, ascending int64 (n,), n > 0, of those whose tokens begin at ``starts``, int64
    (D_s + 1,): what kernels see as documents 0 … n − 1.

    Where they lie apart, what there is of their tokens is copied, and else shown as it is.
    """

    def __init__(self, docs: np.ndarray, starts: np.ndarray) -> None:
        self.docs = docs
        self.are_apart = int(docs[-1]) + 1 - int(docs[0]) > len(docs)
        if self.are_apart:
            self.offsets = offsets(starts[docs + 1] - starts[docs])
        else:
            self.offsets = starts[docs[0] : docs[-1] + 2] - starts[docs[0]]
        self._starts = starts
        self._span = slice(int(starts[docs[0]]), int(starts[docs[-1] + 1]))

    @property
    def n_tokens(self) -> int:
        """Tokens of all documents together."""
        return int(self.offsets[-1])

    def of(self, values: np.ndarray) -> np.ndarray:
        """What their tokens have of ``values`` (T_s,), one document after another."""
        if not self.are_apart:
            return values[self._span]
        mine = np.empty(self.n_tokens, values.dtype)
        gather(self.docs, self._starts, values, mine)
        return mine

    def copy_of(self, values: np.ndarray) -> np.ndarray:
        """The same, never shown as it is."""
        return self.of(values) if self.are_apart else self.of(values).copy()

    def put(self, mine: np.ndarray, values: np.ndarray) -> None:
        """Gives their tokens in ``values`` what `of` showed, changed since."""
        if self.are_apart:
            scatter(self.docs, self._starts, mine, values)
