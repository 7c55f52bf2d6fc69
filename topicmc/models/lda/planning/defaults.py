"""The defaults: every setting that was left to the program, decided from the corpus.

`resolve` replaces each ``"auto"`` by a number that depends only on the corpus, the number of
workers, the cores and the memory, so that the configuration saved with a run is complete. The
numbers are those that reached each perplexity soonest on blog posts, abstracts, articles and
paragraphs.
"""

from __future__ import annotations

from dataclasses import replace

from topicmc.errors import UsageError
from topicmc.models.lda.collapsed.defaults import resolve_collapsed
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.minibatches.defaults import resolve_minibatches
from topicmc.models.lda.planning.pace import ONE_CORE, Machine
from topicmc.models.lda.planning.sampler_choice import choose, default_topics, remembers
from topicmc.models.lda.priors.seeds import usual_weight
from topicmc.models.lda.settings import COLLAPSED, LdaSettings, Resolved, keeps_assignments
from topicmc.samplers.registry import SAMPLERS, sampler_of
from topicmc.settings.values import AUTO, or_default

#: Where chains that keep assignments begin to learn β. Topics grown under a larger one hold on to
#: it: each spreads over words that are not its own, and β is learned from those.
LEARNED_FROM = 0.01


def default_beta(n_words: int, n_tokens: int) -> float:
    """β for a corpus: 0.01, and more, up to 0.1, where words have few tokens to learn from."""
    return min(0.1, max(0.01, n_words / n_tokens))


def resolve(config: LdaSettings, size: Extent, machine: Machine = ONE_CORE) -> Resolved:
    """``config`` with every ``"auto"`` decided for a corpus of that size and a machine like that.

    Raises UsageError when the corpus cannot bear what was asked.
    """
    known = len(config.alpha) if isinstance(config.alpha, list) else default_topics(size)
    config = replace(config, topics=or_default(config.topics, known))
    topics = config.topics
    if config.seeds is not None and config.seed_weight is None:
        config = replace(config, seed_weight=usual_weight(size.n_tokens, topics))
    if size.n_tokens < 20:
        raise UsageError(f"{size.n_tokens} tokens are too few for topics; give more text")
    if topics > size.n_tokens // 10:
        raise UsageError(
            f"--topics {topics} is more than a corpus of {size.n_tokens:,} tokens can bear:"
            f" use at most {size.n_tokens // 10}"
        )
    sampler = config.sampler
    if sampler == AUTO:
        sampler = choose(config, size, machine)[0]
    if sampler in COLLAPSED:  # which remember in any case
        config = replace(config, remember=False, estimate="plain")
    if config.remember == AUTO:
        config = replace(config, remember=remembers(config, size, machine) is not None)
    if config.start_weight is not None and not _keeps_scale(sampler):
        raise UsageError(
            f"--start-weight: weights of --sampler {sampler} do not keep the scale on which they"
            f" begin; it is of --sampler {' and '.join(filter(_keeps_scale, SAMPLERS))}"
        )
    if config.remember and _holds_more(sampler):
        raise UsageError(
            f"--remember: chains of --sampler {sampler} are more than weights, which are all that"
            " is kept with the topics of tokens; leave it out"
        )
    until = or_default(config.until, "end" if config.has_length else "converged")
    config = replace(config, learn=_learned(config), until=until)
    kept = keeps_assignments(sampler, config.remember)
    learned = kept and config.learns_beta
    usual = LEARNED_FROM if learned else default_beta(size.n_words, size.n_tokens)
    config = replace(config, beta=or_default(config.beta, usual), sampler=sampler)
    of_sampler = resolve_collapsed if kept else resolve_minibatches
    return of_sampler(config, size, machine)


def _keeps_scale(sampler: str) -> bool:
    return sampler not in COLLAPSED and sampler_of(sampler).free_scale


def _holds_more(sampler: str) -> bool:
    """Whether the state of a chain is more than θ where all words are moved."""
    from topicmc.samplers.state import Chain

    return sampler not in COLLAPSED and sampler_of(sampler).whole().state is not Chain


def _learned(config: LdaSettings) -> str:
    """Priors that were left to the program are learned."""
    if config.learn != AUTO:
        return config.learn
    free = {name for name in ("alpha", "beta") if getattr(config, name) == AUTO}
    return "both" if len(free) == 2 else (free or {"none"}).pop()


def needs_pace(config: LdaSettings) -> bool:
    """Whether something is left open that depends on the speed of the machine."""
    kept = config.keeps_assignments
    start = config.start_sweeps if kept else config.anneal_updates
    may_remember = config.sampler == "scir" and config.remember == AUTO
    on_subset = config.start == "subset" or (not kept and config.start_sweeps != AUTO)
    is_open = (
        may_remember
        or AUTO in (config.sampler, start)
        or (on_subset and config.start_documents == AUTO)
    )
    return config.time_budget is not None and is_open
