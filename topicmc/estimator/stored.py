"""What `LDA` knows of its samples beside their φ."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from topicmc.corpora.of_runs import NO_CORPUS
from topicmc.estimator.incremental import Stream
from topicmc.models.lda.draws import keeps_counts, key_of
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.planning.defaults import resolve
from topicmc.models.lda.priors.seed_settings import checked_seeds
from topicmc.models.lda.settings import TrainConfig
from topicmc.samplers.registry import sampler_of
from topicmc.samplers.row_prior import Additions, RowPrior


class Visits(NamedTuple):
    """Documents that a model has learned from.

    fitted    those of `fit`
    passes    of `fit` over them
    streamed  those of `partial_fit` since
    """

    fitted: int = 0
    passes: float = 0.0
    streamed: int = 0

    @property
    def seen(self) -> int:
        """All of them."""
        return self.fitted + self.streamed


@dataclass
class Record:
    """Of the kept samples of one chain.

    Attributes:
        phis: φ of each, float32 (K, W), in a list or an array.
        sums: float64 (S, K), Σ_w θ_wk of each.
        entries: as in the index of a run, without files; each with its α, β and shares.
        config: the settings, resolved.
        corpus: what ``run.json`` says of it.
        passes: over the documents so far.
        metrics: the lines of a run of this chain alone; none of one of several chains, whose
            metrics are of all.
        trace: the lines of a run of this chain alone.
        additions: to the prior of the topics.
        labels: names of topics by number.
        inherited: seeds that topics have from another run, which the settings do not say.
        n_at_rest: of how many of the newest samples means are made
            (`topicmc.posterior.truncation`); None: of all.
        mean: φ float64 (K, W) and the topics' shares (K,) by the running mean of the chain
            (`topicmc.samplers.running_mean`); None where it keeps none.
        chain: its number in the run that it was first read from, by which its draws are named.
        stream: what `partial_fit` goes on with; None of a chain of `fit` or of a run.
        visits: the documents that `fit` and `partial_fit` have seen.
        parameters: those of `LDA` that ``config`` does not say: what `partial_fit` goes by, and of
            a stream the sampler of `fit`, and None for priors that were not given.
    """

    phis: list[np.ndarray] | np.ndarray
    sums: np.ndarray
    entries: list[dict[str, Any]]
    config: dict[str, Any]
    corpus: dict[str, Any]
    passes: float
    metrics: list[dict[str, Any]] = field(default_factory=list)
    trace: list[dict[str, Any]] = field(default_factory=list)
    additions: Additions | None = None
    labels: dict[int, str] = field(default_factory=dict)
    inherited: dict[str, Any] = field(default_factory=dict)
    n_at_rest: int | None = None
    mean: tuple[np.ndarray, np.ndarray] | None = None
    chain: int = 0
    stream: Stream | None = None
    visits: Visits = field(default_factory=Visits)
    parameters: dict[str, Any] = field(default_factory=dict)

    def name(self, seeds: Any, weight: float | None) -> None:
        """Takes down the seeds that the topics began with, if any, and names them so."""
        if seeds is not None:
            self.config |= {"seeds": checked_seeds(seeds), "seed_weight": weight}
            self.labels = dict(enumerate(seeds))

    @property
    def samples(self) -> np.ndarray:
        """φ of all: float32 (S, K, W); those of a stream are put together when first asked for."""
        return self.phis if isinstance(self.phis, np.ndarray) else self._together

    @cached_property
    def _together(self) -> np.ndarray:
        """Those of a list, which then holds views of them: there is one copy, and it is the
        stream's."""
        together = np.empty((len(self.phis), *self.phis[0].shape), np.float32)
        for place, phi in enumerate(self.phis):
            together[place] = phi
            self.phis[place] = together[place]
        return together

    def __getstate__(self) -> dict[str, Any]:
        """The samples once: a pickle would hold an array and its views each by itself. And nothing
        that is soon made again."""
        made = "_together", "topic_word_prior"
        state = {name: value for name, value in vars(self).items() if name not in made}
        return state if self.stream is None else {**state, "phis": self.stream.samples}

    @cached_property
    def phi(self) -> np.ndarray:
        """The posterior mean of φ: float64 (K, W), rows sum to one."""
        if self.mean is not None:
            return self.mean[0]
        mean = self.samples[self.at_rest].mean(axis=0, dtype=np.float64)
        mean /= mean.sum(axis=1, keepdims=True)
        return mean

    @cached_property
    def topic_word_prior(self) -> float | np.ndarray:
        """β, float64 (K, W), or one number if all are alike. Notebooks ask for it again and again:
        to complete a name, or to show the model."""
        return self.prior.matrix()

    @property
    def is_starting(self) -> bool:
        """Whether the start was not over, so that there is no posterior sample."""
        return all(entry["burn_in"] for entry in self.entries)

    def key_of_draw(self, i: int) -> np.uint64:
        """Names the random numbers of the draw at a sample."""
        return key_of(self.config, self.corpus, {**self.entries[i], "chain": self.chain})

    def sums_for_scir(self) -> list[np.ndarray]:
        """Σ_w θ_wk of each sample as SCIR has it, a topic's tokens and its prior: float64 (K,).
        SGRLD on minibatches leaves that sum to the prior alone."""
        if keeps_counts(self.config) or not sampler_of(self.config["sampler"]).free_scale:
            return list(self.sums)
        prior = self.prior.totals(self.corpus["words"], self.sums.shape[1])
        return [np.array(e["share"]) * self.corpus["tokens"] + prior for e in self.entries]

    @property
    def at_rest(self) -> slice:
        """Where the samples are that means are made of."""
        return slice(-(self.n_at_rest or len(self.entries)), None)

    @property
    def alphas(self) -> np.ndarray:
        """The priors of the mixes: float64 (S, K)."""
        return np.array([entry["alpha"] for entry in self.entries], np.float64)

    @property
    def prior(self) -> RowPrior:
        """The prior of the topics, over the mean of its base."""
        betas = [entry["beta"] for entry in self.entries[self.at_rest]]
        return RowPrior(float(np.mean(betas)), self.additions)


def of_stream(stream: Stream, n_docs: int, n_passes: float) -> Record:
    """What a stream knows of its samples, after so many passes over ``n_docs`` documents."""
    n_words, n_topics = stream.chain.theta.shape
    prior, alpha = stream.prior.totals(n_words, n_topics).sum(), stream.alpha.tolist()
    n_tokens = max(10 * n_topics, round(float(stream.sums[-1].sum() - prior)))
    config = TrainConfig(
        topics=n_topics,
        sampler="scir",
        alpha=alpha[0] if len(set(alpha)) == 1 else alpha,
        beta=stream.prior.base,
        updates=max(1, stream.position),
        samples=stream.n_samples,
        seed=stream.seed,
    )
    size = {"documents": n_docs, "tokens": n_tokens, "words": n_words}
    entries = [
        {
            "chain": 0,
            "round": position,
            "position": position,
            "burn_in": stream.is_starting,
            "alpha": alpha,
            "beta": stream.prior.base,
        }
        for position in stream.positions
    ]
    return Record(
        stream.samples,
        np.stack(stream.sums),
        entries,
        resolve(config, Extent(n_docs, n_tokens, n_words)).as_dict(),
        {"path": NO_CORPUS, "fingerprint": "none", "tokenizer": None, **size},
        n_passes,
        additions=stream.prior.additions,
        stream=stream,
    )
