"""The state of one chain of topics, and what moves of it share."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from topicmc.engine.state import Array, Number
from topicmc.errors import UsageError
from topicmc.kernels import simplex
from topicmc.kernels.draws import fill_exponential
from topicmc.kernels.random import stream_key
from topicmc.kernels.threads import Threads
from topicmc.samplers.row_prior import RowPrior


class TopicCounts(NamedTuple):
    """Expected topic-word counts of a minibatch, E[n_kw]; words that are not listed have none."""

    words: np.ndarray
    """int32 (B,): distinct word ids, ascending."""
    counts: np.ndarray
    """float32 (B, K), or wider with zero padding."""


@dataclass
class Chain:
    """The state of one chain, declared as what travels, is averaged and is saved
    (`topicmc.engine.state`)."""

    index: Annotated[int, Number(int)]
    theta: Annotated[np.ndarray, Array(np.float32, "W", "K", averaged=True)]
    """Positive: unnormalised topics, on the scale of corpus counts."""
    topic_sums: Annotated[np.ndarray, Array(np.float64, "K")]
    """Σ_w θ_wk, always summed in the same order."""
    update: Annotated[int, Number(int)] = 0
    clock: Annotated[float, Number(float, travels=False)] = 0.0
    """Time that the chain has moved for; only `LazyScir` needs it and the next."""
    moved_at: Annotated[np.ndarray | None, Array(np.float64, "W", travels=False)] = None
    """The clock at which each word was last moved; None if all are up to date."""
    alpha: Annotated[np.ndarray | None, Array(np.float64, "K", averaged=True)] = None
    """The prior of the topic mixes as learned so far; None if it is that of the settings. Likewise
    β:"""
    beta: Annotated[float | None, Number(float, averaged=True)] = None
    share: Annotated[np.ndarray | None, Array(np.float64, "K", averaged=True)] = None
    """Each topic's share of the tokens, of those in recent minibatches where no others have topics;
    None before any. (SGRLD's topic sums say nothing of it.)"""
    of_counts: bool = False
    """Whether θ_wk = n_kw + b_kw, the mean of θ given kept assignments, and not a draw."""


def initial_chain(
    index: int,
    n_words: int,
    n_topics: int,
    *,
    prior: RowPrior,
    total: float,
    seed: int,
) -> Chain:
    """A chain whose topics are random: θ_wk ~ Exp(1), scaled so that E Σ_w θ_wk = total. Words lean
    towards the topics where they have more prior.

    Each sampler has a total of its own (`topicmc.samplers.registry.Sampler.initial_total`). The
    spread of Exp(1) makes topics differ enough for the first updates to tell them apart.
    """
    theta = np.empty((n_words, n_topics), np.float32)
    fill_exponential(theta.reshape(-1), stream_key(seed, "initial", index))
    theta *= np.float32(total / n_words)
    prior.lean(theta)
    np.maximum(theta, simplex.FLOOR, out=theta)
    return Chain(index, theta, sum_topics(theta))


def sum_topics(theta: np.ndarray, threads: Threads | None = None) -> np.ndarray:
    """Σ_w θ_wk as float64 (K,), with the bits that every move leaves in `Chain.topic_sums`."""
    words = np.arange(theta.shape[0], dtype=np.int32)
    return blockwise(simplex.add_blocks, theta, words, threads=threads or Threads())


def n_blocks(n_words: int) -> int:
    """Blocks of words that a move is made of."""
    return -(-n_words // simplex.BLOCK)


def blockwise(
    kernel: Callable[..., object],
    theta: np.ndarray,
    words: np.ndarray,
    *arguments: object,
    threads: Threads,
) -> np.ndarray:
    """Shares out kernel(theta, words, …, first, last, block_sums) over ranges of the blocks of
    `words`, of each of which it leaves the topic sums; returns these added up in the order of the
    blocks, float64 (K,)."""
    count = n_blocks(len(words))
    block_sums = np.empty((count, theta.shape[1]))
    n_pieces = min(count, 4 * threads.n_threads) if threads.n_threads > 1 else 1

    def piece(i: int) -> None:
        first, last = i * count // n_pieces, (i + 1) * count // n_pieces
        kernel(theta, words, *arguments, first, last, block_sums)

    threads.run(piece, n_pieces)
    return simplex.sum_blocks(block_sums)


def finish_move(chain: Chain, topic_sums: np.ndarray) -> bool:
    """Takes over the topic sums that a move has left, and counts the update; `is_finite`."""
    chain.topic_sums = topic_sums
    chain.update += 1
    return is_finite(chain)


def is_finite(chain: Chain) -> bool:
    """Whether every topic's sum is finite and positive; if not, the chain has diverged."""
    return bool(np.all(np.isfinite(chain.topic_sums)) and np.all(chain.topic_sums > 0))


def check_step(step: float) -> None:
    """Raises UsageError unless the step is positive and finite."""
    if not (math.isfinite(step) and step > 0):
        raise UsageError(f"The step size must be a positive number, not {step}")


def word_slots(counts: TopicCounts, n_words: int) -> np.ndarray:
    """int32 (W,): the row of each word in counts.counts, −1 for words that are absent."""
    slots = np.full(n_words, -1, np.int32)
    slots[counts.words] = np.arange(len(counts.words), dtype=np.int32)
    return slots
