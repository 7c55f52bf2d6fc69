"""``topicmc train``."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topicmc.cli.configuration import settings_of
from topicmc.cli.mixture.dispatch import is_mixture
from topicmc.cli.mixture.train import ONLY as MIXTURE_ONLY
from topicmc.cli.options import (
    Headed,
    Number,
    force_option,
    json_option,
    output_option,
    print_json,
    progress_option,
    resume_option,
    setting,
    transport_option,
)
from topicmc.cli.topic_table import print_topics
from topicmc.cli.training import (
    averaged,
    carry_out,
    check_resume,
    heard,
    job,
    print_outcome,
    tell_nothing_to_do,
    tell_result,
    tell_settings,
    threads_of,
)
from topicmc.errors import DataError, UsageError
from topicmc.host.machine import in_units
from topicmc.models.lda.settings import ESTIMATES, SAMPLERS, STARTS, TrainConfig
from topicmc.models.mixture.settings import COUNTS
from topicmc.settings.groups import SCHEDULES, UNTIL
from topicmc.settings.values import AUTO, LEARN, option

if TYPE_CHECKING:
    from topicmc.corpora import Corpus
    from topicmc.engine.loop import Listener, Outcome
    from topicmc.engine.transport.base import Transport
    from topicmc.models.lda.run import TopicRun
    from topicmc.models.lda.settings import Resolved

MODELS = ("lda", "mixture")
HEADINGS = {
    "Most used": (
        "output", "model", "topics", "time_budget", "epochs", "until", "resume", "seed", "workers",
        "chains",
    ),
    "Length and what is kept": ("updates", "evaluate_every", "checkpoint_every", "samples"),
    "Priors": (
        "seeds", "seed_weight", "alpha", "beta", "topic_prior", "learn", "learn_until",
    ),
    "Sampler": (
        "sampler", "estimate", "remember", "batch_size", "sweeps", "burn_in", "step_size",
        "step_offset", "step_decay", "from_run", "start", "start_weight", "anneal_updates",
        "start_sweeps", "start_documents",
    ),
    "Workers and chains": (
        "threads", "transport", "groups", "average_until", "trajectory", "schedule", "balance",
        "slow",
    ),
    "Mixtures": MIXTURE_ONLY,
    "How it is called": ("dry_run", "config_file", "force", "progress", "as_json"),
}  # fmt: skip


class Alpha(click.ParamType):
    """A number, numbers with commas between them, a file of numbers, or the word ``auto``."""

    name = "F,F,...|FILE"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        from topicmc.models.lda.priors.given import read_alpha

        return value if value == AUTO else read_alpha(value)


@click.command(cls=Headed, headings=HEADINGS)
@click.argument("corpus", required=False, type=click.Path(path_type=Path))
@output_option("The run directory [topicmc-run].", required=False)
@setting(
    "--model", click.Choice(MODELS), "mixture: one group per document; learns their number [lda]."
)
@setting("--topics", Number(int), "Number of topics K [auto: by corpus size].")
@setting(
    "--sampler",
    click.Choice([AUTO, *SAMPLERS]),
    "Sampler of the topics [auto: by corpus and time].",
)
@setting(
    "--seeds", click.Path(path_type=Path), "Topics by name with seed words: TOML, JSON or CSV."
)
@setting("--seed-weight", float, "Tokens that a seed word brings to its topic [auto].")
@setting("--alpha", Alpha(), "Prior of a document's topic mix, or a file of it [auto: learned].")
@setting("--beta", Number(float), "Prior of a topic's words [auto: learned].")
@setting(
    "--topic-prior", click.Path(path_type=Path), "Priors of words in topics: npy, npz, csv or mtx."
)
@setting("--batch-size", Number(int), "Documents in a minibatch [auto: by their length].")
@setting("--sweeps", Number(int), "Gibbs sweeps over each minibatch [auto].")
@setting(
    "--burn-in",
    Number(int),
    "How many of these sweeps come first and are not averaged [auto: half].",
)
@setting("--step-size", Number(float), "a in the step size a (1 + t / b)^-c [auto].")
@setting("--step-offset", Number(float), "b in the step size [auto].")
@setting("--step-decay", Number(float), "c in the step size [auto].")
@setting("--start", click.Choice([AUTO, *STARTS]), "How a chain begins [auto: by sampler].")
@setting("--start-weight", float, "SGRLD: mean weight with which topics begin [by the prior].")
@setting("--anneal-updates", Number(int), "Length of the start of minibatch chains [auto].")
@setting("--start-sweeps", Number(int), "Length of the start where it makes sweeps [auto].")
@setting("--start-documents", Number(int), "Documents of a start on a subset of them [auto].")
@setting(
    "--estimate",
    click.Choice([AUTO, *ESTIMATES]),
    "SCIR: how the counts of the corpus are estimated [auto: remembered where possible].",
)
@setting(
    "--remember/--no-remember",
    bool,
    "SCIR, SGRLD: keep the topic of each token [auto].",
)
@setting("--learn", click.Choice([AUTO, *LEARN]), "Priors to learn [auto: those not given].")
@setting(
    "--learn-until", click.Choice(["burn-in", "end"]), "When learning of priors ends [burn-in]."
)
@setting(
    "--counts",
    click.Choice(COUNTS),
    "Counts behind a move: of all documents, exact, or of a minibatch [all].",
)
@setting("--moves-every", int, "Split, merge and label moves every so many updates [10].")
@setting("--splits", int, "Proposals to split or merge groups at a time [20].")
@setting("--updates", int, "Stop after so many updates of each chain.")
@setting("--epochs", float, "Stop after so many passes over the corpus.")
@setting("--time-budget", str, "Stop after so much training: 90s, 10m, 2h.")
@setting(
    "--until",
    click.Choice(UNTIL),
    "Stop at the end, or once converged [auto: end if a length is given].",
)
@setting("--evaluate-every", str, "Held-out perplexity every 10s, or every N updates [auto].")
@setting(
    "--checkpoint-every",
    str,
    "A checkpoint every 30s, or every N updates [auto: 30s, or less often, to take a tenth of the"
    " time at most].",
)
@setting("--samples", int, "Posterior samples of a chain to keep at most [32; mixture: 64].")
@setting("--seed", int, "The same seed gives the same topics [0].")
@setting("--threads", Number(int), "Threads of a worker [auto: the cores, shared out].")
@setting("--workers", int, "Workers that share the corpus out [1].")
@transport_option
@setting("--chains", Number(int), "Chains [auto: one per worker; AD-LDA: one].")
@setting("--groups", Number(int), "Groups of chains that are averaged [auto: 1].")
@setting("--trajectory", Number(int), "Updates a chain makes on a worker, on average [auto].")
@setting("--schedule", click.Choice(SCHEDULES), "How chains move on [rotate].")
@setting("--balance/--no-balance", bool, "Longer trajectories on faster workers [yes].")
@setting("--average-until", int, "Stop averaging chains after so many updates [burn-in].")
@click.option("--slow", multiple=True, metavar="RANK=FACTOR", help="Slow a worker, to experiment.")
@click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path),
    help="Settings from a TOML file; options given here win.",
)
@click.option(
    "--from",
    "from_run",
    type=click.Path(),
    metavar="RUN",
    help="Begin with the topics of another run, which may be of other documents and words.",
)
@resume_option
@progress_option
@click.option("--dry-run", is_flag=True, help="Print the settings that would be used, and stop.")
@force_option
@json_option
def train(
    corpus: Path | None,
    output: Path | None,
    transport: str,
    slow: tuple[str, ...],
    config_file: Path | None,
    resume: bool,
    progress: str,
    dry_run: bool,
    force: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Train topics on CORPUS (from ``topicmc prepare``), or on the built-in Wikipedia extract.

    Only --topics matters to most people. Ctrl-C stops with a checkpoint; --resume goes on.
    """
    from topicmc.models.lda import jobs
    from topicmc.models.lda.run import TopicRun

    check_resume(resume, force)
    if resume and dry_run:
        raise UsageError("--dry-run shows the settings of a new run; leave one of them out")
    output = output or Path("topicmc-run")
    model = _model(given.pop("model"), output, resume)
    if model == "mixture":
        from topicmc.cli.mixture.train import checked, train_mixture

        if slow:
            raise UsageError("--slow does not go with --model mixture; leave it out")
        sys.exit(
            train_mixture(
                corpus,
                output,
                settings_of(given, config_file, checked),
                transport=transport,
                resume=resume,
                progress=progress,
                dry_run=dry_run,
                force=force,
                as_json=as_json,
            )
        )
    for name in MIXTURE_ONLY:
        if given.pop(name) is not None:
            raise UsageError(f"{option(name)} goes with --model mixture; leave it out, or add that")
    settings = settings_of(given, config_file)
    slowed = _slow(slow)
    bare = dry_run and corpus is None  # nothing of the machine is asked then
    with job(TopicRun, output, settings, transport, resume=resume, alone=bare) as (channel, leases):
        if slowed and max(slowed) >= channel.n_workers:
            raise UsageError(
                f"--slow {max(slowed)}=…: the workers are 0 to {channel.n_workers - 1}"
            )
        if dry_run:
            _dry_run(corpus, settings, channel, as_json)
            return
        with heard(TopicRun, progress, channel) as listener:
            if resume:
                begun = jobs.resume(output, settings, channel, corpus, leases)
            else:
                asked, tell = TrainConfig(**settings), listener.message
                begun = jobs.start(asked, corpus, output, channel, force, tell, leases)
            status = _train(*begun, channel, listener, resume, slowed, as_json)
    sys.exit(status)


def _model(asked: str | None, output: Path, resume: bool) -> str:
    """The model to train: that of the run to go on with, or as asked for. No rank looks for a new
    run before it is made: NFS would have that the run is not there for half a minute more."""
    found = "mixture" if resume and is_mixture(output) else "lda"
    if not resume or (found == "lda" and not (output / "run.json").is_file()):
        return asked or MODELS[0]
    if asked not in (None, found):
        raise UsageError(
            f"--model {asked}: the run in {output} is of the model {found}, which --resume cannot"
            " change; start a new run instead"
        )
    return found


def _train(
    config: Resolved,
    corpus: Corpus,
    run: TopicRun,
    channel: Transport,
    listener: Listener,
    resume: bool,
    slow: dict[int, float],
    as_json: bool,
) -> int:
    from topicmc.models.lda.model import training_of
    from topicmc.models.lda.progress import reached
    from topicmc.topics.reading import write_topics

    outcome, moved, status = carry_out(
        lambda: training_of(config, corpus, run, channel, listener, resume=resume, slow=slow),
        _headline(config, corpus),
        lambda: run.notices if resume else run.facts()["plan"]["remarks"],
        run,
        channel,
        listener,
        lacks_samples=run.is_starting,
    )
    if status is not None:
        return status
    nothing = resume and not moved and _are_written(run)
    topics = [] if nothing else write_topics(run, outcome.update)
    if as_json:
        print_outcome(run, outcome, averaged_over=outcome.averaged_over)
    elif nothing:
        tell_nothing_to_do(run, reached(run), outcome, listener)
    else:
        print_topics(topics)
        tell_result(run, outcome, config.until, _result(outcome), "topicmc evaluate", listener)
    return 0


def _are_written(run: TopicRun) -> bool:
    """Whether ``topics.json`` holds the topics of the state that was evaluated last."""
    from topicmc.storage.files import read_json

    with suppress(DataError, IndexError):
        written = read_json(run.path / "topics.json", update=int)["update"]
        return written == run.metrics()[-1]["update"]
    return False


def _headline(config: Resolved, corpus: Corpus) -> str:
    return (
        f"{corpus.n_docs:,} documents, {corpus.n_tokens:,} tokens, {corpus.n_words:,} words;"
        f" {config.topics} topics by {config.sampler},"
        f"{_chains(config)}"
        f" {config.batch_size} documents a batch, {threads_of(config)}"
    )


def _chains(config: Resolved) -> str:
    if config.chains == 1:
        return ""
    if config.groups == config.chains or config.keeps_assignments:
        return f" {config.chains} chains,"
    groups = "one group" if config.groups == 1 else f"{config.groups} groups"
    return f" {config.chains} chains averaged as {groups} until update {config.average_until:,},"


def _result(outcome: Outcome) -> str:
    if outcome.score is None:
        return "; no perplexity, as no documents are held out (topicmc prepare --heldout N)"
    return f", held-out perplexity {outcome.score:,.1f}" + averaged(outcome, ",.1f")


def _slow(items: tuple[str, ...]) -> dict[int, float]:
    slow = {}
    for item in items:
        match = re.fullmatch(r"(\d{1,9})=(\d{1,6}(?:\.\d+)?)", item)
        if not match or float(match[2]) < 1:
            raise UsageError(f"--slow {item!r}: write RANK=FACTOR, for example 1=5")
        slow[int(match[1])] = float(match[2])
    return slow


def _dry_run(
    corpus: Path | None, settings: dict[str, Any], channel: Transport, as_json: bool
) -> None:
    from topicmc.corpora import Corpus
    from topicmc.models.lda import jobs
    from topicmc.models.lda.planning.planned import disk_of

    opened = None if corpus is None else Corpus.open(corpus)
    config = TrainConfig(**settings)
    resolved = None if opened is None else jobs.checked(config, opened, channel)
    if not channel.is_root:
        return
    shown = (resolved or config).as_dict()
    if as_json:
        print_json(shown)
        return
    tell_settings(shown)
    if resolved is not None and opened is not None:
        disk = in_units(disk_of(resolved, opened))
        click.echo(f"such a run takes up to {disk} of disk", err=True)
