"""Topic mixes of new documents: time and accuracy of topicmc's, beside tomotopy's and Gibbs sweeps.

    python bench/inference.py CORPUS [--topics 100] [--sweeps 60] [--repeats 3] [--threads 2]

CORPUS is a prepared corpus; tomotopy must be installed. It trains the topics on the training
documents, and both then infer the mixes of all of these under the same φ and α, in turns. What is
timed: of tomotopy `LDAModel.infer` at its default of 100 iterations, and at 10, documents made
beforehand; of topicmc `Mixer.mixes`, and the whole command `topicmc infer` in a process of its own,
with reading, checking and writing. Figures are medians, with the least and the most.

Accuracy: the total variation between a mix and that of 2,000 Gibbs sweeps, in the mean over 500
held-out documents; and the perplexity of a tenth of held-out tokens given the others. Seconds of
the processor, of all cores and processes, are told too: on a busy machine they are the ones to
compare.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import quiet

from topicmc.corpora import Corpus, Documents
from topicmc.kernels.batch import Minibatch, gather
from topicmc.kernels.gibbs import sample_assignments, topic_rows
from topicmc.kernels.padding import padded_topics
from topicmc.kernels.random import stream_key
from topicmc.kernels.threads import Threads
from topicmc.models.lda.completion import perplexity, split_documents
from topicmc.models.lda.mixes import Mixer, parts
from topicmc.models.lda.run import TopicRun

REFERENCE, BURN_IN = 2000, 200  # Gibbs sweeps
COMPARED = 500  # documents


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--sweeps", type=int, default=60, help="of training")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    quiet.add_option(parser)
    options = parser.parse_args()
    quiet.start(options)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])

    corpus = Corpus.open(options.corpus)
    peer = Tomotopy(corpus, options)
    phi, alpha = peer.topics()
    threads = Threads(options.threads)
    shards = [corpus.shard(number) for number in range(corpus.n_shards)]
    print(f"{corpus.n_docs:,} documents, {corpus.n_tokens:,} tokens, {len(phi)} topics")

    with tempfile.TemporaryDirectory() as folder:
        run = as_run(Path(folder) / "run", corpus, phi, alpha)
        mixer = Mixer(phi, alpha, threads)

        def mixes() -> None:
            for part in parts(shards, mixer.block):
                mixer.mixes(part)

        made = [peer.document(row) for shard in shards for row in rows(shard)]
        works = {
            "topicmc": mixes,
            "topicmc infer": lambda: command(run, options, Path(folder) / "mixes.parquet"),
            "tomotopy, 10 iterations": lambda: peer.infer(made, 10),
            "tomotopy, 100 iterations": lambda: peer.infer(made, 100),
            "5 Gibbs sweeps": lambda: sweeps(corpus, phi, alpha, threads),
        }
        timed = measure(works, options.repeats)
    accuracy = compare(corpus, phi, alpha, mixer, peer, threads)
    base = np.median(timed["topicmc infer"], axis=0)
    print(f"\n{'':26}{'seconds':>9}{'':>20}{'of CPU':>9}{'M tokens/s':>12}{'against infer':>15}")
    for name, figures in timed.items():
        (seconds, busy), walls = np.median(figures, axis=0), [wall for wall, _ in figures]
        spread = f"({min(walls):.2f} … {max(walls):.2f})"
        rate, ratio = (
            corpus.n_tokens / seconds / 1e6,
            f"{seconds / base[0]:.1f} ({busy / base[1]:.1f})",
        )
        print(f"{name:26}{seconds:9.2f}{spread:>20}{busy:9.2f}{rate:12.2f}{ratio:>15}")
    print(f"\n{'':26}{'variation':>10}{'perplexity':>12}")
    for name, (distance, score) in accuracy.items():
        print(f"{name:26}{distance:10.4f}{score:12.1f}")


Seconds = tuple[float, float]  # by the clock, and of the processor


def measure(works: dict[str, Callable[[], object]], repeats: int) -> dict[str, list[Seconds]]:
    """Of each, in turns, the order turning too; what compiles is called once before."""
    works["topicmc"]()
    works["5 Gibbs sweeps"]()
    timed: dict[str, list[Seconds]] = {name: [] for name in works}
    names = list(works)
    for number in range(repeats):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            start, busy = time.perf_counter(), sum(os.times()[:4])
            works[name]()
            timed[name].append((time.perf_counter() - start, sum(os.times()[:4]) - busy))
            print("{:26}{:9.2f} s{:9.2f} s of CPU".format(name, *timed[name][-1]), flush=True)
    return timed


class Tomotopy:
    """A model, trained by tomotopy with its own settings but for the number of topics."""

    def __init__(self, corpus: Corpus, options: argparse.Namespace) -> None:
        import tomotopy as tp

        self.words = corpus.vocabulary
        self.threads = options.threads
        self.model = tp.LDAModel(k=options.topics, alpha=0.1, eta=0.01, seed=1)
        for number in range(corpus.n_shards):
            for tokens in rows(corpus.shard(number)):
                self.model.add_doc([self.words[w] for w in tokens])
        self.model.train(options.sweeps, workers=options.threads)

    def topics(self) -> tuple[np.ndarray, np.ndarray]:
        position = {word: i for i, word in enumerate(self.words)}
        columns = [position[word] for word in self.model.used_vocabs]
        phi = np.full((self.model.k, len(self.words)), 1e-12)
        for k in range(self.model.k):
            phi[k, columns] = self.model.get_topic_word_dist(k)
        return phi / phi.sum(axis=1, keepdims=True), np.array(self.model.alpha, np.float64)

    def document(self, tokens: np.ndarray):
        return self.model.make_doc([self.words[w] for w in tokens])

    def infer(self, documents: list, iterations: int) -> np.ndarray:
        mixes, _ = self.model.infer(documents, iterations, workers=self.threads)
        return np.array(mixes, np.float64)


def rows(documents: Documents) -> Iterator[np.ndarray]:
    """The tokens of each document."""
    ids, counts = np.asarray(documents.word_ids), np.asarray(documents.counts)
    for start, stop in zip(documents.indptr[:-1], documents.indptr[1:], strict=True):
        yield np.repeat(ids[start:stop], counts[start:stop])


def as_run(path: Path, corpus: Corpus, phi: np.ndarray, alpha: np.ndarray) -> Path:
    """A run whose one sample are these topics."""
    config = {"topics": len(phi), "alpha": 0.1}
    run = TopicRun.create(path, {"config": config, "corpus": {}})
    run.update_facts(vocabulary=run.write_vocabulary(corpus.vocabulary))
    entry = run.keep_sample(0, 1, np.ascontiguousarray(phi.T, np.float32))
    run.write_sample_index([{**entry, "alpha": alpha.tolist()}])
    return path


def command(run: Path, options: argparse.Namespace, output: Path) -> None:
    arguments = ["infer", run, options.corpus, "-o", output, "--threads", options.threads]
    subprocess.run(
        [sys.executable, "-m", "topicmc.cli", *map(str, arguments), "--force"],
        check=True,
        stdout=subprocess.DEVNULL,
    )


def sweeps(corpus: Corpus, phi: np.ndarray, alpha: np.ndarray, threads: Threads) -> None:
    """What a minibatch of training goes through, for all documents."""
    for number in range(corpus.n_shards):
        for part in parts([corpus.shard(number)], 5000):
            batch = gather(
                part.indptr, part.word_ids, part.counts, np.arange(part.n_docs), corpus.n_words
            )
            gibbs_mixes(batch, phi, alpha, threads, 5, 2)


def gibbs_mixes(
    batch: Minibatch, phi: np.ndarray, alpha: np.ndarray, threads: Threads, n: int, burn_in: int
) -> np.ndarray:
    theta = np.ascontiguousarray(phi.T[batch.words], np.float32)
    drawn = sample_assignments(
        batch,
        topic_rows(theta, np.ones(len(phi)), np.arange(len(theta))),
        padded_topics(alpha),
        sweeps=n,
        burn_in=burn_in,
        key=stream_key(0, "bench"),
        update=0,
        threads=threads,
        want_doc_topic=True,
    )
    assert drawn.doc_topic is not None
    mix = drawn.doc_topic[:, : len(phi)] / drawn.scale + alpha
    return mix / mix.sum(axis=1, keepdims=True)


def compare(
    corpus: Corpus,
    phi: np.ndarray,
    alpha: np.ndarray,
    mixer: Mixer,
    peer: Tomotopy,
    threads: Threads,
) -> dict[str, tuple[float, float]]:
    """Distance from the reference, and perplexity, of each way to infer."""
    some = corpus.heldout.part(0, min(COMPARED, corpus.n_heldout))
    batch = gather(some.indptr, some.word_ids, some.counts, np.arange(some.n_docs), corpus.n_words)
    reference = gibbs_mixes(batch, phi, alpha, threads, REFERENCE, BURN_IN)
    split = split_documents(corpus.heldout, seed=0)
    observed = split.observed
    pieces = np.split(observed.words[observed.tokens], observed.offsets[1:-1])
    counted = [np.unique(tokens, return_counts=True) for tokens in pieces]
    documents = Documents(
        np.concatenate([[0], np.cumsum([len(words) for words, _ in counted])]),
        np.concatenate([words for words, _ in counted]).astype(np.uint32),
        np.concatenate([counts for _, counts in counted]).astype(np.uint32),
    )
    whole = [peer.document(tokens) for tokens in rows(some)]
    partly = [peer.document(tokens) for tokens in pieces]
    found = {"topicmc": (mixer.mixes(some), mixer.mixes(documents))}
    for n in (10, 100):
        found[f"tomotopy, {n} iterations"] = peer.infer(whole, n), peer.infer(partly, n)
    for n, burn_in in ((5, 2), (50, 20)):
        found[f"{n} Gibbs sweeps"] = tuple(
            gibbs_mixes(b, phi, alpha, threads, n, burn_in) for b in (batch, observed)
        )
    result = {}
    for name, (mix, given) in found.items():
        probabilities = np.einsum("tk,tk->t", given[split.scored_doc], phi.T[split.scored_word])
        result[name] = (
            float(np.abs(mix - reference).sum(axis=1).mean() / 2),
            perplexity(probabilities),
        )
    return result


if __name__ == "__main__":
    main()
