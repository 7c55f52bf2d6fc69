"""Starting a run of a mixture, or finding the one to go on with."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from topicmc.corpora import Corpus
from topicmc.corpora.of_runs import PACKAGES, corpus_facts, open_corpus
from topicmc.engine.transport.base import Transport
from topicmc.engine.transport.open import kind_of
from topicmc.errors import UsageError
from topicmc.host import machine
from topicmc.models.mixture import memory
from topicmc.models.mixture.run import MixtureRun
from topicmc.models.mixture.settings import (
    MixtureConfig,
    MixtureSettings,
    Resolved,
    check_honoured,
    resolve,
)
from topicmc.settings.groups import threads_told
from topicmc.storage.lease import held
from topicmc.storage.runs import FORMAT, made_by


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
    resolved = decided(config, corpus, transport)
    corpus.check(range(corpus.n_shards))
    transport.barrier()
    run = MixtureRun(run_path)
    run.lease = leases.enter_context(held(run_path, transport))
    if transport.is_root:
        facts = {
            **made_by(*PACKAGES),
            "corpus": corpus_facts(corpus, str(Path(corpus_path).resolve())),
            "config": resolved.as_dict(),
            "asked": resolved.asked_otherwise(config.as_dict()),
            "threads": config.threads,
            "transport": kind_of(transport),
        }
        MixtureRun.create(run_path, facts, corpus.vocabulary, force)
    transport.barrier()
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
    if run.place != run.path:
        raise UsageError(
            f"{run_path}: is a view, which cannot be trained; train its run ({run.resume_command})"
        )
    run.lease = leases.enter_context(held(run.path, transport))
    if transport.is_root:
        run.recover()
    transport.barrier()
    config, facts = run.config(), run.facts()
    changes = config.changes_of(changes, run_path, facts.get("asked", {}))
    corpus = open_corpus(run, corpus_path)
    asked = MixtureConfig.from_dict(config.as_dict()).on_these_cores(facts)
    asked = asked.without_lengths(changes)
    changed = replace(asked, **{"workers": transport.n_workers, **changes})
    resolved = decided(changed, corpus, transport)
    corpus.check(range(corpus.n_shards))
    if transport.is_root:
        run.remove_temporaries()
        told = {"transport": kind_of(transport), **threads_told(changes)}
        run.update_facts(format=FORMAT, config=resolved.as_dict(), **told)
        if corpus_path is not None:
            run.update_facts(corpus={**facts["corpus"], "path": str(Path(corpus_path).resolve())})
    transport.barrier()
    return resolved, corpus, run


def decided(config: MixtureSettings, corpus: Corpus, transport: Transport) -> Resolved:
    """The settings resolved; UsageError when the corpus is empty or memory cannot bear it.
    Collective."""
    share = machine.share(transport)
    if corpus.n_docs == 0:
        raise UsageError(f"{corpus.path}: has no documents to train on; prepare more")
    resolved = resolve(config, corpus.n_docs, share.cores)
    sizes = memory.sizes_of(corpus)
    needed = memory.needed(resolved, sizes, transport.n_processes, share.processes)
    free = machine.available_memory()
    if free is not None and needed > free - share.processes * machine.COMPILING:
        many = {"--chains": resolved.chains, "--workers": share.processes}
        fewer = " or ".join(name for name, n in many.items() if n > 1)
        told = f"use fewer {fewer}, or prune" if fewer else "prune"
        raise UsageError(
            f"{corpus.n_docs:,} documents and {memory.GROUPS} groups over {corpus.n_words:,} words"
            f" need about {needed / 1e9:.1f} GB of memory, and {free / 1e9:.1f} GB are free;"
            f" {told} the vocabulary (topicmc prepare --min-df N)"
        )
    return resolved
