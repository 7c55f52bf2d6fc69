"""How the topics of a kept state are stored: counts as whole numbers, weights in two bytes.

Where assignments are kept, θ_wk = n_kw + b_kw, and most n_kw are zero: the others are stored
exactly, word by word. Other weights are stored by their logarithms on a grid of 65,536 steps, which
is uniform in relative error. The posterior's own relative noise of a weight that n tokens speak for
is n^−1/2, so rounding by a step δ adds the share n δ² / 12 to its variance. Where that would exceed
`TOLERATED` the weights are stored as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from topicmc.corpora.offsets import offsets as offsets_of
from topicmc.samplers.row_prior import Additions, RowPrior

SPAN = 40.0
"""Natural logarithm of the largest weight over the least that is told from smaller ones."""
TOLERATED = 0.01
"""Share of a weight's variance that rounding may add."""
_STEPS = 65_535
_STEP = SPAN / _STEPS
MOST_TOKENS = 12 * TOLERATED / _STEP**2
"""That may speak for one weight where weights are stored in two bytes."""
_ENTRIES = 1 << 18  # looked at together
Arrays = dict[str, np.ndarray]


def encode_counts(theta: np.ndarray, prior: RowPrior) -> Arrays:
    """θ float32 (W, K), which is b_kw + n_kw: int64 ``offsets`` (W + 1,), and for each word the
    ``topics`` that it has and its ``counts`` n_kw there, of the least unsigned types."""
    n_words, n_topics = theta.shape
    sizes, topics, counts = [], [], []
    for words in _parts(n_words, n_topics):
        rest = theta[words] - np.float32(prior.base)
        if prior.additions is not None:
            rest -= prior.additions.of(words)
        rest = rest.reshape(-1)
        places = np.flatnonzero(rest > 0.5)  # of a token or more: a large prior is rounded
        rows = places // n_topics
        sizes.append(np.bincount(rows, minlength=words.stop - words.start))
        topics.append((places - rows * n_topics).astype(np.min_scalar_type(n_topics - 1)))
        counts.append(np.rint(rest[places]).astype(np.uint32))
    found = np.concatenate(counts)
    return {
        "shape": np.array(theta.shape),
        "beta": np.array(prior.base),
        "offsets": offsets_of(np.concatenate(sizes)),
        "topics": np.concatenate(topics),
        "counts": found.astype(np.min_scalar_type(int(found.max(initial=0)))),
    }


def encode_weights(theta: np.ndarray, most_tokens: float = np.inf) -> Arrays:
    """θ float32 (W, K), positive, as ``codes`` uint16 with θ = exp(low + step · code); or as it is,
    where the ``most_tokens`` that speak for one weight tell more than codes can."""
    largest = float(theta.max(initial=0))
    if most_tokens > MOST_TOKENS or not 0 < largest < np.inf:
        return {"theta": theta}
    low = np.log(largest) - SPAN
    codes = np.empty(theta.shape, np.uint16)
    with np.errstate(divide="ignore"):
        for part in _parts(*theta.shape):
            logs = np.log(theta[part])
            logs -= np.float32(low)
            logs /= np.float32(_STEP)
            codes[part] = np.rint(np.clip(logs, 0, _STEPS))
    return {"codes": codes, "low": np.array(low), "step": np.array(_STEP)}


def decode(
    arrays: Mapping[str, np.ndarray],
    shape: tuple[int | None, int | None] = (None, None),
    additions: Additions | None = None,
) -> np.ndarray:
    """θ float32 (W, K) of what either made, W and K as in ``shape`` where they are known, and the
    prior of counts with these ``additions``; KeyError or ValueError when damaged, before memory is
    taken for it."""
    if "theta" in arrays:
        return arrays["theta"]
    if "codes" in arrays:
        codes = arrays["codes"]
        _expect(codes.dtype == np.uint16 and codes.ndim == 2, "codes")
        low, step = (_scalar(arrays, name) for name in ("low", "step"))
        with np.errstate(over="ignore"):  # who reads it refuses weights that are not finite
            levels = np.exp(low + step * np.arange(_STEPS + 1)).astype(np.float32)
        theta = np.empty(codes.shape, np.float32)
        for part in _parts(*codes.shape):
            theta[part] = levels[codes[part]]
        return theta
    offsets, topics, counts = (arrays[name] for name in ("offsets", "topics", "counts"))
    n_words, n_topics = _checked_shape(arrays, shape)
    theta = np.full((n_words, n_topics), _scalar(arrays, "beta"), np.float32)
    for words in _parts(n_words, n_topics):
        rows = np.repeat(
            np.arange(words.start, words.stop), np.diff(offsets[words.start : words.stop + 1])
        )
        part = slice(offsets[words.start], offsets[words.stop])
        theta[rows, topics[part]] += counts[part].astype(np.float32)
    if additions is not None:
        additions.add_to(theta)
    return theta


def _checked_shape(
    arrays: Mapping[str, np.ndarray], known: tuple[int | None, int | None]
) -> tuple[int, int]:
    """W and K of stored counts; ValueError unless all arrays fit them."""
    offsets, topics, counts = (arrays[name] for name in ("offsets", "topics", "counts"))
    _expect(arrays["shape"].dtype.kind in "iu" and arrays["shape"].shape == (2,), "shape")
    n_words, n_topics = (int(n) for n in arrays["shape"])
    fits = zip((n_words, n_topics), known, strict=True)
    _expect(all(n == wanted or (wanted is None and n > 0) for n, wanted in fits), "shape")
    _expect(topics.ndim == counts.ndim == 1 and len(topics) == len(counts), "counts")
    _expect(topics.dtype.kind == counts.dtype.kind == "u", "counts")
    _expect(len(topics) == 0 or int(topics.max()) < n_topics, "topics")
    _expect(offsets.dtype == np.int64 and offsets.shape == (n_words + 1,), "offsets")
    rise = (offsets[1:] >= offsets[:-1]).all()  # differences may wrap
    _expect(bool(rise) and offsets[0] == 0 and int(offsets[-1]) == len(topics), "offsets")
    return n_words, n_topics


def _parts(n_words: int, n_topics: int) -> Iterator[slice]:
    """The words, some at a time: what is worked on stays small beside θ."""
    step = max(1, _ENTRIES // max(1, n_topics))
    for first in range(0, n_words, step):
        yield slice(first, min(first + step, n_words))


def _scalar(arrays: Mapping[str, np.ndarray], name: str) -> float:
    array = arrays[name]
    _expect(array.shape == () and array.dtype.kind in "fiu" and bool(np.isfinite(array)), name)
    return float(array)


def _expect(fits: bool, name: str) -> None:
    if not fits:
        raise ValueError(f"{name} cannot be what was written")
