"""What the commands that train a model have in common, from the first sentence to the last."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topicmc.cli.printing import echo

if TYPE_CHECKING:
    from topicmc.engine.loop import Outcome, Training
    from topicmc.storage.runs import RunDirectory

NO_SAMPLE = (
    "there is no posterior sample yet: the newest state stands in for samples, so train on"
    " (--resume) with more --epochs, --updates or --time-budget"
)


def as_before(
    kind: type[RunDirectory], path: Path, workers: int | None, transport: str
) -> tuple[int | None, str]:
    """Workers and transport of a run that goes on: as told or launched, or else as it last had
    them."""
    from topicmc.engine.transport.open import launched_size

    if workers is not None or launched_size() != 1:
        return workers, transport
    workers, last = kind.last_had(path)
    return workers, last if transport == "auto" else transport


def carry_out(
    prepare: Callable[[], Training],
    opening: Callable[[], Iterable[str]],
    run: RunDirectory,
    channel: Any,
    told: Any,
    *,
    lacks_samples: Callable[[], bool] = lambda: False,
) -> tuple[Outcome, bool, int | None]:
    """Trains to the end, or until it is interrupted. Nothing of the training is held afterwards.

    Args:
        prepare: makes the training.
        opening: what is told before it begins, once it is made.
        run: what is trained.
        channel: the transport.
        told: the listener, which is closed.
        lacks_samples: whether a finished run has no sample yet.

    Returns:
        what came out, whether there was anything to do, and the exit status; None where there is
        a result to print.
    """
    from topicmc.host.interrupts import interruptible

    with interruptible() as interrupt:
        training = prepare()
        if channel.is_root:
            for sentence in opening():
                told.message(sentence)
        begun = training.update
        outcome = training.train(interrupt)
        if channel.is_root and not outcome.interrupted and lacks_samples():
            told.message(NO_SAMPLE)
    told.close()
    if channel.is_root and outcome.interrupted:
        launcher = f"mpiexec -n {channel.n_processes} " if channel.n_processes > 1 else ""
        echo(
            f"Stopped after update {outcome.update:,}; a checkpoint is written. Go on with:\n"
            f"  {launcher}{run.resume_command}",
            err=True,
        )
    if outcome.interrupted:
        return outcome, True, 130
    return outcome, outcome.update != begun, None if channel.is_root else 0


def tell_nothing_to_do(run: RunDirectory, outcome: Outcome) -> None:
    """That a run which goes on has come to its end before."""
    ended = f"has made its {outcome.update:,} updates"
    more = "more --updates, --epochs or --time-budget"
    if outcome.converged:  # at its full length, too
        ended = f"has converged, after {outcome.update:,} updates"
        more = f"--until end and {more}"
    echo(f"Nothing to do: {run.path} {ended}; it goes on with {more}", err=True)


def tell_result(
    run: RunDirectory, outcome: Outcome, until: str, result: str, evaluate: str
) -> None:
    """The last sentences of a run; ``evaluate`` is the command that says more."""
    spent = f"{outcome.update:,} updates, {outcome.seconds:.1f} s of training"
    echo(f"Trained {run.path}: {spent}{result}", err=True)
    if until == "converged" and not outcome.converged:
        place = shlex.quote(str(run.path))
        echo(f"It has not converged: {evaluate} {place} says more", err=True)


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
