"""LDA on minibatches of Baker's thesis (5.5.1, B.5): held-out perplexity by updates.

The published settings are `settings/baker-5.5.1-*.toml`. They give the two samplers different
priors, so each is also run under the other's.
"""

from __future__ import annotations

import tomllib
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt

from topicmc.corpora import Corpus
from topicmc.engine.transport.local import LocalTransport
from topicmc.kernels.threads import Threads
from topicmc.models.heldout import split_documents
from topicmc.models.lda.completion import perplexity, token_probabilities
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.methods import open_method
from topicmc.models.lda.planning.defaults import resolve
from topicmc.models.lda.settings import TrainConfig

SETTINGS = Path(__file__).parent / "settings"
PRIORS = {"SCIR": (0.1, 0.5), "SGRLD": (0.01, 1e-4)}
"""α and β as published for each."""
EVERY = 20  # updates between evaluations
SEEDS = 5
COLOURS = {"SCIR": "#0072b2", "SGRLD": "#d55e00"}
LINES = {"SCIR": "-", "SGRLD": "--"}
"""By sampler, and by whose priors they are."""


def published(name: str) -> TrainConfig:
    """The settings of one of the samplers, as published."""
    path = SETTINGS / f"baker-5.5.1-{name.lower()}.toml"
    return TrainConfig.from_dict(tomllib.loads(path.read_text()))


def curve(corpus: Corpus, config: TrainConfig, seed: int) -> dict[str, Any]:
    """Perplexity of the state after every so many updates, and with the probabilities averaged over
    all evaluations since the first, as the released codes do it."""
    resolved = resolve(replace(config, seed=seed, threads=1), Extent.of(corpus))
    threads = Threads(1)
    chains = open_method(resolved, corpus, LocalTransport(1), threads)
    split = split_documents(corpus.heldout, seed=0)
    alpha = np.full(resolved.topics, resolved.alpha)
    states, averages, total, made = [], [], np.zeros(split.n_scored), 0
    while made < resolved.updates:
        for _ in range(EVERY):
            chains.round()
        made += EVERY
        (chain,) = chains.chains.values()
        sums = chain.theta.sum(axis=0, dtype=np.float64)
        found = token_probabilities(split, chain.theta, sums, alpha, seed=0, threads=threads)
        total += found
        states.append(round(perplexity(found), 1))
        averages.append(round(perplexity(total / len(states)), 1))
    return {"state": states, "average": averages}


def runs(corpus: Corpus, seeds: range, updates: int | None) -> dict[str, list[dict[str, Any]]]:
    """Curves of each sampler under each pair of priors, by ``sampler, priors of owner``."""
    found: dict[str, list[dict[str, Any]]] = {}
    for seed in seeds:
        for sampler in PRIORS:
            for owner, (alpha, beta) in PRIORS.items():
                config = replace(published(sampler), alpha=alpha, beta=beta)
                config = replace(config, updates=updates or config.updates)
                one = curve(corpus, config, seed)
                found.setdefault(f"{sampler}, priors of {owner}", []).append(one)
                print(f"seed {seed}: {sampler}, priors of {owner}, {one['state'][-1]:.0f}")
    return found


def by_updates(options: Namespace, picture: Path) -> tuple[dict[str, Any], str]:
    """5.5.1 a: held-out perplexity of SCIR and SGRLD by updates, under each other's priors, too."""
    if options.corpus is None:
        raise SystemExit("baker-5.5.1-a needs --corpus CORPUS, from topicmc prepare")
    corpus = Corpus.open(options.corpus)
    found = runs(corpus, range(options.replicates or SEEDS), options.updates)
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.5), sharey=True)
    for axes, kind in zip(panels, ("average", "state"), strict=True):
        for name, curves in found.items():
            sampler, owner = name.split(", priors of ")
            values = np.array([one[kind] for one in curves])
            at = EVERY * np.arange(1, values.shape[1] + 1)
            style = {"color": COLOURS[sampler], "ls": LINES[owner]}
            axes.plot(at, np.median(values, axis=0), label=name, **style)
            axes.fill_between(
                at, values.min(axis=0), values.max(axis=0), alpha=0.15, color=style["color"]
            )
        axes.set(
            xlabel="updates",
            title={"average": "averaged since the first", "state": "one state"}[kind],
        )
    panels[0].set(ylabel="held-out perplexity", yscale="log")
    panels[0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(picture, dpi=150)
    last = {
        kind: {name: [one[kind][-1] for one in curves] for name, curves in found.items()}
        for kind in ("average", "state")
    }
    results = {"corpus": corpus.path.name, "documents": corpus.n_docs, "updates between": EVERY}
    return {**results, "curves": found}, verdict(last)


def verdict(last: dict[str, dict[str, list[float]]]) -> str:
    """The sentence about the last points: averaged, by condition, over seeds."""
    ratios = {
        condition: np.median(last["average"][ours]) / np.median(last["average"][theirs])
        for condition, ours, theirs in (
            ("as published", "SCIR, priors of SCIR", "SGRLD, priors of SGRLD"),
            ("under SCIR's priors", "SCIR, priors of SCIR", "SGRLD, priors of SCIR"),
            ("under SGRLD's priors", "SCIR, priors of SGRLD", "SGRLD, priors of SGRLD"),
        )
    }
    holds = "Holds" if ratios["as published"] < 1 else "Does not hold"
    if holds == "Holds" and max(ratios.values()) >= 1:
        holds = "Holds in part"
    return (
        "Paper: SCIR goes on below where SGRLD levels off. Found: the last averaged perplexity of"
        " SCIR over SGRLD's is "
        + ", ".join(f"{ratio:.2f} {condition}" for condition, ratio in ratios.items())
        + f". {holds}."
    )
