"""The memory that training factors takes: what its processes hold at the same time at most.

Each process has all ratings, as they were read and standardised. While its workers are made ready
it holds most of them; then come the chains, and what samples predict of held-out ratings. What
reading the file takes is over by then. An estimator holds all samples in the end.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from topicmc.host.machine import MPI, PROGRAM
from topicmc.models.factors.data import RatingData
from topicmc.models.factors.settings import Resolved

_READ = 13  # bytes of a rating: user, item, value, and whether it is held out
_READY = 36  # of one to train on, while it is standardised, and sorted or shared out
_TRAINED = {True: 28, False: 12}  # of one in training; Gibbs has them by user and by item, too
_SCORED = 40  # of a held-out one, while it is predicted
_ID = 20  # of a user or an item


class Sizes(NamedTuple):
    """What of some ratings decides how much memory training takes."""

    n_users: int
    n_items: int
    training: int
    heldout: int


class Term(NamedTuple):
    """Some bytes, what they are, and what makes them fewer."""

    n_bytes: float
    name: str
    remedy: str


def sizes_of(data: RatingData) -> Sizes:
    """The sizes of some ratings."""
    heldout = int(data.heldout.sum())
    return Sizes(data.ratings.n_users, data.ratings.n_items, len(data.heldout) - heldout, heldout)


def needed(
    config: Resolved, sizes: Sizes, hosted: int, local: int = 1, *, keeps_all: bool = False
) -> int:
    """Bytes that the ``local`` processes of one machine need at most, if each hosts so many of
    ``config.workers``, and in the end holds all samples if it ``keeps_all``."""
    program = PROGRAM + (MPI if hosted < config.workers else 0)
    held = sum(term.n_bytes for term in most_held(config, sizes, hosted, keeps_all))
    return round(local * (program + held))


def most_held(
    config: Resolved, sizes: Sizes, hosted: int, keeps_all: bool = False
) -> tuple[Term, ...]:
    """What a process holds at the moment at which it holds most."""
    moments = [_made_ready(sizes), _in_training(config, sizes, hosted)]
    if keeps_all:
        moments.append(_in_the_end(config, sizes))
    return max(moments, key=lambda terms: sum(term.n_bytes for term in terms))


def _of_ratings(sizes: Sizes, more: float = 0.0) -> Term:
    """The ratings as they were read, and ``more`` bytes that are made of them."""
    read = _READ * (sizes.training + sizes.heldout) + _ID * (sizes.n_users + sizes.n_items)
    return Term(read + more, "the ratings", "train on fewer")


def _made_ready(sizes: Sizes) -> tuple[Term, ...]:
    return (_of_ratings(sizes, _READY * sizes.training),)


def _in_the_end(config: Resolved, sizes: Sizes) -> tuple[Term, ...]:
    kept = 1 if config.sampler == "sgd" else config.samples
    state = 4.0 * (sizes.n_users + sizes.n_items) * (config.factors + 1)
    held = config.chains * kept * state
    return _of_ratings(sizes), Term(held, "the samples", "keep fewer --samples")


def _in_training(config: Resolved, sizes: Sizes, hosted: int) -> tuple[Term, ...]:
    gibbs, whole = config.sampler == "gibbs", config.split == "none"
    rows, width = sizes.n_users + sizes.n_items, config.factors + 1
    share = 1 if whole else hosted / config.workers

    parts = math.isqrt(config.workers) if config.split == "square" else 1
    chain = rows * (4 * width + 8)  # and when each row was moved
    factors = chain * min(config.chains * parts, hosted) / parts
    if hosted < config.workers and not whole:
        factors += chain / parts  # the one that was sent off last
    # What is read, as it is gathered if it is in parts; one side of it in float64.
    factors += chain if parts == 1 else 8 * rows * width * config.chains
    factors += 8 * width * max(sizes.n_users, sizes.n_items)
    factors += 16 * rows  # their rates, and the numbers of ratings that these follow from
    if not gibbs:
        rated = sum(min(config.batch_size, n) for n in (sizes.n_users, sizes.n_items))
        factors += hosted * (4 * rows / parts + 4 * width * rated)  # rows of a minibatch

    each = hosted / config.workers
    kept = 0 if config.sampler == "sgd" else config.samples
    predicted = 4 * kept * config.chains * each * sizes.heldout
    predicted += (12 * (1 + each) + _SCORED) * sizes.heldout
    return (
        _of_ratings(sizes, _TRAINED[gibbs] * sizes.training * share),
        Term(factors, "the factors", "use fewer --factors or --chains"),
        Term(predicted, "what samples predict of held-out ratings", "keep fewer --samples"),
    )
