"""What an update does to one chain: its words brought up to date, counts of a minibatch, a move.

Where the chain is, and how many others there are, does not matter here. While a chain starts, its
β is annealed; late in the start, or to the end, it also learns its priors from its minibatches.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import numpy as np

from topicmc.errors import DivergedError
from topicmc.kernels.assignments import sample_assignments
from topicmc.kernels.batch import Minibatch
from topicmc.kernels.gibbs import UNASSIGNED, Assignments, topic_rows
from topicmc.kernels.histograms import mix_histogram
from topicmc.kernels.padding import padded_topics
from topicmc.kernels.random import stream_key
from topicmc.kernels.threads import Threads
from topicmc.kernels.word_order import LONGEST
from topicmc.models.lda.minibatches.estimates import STATES, Estimator, plain
from topicmc.models.lda.priors.learned import learned_alpha, learned_beta
from topicmc.models.lda.settings import Resolved
from topicmc.samplers.compilation import compiling_moves
from topicmc.samplers.registry import Sampler, sampler_of
from topicmc.samplers.row_prior import Additions, RowPrior
from topicmc.samplers.running_mean import MeanChain, note
from topicmc.samplers.state import Chain, initial_chain, sum_topics
from topicmc.samplers.steps import annealed_beta, step_size
from topicmc.samplers.streaming import StreamingScir

# Priors are learned from minibatches: α by this rate at every update, and β, for which all of θ is
# read, by that at every tenth; not while topics are blunt, so late in the start.
_ALPHA_RATE, _BETA_RATE, _BETA_EVERY = 0.2, 0.5, 10
_LEARN_FROM = 0.8
_FORGET = 0.1  # weight of the newest minibatch in a topic's share of the tokens
_WARM_WORDS = 256  # of what kernels are compiled on: θ of all words takes memory


class Updates:
    """The updates of any chain.

    Args:
        config: resolved settings.
        n_tokens: of the whole corpus.
        threads: the threads of this process.
        prior: of the topics, before any of it is learned.
    """

    def __init__(self, config: Resolved, n_tokens: int, threads: Threads, prior: RowPrior) -> None:
        self.config = config
        self.threads = threads
        self._sampler_under: Callable[..., Sampler] = sampler_of(config.sampler)
        self._n_tokens = n_tokens
        self._prior = prior
        self._start_ends = config.anneal_updates
        self.averaged_until = config.average_until or 0

    def end_start(self, update: int) -> None:
        """Has the start of every chain end at that update, if not before."""
        self._start_ends = min(self._start_ends, update)

    def step_size(self, update: int) -> float:
        """The step of that update."""
        config = self.config
        return step_size(update, config.step_size, config.step_offset, config.step_decay)

    def anneals(self, update: int) -> bool:
        """Whether that update of a chain, counted from 0, is one of an annealed start."""
        return self.config.start in ("anneal", "stream") and self.in_burn_in(update)

    def streams(self, update: int) -> bool:
        """Whether that update moves a chain without noise (`topicmc.samplers.streaming`)."""
        return self.config.start == "stream" and self.in_burn_in(update)

    def learns(self, update: int) -> bool:
        """Whether a chain learns its priors at that update."""
        config = self.config
        if config.learn == "none" or update < _LEARN_FROM * self._start_ends:
            return False
        return config.learn_until == "end" or self.in_burn_in(update)

    def in_burn_in(self, update: int) -> bool:
        """Whether that update is one of the start, of whatever kind."""
        return update < self._start_ends

    def is_start(self, update: int) -> bool:
        """Whether that update is one of the start, or moves an average of chains."""
        return self.in_burn_in(update) or update <= self.averaged_until

    def move(
        self, chain: Chain, batch: Minibatch, scale: float, *, mean_update: int,
        estimator: Estimator = plain,
    ) -> None:  # fmt: skip
        """One update of a chain, in place, on a minibatch whose counts are worth ``scale`` times
        themselves. ``mean_update`` says how far the chains are in the mean; past the start the
        ``estimator`` tells the counts of the corpus.

        Raises DivergedError when the chain's weights are no longer finite.
        """
        config = self.config
        sampler, key = self._sampler(chain), self._move_key(chain)
        sampler.refresh(chain, batch.words, key=key, threads=self.threads)
        # A chain that lags behind the mean must not go on learning when samples are kept.
        learns = self.learns(chain.update) and self.learns(max(chain.update, mean_update))
        starts = self.is_start(chain.update)
        if not starts and estimator is not plain:
            self.settle(chain)
        draws = _MinibatchDraws(self.config, chain, self.threads, learns)
        counts, scale, drawn = (plain if starts else estimator)(chain, batch, scale, draws)
        self._note_share(chain, drawn)
        step = self.step_size(chain.update)
        if isinstance(chain, MeanChain) and not starts:
            note(chain, counts, scale=scale, step=step, threads=self.threads)
        finite = sampler.move(chain, counts, scale=scale, step=step, key=key, threads=self.threads)
        if draws.z is not None:
            self._learn(chain, batch, draws.z, sampler)
        if self.streams(chain.update - 1) and not self.streams(chain.update):
            key = stream_key(self.config.seed, "enter", chain.index)
            StreamingScir(self.prior_of(chain)).enter(chain, key=key, threads=self.threads)
        if not finite:
            raise DivergedError(
                f"chain {chain.index} diverged at update {chain.update}: its weights are no longer"
                f" finite; lower --step-size (now {config.step_size:g}) or raise --batch-size"
            )

    def settle(self, chain: Chain) -> Chain:
        """The chain itself, with every word brought up to date."""
        if chain.moved_at is not None:
            sampler = self._sampler(chain)
            sampler.settle(chain, key=self._move_key(chain), threads=self.threads)
        return chain

    def compiling_moves(self) -> AbstractContextManager[None]:
        """Has another interpreter compile those of the sampler, while the block compiles what
        draws."""
        config = self.config
        # A streamed start ends with a move under one number, whatever the prior.
        prior = RowPrior(0.1) if config.start == "stream" else self._prior
        return compiling_moves([config.sampler], config.workers, prior)

    def warm_up(self, document_tokens: int, tokens_a_word: float) -> None:
        """Compiles every kernel of an update, on throw-away data of the same types: a document of
        so many tokens, or of fewer words where it has many, and of so many tokens of each word, for
        which the same kernel is chosen. As many words wait."""
        config = self.config
        topics = config.topics
        n_words = max(1, round(document_tokens / tokens_a_word))
        if n_words > _WARM_WORDS:
            n_words = _WARM_WORDS
            if document_tokens <= LONGEST:  # a longer one has a kernel of its own
                document_tokens = round(n_words * tokens_a_word)
        prior = RowPrior(0.1)
        if self._prior.additions is not None:  # of which kernels are compiled anew
            nothing = np.zeros((1, topics))
            prior = RowPrior(0.1, Additions.of_words(np.zeros(1, np.int64), nothing, 2 * n_words))
        chain = initial_chain(0, 2 * n_words, topics, prior=prior, total=float(n_words), seed=0)
        tiny = state_of(config)(**vars(chain))
        tiny.update = config.anneal_updates + (config.average_until or 0) + 1
        tiny.alpha, tiny.beta, tiny.share = np.full(topics, 0.1), 0.1, np.full(topics, 0.1)
        words = np.arange(n_words, dtype=np.int32)
        tokens = (np.arange(document_tokens) * n_words // document_tokens).astype(np.uint32)
        batch = Minibatch(np.zeros(1, np.int64), np.array([0, document_tokens]), tokens, words)
        updates = Updates(config, self._n_tokens, self.threads, prior)
        with self.compiling_moves():
            draws = _MinibatchDraws(config, tiny, self.threads, updates.learns(tiny.update))
            draws.counts(tiny.theta, tiny.topic_sums, batch)
            if config.estimate == "saga":
                draws.kept(tiny.theta, tiny.topic_sums, batch)
        updates.move(tiny, batch, 1.0, mean_update=0)
        if config.learn != "none":
            z = np.zeros(document_tokens, np.uint16)
            tiny.update += -tiny.update % _BETA_EVERY  # to an update at which β is learned
            updates._learn(tiny, batch, z, updates._sampler(tiny))
        updates.settle(tiny)
        if config.start == "stream":
            tiny.update = config.anneal_updates - 1  # the last one of it, which ends it
            updates.move(tiny, batch, 1.0, mean_update=0)

    def _sampler(self, chain: Chain) -> Sampler:
        prior = self.prior_of(chain)
        if self.anneals(chain.update):
            beta = annealed_beta(chain.update, prior.base, self._start_ends)
            prior = prior.with_base(beta)
        if self.streams(chain.update):
            return StreamingScir(prior)
        return self._sampler_under(prior)

    def prior_of(self, chain: Chain) -> RowPrior:
        """The prior of the topics of a chain, as learned so far."""
        return self._prior if chain.beta is None else self._prior.with_base(chain.beta)

    def _move_key(self, chain: Chain) -> np.uint64:
        return stream_key(self.config.seed, "move", chain.index)

    def _note_share(self, chain: Chain, counts: np.ndarray) -> None:
        share = sum_topics(counts, self.threads)[: self.config.topics]
        if chain.share is not None and share.any():
            chain.share = (1 - _FORGET) * chain.share + _FORGET * share / share.sum()

    def _learn(self, chain: Chain, batch: Minibatch, z: np.ndarray, sampler: Sampler) -> None:
        """Takes the chain's priors a step towards what the minibatch says of them; β by all words,
        which the sampler brings up to date."""
        config = self.config
        assert chain.alpha is not None and chain.beta is not None and chain.share is not None
        if config.learns_alpha:
            starts, lengths = batch.offsets[:-1], np.diff(batch.offsets)
            histogram = mix_histogram(starts, lengths, z, config.topics)
            chain.alpha = learned_alpha(chain.alpha, histogram, rate=_ALPHA_RATE)
        if config.learns_beta and chain.update % _BETA_EVERY == 0:
            if chain.moved_at is not None:
                sampler.settle(chain, key=self._move_key(chain), threads=self.threads)
            totals = chain.share * self._n_tokens
            chain.beta = learned_beta(
                self.prior_of(chain), chain.theta, chain.topic_sums, totals, rate=_BETA_RATE,
                threads=self.threads,
            )  # fmt: skip


class _MinibatchDraws:
    """The `topicmc.models.lda.minibatches.estimates.Draws` of one update.

    Args:
        config: resolved settings.
        chain: whose update it is; it names the random numbers.
        threads: who works.
        learns: whether the topics of the minibatch's tokens are asked for, ``z``; None if not.
    """

    def __init__(self, config: Resolved, chain: Chain, threads: Threads, learns: bool) -> None:
        self._config = config
        self._chain = chain
        self._threads = threads
        self._learns = learns
        self.z: np.ndarray | None = None

    def counts(self, theta: np.ndarray, topic_sums: np.ndarray, batch: Minibatch) -> np.ndarray:
        config = self._config
        z = np.full(batch.n_tokens, UNASSIGNED) if self._learns else None
        drawn = self._drawn(theta, topic_sums, batch, z, config.sweeps, config.burn_in)
        if theta is self._chain.theta:
            self.z = z
        return drawn.mean_word_topic(self._threads)

    def kept(self, theta: np.ndarray, topic_sums: np.ndarray, batch: Minibatch) -> np.ndarray:
        config, z = self._config, np.full(batch.n_tokens, UNASSIGNED)
        kept = np.empty((len(z), config.sweeps - config.burn_in), np.uint16)
        self._drawn(
            theta, topic_sums, batch, z, config.burn_in + 1, config.burn_in, want_word_topic=False
        )
        for i in range(kept.shape[1]):
            if i > 0:
                stream = f"gibbs-{i}"
                self._drawn(theta, topic_sums, batch, z, 1, 0, stream, want_word_topic=False)
            kept[:, i] = z
        self.z = z if self._learns else None
        return kept

    def _drawn(
        self, theta: np.ndarray, topic_sums: np.ndarray, batch: Minibatch, z: np.ndarray | None,
        sweeps: int, burn_in: int, stream: str = "gibbs", want_word_topic: bool = True,
    ) -> Assignments:  # fmt: skip
        config, chain = self._config, self._chain
        alpha = np.full(config.topics, config.alpha) if chain.alpha is None else chain.alpha
        return sample_assignments(
            batch,
            topic_rows(theta, topic_sums, batch.words, self._threads),
            padded_topics(alpha),
            sweeps=sweeps,
            burn_in=burn_in,
            key=stream_key(config.seed, stream, chain.index),
            update=chain.update,
            threads=self._threads,
            want_word_topic=want_word_topic,
            z=z,
        )


def state_of(config: Resolved) -> type[Chain]:
    """What a chain holds by these settings."""
    return STATES.get(config.estimate, sampler_of(config.sampler).state)
