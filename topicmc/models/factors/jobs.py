"""Starting a run of matrix factorisation, or finding the one to go on with."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from topicmc.corpora.pipes import readable
from topicmc.engine.transport.base import Transport
from topicmc.engine.transport.open import kind_of
from topicmc.errors import UsageError
from topicmc.host import machine
from topicmc.models.factors.data import RatingData
from topicmc.models.factors.reading import Columns, read_ratings
from topicmc.models.factors.run import FactorRun
from topicmc.models.factors.settings import (
    FactorConfig,
    FactorSettings,
    Resolved,
    check_honoured,
    resolve,
)
from topicmc.settings.groups import threads_told
from topicmc.storage.files import remove_temporaries
from topicmc.storage.lease import held
from topicmc.storage.runs import FORMAT, made_by

_COPIES = 4  # of a chain that are in memory at the same time, at most


def start(
    config: FactorSettings,
    path: Path,
    run_path: Path,
    transport: Transport,
    *,
    columns: Columns,
    delimiter: str | None = None,
    duplicates: str = "refuse",
    heldout: float = 0.1,
    scale: tuple[float, float] | None = None,
    force: bool = False,
    leases: ExitStack,
) -> tuple[Resolved, RatingData, FactorRun]:
    """A new run: reads the ratings, resolves the settings, and creates the run directory. No other
    job writes into the run until ``leases`` is closed.

    Args:
        config: settings as they are asked for.
        path: the file of ratings; other arguments about it as of `read_ratings`.
        run_path: where to write.
        transport: who hosts which workers.
        heldout: the fraction of the ratings that is held out.
        scale: the least and the greatest rating there can be; None: as they are.
        force: overwrite a run.
        leases: keeps the lease of the run.

    Raises UsageError or DataError before anything is overwritten where it can be known by then.
    """
    check_honoured(config)
    low, high = scale or (None, None)
    if transport.is_root:
        FactorRun.check_free(run_path, force)
    transport.barrier()
    run = FactorRun(run_path)
    if transport.is_root:
        with readable([path]) as sources:
            table = read_ratings(
                sources[0], columns, delimiter=delimiter, duplicates=duplicates, low=low, high=high
            )
        data = RatingData.of(table, heldout, low, high)
        about = {"path": str(path.resolve()), "columns": list(filter(None, table.columns))}
        n_ratings, sizes = len(data.training), (data.ratings.n_users, data.ratings.n_items)
        transport.exchange([n_ratings, *sizes])
    else:
        n_ratings, *sizes = transport.exchange(None)[0]
    resolved = _decided(config, n_ratings, tuple(sizes), transport)
    run.lease = leases.enter_context(held(run_path, transport))
    if transport.is_root:
        facts = {
            **made_by("pyarrow"),
            "config": resolved.as_dict(),
            "asked": resolved.asked_otherwise(config.as_dict()),
            "threads": config.threads,
            "transport": kind_of(transport),
            "ratings": about,
        }
        FactorRun.create_with(run_path, facts, data, force)
    transport.barrier()
    return resolved, data if transport.is_root else run.data(), run


def run_on(
    config: FactorSettings, data: RatingData, run_path: Path, transport: Transport
) -> tuple[Resolved, FactorRun]:
    """A new run on ratings in memory, of one process, in a folder that is nobody else's. UsageError
    for settings that cannot be honoured."""
    check_honoured(config)
    sizes = data.ratings.n_users, data.ratings.n_items
    resolved = _decided(config, int((~data.heldout).sum()), sizes, transport)
    facts = {**made_by("pyarrow"), "config": resolved.as_dict()}
    return resolved, FactorRun.create_with(run_path, facts, data)


def resume(
    run_path: Path, changes: Mapping[str, Any], transport: Transport, leases: ExitStack
) -> tuple[Resolved, RatingData, FactorRun]:
    """An existing run with its ratings, and its settings with ``changes`` made, which may repeat
    what the run began with.

    Raises UsageError when a change would make it another run, DataError when it is damaged.
    """
    run = FactorRun.open(run_path)
    run.lease = leases.enter_context(held(run.path, transport))
    if transport.is_root:
        run.recover()
    transport.barrier()
    config, data, facts = run.config(), run.data(), run.facts()
    told, asked = changes, facts.get("asked", {})
    changes = config.changes_of(told, run_path, asked)
    left = FactorConfig.from_dict(config.as_dict()).on_these_cores(facts)
    left = _on_workers(left.without_lengths(changes), transport.n_workers)
    resolved = _decided(
        replace(left, **changes),
        len(data.training),
        (data.ratings.n_users, data.ratings.n_items),
        transport,
    )
    if transport.is_root:
        remove_temporaries(run.path)
        asked = {**asked, **resolved.asked_otherwise(told)}
        now = {"asked": asked, "transport": kind_of(transport), **threads_told(changes)}
        run.update_facts(format=FORMAT, config=resolved.as_dict(), **now)
    transport.barrier()
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
    config: FactorSettings, n_ratings: int, sizes: tuple[int, ...], transport: Transport
) -> Resolved:
    """The settings resolved; UsageError when they need more memory than is free. Collective."""
    share = machine.share(transport)
    resolved = resolve(config, n_ratings, share.cores)
    hosted = min(resolved.chains, len(transport.workers))
    needed = _COPIES * hosted * share.processes * sum(sizes) * (resolved.factors + 1) * 4
    free = machine.available_memory()
    if free is not None and needed > free:
        raise UsageError(
            f"--factors {resolved.factors} for {sizes[0]:,} users and {sizes[1]:,} items needs"
            f" about {needed / 1e9:.1f} GB of memory, and {free / 1e9:.1f} GB are free; use fewer"
        )
    return resolved
