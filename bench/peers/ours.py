"""topicmc, run as a reader would: `topicmc train` and `export`, one after another.

The clock is that of `topicmc train --json`: rounds of training, with neither loading, compilation,
evaluation nor the writing of samples. The figure of a budget is that of the exported topics, the
posterior mean of the kept samples, as one φ. Kept beside it are those that the run ends with: of
the newest sample alone, and averaged over samples; and, as ``trace``, what the longest run said
of itself on the way.
"""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from marks import Marks, Settings


def train(corpus, settings: Settings, marks: Marks, options: list[str]) -> None:
    """A run for each budget; one that is gone on with (`--resume`) while `--dry-run` says that the
    budget changes no other setting, which gives the same bits as a run of its own."""
    command = [
        *("train", str(corpus.path.resolve()), "--topics", str(settings.topics)),
        *("--alpha", str(settings.alpha), "--beta", str(settings.beta)),
        *("--threads", str(settings.threads), "--seed", str(settings.seed), *options),
    ]
    folder = marks.folder

    def resolved(budget: float) -> dict[str, Any]:
        answer = _json(folder, *command, *_budget(budget), "--dry-run")
        return {name: value for name, value in answer.items() if name != "time_budget"}

    for number, (config, budgets) in enumerate(groupby(marks.budgets, resolved)):
        run = f"run-{number}"
        start = [*command, "-o", run]
        for budget in budgets:
            outcome = _json(folder, *start, *_budget(budget))
            _topicmc(folder, "export", run, "--to", "npy", "-o", "topics", "--force")
            facts = {
                "perplexity_sample": outcome["perplexity"],
                "perplexity_averaged": outcome["perplexity_averaged"],
                "sampler": config["sampler"],
            }
            if budget == marks.budgets[-1]:
                facts["trace"] = _trace(folder / run)
            phi, alpha = (np.load(folder / "topics" / f"{name}.npy") for name in ("phi", "alpha"))
            learned = None if np.allclose(alpha, settings.alpha) else alpha
            marks.take_for(budget, outcome["seconds"], phi, learned, **facts)
            start = ["train", "-o", run, "--resume"]


def _budget(seconds: float) -> list[str]:
    return ["--time-budget", f"{seconds:.3f}s"]


def _json(folder: Path, *arguments: str) -> dict[str, Any]:
    return json.loads(_topicmc(folder, *arguments, "--json"))


def _topicmc(folder: Path, *arguments: str) -> str:
    """What a command printed. Its progress is kept in a file, as there is no terminal."""
    command = [sys.executable, "-m", "topicmc.cli", *arguments]
    with (folder / "stderr.txt").open("w+") as errors:
        done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=errors, text=True)
        if done.returncode:
            errors.seek(0)
            raise SystemExit(f"topicmc {' '.join(arguments)}: {errors.read().strip()[-500:]}")
    return done.stdout


def _trace(run: Path) -> list[list[float | None]]:
    """[seconds, perplexity of the newest state, averaged] of each evaluation during a run."""
    lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    names = ("seconds", "perplexity", "perplexity_averaged")
    return [[record[name] for name in names] for record in map(json.loads, lines)]
