"""Sweeps of `--sampler adlda` by another version of the program and by this one, in one run.

    python bench/versions.py OLD_PYTHON CORPUS [--topics 100 1000] [--docs 30000] [--threads 2]

OLD_PYTHON is a Python that has the other version installed. Both begin with the same topics of the
tokens, trained by the other one, and take turns, a sweep each, so that a busy machine is equally
unkind to both. A sweep draws all blocks and brings the counts up to date after each, as a run does.

Printed are nanoseconds of a token, minima over turns, of wall time and of processor time of all
threads; and the ratio of each pair of turns: its quartiles.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import quiet

CHILD = """
import json, sys, time
import numpy as np
from topicmc.corpora import Corpus
from topicmc.kernels.random import stream_key
from topicmc.kernels.threads import Threads
from topicmc.models.lda.collapsed.worker import CollapsedWorker
from topicmc.models.lda.workers import expand
from topicmc.samplers.row_prior import RowPrior

path, n_topics, n_docs, n_blocks, n_threads, alpha, beta = json.loads(sys.argv[1])
corpus = Corpus.open(path)
offsets, tokens, _ = expand(corpus, [(0, 0, min(n_docs, corpus.shard_sizes[0]))])
n_docs = len(offsets) - 1
worker = CollapsedWorker(offsets, tokens, 0, corpus.n_words, n_topics, stream_key(0, "bench"))
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
    parser.add_argument("corpus")
    parser.add_argument("--topics", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--alpha", type=float, default=0.1)
    parser.add_argument("--beta", type=float, default=0.01)
    parser.add_argument("--docs", type=int, default=30_000, help="documents of the first shard")
    parser.add_argument("--block-docs", type=int, default=1_500, help="documents of a block")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--warm-up", type=int, default=25, help="sweeps before the clock starts")
    parser.add_argument("--repeats", type=int, default=9)
    quiet.add_option(parser)
    options = parser.parse_args()
    quiet.start(options)
    for n_topics in options.topics:
        n_blocks = max(1, round(options.docs / options.block_docs))
        arguments = (
            options.corpus, n_topics, options.docs, n_blocks, options.threads, options.alpha,
            options.beta,
        )  # fmt: skip
        versions = [Version(python, *arguments) for python in (options.old_python, sys.executable)]
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder, "z.npy"))
            versions[0].do("train", options.warm_up)
            versions[0].do("save", path)
            for version in versions:
                version.do("adopt", path)
                version.do("sweep", 1_000)  # compiles, and brings what is kept
        turns = np.array(
            [[v.do("sweep", 1_001 + i) for v in versions] for i in range(options.repeats)]
        )
        for version in versions:
            version.end()
        print(f"K = {n_topics}, {n_blocks} blocks, {int(turns[0, 0, 2]):,} tokens")
        for i, name in enumerate(("wall", "CPU")):
            least, ratios = turns[:, :, i].min(axis=0), turns[:, 0, i] / turns[:, 1, i]
            low, middle, high = np.quantile(ratios, (0.25, 0.5, 0.75))
            print(
                f"  {name:5} old {least[0]:7.1f}  new {least[1]:7.1f}  ratio {middle:.2f}"
                f" ({low:.2f} to {high:.2f})",
                flush=True,
            )


if __name__ == "__main__":
    main()
