"""How fast a machine trains: what a plan that has to fit a time budget rests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from topicmc.models.lda.extent import Extent
from topicmc.models.lda.settings import LdaSettings
from topicmc.settings.values import or_default

# Nanoseconds for a token-sample of a thread at K = 100, and for each topic more; bytes a
# second that a worker sends while it receives as many, as on a 10-gigabit network that two workers
# share; nanoseconds for a weight that is moved.
_NANOSECONDS, _PER_TOPIC = 30.0, 0.12
_NETWORK = 0.5e9
MOVE = 15.0


@dataclass(frozen=True)
class Pace:
    """Seconds that work takes one process: ``draw`` of a token, by its threads together;
    ``exchange`` of all counts among all workers; ``move`` of a weight; and the number of workers
    that a process hosts, which take turns."""

    draw: float
    exchange: float
    move: float
    hosted: int = 1

    @classmethod
    def reckoned(cls, config: LdaSettings, n_words: int, cores: int) -> Pace:
        """The pace of a machine of the usual speed with so many cores a worker."""
        threads = or_default(config.threads, cores)
        nanoseconds = _NANOSECONDS + _PER_TOPIC * config.topics
        sent = 2 * (config.workers - 1) / config.workers * 4 * n_words * config.topics
        return cls(nanoseconds / threads / 1e9, sent / _NETWORK, MOVE / threads / 1e9)

    def sweep(self, config: LdaSettings, size: Extent) -> tuple[float, float]:
        """What a sweep over all documents may be expected to take: to draw, and to exchange
        counts."""
        per_round = config.workers * documents_of_round(size.n_docs, config.workers)
        rounds = -(-size.n_docs // per_round)
        return size.n_tokens * self.token(config), rounds * self.exchange

    def token(self, config: LdaSettings) -> float:
        """Seconds in which all workers together draw a token."""
        return self.draw * self.hosted / config.workers

    def minibatch_update(self, tokens: float, sweeps: int, n_weights: int) -> float:
        """What an update of every chain of a process may be expected to take, on minibatches of so
        many tokens, if all weights are moved."""
        return self.hosted * (tokens * (sweeps + 1) * self.draw + n_weights * self.move)


# Documents that a worker draws before workers synchronise, at most; and parts of a sweep, at least.
_SYNCHRONISE = 30_000
ROUNDS = 4


def documents_of_round(n_docs: int, n_workers: int) -> int:
    """How many of its documents one of several workers draws before workers synchronise."""
    mine = -(-n_docs // n_workers)
    return min(_SYNCHRONISE, -(-mine // ROUNDS))


class Machine(NamedTuple):
    """What each worker has: cores, bytes of memory (None: the system does not say), and its pace,
    where that was measured."""

    cores: int = 1
    memory: int | None = None
    pace: Pace | None = None

    def usual_pace(self, config: LdaSettings, n_words: int) -> Pace:
        """The pace that was measured, or that of a machine of the usual speed."""
        return self.pace or Pace.reckoned(config, n_words, self.cores)


ONE_CORE = Machine()
