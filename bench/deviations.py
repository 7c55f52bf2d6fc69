"""How far the standard deviations of `topicmc infer --se` are off, by repeating them.

    python bench/deviations.py RUN… [--documents 300] [--repeats 20]

RUN are runs of which 32 samples or so are kept; the documents are the first ones of their corpora.
Every repetition takes other draws of the assignments, and of the topics: at 16 of the kept samples
chosen at random, and for samplers that keep counts with other gamma variables. What is common to
all is what the kept samples do not show. Printed is the root of the mean square of the relative
error, against the root of the mean of all variances, by how large the share of the topic in the
document is in the mean.
"""

import argparse
import itertools

import numpy as np

from topicmc.corpora.of_runs import open_corpus
from topicmc.host.machine import available_cores
from topicmc.inference.deviations import MOST, Sample, deviations
from topicmc.kernels.threads import Threads
from topicmc.models.lda.draws import gamma_draw, keeps_counts
from topicmc.models.lda.mixes import Mixer
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.samples import alpha_of, posterior_mean, samples_of

BANDS = (0, 0.003, 0.03, 0.1, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--documents", type=int, default=300)
    parser.add_argument("--repeats", type=int, default=20)
    options = parser.parse_args()
    for path in options.runs:
        run = TopicRun.open(path)
        documents = open_corpus(run).shard(0)
        documents = documents.part(0, min(options.documents, documents.n_docs))
        threads = Threads(available_cores())
        mean = posterior_mean(run)
        share = Mixer(mean.phi, mean.alpha, threads).mixes(documents)
        found = np.array(
            [
                deviations(documents, drawn(run, seed), seed=seed, first=0, threads=threads)
                for seed in range(options.repeats)
            ]
        )
        truth = np.sqrt((found**2).mean(axis=0))
        error = found / truth - 1
        config = run.facts()["config"]
        print(
            f"{path}: {config['sampler']}, K = {config['topics']}, {len(samples_of(run, 0))} kept"
        )
        for low, high in itertools.pairwise(BANDS):
            band = (share > low) & (share <= high)
            print(
                f"  share {low:5.1%} to {high:6.1%}: {band.sum():7,} mixes,"
                f" sd {truth[band].mean():.4f}, off by {np.sqrt((error[:, band] ** 2).mean()):.0%}"
            )


def drawn(run: TopicRun, seed: int) -> list[Sample]:
    """Draws of the topics at some of the kept samples of the first chain."""
    generator = np.random.default_rng(seed)
    entries = samples_of(run, 0)
    chosen = sorted(generator.permutation(len(entries))[:MOST])
    thetas = [run.read_sample(entries[i]) for i in chosen]
    if keeps_counts(run.facts()["config"]):
        keys = generator.integers(2**64, size=len(thetas), dtype=np.uint64)
        pairs = zip(thetas, keys, strict=True)
        thetas = [gamma_draw(theta, key, Threads()) for theta, key in pairs]
    return [
        Sample(theta, theta.sum(axis=0, dtype=np.float64), alpha_of(run, entries[i]))
        for i, theta in zip(chosen, thetas, strict=True)
    ]


if __name__ == "__main__":
    main()
