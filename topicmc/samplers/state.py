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


class MoveInfo(NamedTuple):
    """What a move did."""

    floored: int
    """Entries of θ at the least value that is stored, `topicmc.kernels.simplex.FLOOR`."""
    finite: bool
    """Whether every topic's sum is finite and positive; if not, the chain has diverged."""


def initial_chain(
    index: int,
    n_words: int,
    n_topics: int,
    *,
    prior: RowPrior,
    n_tokens: int,
    seed: int,
    total: float | None = None,
) -> Chain:
    """A chain whose topics are random: θ_wk ~ Exp(1), scaled so that E Σ_w θ_wk = total. Words lean
    towards the topics where they have more prior.

    The default, total = β W + n_tokens / K, is the scale of SCIR's posterior, θ_wk ~
    Gamma(b_kw + n_kw, 1). SGRLD's is the prior's, total = β W (see `topicmc.samplers.sgrld`). The
    spread of Exp(1) makes topics differ enough for the first updates to tell them apart.
    """
    theta = np.empty((n_words, n_topics), np.float32)
    fill_exponential(theta.reshape(-1), stream_key(seed, "initial", index))
    if total is None:
        total = prior.base * n_words + n_tokens / n_topics
    theta *= np.float32(total / n_words)
    prior.lean(theta)
    np.maximum(theta, simplex.FLOOR, out=theta)
    return Chain(index, theta, sum_topics(theta))


def sum_topics(theta: np.ndarray, threads: Threads | None = None) -> np.ndarray:
    """Σ_w θ_wk as float64 (K,), with the bits that every move leaves in `Chain.topic_sums`."""
    words = np.arange(theta.shape[0], dtype=np.int32)
    block_sums = np.empty((n_blocks(words.size), theta.shape[1]))

    def work(first: int, last: int) -> int:
        return simplex.add_blocks(theta, words, first, last, block_sums)

    over_blocks(work, len(block_sums), threads or Threads())
    return simplex.sum_blocks(block_sums)


def n_blocks(n_words: int) -> int:
    """Blocks of words that a move is made of."""
    return -(-n_words // simplex.BLOCK)


def over_blocks(work: Callable[[int, int], int], count: int, threads: Threads) -> int:
    """Shares out work(first, last) over ranges of blocks; returns the sum of what it returned."""
    n_pieces = min(count, 4 * threads.n_threads) if threads.n_threads > 1 else 1
    results = [0] * n_pieces

    def piece(i: int) -> None:
        results[i] = work(i * count // n_pieces, (i + 1) * count // n_pieces)

    threads.run(piece, n_pieces)
    return sum(results)


def finish_move(chain: Chain, block_sums: np.ndarray, floored: int) -> MoveInfo:
    """Renews the topic sums, counts the update, and looks for a chain that has diverged."""
    chain.topic_sums = simplex.sum_blocks(block_sums)
    chain.update += 1
    return MoveInfo(floored, is_finite(chain))


def is_finite(chain: Chain) -> bool:
    """Whether every topic's sum is finite and positive."""
    return bool(np.all(np.isfinite(chain.topic_sums)) and np.all(chain.topic_sums > 0))


def check_step(step: float) -> None:
    """Raises UsageError unless the step is positive and finite."""
    if not (math.isfinite(step) and step > 0):
        raise UsageError(f"The step size must be a positive number, not {step}.")


def word_slots(counts: TopicCounts, n_words: int) -> np.ndarray:
    """int32 (W,): the row of each word in counts.counts, −1 for words that are absent."""
    slots = np.full(n_words, -1, np.int32)
    slots[counts.words] = np.arange(len(counts.words), dtype=np.int32)
    return slots
