"""Speed of the assignment kernels, in nanoseconds per token-sample: one token drawn once.

    python bench/kernels.py CORPUS [--docs 20000] [--sweeps 15] [--topics 100 256 1000]

CORPUS is a prepared corpus. Topics are first trained by collapsed sweeps, because random ones
mislead: they make documents use far too many topics. The minibatch kernel then draws with those
topics fixed; "remembered" is a sweep over all documents from their topics, under counts that stand
still, as `--sampler adlda` makes them; the collapsed kernel counts each token at once. tomotopy, if
installed, trains on the same documents. Figures are minima over repeats, of draws alone (the start
from φ counts as a sweep).
"""

import argparse
import importlib.util
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import quiet

from topicmc.corpora import Corpus
from topicmc.kernels.assignments import sample_assignments
from topicmc.kernels.batch import Minibatch, gather
from topicmc.kernels.collapsed import assign, assignment_dtype, collapsed_sweep, empty_counts
from topicmc.kernels.gibbs import redraw, topic_rows
from topicmc.kernels.random import stream_key
from topicmc.kernels.threads import Threads
from topicmc.samplers.row_prior import RowPrior

ALPHA, BETA = 0.1, 0.01
KEY = stream_key(0, "bench")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpus")
    parser.add_argument("--docs", type=int, default=20_000, help="documents of the first shards")
    parser.add_argument("--sweeps", type=int, default=15, help="collapsed sweeps of training")
    parser.add_argument("--batch", type=int, default=500, help="documents of a minibatch")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--topics", type=int, nargs="+", default=[100, 256, 1000])
    quiet.add_option(parser)
    options = parser.parse_args()
    quiet.start(options)

    corpus = Corpus.open(options.corpus)
    whole = first_documents(corpus, options.docs)
    batch = first_documents(corpus, options.batch)
    print(f"{whole.n_docs} documents, {whole.n_tokens} tokens, {len(whole.words)} words")
    print(f"{'kernel':28}" + "".join(f"{f'K = {k}':>10}" for k in options.topics))
    columns = [measure(whole, batch, k, options) for k in options.topics]
    for name in columns[0]:
        print(f"{name:28}" + "".join(f"{column[name]:10.1f}" for column in columns))


def first_documents(corpus: Corpus, n_docs: int) -> Minibatch:
    """The tokens of up to n_docs documents of the first shard."""
    shard = corpus.shard(0)
    docs = np.arange(min(n_docs, shard.n_docs))
    return gather(shard.indptr, shard.word_ids, shard.counts, docs, corpus.n_words)


def seconds(work: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats + 1):  # the first also compiles
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times[1:])


def measure(whole: Minibatch, batch: Minibatch, n_topics: int, options) -> dict[str, float]:
    """Nanoseconds per token-sample of every kernel with K = n_topics."""
    word_topic, topic_totals = empty_counts(len(whole.words), n_topics)
    alpha = np.zeros(len(topic_totals), np.float32)
    alpha[:n_topics] = ALPHA
    z = np.zeros(whole.n_tokens, assignment_dtype(n_topics))
    beta = RowPrior(BETA).rows(len(whole.words), n_topics)
    chain = (whole.offsets, whole.tokens, z, word_topic, topic_totals, alpha, beta)
    assign(*chain, key=KEY)
    sweeps = iter(range(10**6))
    seconds(lambda: collapsed_sweep(*chain, key=KEY, sweep=next(sweeps)), options.sweeps)

    result = {}
    theta = word_topic[:, :n_topics].astype(np.float32) + np.float32(BETA)
    places = np.searchsorted(whole.words, batch.words)
    rows = topic_rows(theta, theta.sum(axis=0, dtype=np.float64), places)
    for n_threads in (1, 2):
        threads = Threads(n_threads)

        def draw(threads=threads):
            sample_assignments(
                batch, rows, alpha, sweeps=5, burn_in=2, key=KEY, update=0, threads=threads
            )

        best = seconds(draw, 5 * options.repeats)
        result[f"φ fixed, {n_threads} thr."] = best / (6 * batch.n_tokens) * 1e9
    drawn = (np.arange(whole.n_docs), *chain[:2], z.astype(np.uint16), *chain[3:])
    for n_threads in (1, 2):
        again = partial(redraw, *drawn, counted=True, key=KEY, threads=Threads(n_threads))
        best = seconds(lambda again=again: again(update=next(sweeps)), options.repeats)
        result[f"remembered, {n_threads} thr."] = best / whole.n_tokens * 1e9
    best = seconds(
        lambda: collapsed_sweep(*chain, key=KEY, sweep=next(sweeps)), max(3, options.repeats // 2)
    )
    result["collapsed, 1 thr."] = best / whole.n_tokens * 1e9
    if importlib.util.find_spec("tomotopy"):
        result["tomotopy, 1 thr."] = (
            tomotopy_seconds(whole, n_topics, options) / whole.n_tokens * 1e9
        )
    return result


def tomotopy_seconds(whole: Minibatch, n_topics: int, options) -> float:
    """Seconds of a sweep after as many sweeps of training as the collapsed kernel had."""
    import tomotopy

    model = tomotopy.LDAModel(k=n_topics, alpha=ALPHA, eta=BETA, seed=1)
    for i in range(whole.n_docs):
        tokens = whole.tokens[whole.offsets[i] : whole.offsets[i + 1]]
        model.add_doc([str(w) for w in tokens])
    model.optim_interval = 0
    model.train(options.sweeps, workers=1, show_progress=False)
    return seconds(lambda: model.train(1, workers=1), max(3, options.repeats // 2))


if __name__ == "__main__":
    main()
