"""What do shards that are not alike cost, by the length of trajectories?

    python bench/unlike.py RESULTS.json [CORPUS…] [--workers 4] [--steps 0.1] [--seeds 3]
                                        [--trajectories 1 4 16 64] [--updates 1000]

One SCIR chain travels among workers, over a corpus sorted by dominant topic and over the same one
shuffled; beside both, the same number of updates on one worker. The step h is constant after the
start, so Σh over a trajectory is τ h. Without CORPUS a corpus is drawn from a known model, and
sorted by its true topics; a prepared CORPUS is sorted by the topics of a run of AD-LDA. Printed, as
medians over seeds with their range: by how many per cent the perplexity of held-out documents
exceeds that of one worker, of the last state and averaged over samples.

Results are added to those that RESULTS.json holds; settings that are there are not run again.
"""

import argparse
import itertools
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

import numpy as np

from topicmc.corpora import Corpus
from topicmc.corpora.making import maintenance
from topicmc.corpora.making.ordering import Keys
from topicmc.engine.listeners import Silent
from topicmc.engine.transport.local import LocalTransport
from topicmc.host.interrupts import Interrupt
from topicmc.models.lda import jobs
from topicmc.models.lda.model import training_of
from topicmc.models.lda.samples import posterior_mean
from topicmc.models.lda.settings import TrainConfig

sys.path.append(str(Path(__file__).parent / "peers"))
from tables import markdown

GENERATED = "generated"


def trained(config: TrainConfig, corpus: Corpus, folder: Path):
    """A run, and what its training came to."""
    transport = LocalTransport(config.workers)
    config, corpus, run = jobs.start(config, corpus.path, folder, transport, force=True)
    return run, training_of(config, corpus, run, transport, Silent()).train(Interrupt())


def generated(folder: Path) -> tuple[Corpus, np.ndarray]:
    """A corpus of 4,000 documents of 20 known topics, and these, float64 (K, W)."""
    import generate  # beside this file

    settings = generate.Settings(documents=4_300, tokens=60, words=1_000, topics=20, heldout=300)
    generate.generate(settings, folder)
    return Corpus.open(folder / "corpus"), np.load(folder / "phi.npy")


def found_topics(corpus: Corpus, n_topics: int, folder: Path) -> np.ndarray:
    """Topics of a run of AD-LDA on one worker, float64 (K, W)."""
    config = TrainConfig(sampler="adlda", topics=n_topics, alpha=0.1, beta=0.05, epochs=100.0)
    return posterior_mean(trained(config, corpus, folder)[0]).phi


def dominant_topics(corpus: Corpus, phi: np.ndarray) -> np.ndarray:
    """The topic under which all words of a document are likeliest, int64 (D,)."""
    score = np.log(phi.T + 1e-12)
    found = []
    for number in range(corpus.n_shards):
        documents = corpus.shard(number)
        weighted = documents.counts[:, None] * score[documents.word_ids]
        found.append(np.add.reduceat(weighted, documents.indptr[:-1]).argmax(axis=1))
    return np.concatenate(found)


def keys_of(values: np.ndarray) -> Keys:
    """Keys that put documents in ascending order of values, (n_docs,); equal ones keep theirs."""
    ranks = np.empty(len(values), np.uint64)
    ranks[np.argsort(values, kind="stable")] = np.arange(len(values), dtype=np.uint64)
    step = np.uint64((1 << 64) // max(2, len(values)))
    return lambda positions: ranks[positions] * step


def settings_of(options, step: float, trajectory: int, schedule: str, seed: int) -> TrainConfig:
    rounds = max(1, options.updates // trajectory)
    return TrainConfig(
        sampler="scir", topics=options.topics, alpha=0.1, beta=0.05, workers=options.workers,
        chains=1, balance=False, schedule=schedule, trajectory=trajectory, start="anneal",
        anneal_updates=options.updates // 8, step_size=step, step_offset=1.0, step_decay=0.0,
        batch_size=options.batch_size, updates=rounds * trajectory, samples=32, seed=seed,
        threads=1, evaluate_every=str(10 * options.updates), checkpoint_every="10h",
    )  # fmt: skip


def cases(options):
    """(order, step, trajectory, schedule) of all settings; one worker first."""
    for step in options.steps:
        yield "one worker", step, 1, "rotate"
    orders, trajectories = ("sorted", "shuffled"), options.trajectories
    for order, trajectory, step in itertools.product(orders, trajectories, options.steps):
        for schedule in options.schedules[: None if order == "sorted" else 1]:
            yield order, step, trajectory, schedule


def run(name: str, options, results: list[dict], save) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if name == GENERATED:
            corpus, phi = generated(place / "generated")
        else:
            corpus = Corpus.open(name)
            phi = found_topics(corpus, options.topics, place / "run")
        by_topic, n_shards = dominant_topics(corpus, phi), options.workers
        corpora = {
            "sorted": maintenance.rewrite(
                corpus.path, place / "sorted", n_shards, keys_of(by_topic), {"sorted": True}
            ),
            "shuffled": maintenance.reshard(
                corpus.path, place / "shuffled", options.workers, shuffle=True
            ),
        }
        corpora["one worker"] = corpora["shuffled"]
        for seed, case in itertools.product(range(options.seeds), cases(options)):
            order, step, trajectory, schedule = case
            entry = {
                "corpus": Path(name).name, "workers": options.workers, "topics": options.topics,
                "batch_size": options.batch_size, "updates": options.updates, "order": order,
                "step": step, "trajectory": trajectory, "schedule": schedule, "seed": seed,
            }  # fmt: skip
            if any(entry.items() <= known.items() for known in results):
                continue
            config = settings_of(options, step, trajectory, schedule, seed)
            if order == "one worker":
                config = TrainConfig(**{**config.as_dict(), "workers": 1})
            outcome = trained(config, corpora[order], place / "run")[1]
            found = {
                "perplexity": outcome.score,
                "perplexity_averaged": outcome.score_averaged,
                "load": os.getloadavg()[0],
            }
            results.append(entry | found)
            save()


def show(results: list[dict]) -> None:
    """A table for each corpus, as Markdown: excess over the median of one worker."""
    for name, workers in sorted({(r["corpus"], r["workers"]) for r in results}):
        mine = [r for r in results if r["corpus"] == name and r["workers"] == workers]
        print(f"\n{name}, {workers} workers: excess over one worker in %, median (range)\n")
        rows = [["order", "schedule", "h", "τ", "τ h", "seeds", "last state", "averaged"]]
        keys = ("order", "schedule", "step", "trajectory")
        for case in sorted({tuple(r[k] for k in keys) for r in mine}):
            order, schedule, step, trajectory = case
            of_case = [r for r in mine if tuple(r[k] for k in keys) == case]
            alone = [r for r in mine if r["order"] == "one worker" and r["step"] == step]
            figures = []
            for what in ("perplexity", "perplexity_averaged"):
                base = statistics.median(r[what] for r in alone)
                excess = [100 * (r[what] / base - 1) for r in of_case]
                middle = statistics.median(excess)
                figures.append(f"{middle:+.1f} ({min(excess):+.1f} … {max(excess):+.1f})")
            row = [order, schedule, f"{step:g}", f"{trajectory}", f"{step * trajectory:.2g}"]
            rows.append([*row, f"{len(of_case)}", *figures])
        print("\n".join(markdown(rows)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("corpora", nargs="*", default=[GENERATED], metavar="CORPUS")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--topics", type=int, default=20)
    parser.add_argument("--steps", type=float, nargs="+", default=[0.1])
    parser.add_argument("--trajectories", type=int, nargs="+", default=[1, 4, 16, 64])
    parser.add_argument("--schedules", nargs="+", default=["rotate", "permute"])
    parser.add_argument("--updates", type=int, default=1_000)
    parser.add_argument("--batch-size", type=int, default=50)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--show", action="store_true", help="Print the tables, and run nothing.")
    options = parser.parse_args()
    results = json.loads(options.results.read_text()) if options.results.exists() else []

    def save() -> None:
        lines = ",\n".join(json.dumps(entry) for entry in results)
        options.results.write_text(f"[\n{lines}\n]\n")

    if not options.show:
        for name in options.corpora:
            run(name, options, results, save)
    show(results)


if __name__ == "__main__":
    sys.exit(main())
