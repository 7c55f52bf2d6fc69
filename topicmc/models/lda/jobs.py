"""Starting a training run, or finding the one to go on with, and checking that it can work."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from topicmc.corpora import Corpus
from topicmc.corpora.remembered import told_of
from topicmc.engine.schedule import split_groups
from topicmc.engine.transport.base import Transport
from topicmc.engine.transport.local import LocalTransport
from topicmc.engine.waiting import compiling
from topicmc.errors import DataError, UsageError
from topicmc.host import machine
from topicmc.host.machine import available_memory
from topicmc.models.lda import memory
from topicmc.models.lda.calibration import measured
from topicmc.models.lda.defaults import needs_pace, resolve
from topicmc.models.lda.formats import config_of_format_1
from topicmc.models.lda.given_priors import Given, given_prior
from topicmc.models.lda.origin import draft, inherited, with_topics_of_origin
from topicmc.models.lda.pace import Pace
from topicmc.models.lda.partition import share_out
from topicmc.models.lda.plan import remarks
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.sampler_choice import check_averages, check_honoured
from topicmc.models.lda.settings import LdaSettings, Resolved, TrainConfig
from topicmc.settings import groups
from topicmc.settings.values import AUTO
from topicmc.storage.files import (
    put_in_place,
    remove_temporaries,
    temporary_folder,
    user_errors_for,
)
from topicmc.storage.lease import Lease, held
from topicmc.storage.runs import FORMAT, RunDirectory, made_by

NOTHING_GIVEN = Given()
IN_MEMORY = "documents in memory"  # in the place of a corpus, of runs that `LDA.save` writes
EMBEDDED = "corpus"  # the built-in extract is prepared inside the run directory
PACKAGES = ("scipy", "gensim")
RESUMABLE = (*groups.RESUMABLE, "average_until")


def start(
    config: LdaSettings,
    corpus_path: Path | None,
    run_path: Path,
    transport: Transport,
    force: bool = False,
    tell: Callable[[str], None] | None = None,
    leases: ExitStack | None = None,
) -> tuple[Resolved, Corpus, TopicRun]:
    """A new run: opens the corpus (None: the built-in extract), resolves the settings, checks the
    memory, and creates the run directory. ``tell`` hears why it takes long, if it does. No other
    job writes into the run until ``leases`` is closed; None leaves that to the caller.

    Raises UsageError or DataError before anything is overwritten where it can be known by then.
    """
    run_path = Path(run_path)
    if transport.is_root:
        TopicRun.check_free(run_path, force)
        if config.from_run is not None and Path(config.from_run).resolve() == run_path.resolve():
            raise UsageError(f"--from {run_path}: is the run to be made; give it another -o")
    run = TopicRun(run_path)
    if corpus_path is None:
        run.lease = _lease(run_path, transport, leases)
        _create_with_extract(config, run_path, transport, force)
        return Resolved.of(_saved(run)), Corpus.open(run_path / EMBEDDED), run
    corpus = Corpus.open(corpus_path)
    config, given = given_of(config, corpus)
    plan = planned(config, corpus, transport, tell=tell, given=given)
    check_honoured(config, plan.config)
    verify_share(corpus, plan.config, transport)
    transport.barrier()
    run.lease = _lease(run_path, transport, leases)
    if transport.is_root:
        location = str(Path(corpus_path).resolve())
        _create(run_path, config, plan, corpus, location, force, given)
    transport.barrier()
    return plan.config, corpus, run


def _lease(run_path: Path, transport: Transport, leases: ExitStack | None) -> Lease | None:
    """The root's; UsageError on every process when another job has it."""
    return None if leases is None else leases.enter_context(held(run_path, transport))


def _saved(run: TopicRun) -> TrainConfig:
    """The settings of a run; DataError when they are none."""
    facts = run.facts()
    try:
        config = TrainConfig.from_dict(facts["config"])
    except UsageError as error:
        raise DataError(f"{run.path / 'run.json'}: {error}") from None
    if facts["format"] > 1:
        return config
    checkpoint = run.checkpoint()
    rounds = 0 if checkpoint is None else checkpoint.manifest["round"]
    return config_of_format_1(config, facts["corpus"]["documents"], rounds)


def _create_with_extract(
    config: LdaSettings, run_path: Path, transport: Transport, force: bool
) -> None:
    """A new run that holds the prepared extract; nothing is left behind when it cannot be."""
    from topicmc.corpora import prepare, wikipedia_extract

    share = machine.share(transport)
    if transport.is_root:
        with ExitStack() as stack:
            with user_errors_for(run_path.parent):
                run_path.parent.mkdir(parents=True, exist_ok=True)
                beside = temporary_folder(run_path.parent, f".{run_path.name}-")
                folder = stack.enter_context(beside)
            corpus = prepare([wikipedia_extract()], folder / EMBEDDED, seed=0)
            config, given = given_of(config, corpus)
            plan = planned(config, corpus, transport, share, given=given)
            check_honoured(config, plan.config)
            _create(run_path, config, plan, corpus, str(corpus.path), force, given, _OnExtract)
    transport.barrier()


class _OnExtract(TopicRun):
    """A new run on the built-in extract. That is moved from where it was prepared, which the facts
    say, into the run before ``run.json`` is written."""

    def _write_facts(self, facts: Mapping[str, Any]) -> None:
        with user_errors_for(self.path):
            put_in_place(Path(facts["corpus"]["path"]), self.path / EMBEDDED)
        super()._write_facts({**facts, "corpus": {**facts["corpus"], "path": EMBEDDED}})

    def _clear(self) -> None:
        super()._clear()
        shutil.rmtree(self.path / EMBEDDED, ignore_errors=True)


def given_of(config: LdaSettings, corpus: Corpus) -> tuple[LdaSettings, Given]:
    """What is given of the prior of a new run's topics, and the settings with what follows from it;
    errors as of `given_prior`."""
    if config.from_run is not None:
        return inherited(config, corpus)
    return given_prior(config, corpus.vocabulary, corpus.n_tokens)


def _create(
    run_path: Path,
    asked: LdaSettings,
    plan: Plan,
    corpus: Corpus,
    location: str,
    force: bool,
    given: Given,
    kind: type[TopicRun] = TopicRun,
) -> None:
    noted = given.remarks_on(plan.config, corpus.n_words, corpus.n_tokens)
    origin, remarks = None, [*noted, *plan.remarks]
    if plan.config.from_run is not None:
        origin = draft(asked, plan.config, corpus)
        remarks = [origin.remark(), *remarks]
    labels = {str(k): name for k, name in given.labels.items()}
    facts = {
        **made_by(*PACKAGES),
        "corpus": corpus_facts(corpus, location),
        "config": plan.config.as_dict(),
        "threads": asked.threads,
        "plan": {"remarks": remarks, "pace": plan.pace and asdict(plan.pace)},
        **({"labels": labels} if labels else {}),
        **({"seeds": dict(given.inherited)} if given.inherited else {}),
    }
    additions = given.additions(plan.config, corpus.n_words)
    kind.create(run_path, facts, force, corpus.vocabulary, additions, origin)


def verify_share(corpus: Corpus, config: Resolved, transport: Transport) -> None:
    """Reads the shards of this process's workers, and the held-out documents, against their
    checksums; DataError names the file that is damaged."""
    ranges = share_out(corpus, config.workers)
    shards = {shard for worker in transport.workers for shard, _, _ in ranges[worker]}
    corpus.check(sorted(shards))


def resume(
    run_path: Path,
    changes: Mapping[str, Any],
    transport: Transport,
    corpus_path: Path | None,
    leases: ExitStack | None = None,
) -> tuple[Resolved, Corpus, TopicRun]:
    """An existing run with its corpus, and its settings with ``changes`` made; ``leases`` as in
    `start`.

    Raises UsageError when a change would make it another run, DataError when the corpus is not the
    one that the run began with.
    """
    run = TopicRun.open(run_path)
    if run.view is not None:
        raise UsageError(
            f"{run_path}: is a view, which cannot be trained; train its run (topicmc train -o"
            f" {run.path} --resume), and the view shows that"
        )
    run.lease = _lease(run.path, transport, leases)
    if transport.is_root:
        run.recover()
    transport.barrier()
    facts, config = run.facts(), _saved(run)
    if facts.get("saved"):
        raise UsageError(
            f"{run_path}: was saved from Python, without a checkpoint to go on from; go on there by"
            " LDA.from_run and partial_fit, or start a new run"
        )
    config.check_changes(changes, run_path, RESUMABLE)
    for name in ("alpha", "beta"):
        if name in changes and config.learn in (name, "both"):
            raise UsageError(
                f"--{name} {changes[name]}: the run in {run_path} learns {name}, which --resume"
                " cannot change; start a new run instead"
            )
    corpus = open_corpus(run, corpus_path)
    config = _with_usual_blocks(config, corpus, transport).on_these_cores(facts)
    config = on_workers(config, transport.n_workers)
    if any(name in changes for name in groups.LENGTHS):
        config = replace(config, updates=None, epochs=None, time_budget=None, until="end")
    known = Given(matrix=run.additions())
    resolved = planned(replace(config, **changes), corpus, transport, given=known).config
    check_averages(changes.get("average_until"), resolved)
    verify_share(corpus, resolved, transport)
    if transport.is_root:
        remove_temporaries(run.path)
        run.update_facts(format=FORMAT, config=resolved.as_dict(), **groups.threads_told(changes))
        if corpus_path is not None:
            run.update_facts(corpus={**facts["corpus"], "path": str(Path(corpus_path).resolve())})
    transport.barrier()
    return resolved, corpus, run


def _with_usual_blocks(config: TrainConfig, corpus: Corpus, transport: Transport) -> TrainConfig:
    """The settings for another number of workers. Where blocks, or how many are drawn before
    workers synchronise, are the usual ones, they are left open, to become those of a new run."""
    is_same = transport.n_workers == config.workers
    if is_same or not config.keeps_assignments or config.epochs is None:  # updates are of blocks
        return config
    size: Any = {"n_docs": corpus.n_docs, "n_tokens": corpus.n_tokens, "n_words": corpus.n_words}
    usual = [
        name
        for name in ("batch_size", "trajectory")
        if getattr(resolve(replace(config, **{name: AUTO}), **size), name) == getattr(config, name)
    ]
    return replace(config, **dict.fromkeys(usual, AUTO))


def on_workers(config: TrainConfig, n_workers: int) -> TrainConfig:
    """The settings with another number of workers: each still holds at most one chain of
    minibatches, so such chains beyond their number are given up."""
    if n_workers == config.workers:
        return config
    if config.keeps_assignments:
        # Updates are blocks of each worker's documents; epochs mean the same on any number.
        updates = config.updates if config.epochs is None else None
        return replace(config, workers=n_workers, updates=updates)
    chains = min(config.chains, n_workers)
    groups = _groups_of(config, chains)
    if groups is None:
        several = (n for n in range(1, config.chains) if _groups_of(config, n) is not None)
        fit = ", ".join(map(str, several))
        raise UsageError(
            f"{n_workers} workers hold {chains} of the {config.chains} chains, whose groups"
            f" (--groups {config.groups}) would be mixed; go on with {fit} or {config.chains}"
        )
    return replace(config, workers=n_workers, chains=chains, groups=groups)


def _groups_of(config: TrainConfig, chains: int) -> int | None:
    """How many groups the first chains form, if each is in the one that it was in; None where no
    number of groups says so."""
    groups: Any = config.groups
    kept = [[c for c in g if c < chains] for g in split_groups(config.chains, groups)]
    kept = [group for group in kept if group]
    return len(kept) if split_groups(chains, len(kept)) == kept else None


def workers_of(run_path: Path) -> int | None:
    """How many workers the run in a directory last had; None where there is no run."""
    if not (Path(run_path) / "run.json").is_file():
        return None
    return TopicRun.open(run_path).facts()["config"].get("workers")


def corpus_facts(corpus: Corpus, location: str) -> dict[str, Any]:
    """What a run keeps of its corpus, so that `open_corpus` knows it again, and new documents are
    read as its own were."""
    return {
        "path": location,
        "fingerprint": corpus.fingerprint,
        "documents": corpus.n_docs,
        "tokens": corpus.n_tokens,
        "words": corpus.n_words,
        **{k: v for k, v in corpus.provenance.items() if k == "tokenizer"},
        "reading": told_of(corpus),
    }


def open_corpus(run: RunDirectory, corpus_path: Path | None = None) -> Corpus:
    """The corpus of a run, from where it was or from ``corpus_path``; DataError unless the same."""
    facts = run.facts()["corpus"]
    path = Path(corpus_path) if corpus_path is not None else run.path / facts["path"]
    if corpus_path is None and facts["path"] == IN_MEMORY:
        raise DataError(
            f"{run.path}: was saved by a program that had the documents in memory; prepare them as"
            " a corpus, and train on that"
        )
    if corpus_path is None and not path.exists():
        raise DataError(
            f"{path}: the corpus of the run in {run.path} is not there any more; name its new"
            " place on the command line, as CORPUS to train and with --corpus elsewhere"
        )
    corpus = Corpus.open(path)
    if corpus.fingerprint != facts["fingerprint"]:
        raise DataError(
            f"{path}: this corpus has changed since the run in {run.path} was made (fingerprint"
            f" {corpus.fingerprint[:12]}, not {facts['fingerprint'][:12]}); restore it or start a"
            " new run"
        )
    return corpus


@dataclass(frozen=True)
class Plan:
    """Resolved settings, what there is to say of them, and the pace of the machine
    that they rest on, where it was measured."""

    config: Resolved
    remarks: list[str]
    pace: Pace | None


def planned(
    config: LdaSettings,
    corpus: Corpus,
    transport: Transport,
    share: machine.Share | None = None,
    tell: Callable[[str], None] | None = None,
    given: Given = NOTHING_GIVEN,
) -> Plan:
    """The settings resolved for a corpus, what is ``given`` of the prior and, within a time budget,
    for the pace of this machine; UsageError when memory or corpus cannot bear them.

    Collective, unless the ``share`` of the machine is given, and then nothing is measured.
    """
    alone, share = share is not None, share or machine.share(transport)
    threads = share.cores if config.threads == AUTO else config.threads
    config = with_topics_of_origin(config)
    bounds = _bounds(corpus, transport, share)
    resolved, pace = resolve(config, **bounds), None
    _check_memory(resolved, corpus, transport, share, given)
    if not alone and needs_pace(config):
        with compiling(tell):
            pace = measured(corpus, resolved, threads, transport)
        resolved = resolve(config, **bounds, pace=pace)
        _check_memory(resolved, corpus, transport, share, given)
    resolved = replace(resolved, threads=threads)
    return Plan(resolved, remarks(config, resolved, bounds, pace), pace)


def checked(config: LdaSettings, corpus: Corpus, transport: Transport) -> Resolved:
    """The settings that a new run would have; UsageError where `start` raises one of them."""
    config, given = given_of(config, corpus)
    resolved = planned(config, corpus, transport, given=given).config
    check_honoured(config, resolved)
    return resolved


def _check_memory(
    config: Resolved, corpus: Corpus, transport: Transport, share: machine.Share, given: Given
) -> None:
    sizes = memory.sizes_of(corpus, config.batch_size)._replace(prior_rows=given.n_rows)
    hosted = len(transport.workers)
    needed = memory.needed(config, sizes, hosted, share.processes)
    available = available_memory()
    if available is None:
        return
    free = available - share.processes * memory.COMPILING
    if needed <= free:
        return
    fewer = memory.most_topics(config, sizes, hosted, free, share.processes)
    raise UsageError(
        f"--topics {config.topics} over {corpus.n_words:,} words needs about"
        f" {needed / 1e9:.1f} GB of memory, most of it for"
        f" {memory.largest(config, sizes, hosted).name}, and {available / 1e9:.1f} GB are free; "
        + (f"use --topics {fewer} or fewer," if fewer else "use fewer chains or local workers,")
        + " or prune the vocabulary"
    )


def memory_of(config: LdaSettings, corpus: Corpus) -> tuple[Resolved, int]:
    """The settings that a run on this machine would use, and the bytes of memory that it would
    need at most; UsageError when the corpus cannot bear them."""
    transport = LocalTransport(config.workers)
    config = resolve(config, **_bounds(corpus, transport, machine.share(transport)))
    sizes = memory.sizes_of(corpus, config.batch_size)
    return config, memory.needed(config, sizes, config.workers)


def _bounds(corpus: Corpus, transport: Transport, share: machine.Share) -> dict[str, Any]:
    """What settings are decided by: the size of a corpus, and what each worker has, if those of a
    process share what it has."""
    memory, hosted = share.least_memory, len(transport.workers)
    return {
        "n_docs": corpus.n_docs,
        "n_tokens": corpus.n_tokens,
        "n_words": corpus.n_words,
        "cores": max(1, share.least_cores // hosted),
        "memory": None if memory is None else memory // hosted,
    }
