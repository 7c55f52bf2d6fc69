"""The kept samples of a run of matrix factorisation for other programs; the help of
`topicmc factors export` names the formats.

On the scale of the ratings, every sample predicts

    rating = mean + user_factors · item_factors + user_biases + item_biases
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from topicmc.corpora.strings import Strings
from topicmc.errors import UsageError
from topicmc.host.machine import in_units
from topicmc.models.factors.run import FactorRun
from topicmc.models.factors.scoring import states_of
from topicmc.posterior.passes import one_by_one

_MOST_TEXT = 1 << 26  # bytes of ids, where these are many times what they hold


def write_npz(run: FactorRun, path: Path) -> None:
    """All S samples as arrays without pickle, factors and biases in float32.

    user_factors, item_factors  (S, L, D) and (S, M, D)
    user_biases, item_biases    (S, L) and (S, M)
    chain                       (S,)
    user_ids, item_ids          texts
    noise_sd                    (S,), of a rating given the sample
    mean, low, high             numbers
    """
    data, scale, entries = run.data(), run.scale(), run.states_to_read()
    deviation, n = np.float32(scale.deviation), len(entries)
    width = run.config().factors
    chain, tau = np.empty(n, np.int64), np.empty(n)
    rows = {"user": data.ratings.n_users, "item": data.ratings.n_items}
    factors = {side: np.empty((n, size, width), np.float32) for side, size in rows.items()}
    biases = {side: np.empty((n, size), np.float32) for side, size in rows.items()}
    for i, state in enumerate(map(run.read_sample, one_by_one(entries))):
        chain[i], tau[i] = state.index, state.tau
        for side, of in (("user", state.users), ("item", state.items)):
            np.multiply(of[:, :-1], np.sqrt(deviation), out=factors[side][i])
            np.multiply(of[:, -1], deviation, out=biases[side][i])
    with path.open("wb") as stream:
        np.savez(
            stream,
            allow_pickle=False,
            user_factors=factors["user"],
            item_factors=factors["item"],
            user_biases=biases["user"],
            item_biases=biases["item"],
            chain=chain,
            user_ids=_texts(data.user_ids),
            item_ids=_texts(data.item_ids),
            mean=np.float64(scale.mean),
            noise_sd=scale.deviation / np.sqrt(tau),
            low=np.float64(scale.low),
            high=np.float64(scale.high),
        )


def _texts(ids: Strings) -> np.ndarray:
    """Ids as NumPy has texts, each with the room of the longest; UsageError where that is far
    more than they hold, or where one would lose the zero byte at its end."""
    texts = [ids[i] for i in range(len(ids))]
    size = 4 * len(texts) * max(map(len, texts), default=0)
    if size > max(_MOST_TEXT, 64 * len(ids.text)):
        raise UsageError(
            f"--to npz: gives every id the room of the longest, {in_units(size)} in all; use"
            " --to csv, or shorten that id"
        )
    if any(text.endswith("\0") for text in texts):
        raise UsageError("--to npz: cannot hold an id that ends in a zero byte; use --to csv")
    return np.array(texts)


def write_csv(run: FactorRun, folder: Path) -> None:
    """``users.csv`` and ``items.csv``: ids, numbers of ratings trained on, and the posterior means
    and standard deviations of the biases, on the scale of the ratings."""
    data, deviation = run.data(), run.scale().deviation
    training = data.training
    sums = {side: np.zeros((2, len(training.counts(side)))) for side in ("users", "items")}
    n = 0
    for state in states_of(run):
        n += 1
        for side, (total, squares) in sums.items():
            biases = getattr(state, side)[:, -1].astype(np.float64)
            total += biases
            squares += biases**2
    for side, ids in (("users", data.user_ids), ("items", data.item_ids)):
        total, squares = sums[side]
        spread = np.sqrt(np.maximum(squares / n - (total / n) ** 2, 0)) * deviation
        means, counts = total / n * deviation, training.counts(side)
        with (folder / f"{side}.csv").open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow((side[:-1], "ratings", "bias", "sd"))
            for i in range(len(ids)):
                writer.writerow((ids[i], counts[i], f"{means[i]:.6g}", f"{spread[i]:.6g}"))
