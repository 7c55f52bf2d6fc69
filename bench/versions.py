"""Sweeps of `--sampler adlda` by another version of the program and by this one, in one run.

    python bench/versions.py OLD_PYTHON CORPUS… [--topics 100 1000 10000] [--results FILE]

OLD_PYTHON is a Python that has the other version installed. Both begin with the same topics of the
tokens, trained by the other one, and take turns, a sweep each, so that a busy machine is equally
unkind to both. A sweep draws all blocks and brings the counts up to date after each, as a run does.
It has the blocks of a run over the whole corpus by default, of either version.

Printed are nanoseconds of a token, medians over the turns of all seeds, of wall time and of
processor time of all threads; and the ratio of each pair of turns: its quartiles. The file of
--results keeps every turn as JSON.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import quiet

from topicmc.corpora import Corpus
from topicmc.models.lda.collapsed.defaults import blocks_of_sweep
from topicmc.models.lda.workers import expand
from topicmc.storage.files import write_json

sys.path.append(str(Path(__file__).parent / "peers"))
from tables import markdown

CHILD = """
import json, sys, time
import numpy as np
from topicmc.kernels.random import stream_key
from topicmc.kernels.threads import Threads
try:
    from topicmc.models.lda.collapsed.worker import CollapsedWorker
    from topicmc.samplers.row_prior import RowPrior
except ImportError:  # before the engine knew other models
    from topicmc.samplers.collapsed import CollapsedWorker
    RowPrior = float

path, n_words, n_topics, n_threads, alpha, beta, seed, n_blocks = json.loads(sys.argv[1])
offsets, tokens = (np.load(f"{path}/{name}.npy") for name in ("offsets", "tokens"))
n_docs = len(offsets) - 1
worker = CollapsedWorker(offsets, tokens, 0, n_words, n_topics, stream_key(seed, "bench"))
edges = [n_docs * i // n_blocks for i in range(n_blocks + 1)]
threads, number = Threads(n_threads), 0

def sweep(beta):
    global number
    for first, last in zip(edges[:-1], edges[1:]):
        worker.draw(
            np.arange(first, last), np.full(n_topics, alpha), RowPrior(beta), sweep=number,
            one_by_one=False, threads=threads,
        )
    number += 1

for line in sys.stdin:
    command, value = json.loads(line)
    start = time.perf_counter(), time.process_time()
    if command == "train":
        for i in range(value):
            sweep(beta * max(1, 100 ** (1 - 1.5 * i / value)))
    elif command == "save":
        np.save(value, worker.z)
    elif command == "adopt":
        worker.adopt(np.load(value))
    else:
        number = value
        sweep(beta)
    spent = time.perf_counter() - start[0], time.process_time() - start[1]
    print(json.dumps([*(1e9 * s / len(tokens) for s in spent), len(tokens)]), flush=True)
"""


class Version:
    """A process that makes sweeps when it is told to."""

    def __init__(self, python: str, *arguments: object) -> None:
        self._process = subprocess.Popen(
            [python, "-P", "-c", CHILD, json.dumps(arguments)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def do(self, command: str, value: object) -> list[float]:
        """Wall and processor nanoseconds a token of that, and the number of tokens."""
        assert self._process.stdin is not None and self._process.stdout is not None
        print(json.dumps([command, value]), file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())

    def end(self) -> None:
        self._process.communicate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("old_python")
    parser.add_argument("corpora", nargs="+")
    parser.add_argument("--topics", type=int, nargs="+", default=[100, 1000, 10_000])
    parser.add_argument("--alpha", type=float, help="0.1 by default, or 100 / K if that is less")
    parser.add_argument("--beta", type=float, default=0.01)
    parser.add_argument("--docs", type=int, default=20_000, help="documents of the first shard")
    parser.add_argument(
        "--old-blocks", type=int, default=64, help="of a sweep over the whole corpus, in the other"
    )
    parser.add_argument("--same-blocks", action="store_true", help="this one has them too")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--warm-up", type=int, default=25, help="sweeps before the clock starts")
    parser.add_argument("--repeats", type=int, default=5, help="pairs of turns of a seed")
    parser.add_argument("--old-name", default="", help="what the other version is called")
    parser.add_argument("--results", type=Path, help="a file to keep the turns in")
    quiet.add_option(parser)
    options = parser.parse_args()
    left_out = ("old_python", "results")
    settings = {name: value for name, value in vars(options).items() if name not in left_out}
    settings["corpora"] = [Path(corpus).name for corpus in options.corpora]
    found = quiet.record(quiet.at_start(options)) | {"settings": settings, "runs": []}
    found["old"] = options.old_name
    for corpus in options.corpora:
        for n_topics in options.topics:
            load = quiet.again(options.anyway)
            turns = np.concatenate([compare(options, corpus, n_topics, s) for s in options.seeds])
            name = Path(corpus).name
            run = {"corpus": name, "topics": n_topics, **load, "turns": turns.tolist()}
            found["runs"].append(run)
            if options.results:
                write_json(options.results, found)
    print("\n".join(markdown(table(found))))


def table(found: dict[str, Any]) -> list[list[str]]:
    """Medians over the turns of all seeds, of a file of results."""
    head = ["", "wall, old", "wall, new", "ratio", "processor, old", "processor, new", "ratio"]
    rows = [head]
    for run in found["runs"]:
        row = [f"{run['corpus']}, K = {run['topics']:,}"]
        for clock in (0, 1):
            turns = np.array(run["turns"])[:, :, clock]
            old, new = np.median(turns, axis=0)
            low, middle, high = np.quantile(turns[:, 0] / turns[:, 1], (0.25, 0.5, 0.75))
            row += [f"{old:.1f}", f"{new:.1f}", f"{middle:.2f} ({low:.2f}–{high:.2f})"]
        rows.append(row)
    return rows


def compare(options: argparse.Namespace, corpus: str, n_topics: int, seed: int) -> np.ndarray:
    """Turns of both versions, float64 (repeats, 2, 3): wall and processor nanoseconds of a token,
    and the number of tokens."""
    opened = Corpus.open(corpus)
    offsets, tokens, _ = expand(opened, [(0, 0, min(options.docs, opened.shard_sizes[0]))])
    n_blocks = [options.old_blocks, blocks_of_sweep(opened.n_tokens)]
    if options.same_blocks:
        n_blocks[1] = n_blocks[0]
    n_blocks = [max(1, round(n * len(tokens) / opened.n_tokens)) for n in n_blocks]
    with tempfile.TemporaryDirectory() as folder:
        # As arrays, because versions differ in what corpora they read.
        np.save(Path(folder, "offsets.npy"), offsets)
        np.save(Path(folder, "tokens.npy"), tokens)
        alpha = options.alpha or min(0.1, 100 / n_topics)
        arguments = (
            folder, opened.n_words, n_topics, options.threads, alpha, options.beta, seed,
        )  # fmt: skip
        pythons = (options.old_python, sys.executable)
        versions = [Version(p, *arguments, n) for p, n in zip(pythons, n_blocks, strict=True)]
        path = str(Path(folder, "z.npy"))
        versions[0].do("train", options.warm_up)
        versions[0].do("save", path)
        for version in versions:
            version.do("adopt", path)
            version.do("sweep", 1_000)  # compiles, and brings what is kept
    turns = []
    for i in range(options.repeats):
        pair = [(j, versions[j].do("sweep", 1_001 + i)) for j in ((0, 1) if i % 2 else (1, 0))]
        turns.append([spent for _, spent in sorted(pair)])
    for version in versions:
        version.end()
    return np.array(turns)


if __name__ == "__main__":
    main()
