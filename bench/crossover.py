"""From how many topics on the sparse assignment kernel is cheaper than the dense one.

    python bench/crossover.py CORPUS [--docs 10000] [--topics 100 … 10000] [--alphas 0.1 0.01 50/K]

CORPUS is a prepared corpus. For each α and K, topics are first trained under that α by annealed
sweeps of θ_wk = n_wk + β, because the cost of the sparse kernel depends on how many topics a
document has, and random or blunt topics give it too many. Then both kernels draw a minibatch: once
afresh (a start from φ and some sweeps), once for one sweep on from remembered assignments; and a
block that AD-LDA draws document by document, for one sweep under counts.

Figures are nanoseconds of processor time per token-sample by one thread, minima over repeats in
which the kernels take turns: building the trees of the sparse kernel and adding up the counts
included, φ given. The kernel that `topicmc.kernels.assignments` takes has a star. The crossover is
where the ratio passes 1, interpolated in log K, of numbers of topics that are measured in order.
"""

import argparse
import time
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import quiet

from topicmc.corpora import Corpus
from topicmc.kernels import assignments, gibbs, sparse
from topicmc.kernels.batch import Minibatch, gather
from topicmc.kernels.collapsed import count_changes, empty_counts
from topicmc.kernels.gibbs import UNASSIGNED, topic_rows
from topicmc.kernels.padding import padded_topics
from topicmc.kernels.random import stream_key
from topicmc.kernels.threads import Threads
from topicmc.samplers.row_prior import RowPrior

BETA = 0.01
KEY = stream_key(0, "bench")
KERNELS = {"dense": gibbs, "sparse": sparse}
WAYS = ("afresh", "remembered", "counts")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpus")
    parser.add_argument("--docs", type=int, default=10_000, help="documents to train topics on")
    parser.add_argument("--sweeps", type=int, default=25, help="sweeps of training")
    parser.add_argument("--batch-tokens", type=int, default=250_000, help="size of a minibatch")
    parser.add_argument("--block-tokens", type=int, default=120_000, help="size of a block")
    parser.add_argument("--afresh", type=int, default=5, help="sweeps after a start from φ")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument(
        "--topics", type=int, nargs="+", default=[100, 256, 500, 1000, 2000, 5000, 10_000]
    )
    parser.add_argument("--alphas", nargs="+", default=["0.1", "0.01", "50/K"])
    quiet.add_option(parser)
    options = parser.parse_args()
    quiet.start(options)

    whole = first_documents(Corpus.open(options.corpus), options.docs)
    n_batch = int(np.searchsorted(whole.offsets, options.batch_tokens))
    print(
        f"{whole.n_docs:,} documents, {whole.n_tokens:,} tokens, {len(whole.words):,} words;"
        f" minibatches of {min(n_batch, whole.n_docs):,} documents"
    )
    for alpha in options.alphas:
        print(f"\n{f'α = {alpha}':>12}{'topics of':>12}" + "".join(f"{way:>20}" for way in WAYS))
        print(f"{'K':>12}{'a document':>12}" + f"{'dense':>10}{'sparse':>10}" * 3)
        ratios = []
        for n_topics in options.topics:
            value = 50 / n_topics if alpha == "50/K" else float(alpha)
            ratios.append(compare(whole, n_batch, n_topics, value, options))
        for i, name in enumerate(WAYS):
            crossing = crossover(options.topics, [ratio[i] for ratio in ratios])
            print(f"sparse is cheaper, {name}: {crossing}", flush=True)


def first_documents(corpus: Corpus, n_docs: int) -> Minibatch:
    """The tokens of up to n_docs documents of the first shard."""
    shard = corpus.shard(0)
    docs = np.arange(min(n_docs, shard.n_docs))
    return gather(shard.indptr, shard.word_ids, shard.counts, docs, corpus.n_words)


def compare(whole: Minibatch, n_batch: int, n_topics: int, alpha: float, options) -> list[float]:
    """Prints a line of the table; returns sparse over dense, each way."""
    prior = padded_topics(np.full(n_topics, alpha))
    theta, z = train(whole, prior, n_topics, options.sweeps)
    batch = head(whole, n_batch)
    sums = theta.sum(axis=0, dtype=np.float64)
    rows = topic_rows(theta, sums, np.searchsorted(whole.words, batch.words))
    del theta
    remembered = z[: batch.n_tokens]
    n_kept = np.mean([len(np.unique(remembered[slice(*ends)])) for ends in pairwise(batch.offsets)])

    n_sweeps = {True: options.afresh, False: 1}

    def work(kernel: str, fresh: bool) -> Callable[[], object]:
        def draw() -> None:
            KERNELS[kernel].sample_assignments(
                batch, rows, prior, sweeps=n_sweeps[fresh], burn_in=n_sweeps[fresh] // 2, key=KEY,
                update=0, threads=Threads(), z=None if fresh else remembered.copy(),
            )  # fmt: skip

        return draw

    n_block = min(whole.n_docs, int(np.searchsorted(whole.offsets, options.block_tokens)))
    counts = counted(whole, z, n_topics)

    def sweep(kernel: str) -> Callable[[], object]:
        return lambda: KERNELS[kernel].redraw(
            np.arange(n_block), whole.offsets, whole.tokens, z.copy(), *counts, prior,
            RowPrior(BETA).rows(len(counts[0]), n_topics), counted=True, key=KEY, update=0,
            threads=Threads(),
        )  # fmt: skip

    arms = [work(kernel, fresh) for fresh in (True, False) for kernel in KERNELS]
    arms += [sweep(kernel) for kernel in KERNELS]
    draws = np.repeat([(options.afresh + 1) * batch.n_tokens, batch.n_tokens, 0], 2)
    draws[4:] = whole.offsets[n_block]
    times = least_seconds(arms, options.repeats) / draws * 1e9
    chosen = [
        assignments.is_sparse(len(prior), way) == (kernel is sparse)
        for way in WAYS
        for kernel in KERNELS.values()
    ]
    figures = (f"{t:9.0f}{'*' if c else ' '}" for t, c in zip(times, chosen, strict=True))
    print(f"{n_topics:12}{n_kept:12.1f}" + "".join(figures), flush=True)
    return (times[1::2] / times[::2]).tolist()


def counted(whole: Minibatch, z: np.ndarray, n_topics: int) -> tuple[np.ndarray, np.ndarray]:
    """word_topic and topic_totals of assignments."""
    word_topic, totals = empty_counts(len(whole.words), n_topics)
    before = np.full_like(z, UNASSIGNED)
    words = (0, len(word_topic))
    totals += count_changes(whole.offsets, whole.tokens, before, z, word_topic, words)
    return word_topic, totals


def train(
    whole: Minibatch, alpha: np.ndarray, n_topics: int, sweeps: int
) -> tuple[np.ndarray, np.ndarray]:
    """θ float32 (W, K) and the assignments, by sweeps under a β that falls from 1."""
    generator = np.random.default_rng(0)
    theta = generator.standard_exponential((len(whole.words), n_topics), np.float32)
    z = np.full(whole.n_tokens, UNASSIGNED)
    words = np.arange(len(whole.words))
    for sweep in range(sweeps):
        rows = topic_rows(theta, theta.sum(axis=0, dtype=np.float64), words)
        drawn = sparse.sample_assignments(
            whole, rows, alpha, sweeps=1, burn_in=0, key=KEY, update=sweep, threads=Threads(), z=z
        )
        np.copyto(theta, drawn.word_topic[:, :n_topics], casting="unsafe")
        theta += np.float32(BETA ** min(1, 2 * (sweep + 1) / sweeps))
    return theta, z


def head(whole: Minibatch, n_docs: int) -> Minibatch:
    """The first documents of a batch, as a batch of their own."""
    offsets = whole.offsets[: n_docs + 1]
    rows, tokens = np.unique(whole.tokens[: offsets[-1]], return_inverse=True)
    return Minibatch(
        whole.doc_ids[:n_docs], offsets, tokens.astype(np.uint32), whole.words[rows]
    )  # fmt: skip


def least_seconds(arms: list[Callable[[], object]], repeats: int) -> np.ndarray:
    """Processor time of each, at least, when they take turns; the first turn is not counted."""
    times = np.empty((repeats + 1, len(arms)))
    for turn in times:
        for i, arm in enumerate(arms):
            start = time.process_time()
            arm()
            turn[i] = time.process_time() - start
    return times[1:].min(axis=0)


def crossover(topics: list[int], ratios: list[float]) -> str:
    """The number of topics from which on every ratio is below 1, in words."""
    above = [i for i, ratio in enumerate(ratios) if ratio >= 1]
    if not above:
        return f"at {topics[0]} topics and beyond"
    i = above[-1]
    if i == len(topics) - 1:
        return f"not at {topics[-1]} topics or fewer"
    part = np.log(ratios[i]) / (np.log(ratios[i]) - np.log(ratios[i + 1]))
    return f"from K ≈ {topics[i] * (topics[i + 1] / topics[i]) ** part:.0f} on"


if __name__ == "__main__":
    main()
