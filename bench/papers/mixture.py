"""Baker's Figure 5.5.1 b: mixtures of the users of a site, by SCIR and by SGRLD.

The anonymous web data of Microsoft (UCI): 32,711 users to train on and 5,000 to test, whose visits
are among 294 areas. As published (5.5.2, B.4, table B.5.3) minibatches have 1,000 users, chains
begin with groups drawn uniformly from the first K, and steps do not change. A step h of SGRLD is
half of the ε of `topicmc.kernels.mixture.langevin`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from topicmc.corpora import Documents
from topicmc.kernels import mixture as kernels
from topicmc.kernels.threads import Threads
from topicmc.models.mixture.evaluation import of_chain
from topicmc.models.mixture.settings import MixtureConfig, resolve
from topicmc.models.mixture.slices import RATE, SHAPE, SliceSampler
from topicmc.models.mixture.state import Mixture

PUBLISHED, UPDATES, EVERY = 1000, 4000, 20
FILES = "anonymous-msweb.data", "anonymous-msweb.test"


@dataclass(frozen=True)
class Method:
    """How a line of the figure is made: sampler, steps of words and of sticks, the prior a of
    words, and K at the start."""

    sampler: str
    words: float
    sticks: float
    base: float
    start: int
    released: bool = False
    counts: str = "minibatch"


_SCIR, _SGRLD = ("scir", 0.1, 0.1), ("sgrld", 2 * 0.001, 2 * 0.005)
METHODS = {
    "SCIR, a = 0.5 (published)": Method(*_SCIR, 0.5, 20),
    "SGRLD, a = 0.001 (published)": Method(*_SGRLD, 0.001, 30),
    "SGRLD, a = 0.001, released drift": Method(*_SGRLD, 0.001, 30, released=True),
    "SCIR, a = 0.001": Method(*_SCIR, 0.001, 30),
    "SGRLD, a = 0.5": Method(*_SGRLD, 0.5, 20),
    "SCIR, a = 0.5, counts of all": Method(*_SCIR, 0.5, 20, counts="all"),
}


class Published(SliceSampler):
    """With a step of its own for sticks, the published start, and the released drift if asked."""

    def __init__(self, documents: Documents, n_words: int, method: Method, seed: int) -> None:
        config = MixtureConfig(
            sampler=method.sampler, beta=method.base, counts=method.counts, seed=seed,
            batch_size=1000, step_size=method.words, moves_every=1_000_000,
        )  # fmt: skip
        super().__init__(documents, n_words, resolve(config, documents.n_docs, 1), Threads(1))
        self._method = method
        self._generator = np.random.default_rng(seed)

    def initial(self, index: int) -> Mixture:
        n, (docs, words) = self._method.start, (self._n_docs, self._n_words)
        groups = self._generator.integers(0, n, docs, np.int32)
        ones = np.ones(n), np.ones(n), np.ones((n, words))
        chain = Mixture(index, groups, 1.0, self._method.base, *ones)
        chain.count(self._documents)
        self._draw_given_groups(chain)
        return chain

    def _move(
        self, chain: Mixture, sizes: np.ndarray, words: np.ndarray, scale: float, number: np.uint32
    ) -> None:
        method, exact = self._method, self._method.sampler == "scir"
        key, word_key = self._key("sticks", chain), self._key("words", chain)
        if method.released:
            self._released(chain, sizes, method.sticks)
        else:
            kernels.move_sticks(
                chain.x, chain.y, sizes, chain.alpha, method.sticks, exact, key, number
            )
        kernels.move_words(
            chain.weights, words, scale, chain.beta, method.words, exact, word_key, number, 0,
            len(chain.x),
        )  # fmt: skip
        chain.alpha = kernels.draw_concentration(chain.x, chain.y, SHAPE, RATE, key, number)
        kernels.draw_totals(chain.x, chain.y, sizes, chain.alpha, key, number)

    def _released(self, chain: Mixture, sizes: np.ndarray, step: float) -> None:
        """The drift of the released program, which has v in both lines (docs/errata.md)."""
        after = sizes.sum() - np.cumsum(sizes)
        lost = chain.x / (chain.x + chain.y) * (sizes + after)
        for array, drift in (
            (chain.x, 1 - chain.x + sizes - lost),
            (chain.y, chain.alpha - chain.y + after - lost),
        ):
            noise = self._generator.normal(scale=np.sqrt(step * array))
            array[:] = np.maximum(np.abs(array + step / 2 * drift + noise), kernels.FLOOR)


def web(folder: Path) -> tuple[Documents, Documents, int]:
    """Training and test users, and how many areas there are."""
    areas: dict[str, int] = {}
    found = []
    for name in FILES:
        users: list[list[int]] = []
        for line in (folder / name).read_text(encoding="latin-1").splitlines():
            kind, number = line.split(",")[:2]
            if kind == "A":
                areas.setdefault(number, len(areas))
            elif kind == "C":
                users.append([])
            elif kind == "V":
                users[-1].append(areas[number])
        indptr = np.cumsum([0, *map(len, users)], dtype=np.int64)
        words = np.concatenate([np.sort(user) for user in users]).astype(np.uint16)
        found.append(Documents(indptr, words, np.ones(len(words), np.uint16)))
    return found[0], found[1], len(areas)


def run(
    method: Method, seed: int, train: Documents, test: Documents, n_words: int, updates: int
) -> list[tuple[int, float, int, float]]:
    """Updates, nats a test user, how many groups have a user, and α, every few updates."""
    sampler = Published(train, n_words, method, seed)
    chain = sampler.initial(0)
    rows = []
    for update in range(updates + 1):
        if update % EVERY == 0:
            scores = of_chain(chain, test, Threads(1))
            rows.append((update, float(-scores.mean()), chain.n_groups, chain.alpha))
        if update < updates:
            sampler.update(chain)
    return rows
