"""How long a first run compiles, and how long later ones load what was compiled.

    python bench/start.py CORPUS [--samplers adlda scir sgrld] [--repeats 3]

Trains for one update in new processes, with an empty folder of compiled kernels and then again with
the full one. "kernels" is the time in which kernels are compiled or loaded, which training does
before its clock starts; "command" is that of the whole `topicmc train`.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import quiet

# Training says nothing of the time in which it warms up, so it is asked from within.
# -P: what is installed is measured, not what lies in the folder that this is started from.
CHILD = """
import sys, time
from topicmc.engine.loop import Training
warm_up = Training._warm_up
def timed(self):
    start = time.perf_counter()
    warm_up(self)
    print("kernels", time.perf_counter() - start, file=sys.stderr)
Training._warm_up = timed
from topicmc.cli import main
main()
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpus")
    parser.add_argument("--samplers", nargs="+", default=["adlda", "scir", "sgrld"])
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    quiet.add_option(parser)
    options = parser.parse_args()
    quiet.start(options)
    print("seconds, medians        kernels  command")
    for sampler in options.samplers:
        first, later = zip(
            *(measure(options, sampler) for _ in range(options.repeats)), strict=True
        )
        for name, runs in (("first run", first), ("later run", later)):
            kernels, command = (statistics.median(times) for times in zip(*runs, strict=True))
            print(f"{sampler:12}{name:12}{kernels:7.2f}{command:9.2f}")


def measure(options: argparse.Namespace, sampler: str) -> tuple[tuple[float, float], ...]:
    """(kernels, command) of a run with nothing compiled, and of the next."""
    with tempfile.TemporaryDirectory() as folder:
        return tuple(run(options, sampler, folder, name) for name in ("first", "later"))


def run(options: argparse.Namespace, sampler: str, folder: str, name: str) -> tuple[float, float]:
    arguments = ["train", options.corpus, "-o", f"{folder}/{name}", "--sampler", sampler]
    arguments += ["--updates", "1", "--topics", str(options.topics), "--json"]
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-P", "-c", CHILD, *arguments],
        env=os.environ | {"NUMBA_CACHE_DIR": f"{folder}/compiled"},
        capture_output=True,
        text=True,
    )
    seconds = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(done.stderr)
    json.loads(done.stdout)
    kernels = next(line for line in done.stderr.splitlines() if line.startswith("kernels "))
    return float(kernels.split()[1]), seconds


if __name__ == "__main__":
    main()
