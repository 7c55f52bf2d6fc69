"""SGLD with control variates for LDA: Baker 2018, Figure 3.5.5, by `papers.natural`."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from papers.natural import BATCH, EVERY, TOPICS, WORDS, Data, anchored, plain, recalled, walk

from topicmc.corpora import Corpus

SIZES = {10_000: 8e-4, 49_000: 8e-5, 81_538: 5e-5}
"""Documents, and ε of sgld and cv as published."""
SAGA_STEPS = dict(zip(SIZES, (5e-4, 5e-5, 5e-5), strict=True))
DESCENT_STEPS = dict(zip(SIZES, (7e-4, 1e-4, 1e-4), strict=True))
"""Of the steps that lead to θ̂."""
UPDATES, DESCENT = 10_000, 2_000
COLOURS = {"sgld": "#999999", "cv": "#0072b2", "cv, released": "#d55e00", "saga": "#009e73"}


def curves(corpus: Corpus, n_docs: int, updates: int, seed: int) -> dict[str, Any]:
    """Perplexities of each method every `EVERY` updates, and the updates that its set-up is worth:
    a pass over the documents, and the steps to θ̂."""
    begin = np.random.default_rng(seed).normal(size=(WORDS, TOPICS))
    step, one_pass = SIZES[n_docs], n_docs // BATCH
    data = Data(corpus, n_docs, seed)
    anchor, descended = walk(
        data, begin, plain(data), 2 * DESCENT_STEPS[n_docs], DESCENT, noise=False
    )
    found: dict[str, Any] = {}
    for name, start, made, size, paid in (
        ("sgld", begin, lambda: plain(data), step, 0),
        ("cv", anchor, lambda: anchored(data, np.exp(anchor), False), step, DESCENT + one_pass),
        (
            "cv, released", anchor, lambda: anchored(data, np.exp(anchor), True), step,
            DESCENT + one_pass,
        ),
        ("saga", begin, lambda: recalled(data, np.exp(begin)), SAGA_STEPS[n_docs], one_pass),
    ):  # fmt: skip
        scores = walk(data, start, made(), size, updates)[1]
        found[name] = {"paid": paid, "perplexity": scores}
        print(f"{n_docs:,} documents, {name}: {scores[-1]:.0f}", flush=True)
    return {"methods": found, "descent": descended}


def by_documents(options: Namespace, picture: Path) -> tuple[dict[str, Any], str]:
    """3.5.5: perplexity by updates, set-up included, for three sizes of the corpus."""
    if options.corpus is None:
        raise SystemExit("baker-3.5.5 needs --corpus CORPUS, from topicmc prepare")
    corpus = Corpus.open(options.corpus)
    updates = options.updates or UPDATES
    found = {n: curves(corpus, n, updates, seed=0) for n in SIZES}
    figure, panels = plt.subplots(1, len(SIZES), figsize=(11, 3.5), sharey=True)
    for axes, (n, one) in zip(panels, found.items(), strict=True):
        for name, made in one["methods"].items():
            at = made["paid"] + EVERY * np.arange(1, len(made["perplexity"]) + 1)
            axes.plot(at, made["perplexity"], label=name, color=COLOURS[name])
        axes.set(title=f"{n:,} documents", xlabel="updates, set-up included")
    panels[0].set_ylabel("held-out perplexity")
    panels[-1].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(picture, dpi=150)
    reached = {n: updates_to(one["methods"]) for n, one in found.items()}
    return {"updates": updates, "every": EVERY, "curves": found, "updates to": reached}, told(
        found, reached
    )


def updates_to(methods: dict[str, Any]) -> dict[str, int | None]:
    """Updates, set-up included, until the perplexity is within 2 % of the best end."""
    best = min(made["perplexity"][-1] for made in methods.values())
    found: dict[str, int | None] = {}
    for name, made in methods.items():
        there = [i for i, score in enumerate(made["perplexity"]) if score <= 1.02 * best]
        found[name] = made["paid"] + EVERY * (there[0] + 1) if there else None
    return found


def told(found: dict[int, Any], reached: dict[int, dict[str, int | None]]) -> str:
    """The sentence."""
    rows = []
    for n, one in found.items():
        ends = ", ".join(
            f"{name} {made['perplexity'][-1]:.0f}"
            + (f" (after {reached[n][name]:,})" if reached[n][name] else " (never)")
            for name, made in one["methods"].items()
        )
        rows.append(f"{n:,} documents: {ends}")
    largest = reached[max(reached)]
    never = float("inf")
    ahead = (largest["cv"] or never) < (largest["sgld"] or never)
    slowest = (largest["saga"] or never) >= max(largest["cv"] or never, largest["sgld"] or never)
    verdict = {2: "Holds", 1: "Holds in part", 0: "Does not hold"}[int(ahead) + int(slowest)]
    return (
        "Paper: SGLD-CV gets ahead of SGLD the more the larger the corpus, and SAGA is slowest."
        " Found, perplexity at the end, and updates until it was within 2 % of the best of these: "
        + "; ".join(rows)
        + f". {verdict}."
    )
