"""The runs of a report: settings, traces of training, and the name of their corpus."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from topicmc.corpora.of_runs import EMBEDDED
from topicmc.models.corpus_run import CorpusRun
from topicmc.models.lda.priors.seed_settings import checked_seeds
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.samples import alpha_of, beta_of, samples_of
from topicmc.models.mixture.run import MixtureRun
from topicmc.posterior.traces import trace_errors
from topicmc.report.numbers import digits
from topicmc.settings.values import AUTO, learns
from topicmc.storage.run_fields import scored
from topicmc.storage.runs import RunDirectory

MOST_EVALUATIONS = 300
"""Points of a trace; longer ones are thinned out evenly."""
_PATHS = ("from_run", "topic_prior")


def corpus_name(run: RunDirectory) -> str:
    """The corpus by its folder, or by that of the run when it lies inside; not by the whole path,
    which readers of a report need not know."""
    path = run.facts()["corpus"]["path"]
    return run.path.resolve().name if path == EMBEDDED else Path(path).name


def names_of(places: Sequence[Path]) -> list[str]:
    """Runs by their folders; those of one name are told apart by numbers."""
    names = [place.resolve().name for place in places]
    return [f"{n} ({i})" if names.count(n) > 1 else n for i, n in enumerate(names, start=1)]


def by_folders(text: str, runs: Sequence[CorpusRun]) -> str:
    """A text in which runs are called as `names_of` has them, not by whole paths, which readers of
    a report need not know."""
    names: dict[str, str] = {}
    for places in ([run.place for run in runs], [run.path for run in runs]):
        for place, name in zip(places, names_of(places), strict=True):
            if len(place.parts) > 1:
                names |= {quote(str(place)): quote(name), str(place): name}
    longest = sorted(names, key=len, reverse=True)  # first, for one may be part of another
    paths = "|".join(map(re.escape, longest))
    return re.sub(paths, lambda found: names[found[0]], text) if paths else text


def run_of(run: TopicRun, name: str) -> dict[str, Any]:
    """Settings and traces of one run."""
    metrics = run.metrics()
    columns = _columns(
        metrics,
        min(entry["round"] for entry in samples_of(run)),
        ("perplexity", "perplexity_averaged", "step_size"),
    )
    return {
        "name": name,
        "settings": _settings(run, _learned(run)),
        "metrics": {**columns, "log_likelihood": _log_likelihoods(_few(metrics))},
        "traces": [],
    }


def mixture_run_of(run: MixtureRun, name: str) -> dict[str, Any]:
    """The same of a mixture, and what was traced of its chains."""
    entries, config = run.states_to_read(), run.facts()["config"]
    learn = config.get("learn", "none")
    learned = {
        name: f"learned: {_range(np.array([entry[name] for entry in entries]))}"
        for name, how in (("alpha", config["alpha"] == AUTO), ("beta", learns("beta", learn)))
        if how
    }
    first = min(entry["round"] for entry in entries)
    columns = _columns(run.metrics(), first, ("nats_per_document", "nats_per_document_averaged"))
    return {
        "name": name,
        "settings": _settings(run, learned),
        "metrics": {**columns, "step_size": [], "log_likelihood": []},
        "traces": _traces(run),
    }


_TRACED = {
    "groups": ("Number of groups", "Groups that have a document"),
    "log joint": ("Log joint", "log p(words, groups), weights and words integrated out"),
    "concentration": ("Concentration", "α of the Dirichlet process"),
    "beta": ("Prior of words", "β of the Dirichlet law of the words of groups"),
}


def _traces(run: MixtureRun) -> list[dict[str, Any]]:
    """DataError when the trace is none."""
    with trace_errors(run):
        return _of_chains(_few(run.trace()))


def _of_chains(records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was traced of chains: a title and a note, seconds, and for each chain its values."""
    chains = sorted({int(chain) for record in records for chain in record["chains"]})
    return [
        {
            "title": title,
            "note": note,
            "seconds": [record["seconds"] for record in records],
            "chains": [
                digits((r["chains"].get(str(chain), {}).get(name) for r in records), 6)
                for chain in chains
            ],
        }
        for name, (title, note) in _TRACED.items()
        if any(name in scalars for record in records for scalars in record["chains"].values())
    ]


def _settings(run: RunDirectory, learned: dict[str, str]) -> dict[str, Any]:
    facts = run.facts()
    config = facts["config"].items()
    settings = {name.replace("_", " "): _plain(name, value) for name, value in config}
    about = {"begun": facts["created"], "topicmc": facts["topicmc"], **facts["versions"]}
    return {**settings, **learned, **about}


def _plain(name: str, value: Any) -> Any:
    """A setting as readers are told it: seeds as text, and of a path its last name."""
    if name == "seeds" and value is not None:
        seeds = checked_seeds(value)
        return "; ".join(f"{topic}: {_weighted(words)}" for topic, words in seeds.items())
    return Path(value).name if name in _PATHS and isinstance(value, str) else value


def _weighted(words: Mapping[str, float | None]) -> str:
    """Seed words with commas between them, and their weights where these are not one."""
    return ", ".join(w if n in (None, 1) else f"{w} (× {n:g})" for w, n in words.items())


def _learned(run: TopicRun) -> dict[str, str]:
    """Of the priors that were learned what the kept samples hold, in place of what the run began
    with."""
    learn, samples = run.facts()["config"].get("learn", "none"), samples_of(run)
    found = {}
    if learns("alpha", learn):
        found["alpha"] = np.array([alpha_of(run, entry) for entry in samples])
    if learns("beta", learn):
        found["beta"] = np.array([beta_of(run, entry) for entry in samples])
    return {name: f"learned: {_range(values)}" for name, values in found.items()}


def _range(values: np.ndarray) -> str:
    low, high = f"{values.min():.3g}", f"{values.max():.3g}"
    return low if low == high else f"{low}–{high}"


def _few(records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    kept = np.linspace(0, len(records) - 1, min(len(records), MOST_EVALUATIONS)).astype(int)
    return [records[i] for i in kept]


def _columns(
    metrics: Sequence[dict[str, Any]], first_sample: int, names: Sequence[str]
) -> dict[str, Any]:
    """Columns of the evaluations, and the training seconds until the first kept sample."""
    seconds = [record["seconds"] for record in metrics]
    until = np.interp(first_sample, [r["round"] for r in metrics], seconds) if metrics else None
    few = _few(metrics)
    return {
        "burn_in_until": None if until is None else float(until),
        "seconds": [record["seconds"] for record in few],
        **{name: digits((scored(record, name) for record in few), 6) for name in names},
    }


def _log_likelihoods(records: Sequence[dict[str, Any]]) -> list[list[float | None]]:
    chains = max((len(record.get("log_likelihood") or ()) for record in records), default=0)
    return [
        digits((_at(record.get("log_likelihood"), chain) for record in records), 6)
        for chain in range(chains)
    ]


def _at(values: Sequence[float] | None, i: int) -> float | None:
    return values[i] if values is not None and i < len(values) else None
