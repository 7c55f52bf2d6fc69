"""Figures of the papers, made again.

    python bench/papers baker-5.2.1 baker-5.3.1 -o FOLDER [--replicates 100]
    python bench/papers baker-5.5.1b --data MSWEB -o FOLDER [--replicates 5]

MSWEB holds the anonymous web data of Microsoft (UCI, anonymous-msweb.data and .test).

Each writes FIGURE.json, with what was measured and by what, and FIGURE.png, and prints what the
paper states, what was found, and whether the statement holds. docs/reproduction.md shows them.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from papers import mixture
from papers.simplex import DENSE, SAMPLERS, SPARSE, best, distances, sample

from topicmc.samplers.row_prior import RowPrior

matplotlib.use("Agg")
from matplotlib import pyplot as plt

COLOURS = {"SCIR": "#0072b2", "SGRLD": "#d55e00", "SGRLD, released drift": "#999999"}
SIZES = (1, 10, 50, 100, 500)
COMPONENT = 4
"""The fifth, which no observation is in."""


def boxplots(replicates: int, picture: Path, _: Path | None) -> tuple[dict[str, Any], str]:
    """5.2.1: ω₅ of the sparse target, minibatches of 10, each sampler at its best step."""
    exact = np.random.default_rng(0).dirichlet(SPARSE.posterior, 100_000)[:, COMPONENT]
    drawn, steps = {"exact": exact}, {}
    for name, (sampler, tried) in SAMPLERS.items():
        one = {"batch_size": 10, "n_replicates": replicates, "seed": 0}
        made = {h: sample(SPARSE, sampler(RowPrior(SPARSE.alpha)), h, **one) for h in tried}
        far = {h: distances(SPARSE, theta).mean() for h, theta in made.items()}
        steps[name] = min((h for h in far if np.isfinite(far[h])), key=far.__getitem__)
        theta = made[steps[name]]
        drawn[name] = (theta[:, COMPONENT] / theta.sum(axis=1)).ravel()
    figure, axes = plt.subplots(figsize=(6, 3.5))
    axes.boxplot([np.log10(np.maximum(v, 1e-12)) for v in drawn.values()], whis=(1, 99), sym="")
    axes.set_xticks(range(1, len(drawn) + 1), drawn)
    axes.set_ylabel("log10 of ω5")
    figure.tight_layout()
    figure.savefig(picture, dpi=150)
    middle = np.median(exact)
    below = {name: float((values < middle).mean()) for name, values in drawn.items()}
    holds = below["SGRLD"] < 0.25 < below["SCIR"]
    return {"steps": steps, "share below the exact median": below}, (
        "Paper: SGRLD rarely comes as near to zero as the exact law. Found: below the exact median "
        "of ω5 are "
        + ", ".join(f"{value:.0%} ({name})" for name, value in below.items())
        + f". {'Holds' if holds else 'Does not hold'}."
    )


def by_batch_size(replicates: int, picture: Path, _: Path | None) -> tuple[dict[str, Any], str]:
    """5.3.1: the Kolmogorov-Smirnov distance by the size of minibatches, sparse and dense."""
    found: dict[str, dict[str, list[list[float]]]] = {}
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.5))
    for axes, (title, target) in zip(
        panels, {"sparse": SPARSE, "dense": DENSE}.items(), strict=True
    ):
        found[title] = {}
        for name, (sampler, steps) in SAMPLERS.items():
            rows = []
            for size in SIZES:
                values = best(
                    target, sampler(RowPrior(target.alpha)), steps,
                    batch_size=size, n_replicates=replicates, seed=1,
                )  # fmt: skip
                rows.append([float(values.mean()), float(values.std(ddof=1) / replicates**0.5)])
            found[title][name] = rows
            mean, error = np.array(rows).T
            axes.errorbar(SIZES, mean, 2 * error, label=name, color=COLOURS[name], marker="o", ms=3)
        exact = 0.868 / 1000**0.5
        axes.axhline(exact, color="black", lw=0.8, ls=":", label="1,000 exact draws")
        axes.set(xscale="log", yscale="log", title=title, xlabel="observations in a minibatch")
    panels[0].set_ylabel("Kolmogorov-Smirnov distance")
    panels[0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(picture, dpi=150)

    def ratios(title: str, name: str = "SGRLD") -> np.ndarray:
        means = {key: np.array(rows)[:, 0] for key, rows in found[title].items()}
        return means["SCIR"] / means[name]

    sparse, dense = ratios("sparse"), ratios("dense")
    holds = [bool((sparse < 1).all()), bool((abs(dense - 1) < 0.2).all())]
    verdict = {2: "Holds", 1: "Holds in part", 0: "Does not hold"}[sum(holds)]
    return {"sizes": SIZES, "mean and standard error": found}, (
        "Paper: SCIR is far closer on sparse data at every size, and alike on dense data. Found: "
        f"SCIR's distance over SGRLD's is {_listed(sparse)} on sparse data and {_listed(dense)} on "
        f"dense data, for minibatches of {', '.join(map(str, SIZES))}. {verdict}."
    )


def users_of_a_site(
    replicates: int, picture: Path, data: Path | None
) -> tuple[dict[str, Any], str]:
    """5.5.1 b: nats a test user of mixtures by update, and how many groups there are."""
    if data is None:
        raise SystemExit("baker-5.5.1b needs --data, the folder of the anonymous web data")
    train, test, n_words = mixture.web(data)
    found = {
        name: np.array(
            [mixture.run(method, seed, train, test, n_words) for seed in range(replicates)]
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
    at = {name: rows[:, mixture.PUBLISHED // mixture.EVERY] for name, rows in found.items()}
    scores = {name: rows[:, 1] for name, rows in at.items()}
    before = found[theirs][:, : mixture.PUBLISHED // mixture.EVERY]
    claims = {
        "SCIR is lower": bool(scores[ours].max() < scores[theirs].min()),
        "steadier": bool(np.ptp(scores[ours]) < np.ptp(scores[theirs])),
        "SGRLD worsens": bool((scores[theirs] - before[:, :, 1].min(axis=1) > 0.01).all()),
        "it has more groups": bool(at[theirs][:, 2].mean() > at[ours][:, 2].mean()),
    }
    verdict = {4: "Holds", 0: "Does not hold"}.get(sum(claims.values()), "Holds in part")
    results = {
        "columns": ["update", "nats a test user", "groups", "concentration"],
        "claims": claims,
        "runs": {name: rows[:, ::10].round(4).tolist() for name, rows in found.items()},
    }
    return results, (
        "Paper: SCIR ends lower, with less spread; SGRLD worsens as it goes on, and proposes more"
        f" groups. Found after {mixture.PUBLISHED:,} updates, nats a test user: {_told(at)}. After"
        f" {mixture.UPDATES:,}: {_told({name: rows[:, -1] for name, rows in found.items()})}."
        f" {'; '.join(f'{claim}: {_YES[holds]}' for claim, holds in claims.items())}."
        f" {verdict}."
    )


_YES = {True: "yes", False: "no"}


def _told(rows: dict[str, np.ndarray]) -> str:
    return "; ".join(
        f"{name}: {row[:, 1].mean():.3f} ({row[:, 1].min():.3f} to {row[:, 1].max():.3f}),"
        f" {row[:, 2].mean():.0f} groups"
        for name, row in rows.items()
    )


FIGURES = {
    "baker-5.2.1": boxplots,
    "baker-5.3.1": by_batch_size,
    "baker-5.5.1b": users_of_a_site,
}
SEEDS = {"baker-5.5.1b": 5}
"""Replicates of a figure; else 100."""


def _listed(values: np.ndarray) -> str:
    return ", ".join(f"{value:.2f}" for value in values)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("figures", nargs="+", choices=FIGURES)
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder")
    parser.add_argument("--replicates", type=int, help="[100; of baker-5.5.1b 5]")
    parser.add_argument("--data", type=Path, help="folder of the data, of baker-5.5.1b")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    for name in options.figures:
        n = options.replicates or SEEDS.get(name, 100)
        results, verdict = FIGURES[name](n, options.output / f"{name}.png", options.data)
        made_by = {package: version(package) for package in ("topicmc", "numpy", "numba")}
        made_by |= {"python": platform.python_version(), "system": platform.platform()}
        record = {"figure": name, "made by": made_by, "replicates": n}
        record |= {"verdict": verdict, **results}
        (options.output / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
        print(f"{name}: {verdict}", flush=True)


if __name__ == "__main__":
    main()
