"""Many small chains of SCIR with kept assignments side by side, by the kernels of a training run.

For the draws word w of chain r is row r W + w of one φ; for the moves its topic k is column r K + k
of one θ (W, R K). Neither kernel mixes rows of the one or columns of the other, so chains are
independent. `test_geweke.test_side_by_side_is_as_in_training` holds them to `KeptAssignments`.
"""

from dataclasses import dataclass, field

import numpy as np

from topicmc.kernels.assignments import redraw
from topicmc.kernels.padding import padded_size, padded_topics
from topicmc.kernels.prior import no_prior
from topicmc.kernels.random import stream_key
from topicmc.kernels.threads import Threads
from topicmc.samplers.row_prior import RowPrior
from topicmc.samplers.scir import Scir
from topicmc.samplers.state import Chain, TopicCounts, sum_topics


@dataclass
class KeptChains:
    """R chains on D documents of the same lengths each, with words of their own.

    ``faults`` plants bugs: "alpha twice", "beta twice", "counts twice", "old sums".
    """

    alpha: np.ndarray  # float64 (K,)
    beta: float
    offsets: np.ndarray  # int64 (D + 1,), of one chain
    n_words: int
    tokens: np.ndarray  # int64 (R, T)
    z: np.ndarray  # uint8 (R, T)
    theta: np.ndarray  # float64 (R, K, W)
    step: float
    seed: int = 0
    faults: tuple[str, ...] = ()
    sweep: int = 0
    chain: Chain = field(init=False)

    def __post_init__(self) -> None:
        columns = np.ascontiguousarray(self.theta.transpose(2, 0, 1), np.float32)
        columns = np.maximum(columns.reshape(self.n_words, -1), np.float32(1e-30))
        self.chain = Chain(0, columns, sum_topics(columns))
        starts = np.arange(len(self.z))[:, None] * self.z.shape[1] + self.offsets[:-1]
        self._offsets = np.append(starts.reshape(-1), self.z.size)

    def phi(self) -> np.ndarray:
        """float32 (R, K, W)."""
        phi = self.chain.theta * (1 / self.chain.topic_sums).astype(np.float32)
        return phi.reshape(self.n_words, len(self.z), -1).transpose(1, 2, 0)

    def counts(self) -> np.ndarray:
        """n_kw int64 (R, K, W)."""
        n, n_topics = len(self.z), len(self.alpha)
        cell = (np.arange(n)[:, None] * n_topics + self.z) * self.n_words + self.tokens
        counts = np.bincount(cell.reshape(-1), minlength=n * n_topics * self.n_words)
        return counts.reshape(n, n_topics, self.n_words)

    def draw(self) -> None:
        """New topics of all tokens given φ."""
        n, n_topics = len(self.z), len(self.alpha)
        rows = np.zeros((n * self.n_words, padded_size(n_topics)), np.float32)
        rows[:, :n_topics] = self.phi().transpose(0, 2, 1).reshape(-1, n_topics)
        tokens = np.arange(n)[:, None] * self.n_words + self.tokens
        alpha = self.alpha * (2 if "alpha twice" in self.faults else 1)
        z = self.z.reshape(-1)
        redraw(
            np.arange(len(self._offsets) - 1), self._offsets, tokens.reshape(-1).astype(np.uint32),
            z, rows, np.ones(rows.shape[1]), padded_topics(alpha), no_prior(rows.shape[1]),
            counted=False,
            key=stream_key(self.seed, "collapsed", 0), update=self.sweep, threads=Threads(1),
        )  # fmt: skip
        self.z = z.reshape(self.z.shape)
        self.sweep += 1

    def move(self) -> None:
        """A move of θ given the topics of all tokens."""
        counts = self.counts() * (2 if "counts twice" in self.faults else 1)
        sampler = Scir(RowPrior(self.beta * (2 if "beta twice" in self.faults else 1)))
        if "old sums" not in self.faults:
            totals = counts.sum(axis=2).reshape(-1)
            key = stream_key(self.seed, "sums", 0)
            sampler.redraw_sums(self.chain, totals, key=key, threads=Threads(1))
        beside = counts.transpose(2, 0, 1).reshape(self.n_words, -1).astype(np.float32)
        words = np.arange(self.n_words, dtype=np.int32)
        sampler.move(
            self.chain, TopicCounts(words, beside), scale=1.0, step=self.step,
            key=stream_key(self.seed, "move", 0), threads=Threads(1),
        )  # fmt: skip
