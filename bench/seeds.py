"""What seed words do: whether their topics hold them, and what they cost in perplexity.

    python bench/seeds.py CORPUS --class FIELD [--classes NAME…] [--weights auto…] [--seeds 3]
    python bench/seeds.py CORPUS --words SEEDS.toml …

With --class each document of CORPUS has a class, FIELD of `topicmc prepare --keep FIELD`: of a list
the first. Five classes are seeded, the largest or those that are named, by ten words each: those of
the largest p(w | class) log(p(w | class) / p(w)). --words takes seeds of any kind instead.

Each WAY trains with the seeds and without them: by adlda, by scir on minibatches, and by scir over
two ranks of MPI. Printed, as means over random seeds: of the seed words how many are among the 20
likeliest of their topic (--top), how many in the least lucky run, and how many would be by the
tokens alone, with the prior taken away; how many `topicmc topics` shows as accepted; by how many
per cent the perplexity of held-out documents exceeds that without seeds, with the standard error of
paired differences; and the fewest words that a topic holds in any run. --contrary adds a topic that
cannot be: a word of each class, its likeliest.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from topicmc.corpora import Corpus
from topicmc.engine.transport.launch import find_mpiexec
from topicmc.models.lda.priors.seed_files import read_seeds
from topicmc.models.lda.priors.seed_settings import Seeds
from topicmc.models.lda.priors.seeds import found_in
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.samples import posterior_mean, samples_of
from topicmc.topics.acceptance import seed_words

WAYS = {
    "adlda": ["--sampler", "adlda"],
    "scir": ["--sampler", "scir", "--batch-size", "500"],
    "scir, 2 ranks": ["--sampler", "scir", "--batch-size", "500"],
}
CONTRARY = "contrary"


def classes_of(corpus: Corpus, field: str) -> list[str]:
    """The class of each document, in the order of the shards."""
    assert corpus.columns is not None, "prepare the corpus with --keep FIELD"
    values = [corpus.columns[i].get(field) for i in range(corpus.n_docs)]
    return [str(value[0] if isinstance(value, list) and value else value) for value in values]


def words_of_classes(corpus: Corpus, field: str, names: list[str], n_words: int) -> Seeds:
    """Seeds of the classes that are named, or else of the five largest."""
    classes = classes_of(corpus, field)
    names = names or [name for name, _ in Counter(classes).most_common(5)]
    counts = np.zeros((len(names) + 1, corpus.n_words))  # in the end all other documents
    place = {name: k for k, name in enumerate(names)}
    first = 0
    for number in range(corpus.n_shards):
        documents = corpus.shard(number)
        which = [place.get(classes[first + i], len(names)) for i in range(documents.n_docs)]
        rows = np.repeat(which, documents.lengths)
        np.add.at(counts, (rows, documents.word_ids), documents.counts)
        first += documents.n_docs
    p_all = (counts.sum(axis=0) + 1e-9) / counts.sum()
    seeds: Seeds = {}
    for name, row in zip(names, counts, strict=False):
        p = (row + 1e-9) / row.sum()
        best = np.argsort(-p * np.log(p / p_all))[:n_words]
        seeds[name] = {corpus.vocabulary[w]: None for w in best}
    return seeds


def train(options, way: str, seed: int, folder: Path, *more: str) -> tuple[TopicRun, float]:
    """A run, and the perplexity of held-out documents averaged over its samples."""
    command = [sys.executable, "-m", "topicmc.cli", "train", options.corpus, "-o", str(folder)]
    command += [*WAYS[way], "--topics", str(options.topics), "--seed", str(seed), *more]
    command += ["--force", "--json", "--progress", "none", "--threads", "1"]
    command += [] if options.epochs is None else ["--epochs", str(options.epochs)]
    if "ranks" in way:
        command = [find_mpiexec(), "-n", "2", *command]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return TopicRun.open(folder), float(json.loads(done.stdout)["perplexity_averaged"])


def held(run: TopicRun, seeds: Seeds, top: int, *, of_tokens: bool = False) -> list[int]:
    """Of the seed words of each topic how many are among its ``top`` likeliest, by φ or by the
    tokens alone."""
    found = found_in(seeds, run.vocabulary())
    mean = posterior_mean(run)
    phi = mean.phi
    if of_tokens:
        prior = run.prior(float(samples_of(run)[-1].get("beta", run.facts()["config"]["beta"])))
        n_topics, n_words = phi.shape
        sizes = mean.share * run.facts()["corpus"]["tokens"] + prior.totals(n_words, n_topics)
        phi = phi * sizes[:, None] - prior.matrix()
    return [
        len(set(np.argsort(-row)[:top].tolist()) & set(words))
        for row, words in zip(phi, found.weights, strict=False)
    ]


def measured(options, seeds: Seeds, way: str, weight: str, plain: list[float], folder: Path):
    """A line of the table."""
    path = folder / "seeds.json"
    path.write_text(json.dumps(seeds))
    in_top, in_tokens, accepted, worse, verdicts = [], [], [], [], []
    for seed in range(options.seeds):
        more = ["--seeds", str(path)]
        more += [] if weight == "auto" else ["--seed-weight", weight]
        run, perplexity = train(options, way, seed, folder / "run", *more)
        right = {name: words for name, words in seeds.items() if name != CONTRARY}
        in_top.append(held(run, right, options.top))
        in_tokens.append(held(run, right, options.top, of_tokens=True))
        told = list(seed_words(run).values())
        accepted.append(sum(s.verdict == "accepted" for words in told[: len(right)] for s in words))
        verdicts.append([s.verdict for words in told[len(right) :] for s in words])
        worse.append(100 * (perplexity / plain[seed] - 1))
        tokens = run.facts()["config"]["seed_weight"]
    n = sum(len(words) for name, words in seeds.items() if name != CONTRARY)
    error = statistics.stdev(worse) / len(worse) ** 0.5 if len(worse) > 1 else float("nan")
    least = [min(column) for column in zip(*in_top, strict=True)]
    print(
        f"{way:14}{tokens:7g}{np.mean(np.sum(in_top, axis=1)):6.1f} of {n}{min(map(sum, in_top)):6}"
        f"{np.mean(np.sum(in_tokens, axis=1)):9.1f}{np.mean(accepted):10.1f}"
        f"{np.mean(worse):+9.2f} ± {error:.2f}   {min(least)}",
        flush=True,
    )
    for seed, found in enumerate(verdicts):
        if found:
            print(f"  contrary topic, random seed {seed}: {dict(Counter(found))}", flush=True)


def options_of() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add: Any = parser.add_argument
    add("corpus")
    add("--class", dest="field")
    add("--classes", nargs="+", default=[])
    add("--words", type=Path)
    add("--n-words", type=int, default=10)
    add("--topics", type=int, default=20)
    add("--top", type=int, default=20)
    add("--weights", nargs="+", default=["auto"])
    add("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    add("--epochs", type=float)
    add("--seeds", type=int, default=3)
    add("--contrary", action="store_true")
    options = parser.parse_args()
    if (options.field is None) == (options.words is None):
        parser.error("give --class FIELD or --words FILE")
    return options


def main() -> None:
    options = options_of()
    corpus = Corpus.open(options.corpus)
    if options.words is not None:
        seeds = read_seeds(options.words)
    else:
        seeds = words_of_classes(corpus, options.field, options.classes, options.n_words)
    for name, words in seeds.items():
        print(f"{name}: {' '.join(words)}")
    if options.contrary:
        seeds[CONTRARY] = {next(iter(words)): None for words in seeds.values()}
    print("way            weight   in top 20 least by tokens  accepted  perplexity, %  worst topic")
    with tempfile.TemporaryDirectory() as folder:
        for way in options.ways:
            plain = [
                train(options, way, seed, Path(folder) / "run")[1] for seed in range(options.seeds)
            ]
            print(f"{way:14}unseeded: perplexity {np.mean(plain):.1f}", flush=True)
            for weight in options.weights:
                measured(options, seeds, way, weight, plain, Path(folder))


if __name__ == "__main__":
    main()
