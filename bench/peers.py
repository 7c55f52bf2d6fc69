"""topicmc and what people use instead, on the same cores: perplexity against training time.

    python bench/peers.py CORPUS --seconds 10,30,60,100 -o peers.json --plot peers.png

CORPUS is a prepared corpus. The systems take turns, seed by seed, each in a process of its own with
numerical libraries pinned to its threads. Seconds are of training alone: no loading, compilation or
scoring. Each φ is scored on the held-out documents by `topicmc evaluate`'s estimator with the same
α for all; for topicmc the posterior mean that `topicmc export` writes (the last state, while an
annealed start has no samples yet).

Settings are fixed alike, α and β symmetric. tomotopy runs without its α optimisation
(``tomotopy``), and with it as by default (``tomotopy-alpha``; its φ is still scored under the
common α). gensim runs LdaMulticore with chunks of 2,000 and is timed pass by pass; scikit-learn
runs online with minibatches of 1,024.
"""

import argparse
import json
import multiprocessing
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

Curve = Iterator[tuple[float, np.ndarray]]  # training seconds, φ (K × W)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--seconds", default="10,30,60,100", help="when to score")
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--alpha", type=float, default=0.1)
    parser.add_argument("--beta", type=float, default=0.01)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("-o", "--output", type=Path, default=Path("peers.json"))
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    marks = [float(second) for second in options.seconds.split(",")]
    points = []
    for seed in range(options.seeds):
        for name in options.systems.split(","):
            for point in in_a_process(name, options, marks, seed):
                points.append(point)
                print(
                    "{system:16} seed {seed}  {seconds:7.1f} s  {perplexity:8.1f}".format(**point)
                )
    facts = {
        "corpus": str(options.corpus.resolve().name),
        "processor": processor(),
        "versions": {name: installed(name) for name in PACKAGES},
        "settings": {
            name: getattr(options, name) for name in ("topics", "alpha", "beta", "threads")
        },
        "points": points,
    }
    options.output.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    if options.plot:
        plot(facts, options.plot)


# --- running and scoring --------------------------------------------------------------------------


def in_a_process(name: str, options: argparse.Namespace, marks: list[float], seed: int) -> list:
    """The points of one system and seed; it starts with a clean interpreter and pinned threads."""
    for library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
        os.environ[f"{library}_NUM_THREADS"] = str(options.threads)
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        process = context.Process(target=run, args=(name, options, marks, seed, Path(folder)))
        process.start()
        process.join()
        if process.exitcode:
            raise SystemExit(f"{name} failed with status {process.exitcode}")
        return json.loads((Path(folder) / "points.json").read_text(encoding="utf-8"))


def run(name: str, options: argparse.Namespace, marks: list[float], seed: int, out: Path) -> None:
    from topicmc.corpora import Corpus
    from topicmc.kernels.threads import Threads
    from topicmc.scoring import score_topics

    corpus = Corpus.open(options.corpus)
    points = []
    for seconds, phi in SYSTEMS[name](corpus, options, marks, seed):
        np.save(out / "phi.npy", phi)
        score = score_topics(out / "phi.npy", corpus, options.alpha, Threads(options.threads))
        points.append(
            {"system": name, "seed": seed, "seconds": seconds, "perplexity": score.perplexity}
        )
    (out / "points.json").write_text(json.dumps(points), encoding="utf-8")


def documents(corpus) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(word ids, counts) of each training document."""
    for number in range(corpus.n_shards):
        shard = corpus.shard(number)
        ids, counts = np.asarray(shard.word_ids), np.asarray(shard.counts)
        for first, last in zip(shard.indptr[:-1], shard.indptr[1:], strict=True):
            yield ids[first:last], counts[first:last]


# --- the systems ----------------------------------------------------------------------------------


def topicmc(sampler: str) -> Callable[..., Curve]:
    """One run, gone on with from mark to mark."""

    def curve(corpus, options, marks, seed) -> Curve:
        from topicmc import jobs
        from topicmc.cli.progress import Silent
        from topicmc.config import TrainConfig
        from topicmc.distributed.transport import LocalTransport
        from topicmc.interrupts import Interrupt
        from topicmc.posterior import posterior_mean
        from topicmc.training import Training

        transport = LocalTransport(1)
        settings = TrainConfig(
            topics=options.topics,
            sampler=sampler,
            alpha=options.alpha,
            beta=options.beta,
            threads=options.threads,
            time_budget=marks[0],
            evaluate_every="24h",
            seed=seed,
        )
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "run"
            config, opened, run = jobs.start(settings, corpus.path, path, transport)
            for mark in marks:
                if mark != marks[0]:
                    changes = {"time_budget": mark}
                    config, opened, run = jobs.resume(path, changes, transport, corpus.path)
                training = Training(
                    config, opened, run, transport, Silent(), resume=mark != marks[0]
                )
                outcome = training.train(Interrupt())
                yield outcome.seconds, posterior_mean(run)[0]

    return curve


def tomotopy(optimise: bool) -> Callable[..., Curve]:
    """Sweeps until each mark."""

    def curve(corpus, options, marks, seed) -> Curve:
        import tomotopy as tp

        model = tp.LDAModel(k=options.topics, alpha=options.alpha, eta=options.beta, seed=seed + 1)
        model.optim_interval = 10 if optimise else 0
        words = corpus.vocabulary
        for ids, counts in documents(corpus):
            model.add_doc([words[w] for w in np.repeat(ids, counts)])
        model.train(0, workers=options.threads)  # prepares; draws the first assignments
        position = {word: i for i, word in enumerate(words)}
        columns = np.array([position[word] for word in model.used_vocabs])
        seconds = 0.0
        for mark in marks:
            while seconds < mark:
                start = time.perf_counter()
                model.train(1, workers=options.threads)
                seconds += time.perf_counter() - start
            phi = np.full((options.topics, len(words)), 1e-12)
            for k in range(options.topics):
                phi[k, columns] = model.get_topic_word_dist(k)
            yield seconds, phi

    return curve


def gensim(corpus, options, marks, seed) -> Curve:
    """A point a pass, until the last mark is behind."""
    from gensim.models import LdaMulticore

    bags = [
        list(zip(ids.tolist(), counts.tolist(), strict=True)) for ids, counts in documents(corpus)
    ]
    model = LdaMulticore(
        num_topics=options.topics,
        id2word=dict(enumerate(corpus.vocabulary)),
        alpha=[options.alpha] * options.topics,
        eta=options.beta,
        workers=options.threads,
        chunksize=2000,
        eval_every=None,
        random_state=seed,
    )
    seconds = 0.0
    while seconds < marks[-1]:
        start = time.perf_counter()
        model.update(bags)
        seconds += time.perf_counter() - start
        yield seconds, model.get_topics().astype(np.float64)


def sklearn(corpus, options, marks, seed) -> Curve:
    """Online variational Bayes, minibatch by minibatch in random order."""
    from scipy.sparse import csr_matrix
    from sklearn.decomposition import LatentDirichletAllocation

    rows = list(documents(corpus))
    matrix = csr_matrix(
        (
            np.concatenate([counts for _, counts in rows]).astype(np.float64),
            np.concatenate([ids for ids, _ in rows]).astype(np.int64),
            np.concatenate([[0], np.cumsum([len(ids) for ids, _ in rows])]),
        ),
        shape=(len(rows), corpus.n_words),
    )
    model = LatentDirichletAllocation(
        n_components=options.topics,
        doc_topic_prior=options.alpha,
        topic_word_prior=options.beta,
        learning_method="online",
        total_samples=len(rows),
        n_jobs=options.threads,
        random_state=seed,
    )
    generator = np.random.default_rng(seed)
    seconds = 0.0
    batches: list[np.ndarray] = []
    for mark in marks:
        while seconds < mark:
            if not batches:
                order = generator.permutation(len(rows))
                batches = np.array_split(order, max(1, len(rows) // 1024))
            chosen = matrix[batches.pop()]
            start = time.perf_counter()
            model.partial_fit(chosen)
            seconds += time.perf_counter() - start
        yield seconds, model.components_ / model.components_.sum(axis=1, keepdims=True)


SYSTEMS: dict[str, Callable[..., Curve]] = {
    "topicmc-scir": topicmc("scir"),
    "topicmc-sgrld": topicmc("sgrld"),
    "topicmc-adlda": topicmc("adlda"),
    "tomotopy": tomotopy(optimise=False),
    "tomotopy-alpha": tomotopy(optimise=True),
    "gensim": gensim,
    "sklearn": sklearn,
}

# --- facts and picture ----------------------------------------------------------------------------

PACKAGES = ("topicmc", "numpy", "numba", "tomotopy", "gensim", "scikit-learn")


def installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
        return f"{names[0]}, {len(names)} cores"
    except (OSError, IndexError):
        return platform.processor()


def plot(facts: dict, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5))
    for name in dict.fromkeys(point["system"] for point in facts["points"]):
        mine = [point for point in facts["points"] if point["system"] == name]
        mine.sort(key=lambda point: point["seconds"])
        x, y = [p["seconds"] for p in mine], [p["perplexity"] for p in mine]
        axes.plot(x, y, marker="o", label=name)
    axes.set(xlabel="training seconds", ylabel="held-out perplexity", xscale="log")
    axes.set_title(f"{facts['corpus']}, {facts['settings']['topics']} topics")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
