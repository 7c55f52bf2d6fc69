"""Slow twins of the assignment kernels: loops over tokens, float32 NumPy, the same random words."""

from itertools import pairwise, product

import numpy as np
from naive import philox
from scipy.special import gammaln

F = np.float32


def uniform(key, i, sweep, doc, last):
    """The uniform of the i-th token: 16 consecutive counters serve 64 tokens, word by word."""
    block, place = divmod(i, 64)
    words = philox(key, 16 * block + place % 16, sweep, doc, last)
    return F(words[place // 16] >> 8) * F(2.0**-24)


def expected_counts(document, phi, alpha):
    """E[n_wk] (W, K) of a document's tokens given φ (W, K), over all their assignments."""
    n_words, n_topics = phi.shape
    weights, sums = 0.0, np.zeros((n_words, n_topics))
    for z in product(range(n_topics), repeat=len(document)):
        used, weight, counts = np.zeros(n_topics), 1.0, np.zeros_like(sums)
        for w, k in zip(document, z, strict=True):
            weight *= (alpha + used[k]) * phi[w, k]
            used[k] += 1
            counts[w, k] += 1
        weights, sums = weights + weight, sums + weight * counts
    return sums / weights


def table(weights):
    """Sums over blocks in each lane (blocks, 16), and their sums over lanes in written order."""
    sums = np.cumsum(weights.reshape(-1, 16), axis=0, dtype=F)
    lanes = sums[-1].copy()
    for source in (
        [i - 1 if i % 4 >= 1 else -1 for i in range(16)],
        [i - 2 if i % 4 >= 2 else -1 for i in range(16)],
        [i // 8 * 8 + 3 if i % 8 >= 4 else -1 for i in range(16)],
        [7 if i >= 8 else -1 for i in range(16)],
    ):
        lanes = lanes + np.where(np.array(source) < 0, F(0), lanes[source])
    return sums, lanes


def pick(sums, lanes, target):
    lane = int(np.sum(lanes <= target))
    if lane == 16:
        return -1
    rest = target - (lanes[lane - 1] if lane else F(0))
    block = int(np.sum(sums[:, lane] <= rest))
    return 16 * block + lane if block < len(sums) else -1


def gibbs(batch, phi_rows, alpha, sweeps, burn_in, key, update):
    """Sums of one-hot assignments over kept sweeps by word and by document, and the last z."""
    word_topic = np.zeros(phi_rows.shape, int)
    doc_topic = np.zeros((batch.n_docs, len(alpha)), int)
    last = []
    for d, doc in enumerate(batch.doc_ids):
        tokens = batch.tokens[batch.offsets[d] : batch.offsets[d + 1]]
        counts = np.zeros(len(alpha), F)
        z = [0] * len(tokens)
        for sweep in range(sweeps + 1):
            for i, row in enumerate(tokens):
                if sweep:
                    counts[z[i]] -= 1
                    weights = (counts + alpha) * phi_rows[row]
                else:
                    weights = alpha * phi_rows[row]
                sums, lanes = table(weights)
                z[i] = pick(sums, lanes, uniform(key, i, sweep, int(doc), update) * lanes[-1])
                counts[z[i]] += 1
                if sweep > burn_in:
                    word_topic[row, z[i]] += 1
                    doc_topic[d, z[i]] += 1
        last += z
    return word_topic, doc_topic, np.array(last)


def collapsed(offsets, tokens, z, n_words, alpha, beta, key, sweep, last=0, frozen=False):
    """z after one sweep; every token is taken out of the counts and drawn, in double precision.
    beta is one number or (n_words, K). If frozen, the counts of words are those of before the
    sweep."""
    z = z.astype(int)
    beta = np.broadcast_to(beta, (n_words, len(alpha)))
    start = np.zeros((n_words, len(alpha)))
    np.add.at(start, (tokens, z), 1)
    word_topic = start.copy()
    for d in range(len(offsets) - 1):
        here = slice(offsets[d], offsets[d + 1])
        counts = np.bincount(z[here], minlength=len(alpha)).astype(float)
        for i in range(offsets[d], offsets[d + 1]):
            old, word = z[i], tokens[i]
            counts[old] -= 1
            if frozen:
                word_topic = start.copy()
            word_topic[word, old] -= 1
            weights = (counts + alpha) * (word_topic[word] + beta[word])
            weights /= (word_topic + beta).sum(axis=0)
            order = np.arange(len(alpha)).reshape(-1, 16).T.ravel()  # lane by lane
            u = float(uniform(key, i - offsets[d], sweep, d, last))
            edges = np.cumsum(weights[order])
            z[i] = order[np.searchsorted(edges, u * edges[-1], side="right")]
            counts[z[i]] += 1
            word_topic[word, z[i]] += 1
    return z


def log_joint(offsets, tokens, z, n_words, alpha, beta):
    """log p(w, z) with φ and η integrated out, up to a constant; beta is one number or (W, K)."""
    word_topic = np.zeros((n_words, len(alpha)))
    np.add.at(word_topic, (tokens, z), 1)
    total = gammaln(word_topic + beta).sum()
    total -= gammaln((word_topic + beta).sum(axis=0)).sum()
    for first, end in pairwise(offsets):
        total += gammaln(np.bincount(z[first:end], minlength=len(alpha)) + alpha).sum()
    return total


def enumerate_collapsed(offsets, tokens, n_words, alpha, beta):
    """Every z of a tiny corpus, as (K^T, T), and its posterior probability."""
    states = np.array(list(product(range(len(alpha)), repeat=len(tokens))))
    logs = np.array([log_joint(offsets, tokens, z, n_words, alpha, beta) for z in states])
    weights = np.exp(logs - logs.max())
    return states, weights / weights.sum()


def enumerate_given_phi(phi, alpha):
    """Every z of one document with rows phi (T, K), and p(z | w, φ) with η integrated out."""
    states = np.array(list(product(range(len(alpha)), repeat=len(phi))))
    logs = np.log(phi)[np.arange(len(phi)), states].sum(axis=1)
    counts = np.array([np.bincount(z, minlength=len(alpha)) for z in states])
    logs += gammaln(counts + alpha).sum(axis=1)
    weights = np.exp(logs - logs.max())
    return states, weights / weights.sum()
