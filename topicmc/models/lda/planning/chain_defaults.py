"""What is decided alike for minibatches and for kept assignments: how long a chain is, how it
begins, and how large its steps are."""

from __future__ import annotations

from topicmc.errors import UsageError
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.settings import LdaSettings
from topicmc.samplers.registry import sampler_of
from topicmc.settings.values import AUTO

# The longest run that has no target, in the time after which it is first asked whether it has
# converged; and that of one that goes on from another run.
LONGEST, LONGEST_WARM = 3, 1


def expected_updates(config: LdaSettings, n_docs: int) -> float | None:
    """About how many updates of a chain settings come to, whose length, minibatches and chains are
    decided; None where only time tells."""
    if config.updates is not None or config.epochs is None:
        return config.updates
    together = config.workers if config.keeps_assignments else config.chains
    return config.epochs * n_docs / (config.batch_size * together)


def initial_total(config: LdaSettings, size: Extent) -> float:
    """Σ_w θ_wk of a topic when its chain begins, as told or by its sampler; K and β decided."""
    if config.start_weight is not None:
        return config.start_weight * size.n_words
    sampler = sampler_of(config.sampler)
    return sampler.initial_total(config.beta, size.n_words, config.topics, size.n_tokens)


def usual_steps(config: LdaSettings, size: Extent) -> tuple[float, ...]:
    """a, b and c of the step size, with kept assignments or not; K and β decided."""
    total = initial_total(config, size)
    sampler = sampler_of(config.sampler)
    return sampler.steps(total, config.topics, size.n_tokens, kept=config.remember)


def usual_start(config: LdaSettings, usual: str) -> str:
    """How a chain begins: as told, with the topics of another run, or as its sampler does. Without
    noise it would not leave topics that contradict what it was given of their prior."""
    if config.start != AUTO:
        return config.start
    if config.from_run is not None:
        return "warm"
    given = config.seeds is not None or config.topic_prior is not None
    return "anneal" if given and usual == "stream" else usual


def open_to_subset(config: LdaSettings) -> bool:
    """Whether nothing is asked of a start that one on a subset would not be, where assignments are
    kept."""
    asked = config.start_sweeps, config.anneal_updates, config.from_run
    return config.start in (AUTO, "subset") and asked == (AUTO, AUTO, None)


def told_documents(config: LdaSettings, size: Extent) -> int:
    """Documents of a start on a subset, as told; UsageError for too few."""
    if config.start_documents * size.n_tokens < 10 * config.topics * size.n_docs:
        raise UsageError(
            f"--start-documents {config.start_documents} have too few tokens for"
            f" {config.topics} topics; give more"
        )
    return min(config.start_documents, size.n_docs)


def between(value: float, bounds: tuple[float, float]) -> float:
    """The value, or the bound that it is beyond."""
    return min(max(value, bounds[0]), bounds[1])
