"""The sampler that ``auto`` comes to: whether there is memory and time to remember every topic."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from topicmc.config import TrainConfig

# What `choose` reckons with: nanoseconds for a token-sample of a thread at K = 100, and for each
# topic more; bytes a second that a worker sends while it receives as many, as on a 10-gigabit
# network that two workers share; the part of the memory that assignments may take, and how much
# there is where the system does not say; and how long a run is that has no budget.
_NANOSECONDS, _PER_TOPIC = 30.0, 0.12
_NETWORK = 0.5e9
_MEMORY_SHARE, _MEMORY = 0.5, 8e9
_UNTIMED = 3600.0
_LEAST_SWEEPS = 4
_OF_CHAINS = (
    "groups", "average_until", "burn_in", "step_size", "step_offset", "step_decay",
    "schedule", "remember",
)  # fmt: skip
# Documents that a worker draws before it hears of the others, at most; and parts of a sweep, at
# least.
_SYNCHRONISE = 30_000
ROUNDS = 4


def choose(
    config: TrainConfig,
    *,
    n_docs: int,
    n_tokens: int,
    n_words: int,
    cores: int,
    memory: int | None,
) -> tuple[str, str]:
    """The sampler for a corpus, and why, as a phrase that follows its name.

    Remembering every assignment (AD-LDA) finds better topics than minibatches wherever the
    assignments fit into the memory of each worker, and the time allows for a few sweeps: for the
    more, the longer workers exchange their counts, since chains would draw more meanwhile. Settings
    that only chains have are honoured.
    """
    asked = [name for name in _OF_CHAINS if getattr(config, name) != getattr(TrainConfig, name)]
    if asked:
        return "scir", f"because --{asked[0].replace('_', '-')} is a setting of its chains"
    config = replace(config, topics=or_default(config.topics, default_topics(n_docs)))
    tokens = f"{n_tokens / 1e6:,.1f} million tokens"
    chains = or_default(config.chains, 1)
    needed = chains * token_bytes(n_words, config.topics) * n_tokens / config.workers
    if needed > _MEMORY_SHARE * (_MEMORY if memory is None else memory):
        return "scir", f"because the topics of {tokens} would take too much memory to remember"
    draw, exchange = sweep_seconds(config, n_docs, n_tokens, n_words, cores)
    sweeps = (config.time_budget or _UNTIMED) / (chains * (draw + exchange))
    if sweeps < _LEAST_SWEEPS * (draw + exchange) / draw:
        if exchange > draw:
            return "scir", f"because {config.workers} workers would mostly exchange counts"
        return "scir", f"because the time is too short for sweeps over {tokens}"
    why = f"which remembers the topic of every token, because those of {tokens} fit in memory"
    if config.time_budget is not None:
        why += f" and the time budget allows for some {sweeps:,.0f} sweeps"
    return "adlda", why


def token_bytes(n_words: int, n_topics: int) -> int:
    """Bytes that the word and the topic of a remembered token take."""
    return (2 if n_words <= 1 << 16 else 4) + (1 if n_topics < 256 else 2)


def sweep_seconds(
    config: TrainConfig, n_docs: int, n_tokens: int, n_words: int, cores: int
) -> tuple[float, float]:
    """What a sweep over all documents may be expected to take: to draw, and to exchange counts."""
    nanoseconds = _NANOSECONDS + _PER_TOPIC * config.topics
    draw = n_tokens * nanoseconds / 1e9 / (config.workers * or_default(config.threads, cores))
    mine = -(-n_docs // config.workers)
    sent = 2 * (config.workers - 1) / config.workers * 4 * n_words * config.topics
    return draw, sent / _NETWORK * -(-mine // documents_of_round(mine))


def documents_of_round(mine: int) -> int:
    """How many of its documents one of several workers draws before it hears of the others."""
    return min(_SYNCHRONISE, -(-mine // ROUNDS))


def default_topics(n_docs: int) -> int:
    """K for a corpus."""
    return 20 if n_docs < 1_000 else 50 if n_docs < 10_000 else 100


def or_default(value: Any, default: Any) -> Any:
    """A setting, or its default where it was left to the program."""
    return default if value == "auto" else value
