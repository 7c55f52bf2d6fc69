"""Workers of unlike speed: Ahn, Shahbaba & Welling 2014, Figure 7, by `bench/balance.py`."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

import balance
import quiet

SLOWDOWNS = (1.0, 5.0, 10.0)
SECONDS = 20.0


def by_slowdown(options: Namespace, picture: Path) -> tuple[dict[str, Any], str]:
    """Figure 7: two ranks, one slowed down 1, 5 and 10 times, balanced and not."""
    if options.corpus is None:
        raise SystemExit("ahn-7 needs --corpus CORPUS, from topicmc prepare")
    conditions = quiet.at_start(options)
    settings = Namespace(
        corpus=options.corpus, workers=2, seconds=SECONDS, topics=100, trajectory=10,
        batch_size=100, sampler="scir", seed=0,
    )  # fmt: skip
    made = {slowdown: balance.compare(settings, slowdown) for slowdown in SLOWDOWNS}
    balance.draw([run for runs, _ in made.values() for run in runs], str(picture))
    shares = {
        slowdown: {run.name.split(") ")[1]: run.documents_per_second / possible for run in runs}
        for slowdown, (runs, possible) in made.items()
    }
    holds = [
        all(one["balanced"] >= 0.9 for one in shares.values()),
        shares[10.0]["not balanced"] < 0.5 * shares[10.0]["balanced"],
    ]
    verdict = {2: "Holds", 1: "Holds in part", 0: "Does not hold"}[sum(holds)]
    return {**conditions, "corpus": options.corpus.name, "share of alone": shares}, (
        "Paper: with adaptive trajectories slow workers do not hold up the fast ones. Found,"
        " documents a second over the sum of what the two workers make alone: "
        + "; ".join(
            f"(1:{slowdown:g}) " + ", ".join(f"{name} {share:.0%}" for name, share in one.items())
            for slowdown, one in shares.items()
        )
        + f". {verdict}."
    )
