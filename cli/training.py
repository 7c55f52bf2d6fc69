"""What the commands that train a model have in common, from the first sentence to the last."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topicmc.cli.options import print_json
from topicmc.cli.printing import echo
from topicmc.errors import UsageError

if TYPE_CHECKING:
    from topicmc.engine.loop import Listener, Outcome, Training
    from topicmc.engine.progress import Reached
    from topicmc.engine.transport.base import Transport
    from topicmc.storage.runs import RunDirectory

NO_SAMPLE = (
    "there is no posterior sample yet: the newest state stands in for samples; continue training"
    " (--resume) with longer --epochs, --updates or --time-budget"
)


def stopping(*, as_json: bool) -> str:
    """The line that answers the first Ctrl-C; a JSON object among others, if need be."""
    told = "Stopping after this round, with a checkpoint; a further Ctrl-C stops at once"
    return json.dumps({"message": told}) if as_json else f"\n{told}"  # a bar may be in its line


def check_resume(resume: bool, force: bool) -> None:
    """UsageError for what contradicts --resume."""
    if resume and force:
        raise UsageError("--resume goes on with a run and --force replaces it; give one of them")


def check_length(settings: Mapping[str, Any]) -> None:
    """UsageError for two lengths that contradict each other."""
    if settings.get("updates") is not None and settings.get("epochs") is not None:
        raise UsageError("--updates and --epochs both say how long to train; give one of them")


@contextmanager
def job(
    kind: type[RunDirectory],
    output: Path,
    settings: dict[str, Any],
    transport: str,
    *,
    resume: bool,
    alone: bool = False,
) -> Iterator[tuple[Transport, ExitStack]]:
    """The transport of a training job, and what keeps its leases; ``settings`` then say how many
    workers there are. Where workers have to be launched, the program exits with the status of their
    job, unless ``alone``."""
    from topicmc.engine.transport.base import abort_on_error
    from topicmc.engine.transport.launch import launch, must_launch
    from topicmc.engine.transport.open import open_transport

    workers = settings.get("workers")
    if resume:
        workers, transport = _as_before(kind, output, workers, transport)
    if workers is not None and must_launch(workers, transport) and not alone:
        sys.exit(launch(workers, sys.argv[1:]))
    channel = open_transport(transport, workers)
    with abort_on_error(channel), ExitStack() as leases:
        settings["workers"] = channel.n_workers
        yield channel, leases


@contextmanager
def heard(kind: type[RunDirectory], progress: str, channel: Transport) -> Iterator[Listener]:
    """The listener of a job, which is closed in the end."""
    from topicmc.engine.listeners import Silent

    with closing(teller(progress, kind) if channel.is_root else Silent()) as found:
        yield found


def teller(progress: str, kind: type[RunDirectory], headline: str = "") -> Listener:
    """The listener for a ``--progress`` style, with a headline if there is one: ``none`` is of
    progress alone, not of remarks."""
    from topicmc.engine.listeners import Remarks, Terms, listener

    if progress == "none":
        return Remarks(headline)
    told = listener(progress, Terms.of(kind))
    if headline:
        told.message(headline)
    return told


def _as_before(
    kind: type[RunDirectory], path: Path, workers: int | None, transport: str
) -> tuple[int | None, str]:
    """Workers and transport of a run that goes on: as told or launched, or else as it last had
    them. UsageError where this machine is too small to start so many unasked."""
    from topicmc.engine.transport.launch import must_launch
    from topicmc.engine.transport.open import launched_size
    from topicmc.host.machine import available_cores

    if workers is not None or launched_size() != 1:
        return workers, transport
    workers, last = kind.last_had(path)
    transport = last if transport == "auto" else transport
    cores = available_cores()
    if workers is not None and workers > max(64, 4 * cores) and must_launch(workers, transport):
        here = f"{cores} core{'s' * (cores > 1)}"
        raise UsageError(
            f"{path}: had {workers:,} workers, and this machine has {here}; say by --workers N how"
            " many to start"
        )
    return workers, transport


def carry_out(
    prepare: Callable[[], Training],
    headline: str,
    remarks: Callable[[], Iterable[str]],
    run: RunDirectory,
    channel: Transport,
    listener: Listener,
    *,
    lacks_samples: Callable[[], bool],
) -> tuple[Outcome, bool, int | None]:
    """Trains to the end, or until it is interrupted. Nothing of the training is held afterwards.

    Args:
        prepare: makes the training.
        headline: what is trained, and how, which is told with progress.
        remarks: what else is told before it begins, once it is made.
        run: what is trained.
        channel: the transport.
        listener: who is told, and closed.
        lacks_samples: whether a finished run has no sample yet.

    Returns:
        what came out, whether there was anything to do, and the exit status; None where there is
        a result to print.
    """
    from topicmc.engine.listeners import JsonLines, Remarks
    from topicmc.host.interrupts import interruptible

    line = stopping(as_json=isinstance(listener, JsonLines)) if channel.is_root else ""
    with interruptible(line) as interrupt:
        training = prepare()
        if channel.is_root:
            if not isinstance(listener, Remarks):
                listener.message(headline)
            for sentence in remarks():
                listener.message(sentence)
        begun = training.update
        outcome = training.train(interrupt)
        if channel.is_root and not outcome.interrupted and lacks_samples():
            listener.message(NO_SAMPLE)
    listener.close()
    if channel.is_root and outcome.interrupted:
        launcher = f"mpiexec -n {channel.n_processes} " if channel.n_processes > 1 else ""
        listener.message(
            f"Stopped after update {outcome.update:,}; a checkpoint is written. Go on with:\n"
            f"  {launcher}{run.resume_command}"
        )
    if outcome.interrupted:
        return outcome, True, 130
    return outcome, outcome.update != begun, None if channel.is_root else 0


def print_outcome(run: RunDirectory, outcome: Outcome, **more: Any) -> None:
    """What came out, as JSON."""
    print_json(
        {
            "run": str(run.path),
            "updates": outcome.update,
            run.counted[0]: outcome.items,
            "seconds": outcome.seconds,
            run.figure: outcome.score,
            f"{run.figure}_averaged": outcome.score_averaged,
            **more,
            "samples": outcome.samples,
        }
    )


def tell_nothing_to_do(
    run: RunDirectory, at: Reached | None, outcome: Outcome, listener: Listener
) -> None:
    """That a run which goes on has come to its end before, ``at`` so much of its length."""
    ended = f"ended after {outcome.update:,} updates and {outcome.seconds:,.1f} s of training"
    more = "longer --updates, --epochs or --time-budget, which count from its beginning"
    if outcome.converged:
        ended = f"has come to rest, after {outcome.update:,} updates"
        if at is not None and at.done < 1:
            more = f"--until end, or {more}"
    listener.message(f"Nothing to do: {run.path} {ended}; it goes on with {more}")


def averaged(outcome: Outcome, precision: str) -> str:
    """What follows the score of the newest sample where there is one averaged over samples."""
    if outcome.score_averaged is None:
        return ""
    mean = f"{outcome.score_averaged:{precision}} averaged over {outcome.averaged_over}"
    return f" of the newest sample, {mean}"


def tell_result(
    run: RunDirectory, outcome: Outcome, until: str, result: str, evaluate: str, listener: Listener
) -> None:
    """The last sentences of a run; ``evaluate`` is the command that says more. Several chains may
    have come to rest in modes of their own."""
    spent = f"{outcome.update:,} updates, {outcome.seconds:.1f} s of training"
    listener.message(f"Trained {run.path}: {spent}{result}")
    if until == "converged":
        ended = "come to rest" if outcome.converged else "not converged"
        listener.message(f"It has {ended}: {evaluate} {shlex.quote(str(run.path))} says more")


def tell_settings(settings: dict[str, Any]) -> None:
    """One a line, as --dry-run shows them."""
    for name, value in settings.items():
        if value is not None:
            echo(f"{name.replace('_', '-')} = {value}")


def threads_of(config: Any) -> str:
    """``2 workers x 4 threads``."""
    return (
        f"{config.workers} worker{'s' * (config.workers > 1)} x {config.threads}"
        f" thread{'s' * (config.threads > 1)}"
    )
