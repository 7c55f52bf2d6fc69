"""How a run of any model begins, and how it goes on."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Any, TypeVar

from topicmc.engine.transport.base import Transport
from topicmc.engine.transport.open import kind_of
from topicmc.errors import DataError, UsageError
from topicmc.host.version import VERSION
from topicmc.settings.groups import DsgldSettings, RunSettings
from topicmc.settings.values import option
from topicmc.storage.fields import Record
from topicmc.storage.files import checksum, own_checksum
from topicmc.storage.lease import NAME as LEASE
from topicmc.storage.lease import held
from topicmc.storage.runs import FORMAT, RunDirectory

Chains = TypeVar("Chains", bound=DsgldSettings[Any])
_VERSION = "the version of topicmc"


def check_alike(
    settings: Mapping[str, Any], transport: Transport, corpus: str | None = None
) -> None:
    """UsageError on every process unless all were given the same settings, whatever their threads,
    and the corpus of one fingerprint, and are of one version: each has read the files of its own
    machine, and runs the program that is installed there. Collective."""
    if transport.n_processes == 1:
        return
    given = {option(name): value for name, value in settings.items() if name != "threads"}
    digests = {name: own_checksum({"value": value}) for name, value in given.items()}
    apart = _first_apart({_VERSION: VERSION, "CORPUS": corpus, **digests}, transport)
    if apart is None:
        return
    names, where = apart
    if _VERSION in names:  # whose defaults may be others
        raise UsageError(f"{_VERSION}: not the same on {where}; install one on all machines")
    raise UsageError(
        f"{', '.join(names)}: not the same on {where}; give all ranks the same options, and copy"
        " the files anew, or put them where all machines read them"
    )


def _check_shared(run: RunDirectory, transport: Transport) -> None:
    """UsageError on every process unless all see the lease that the root has taken, which no copy
    of the folder has. Collective."""
    seen = None
    with suppress(DataError):
        seen = checksum(run.path / LEASE)
    apart = _first_apart({"lease": seen}, transport)
    if apart is not None:
        _, where = apart
        raise UsageError(
            f"-o {run.path}: not the same folder on {where}; give one that all machines share"
        )


def _first_apart(
    known: Mapping[str, str | None], transport: Transport
) -> tuple[list[str], str] | None:
    """What the first process that knows something else than the root knows otherwise, by name, and
    which the two are; None where all know the same."""
    everyone = transport.exchange([platform.node(), known])
    first, of_root = everyone[0]
    for rank, (host, its) in enumerate(everyone):
        names = [name for name in {**of_root, **its} if of_root.get(name) != its.get(name)]
        if names:
            return names, f"rank {rank} ({host}) as on rank 0 ({first})"
    return None


def settings_facts(
    resolved: RunSettings[Any], asked: RunSettings[Any], transport: Transport
) -> dict[str, Any]:
    """What ``run.json`` says of the settings of a new run."""
    return {
        "config": resolved.as_dict(),
        "asked": resolved.asked_otherwise(asked.as_dict()),
        "threads": asked.threads,
        "transport": kind_of(transport),
    }


def lease(run: RunDirectory, transport: Transport, leases: ExitStack | None) -> None:
    """No other job writes into the run until ``leases`` is closed; None leaves that to the caller.

    Collective. UsageError on every process when another job has it, or not all see the folder that
    the root sees: then nothing has been written there yet.
    """
    if leases is not None:
        run.lease = leases.enter_context(held(run.path, transport))
        _check_shared(run, transport)


def begin(
    run: RunDirectory,
    transport: Transport,
    leases: ExitStack | None,
    create: Callable[[], object],
) -> None:
    """Leases a new run, and has the root create it. Collective; errors as of `lease`."""
    lease(run, transport, leases)
    if transport.is_root:
        create()
    transport.barrier()


def take_up(
    run: RunDirectory,
    transport: Transport,
    leases: ExitStack | None,
    told: Mapping[str, Any],
) -> None:
    """Leases a run that is to go on under the settings that are ``told``, and brings into order
    what a killed job left. Collective; errors as of `lease` and `check_alike`."""
    check_alike(told, transport)
    lease(run, transport, leases)
    if transport.is_root:
        run.recover()
    transport.barrier()


def with_saved_chains(config: Chains, run: RunDirectory) -> Chains:
    """The settings with the chains that the checkpoint of a run holds, or that it was asked for
    where there is none, and until when they are averaged: a job on fewer workers that ended before
    it saved one has given up none."""
    checkpoint = run.checkpoint()
    if checkpoint is not None:
        saved = checkpoint.layout()
        return config if saved.get("chains") in (None, config.chains) else replace(config, **saved)
    asked = Record(run.path / "run.json", run.facts().get("asked", {}))
    names = [name for name in ("chains", "groups", "average_until") if name in asked]
    saved = {name: asked.whole(name) for name in names}
    if "chains" not in saved:
        return config
    return replace(config, workers=max(config.workers, saved["chains"]), **saved)


def go_on(
    run: RunDirectory,
    transport: Transport,
    resolved: RunSettings[Any],
    changes: Mapping[str, Any],
    **told: Any,
) -> None:
    """Writes into ``run.json`` under which settings a run goes on, and what else is ``told`` of it
    by now. Collective."""
    if transport.is_root:
        run.remove_temporaries()
        told["transport"] = kind_of(transport)
        if "threads" in changes:
            told["threads"] = changes["threads"]
        run.update_facts(format=FORMAT, config=resolved.as_dict(), **told)
    transport.barrier()
