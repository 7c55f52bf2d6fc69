"""The defaults: every setting that was left to the program, decided from the corpus.

`resolve` replaces each ``"auto"`` by a number that depends only on the corpus, the number of
workers, the cores and the memory, so that the configuration saved with a run is complete. The
numbers are those that reached each perplexity soonest on blog posts, abstracts, articles and
paragraphs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from topicmc.config import COLLAPSED, TrainConfig
from topicmc.errors import UsageError

# Batches are sized in tokens rather than documents: the noise of the gradient depends on the words
# seen, and articles are ten times as long as abstracts. Where a batch is scaled up more than some
# hundred times, its noise drowns what it says of rarer words: large corpora need larger ones.
_BATCH_TOKENS = (250_000, 2_000_000)  # at least, at most
_BATCH_SHARE = 1 / 400  # of the corpus, in between
_BATCH_DOCUMENTS = (50, 50_000)
# Updates over which an annealed start lowers β from 1 to its target, for a chain alone. Those of a
# group need fewer by its size: averaging lets each learn from the documents of all.
_ANNEAL_UPDATES = 400
_STEP = {"scir": (0.5, 20.0, 0.6), "sgrld": (3.0, 20.0, 0.6)}
_START = {"scir": "anneal", "sgrld": "plain"}


def initial_total(sampler: str, beta: float, n_words: int, n_topics: int, n_tokens: int) -> float:
    """Σ_w θ_wk of a new chain: on the scale of the counts for SCIR, of the prior for SGRLD.

    SGRLD's θ keeps the scale that its prior gives it, β W, and φ then moves by the relative amount
    ε/2 · (n_tokens / K) / β W in an update: `resolve` sizes its ε by that amount. A total so small
    that it would wander to zero is avoided.
    """
    if sampler == "sgrld":
        return max(beta, 0.01) * n_words
    return beta * n_words + n_tokens / n_topics


def default_topics(n_docs: int) -> int:
    """K for a corpus."""
    return 20 if n_docs < 1_000 else 50 if n_docs < 10_000 else 100


def default_beta(n_words: int, n_tokens: int) -> float:
    """β for a corpus: 0.01, and more, up to 0.1, where words have few tokens to learn from."""
    return min(0.1, max(0.01, n_words / n_tokens))


def resolve(
    config: TrainConfig,
    *,
    n_docs: int,
    n_tokens: int,
    n_words: int,
    cores: int = 1,
    memory: int | None = None,
) -> TrainConfig:
    """``config`` with every ``"auto"`` decided for a corpus of that size, and so many cores and
    bytes of memory of each worker.

    Raises UsageError when the corpus cannot bear what was asked.
    """
    topics = _or(config.topics, default_topics(n_docs))
    if topics > n_tokens // 10:
        raise UsageError(
            f"--topics {topics} is more than a corpus of {n_tokens:,} tokens can bear:"
            f" use at most {max(2, n_tokens // 10)}"
        )
    sampler = config.sampler
    if sampler == "auto":
        size = {"n_docs": n_docs, "n_tokens": n_tokens, "n_words": n_words}
        sampler = choose(config, **size, cores=cores, memory=memory)[0]
    config = replace(config, learn=_learned(config))
    beta = _or(config.beta, default_beta(n_words, n_tokens))
    if sampler in COLLAPSED or config.remember:
        config = replace(config, sampler=sampler)
        config = replace(config, topics=topics, beta=beta)
        return _resolve_collapsed(config, n_docs, n_tokens, n_words, cores)
    if config.start == "grow":
        raise UsageError("--start grow needs --sampler adlda or asynclda, or --remember")
    batch_tokens = _between(n_tokens * _BATCH_SHARE, _BATCH_TOKENS)
    documents = _between(batch_tokens * n_docs / max(1, n_tokens), _BATCH_DOCUMENTS)
    batch_size = max(1, min(_or(config.batch_size, round(documents)), n_docs // config.workers))
    sweeps = _or(config.sweeps, 5)
    step_size, step_offset, step_decay = _STEP[sampler]
    if sampler == "sgrld":
        step_size *= initial_total(sampler, beta, n_words, topics, n_tokens) * topics / n_tokens
    chains = _or(config.chains, config.workers)
    groups = _or(config.groups, 1)
    updates = config.updates
    if updates is None and config.epochs is not None:
        updates = max(1, round(config.epochs * n_docs / (chains * batch_size)))
    if updates is None and config.time_budget is None:
        updates = round(min(20_000, max(600, 20 * n_docs / batch_size)) / chains)
    anneal_updates = max(1, _ANNEAL_UPDATES * groups // chains)
    return replace(
        config,
        topics=topics,
        sampler=sampler,
        alpha=_or(config.alpha, 0.1),
        beta=beta,
        batch_size=batch_size,
        sweeps=sweeps,
        burn_in=_or(config.burn_in, sweeps // 2),
        step_size=_or(config.step_size, step_size),
        step_offset=_or(config.step_offset, step_offset),
        step_decay=_or(config.step_decay, step_decay),
        start=_START[sampler] if config.start == "auto" else config.start,
        anneal_updates=_or(config.anneal_updates, anneal_updates),
        updates=updates,
        threads=_or(config.threads, cores),
        chains=chains,
        groups=groups,
        trajectory=_or(config.trajectory, 1 if config.workers == 1 else 10),
    )


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
    "chains", "groups", "average_until", "burn_in", "step_size", "step_offset", "step_decay",
    "schedule", "remember",
)  # fmt: skip


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
    config = replace(config, topics=_or(config.topics, default_topics(n_docs)))
    tokens = f"{n_tokens / 1e6:,.1f} million tokens"
    needed = token_bytes(n_words, config.topics) * n_tokens / config.workers
    if needed > _MEMORY_SHARE * (_MEMORY if memory is None else memory):
        return "scir", f"because the topics of {tokens} would take too much memory to remember"
    draw, exchange = _sweep_seconds(config, n_docs, n_tokens, n_words, cores)
    sweeps = (config.time_budget or _UNTIMED) / (draw + exchange)
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


def _sweep_seconds(
    config: TrainConfig, n_docs: int, n_tokens: int, n_words: int, cores: int
) -> tuple[float, float]:
    """What a sweep over all documents may be expected to take: to draw, and to exchange counts."""
    nanoseconds = _NANOSECONDS + _PER_TOPIC * config.topics
    draw = n_tokens * nanoseconds / 1e9 / (config.workers * _or(config.threads, cores))
    mine = -(-n_docs // config.workers)
    sent = 2 * (config.workers - 1) / config.workers * 4 * n_words * config.topics
    return draw, sent / _NETWORK * -(-mine // _documents_of_round(mine))


def _learned(config: TrainConfig) -> str:
    """Priors that were left to the program are learned."""
    if config.learn != "auto":
        return config.learn
    free = {name for name in ("alpha", "beta") if getattr(config, name) == "auto"}
    return "both" if len(free) == 2 else (free or {"none"}).pop()


# A sweep of a collapsed sampler has so many blocks, but blocks have so many tokens, which keep
# threads busy, unless a sweep would then have too few.
_BLOCKS = (4, 64)
_BLOCK_TOKENS = 120_000
# The step of SGRLD with remembered assignments: twice the share by which a move changes topics.
_REMEMBERED_STEP = 0.1
_START_SWEEPS = (80, 160)  # at least, and within a long time budget
_START_SHARE = 0.4  # of the sweeps that a budget allows
_RUN_SWEEPS = 150  # where nothing says how long to train
# Documents that a worker draws before it hears of the others, at most; and parts of a sweep.
_SYNCHRONISE = 30_000
_ROUNDS = 4


def _documents_of_round(mine: int) -> int:
    """How many of its documents one of several workers draws before it hears of the others."""
    return min(_SYNCHRONISE, -(-mine // _ROUNDS))


def _resolve_collapsed(
    config: TrainConfig, n_docs: int, n_tokens: int, n_words: int, cores: int
) -> TrainConfig:
    """The same for AD-LDA, Async-LDA and remembered assignments; their updates are blocks of each
    worker's documents."""
    if config.chains not in ("auto", 1) or config.groups not in ("auto", 1):
        raise UsageError(f"--sampler {config.sampler} has one chain: leave out --chains, --groups")
    mine = -(-n_docs // config.workers)
    step_size = 3.0
    if config.remember and config.sampler == "sgrld":
        total = initial_total("sgrld", config.beta, n_words, config.topics, n_tokens)
        step_size = _REMEMBERED_STEP * total * config.topics / n_tokens
    n_blocks = _between(n_tokens / config.workers / _BLOCK_TOKENS, _BLOCKS)
    batch_size = min(mine, _or(config.batch_size, max(1, round(mine / n_blocks))))
    per_round = _documents_of_round(mine) if config.workers > 1 else 1
    config = replace(
        config,
        alpha=_or(config.alpha, 0.1),
        batch_size=batch_size,
        sweeps=_or(config.sweeps, 1),
        burn_in=_or(config.burn_in, 0),
        step_size=_or(config.step_size, step_size),
        step_offset=_or(config.step_offset, 1.0),
        step_decay=_or(config.step_decay, 0.0),
        start="grow" if config.start == "auto" else config.start,
        threads=_or(config.threads, cores),
        chains=1,
        groups=1,
        trajectory=_or(config.trajectory, max(1, per_round // batch_size)),
    )
    per_sweep = config.trajectory * rounds_per_sweep(config, n_docs)
    updates = config.updates
    if updates is None and config.epochs is not None:
        updates = max(1, round(config.epochs * per_sweep))
    if updates is None and config.time_budget is None:
        updates = _RUN_SWEEPS * per_sweep
    sweeps = float(_START_SWEEPS[0])
    if config.time_budget is not None:
        affordable = config.time_budget / sum(
            _sweep_seconds(config, n_docs, n_tokens, n_words, cores)
        )
        sweeps = _between(_START_SHARE * affordable, _START_SWEEPS)
    start = round(sweeps * per_sweep)
    if updates is not None:
        start = max(1, min(start, updates // 2))
    return replace(config, updates=updates, anneal_updates=_or(config.anneal_updates, start))


def rounds_per_sweep(config: TrainConfig, n_docs: int) -> int:
    """Rounds of `trajectory` blocks of `batch_size` documents on each worker that see them all."""
    per_round = config.workers * config.trajectory * config.batch_size
    return -(-n_docs // per_round)


def _between(value: float, bounds: tuple[int, int]) -> float:
    return min(max(value, bounds[0]), bounds[1])


def _or(value: Any, default: Any) -> Any:
    return default if value == "auto" else value
