"""How a run of any model begins, and how it goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

from topicmc.engine.transport.base import Transport
from topicmc.engine.transport.open import kind_of
from topicmc.settings.groups import RunSettings
from topicmc.storage.lease import held
from topicmc.storage.runs import FORMAT, RunDirectory


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

    Collective. UsageError on every process when another job has it.
    """
    if leases is not None:
        run.lease = leases.enter_context(held(run.path, transport))


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


def take_up(run: RunDirectory, transport: Transport, leases: ExitStack | None) -> None:
    """Leases a run that is to go on, and brings into order what a killed job left. Collective;
    errors as of `lease`."""
    lease(run, transport, leases)
    if transport.is_root:
        run.recover()
    transport.barrier()


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
