"""``topicmc train --model mixture``."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topicmc.cli.options import print_json
from topicmc.cli.training import (
    averaged,
    carry_out,
    heard,
    job,
    print_outcome,
    tell_nothing_to_do,
    tell_result,
    tell_settings,
    threads_of,
)
from topicmc.errors import UsageError
from topicmc.models.mixture.settings import MixtureConfig
from topicmc.settings.values import AUTO, option

if TYPE_CHECKING:
    from topicmc.corpora import Corpus
    from topicmc.engine.loop import Listener, Outcome
    from topicmc.engine.transport.base import Transport
    from topicmc.models.mixture.run import MixtureRun
    from topicmc.models.mixture.settings import Resolved

ONLY = ("counts", "moves_every", "splits")
"""Options that mean something to a mixture alone."""
FIELDS = frozenset(field.name for field in fields(MixtureConfig))
_WHY = {
    "topics": "the number of groups is learned",
    "from_run": "a mixture begins anew",
    "groups": "chains of a mixture are never averaged",
}


def decided_of(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings without those that are left to the program."""
    return {name: value for name, value in settings.items() if value != AUTO}


def checked(settings: dict[str, Any]) -> None:
    """UsageError for a setting that a mixture does not have, or a value outside its range."""
    for name in settings:
        if name not in FIELDS:
            why = _WHY.get(name, "a mixture has no such setting")
            raise UsageError(
                f"{option(name)} does not go with --model mixture: {why}; leave it out"
            )
    MixtureConfig.from_dict(decided_of(settings))


def train_mixture(
    corpus: Path | None,
    output: Path,
    settings: dict[str, Any],
    *,
    transport: str,
    resume: bool,
    progress: str,
    dry_run: bool,
    force: bool,
    as_json: bool,
) -> int:
    """Trains, and returns the exit status; arguments as of `topicmc.cli.train.train`."""
    from topicmc.models.mixture import jobs
    from topicmc.models.mixture.run import MixtureRun

    if corpus is None and not resume:
        raise UsageError("--model mixture needs a CORPUS, from topicmc prepare")
    settings = decided_of(settings)
    with job(MixtureRun, output, settings, transport, resume=resume) as (channel, leases):
        if dry_run:
            assert corpus is not None  # for --resume does not go with it
            _dry_run(corpus, settings, channel, as_json)
            return 0
        with heard(MixtureRun, progress, channel) as listener:
            if resume:
                begun = jobs.resume(output, settings, channel, corpus, leases)
            else:
                assert corpus is not None
                begun = jobs.start(
                    MixtureConfig(**settings), corpus, output, channel, force=force, leases=leases
                )
            return _train(*begun, channel, listener, resume, as_json)


def _dry_run(corpus: Path, settings: dict[str, Any], channel: Transport, as_json: bool) -> None:
    from topicmc.corpora import Corpus
    from topicmc.models.mixture.jobs import decided
    from topicmc.models.mixture.settings import check_honoured

    asked = MixtureConfig(**settings)
    check_honoured(asked)
    config = decided(asked, Corpus.open(corpus), channel)
    if not channel.is_root:
        return
    if as_json:
        print_json(config.as_dict())
        return
    tell_settings(config.as_dict())


def _train(
    config: Resolved,
    corpus: Corpus,
    run: MixtureRun,
    channel: Transport,
    listener: Listener,
    resume: bool,
    as_json: bool,
) -> int:
    from topicmc.cli.mixture.read import print_groups
    from topicmc.models.mixture.model import training_of

    outcome, moved, status = carry_out(
        lambda: training_of(config, corpus, run, channel, listener, resume=resume),
        _headline(config, corpus),
        lambda: run.notices,
        run,
        channel,
        listener,
        lacks_samples=run.is_starting,
    )
    if status is not None:
        return status
    if as_json:
        print_outcome(run, outcome)
    elif resume and not moved:
        tell_nothing_to_do(run, run.reached(), outcome, listener)
    else:
        print_groups(run, 10)
        tell_result(run, outcome, config.until, _result(outcome), "topicmc evaluate", listener)
    return 0


def _headline(config: Resolved, corpus: Corpus) -> str:
    several = f" {config.chains} chains," if config.chains > 1 else ""
    return (
        f"{corpus.n_docs:,} documents, {corpus.n_tokens:,} tokens, {corpus.n_words:,} words;"
        f" a mixture by {config.sampler},{several} {config.batch_size:,} documents a batch,"
        f" {threads_of(config)}"
    )


def _result(outcome: Outcome) -> str:
    if outcome.score is None:
        return "; no score, as no documents are held out (topicmc prepare --heldout N)"
    return f", {outcome.score:.4f} nats a held-out document" + averaged(outcome, ".4f")
