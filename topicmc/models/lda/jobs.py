"""Starting a training run, or finding the one to go on with, and checking that it can work."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from topicmc.corpora import Corpus
from topicmc.corpora.documents import blocks
from topicmc.corpora.of_runs import (
    EMBEDDED,
    PACKAGES,
    corpus_facts,
    corpus_facts_of,
    holds_extract,
    open_corpus,
    place_of,
)
from topicmc.engine.lifecycle import (
    begin,
    check_alike,
    go_on,
    lease,
    settings_facts,
    take_up,
    with_saved_chains,
)
from topicmc.engine.transport.base import Transport
from topicmc.errors import DataError, UsageError
from topicmc.host import machine
from topicmc.kernels.batch import check_lengths
from topicmc.models.lda.formats import config_of_format_1
from topicmc.models.lda.origin import draft, inherited
from topicmc.models.lda.partition import pieces, share_out
from topicmc.models.lda.planning.other_workers import (
    in_epochs,
    on_workers,
    remarks_on_start,
    with_asked_batches,
    with_usual_blocks,
)
from topicmc.models.lda.planning.planned import Plan, disk_of, planned, remarks_on_disk
from topicmc.models.lda.planning.sampler_choice import check_averages, check_honoured
from topicmc.models.lda.priors.given import Given, given_prior
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.settings import LdaSettings, Resolved, TrainConfig
from topicmc.models.views import fingerprint_of, is_view, run_of
from topicmc.settings import groups
from topicmc.settings.values import AUTO
from topicmc.storage.files import (
    checksum,
    put_in_place,
    real_path,
    temporary_folder,
    user_errors_for,
)
from topicmc.storage.run_fields import settings_in
from topicmc.storage.runs import made_by

RESUMABLE = (*groups.RESUMABLE, "average_until")


def start(
    config: LdaSettings,
    corpus_path: Path | None,
    run_path: Path,
    transport: Transport,
    force: bool = False,
    tell: Callable[[str], None] | None = None,
    leases: ExitStack | None = None,
) -> tuple[Resolved, Corpus, TopicRun]:
    """A new run: opens the corpus (None: the built-in extract), resolves the settings, checks the
    memory, and creates the run directory. ``tell`` hears why it takes long, if it does. No other
    job writes into the run until ``leases`` is closed; None leaves that to the caller.

    Raises UsageError or DataError before anything is overwritten where it can be known by then.
    """
    run_path = Path(run_path)
    if transport.is_root:
        (_OnExtract if corpus_path is None else TopicRun).check_free(run_path, force)
        if config.from_run is not None and _shows(Path(config.from_run), run_path):
            raise UsageError(f"--from {config.from_run}: is the run to be made; give it another -o")
    run = TopicRun(run_path)
    if corpus_path is None:
        _check_alike(config, transport)
        lease(run, transport, leases)
        _create_with_extract(config, run_path, transport, force)
        return Resolved.of(saved(run)), Corpus.open(run_path / EMBEDDED), run
    corpus = Corpus.open(corpus_path)
    _check_alike(config, transport, corpus.fingerprint)
    new = _new_run(config, corpus, transport, tell=tell)
    resolved = new.plan.config
    verify_share(corpus, resolved, transport)
    transport.barrier()

    def create() -> None:
        is_read = real_path(corpus_path).is_relative_to(real_path(run_path / EMBEDDED))
        kind = _InPlaceOfExtract if holds_extract(run_path) and not is_read else TopicRun
        location = place_of(corpus_path, run_path)
        _create(kind, run_path, new, corpus, location, transport, force)

    begin(run, transport, leases, create)
    return resolved, corpus, run


def _check_alike(config: LdaSettings, transport: Transport, corpus: str | None = None) -> None:
    """As `check_alike`, by what is in the files that settings name: other machines may have them
    elsewhere."""
    if transport.n_processes > 1:
        read = {"from_run": _run_in(config.from_run), "topic_prior": _file_in(config.topic_prior)}
        check_alike({**config.as_dict(), **read}, transport, corpus)


def _run_in(place: str | None) -> str | None:
    """What the run in a place is for life, though it may train on meanwhile; None where there is
    none, which is told when it is read."""
    with suppress(DataError):
        if place is not None:
            return fingerprint_of(TopicRun.open(Path(place)).facts())
    return None


def _file_in(place: str | None) -> str | None:
    """The checksum of the file in a place, likewise."""
    with suppress(DataError):
        if place is not None and Path(place).is_file():  # a pipe may never end
            return checksum(Path(place))
    return None


def _without_places(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings but for files that other machines may have elsewhere."""
    places = "from_run", "topic_prior"
    return {name: value for name, value in settings.items() if name not in places}


def _shows(origin: Path, run_path: Path) -> bool:
    """Whether a run, or the one that a view shows, is at a path."""
    runs = [origin, run_of(origin)] if is_view(origin) else [origin]
    return real_path(run_path) in map(real_path, runs)


def saved(run: TopicRun) -> TrainConfig:
    """The settings of a run; DataError when they are none."""
    facts = run.facts()
    config = settings_in(run.path / "run.json", facts, TrainConfig)
    if facts["format"] > 1:
        return config
    checkpoint = run.checkpoint()
    rounds = 0 if checkpoint is None else checkpoint.manifest["round"]
    return config_of_format_1(config, facts["corpus"]["documents"], rounds)


def _create_with_extract(
    config: LdaSettings, run_path: Path, transport: Transport, force: bool
) -> None:
    """A new run that holds the prepared extract; nothing is left behind when it cannot be."""
    from topicmc.corpora import prepare, wikipedia_extract

    share = machine.share(transport)
    if transport.is_root:
        with ExitStack() as stack:
            with user_errors_for(run_path.parent):
                run_path.parent.mkdir(parents=True, exist_ok=True)
                beside = temporary_folder(run_path.parent, f".{run_path.name}-")
                folder = stack.enter_context(beside)
            corpus = prepare([wikipedia_extract()], folder / EMBEDDED, seed=0)
            new = _new_run(config, corpus, transport, share)
            _create(_OnExtract, run_path, new, corpus, str(corpus.path), transport, force)
    transport.barrier()


class _InPlaceOfExtract(TopicRun):
    """A new run in place of one that holds the extract, which goes with it; of one that lies
    elsewhere, the link to it goes."""

    def _clear(self) -> None:  # while run.json says whose it is
        extract = self.path / EMBEDDED
        if extract.is_symlink():
            extract.unlink()
        else:
            shutil.rmtree(extract, ignore_errors=True)
        super()._clear()


class _OnExtract(_InPlaceOfExtract):
    """A new run on the built-in extract. That is moved from where it was prepared, which the facts
    say, into the run before ``run.json`` is written."""

    @classmethod
    def check_free(cls, path: Path, force: bool = False) -> None:
        """As of any run; and UsageError where another corpus is in the place of the extract."""
        super().check_free(path, force)
        place = Path(path) / EMBEDDED
        is_run = (Path(path) / "run.json").is_file()  # one that was killed has no facts yet
        if place.exists() and is_run and not holds_extract(Path(path)):
            raise UsageError(
                f"{place}: is no part of the run there, and would be lost; name the CORPUS to train"
                " on, or give another -o"
            )

    def _write_facts(self, facts: Mapping[str, Any]) -> None:
        with user_errors_for(self.path):
            put_in_place(Path(facts["corpus"]["path"]), self.path / EMBEDDED)
        super()._write_facts({**facts, "corpus": {**facts["corpus"], "path": EMBEDDED}})


def given_of(config: LdaSettings, corpus: Corpus) -> tuple[LdaSettings, Given]:
    """What is given of the prior of a new run's topics, and the settings with what follows from it;
    errors as of `inherited` and `given_prior`."""
    if config.from_run is not None:
        return inherited(config, corpus)
    return given_prior(config, corpus.vocabulary, corpus.n_tokens)


def _create(
    kind: type[TopicRun],
    run_path: Path,
    new: _NewRun,
    corpus: Corpus,
    location: str,
    transport: Transport,
    force: bool,
) -> None:
    asked, given, plan = new.asked, new.given, new.plan
    origin, remarks = None, plan.remarks
    if plan.config.from_run is not None:  # before its prior is asked for as many topics
        origin = draft(asked, plan.config, corpus)
    remarks = [*given.remarks_on(plan.config, corpus.n_words, corpus.n_tokens), *remarks]
    if origin is not None:
        remarks = [origin.remark(), *remarks]
    remarks = [*remarks, *remarks_on_disk(run_path, disk_of(plan.config, corpus))]
    labels = {str(k): name for k, name in given.labels.items()}
    facts = {
        **made_by(*PACKAGES),
        "corpus": corpus_facts(corpus, location),
        **settings_facts(plan.config, asked, transport),
        "plan": {"remarks": remarks, "pace": plan.pace and asdict(plan.pace)},
        **({"labels": labels} if labels else {}),
        **({"seeds": dict(given.inherited)} if given.inherited else {}),
    }
    additions = given.additions(plan.config, corpus.n_words)
    kind.create(run_path, facts, force, corpus.vocabulary, additions, origin)


def verify_share(corpus: Corpus, config: Resolved, transport: Transport) -> None:
    """Reads the shards of this process's workers, and the held-out documents, against their
    checksums; DataError names the file that is damaged, or says that a document is too long
    (`check_lengths`)."""
    ranges = share_out(corpus, config.workers)
    shards = {shard for worker in transport.workers for shard, _, _ in ranges[worker]}
    corpus.check(sorted(shards))
    for worker in transport.workers:
        for documents in pieces(corpus, ranges[worker]):
            check_lengths(documents.sizes)
    for documents in blocks(corpus.heldout):
        check_lengths(documents.sizes)


def resume(
    run_path: Path,
    changes: Mapping[str, Any],
    transport: Transport,
    corpus_path: Path | None,
    leases: ExitStack | None = None,
) -> tuple[Resolved, Corpus, TopicRun]:
    """An existing run with its corpus, and its settings with ``changes`` made, which may repeat
    what the run began with; ``leases`` as in `start`.

    Raises UsageError when a change would make it another run, DataError when the corpus is not the
    one that the run began with.
    """
    run = TopicRun.open(run_path)
    if run.view is not None:
        raise UsageError(
            f"{run_path}: is a view, which cannot be trained; train its run ({run.resume_command}),"
            " and the view shows that"
        )
    take_up(run, transport, leases, _without_places(changes))
    facts, config = run.facts(), saved(run)
    if not config.keeps_assignments:
        config = with_saved_chains(config, run)
    if facts.get("saved"):
        raise UsageError(
            f"{run_path}: was saved from Python, without a checkpoint to go on from; go on there by"
            " LDA.from_run and partial_fit, or start a new run"
        )
    asked = facts.get("asked", {})
    told, changes = changes, config.changes_of(changes, run_path, asked, RESUMABLE)
    for name, is_learned in (("alpha", config.learns_alpha), ("beta", config.learns_beta)):
        is_repeated = told.get("learn", AUTO) != AUTO or told.get(name, AUTO) == AUTO
        if is_learned and not is_repeated:
            raise UsageError(
                f"--{name} {told[name]}: the run in {run_path} learns {name}, which --resume"
                " cannot change; start a new run instead"
            )
    corpus, found = open_corpus(run, corpus_path), corpus_facts_of(run, corpus_path)
    n_workers = transport.n_workers
    config = in_epochs(config, corpus, n_workers)
    config = with_asked_batches(config, asked, told, n_workers)
    config = with_usual_blocks(config, corpus, n_workers, told).on_these_cores(facts)
    names = ("chains", "groups", "average_until", "batch_size", "trajectory")
    before = {name: getattr(config, name) for name in names}  # blocks that nobody set are open
    config = on_workers(config, n_workers).without_lengths(changes)
    run.notices += remarks_on_start(run, config, before)
    known = Given(matrix=run.additions())
    resolved = planned(replace(config, **changes), corpus, transport, given=known).config
    until = changes.get("average_until")
    is_repeated = until in (before["average_until"], asked.get("average_until"))
    check_averages(None if is_repeated else until, resolved)
    made = _updates_made(run, resolved)
    if until and not is_repeated and before["average_until"] < made and until <= made:
        raise UsageError(
            f"--average-until {until}: the run has made {made:,} updates; give more, or leave it"
            " out"
        )
    verify_share(corpus, resolved, transport)
    asked = {**resolved.asked_otherwise(before), **asked, **resolved.asked_otherwise(told)}
    once = {"averaged": True} if before["average_until"] and made else {}
    go_on(run, transport, resolved, changes, asked=asked, corpus=found, **once)
    return resolved, corpus, run


def _updates_made(run: TopicRun, config: Resolved) -> int:
    """By each chain of minibatches, in the mean over chains; 0 where they began on a subset, and so
    have one start whether they are averaged or not."""
    checkpoint = run.checkpoint()
    if checkpoint is None or config.keeps_assignments or config.start == "subset":
        return 0
    return checkpoint.manifest["round"] * config.trajectory


@dataclass(frozen=True)
class _NewRun:
    """A new run as it was asked for, what is given of its prior, and its plan."""

    asked: LdaSettings
    given: Given
    plan: Plan


def _new_run(
    asked: LdaSettings,
    corpus: Corpus,
    transport: Transport,
    share: machine.Share | None = None,
    tell: Callable[[str], None] | None = None,
) -> _NewRun:
    """Arguments and errors as of `given_of` and `planned`; and UsageError for a setting that cannot
    be honoured."""
    config, given = given_of(asked, corpus)
    plan = planned(config, corpus, transport, share, tell, given)
    check_honoured(config, plan.config)
    return _NewRun(asked, given, plan)


def checked(config: LdaSettings, corpus: Corpus, transport: Transport) -> Resolved:
    """The settings that a new run would have; UsageError where `start` raises one of them."""
    return _new_run(config, corpus, transport).plan.config
