"""A map of topics: places in the plane that are near where topics are."""

from __future__ import annotations

import numpy as np

SWEEPS = 300
FREE = 0.9
"""Part of the least distance that places need not keep."""


def plane(distance: np.ndarray) -> np.ndarray:
    """Places of K topics in the plane, from the distances between them (K, K): float64 (K, 2).

    Topics are all far from each other, so what tells them apart are differences of distances: those
    beyond most of the least one are kept as well as can be (interval scaling). Classical scaling
    (Torgerson 1952) is the start; stress majorisation (de Leeuw 1977, SMACOF with equal weights)
    then lessens Σ (‖x_i − x_j‖ − d_ij)², which spreads out what the start has crowded. The longer
    side lies along the first axis and spans −1 to 1. The same distances give the same places.
    """
    n = len(distance)
    if n < 3:
        return np.column_stack([np.linspace(-1, 1, n), np.zeros(n)])
    others = ~np.eye(n, dtype=bool)
    beyond = np.where(others, distance - FREE * distance[others].min(), 0)
    places = _majorise(_classical(beyond), beyond)
    places -= (places.max(axis=0) + places.min(axis=0)) / 2
    if np.ptp(places[:, 1]) > np.ptp(places[:, 0]):
        places = places[:, ::-1]
    return places / (np.abs(places).max() or 1.0)


def _classical(distance: np.ndarray) -> np.ndarray:
    squares = distance**2
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    values, vectors = np.linalg.eigh(-centred / 2)
    values, vectors = values[-2:][::-1], vectors[:, -2:][:, ::-1]
    # The sign of an eigenvector is arbitrary: its largest entry is made positive.
    largest = vectors[np.abs(vectors).argmax(axis=0), [0, 1]]
    return vectors * np.sign(largest) * np.sqrt(np.maximum(values, 0))


def _majorise(places: np.ndarray, distance: np.ndarray) -> np.ndarray:
    """Guttman transforms, each of which lessens the stress."""
    for _ in range(SWEEPS):
        apart = np.linalg.norm(places[:, None] - places, axis=2)
        ratio = np.divide(distance, apart, out=np.zeros_like(distance), where=apart > 0)
        places = (ratio.sum(axis=1)[:, None] * places - ratio @ places) / len(places)
    return places
