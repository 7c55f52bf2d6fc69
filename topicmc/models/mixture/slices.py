"""One update of a chain: moves of the sticks and of the words of groups, then the groups of a
minibatch by slice sampling (Walker 2007; Baker 2018, 5.5.2 and B.4).

Baker's minibatch form scales the counts of n of D documents by D / n, documents, in the moves of
sticks and of words alike; "all" takes the counts of all documents, which are remembered, and is
exact for any n. Slice variables live for one update: those of other documents are integrated out.
Sticks that a slice asks for come from the prior, words and all.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from topicmc.corpora import Documents
from topicmc.engine.schedule import batch_items
from topicmc.errors import DivergedError
from topicmc.kernels import mixture as kernels
from topicmc.kernels import partitions
from topicmc.kernels.random import stream_key
from topicmc.kernels.threads import Threads
from topicmc.models.mixture.settings import Resolved, least_beta
from topicmc.models.mixture.state import Mixture, bags_of
from topicmc.settings.values import AUTO

SHAPE, RATE = 1.0, 1.0
"""Of the Gamma prior of a concentration that is learned."""
START_GROUPS = 100
_START_TOKENS = 10_000_000  # that are drawn, at most, unless there are more in three sweeps
_MOST = 20_000  # sticks
ROOM = 256  # empty groups at the beginning of a sweep: it never asks for so many more
_SWEEPS = 1 << 20  # numbers the documents of sweeps, apart from those of minibatches
_ROWS, _DOCS = 4, 256  # that are worth a thread

Share = Callable[[Callable[[int, int], None], np.ndarray], None]
"""Has a part of an array filled by each process: calls its argument with the first element and the
one after the last, and makes the array whole everywhere."""


def alone(work: Callable[[int, int], None], array: np.ndarray) -> None:
    """The `Share` of a process that is the only one."""
    work(0, len(array))


class SliceSampler:
    """Updates of any chain.

    Args:
        documents: that are trained on, at least one.
        n_words: W.
        config: resolved settings.
        threads: who works.
        share: how the documents of a minibatch are shared out.
    """

    def __init__(
        self,
        documents: Documents,
        n_words: int,
        config: Resolved,
        threads: Threads,
        share: Share = alone,
    ) -> None:
        self._documents, self._n_words, self._config = documents, n_words, config
        self._bags = bags_of(documents)
        self._threads, self._share = threads, share
        self._learns = config.alpha == AUTO

    def initial(self, index: int) -> Mixture:
        """A chain after a few collapsed sweeps, which begin with many groups at random: groups that
        are too many die soon, and are slow to be found where they are too few."""
        config, n = self._config, min(START_GROUPS, self._n_docs)
        alpha = 1.0 if self._learns else float(config.alpha)
        key = stream_key(config.seed, "mixture start", index)
        generator = np.random.Generator(np.random.Philox(key=int(key)))
        groups = generator.integers(0, n, self._n_docs, np.int32)
        ones = np.ones(n), np.ones(n), np.ones((n, self._n_words))
        chain = Mixture(index, groups, alpha, config.beta, *ones)
        chain.count(self._documents)
        for sweep in range(self._start_sweeps):
            self._sweep(chain, key, sweep, generator.permutation(self._n_docs))
        self._draw_given_groups(chain)
        return chain

    @property
    def _start_sweeps(self) -> int:
        most, least = 30, 3
        return max(least, min(most, _START_TOKENS // max(1, self._documents.n_tokens)))

    def _sweep(self, chain: Mixture, key: np.uint64, number: int, order: np.ndarray) -> None:
        partitions.collapsed_sweep(
            self._bags, chain.groups, chain.sizes, chain.words, order, chain.beta,
            chain.alpha, key, number,
        )  # fmt: skip

    @property
    def _n_docs(self) -> int:
        return self._documents.n_docs

    def _key(self, purpose: str, chain: Mixture) -> np.uint64:
        return stream_key(self._config.seed, f"mixture {purpose}", chain.index)

    # ---- an update

    def update(self, chain: Mixture) -> np.ndarray:
        """One update, in place; the documents whose groups it drew, int64 (n,).

        Raises DivergedError when the state is no longer finite."""
        config = self._config
        docs = batch_items(config.seed, chain.index, chain.update, self._n_docs, config.batch_size)
        sizes, words, scale = self._counts(chain, docs)
        number = np.uint32(chain.update)
        self._move(chain, sizes, words, scale, number)
        if not (np.isfinite(chain.x).all() and np.isfinite(chain.weights).all()):
            raise DivergedError(
                f"chain {chain.index} is no longer finite after {number} updates; {remedy(config)}"
            )
        self._draw_groups(chain, docs, number)
        chain.update += 1
        if config.counts == "all" and chain.update % config.moves_every == 0:
            self._move_partition(chain, number)
        return docs

    def _counts(self, chain: Mixture, docs: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Sizes of groups and their tokens by word, as they are or as a minibatch estimates them,
        and what the tokens are to be multiplied by."""
        if self._config.counts == "all":
            return chain.sizes.astype(np.float64), chain.words, 1.0
        scale = self._n_docs / len(docs)
        sizes, words = np.zeros_like(chain.sizes), np.zeros_like(chain.words)
        kernels.add_docs(self._bags, docs, chain.groups[docs], 1, words, sizes)
        return scale * sizes, words, scale

    def _move(
        self, chain: Mixture, sizes: np.ndarray, words: np.ndarray, scale: float, number: np.uint32
    ) -> None:
        config, key = self._config, self._key("sticks", chain)
        exact = config.sampler == "scir"
        step = config.step_size
        if exact and config.counts == "all":
            self._draw_totals(chain, sizes, words, number)
        kernels.move_sticks(chain.x, chain.y, sizes, chain.alpha, step, exact, key, number)
        word_key = self._key("words", chain)
        self._over_groups(
            lambda first, last: kernels.move_words(
                chain.weights, words, scale, chain.beta, step, exact, word_key, number, first, last
            ),
            0,
            len(chain.x),
        )
        if self._learns:
            chain.alpha = kernels.draw_concentration(chain.x, chain.y, SHAPE, RATE, key, number)
            # Given α the total of a stick depends on it: an old one would make the pair wrong.
            kernels.draw_totals(chain.x, chain.y, sizes, chain.alpha, key, number)

    def _draw_totals(
        self, chain: Mixture, sizes: np.ndarray, words: np.ndarray, number: np.uint32
    ) -> None:
        """X + Y and Σ_w T_jw anew given the groups of documents. These were drawn given v and θ
        alone, so that the totals are behind, and a move would go far where groups have been small
        (as `topicmc.samplers.scir.Scir.redraw_sums` has it)."""
        key = self._key("stick totals", chain)
        kernels.draw_totals(chain.x, chain.y, sizes, chain.alpha, key, number)
        word_key = self._key("word totals", chain)
        self._over_groups(
            lambda first, last: kernels.draw_word_totals(
                chain.weights, words, chain.beta, word_key, number, first, last
            ),
            0,
            len(chain.x),
        )

    def _over_groups(self, work: Callable[[int, int], None], first: int, last: int) -> None:
        self._threads.run_over(lambda a, b, _: work(first + a, first + b), last - first, _ROWS)

    def _draw_groups(self, chain: Mixture, docs: np.ndarray, number: np.uint32) -> None:
        key, slices = self._key("groups", chain), np.empty(len(docs))
        weights, left = chain.log_weights()
        least = kernels.draw_slices(docs, chain.groups, weights, key, number, slices)
        self._append(chain, left, least, number)
        weights, _ = chain.log_weights()
        shares = np.empty((self._n_words, len(chain.x)))
        self._over_groups(
            lambda first, last: kernels.log_shares(chain.weights, shares, first, last),
            0,
            len(chain.x),
        )
        drawn = np.zeros(len(docs), np.int32)

        def work(first: int, last: int) -> None:
            self._threads.run_over(
                lambda a, b, _: kernels.draw_groups(
                    self._bags, docs, slices, weights, shares, key, number, first + a,
                    first + b, drawn,
                ),
                last - first,
                _DOCS,
            )  # fmt: skip

        self._share(work, drawn)
        chain.resize(len(chain.x))
        changed = drawn != chain.groups[docs]
        moved, before, after = docs[changed], chain.groups[docs[changed]], drawn[changed]
        kernels.add_docs(self._bags, moved, before, -1, chain.words, chain.sizes)
        kernels.add_docs(self._bags, moved, after, 1, chain.words, chain.sizes)
        chain.groups[moved] = after
        chain.drop_last()

    def _append(self, chain: Mixture, left: float, least: float, number: np.uint32) -> None:
        """Sticks from the prior until no slice can ask for more."""
        key, first = self._key("sticks", chain), len(chain.x)
        x, y = kernels.new_sticks(left, least, chain.alpha, first, _MOST - first + 1, key, number)
        self._check_number(chain, first + len(x))
        chain.x, chain.y = np.concatenate([chain.x, x]), np.concatenate([chain.y, y])
        chain.weights = np.concatenate([chain.weights, np.empty((len(x), self._n_words))])
        empty, word_key = chain.words[:0], self._key("words", chain)
        self._over_groups(
            lambda a, b: kernels.draw_words(
                chain.weights, empty, chain.beta, word_key, number, a, b
            ),
            first,
            len(chain.x),
        )

    def _check_number(self, chain: Mixture, n: int) -> None:
        if n > _MOST:
            raise DivergedError(
                f"chain {chain.index} asks for more than {_MOST:,} groups after update"
                f" {chain.update:,}; lower --alpha, or raise --beta"
            )

    # ---- moves of a whole partition

    def _move_partition(self, chain: Mixture, number: np.uint32) -> None:
        """Split and merge proposals and a sweep over so many documents as are in a minibatch, with
        weights and words integrated out; β, if it is learned; then labels, sticks and words
        anew."""
        key = self._key("splits", chain)
        for attempt in range(self._config.splits if self._n_docs > 1 else 0):
            if chain.sizes.all():
                chain.resize(2 * len(chain.sizes))
            partitions.split_or_merge(
                self._bags, chain.groups, chain.sizes, chain.words, chain.beta,
                chain.alpha, key, attempt, number,
            )  # fmt: skip
        chain.resize(len(chain.sizes) + ROOM)
        config, position = self._config, int(number) // self._config.moves_every
        docs = batch_items(
            config.seed, _SWEEPS + chain.index, position, self._n_docs, config.batch_size
        )
        self._sweep(chain, self._key("sweeps", chain), int(number), docs)
        if config.learns_beta:
            self._draw_beta(chain, number)
        self._draw_given_groups(chain)

    def _draw_beta(self, chain: Mixture, number: np.uint32) -> None:
        """β given the groups alone: the words of groups have to be drawn anew then. A slice is
        reversible, so that to refuse what is below the least β keeps the law above it."""
        levels, times = np.unique(chain.words[chain.words > 0], return_counts=True)
        tokens = chain.words.sum(axis=1, dtype=np.int64)[chain.sizes > 0]
        drawn = partitions.draw_beta(
            levels.astype(np.int64), times, tokens, self._n_words, chain.beta,
            self._key("beta", chain), number,
        )  # fmt: skip
        if drawn >= least_beta(self._n_words):
            chain.beta = drawn

    def _draw_given_groups(self, chain: Mixture) -> None:
        """Labels, sticks and words given the partition."""
        number = np.uint32(chain.update)
        old = np.flatnonzero(chain.sizes)
        order, x, y = partitions.new_order(
            chain.sizes[old], chain.alpha, _MOST + 1, self._key("order", chain), number
        )
        self._check_number(chain, len(order))
        taken = np.where(order >= 0, old[order], -1)
        label = np.full(len(chain.sizes), -1, np.int32)
        label[taken[taken >= 0]] = np.flatnonzero(taken >= 0)
        weights = np.empty((len(order), self._n_words))
        sizes, words = np.zeros(len(order), np.int64), np.zeros(weights.shape, np.int32)
        sizes[taken >= 0] = chain.sizes[taken[taken >= 0]]
        words[taken >= 0] = chain.words[taken[taken >= 0]]
        key, beta = self._key("new words", chain), chain.beta
        self._over_groups(
            lambda first, last: kernels.draw_words(weights, words, beta, key, number, first, last),
            0,
            len(order),
        )
        chain.groups = label[chain.groups]
        chain.x, chain.y, chain.weights = x, y, weights
        chain.sizes, chain.words = sizes, words


def remedy(config: Resolved) -> str:
    """What to do when a chain has diverged."""
    return f"lower --step-size (now {config.step_size:g})"
