"""Topic assignments of a minibatch given the topics φ, by the kernel that is cheaper.

Both draw from the same conditional, exactly. The dense one reads a whole row of φ for each draw;
the sparse one the topics that the document has, and what it costs to keep them apart.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from topicmc.kernels import gibbs, sparse
from topicmc.kernels.batch import Minibatch
from topicmc.kernels.gibbs import UNASSIGNED, Assignments
from topicmc.kernels.threads import Threads

# Measured by bench/crossover.py. Documents that start afresh have many topics at first, each
# token its own, and the sparse kernel pays for them.
_MANY_TOPICS = 512
_TOPICS_PER_TOKEN = 4


def cheaper(
    n_topics: int, tokens_per_document: float, *, remembered: bool
) -> Callable[..., Assignments]:
    """The function of `gibbs` or `sparse` that takes less time for documents of that length, whose
    tokens start from φ or from remembered topics."""
    afresh = 0 if remembered else _TOPICS_PER_TOKEN * tokens_per_document
    if n_topics > max(_MANY_TOPICS, afresh):
        return sparse.sample_assignments
    return gibbs.sample_assignments


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
    want_doc_topic: bool = False,
    z: np.ndarray | None = None,
    rao_blackwell: bool = False,
) -> Assignments:
    """As `gibbs.sample_assignments`, which also does what the sparse kernel cannot: Rao-Blackwell.

    Which kernel draws depends on the arguments alone, not on threads or time.
    """
    options: dict[str, Any] = {
        "sweeps": sweeps, "burn_in": burn_in, "key": key, "update": update, "threads": threads,
        "want_doc_topic": want_doc_topic, "z": z,
    }  # fmt: skip
    if rao_blackwell:
        return gibbs.sample_assignments(batch, phi_rows, alpha, rao_blackwell=True, **options)
    remembered = z is not None and 2 * int(np.count_nonzero(z == UNASSIGNED)) < len(z)
    length = batch.n_tokens / max(1, batch.n_docs)
    draw = cheaper(phi_rows.shape[1], length, remembered=remembered)
    return draw(batch, phi_rows, alpha, **options)
