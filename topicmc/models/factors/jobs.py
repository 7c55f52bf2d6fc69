"""Starting a run of matrix factorisation, or finding the one to go on with."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from topicmc.engine.lifecycle import (
    begin,
    check_alike,
    go_on,
    settings_facts,
    take_up,
    with_saved_chains,
)
from topicmc.engine.transport.base import Transport
from topicmc.errors import UsageError
from topicmc.host import machine
from topicmc.models.factors import memory
from topicmc.models.factors.data import RatingData, RatingFile
from topicmc.models.factors.run import FactorRun
from topicmc.models.factors.settings import (
    FactorConfig,
    FactorSettings,
    Resolved,
    check_honoured,
    check_until,
    resolve,
)
from topicmc.storage.runs import made_by


def start(
    config: FactorSettings,
    file: RatingFile,
    run_path: Path,
    transport: Transport,
    *,
    force: bool = False,
    leases: ExitStack,
) -> tuple[Resolved, RatingData, FactorRun]:
    """A new run: reads the ratings, resolves the settings, and creates the run directory. No other
    job writes into the run until ``leases`` is closed.

    Args:
        config: settings as they are asked for.
        file: of the ratings.
        run_path: where to write.
        transport: who hosts which workers.
        force: overwrite a run.
        leases: keeps the lease of the run.

    Raises UsageError or DataError before anything is overwritten where it can be known by then.
    """
    check_honoured(config)
    if transport.is_root:
        FactorRun.check_free(run_path, force)
    check_alike(config.as_dict(), transport)
    if transport.is_root:
        data, about = file.read()
        sizes = memory.sizes_of(data)
        transport.exchange([*sizes])
    else:
        sizes = memory.Sizes(*transport.exchange(None)[0])
    resolved = _decided(config, sizes, transport)

    def create() -> None:
        facts = {
            **made_by("pyarrow"),
            **settings_facts(resolved, config, transport),
            "ratings": about,
        }
        FactorRun.create(run_path, facts, data, force)

    run = FactorRun(run_path)
    begin(run, transport, leases, create)
    return resolved, data if transport.is_root else run.data(), run


def run_on(
    config: FactorSettings, data: RatingData, run_path: Path, transport: Transport
) -> tuple[Resolved, FactorRun]:
    """A new run on ratings in memory, of one process, in a folder that is nobody else's, for who
    will read all samples of it. UsageError for settings that cannot be honoured."""
    check_honoured(config)
    resolved = _decided(config, memory.sizes_of(data), transport, keeps_all=True)
    facts = {**made_by("pyarrow"), "config": resolved.as_dict()}
    return resolved, FactorRun.create(run_path, facts, data)


def resume(
    run_path: Path, changes: Mapping[str, Any], transport: Transport, leases: ExitStack
) -> tuple[Resolved, RatingData, FactorRun]:
    """An existing run with its ratings, and its settings with ``changes`` made, which may repeat
    what the run began with.

    Raises UsageError when a change would make it another run, DataError when it is damaged.
    """
    run = FactorRun.open(run_path)
    take_up(run, transport, leases, changes)
    config, data, facts = with_saved_chains(run.config(), run), run.data(), run.facts()
    told, asked = changes, facts.get("asked", {})
    changes = config.changes_of(told, run_path, asked)
    check_until(config.sampler, changes.get("until"))
    left = FactorConfig.of(config).on_these_cores(facts)
    left = _on_workers(left.without_lengths(changes), transport.n_workers)
    resolved = _decided(replace(left, **changes), memory.sizes_of(data), transport)
    before = resolved.asked_otherwise({"chains": config.chains})
    asked = {**before, **asked, **resolved.asked_otherwise(told)}
    go_on(run, transport, resolved, changes, asked=asked)
    return resolved, data, run


def _on_workers(config: FactorConfig, n_workers: int) -> FactorConfig:
    """The settings with another number of workers; chains beyond their number are given up."""
    if n_workers == config.workers:
        return config
    if config.split == "square":
        raise UsageError(
            f"the run splits its chains for {config.workers} workers, and goes on with as many:"
            f" --workers {config.workers}, or mpiexec -n {config.workers}"
        )
    chains = min(config.chains, n_workers)
    return replace(config, workers=n_workers, chains=chains, groups=chains)


def _decided(
    config: FactorSettings, sizes: memory.Sizes, transport: Transport, *, keeps_all: bool = False
) -> Resolved:
    """The settings resolved; UsageError when they need more memory than is free. Collective."""
    share = machine.share(transport)
    resolved = resolve(config, sizes.training, share.cores)
    hosted = len(transport.workers)
    needed = memory.needed(resolved, sizes, hosted, share.processes, keeps_all=keeps_all)
    free = machine.too_little(needed, share.processes)
    if free is not None:
        most = max(memory.most_held(resolved, sizes, hosted, keeps_all))
        fewer = ", or use fewer --workers" if share.processes > 1 else ""
        if not keeps_all:
            fewer += "; to go on with a run, free some"
        raise UsageError(
            f"{sizes.training + sizes.heldout:,} ratings of {sizes.n_items:,} items by"
            f" {sizes.n_users:,} users with --factors {resolved.factors} need about"
            f" {machine.in_units(needed)} of memory, the largest part for {most.name}, and"
            f" {machine.in_units(free)} are free; {most.remedy}{fewer}"
        )
    return resolved
