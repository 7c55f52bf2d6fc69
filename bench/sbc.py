"""Simulation-based calibration of the samplers (Talts et al. 2018; Modrák et al. 2023).

    python bench/sbc.py run bench/results/sbc.json [--replications 400] [--sampler adlda]
    python bench/sbc.py draw bench/results/sbc.json -o docs/pictures

Topics, assignments and words are drawn from the priors of a tiny model, a sampler is given the
words, and the truth is ranked among states of its chain. If the chain samples the posterior, and
states are far enough apart, truth and states are exchangeable and ranks are uniform, whatever is
ranked. The cases are in `CASES`; some are expected to fail, and docs/evidence.md says why.

`run` makes the cases that the file does not hold, or holds of other chains or of another model, and
prints a line for each; --sampler, which may be repeated, makes those of some samplers only. `draw`
makes a picture of each group. docs/evidence.md says how to read them.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from zlib import crc32

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from calibration.chains import Assigned, Minibatch
from calibration.models import Model
from calibration.picture import Panel, write_grid
from calibration.quantities import NAMES, held_out, quantities
from calibration.ranks import band, ecdf_difference, lag_one, p_value, rank

from topicmc.samplers.scir import Scir
from topicmc.samplers.sgrld import Sgrld
from topicmc.storage.files import write_json

MODEL = Model(n_topics=3, n_words=10, n_docs=20, lengths=(8, 16))
N_DRAWS = 19
CHUNK = 50  # replications that run side by side
LEVEL = 0.999  # of a line's band

ONE_BY_ONE = {"sampler": "adlda", "batch_size": 1, "trajectory": MODEL.n_docs}
KEPT = {"sampler": "scir", "remember": True, "batch_size": MODEL.n_docs}
LEARNED = {"start": "anneal", "learn": "both", "anneal_updates": 40}


@dataclass(frozen=True)
class Case:
    """One sampler with its settings; ``picture`` is the group in which it is drawn."""

    name: str
    sampler: str
    picture: str
    chains: Assigned | Minibatch
    model: Model = MODEL


CASES = [
    Case("AD-LDA, documents one by one", "adlda", "exact", Assigned(ONE_BY_ONE)),
    Case("SCIR, kept assignments, h = 3", "scir", "exact", Assigned(KEPT)),
    Case(
        "SCIR, kept assignments, h = 0.3", "scir", "exact",
        Assigned({**KEPT, "step_size": 0.3}, thin=32),
    ),
    Case("AD-LDA, 4 blocks a sweep", "adlda", "approximate", Assigned({"sampler": "adlda"})),
    Case(
        "AD-LDA, 2 workers", "adlda", "approximate",
        Assigned({"sampler": "adlda", "workers": 2, "batch_size": 10, "trajectory": 1}),
    ),
    Case(
        "SGRLD, kept assignments", "sgrld", "approximate",
        Assigned({**KEPT, "sampler": "sgrld"}, thin=48),
    ),
    Case(
        "AD-LDA, priors learned", "adlda", "approximate",
        Assigned({**ONE_BY_ONE, **LEARNED, "anneal_updates": 40 * MODEL.n_docs}),
    ),
    Case("SCIR, kept, priors learned", "scir", "approximate", Assigned({**KEPT, **LEARNED})),
    Case(
        "SCIR, minibatches of D/4, h = 1", "scir", "minibatches", Minibatch(Scir, 1.0, 5, 60, 12),
    ),
    Case(
        "SCIR, minibatches of D/4, h = 0.05", "scir", "minibatches",
        Minibatch(Scir, 0.05, 5, 400, 160),
    ),
    Case(
        "SCIR, β = 0.1, h = 0.05", "scir", "minibatches", Minibatch(Scir, 0.05, 10, 400, 160),
        replace(MODEL, beta=0.1),
    ),
    Case(
        "SGRLD, β = 2, ε = 0.02", "sgrld", "minibatches", Minibatch(Sgrld, 0.02, 10, 400, 150),
        replace(MODEL, beta=2.0),
    ),
    Case("SGRLD, β = 0.5, ε = 0.02", "sgrld", "minibatches", Minibatch(Sgrld, 0.02, 10, 400, 150)),
    Case(
        "SGRLD, β = 0.1, ε = 0.02", "sgrld", "minibatches", Minibatch(Sgrld, 0.02, 10, 400, 150),
        replace(MODEL, beta=0.1),
    ),
]  # fmt: skip


def chunk(case: Case, seed: int, first: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Ranks (n, Q), and the draws' quantities (n, N_DRAWS, Q), of n replications."""
    key = [seed, crc32(case.name.encode())]
    generators = [np.random.default_rng([*key, first + i]) for i in range(n)]
    drawn = [case.model.draw(generator) for generator in generators]
    seeds = [int(generator.integers(1 << 62)) for generator in generators]
    if isinstance(case.chains, Minibatch):
        corpora = [corpus for corpus, _ in drawn]
        chains = zip(*case.chains.states(case.model, corpora, seeds[0], N_DRAWS + 1), strict=True)
    else:
        chains = (
            tuple(case.chains.states(case.model, corpus, number, N_DRAWS + 1))
            for (corpus, _), number in zip(drawn, seeds, strict=True)
        )
    ranks, draws = [], []
    for (corpus, truth), states, generator in zip(drawn, chains, generators, strict=True):
        pairs = held_out(case.model, states[-1].phi, generator)
        values = quantities(case.model, corpus, pairs, [truth, *states[:-1]])
        ranks.append(rank(values[0], values[1:], generator))
        draws.append(values[1:])
    return np.array(ranks), np.array(draws)


def ranked(case: Case, seed: int, n: int, processes: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """`chunk` of n replications, spread over processes."""
    parts = [(case, seed, first, min(CHUNK, n - first)) for first in range(0, n, CHUNK)]
    if processes == 1:
        done = [chunk(*part) for part in parts]
    else:
        with ProcessPoolExecutor(processes) as pool:
            done = list(pool.map(chunk, *zip(*parts, strict=True)))
    return np.concatenate([r for r, _ in done]), np.concatenate([d for _, d in done])


def facts_of(ranks: np.ndarray, draws: np.ndarray) -> dict:
    """How often each rank came, by quantity; p-values of χ²; correlation of neighbouring draws."""
    counts = {
        name: np.bincount(ranks[:, q], minlength=N_DRAWS + 1).tolist()
        for q, name in enumerate(NAMES)
    }
    p_values = {name: p_value(ranks[:, q], N_DRAWS) for q, name in enumerate(NAMES)}
    lags = dict(zip(NAMES, lag_one(draws).round(3).tolist(), strict=True))
    return {"ranks": counts, "p": p_values, "lag one": lags}


def run(options: argparse.Namespace) -> None:
    path = Path(options.results)
    settings = {"replications": options.replications, "draws": N_DRAWS, "seed": options.seed}
    results = json.loads(path.read_text()) if path.exists() else {**settings, "cases": {}}
    if any(results[name] != value for name, value in settings.items()):
        raise SystemExit(f"{path} holds other replications or another seed: give another file")
    for case in CASES:
        described = {"chains": repr(case.chains), "model": repr(case.model)}
        held = results["cases"].get(case.name, {})
        if described.items() <= held.items() or (
            options.sampler and case.sampler not in options.sampler
        ):
            continue
        began = time.process_time(), time.time()
        found = facts_of(*ranked(case, options.seed, options.replications, options.processes))
        results["cases"][case.name] = {"picture": case.picture, **described, **found}
        write_json(path, results)
        worst = min(found["p"], key=found["p"].get)
        print(
            f"{case.name}: least p {found['p'][worst]:.1e} ({worst}); neighbours correlate by at"
            f" most {max(found['lag one'].values()):.2f}; {time.time() - began[1]:.0f} s",
            flush=True,
        )


def panels(results: dict) -> Iterator[tuple[str, Panel]]:
    """The picture that each case belongs to, and its panel."""
    n, n_draws = results["replications"], results["draws"]
    low, high = band(n, n_draws, LEVEL)
    for name, case in results["cases"].items():
        lines = {}
        for quantity, counts in case["ranks"].items():
            ranks = np.repeat(np.arange(n_draws + 1), counts)
            at, difference = ecdf_difference(ranks, n_draws)
            lines[quantity] = difference
        yield case["picture"], Panel(name, at, low, high, lines)


def draw(options: argparse.Namespace) -> None:
    results = json.loads(Path(options.results).read_text())
    grids: dict[str, list[Panel]] = {}
    for picture, panel in panels(results):
        grids.setdefault(picture, []).append(panel)
    for picture, grid in grids.items():
        path = Path(options.output) / f"sbc-{picture}.svg"
        write_grid(path, f"Simulation-based calibration, {picture}", grid)
        print(f"wrote {path}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    run_ = commands.add_parser("run", help="rank, and add to a file of results")
    run_.add_argument("results")
    run_.add_argument("--replications", type=int, default=400)
    run_.add_argument("--seed", type=int, default=1)
    run_.add_argument("--sampler", action="append", choices=sorted({c.sampler for c in CASES}))
    run_.add_argument("--processes", type=int, default=2)
    run_.set_defaults(do=run)
    draw_ = commands.add_parser("draw", help="pictures of a file of results")
    draw_.add_argument("results")
    draw_.add_argument("-o", "--output", default=".", help="folder for sbc-*.svg")
    draw_.set_defaults(do=draw)
    options = parser.parse_args()
    options.do(options)


if __name__ == "__main__":
    main()
