"""The runs of a report: settings, traces of training, and the name of their corpus."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from topicmc.models.lda.jobs import EMBEDDED
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.samples import alpha_of, beta_of, samples_of
from topicmc.report.numbers import digits

MOST_EVALUATIONS = 300
"""Points of a trace; longer ones are thinned out evenly."""


def corpus_name(run: TopicRun) -> str:
    """The corpus by its folder, or by that of the run when it lies inside; not by the whole path,
    which readers of a report need not know."""
    path = run.facts()["corpus"]["path"]
    return run.path.resolve().name if path == EMBEDDED else Path(path).name


def names_of(runs: Sequence[TopicRun]) -> list[str]:
    """Runs by their folders; those of one name are told apart by numbers."""
    names = [run.place.resolve().name for run in runs]
    return [f"{n} ({i})" if names.count(n) > 1 else n for i, n in enumerate(names, start=1)]


def run_of(run: TopicRun, name: str) -> dict[str, Any]:
    """Settings and traces of one run."""
    facts = run.facts()
    settings = {name.replace("_", " "): value for name, value in facts["config"].items()}
    settings |= _learned(run)
    return {
        "name": name,
        "settings": {
            **settings,
            "begun": facts["created"],
            "topicmc": facts["topicmc"],
            **facts["versions"],
        },
        "metrics": _traces(run.metrics(), min(entry["round"] for entry in samples_of(run))),
    }


def _learned(run: TopicRun) -> dict[str, str]:
    """Of the priors that were learned what the kept samples hold, in place of what the run began
    with."""
    learn, samples = run.facts()["config"].get("learn", "none"), samples_of(run)
    found = {}
    if learn in ("alpha", "both"):
        found["alpha"] = np.array([alpha_of(run, entry) for entry in samples])
    if learn in ("beta", "both"):
        found["beta"] = np.array([beta_of(run, entry) for entry in samples])
    return {name: f"learned: {_range(values)}" for name, values in found.items()}


def _range(values: np.ndarray) -> str:
    low, high = f"{values.min():.3g}", f"{values.max():.3g}"
    return low if low == high else f"{low}–{high}"


def _traces(metrics: Sequence[dict[str, Any]], first_sample: int) -> dict[str, Any]:
    """Columns of the evaluations, and the training seconds until the first kept sample."""
    seconds = [record["seconds"] for record in metrics]
    until = np.interp(first_sample, [r["round"] for r in metrics], seconds) if metrics else None
    kept = np.linspace(0, len(metrics) - 1, min(len(metrics), MOST_EVALUATIONS)).astype(int)
    few = [metrics[i] for i in kept]
    chains = max((len(record.get("log_likelihood") or ()) for record in few), default=0)
    return {
        "burn_in_until": None if until is None else float(until),
        "seconds": [record["seconds"] for record in few],
        **{
            name: digits((record.get(name) for record in few), 6)
            for name in ("perplexity", "perplexity_averaged", "step_size")
        },
        "log_likelihood": [
            digits((_at(record.get("log_likelihood"), chain) for record in few), 6)
            for chain in range(chains)
        ],
    }


def _at(values: Sequence[float] | None, i: int) -> float | None:
    return values[i] if values is not None and i < len(values) else None
