"""Perplexity of samplers that keep every assignment, at rest: which of them gain by being inexact.

    python bench/exactness.py CORPUS [--topics 100] [--sweeps 150] [--seeds 3] [--blocks 4 16 64]
                              [--output FILE.json]

Each trains for so many sweeps on one thread, under the same fixed priors; scored is the mean of φ
over the kept samples, as exported. Plain collapsed sampling and SCIR are exact; AD-LDA draws blocks
under counts that stand still, and SGRLD is reflected at zero. --blocks asks instead what AD-LDA has
with a sweep in so many blocks. Nothing is timed.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from topicmc.corpora import Corpus
from topicmc.storage.files import write_json
from topicmc.storage.runs import made_by

PRIORS = ("--alpha", "0.1", "--beta", "0.01")
SAMPLERS = {
    "collapsed": ("--sampler", "adlda", "--batch-size", "1"),
    "adlda": ("--sampler", "adlda"),
    "scir": ("--sampler", "scir", "--remember"),
    "sgrld": ("--sampler", "sgrld", "--remember"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpus")
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--sweeps", type=float, default=150)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--blocks", type=int, nargs="+", default=[], help="of a sweep of AD-LDA")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    n_docs = Corpus.open(options.corpus).n_docs
    in_blocks = {
        f"adlda, {n} blocks": (*SAMPLERS["adlda"], "--batch-size", f"{-(-n_docs // n)}")
        for n in options.blocks
    }
    found: dict[str, list[float]] = {}
    for name, sampler in (in_blocks or SAMPLERS).items():
        found[name] = [perplexity(options, sampler, seed) for seed in range(options.seeds)]
        each = " ".join(f"{value:8.1f}" for value in found[name])
        print(f"{name:16}{each}   median {statistics.median(found[name]):.1f}", flush=True)
    if options.output:
        settings = {"topics": options.topics, "sweeps": options.sweeps, "seeds": options.seeds}
        told = {
            **made_by(),
            "corpus": Path(options.corpus).name,
            **settings,
            "perplexity": found,
        }
        write_json(options.output, told)


def perplexity(options: argparse.Namespace, sampler: tuple[str, ...], seed: int) -> float:
    """Of the topics of one run."""
    with tempfile.TemporaryDirectory() as folder:
        run, topics = f"{folder}/run", f"{folder}/topics"
        size = ("--topics", options.topics, "--epochs", options.sweeps, "--threads", 1)
        quiet = ("--seed", seed, "--progress", "none", "--json")
        topicmc("train", options.corpus, "-o", run, *sampler, *PRIORS, *size, *quiet)
        topicmc("export", run, "--to", "npy", "-o", topics)
        scored = ("--topics-file", f"{topics}/phi.npy", "--alpha", "0.1", "--json")
        return json.loads(topicmc("evaluate", "--corpus", options.corpus, *scored))["perplexity"]


def topicmc(*arguments: object) -> str:
    command = [sys.executable, "-P", "-m", "topicmc.cli", *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    main()
