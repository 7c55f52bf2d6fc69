"""Whether another version of topicmc draws the same bits: every sampler, on 1 to 3 workers, in one
process and over MPI, interrupted and not.

    python bench/golden.py OLD_PYTHON CORPUS [--python NEW_PYTHON]

OLD_PYTHON is the interpreter of an environment in which the other version is installed. Each run is
made by both versions; the arrays of all samples, and the figures of the last evaluation but times,
must agree bit for bit. Ends with status 1 when any does not.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

COMMON = ["--topics", "12", "--threads", "1", "--seed", "5", "--samples", "6",
          "--evaluate-every", "8", "--checkpoint-every", "10m", "--batch-size", "40"]  # fmt: skip
SWEEPS = ["--start-sweeps", "6", "--epochs", "14"]
UPDATES = ["--anneal-updates", "10", "--updates", "40", "--trajectory", "4"]
SAMPLERS = {
    "adlda": ["--sampler", "adlda", *SWEEPS],
    "adlda, two chains": ["--sampler", "adlda", "--chains", "2", *SWEEPS],
    "asynclda": ["--sampler", "asynclda", *SWEEPS],
    "scir kept": ["--sampler", "scir", "--remember", *SWEEPS],
    "sgrld kept": ["--sampler", "sgrld", "--remember", *SWEEPS],
    "scir": ["--sampler", "scir", *UPDATES],
    "sgrld": ["--sampler", "sgrld", *UPDATES],
}
TIMES = {"seconds", "tokens_per_second", "waited", "delays", "trajectory"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("old", help="interpreter of the other version")
    parser.add_argument("corpus", type=lambda path: Path(path).resolve())
    parser.add_argument("--python", default=sys.executable, help="of this version")
    options = parser.parse_args()
    differing = 0
    for name, sampler in SAMPLERS.items():
        for n_workers in (1, 2, 3):
            for over in ("local", "mpi") if n_workers > 1 else ("local",):
                if over == "mpi" and name == "asynclda":
                    continue  # depends on timing
                with TemporaryDirectory() as folder:
                    arguments = [*COMMON, *sampler, "--no-balance"]
                    job = (options.corpus, arguments, n_workers, over, Path(folder))
                    old, new = (bits(python, *job) for python in (options.old, options.python))
                same = old == new and len(set(new.values())) == 1
                differing += not same
                print(f"{name:18} {n_workers} {over:5} {'same' if same else 'DIFFERENT'}")
    sys.exit(differing > 0)


def bits(
    python: str, corpus: Path, arguments: list[str], n_workers: int, over: str, folder: Path
) -> dict[str, str]:
    """A digest of an uninterrupted run, and of one that was stopped and resumed."""
    launch = [python, "-m", "topicmc.cli"]
    if over == "mpi":
        mpiexec = shutil.which("mpiexec", path=str(Path(python).parent)) or "mpiexec"
        launch = [mpiexec, "-n", str(n_workers), *launch]
        places = ["--transport", "mpi"]
    else:
        places = ["--workers", str(n_workers), "--transport", "local"]
    whole, parted = folder / "whole", folder / "parted"
    command = [*launch, "train"]
    run([*command, str(corpus), "-o", str(whole), *arguments, *places])
    short = [*arguments]
    for option, part in {"--updates": "20", "--epochs": "9"}.items():
        if option in short:
            short[short.index(option) + 1] = part
    run([*command, str(corpus), "-o", str(parted), *short, *places])
    target = [option for option in ("--updates", "--epochs") if option in arguments]
    more = [target[0], arguments[arguments.index(target[0]) + 1]]
    run([*command, "-o", str(parted), "--resume", *more, *places])
    found = {"whole": digest(whole), "parted": digest(parted)}
    shutil.rmtree(folder)
    folder.mkdir()
    return found


def run(command: list[str]) -> None:
    # Elsewhere than in a checkout, whose folders would come before what is installed.
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


def digest(run: Path) -> str:
    """Of the states that are kept, and of the figures of the last evaluation."""
    digested = hashlib.sha256()
    index = json.loads((run / "samples" / "index.json").read_text())["samples"]
    named = {part["file"] for entry in index for part in (entry, entry.get("mean")) if part}
    for name in sorted(named):  # a checkpoint may name others
        digested.update(name.encode())
        arrays = np.load(run / "samples" / name)
        for key in sorted(arrays.files):
            digested.update(np.ascontiguousarray(arrays[key]).tobytes())
    last = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])
    figures = {key: value for key, value in last.items() if key not in TIMES}
    digested.update(json.dumps(figures, sort_keys=True).encode())
    return digested.hexdigest()


if __name__ == "__main__":
    main()
