"""Figure 5.5.1 b of Baker's thesis: the picture, and what is said of it."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from papers import mixture

_YES = {True: "yes", False: "no"}


def by_updates(options: Namespace, picture: Path) -> tuple[dict[str, Any], str]:
    """5.5.1 b: nats a test user of mixtures by update, and how many groups there are."""
    if options.data is None:
        raise SystemExit("baker-5.5.1-b needs --data, the folder of the anonymous web data")
    replicates, updates = options.replicates or 5, options.updates or mixture.UPDATES
    published = min(mixture.PUBLISHED, updates)
    train, test, n_words = mixture.web(options.data)
    found = {
        name: np.array(
            [mixture.run(method, seed, train, test, n_words, updates) for seed in range(replicates)]
        )
        for name, method in mixture.METHODS.items()
    }
    figure, panels = plt.subplots(1, 2, figsize=(9, 4))
    for number, (name, rows) in enumerate(found.items()):
        for axes, column in zip(panels, (1, 2), strict=True):
            for seed, row in enumerate(rows):
                label = name if seed == 0 else None
                axes.plot(row[:, 0], row[:, column], color=f"C{number}", lw=0.8, label=label)
    panels[0].set(xlabel="updates", ylabel="nats a test user")
    panels[1].set(xlabel="updates", ylabel="groups with a user")
    lines = panels[0].get_legend_handles_labels()
    figure.legend(*lines, ncols=3, loc="lower center", fontsize=8, frameon=False)
    figure.tight_layout(rect=(0, 0.12, 1, 1))
    figure.savefig(picture, dpi=120)

    ours, theirs, *_ = found
    at = {name: rows[:, published // mixture.EVERY] for name, rows in found.items()}
    scores = {name: rows[:, 1] for name, rows in at.items()}
    before = found[theirs][:, : published // mixture.EVERY]
    claims = {
        "SCIR is lower": bool(scores[ours].max() < scores[theirs].min()),
        "steadier": bool(np.ptp(scores[ours]) < np.ptp(scores[theirs])),
        "SGRLD worsens": bool((scores[theirs] - before[:, :, 1].min(axis=1) > 0.01).all()),
        "it has more groups": bool(at[theirs][:, 2].mean() > at[ours][:, 2].mean()),
    }
    verdict = {4: "Holds", 0: "Does not hold"}.get(sum(claims.values()), "Holds in part")
    results = {
        "replicates": replicates,
        "columns": ["update", "nats a test user", "groups", "concentration"],
        "claims": claims,
        "runs": {name: rows[:, ::10].round(4).tolist() for name, rows in found.items()},
    }
    return results, (
        "Paper: SCIR ends lower, with less spread; SGRLD worsens as it goes on, and proposes more"
        f" groups. Found after {published:,} updates, nats a test user: {_told(at)}. After"
        f" {updates:,}: {_told({name: rows[:, -1] for name, rows in found.items()})}."
        f" {'; '.join(f'{claim}: {_YES[holds]}' for claim, holds in claims.items())}."
        f" {verdict}."
    )


def _told(rows: dict[str, np.ndarray]) -> str:
    return "; ".join(
        f"{name}: {row[:, 1].mean():.3f} ({row[:, 1].min():.3f} to {row[:, 1].max():.3f}),"
        f" {row[:, 2].mean():.0f} groups"
        for name, row in rows.items()
    )
