"""Who takes part. A row here, or `--ours NAME=OPTIONS`, is all that a further contender needs."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Contender:
    """One way to train topics.

    Attributes:
        name: in results, tables and pictures.
        package: whose distribution must be installed.
        trainer: the module whose ``train`` trains it, see `measure`.
        options: keyword arguments of that function.
        by_budget: it cannot be stopped and continued, or is asked not to be: what is scored for a
            budget is a run of its own, or one that was ended and gone on with.
        blas: threads of its numerical libraries; None: as many as the contender may use. Those
            that bring their own workers get one, or they would fight over the cores.
    """

    name: str
    package: str
    trainer: str
    options: dict[str, Any] = field(default_factory=dict)
    by_budget: bool = False
    blas: int | None = 1


def ours(name: str, options: str) -> Contender:
    """topicmc with these options of `topicmc train`."""
    arguments = {"options": shlex.split(options)}
    return Contender(name, "topicmc", "ours", arguments, by_budget=True)


def _tomotopy(name: str, learn: bool) -> Contender:
    return Contender(name, "tomotopy", "peer_tomotopy", {"learn": learn})


def _topica(name: str, sampler: str, learn: bool) -> Contender:
    arguments = {"sampler": sampler, "learn": learn}
    return Contender(name, "topica", "peer_topica", arguments, by_budget=True)


def _gensim(name: str, learn: bool) -> Contender:
    return Contender(name, "gensim", "peer_gensim", {"learn": learn}, blas=None if learn else 1)


CONTENDERS = {
    contender.name: contender
    for contender in (
        ours("topicmc-auto", "--sampler auto"),
        ours("topicmc-scir", "--sampler scir"),
        ours("topicmc-minibatch", "--sampler scir --no-remember"),
        ours("topicmc-sgrld", "--sampler sgrld"),
        ours("topicmc-adlda", "--sampler adlda"),
        _tomotopy("tomotopy", learn=False),
        _topica("topica", "sparse", learn=False),
        _topica("topica-warp", "warp", learn=False),
        _gensim("gensim", learn=False),
        Contender("sklearn", "scikit-learn", "peer_sklearn"),
        ours("topicmc-alpha", "--sampler auto --learn alpha"),
        _tomotopy("tomotopy-alpha", learn=True),
        _topica("topica-alpha", "sparse", learn=True),
        _gensim("gensim-alpha", learn=True),
    )
}
