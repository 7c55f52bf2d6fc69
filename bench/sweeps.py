"""Speed of a sweep of collapsed Gibbs sampling beside tomotopy's, in nanoseconds per token.

    python bench/sweeps.py CORPUS… [--topics 100] [--docs 30000] [--warm-up 20] [--repeats 7]

CORPUS are prepared corpora. Each sampler first makes some sweeps from random assignments, because
the first ones are unlike the rest. Then all take turns, a sweep each, so that a busy machine is
equally unkind to all of them. Printed are minima over turns, of wall time and of processor time:
with two threads on two free cores the first is half of the second.

"blocks" is `--sampler adlda` as it comes; "one by one" is `--batch-size 1`, plain collapsed Gibbs.
tomotopy trains with its default parallel scheme, which its documentation recommends, alpha and eta
fixed.
"""

import argparse
import time
from collections.abc import Callable
from itertools import count, pairwise

import numpy as np
import quiet

from topicmc.corpora import Corpus
from topicmc.kernels.random import stream_key
from topicmc.kernels.threads import Threads
from topicmc.models.lda.collapsed.worker import CollapsedWorker
from topicmc.models.lda.workers import expand
from topicmc.samplers.row_prior import RowPrior

ALPHA, BETA = 0.1, 0.01
BLOCKS = 64
Sweep = Callable[..., object]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpora", nargs="+")
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--docs", type=int, default=30_000, help="documents of the first shard")
    parser.add_argument("--warm-up", type=int, default=20, help="sweeps before the clock starts")
    parser.add_argument("--repeats", type=int, default=7)
    quiet.add_option(parser)
    options = parser.parse_args()
    quiet.start(options, "tomotopy")
    for path in options.corpora:
        corpus = Corpus.open(path)
        n_docs = min(options.docs, corpus.shard_sizes[0])
        offsets, tokens, _ = expand(corpus, [(0, 0, n_docs)])
        print(
            f"{path}: {n_docs:,} documents, {len(tokens):,} tokens,"
            f" {corpus.n_words:,} words, K = {options.topics}"
        )
        print(f"{'':32}{'wall':>8}{'CPU':>8}")
        arms = ours(offsets, tokens, corpus.n_words, options.topics)
        arms |= tomotopys(offsets, tokens, options.topics)
        for name, (wall, cpu) in measure(arms, options.warm_up, options.repeats).items():
            print(f"{name:32}{wall / len(tokens) * 1e9:8.1f}{cpu / len(tokens) * 1e9:8.1f}")


def ours(offsets, tokens, n_words, n_topics) -> dict[str, Sweep]:
    """Our sampler in blocks with one and two threads, and one document by one."""
    data = offsets, tokens, n_words, n_topics
    return {
        "topicmc, one by one, 1 thread": sampler(*data, n_threads=1, one_by_one=True),
        "topicmc, blocks, 1 thread": sampler(*data, n_threads=1),
        "topicmc, blocks, 2 threads": sampler(*data, n_threads=2),
    }


def sampler(
    offsets, tokens, n_words, n_topics, *, n_threads, n_blocks=BLOCKS, one_by_one=False, seed=0
) -> Sweep:
    """A chain of its own from random topics, and what makes its next sweep, with these threads or
    with others."""
    worker = CollapsedWorker(offsets, tokens, 0, n_words, n_topics, stream_key(seed, "bench"))
    threads, sweeps = Threads(n_threads), count()
    n_docs = len(offsets) - 1
    edges = [n_docs * i // n_blocks for i in range(n_blocks + 1)]

    def sweep(threads: Threads = threads) -> None:
        number = next(sweeps)
        for first, last in pairwise(edges):
            worker.draw(
                np.arange(first, last), np.full(n_topics, ALPHA), RowPrior(BETA), sweep=number,
                one_by_one=one_by_one, threads=threads,
            )  # fmt: skip

    return sweep


def tomotopys(offsets, tokens, n_topics) -> dict[str, Sweep]:
    """tomotopy with one and two threads, each a model of its own; none where it is missing."""
    try:
        import tomotopy
    except ImportError:
        print("tomotopy is not installed (pip install tomotopy): ours alone")
        return {}

    def model(n_threads: int) -> Sweep:
        lda = tomotopy.LDAModel(k=n_topics, alpha=ALPHA, eta=BETA, seed=1)
        for first, last in pairwise(offsets):
            if last > first:
                lda.add_doc([str(word) for word in tokens[first:last]])
        lda.optim_interval = 0
        return lambda: lda.train(1, workers=n_threads, show_progress=False)

    version = tomotopy.__version__
    return {f"tomotopy {version}, {n} thread{'s' * (n > 1)}": model(n) for n in (1, 2)}


def measure(arms: dict[str, Sweep], warm_up: int, repeats: int) -> dict[str, tuple[float, float]]:
    """Least wall and processor seconds of a sweep of each."""
    for sweep in arms.values():
        for _ in range(warm_up):
            sweep()
    best = dict.fromkeys(arms, (np.inf, np.inf))
    for _ in range(repeats):
        for name, sweep in arms.items():
            start = time.perf_counter(), time.process_time()
            sweep()
            seconds = time.perf_counter() - start[0], time.process_time() - start[1]
            best[name] = (min(best[name][0], seconds[0]), min(best[name][1], seconds[1]))
    return best


if __name__ == "__main__":
    main()
