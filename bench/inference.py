"""Topic mixes of new documents: documents a second and accuracy, beside other systems.

    python bench/inference.py CORPUS -o results.json [--topics 100] [--sweeps 60] [--threads 2]

CORPUS is a prepared corpus; tomotopy, gensim, scikit-learn and topica must be installed. tomotopy
trains the topics on the training documents, and all infer mixes of documents from there under the
same φ and α, in turns, but for topica (`inference_peers.py`): topicmc those of all, peers of the
first --peer-documents. What is timed: of topicmc `Mixer.mixes`, and the whole command
`topicmc infer` in a process of its own, with reading, checking and writing; of the others the call
that infers, on documents made beforehand. Figures are medians, with the least and the most.

Accuracy: the total variation between a mix and that of 2,000 Gibbs sweeps, in the mean over 500
held-out documents; and the perplexity of a tenth of held-out tokens given the others.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import quiet
from exactness import topicmc
from inference_peers import Gensim, Sklearn, Tomotopy, Topica, rows

from topicmc.corpora import Corpus, Documents
from topicmc.corpora.of_runs import corpus_facts
from topicmc.kernels.batch import Minibatch, gather
from topicmc.kernels.gibbs import sample_assignments, topic_rows
from topicmc.kernels.padding import padded_topics
from topicmc.kernels.random import stream_key
from topicmc.kernels.threads import Threads
from topicmc.models.heldout import split_documents
from topicmc.models.lda.completion import perplexity
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.mixes import Mixer, parts
from topicmc.models.lda.planning.defaults import resolve
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.settings import TrainConfig
from topicmc.storage.files import write_json

sys.path.append(str(Path(__file__).parent / "peers"))
from tables import markdown

REFERENCE, BURN_IN = 2000, 200  # Gibbs sweeps
COMPARED = 500  # documents
PEERS = ("tomotopy", "gensim", "scikit-learn", "topica")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument(
        "-o", "--output", type=Path, required=True, help="JSON of what was measured"
    )
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--sweeps", type=int, default=60, help="of training")
    parser.add_argument("--peer-documents", type=int, default=5000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    quiet.add_option(parser)
    options = parser.parse_args()
    found = quiet.record(quiet.at_start(options), *PEERS)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])

    corpus = Corpus.open(options.corpus)
    tomotopy = Tomotopy(corpus, options.topics, options.sweeps, options.threads)
    phi, alpha = tomotopy.topics()
    threads = Threads(options.threads)
    shards = [corpus.shard(number) for number in range(corpus.n_shards)]
    print(f"{corpus.n_docs:,} documents, {corpus.n_tokens:,} tokens, {len(phi)} topics")
    mixer = Mixer(phi, alpha, threads)
    gensim, sklearn = Gensim(phi, alpha), Sklearn(phi, alpha, options.threads)
    topica = Topica(corpus, options.topics, 5, options.threads)
    chosen = list(islice((row for shard in shards for row in rows(shard)), options.peer_documents))

    with tempfile.TemporaryDirectory() as folder:
        run = as_run(Path(folder) / "run", corpus, phi, alpha)

        def mixes() -> None:
            for part in parts(shards, mixer.block):
                mixer.mixes(part)

        made = {peer: peer.documents(chosen) for peer in (tomotopy, gensim, sklearn, topica)}
        works: dict[str, tuple[int, Callable[[], object]]] = {
            "topicmc": (corpus.n_docs, mixes),
            "topicmc infer": (
                corpus.n_docs,
                lambda: command(run, options, Path(folder) / "mixes.parquet"),
            ),
            "5 Gibbs sweeps": (corpus.n_docs, lambda: sweeps(corpus, phi, alpha, threads)),
            "tomotopy, 10 iterations": (len(chosen), lambda: tomotopy.infer(made[tomotopy], 10)),
            "tomotopy, 100 iterations": (len(chosen), lambda: tomotopy.infer(made[tomotopy], 100)),
            "gensim": (len(chosen), lambda: gensim.infer(made[gensim])),
            "scikit-learn": (len(chosen), lambda: sklearn.infer(made[sklearn])),
            "topica": (len(chosen), lambda: topica.infer(made[topica])),
        }
        timed = measure(works, options.repeats)
    accuracy = compare(corpus, phi, alpha, mixer, tomotopy, gensim, sklearn, threads)
    systems = {
        name: {"documents": works[name][0], "seconds": seconds, **accuracy.get(name, {})}
        for name, seconds in timed.items()
    }
    record = {
        **found,
        "corpus": corpus.path.name, "documents": corpus.n_docs, "tokens": corpus.n_tokens,
        "topics": options.topics, "threads": options.threads, "systems": systems,
    }  # fmt: skip
    write_json(options.output, record)
    print("\n".join(["", *markdown(table(record))]))


def table(found: dict[str, Any]) -> list[list[str]]:
    """Medians over repeats, with the least and the most, of a file of results."""
    rows = [["", "documents a second", "least … most", "variation", "perplexity"]]
    for name, row in found["systems"].items():
        rates = row["documents"] / np.array(row["seconds"])
        known = ["", ""]
        if "variation" in row:
            known = [f"{row['variation']:.3f}", f"{row['perplexity']:,.1f}"]
        spread = f"{rates.min():,.0f} … {rates.max():,.0f}"
        rows.append([name, f"{np.median(rates):,.0f}", spread, *known])
    return rows


def measure(
    works: dict[str, tuple[int, Callable[[], object]]], repeats: int
) -> dict[str, list[float]]:
    """Seconds of each, in turns, the order turning too; what compiles is called once before."""
    works["topicmc"][1]()
    works["5 Gibbs sweeps"][1]()
    timed: dict[str, list[float]] = {name: [] for name in works}
    names = list(works)
    for number in range(repeats):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            start = time.perf_counter()
            works[name][1]()
            timed[name].append(time.perf_counter() - start)
            print(f"{name:26}{timed[name][-1]:9.2f} s", flush=True)
    return timed


def as_run(path: Path, corpus: Corpus, phi: np.ndarray, alpha: np.ndarray) -> Path:
    """A run whose one sample are these topics."""
    asked = TrainConfig(topics=len(phi), sampler="adlda", alpha=0.1, beta=0.01, learn="none")
    config = resolve(asked, Extent.of(corpus)).as_dict()
    run = TopicRun.create(path, {"config": config, "corpus": corpus_facts(corpus, ".")})
    run.update_facts(vocabulary=run.write_vocabulary(corpus.vocabulary))
    entry = run.keep_sample(0, 1, np.ascontiguousarray(phi.T, np.float32))
    run.write_sample_index([{**entry, "alpha": alpha.tolist(), "burn_in": False}])
    return path


def command(run: Path, options: argparse.Namespace, output: Path) -> None:
    arguments = (run, options.corpus, "-o", output, "--threads", options.threads)
    topicmc("infer", *arguments, "--force")


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
    tomotopy: Tomotopy,
    gensim: Gensim,
    sklearn: Sklearn,
    threads: Threads,
) -> dict[str, dict[str, float]]:
    """Distance from the reference, and perplexity, of each way to infer under the same φ."""
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
    whole = list(rows(some))
    found = {"topicmc": (mixer.mixes(some), mixer.mixes(documents))}
    for n in (10, 100):
        found[f"tomotopy, {n} iterations"] = tuple(
            tomotopy.infer(tomotopy.documents(some), n) for some in (whole, pieces)
        )
    for name, peer in (("gensim", gensim), ("scikit-learn", sklearn)):
        found[name] = tuple(peer.infer(peer.documents(some)) for some in (whole, pieces))
    found["5 Gibbs sweeps"] = tuple(
        gibbs_mixes(b, phi, alpha, threads, 5, 2) for b in (batch, observed)
    )
    result = {}
    for name, (mix, given) in found.items():
        probabilities = np.einsum("tk,tk->t", given[split.scored_doc], phi.T[split.scored_word])
        result[name] = {
            "variation": float(np.abs(mix - reference).sum(axis=1).mean() / 2),
            "perplexity": perplexity(probabilities),
        }
    return result


if __name__ == "__main__":
    main()
