"""Do several workers learn as much from as many documents as one?

    python bench/workers.py CORPUS --topics 50 --epochs 60 [--workers 2 4] [--samplers scir sgrld]

CORPUS is a prepared corpus. For each sampler a run with one worker, then runs over MPI with
several, by both schedules, balanced and not; all visit the same number of documents up to a round.
Printed: held-out perplexity of the last state and averaged over samples, and by how much either
exceeds that of one worker.
"""

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import quiet

from topicmc.engine.transport.launch import find_mpiexec


def train(options, n_workers: int, *more: str) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        command = [
            find_mpiexec(),
            "-n",
            n_workers,
            sys.executable,
            "-P",
            "-m",
            "topicmc.cli",
            "train",
        ]
        command += [options.corpus, "-o", Path(folder) / "run", "--threads", 1, "--json"]
        command += ["--topics", options.topics, "--epochs", options.epochs, "--progress", "none"]
        command += ["--no-remember"]  # by itself one worker would
        command += ["--alpha", options.alpha, "--beta", options.beta, "--seed", options.seed]
        command += ["--evaluate-every", "10h", *more]
        done = subprocess.run([*map(str, command)], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stderr)
        return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpus")
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--epochs", type=float, default=60)
    parser.add_argument("--alpha", type=float, default=0.1)
    parser.add_argument("--beta", type=float, default=0.01)
    parser.add_argument("--workers", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--samplers", nargs="+", default=["scir", "sgrld"])
    parser.add_argument("--schedules", nargs="+", default=["rotate", "permute"])
    parser.add_argument("--plans", nargs="+", default=["balance", "no-balance"])
    parser.add_argument("--seed", type=int, default=0)
    quiet.add_option(parser)
    options = parser.parse_args()
    quiet.start(options)

    print("sampler S schedule plan       updates documents seconds  perplexity        averaged")
    for sampler in options.samplers:
        one = None
        several = itertools.product(options.workers, options.schedules, options.plans)
        for n, schedule, plan in [(1, "rotate", "no-balance"), *several]:
            got = train(options, n, "--sampler", sampler, "--schedule", schedule, f"--{plan}")
            one = one or got
            figures = [
                f"{got[name]:9.1f} {got[name] / one[name] - 1:+6.1%}"
                for name in ("perplexity", "perplexity_averaged")
            ]
            print(
                f"{sampler:7} {n} {schedule:8} {plan:10} {got['updates']:7} {got['documents']:9}"
                f" {got['seconds']:7.1f} {figures[0]} {figures[1]}",
                flush=True,
            )


if __name__ == "__main__":
    main()
