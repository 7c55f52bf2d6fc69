"""Makes a corpus and small runs in the formats of the installed topicmc.

    python tests/formats/make.py FOLDER

Run once for each new format of runs, before the next one comes, and keep what it writes beside this
file, under the number of the format: `tests/cli/test_old_files.py` reads it for ever.
"""

import json
import os
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np

from topicmc.models.lda.run import TopicRun

TOPICMC = Path(sysconfig.get_path("scripts")) / "topicmc"
WORDS = (
    *("star", "planet", "orbit", "moon", "comet", "telescope", "sky"),
    *("bread", "butter", "flour", "oven", "salt", "sugar", "cake"),
    *("river", "boat", "sail", "harbour", "wind", "anchor", "wave"),
)
ALL = ("--topics", 3, "--samples", 4, "--threads", 1, "--seed", 5, "--batch-size", 4)
START = ("--anneal-updates", 8)
LOCAL = ("--workers", 2, "--transport", "local")
RANKS = ("--workers", 2, "--transport", "mpi")
RUNS = {
    "adlda": ("--sampler", "adlda", *START, "--updates", 32),
    "adlda-two-chains": ("--sampler", "adlda", "--chains", 2, *START, "--updates", 32),
    "adlda-two-workers": ("--sampler", "adlda", *LOCAL, *START, "--updates", 32),
    "adlda-two-ranks": ("--sampler", "adlda", *RANKS, *START, "--updates", 32),
    "asynclda": ("--sampler", "asynclda", *LOCAL, *START, "--updates", 32),
    "scir": ("--sampler", "scir", *START, "--updates", 24, "--batch-size", 1),
    "scir-two-chains": (
        *("--sampler", "scir", *LOCAL, "--average-until", 10, "--trajectory", 2, *START),
        *("--updates", 24, "--batch-size", 1),
    ),
    "scir-two-ranks": (
        *("--sampler", "scir", *RANKS, "--no-balance", "--trajectory", 2, *START),
        *("--updates", 24, "--batch-size", 1),
    ),
    "sgrld": ("--sampler", "sgrld", "--start", "anneal", *START, "--updates", 24),
    "scir-remembered": ("--sampler", "scir", "--remember", *START, "--updates", 32),
    "sgrld-remembered": ("--sampler", "sgrld", "--remember", *START, "--updates", 32),
}
# Stopped before they were told to end: the first two inside their start, with a state that stands
# in for samples.
INTERRUPTED = {
    "adlda-interrupted-in-start": ("--sampler", "adlda", "--anneal-updates", 300),
    "scir-interrupted-in-start": ("--sampler", "scir", "--anneal-updates", 300),
    "sgrld-interrupted": ("--sampler", "sgrld", "--start", "plain"),
}


def write_source(path: Path) -> None:
    """36 documents of 6 to 14 words, each mostly of one of three subjects, with title and date."""
    generator = np.random.default_rng(3)
    lines = []
    for number in range(36):
        weights = np.full(21, 0.2)
        weights[7 * (number % 3) : 7 * (number % 3) + 7] += 5
        words = generator.choice(WORDS, generator.integers(6, 15), p=weights / weights.sum())
        day = f"20{10 + number // 4:02d}-0{1 + number % 9}-15"
        lines.append({"title": f"Note {number} – ½", "date": day, "text": " ".join(words)})
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    path.write_text(text, encoding="utf-8")


def topicmc(*arguments: object, cwd: Path) -> None:
    subprocess.run([TOPICMC, *map(str, arguments)], cwd=cwd, check=True, timeout=300)


def interrupt(*arguments: object, cwd: Path) -> None:
    """Trains until some updates are made, then Ctrl-C."""
    command = [TOPICMC, *map(str, arguments), "--slow", "0=30", "--progress", "json"]
    process = subprocess.Popen(command, cwd=cwd, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        if json.loads(line).get("update", 0) >= 12:
            process.send_signal(signal.SIGINT)
            break
    process.communicate(timeout=60)
    assert process.returncode == 130


def main() -> None:
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True)
    write_source(folder / "documents.jsonl")
    topicmc(
        *("prepare", "documents.jsonl", "--time", "date", "--shards", 2, "--heldout", 6),
        *("--min-df", 1, "--max-df", 1, "-o", "corpus"),
        cwd=folder,
    )
    for name, settings in RUNS.items():
        every = ("--evaluate-every", 8, "--progress", "none")
        topicmc("train", "corpus", "-o", name, *ALL, *settings, *every, cwd=folder)
    for name, settings in INTERRUPTED.items():
        every = ("--evaluate-every", 6, "--updates", 400)
        interrupt("train", "corpus", "-o", name, *ALL, *settings, *every, cwd=folder)
    topicmc(
        *("choose", "corpus", "-o", "chosen", "--topics", "2,3", "--sampler", "adlda"),
        *("--updates", 16, "--threads", 1, "--progress", "none"),
        cwd=folder,
    )
    for facts in folder.rglob("run.json"):
        run = TopicRun.open(facts.parent)
        place = Path(run.facts()["corpus"]["path"])
        run.update_facts(corpus={**run.facts()["corpus"], "path": os.path.relpath(place, run.path)})
    (folder / "corpus" / ".checked.json").unlink(missing_ok=True)  # of files of this machine


if __name__ == "__main__":
    main()
