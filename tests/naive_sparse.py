"""Slow twin of the assignment kernel for many topics: lists of slots, float32 NumPy, the same
random words, and the same sums in the same order."""

import numpy as np
from naive_gibbs import F, pick, table, uniform


def running(values):
    return np.cumsum(values, dtype=F)


def lanes(weights):
    """Sums over 16 lanes, in the order of `naive_gibbs.table`."""
    return table(weights)[1]


class Tree:
    """The weights α_k φ_kw of one word; running sums over blocks of 16, and groups of 16 blocks."""

    def __init__(self, weights):
        self.weights = weights
        blocks = np.array([lanes(block)[-1] for block in weights.reshape(-1, 16)])
        self.blocks = [running(blocks[i : i + 16]) for i in range(0, len(blocks), 16)]
        self.groups = running(np.array([sums[-1] for sums in self.blocks]))

    def draw(self, rest):
        group = int(np.sum(self.groups <= rest))
        if group == len(self.groups):
            return -1
        rest = rest - (self.groups[group - 1] if group else F(0))
        block = int(np.sum(self.blocks[group] <= rest))
        rest = rest - (self.blocks[group][block - 1] if block else F(0))
        start = min(256 * group + 16 * block, len(self.weights) - 16)
        lane = int(np.sum(lanes(self.weights[start : start + 16]) <= rest))
        return start + lane if lane < 16 and self.weights[start + lane] > 0 else -1


class Document:
    """Counts of topics, in the order in which they got their slots."""

    def __init__(self):
        self.counts = {}
        self.room = 0

    def add(self, topic):
        self.counts[topic] = self.counts.get(topic, F(0)) + F(1)

    def compact(self):
        self.counts = {topic: n for topic, n in self.counts.items() if n > 0}

    def make_room(self):
        n = len(self.counts)
        self.room = -(-(n + n // 8 + 4) // 16) * 16

    def weights(self, phi):
        padding = np.zeros(-len(self.counts) % 16, F)
        return np.r_[np.array([n * phi[k] for k, n in self.counts.items()], F), padding]


def sparse(batch, phi_rows, alpha, sweeps, burn_in, key, update, z=None):
    """Sums of one-hot assignments over kept sweeps by word and by document, and the last z."""
    word_topic = np.zeros(phi_rows.shape, int)
    doc_topic = np.zeros((batch.n_docs, len(alpha)), int)
    trees = [Tree(alpha * row) for row in phi_rows]
    last = []
    for d, doc in enumerate(batch.doc_ids):
        here = slice(batch.offsets[d], batch.offsets[d + 1])
        tokens = batch.tokens[here]
        if z is None:
            u = [uniform(key, i, 0, int(doc), update) for i in range(len(tokens))]
            topics = [trees[w].draw(u[i] * trees[w].groups[-1]) for i, w in enumerate(tokens)]
        else:
            topics = [int(k) for k in z[here]]
        document = Document()
        for topic in topics:
            document.add(topic)
        document.make_room()
        pending = None
        for sweep in range(1, sweeps + 1):
            for i, w in enumerate(tokens):
                if len(document.counts) == document.room or i % 64 == 0:
                    document.compact()
                    document.make_room()
                if pending is not None:
                    document.add(pending)
                document.counts[topics[i]] -= F(1)
                sums, by_lane = table(document.weights(phi_rows[w]))
                own = by_lane[-1]
                target = uniform(key, i, sweep, int(doc), update) * (own + trees[w].groups[-1])
                if target < own:
                    slot = pick(sums, by_lane, target)
                    new = list(document.counts)[slot] if slot >= 0 else -1
                else:
                    new = trees[w].draw(target - own)
                pending = topics[i] = new if new >= 0 else topics[i]
                if sweep > burn_in:
                    word_topic[w, pending] += 1
                    doc_topic[d, pending] += 1
        last += topics
    return word_topic, doc_topic, np.array(last)


def redraw(offsets, tokens, z, word_topic, totals, alpha, beta, key, update):
    """z after one sweep under counts as they were before it, each token without its own, in double
    precision: the topics of the document come first, lane by lane of their slots, then all. beta is
    one number or (W, K)."""
    z = z.astype(int)
    beta = np.broadcast_to(beta, word_topic.shape)
    for d in range(len(offsets) - 1):
        document = Document()
        here = range(offsets[d], offsets[d + 1])
        for i in here:
            document.add(z[i])
        document.make_room()
        for i in here:
            if len(document.counts) == document.room or (i - here.start) % 64 == 0:
                document.compact()
                document.make_room()
            if i > here.start:
                document.add(z[i - 1])
            document.counts[z[i]] -= F(1)
            itself = np.arange(len(alpha)) == z[i]
            phi = word_topic[tokens[i]] - itself + beta[tokens[i]]
            phi = phi / (totals - itself + beta.sum(axis=0))
            slots = np.r_[list(document.counts), np.full(-len(document.counts) % 16, -1)]
            slots = slots.reshape(-1, 16).T.ravel()
            slots = slots[slots >= 0]
            own = np.array([document.counts[k] * phi[k] for k in slots])
            edges = np.cumsum(np.r_[own, alpha * phi])
            u = float(uniform(key, i - here.start, 1, d, update))
            z[i] = np.r_[slots, np.arange(len(alpha))][
                np.searchsorted(edges, u * edges[-1], side="right")
            ]
    return z
