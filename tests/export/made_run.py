"""Runs whose samples are known: two chains, which number their topics differently; a prior that
differs from topic to topic; and words that formats could trip over."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from topicmc.export.source import Source
from topicmc.models.lda.run import TopicRun

ODD = {3: "naïve", 7: "new york", 11: "</script><b>", 13: 'a,"b', 17: "nan", 19: "NA"}
ALPHA = np.array([0.05, 0.1, 0.2, 0.8, 2.0])
BETAS = [[0.05, 0.06, 0.04, 0.07, 0.03, 0.08], [0.2, 0.3, 0.1, 0.25, 0.15, 0.35]]
"""The prior of the topics at each draw of each chain; the settings began with another."""
ORDER = np.array([2, 0, 4, 1, 3])
"""The topic of the first chain that each topic of the second is."""
N_DRAWS = 6


class Made(NamedTuple):
    """A run, and what its samples hold in the numbers of the first chain: φ (chains, draws, K, W),
    shares (chains, draws, K) and log-likelihoods (chains, evaluations)."""

    path: Path
    phi: np.ndarray
    share: np.ndarray
    fit: np.ndarray

    def source(self, **options) -> Source:
        return Source([TopicRun.open(self.path)], **options)


def make_run(corpus, path: Path, seed: int, heldout: bool = True) -> Made:
    """A run on ``corpus``, whose topics are those that its documents were drawn from."""
    phi = np.random.default_rng(1).dirichlet(np.full(corpus.n_words, 0.05), 5)
    generator = np.random.default_rng(seed)
    facts = {
        "config": {
            "topics": 5, "alpha": 0.1, "beta": 0.01, "seed": 3, "sampler": "scir", "samples": 8,
        },
        "corpus": {
            "path": str(corpus.path), "fingerprint": corpus.fingerprint,
            "documents": corpus.n_docs, "tokens": corpus.n_tokens,
        },
    }  # fmt: skip
    run = TopicRun.create(path, facts)
    words = [ODD.get(w, word) for w, word in enumerate(corpus.vocabulary)]
    run.update_facts(vocabulary=run.write_vocabulary(words))
    sizes = np.array([3000, 900, 4000, 2500, 1600])
    entries, phis, shares = [], [], []
    for chain, order in enumerate([np.arange(5), ORDER]):
        for draw, beta in enumerate(BETAS[chain]):
            theta = generator.gamma(phi.T * sizes + 0.05).astype(np.float32)
            share = generator.dirichlet(sizes.astype(float))
            entry = run.keep_sample(chain, 10 + draw, np.ascontiguousarray(theta[:, order]))
            facts = {"burn_in": False, "share": share[order].tolist()}
            entries.append({**entry, **facts, "alpha": ALPHA[order].tolist(), "beta": beta})
            phis.append((theta / theta.sum(axis=0, dtype=np.float64)).T)
            shares.append(share)
    run.write_sample_index(entries)
    fit = generator.normal(-6, 0.1, (20, 2))
    for number, scores in enumerate(fit):
        told = scores.tolist() if heldout else None
        run.append_metrics({"round": number, "seconds": 2.0 * number, "log_likelihood": told})
    by_chain = (2, N_DRAWS, 5)
    return Made(path, np.reshape(phis, (*by_chain, -1)), np.reshape(shares, by_chain), fit[10:].T)
