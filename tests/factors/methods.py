"""Chains of matrix factorisation as the engine moves them, without a run."""

import numpy as np

from topicmc.engine.dsgld import Dsgld
from topicmc.engine.transport.local import LocalTransport
from topicmc.kernels.threads import Threads
from topicmc.models.factors.chains import FactorChains
from topicmc.models.factors.ratings import Ratings
from topicmc.models.factors.settings import FactorConfig, resolve


def some_ratings(n_users, n_items, n, seed=0, even=False):
    """n different cells, rated by chance; unless ``even``, some users and items more often."""
    generator = np.random.default_rng(seed)
    weights = np.outer(*(generator.exponential(size=size) for size in (n_users, n_items))).ravel()
    if even:
        weights[:] = 1
    cells = generator.choice(len(weights), n, replace=False, p=weights / weights.sum())
    users, items = np.divmod(cells, n_items)
    values = generator.normal(size=n).astype(np.float32)
    return Ratings(users.astype(np.int32), items.astype(np.int32), values, n_users, n_items)


def method_of(ratings, **settings) -> Dsgld:
    """D-SGLD of standardised ratings, all workers in this process."""
    config = resolve(FactorConfig(**{"threads": 1, "balance": False, **settings}), len(ratings), 1)
    transport = LocalTransport(config.workers)
    target = FactorChains(config, ratings, transport, Threads(config.threads))
    return Dsgld(target, config, transport)


def predictions(state, ratings):
    """What a state predicts of the cells of some ratings, float64 (n,)."""
    u, v = state.users[ratings.users].astype(float), state.items[ratings.items].astype(float)
    return np.einsum("nk,nk->n", u[:, :-1], v[:, :-1]) + u[:, -1] + v[:, -1]
