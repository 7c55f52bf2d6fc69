"""Topic assignments of a minibatch given the topics φ: Gibbs sampling with η integrated out,

    p(z_di = k | …) ∝ (α_k + n_dk^{−i}) φ_kw        (Ahn thesis, Eqn 6.3).
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from topicmc.kernels.batch import Minibatch
from topicmc.kernels.random import philox
from topicmc.kernels.threads import Threads

LANES = 16
UNASSIGNED = np.uint16(0xFFFF)


class Assignments(NamedTuple):
    """Sums over the kept sweeps; divide by ``scale`` for the means E[n_kw] and E[n_dk]."""

    word_topic: np.ndarray  # int32 (B, Kp)
    doc_topic: np.ndarray | None  # int32 (n, Kp)
    scale: float


def topic_rows(theta: np.ndarray, topic_sums: np.ndarray, words: np.ndarray) -> np.ndarray:
    """φ_kw = θ_wk / Σ_w θ_wk for the given words: float32 (B, Kp), zero in the padding."""
    n_topics = theta.shape[1]
    rows = np.zeros((len(words), -(-n_topics // LANES) * LANES), np.float32)
    rows[:, :n_topics] = theta[words] * (1.0 / topic_sums).astype(np.float32)
    return rows


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
) -> Assignments:
    n_padded = phi_rows.shape[1]
    word_topic = np.zeros(phi_rows.shape, np.int32)
    doc_topic = np.zeros((batch.n_docs, n_padded), np.int32)
    _sweep_plain(
        batch.doc_ids, batch.offsets, batch.tokens, phi_rows, alpha, sweeps, burn_in,
        key, update, word_topic, doc_topic,
    )
    return Assignments(word_topic, doc_topic if want_doc_topic else None, float(sweeps - burn_in))


@njit(nogil=True, cache=True)
def _sweep_plain(
    doc_ids, offsets, tokens, phi, alpha, sweeps, burn_in, key, update, word_topic, doc_topic
):
    n_padded = phi.shape[1]
    cum = np.empty(n_padded, np.float32)
    counts = np.empty(n_padded, np.float32)
    z = np.empty(len(tokens), np.uint16)
    scale = np.float32(2.0**-24)
    for d in range(len(doc_ids)):
        counts[:] = 0
        for sweep in range(sweeps + 1):
            for i in range(offsets[d], offsets[d + 1]):
                j = i - offsets[d]
                if sweep > 0:
                    counts[z[i]] -= np.float32(1)
                row = phi[tokens[i]]
                total = np.float32(0)
                for k in range(n_padded):
                    if sweep > 0:
                        total += (counts[k] + alpha[k]) * row[k]
                    else:
                        total += alpha[k] * row[k]
                    cum[k] = total
                x = philox(key, j, sweep, doc_ids[d], update)
                target = np.float32(np.uint32(x[0]) >> np.uint32(8)) * scale * total
                k = 0
                while k < n_padded - 1 and cum[k] <= target:
                    k += 1
                z[i] = k
                counts[k] += np.float32(1)
                if sweep > burn_in:
                    word_topic[tokens[i], k] += 1
                    doc_topic[d, k] += 1
