"""What zero variance gains: means of θ + c (â − θ) over updates of a minibatch SCIR chain.

    python bench/zero_variance.py OUT.json CORPUS [--topics 50] [--batch-size N] [--warm 800]
        [--blocks 40] [--updates 100] [--seed 0]

CORPUS is a prepared corpus. A chain trains for ``--warm`` updates with the settings that a run
without options has; then its step is held at the h that it has come to, and θ and â are averaged
over each of so many blocks of updates. Blocks in the second half are judged after a line in the
number of the block is taken off, by

    K Var   the variance of a block's mean times its length, relative to a = E[θ_kw], in the mean
            over the entries of a band of E[n_kw], for some c and the one that is best in the band
    log p   of a held-out token under a block's mean of φ: mean and standard deviation over blocks

To a given standard error a mean takes time in proportion to its variance: ``gain`` is the ratio of
variances, and the running mean's own processor time is stated beside. Times are of one thread.
"""

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import quiet
from inflation import BANDS

from topicmc.corpora import Corpus
from topicmc.engine.dsgld import Dsgld
from topicmc.engine.transport.local import LocalTransport
from topicmc.kernels.threads import Threads
from topicmc.models.heldout import split_documents
from topicmc.models.lda.completion import token_probabilities
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.methods import open_method
from topicmc.models.lda.planning.defaults import resolve
from topicmc.models.lda.settings import TrainConfig
from topicmc.samplers import running_mean
from topicmc.samplers.lazy import LazyScir
from topicmc.samplers.state import Chain, TopicCounts
from topicmc.samplers.steps import step_size
from topicmc.storage.files import write_json

COEFFICIENTS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)
LENGTHS = (1, 4)  # blocks that are taken together
ONE = Threads(1)


class Recorded(LazyScir):
    """Moves, and sums of θ and of â over a block beside them."""

    of_theta = of_counts = np.zeros(0)
    n = 0

    def move(self, chain: Chain, counts: TopicCounts, *, scale: float, **how):
        n_topics = chain.theta.shape[1]
        Recorded.of_theta += chain.theta
        Recorded.of_counts[counts.words] += scale * counts.counts[:, :n_topics]
        Recorded.n += 1
        return super().move(chain, counts, scale=scale, **how)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--batch-size", type=int)
    parser.add_argument("--warm", type=int, default=800)
    parser.add_argument("--blocks", type=int, default=40)
    parser.add_argument("--updates", type=int, default=100, help="of a block")
    parser.add_argument("--seed", type=int, default=0)
    quiet.add_option(parser)
    options = parser.parse_args()
    circumstances = quiet.record(quiet.at_start(options))
    corpus = Corpus.open(options.corpus)
    settings = TrainConfig(
        topics=options.topics, sampler="scir", alpha=0.1, beta=0.01, learn="none",
        seed=options.seed, threads=1, batch_size=options.batch_size or "auto", updates=options.warm,
        start="stream",
    )  # fmt: skip
    size = Extent.of(corpus)
    config = resolve(settings, size)
    chain = open_method(config, corpus, LocalTransport(1), ONE)
    for _ in range(options.warm):
        chain.round()
    h = step_size(options.warm, config.step_size, config.step_offset, config.step_decay)
    chain.target.updates.config = replace(config, step_size=h, step_decay=0.0)
    blocks, seconds = averaged(chain, corpus, options.blocks, options.updates)
    record = {
        **circumstances,
        "corpus": {"name": options.corpus.name, **size._asdict()},
        "topics": options.topics,
        "batch_size": config.batch_size,
        "h": h,
        "blocks": options.blocks,
        "updates": options.updates,
        "seed": options.seed,
        **seconds,
        "variance": [
            row for length in LENGTHS for row in of_bands(*blocks, length, options.updates)
        ],
        "log p": [row for length in LENGTHS for row in of_heldout(corpus, *blocks, length)],
    }
    found = json.loads(options.out.read_text()) if options.out.exists() else []
    write_json(options.out, [*found, record])
    print(json.dumps(record, indent=1))


def averaged(
    chain: Dsgld, corpus: Corpus, n_blocks: int, length: int
) -> tuple[tuple[np.ndarray, np.ndarray], dict[str, float]]:
    """Means of θ and of â over each block, (n_blocks, W, K); processor seconds of an update, and of
    what the running mean takes of them."""
    shape = corpus.n_words, chain.config.topics
    thetas, estimates, took = [], [], 0.0
    note_of = running_mean.note
    noted = [0.0]

    def timed(*values, **how):
        start = time.process_time()
        note_of(*values, **how)
        noted[0] += time.process_time() - start

    updates = chain.target.updates
    start_of = type(updates).move.__globals__
    start_of["note"] = timed
    # All words move in each update, so that θ is what it is at every one.
    updates._sampler_under = lambda prior: Recorded(prior, waits_below=0.0)
    for _ in range(n_blocks):
        Recorded.of_theta, Recorded.of_counts = np.zeros((2, *shape), np.float32)
        Recorded.n = 0
        start = time.process_time()
        for _ in range(length):
            chain.round()
        took += time.process_time() - start
        thetas.append(Recorded.of_theta / Recorded.n)
        estimates.append(Recorded.of_counts / Recorded.n + np.float32(chain.config.beta))
    start_of["note"] = note_of
    per_update = n_blocks * length
    seconds = {"cpu_seconds": took / per_update, "cpu_seconds_of_mean": noted[0] / per_update}
    return (np.array(thetas), np.array(estimates)), seconds


def together(values: np.ndarray, length: int) -> np.ndarray:
    """Means of so many blocks each."""
    n = len(values) // length
    return values[: n * length].reshape(n, length, *values.shape[1:]).mean(axis=1)


def away(values: np.ndarray) -> np.ndarray:
    """From a line in the number of the block."""
    x = np.arange(len(values)) - (len(values) - 1) / 2
    slope = np.tensordot(x, values, 1) / (x**2).sum()
    return values - values.mean(axis=0) - x.reshape(-1, *[1] * (values.ndim - 1)) * slope


def of_bands(thetas: np.ndarray, estimates: np.ndarray, length: int, updates: int) -> list[dict]:
    """K Var / a by band of E[n_kw]."""
    mean, rows = estimates.mean(axis=0), []
    for low, high in BANDS:
        band = (mean >= low) & (mean < high)
        a = mean[band].astype(float)
        theta = away(together(thetas[:, band], length).astype(float))
        control = away(together((estimates - thetas)[:, band], length).astype(float))
        free = len(theta) - 2

        def relative(c, theta=theta, control=control, a=a, free=free):
            return float((((theta + c * control) ** 2).sum(axis=0) / free / a).mean())

        best = -float((theta * control / a).sum() / (control**2 / a).sum())
        found = {f"{c:g}": length * updates * relative(c) for c in COEFFICIENTS}
        rows.append(
            {
                "updates": length * updates, "least": low, "entries": int(band.sum()),
                "K Var / a": found, "best c": best, "gain, c = 1": relative(0) / relative(1),
                "gain, best c": relative(0) / relative(best),
            }
        )  # fmt: skip
    return rows


def of_heldout(
    corpus: Corpus, thetas: np.ndarray, estimates: np.ndarray, length: int
) -> list[dict]:
    """log p of a held-out token under block means."""
    split, n_topics = split_documents(corpus.heldout, seed=0), thetas.shape[2]
    theta, a_hat = together(thetas, length), together(estimates, length)
    rows = []
    for c in COEFFICIENTS:
        scores = []
        for t, a in zip(theta, a_hat, strict=True):
            weights = np.maximum(t + np.float32(c) * (a - t), np.float32(1e-6))
            sums = weights.sum(axis=0, dtype=np.float64)
            alpha = np.full(n_topics, 0.1)
            found = token_probabilities(split, weights, sums, alpha, seed=0, threads=ONE)
            scores.append(np.log(found).mean())
        found = np.array(scores)
        spread = float(np.sqrt((away(found) ** 2).sum() / (len(found) - 2)))
        rows.append({"c": c, "blocks": length, "mean": float(found.mean()), "sd": spread})
    return rows


if __name__ == "__main__":
    main()
