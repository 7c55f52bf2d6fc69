"""Starting a run of a mixture, or finding the one to go on with."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from topicmc.corpora import Corpus
from topicmc.corpora.of_runs import (
    PACKAGES,
    corpus_facts,
    corpus_facts_of,
    open_corpus,
    place_of,
)
from topicmc.engine.lifecycle import begin, check_alike, go_on, settings_facts, take_up
from topicmc.engine.transport.base import Transport
from topicmc.errors import UsageError
from topicmc.host import machine
from topicmc.models.mixture import memory
from topicmc.models.mixture.run import MixtureRun
from topicmc.models.mixture.settings import (
    MixtureConfig,
    MixtureSettings,
    Resolved,
    check_honoured,
    least_beta,
    resolve,
)
from topicmc.models.mixture.state import MOST_TOKENS
from topicmc.storage.runs import made_by


def start(
    config: MixtureSettings,
    corpus_path: Path,
    run_path: Path,
    transport: Transport,
    *,
    force: bool = False,
    leases: ExitStack,
) -> tuple[Resolved, Corpus, MixtureRun]:
    """A new run: opens the corpus, resolves the settings, and creates the run directory. No other
    job writes into the run until ``leases`` is closed.

    Raises UsageError or DataError before anything is overwritten where it can be known by then.
    """
    check_honoured(config)
    if transport.is_root:
        MixtureRun.check_free(run_path, force)
    corpus = Corpus.open(corpus_path)
    check_alike(config.as_dict(), transport, corpus.fingerprint)
    resolved = decided(config, corpus, transport)
    corpus.check(range(corpus.n_shards))
    transport.barrier()

    def create() -> None:
        facts = {
            **made_by(*PACKAGES),
            "corpus": corpus_facts(corpus, place_of(corpus_path, run_path)),
            **settings_facts(resolved, config, transport),
        }
        MixtureRun.create(run_path, facts, corpus.vocabulary, force)

    run = MixtureRun(run_path)
    begin(run, transport, leases, create)
    return resolved, corpus, run


def resume(
    run_path: Path,
    changes: Mapping[str, Any],
    transport: Transport,
    corpus_path: Path | None,
    leases: ExitStack,
) -> tuple[Resolved, Corpus, MixtureRun]:
    """An existing run with its corpus, and its settings with ``changes`` made, which may repeat
    what the run began with.

    Raises UsageError when a change would make it another run, DataError when the corpus is not the
    one that the run began with.
    """
    run = MixtureRun.open(run_path)
    if run.view is not None:
        raise UsageError(
            f"{run_path}: is a view, which cannot be trained; train its run ({run.resume_command}),"
            " and the view shows that"
        )
    take_up(run, transport, leases, changes)
    config, facts = run.config(), run.facts()
    changes = config.changes_of(changes, run_path, facts.get("asked", {}))
    corpus, found = open_corpus(run, corpus_path), corpus_facts_of(run, corpus_path)
    asked = MixtureConfig.of(config).on_these_cores(facts)
    asked = asked.without_lengths(changes)
    changed = replace(asked, **{"workers": transport.n_workers, **changes})
    resolved = decided(changed, corpus, transport)
    corpus.check(range(corpus.n_shards))
    go_on(run, transport, resolved, changes, corpus=found)
    return resolved, corpus, run


def decided(config: MixtureSettings, corpus: Corpus, transport: Transport) -> Resolved:
    """The settings resolved; UsageError when the corpus is empty, or larger than memory or counts
    can bear, or β is too small for it. Collective."""
    share = machine.share(transport)
    if corpus.n_docs == 0:
        raise UsageError(f"{corpus.path}: has no documents to train on; prepare more")
    if corpus.n_tokens > MOST_TOKENS:
        raise UsageError(
            f"{corpus.path}: has {corpus.n_tokens:,} tokens, and a mixture counts {MOST_TOKENS:,}"
            " at most; prepare fewer documents, or counts in larger units"
        )
    resolved = resolve(config, corpus.n_docs, share.cores)
    least = f"{least_beta(corpus.n_words):g}"
    if resolved.beta < float(least):
        raise UsageError(
            f"--beta {resolved.beta:g}: over {corpus.n_words:,} words it must be at least {least}"
        )
    sizes = memory.sizes_of(corpus)
    needed = memory.needed(resolved, sizes, transport.n_processes, share.processes)
    free = machine.too_little(needed, share.processes)
    if free is not None:
        many = {"--chains": resolved.chains, "--workers": share.processes}
        fewer = " or ".join(name for name, n in many.items() if n > 1)
        told = f"use fewer {fewer}, or prune" if fewer else "prune"
        raise UsageError(
            f"{corpus.n_docs:,} documents and {memory.GROUPS} groups over {corpus.n_words:,} words"
            f" need about {machine.in_units(needed)} of memory, and {machine.in_units(free)} are"
            f" free; {told} the vocabulary (topicmc prepare --min-df N); to go on with a run, free"
            " some"
        )
    return resolved
