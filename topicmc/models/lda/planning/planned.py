"""The settings of a run on this machine, and what they take of its memory and disk."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from topicmc.corpora import Corpus
from topicmc.engine.compiling import compiling
from topicmc.engine.transport.base import Transport
from topicmc.engine.transport.local import LocalTransport
from topicmc.errors import UsageError
from topicmc.host import machine
from topicmc.models.lda import memory
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.planning.calibration import measured
from topicmc.models.lda.planning.defaults import needs_pace, resolve
from topicmc.models.lda.planning.pace import Machine, Pace
from topicmc.models.lda.planning.plan import remarks
from topicmc.models.lda.priors.given import Given
from topicmc.models.lda.settings import LdaSettings, Resolved
from topicmc.settings.values import AUTO

NOTHING_GIVEN = Given()


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
    for the pace of this machine; UsageError when memory or corpus cannot bear them, or the
    transport has not as many workers.

    Collective, unless the ``share`` of the machine is given, and then nothing is measured.
    """
    if config.workers != transport.n_workers:
        raise UsageError(
            f"--workers {config.workers}, but the transport has {transport.n_workers}; give it as"
            " many"
        )
    alone, share = share is not None, share or machine.share(transport)
    threads = share.cores if config.threads == AUTO else config.threads
    size, each = Extent.of(corpus), _of_each(transport, share)
    resolved = resolve(config, size, each)
    _check_memory(resolved, corpus, transport, share, given)
    if not alone and needs_pace(config):
        with compiling(tell):
            each = each._replace(pace=measured(corpus, resolved, threads, transport))
        resolved = resolve(config, size, each)
        _check_memory(resolved, corpus, transport, share, given)
    resolved = replace(resolved, threads=threads)
    return Plan(resolved, remarks(config, resolved, size, each), each.pace)


def _sizes(config: Resolved, corpus: Corpus) -> memory.Sizes:
    """Of a corpus, and of a minibatch of it where there are such."""
    return memory.sizes_of(corpus, 0 if config.keeps_assignments else config.batch_size)


def _check_memory(
    config: Resolved, corpus: Corpus, transport: Transport, share: machine.Share, given: Given
) -> None:
    sizes = _sizes(config, corpus)._replace(prior_rows=given.n_rows)
    hosted = len(transport.workers)
    needed = memory.needed(config, sizes, hosted, share.processes)
    free = machine.too_little(needed, share.processes)
    if free is None:
        return
    usable = free - share.processes * machine.COMPILING
    fewer = memory.most_topics(config, sizes, hosted, usable, share.processes)
    raise UsageError(
        f"--topics {config.topics} over {corpus.n_words:,} words needs about"
        f" {machine.in_units(needed)} of memory, most of it for"
        f" {memory.largest(config, sizes, hosted).name}, and {machine.in_units(free)} are free; "
        + (f"use --topics {fewer} or fewer," if fewer else "use fewer chains or local workers,")
        + " or prune the vocabulary; to go on with a run, free some"
    )


def memory_of(config: LdaSettings, corpus: Corpus) -> tuple[Resolved, int]:
    """The settings that a run on this machine would use, and the bytes of memory that it would
    need at most; UsageError when the corpus cannot bear them."""
    transport = LocalTransport(config.workers)
    each = _of_each(transport, machine.share(transport))
    config = resolve(config, Extent.of(corpus), each)
    sizes = _sizes(config, corpus)
    return config, memory.needed(config, sizes, config.workers)


def disk_of(config: Resolved, corpus: Corpus) -> int:
    """Bytes of disk that a run with these settings takes at most, about."""
    return memory.disk(config, _sizes(config, corpus))


def remarks_on_disk(run_path: Path, needed: int) -> list[str]:
    """That a disk may become full, or the memory in which a folder lies."""
    place = next(p for p in (run_path, *run_path.parents) if p.exists())
    free, where = shutil.disk_usage(place).free, "disk"
    if machine.lies_in_memory(place):
        free = min(free, machine.available_memory() or free)
        where = "memory, in which this folder lies"
    if needed <= free:
        return []
    return [
        f"may take up to {machine.in_units(needed)} of {where}, and {machine.in_units(free)} are"
        " free there; fewer --samples take less"
    ]


def _of_each(transport: Transport, share: machine.Share) -> Machine:
    """What each worker has, if those of a process share what it has."""
    memory, hosted = share.least_memory, len(transport.workers)
    cores = max(1, share.least_cores // hosted)
    return Machine(cores, None if memory is None else memory // hosted)
