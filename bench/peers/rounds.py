"""Contenders in turn, each in a process of its own, and their points in the results."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from contenders import CONTENDERS, Contender
from results import Results
from tables import REFERENCE

from topicmc.corpora import Corpus

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent))
import quiet  # noqa: E402


def run(options, results: Results, contenders: list[Contender], seed: int) -> list[str]:
    """Contenders in turn on each corpus, another one first for each seed; returns who failed."""
    budgets = sorted(float(text) for text in options.seconds.split(","))
    first = seed % len(contenders)
    failed = []
    for path in options.corpora:
        for contender in contenders[first:] + contenders[:first]:
            if not measure(results, path, contender, seed, budgets, anyway=options.anyway):
                failed.append(contender.name)
    return failed


def chase(options, results: Results, contenders: list[Contender], seed: int) -> list[str]:
    """The reference for so many sweeps, and the others for shares of the time that it took."""
    path = options.corpora[0]
    reference = CONTENDERS[REFERENCE]
    sweeps = [float(options.sweeps)]
    if not measure(results, path, reference, seed, sweeps, "sweeps", anyway=options.anyway):
        return [REFERENCE]
    where = {"corpus": name_of(path), "contender": REFERENCE, "seed": seed, "unit": "sweeps"}
    seconds = results.points(**where, budget=float(options.sweeps))[0]["seconds"]
    shares = [float(text) for text in options.shares.split(",")]
    budgets = sorted(round(share * seconds, 1) for share in shares)
    return [
        contender.name
        for contender in contenders
        if not measure(results, path, contender, seed, budgets, anyway=options.anyway)
    ]


def measure(
    results: Results,
    path: Path,
    contender: Contender,
    seed: int,
    budgets: list[float],
    unit: str = "s",
    *,
    anyway: bool,
    facts: dict[str, Any] | None = None,
) -> bool:
    """Trains a contender for the budgets that are not known yet; whether it all went well.

    ``facts`` are kept with its points; ``corpus``, a name, and ``topics`` among them take the place
    of the folder's name and of the settings.
    """
    facts = {"corpus": name_of(path), **(facts or {})}
    named = {name: facts[name] for name in ("corpus", "topics") if name in facts}
    where = {**named, "contender": contender.name, "seed": seed, "unit": unit}
    results.note_corpus(where["corpus"], Corpus.open(path))
    missing = results.missing(budgets, **where)
    if not missing:
        return True
    facts |= {"version": quiet.version_of(contender.package), **quiet.again(anyway)}
    settings = {**results.settings, "seed": seed, "unit": unit}
    task = {
        "corpus": str(path.resolve()),
        "settings": {**settings, "topics": facts.get("topics", settings.get("topics"))},
        "budgets": missing,
        **{name: getattr(contender, name) for name in ("trainer", "options", "by_budget")},
    }
    command = [sys.executable, str(HERE / "measure.py"), json.dumps(task)]
    environment = os.environ | threads_of(contender, results.settings["threads"])
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if not line.startswith("{"):  # a library speaks
                say(line.rstrip())
                continue
            point = {**where, **json.loads(line), **facts, "options": contender.options}
            results.add(point)
            text = "{corpus} {contender} seed {seed}: {perplexity:,.1f} at {seconds:.1f} s"
            say(text.format(**point))
    return process.returncode == 0


def threads_of(contender: Contender, threads: int) -> dict[str, str]:
    """The environment that keeps numerical libraries to their share of the cores."""
    blas = str(contender.blas or threads)
    names = ("OMP", "OPENBLAS", "MKL", "BLIS")
    pinned = {f"{name}_NUM_THREADS": blas for name in names}
    return {**pinned, "NUMBA_NUM_THREADS": str(threads), "RAYON_NUM_THREADS": str(threads)}


def name_of(path: Path) -> str:
    """The name of the folder, or of the link to it."""
    return path.absolute().name


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
