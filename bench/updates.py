"""What an update of SCIR costs when the vocabulary grows and the minibatch does not.

    python bench/updates.py [--words 8000 141000] [--distinct 5000] [--documents 1000]

Minibatches hold the same number of documents, tokens and distinct words, drawn with Zipf
frequencies from vocabularies of several sizes; θ has as many words as the vocabulary. An update is
all that training does with a minibatch past the start: bring its words up to date, sample
assignments, add to the running mean, move. Vocabularies take turns; figures are medians over
updates after the first ones.
"""

import argparse
import time
from types import SimpleNamespace

import numpy as np
import quiet

from topicmc.engine.dsgld import Dsgld
from topicmc.engine.transport.local import LocalTransport
from topicmc.kernels.batch import Minibatch
from topicmc.kernels.threads import Threads
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.methods import open_method
from topicmc.models.lda.minibatches.target import CHAINS
from topicmc.models.lda.planning.defaults import resolve
from topicmc.models.lda.settings import TrainConfig


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--words", type=int, nargs="+", default=[8_000, 141_000])
    parser.add_argument("--distinct", type=int, default=5_000)
    parser.add_argument("--documents", type=int, default=1_000)
    parser.add_argument("--tokens", type=int, default=120, help="of a document")
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--updates", type=int, default=40)
    quiet.add_option(parser)
    options = parser.parse_args()
    quiet.start(options)

    generator = np.random.default_rng(0)
    chains = {n_words: chain_of(n_words, options) for n_words in options.words}
    seconds: dict[int, list[float]] = {n_words: [] for n_words in options.words}
    for _ in range(options.updates):
        for n_words, method in chains.items():
            batch = minibatch(n_words, options, generator)
            (chain,) = method.held[CHAINS].values()
            start = time.perf_counter()
            method.target.updates.move(chain, batch, 100.0, mean_update=0)
            seconds[n_words].append(time.perf_counter() - start)
    base = None
    for n_words, times in seconds.items():
        median = float(np.median(times[len(times) // 4 :]))
        base = base or median
        print(f"W = {n_words:7,}: {median * 1e3:7.1f} ms an update, {median / base:.2f} times")


class Nothing(SimpleNamespace):
    """A corpus without documents."""

    __hash__ = object.__hash__


def chain_of(n_words: int, options) -> Dsgld:
    """One chain over a vocabulary, without documents of its own."""
    n_docs = 100 * options.documents
    size = Extent(n_docs, n_docs * options.tokens, n_words)
    config = resolve(
        TrainConfig(topics=options.topics, sampler="scir", alpha=0.1, beta=0.01, updates=1000,
                    threads=1, start="plain", anneal_updates=1),
        size,
    )  # fmt: skip
    sizes = size._asdict()
    one = {"shard_sizes": (n_docs,), "index": {"shards": [sizes]}, "shard": lambda number: None}
    empty = Nothing(**sizes, **one)
    return open_method(config, empty, LocalTransport(1), Threads(1))  # type: ignore[arg-type]


def minibatch(n_words: int, options, generator) -> Minibatch:
    """Documents over so many distinct words, frequent ones more often."""
    frequency = (np.arange(n_words) + 10.0) ** -0.8
    words = np.sort(
        generator.choice(n_words, options.distinct, replace=False, p=frequency / frequency.sum())
    )
    within = frequency[words] / frequency[words].sum()
    n_tokens = options.documents * options.tokens
    tokens = generator.choice(options.distinct, n_tokens, p=within).astype(np.uint32)
    tokens[: options.distinct] = np.arange(options.distinct)
    offsets = np.arange(options.documents + 1) * options.tokens
    return Minibatch(np.arange(options.documents), offsets, tokens, words.astype(np.int32))


if __name__ == "__main__":
    main()
