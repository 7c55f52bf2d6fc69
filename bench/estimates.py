"""SCIR's estimates of the counts of the corpus: perplexity at equal processor time, and variance.

    python bench/estimates.py OUT.json CORPUS [--topics 50] [--seconds 20,40,80,160] [--seed 0]
        [--batch-size N] [--start 200] [--contenders plain,remembered,cv,saga]

A contender is an estimate, "plain:anneal" that of the name with an annealed start in place of a
streaming one, and "adlda" AD-LDA.

CORPUS is a prepared corpus. Each estimate trains with one thread, α = 0.1 and β = 0.01; those from
minibatches begin with the same ``--start`` updates, and those that keep assignments with a growing
start. All else is as in a run without options. After so many seconds of processor time, which other
jobs of the machine hardly change, the state is scored: its perplexity, and for minibatches that of
the running mean.

At the end, for each band of E[n_kw], V / a: the variance over 24 minibatches of the estimated
counts at the last state, relative to a = β + E[n_kw], in the mean over entries; and of cv and saga
the share of the entries whose estimate is negative and taken for 0. Kept assignments have no such
variance.
"""

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import quiet
from inflation import BANDS, over_minibatches

from topicmc.corpora import Corpus
from topicmc.engine.dsgld import Dsgld
from topicmc.engine.transport.local import LocalTransport
from topicmc.kernels.threads import Threads
from topicmc.models.heldout import split_documents
from topicmc.models.lda.completion import perplexity, token_probabilities
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.methods import open_method
from topicmc.models.lda.planning.defaults import resolve
from topicmc.models.lda.settings import Resolved, TrainConfig
from topicmc.samplers.row_prior import RowPrior
from topicmc.samplers.running_mean import running_mean
from topicmc.samplers.state import Chain
from topicmc.storage.files import write_json

BATCHES = 24
ALPHA, BETA = 0.1, 0.01
ONE = Threads(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--seconds", default="20,40,80,160")
    parser.add_argument("--batch-size", type=int)
    parser.add_argument("--start", type=int, default=200, help="updates of a start")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--contenders", default="plain,remembered,cv,saga")
    quiet.add_option(parser)
    options = parser.parse_args()
    circumstances = quiet.record(quiet.at_start(options))
    corpus = Corpus.open(options.corpus)
    ends = [float(s) for s in options.seconds.split(",")]
    for contender in options.contenders.split(","):
        record = measured(corpus, contender, options, ends)
        record = {"corpus": options.corpus.name, **circumstances, **record}
        found = json.loads(options.out.read_text()) if options.out.exists() else []
        write_json(options.out, [*found, record])
        print(json.dumps(record), flush=True)


def measured(
    corpus: Corpus, contender: str, options: argparse.Namespace, ends: list[float]
) -> dict:
    """Perplexities after so many seconds, and what the estimate is like at the end."""
    config = settings_of(contender, options, Extent.of(corpus))
    method = open_method(config, corpus, LocalTransport(1), ONE)
    method.warm_up()
    method.round()
    spent, scores = 0.0, []
    for end in ends:
        start = time.process_time()
        while spent + time.process_time() - start < end:
            method.round()
        spent += time.process_time() - start
        chain = next(iter(method.chains.values()))
        mean = running_mean(chain, RowPrior(BETA))
        scores.append(
            {
                "cpu_seconds": spent,
                "updates": method.update,
                "perplexity": scored(corpus, chain.theta),
                "perplexity_mean": None if mean is None else scored(corpus, mean),
            }
        )
        print(contender, scores[-1], flush=True)
    record = {"contender": contender, "topics": options.topics, "seed": options.seed}
    record |= {"batch_size": config.batch_size, "start": config.start, "scores": scores}
    record["start_updates"] = options.start if isinstance(method, Dsgld) else None
    if isinstance(method, Dsgld):
        record |= of_minibatches(method)
    return record


def settings_of(contender: str, options: argparse.Namespace, size: Extent) -> Resolved:
    """Settings of a contender on a corpus of that size."""
    estimate, _, start = contender.partition(":")
    by_sweeps = estimate in ("remembered", "adlda")
    settings = TrainConfig(
        topics=options.topics, sampler="adlda" if estimate == "adlda" else "scir", alpha=ALPHA,
        beta=BETA, learn="none", threads=1, seed=options.seed,
        start=start or ("grow" if by_sweeps else "stream"),
        estimate="plain" if estimate == "adlda" else estimate,
        batch_size="auto" if by_sweeps else options.batch_size or "auto",
        epochs=10_000 if by_sweeps else None, updates=None if by_sweeps else 100_000,
    )  # fmt: skip
    config = resolve(settings, size)
    return config if by_sweeps else replace(config, anneal_updates=options.start)


def scored(corpus: Corpus, theta: np.ndarray) -> float:
    split = split_documents(corpus.heldout, seed=0)
    sums, alpha = theta.sum(axis=0, dtype=np.float64), np.full(theta.shape[1], ALPHA)
    return perplexity(token_probabilities(split, theta, sums, alpha, seed=0, threads=ONE))


def of_minibatches(method: Dsgld) -> dict:
    """V / a by band, and the clipped share, over minibatches at the state as it is."""
    chain: Chain = method.held["chains"][0]
    method.target.settle(chain)
    moments, clipped = over_minibatches(method, chain, BATCHES)
    mean, variance = moments.mean, moments.variance
    bands = {}
    for low, high in BANDS:
        band = (mean >= low) & (mean < high)
        bands[str(low)] = float((variance[band] / (BETA + mean[band])).mean())
    return {"V / a": bands, "clipped": clipped}


if __name__ == "__main__":
    main()
