"""D-SGLD on a Gaussian: Ahn, Shahbaba & Welling 2014, Figure 2, by `bench/gaussian.py`."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

import gaussian
import numpy as np

MANY = {"n_dims": 100, "n_cycles": 5}
"""Of the same demonstration in more dimensions, as the paper also does it."""


def bias(corrected: bool, **more: int) -> dict[str, float]:
    """How far the mean of samples is from the posterior's, in its standard deviations; how far it
    may be by chance and by the finite length of trajectories."""
    cluster, chains = gaussian.unequal_shards(corrected, **more)
    plan, step = gaussian.UNEQUAL_PLAN, gaussian.UNEQUAL["step"]
    limit = gaussian.long_run_mean(cluster, plan, step, corrected=True)
    return {
        "off": gaussian.distance(cluster, chains.mean(axis=(0, 1))),
        "by chance": gaussian.monte_carlo_error(cluster, chains),
        "by trajectories": gaussian.distance(cluster, limit),
    }


def whitened(trajectory: int) -> list[float]:
    """Eigenvalues of the samples' covariance over the posterior's variance, which are 1 if they
    have its law."""
    cluster, chains = gaussian.trajectory_lengths(trajectory)
    covariance = np.cov(chains.reshape(-1, chains.shape[2]).T)
    return list(np.linalg.eigvalsh(covariance) / cluster.posterior()[1])


def demonstration(options: Namespace, picture: Path) -> tuple[dict[str, Any], str]:
    """Figure 2: shards used unequally often, and trajectories of 10,000, 200 and 10 updates."""
    found = {
        dims: {"with": bias(True, **more), "without": bias(False, **more)}
        for dims, more in {"d = 2": {}, "d = 100": MANY}.items()
    }
    widths = {length: whitened(length) for length in (10_000, 200, 10)}
    panels = [
        (
            f"{'with' if corrected else 'without'} the correction",
            *gaussian.unequal_shards(corrected),
        )
        for corrected in (False, True)
    ]
    panels += [
        (f"trajectories of {length:,}", *gaussian.trajectory_lengths(length)) for length in widths
    ]
    gaussian.draw(panels, str(picture))
    removed = all(
        one["with"]["off"] < one["with"]["by chance"] + one["with"]["by trajectories"]
        and one["without"]["off"] > one["without"]["by chance"] + one["without"]["by trajectories"]
        for one in found.values()
    )
    narrowed = min(widths[10_000]) > 1.5 and max(widths[10]) < 1.2
    verdict = {2: "Holds", 1: "Holds in part", 0: "Does not hold"}[int(removed) + int(narrowed)]
    return {"bias": found, "whitened eigenvalues": widths}, (
        "Paper: N_s/(N q_s) removes the bias of using small shards more often, and short"
        " trajectories sample the posterior where long ones sample a mixture of local ones. Found:"
        " the mean is "
        + "; ".join(
            f"{one['with']['off']:.2f} posterior standard deviations off with the correction, "
            f"{one['without']['off']:.2f} without ({dims})"
            for dims, one in found.items()
        )
        + ". The variances of samples over the posterior's, along their principal axes, are "
        + "; ".join(
            f"{low:.2f} and {high:.2f} for {length:,} updates"
            for length, (low, high) in widths.items()
        )
        + f". {verdict}."
    )
