"""By how much the noise of minibatches widens what SCIR samples, beside remembered assignments.

    python bench/inflation.py CORPUS [--topics 50] [--batch-size N] [--samples 40] [--seed 0]

CORPUS is a prepared corpus. A chain with remembered assignments trains until it has settled. From
its state two chains go on: that one, and one of minibatches with the settings that a run without
options has, its step held at the h with which such a run ends. Both are sampled at distances of
four relaxation times of θ, 4/h updates and four sweeps, after as many to begin with.

The table has a line for each band of E[n_kw], with means over its entries of quantities relative to
a = β + E[n_kw], the variance of θ_kw given the topics of all tokens:

    V       the variance of â over minibatches, at the state where both begin
    theory  1 + V/a · tanh(h/2), what Corollary 5.4.2 of Baker's thesis gives with that V
    batch   the variance of θ over samples of the minibatch chain
    whole   the same of the chain with remembered assignments: the topics of the tokens move too, so
            that it is more than a
    quick   both by half the mean square of the steps from sample to sample, which leaves out what
            moves slowly, and with it most of what chains differ in by chance
    φ       how many times wider the minibatch chain is in φ: root of the ratio of variances
"""

import argparse
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from topicmc.corpora import Corpus
from topicmc.engine.dsgld import Dsgld
from topicmc.engine.transport.local import LocalTransport
from topicmc.kernels.threads import Threads
from topicmc.models.lda.collapsed.kept_assignments import KeptAssignments
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.methods import open_method
from topicmc.models.lda.minibatches.estimates import plain
from topicmc.models.lda.minibatches.updates import _MinibatchDraws
from topicmc.models.lda.planning.defaults import resolve
from topicmc.models.lda.settings import Resolved, TrainConfig
from topicmc.models.lda.task import Task
from topicmc.samplers.state import Chain, sum_topics
from topicmc.samplers.steps import step_size

BANDS = ((1, 10), (10, 100), (100, np.inf))
RELAXATIONS = 4  # between samples


class Moments:
    """Mean and variance over samples, and half the mean square of steps between them, by entry."""

    def __init__(self) -> None:
        self.n, self.sum, self.squares, self.steps = 0, 0.0, 0.0, 0.0

    def add(self, sample: np.ndarray) -> None:
        sample = sample.astype(np.float64)
        if self.n == 0:
            self._first = self._last = sample
        apart = sample - self._first  # squares of large numbers would cancel
        self.n, self.sum, self.squares = self.n + 1, self.sum + apart, self.squares + apart**2
        self.steps = self.steps + (sample - self._last) ** 2
        self._last = sample

    @property
    def mean(self) -> np.ndarray:
        return self._first + self.sum / self.n

    @property
    def variance(self) -> np.ndarray:
        return (self.squares - self.sum**2 / self.n) / (self.n - 1)

    @property
    def quick(self) -> np.ndarray:
        return self.steps / (2 * (self.n - 1))


class Spread(NamedTuple):
    """Moments of θ, and of φ times a constant per topic, which is the size that the topic has."""

    theta: Moments
    phi: Moments


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpus")
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--batch-size", type=int, help="documents of a minibatch [that of a run]")
    parser.add_argument("--sweeps", type=int, default=100, help="until the state has settled")
    parser.add_argument("--samples", type=int, default=40, help="of each chain")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    corpus = Corpus.open(options.corpus)
    settings = TrainConfig(
        topics=options.topics, sampler="scir", alpha=0.1, beta=0.01, seed=options.seed, threads=1,
        batch_size=options.batch_size or "auto", estimate="plain",
    )  # fmt: skip
    size = Extent.of(corpus)
    batches = resolve(settings, size)
    h = step_size(batches.updates, batches.step_size, batches.step_offset, batches.step_decay)
    batches = replace(batches, step_size=h, step_decay=0.0, start="plain")
    whole = remembering(settings, options.sweeps, size)
    per_sweep = -(-corpus.n_docs // whole.batch_size)

    remembered = KeptAssignments(Task(whole, corpus, LocalTransport(1), Threads(1)))
    while remembered.sweep < options.sweeps:
        remembered.round()
    state = state_of(remembered, options.topics)
    chain = open_method(batches, corpus, LocalTransport(1), Threads(1))
    noise = noise_of(chain, state, options.samples)
    between = round(RELAXATIONS / h)
    minibatch = spread(chain, options.samples, between)
    exact = spread(remembered, options.samples, RELAXATIONS * per_sweep)
    print(
        f"{corpus.n_docs:,} documents, {corpus.n_tokens:,} tokens, {corpus.n_words:,} words,"
        f" K = {options.topics}; minibatches of {batches.batch_size:,} documents,"
        f" {batches.sweeps} sweeps; a run of {batches.updates:,} updates ends at h = {h:.3f};"
        f" {options.samples} samples, {between} updates or {RELAXATIONS} sweeps apart"
    )
    table(minibatch, exact, noise, batches.beta, h)


def remembering(settings: TrainConfig, sweeps: int, size: Extent) -> Resolved:
    """Settings of the chain with remembered assignments, whose start is four fifths of the sweeps
    after which its state has settled."""
    start = {"start": "grow", "start_sweeps": max(1, sweeps * 4 // 5)}
    kept = {"estimate": "remembered", "remember": True, "batch_size": "auto", "epochs": 10**6}
    return resolve(replace(settings, **kept, **start), size)


def state_of(method: KeptAssignments, n_topics: int) -> np.ndarray:
    return np.ascontiguousarray(method._chain.theta[:, :n_topics])


def spread(method: KeptAssignments | Dsgld, samples: int, rounds: int) -> Spread:
    """Moments over samples that are so many rounds apart; the first comes after two such times."""
    theta, phi = Moments(), Moments()
    size = None
    for number in range(samples + 1):
        for _ in range(rounds):
            method.round()
        if number == 0:
            continue
        (chain,) = method.chains.values()
        draw = chain.theta
        if isinstance(method, KeptAssignments):
            draw = state_of(method, chain.theta.shape[1])
        sums = draw.sum(axis=0, dtype=np.float64)
        size = sums if size is None else size
        theta.add(draw)
        phi.add(draw * (size / sums))
    return Spread(theta, phi)


def noise_of(method: Dsgld, theta: np.ndarray, batches: int) -> np.ndarray:
    """The variance of N̂ Σ E[n_kw] over minibatches at θ, where the chain is left."""
    (chain,) = method.chains.values()
    chain.theta[:] = theta
    chain.topic_sums = sum_topics(chain.theta)
    return over_minibatches(method, chain, batches)[0].variance


def over_minibatches(method: Dsgld, chain: Chain, batches: int) -> tuple[Moments, float]:
    """Moments of the estimated counts over minibatches at the state of a chain, and the share of
    the entries that were negative."""
    target, config = method.target, method.config
    estimator, documents = target._estimators.get(0, plain), target.documents[0]
    generator = np.random.default_rng(config.seed)
    moments, clipped = Moments(), []
    for number in range(batches):
        memory = replace(chain, update=chain.update + number)
        for name in ("recalled", "recalled_sum"):
            if getattr(chain, name, None) is not None:
                setattr(memory, name, getattr(chain, name).copy())
        ids = np.sort(generator.choice(documents.n_docs, config.batch_size, replace=False))
        draws = _MinibatchDraws(config, memory, Threads(1), False)
        found = estimator(
            memory, documents.minibatch(ids), documents.n_docs / config.batch_size, draws
        )
        counts = np.zeros(chain.theta.shape, np.float32)
        counts[found.counts.words] = found.scale * found.counts.counts[:, : counts.shape[1]]
        clipped.append(getattr(memory, "clipped", 0.0))
        moments.add(counts)
    return moments, float(np.mean(clipped))


def table(minibatch: Spread, exact: Spread, noise: np.ndarray, beta: float, h: float) -> None:
    expected = exact.theta.mean
    names = ("V", "theory", "batch", "whole", "quick", "quick", "φ")
    print(f"{'E[n_kw]':>12}{'entries':>10}" + "".join(f"{name:>9}" for name in names))
    for low, high in BANDS:
        band = (expected >= low + beta) & (expected < high + beta)

        def relative(values: np.ndarray, band: np.ndarray = band) -> float:
            return float(np.mean(values[band] / expected[band]))

        v = relative(noise)
        figures = (
            v,
            1 + v * np.tanh(h / 2),
            relative(minibatch.theta.variance),
            relative(exact.theta.variance),
            relative(minibatch.theta.quick),
            relative(exact.theta.quick),
            (relative(minibatch.phi.variance) / relative(exact.phi.variance)) ** 0.5,
        )
        name = f"{low} to {high:g}" if high < np.inf else f"over {low}"
        print(f"{name:>12}{band.sum():10,}" + "".join(f"{figure:9.2f}" for figure in figures))


if __name__ == "__main__":
    main()
