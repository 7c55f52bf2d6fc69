"""``topicmc factors train``."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topicmc.cli.factors.columns import checked_delimiter, column_options
from topicmc.cli.options import (
    Headed,
    Number,
    NumberRange,
    force_option,
    json_option,
    output_option,
    progress_option,
    refuse,
    resume_option,
    setting,
    transport_option,
)
from topicmc.cli.training import (
    averaged,
    carry_out,
    check_length,
    check_resume,
    heard,
    job,
    print_outcome,
    tell_nothing_to_do,
    tell_result,
    threads_of,
)
from topicmc.errors import UsageError
from topicmc.models.factors.settings import (
    DUPLICATES,
    MOST_RATING,
    SAMPLERS,
    SPLITS,
    FactorConfig,
)
from topicmc.settings.groups import UNTIL
from topicmc.settings.values import AUTO, MAX_WORKERS, option, parse_duration

if TYPE_CHECKING:
    from topicmc.engine.loop import Listener, Outcome
    from topicmc.engine.transport.base import Transport
    from topicmc.models.factors.data import RatingData, RatingFile
    from topicmc.models.factors.run import FactorRun
    from topicmc.models.factors.settings import Resolved

HEADINGS = {
    "Most used": (
        "output", "factors", "sampler", "heldout", "epochs", "time_budget", "chains", "workers",
        "seed", "resume",
    ),
    "The file of ratings": ("user", "item", "rating", "delimiter", "duplicates", "scale"),
    "Length and what is kept": (
        "updates", "until", "evaluate_every", "checkpoint_every", "samples",
    ),
    "Priors": (
        "noise_precision", "learn_noise", "precision", "precision_shape", "precision_rate",
        "precision_every",
    ),
    "Steps": ("batch_size", "step_size", "step_offset", "step_decay"),
    "Workers": ("threads", "transport", "split", "trajectory", "balance"),
    "How it is called": ("force", "progress", "as_json"),
}  # fmt: skip
_OF_FILE = ("heldout", *HEADINGS["The file of ratings"])


@click.command(cls=Headed, headings=HEADINGS)
@click.argument("ratings", required=False, type=click.Path(path_type=Path))
@output_option("The run directory.")
@setting("--factors", int, "Factors of a user or item [20].")
@setting("--sampler", click.Choice(SAMPLERS), "sgld and gibbs sample, sgd finds a mode [sgld].")
@click.option(
    "--heldout",
    type=NumberRange(0, 1, max_open=True),
    default=None,
    help="Fraction of the ratings that is held out [0.1].",
)
@setting("--epochs", float, "Stop after so many passes [sgld 1000, gibbs 400, sgd 100].")
@setting("--time-budget", str, "Stop after so much training: 90s, 10m, 2h.")
@setting("--updates", int, "Stop after so many minibatches or sweeps of each chain.")
@setting("--until", click.Choice(UNTIL), "end, or once converged [end].")
@setting(
    "--chains",
    Number(int),
    "Chains [auto: one a worker]; without --workers, as many workers in this process, or their"
    " square with --split square.",
)
@setting("--workers", int, "Workers, each with a chain or a part of one [1].")
@setting("--seed", int, "The same seed gives the same bits [0].")
@resume_option
@column_options(rated=True)
@click.option(
    "--duplicates",
    type=click.Choice(DUPLICATES),
    default=None,
    help="Ratings of an item by the same user [refuse].",
)
@click.option(
    "--scale", type=float, nargs=2, metavar="LOW HIGH", help="Least and greatest rating [as found]."
)
@setting("--evaluate-every", str, "The error every 10s, or every N updates [auto].")
@setting(
    "--checkpoint-every",
    str,
    "A checkpoint every 30s, or every N updates [auto: 30s, or less often, to take a tenth of the"
    " time at most].",
)
@setting("--samples", int, "Posterior samples of a chain to keep at most [64].")
@setting("--noise-precision", float, "τ, in units of 1 / variance of the ratings [2].")
@setting(
    "--learn-noise/--no-learn-noise", bool, "Sample τ, too, beginning at --noise-precision [no]."
)
@setting("--precision", Number(float), "λ of all factors and biases [auto: drawn; sgd: 20].")
@setting("--precision-shape", float, "α of the prior of λ, Gamma(α, β) [1].")
@setting("--precision-rate", float, "β of the prior of λ [1].")
@setting("--precision-every", int, "Draw λ, and τ if learned, every so many rounds of sgld [5].")
@setting("--batch-size", Number(int), "Ratings in a minibatch [auto: a sixteenth, to 50,000].")
@setting("--step-size", float, "a in the step size a (1 + t / b)^-c [4].")
@setting("--step-offset", float, "b in the step size [10000].")
@setting("--step-decay", float, "c in the step size [0.51].")
@setting("--threads", Number(int), "Threads of a worker [auto: the cores, shared out].")
@transport_option
@setting("--split", click.Choice([AUTO, *SPLITS]), "What a worker has: all, rows, or a square.")
@setting("--trajectory", Number(int), "Updates that a chain makes in a round [10].")
@setting("--balance/--no-balance", bool, "Longer trajectories on faster workers [no].")
@progress_option
@force_option
@json_option
def train(
    ratings: Path | None,
    output: Path,
    transport: str,
    resume: bool,
    progress: str,
    force: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Factorise RATINGS: CSV, TSV or Parquet with a header, or MovieLens' u.data, ratings.dat.

    Without options the first three columns are users, items and ratings. Ctrl-C stops with a
    checkpoint; --resume goes on.
    """
    from topicmc.engine.transport.open import launched_size
    from topicmc.models.factors import jobs
    from topicmc.models.factors.run import FactorRun

    check_resume(resume, force)
    of_file = {name: given.pop(name) for name in _OF_FILE}
    if resume:
        refuse(
            {"RATINGS": ratings, **{option(name): value for name, value in of_file.items()}},
            "does not go with --resume, which goes on with the ratings of the run",
        )
    file = None if resume else _file(ratings, **of_file)
    settings = _settings(given)
    is_open = settings.get("workers") is None and launched_size() == 1
    if is_open and not resume and settings.get("chains", AUTO) != AUTO:
        settings["workers"] = settings["chains"] ** (2 if settings.get("split") == "square" else 1)
        transport = "local" if transport == "auto" else transport
    with (
        job(FactorRun, output, settings, transport, resume=resume) as (channel, leases),
        heard(FactorRun, progress, channel) as listener,
    ):
        if file is None:
            begun = jobs.resume(output, settings, channel, leases)
        else:
            config = FactorConfig(**settings)
            begun = jobs.start(config, file, output, channel, force=force, leases=leases)
        status = _train(*begun, channel, listener, resume, as_json)
    sys.exit(status)


def _file(
    ratings: Path | None,
    *,
    heldout: float | None,
    user: str | None,
    item: str | None,
    rating: str | None,
    delimiter: str | None,
    duplicates: str | None,
    scale: tuple[float, float] | None,
) -> RatingFile:
    """The file that is named, as the options say; UsageError where they cannot be."""
    from topicmc.models.factors.data import RatingFile
    from topicmc.models.factors.rating_columns import Columns

    if ratings is None:
        raise UsageError("RATINGS is missing: name the file of ratings")
    if scale is not None and not -MOST_RATING <= scale[0] < scale[1] <= MOST_RATING:
        ends = f"{scale[0]:g} {scale[1]:g}"
        raise UsageError(
            f"--scale {ends}: give two numbers, the first of them the lesser, from"
            f" {-MOST_RATING:g} to {MOST_RATING:g}"
        )
    return RatingFile(
        ratings,
        Columns(user, item, rating),
        checked_delimiter(delimiter),
        duplicates or "refuse",
        scale,
        0.1 if heldout is None else heldout,
    )


def _settings(given: dict[str, Any]) -> dict[str, Any]:
    """Those that were given, checked as far as they can be before anything is read."""
    settings = {name: value for name, value in given.items() if value is not None}
    if "time_budget" in settings:
        settings["time_budget"] = parse_duration(settings["time_budget"], "--time-budget")
    check_length(settings)
    enough = math.isqrt(MAX_WORKERS) ** 2  # for any split: how many there are is seen later
    FactorConfig.from_dict({"workers": enough, **settings})
    return settings


def _train(
    config: Resolved,
    data: RatingData,
    run: FactorRun,
    channel: Transport,
    listener: Listener,
    resume: bool,
    as_json: bool,
) -> int:
    from topicmc.models.factors.model import training_of

    outcome, moved, status = carry_out(
        lambda: training_of(config, data, run, channel, listener, resume=resume),
        _headline(config, data),
        lambda: run.notices,
        run,
        channel,
        listener,
        lacks_samples=lambda: config.sampler != "sgd" and run.is_starting(),
    )
    if status is not None:
        return status
    if as_json:
        print_outcome(run, outcome)
    elif resume and not moved:
        tell_nothing_to_do(run, run.reached(), outcome, listener)
    else:
        evaluate = "topicmc factors evaluate"
        tell_result(run, outcome, config.until, _result(outcome), evaluate, listener)
    return 0


def _headline(config: Resolved, data: RatingData) -> str:
    ratings = data.ratings
    several = f" {config.chains} chains," if config.chains > 1 else ""
    batch = "" if config.sampler == "gibbs" else f" {config.batch_size:,} ratings a batch,"
    return (
        f"{len(ratings):,} ratings of {ratings.n_items:,} items by {ratings.n_users:,} users,"
        f" {int(data.heldout.sum()):,} held out; {config.factors} factors by {config.sampler},"
        f"{several}{batch} {threads_of(config)}"
    )


def _result(outcome: Outcome) -> str:
    if outcome.score is None:
        return "; no error, as no ratings are held out (--heldout F)"
    return f", held-out RMSE {outcome.score:.4f}" + averaged(outcome, ".4f")
