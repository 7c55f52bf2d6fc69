"""What a second thread brings, in sweeps of AD-LDA and in updates of SCIR, beside what the machine
has to give.

    python bench/threads.py CORPUS [--sweeps 100 1000 10000] [--updates 100 1000]
                            [--batches 100 1000 default] [--seeds 0 1 2] [--results FILE]

One thread and two take turns, a sweep of one chain each, or some updates of two chains of the same
seed, which make the same draws; a different one is first each time, so that a busy machine is
equally unkind to both. Blocks have as many documents as those of a run on the corpus, updates are
whole rounds of training, minibatches gathered and counted as by default, past their start.
"arithmetic" is the bound that the machine sets: pieces that share nothing, each on numbers in the
nearest cache, handed out to threads as those of a sweep are. Printed are medians over the turns of
all seeds, and of the ratio of the wall times of each pair of turns, with its quartiles.
"""

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import quiet
from numba import njit

from topicmc.corpora import Corpus
from topicmc.engine.transport.local import LocalTransport
from topicmc.kernels.random import stream_key
from topicmc.kernels.threads import Threads
from topicmc.models.lda.collapsed.worker import CollapsedWorker
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.methods import open_method
from topicmc.models.lda.planning.defaults import resolve
from topicmc.models.lda.settings import Resolved, TrainConfig
from topicmc.models.lda.workers import expand
from topicmc.samplers.row_prior import RowPrior
from topicmc.storage.files import write_json

sys.path.append(str(Path(__file__).parent / "peers"))
from tables import markdown

ALPHA, BETA = 0.1, 0.01
Turn = Callable[[], object]
Pair = tuple[Turn, Turn]  # by one thread and by two
# Pieces of arithmetic, and rounds over its numbers in each: about as long as a sweep.
_PIECES, _ROUNDS, _NUMBERS = 32, 10_000, 2_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--sweeps", type=int, nargs="*", default=[100, 1000, 10_000], help="K")
    parser.add_argument("--updates", type=int, nargs="*", default=[100, 1000], help="K")
    parser.add_argument("--batches", nargs="+", default=["100", "1000", "default"])
    parser.add_argument("--docs", type=int, default=10_000, help="documents of a sweep")
    parser.add_argument("--warm-up", type=int, default=12, help="sweeps or turns before the clock")
    parser.add_argument("--repeats", type=int, default=10, help="pairs of turns of a seed")
    parser.add_argument("--tokens", type=int, default=200_000, help="of a turn of updates, about")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--results", type=Path, help="a file to keep the turns in")
    quiet.add_option(parser)
    options = parser.parse_args()
    found = quiet.record(quiet.at_start(options)) | {"corpus": options.corpus.name, "runs": []}
    corpus = Corpus.open(options.corpus)
    works = [("arithmetic", 0, "")]
    works += [("adlda", topics, "") for topics in options.sweeps]
    works += [("scir", topics, batch) for topics in options.updates for batch in options.batches]
    for kind, topics, batch in works:
        load = quiet.again(options.anyway)
        pairs, documents = pairs_of(corpus, kind, topics, batch, options)
        turns = [turn for seed in options.seeds for turn in take(pairs(seed), options)]
        run = {"kind": kind, "topics": topics, "batch": documents, "asked": batch}
        found["runs"].append({**run, **load, "turns": turns})
        if options.results:
            write_json(options.results, found)
        print(" | ".join(table(found)[-1]), file=sys.stderr, flush=True)
    print("\n".join(markdown(table(found))))


def pairs_of(
    corpus: Corpus, kind: str, topics: int, batch: str, options: argparse.Namespace
) -> tuple[Callable[[int], Pair], int]:
    """What makes the pair of a seed, and the documents of a batch or block."""
    if kind == "arithmetic":
        return pair_of_arithmetic, 0
    config = settings(corpus, kind, topics, batch)
    pairs = pair_of_sweeps if kind == "adlda" else pair_of_updates
    return (lambda seed: pairs(corpus, config, seed, options)), config.batch_size


@njit(nogil=True, cache=True)
def _arithmetic(numbers, rounds):
    for _ in range(rounds):
        for i in range(len(numbers)):
            numbers[i] = numbers[i] * np.float32(0.5) + np.float32(1)


def pair_of_arithmetic(seed: int) -> Pair:
    numbers = [np.full(_NUMBERS, seed, np.float32) for _ in range(_PIECES)]
    _arithmetic(numbers[0], 1)

    def turn(threads: Threads) -> None:
        threads.run(lambda i: _arithmetic(numbers[i], _ROUNDS), _PIECES)

    return partial(turn, Threads(1)), partial(turn, Threads(2))


def settings(corpus: Corpus, kind: str, topics: int, batch: str) -> Resolved:
    """Those of a run; 'default' or none leave the batch to the program. Minibatches begin as a
    stream, a start whose length alone is given."""
    asked = TrainConfig(
        topics=topics, sampler=kind, alpha=ALPHA, beta=BETA, updates=1000,
        batch_size=int(batch) if batch.isdigit() else "auto",
        start="stream" if kind == "scir" else "auto",
    )  # fmt: skip
    return resolve(asked, Extent.of(corpus))


def pair_of_sweeps(corpus: Corpus, config: Resolved, seed: int, options) -> Pair:
    n_docs = min(options.docs, corpus.shard_sizes[0])
    offsets, tokens, _ = expand(corpus, [(0, 0, n_docs)])
    key, n_topics = stream_key(seed, "bench"), config.topics
    worker = CollapsedWorker(offsets, tokens, 0, corpus.n_words, n_topics, key)
    n_blocks = max(1, round(n_docs / config.batch_size))
    edges = [n_docs * i // n_blocks for i in range(n_blocks + 1)]
    sweeps = count()

    def sweep(threads: Threads) -> None:
        number = next(sweeps)
        for first, last in pairwise(edges):
            worker.draw(
                np.arange(first, last), np.full(n_topics, ALPHA), RowPrior(BETA), sweep=number,
                one_by_one=False, threads=threads,
            )  # fmt: skip

    by_one, by_two = partial(sweep, Threads(1)), partial(sweep, Threads(2))
    for _ in range(options.warm_up):
        by_two()
    return by_one, by_two


def pair_of_updates(corpus: Corpus, config: Resolved, seed: int, options) -> Pair:
    tokens = config.batch_size * corpus.n_tokens / corpus.n_docs
    n_updates = max(1, round(options.tokens / tokens))
    # The start is over when the clock starts.
    start = options.warm_up * n_updates // 2
    config = replace(config, seed=seed, anneal_updates=start, average_until=0)

    def updates(n_threads: int) -> Turn:
        mine = replace(config, threads=n_threads)
        method = open_method(mine, corpus, LocalTransport(1), Threads(n_threads))

        def turn() -> None:
            for _ in range(n_updates):
                method.round()

        for _ in range(options.warm_up):
            turn()
        assert not method.in_burn_in, "updates of the start are others"
        return turn

    return updates(1), updates(2)


def take(pair: Pair, options) -> list[tuple[float, float]]:
    """Wall seconds of turns by one thread and by two."""
    turns = []
    for number in range(options.repeats):
        seconds = [0.0, 0.0]
        for i in (0, 1) if number % 2 else (1, 0):
            start = time.perf_counter()
            pair[i]()
            seconds[i] = time.perf_counter() - start
        turns.append((seconds[0], seconds[1]))
    return turns


def name_of(run: dict[str, Any]) -> str:
    if run["kind"] == "arithmetic":
        return "arithmetic, nothing shared"
    what = "sweeps" if run["kind"] == "adlda" else "updates"
    default = ", default" * (run["asked"] == "default")
    return f"{run['kind']}, {what}, K = {run['topics']:,}, {run['batch']:,} documents{default}"


def table(found: dict[str, Any]) -> list[list[str]]:
    """Medians over turns of a file of results."""
    rows = [["", "one thread, ms", "two threads, ms", "one / two"]]
    for run in found["runs"]:
        one, two = np.array(run["turns"]).T
        ratio = one / two
        row = [name_of(run)]
        row += [f"{1e3 * np.median(seconds):.1f}" for seconds in (one, two)]
        lower, middle, upper = np.quantile(ratio, [0.25, 0.5, 0.75])
        rows.append([*row, f"{middle:.2f} ({lower:.2f}–{upper:.2f})"])
    return rows


if __name__ == "__main__":
    main()
