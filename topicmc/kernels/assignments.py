"""Topic assignments given the topics φ, or counts, by the kernel that is cheapest.

All draw from the same conditional, exactly. The dense one reads a whole row of φ for each draw; the
sparse one the topics that the document has, and what it costs to keep them apart. Where words come
up often enough, they are drawn in the order of words.
"""

from typing import Any

import numpy as np

from topicmc.kernels import by_word_batch, gibbs, sparse
from topicmc.kernels.batch import Minibatch, check_lengths
from topicmc.kernels.gibbs import UNASSIGNED, Assignments
from topicmc.kernels.threads import Threads

# Measured by bench/crossover.py. In documents that start afresh nearly each token has a topic of
# its own at first, for which the sparse kernel pays; under counts, trees last for a block only.
_MANY_TOPICS = {"remembered": 384, "afresh": 640, "counts": 1536}


def is_sparse(n_topics: int, way: str) -> bool:
    """Whether the sparse kernel is the cheaper one, when tokens start from φ ("afresh") or from
    "remembered" topics, or are drawn under "counts"."""
    return n_topics > _MANY_TOPICS[way]


def sample_assignments(
    batch: Minibatch,
    phi_rows: np.ndarray,
    alpha: np.ndarray,
    *,
    sweeps: int,
    burn_in: int,
    key: np.uint64,
    update: int,
    threads: Threads,
    want_word_topic: bool = True,
    want_doc_topic: bool = False,
    z: np.ndarray | None = None,
) -> Assignments:
    """As `gibbs.sample_assignments`; which kernel draws depends on the arguments alone, not on
    threads or time. Raises DataError as `check_lengths`."""
    check_lengths(np.diff(batch.offsets))
    options: dict[str, Any] = {
        "sweeps": sweeps, "burn_in": burn_in, "key": key, "update": update, "threads": threads,
        "want_word_topic": want_word_topic, "want_doc_topic": want_doc_topic, "z": z,
    }  # fmt: skip
    if by_word_batch.pays(batch, phi_rows.shape[1], sweeps):
        return by_word_batch.sample_assignments(batch, phi_rows, alpha, **options)
    remembered = z is not None and 2 * int(np.count_nonzero(z == UNASSIGNED)) < len(z)
    many = is_sparse(phi_rows.shape[1], "remembered" if remembered else "afresh")
    draw = sparse.sample_assignments if many else gibbs.sample_assignments
    return draw(batch, phi_rows, alpha, **options)


def redraw(
    docs: np.ndarray,
    offsets: np.ndarray,
    tokens: np.ndarray,
    z: np.ndarray,
    word_topic: np.ndarray,
    *rest: Any,
    **options: Any,
) -> None:
    """As `gibbs.redraw`; which kernel draws depends on the number of topics alone."""
    draw = sparse.redraw if is_sparse(word_topic.shape[1], "counts") else gibbs.redraw
    draw(docs, offsets, tokens, z, word_topic, *rest, **options)
