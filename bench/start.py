"""How long a first run compiles, and how long later ones load what was compiled.

    python bench/start.py CORPUS [--samplers adlda scir "scir --no-remember"] [--repeats 3]

Trains for two epochs in new processes, with an empty folder of compiled kernels and then again with
the full one. "kernels" is the time in which kernels are compiled or loaded, which training does
before its clock starts; "command" is that of the whole `topicmc train`.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import quiet

from topicmc.storage.files import write_json

sys.path.append(str(Path(__file__).parent / "peers"))
from tables import markdown, spread

SAMPLERS = ["adlda", "scir", "scir --no-remember", "sgrld"]  # and their options
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
    parser.add_argument("--samplers", nargs="+", default=SAMPLERS)
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--results", type=Path, help="a file to keep what was measured in")
    quiet.add_option(parser)
    options = parser.parse_args()
    found = quiet.record(quiet.at_start(options))
    found |= {"corpus": Path(options.corpus).name, "topics": options.topics, "seconds": {}}
    for _ in range(options.repeats):
        for sampler in options.samplers:
            runs = found["seconds"].setdefault(sampler, {"first run": [], "later run": []})
            for kept, seconds in zip(runs.values(), measure(options, sampler), strict=True):
                kept.append(seconds)
    if options.results:
        write_json(options.results, found)
    print("\n".join(markdown(table(found))))


def table(found: dict[str, Any]) -> list[list[str]]:
    """Medians over repeats, with the least and the most, of a file of results."""
    rows = [["seconds", "first run, kernels", "command", "later run, kernels", "command"]]
    for sampler, runs in found["seconds"].items():
        columns = [column for times in runs.values() for column in zip(*times, strict=True)]
        rows.append([sampler, *map(spread, columns)])
    return rows


def measure(options: argparse.Namespace, sampler: str) -> tuple[tuple[float, float], ...]:
    """(kernels, command) of a run with nothing compiled, and of the next."""
    with tempfile.TemporaryDirectory() as folder:
        return tuple(run(options, sampler, folder, name) for name in ("first", "later"))


def run(options: argparse.Namespace, sampler: str, folder: str, name: str) -> tuple[float, float]:
    arguments = ["train", options.corpus, "-o", f"{folder}/{name}", "--sampler", *sampler.split()]
    arguments += ["--epochs", "2", "--topics", str(options.topics), "--json"]
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
