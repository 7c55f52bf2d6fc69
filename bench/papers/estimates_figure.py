"""Estimates of the counts by control variates for SCIR: what Baker 2018, 5.6, proposes.

By `bench/estimates.py`: V is the variance of the estimate over minibatches, a what SCIR's weights
have for a variance given the topics of all tokens.
"""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

import estimates
import numpy as np
import quiet
from matplotlib import pyplot as plt

from topicmc.corpora import Corpus

SECONDS = [10.0, 20.0, 40.0]
"""Of one processor."""
COLOURS = {"plain": "#999999", "cv": "#0072b2", "saga": "#009e73", "remembered": "#d55e00"}


def by_estimate(options: Namespace, picture: Path) -> tuple[dict[str, Any], str]:
    """5.6: perplexity at equal processor time, and V / a by the size of counts."""
    if options.corpus is None:
        raise SystemExit("baker-5.6 needs --corpus CORPUS, from topicmc prepare")
    conditions = quiet.at_start(options)
    corpus = Corpus.open(options.corpus)
    settings = Namespace(topics=50, seed=0, batch_size=corpus.n_docs // 10, start=200)
    found = {name: estimates.measured(corpus, name, settings, SECONDS) for name in COLOURS}
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5))
    bands = ["1 to 10", "10 to 100", "over 100"]
    for i, (name, one) in enumerate(found.items()):
        scores = one["scores"]
        at = [score["cpu_seconds"] for score in scores]
        style = {"color": COLOURS[name], "label": name}
        left.plot(at, [score["perplexity"] for score in scores], marker="o", ms=3, **style)
        if "V / a" in one:
            heights = list(one["V / a"].values())
            right.bar(np.arange(len(bands)) + 0.25 * i, heights, 0.25, **style)
    left.set(xlabel="seconds of one processor", ylabel="held-out perplexity of the state")
    left.legend(fontsize=8)
    right.set_xticks(np.arange(len(bands)) + 0.25, bands)
    right.set(xlabel="E[n_kw]", ylabel="V / a", yscale="log")
    figure.tight_layout()
    figure.savefig(picture, dpi=150)
    ends = {name: one["scores"][-1]["perplexity"] for name, one in found.items()}
    variances = {name: list(one["V / a"].values()) for name, one in found.items() if "V / a" in one}
    narrower = all(
        one < other for one, other in zip(variances["cv"], variances["plain"], strict=True)
    )
    best = ends["remembered"] < ends["cv"] < ends["plain"]
    verdict = {2: "Holds", 1: "Holds in part", 0: "Does not hold"}[int(narrower) + int(best)]
    return {**conditions, "corpus": corpus.path.name, "found": found}, (
        "Paper: control variates should help SCIR. Found, perplexity after"
        f" {SECONDS[-1]:.0f} seconds: "
        + ", ".join(f"{name} {score:,.0f}" for name, score in ends.items())
        + "; V / a for counts of "
        + ", ".join(bands)
        + ": "
        + "; ".join(
            f"{name} " + ", ".join(f"{v:.1f}" for v in values) for name, values in variances.items()
        )
        + f". {verdict}."
    )
