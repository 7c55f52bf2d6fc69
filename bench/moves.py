"""Nanoseconds per entry of θ of each move, on one thread.

    python bench/moves.py [--topics 100] [--words 20000] [--beta 0.01] [--repeats 7]

Three states: "tiny", a θ drawn from the prior; "topics", a sparse state as of a trained LDA model
(Zipf word frequencies, every word spread over few topics, a minibatch that holds a quarter of the
words); "large", every θ near 100. The least of the repeats is printed, and one
thread is timed by its processor time: the machine may be shared.
"""

import argparse
import time

import numpy as np
import quiet

from topicmc.kernels.random import stream_key
from topicmc.kernels.threads import Threads
from topicmc.samplers.lazy import LazyScir
from topicmc.samplers.row_prior import RowPrior
from topicmc.samplers.scir import Scir
from topicmc.samplers.sgrld import Sgrld
from topicmc.samplers.state import Chain, TopicCounts, sum_topics


def zipf_topics(n_words: int, n_topics: int, rng: np.random.Generator) -> np.ndarray:
    """Counts n_kw of 1e7 tokens: Zipf frequencies, each word's topics from a sparse Dirichlet."""
    frequency = 1.0 / (np.arange(n_words) + 2.7)
    tokens = 1e7 * frequency / frequency.sum()
    mix = rng.dirichlet(np.full(n_topics, 0.05), n_words)
    return rng.poisson(tokens[:, None] * mix).astype(np.float32)


def states(n_words, n_topics, beta, rng):
    """(name, θ, minibatch) for each state; the minibatch is one hundredth of the corpus."""
    counts = zipf_topics(n_words, n_topics, rng)
    words = np.flatnonzero(rng.random(n_words) < 0.25).astype(np.int32)
    batch = TopicCounts(words, rng.poisson(counts[words] / 100).astype(np.float32))
    nothing = TopicCounts(words[:0], batch.counts[:0])
    floor = np.float32(1e-30)
    prior = np.maximum(rng.gamma(beta, size=counts.shape), floor).astype(np.float32)
    yield "tiny", prior, nothing
    yield "topics", np.maximum(rng.gamma(beta + counts), floor).astype(np.float32), batch
    yield "large", np.full(counts.shape, 100, np.float32), nothing


def clock(threads: Threads) -> float:
    """Seconds: of the processor for one thread, of the wall for more."""
    return time.process_time() if threads.n_threads == 1 else time.perf_counter()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--words", type=int, default=20_000)
    parser.add_argument("--beta", type=float, default=0.01)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    quiet.add_option(parser)
    options = parser.parse_args()
    quiet.start(options)
    rng = np.random.default_rng(0)
    threads, key = Threads(options.threads), stream_key(0, "move")
    for name, theta, batch in states(options.words, options.topics, options.beta, rng):
        prior = RowPrior(options.beta)
        for sampler, step in ((Sgrld(prior), 0.01), (Scir(prior), 0.3)):
            best = np.inf
            for _ in range(options.repeats):
                chain = Chain(0, theta.copy(), sum_topics(theta))
                start = clock(threads)
                sampler.move(chain, batch, scale=100.0, step=step, key=key, threads=threads)
                best = min(best, clock(threads) - start)
            print(f"{name:7s} {type(sampler).__name__:6s} {best / theta.size * 1e9:6.2f} ns/entry")
    for n_words in (8_000, 141_000):
        best = lazy_update(n_words, options.topics, options.beta, threads, options.repeats)
        print(f"lazy update of 4,000 words of {n_words:,}: {best * 1e3:.2f} ms")


def lazy_update(n_words, n_topics, beta, threads, repeats):
    """Least seconds of a refresh and a move of 4,000 words, all of which have waited."""
    rng, key = np.random.default_rng(1), stream_key(1, "move")
    theta = np.maximum(rng.gamma(beta + zipf_topics(4_000, n_topics, rng)), 1e-30)
    theta = np.resize(theta.astype(np.float32), (n_words, n_topics))
    chain = Chain(0, theta, sum_topics(theta))
    words = np.arange(0, n_words, n_words // 4_000, dtype=np.int32)[:4_000]
    theta[words] = theta[:4_000].copy()
    chain.topic_sums = sum_topics(theta)
    batch = TopicCounts(words, rng.poisson(0.05, (words.size, n_topics)).astype(np.float32))
    nothing, best = TopicCounts(words[:0], batch.counts[:0]), np.inf
    sampler = LazyScir(RowPrior(beta))
    for _ in range(repeats):
        sampler.move(chain, nothing, scale=1.0, step=0.1, key=key, threads=threads)
        start = clock(threads)
        sampler.refresh(chain, words, key=key, threads=threads)
        sampler.move(chain, batch, scale=100.0, step=0.1, key=key, threads=threads)
        best = min(best, clock(threads) - start)
    return best


if __name__ == "__main__":
    main()
