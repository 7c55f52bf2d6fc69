"""What ranks are taken of: functions of a state and the data that do not depend on how topics are
numbered. Modrák et al. (2023): the choice decides which errors can be seen; the joint density and
functions of the data see most.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from calibration.models import Model, State, TinyCorpus, picked

NAMES = (
    "log joint",
    "held-out log likelihood",
    "largest share",
    "smallest share",
    "Σφ₀φ₁",
    "Σφ₂φ₂",
)
N_PAIRS = 40


def held_out(model: Model, phi: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Documents of two words drawn given topics: int64 (N_PAIRS, 2).

    They must come from a further state of the chain. Drawn from the truth, they would favour it,
    and its ranks would not be uniform, however good the sampler.
    """
    mixes = generator.dirichlet(np.full(model.n_topics, model.alpha), N_PAIRS)
    words = [picked(phi[picked(mixes, generator)], generator) for _ in range(2)]
    return np.stack(words, axis=1)


def quantities(
    model: Model, corpus: TinyCorpus, pairs: np.ndarray, states: list[State]
) -> np.ndarray:
    """The quantities named in `NAMES` of some states: float64 (n states, n quantities).

    The log likelihood of two words is exact, η integrated out: log Σ_kl E[η_k η_l] φ_kv φ_lw.
    """
    phi = np.maximum(np.array([state.phi for state in states]), 1e-300)
    z = np.array([state.z for state in states])
    n, n_topics, n_words = phi.shape
    row = np.arange(n)[:, None]
    of_words = np.zeros((n, n_topics, n_words))
    np.add.at(of_words, (row, z, corpus.tokens), 1)
    of_docs = np.zeros((n, corpus.n_docs, n_topics))
    np.add.at(of_docs, (row, corpus.doc_of, z), 1)
    log_joint = ((of_words + model.beta - 1) * np.log(phi)).sum(axis=(1, 2))
    log_joint += gammaln(of_docs + model.alpha).sum(axis=(1, 2))
    mass = n_topics * model.alpha
    second = model.alpha * (model.alpha + np.eye(n_topics)) / (mass * (mass + 1))
    together = np.einsum("nkv,kl,nlw->nvw", phi, second, phi)
    log_likelihood = np.log(together[:, pairs[:, 0], pairs[:, 1]]).sum(axis=1)
    share = of_words.sum(axis=2) / corpus.n_tokens
    return np.stack(
        [
            log_joint,
            log_likelihood,
            share.max(axis=1),
            share.min(axis=1),
            (phi[:, :, 0] * phi[:, :, 1]).sum(axis=1),
            (phi[:, :, 2] ** 2).sum(axis=1),
        ],
        axis=1,
    )
