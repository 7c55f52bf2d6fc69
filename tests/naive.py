"""Slow twins of the moves: the same words of Philox, in Python integers and double precision."""

import math

import numpy as np

MASK = 0xFFFFFFFF


def philox(key: int, c0: int, c1: int, c2: int, c3: int) -> tuple[int, int, int, int]:
    """Philox4x32-10 in plain integers."""
    k0, k1 = int(key) & MASK, int(key) >> 32
    x = [int(c0), int(c1), int(c2), int(c3)]
    for _ in range(10):
        p0, p1 = 0xD2511F53 * x[0], 0xCD9E8D57 * x[2]
        x = [(p1 >> 32) ^ x[1] ^ k0, p1 & MASK, (p0 >> 32) ^ x[3] ^ k1, p0 & MASK]
        k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
    return tuple(x)


def exponential(x: int) -> float:
    return -math.log1p(-(x + 0.5) / 2**32)


def normal_pair(x: int, y: int) -> tuple[float, float]:
    radius = math.sqrt(2 * exponential(x))
    quadrant, rest = y >> 30, (y << 2) & MASK
    rest -= 2**32 if rest >= 2**31 else 0
    angle = 2 * math.pi * (quadrant / 4 + (rest + 2) / 2**34)
    return radius * math.cos(angle), radius * math.sin(angle)


def langevin(theta, counts, *, beta, scale, step, key, update):
    """SGRLD as its equation stands, from θ (W, K) and the minibatch's counts (W, K); beta is one
    number or (W, K)."""
    theta = theta.astype(float)
    phi = theta / theta.sum(axis=0)
    noise = np.empty_like(theta)
    for w, k in np.ndindex(theta.shape):
        words = philox(key, k, w // 4, 0, update)
        noise[w, k] = (normal_pair(*words[:2]) + normal_pair(*words[2:]))[w % 4]
    drift = beta - theta + scale * (counts - phi * counts.sum(axis=0))
    return np.abs(theta + step / 2 * drift + np.sqrt(theta) * math.sqrt(step) * noise)


def cir(theta: float, shape: float, step: float, *, key, topic, word, update) -> float:
    """One entry of SCIR: the first event of a Poisson process, then a gamma or noncentral draw."""

    def words(draw):
        return philox(key, topic, word, draw, update)

    mean, span = theta / math.expm1(step), -math.expm1(-step)
    x0, x1, x2, x3 = words(0)
    arrival = exponential(x0)
    if arrival <= 2**-15:
        low = words(MASK)[0]
        arrival = -math.log1p(-(x0 + (low + 0.5) / 2**32) / 2**32)
    if arrival > mean and shape <= 0.5:
        draw = 2
        while exponential(x2) < shape * (exponential(x1) - 1 - math.log(exponential(x1))):
            x1, x2, _, _ = words(draw)
            draw += 1
        return span * (1 + shape) * exponential(x1) * math.exp(-exponential(x3) / shape)
    square = 0.0
    x0, x1, x2, x3 = words(1)
    z, other = normal_pair(x0, x1)
    if arrival <= mean:
        shape += 0.5
        square = 0.5 * (other + math.sqrt(2 * (mean - arrival))) ** 2
    boost = math.exp(-exponential(x3) / shape) if shape < 1 else 1.0
    d = shape + (1 if shape < 1 else 0) - 1 / 3
    log_u, draw = -exponential(x2), 2
    while True:
        v = (1 + z / math.sqrt(9 * d)) ** 3
        if v > 0 and log_u < z * z / 2 + d - d * v + d * math.log(v):
            return span * (d * v * boost + square)
        x0, x1, x2, _ = words(draw)
        z, log_u = normal_pair(x0, x1)[0], math.log((x2 + 0.5) / 2**32)
        draw += 1


def cir_sample(theta, shape, step, n, generator, fault=None):
    """n draws of one CIR transition as a mixture, by NumPy's generators; `fault` plants a bug."""
    span, mean = -math.expm1(-step), theta / math.expm1(step)
    if fault == "no decay in the mean":
        mean = theta / span
    if fault == "no Poisson events":
        mean = 0.0
    events = generator.poisson(mean, n)
    if fault == "events before rejection":  # an entry with events keeps its rejected proposal
        events = np.where(generator.random(n) < 0.2, 0, events)
    if fault == "degrees of freedom":
        events = np.where(events > 0, events - 0.5, events)
    draws = generator.gamma(shape + events)
    return draws if fault == "no span" else span * draws


FAULTS = (
    "no decay in the mean",
    "no Poisson events",
    "events before rejection",
    "degrees of freedom",
    "no span",
)
