"""Starting a training run, or finding the one to go on with, and checking that it can work."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from topicmc import __version__, machine
from topicmc.config import AUTO, COLLAPSED, TrainConfig
from topicmc.corpora import Corpus
from topicmc.defaults import resolve
from topicmc.distributed.schedule import partition
from topicmc.distributed.transport import Transport
from topicmc.errors import DataError, UsageError
from topicmc.files import remove_temporaries, speaking_of, write_json
from topicmc.machine import available_memory
from topicmc.posterior.samples import posterior_mean
from topicmc.runs import RunDirectory
from topicmc.scratch import IN_MEMORY
from topicmc.suitable import choose, token_bytes
from topicmc.topics.reading import Topic, describe

EMBEDDED = "corpus"  # the built-in extract is prepared inside the run directory
RESUMABLE = (
    "updates",
    "epochs",
    "time_budget",
    "threads",
    "evaluate_every",
    "checkpoint_every",
    "average_until",
    "workers",
)


def start(
    config: TrainConfig,
    corpus_path: Path | None,
    run_path: Path,
    transport: Transport,
    force: bool = False,
) -> tuple[TrainConfig, Corpus, RunDirectory]:
    """A new run: opens the corpus (None: the built-in extract), resolves the settings, checks the
    memory, and creates the run directory.

    Raises UsageError or DataError before anything is overwritten where it can be known by then.
    """
    run_path = Path(run_path)
    if transport.is_root:
        RunDirectory.check_free(run_path, force)
    if corpus_path is None:
        _create_with_extract(config, run_path, transport, force)
        corpus = Corpus.open(run_path / EMBEDDED)
        return checked(config, corpus, transport), corpus, RunDirectory(run_path)
    corpus = Corpus.open(corpus_path)
    config = checked(config, corpus, transport)
    verify_share(corpus, config, transport)
    transport.barrier()
    if transport.is_root:
        _create(run_path, config, corpus, str(Path(corpus_path).resolve()), force)
    transport.barrier()
    return config, corpus, RunDirectory(run_path)


def _create_with_extract(
    config: TrainConfig, run_path: Path, transport: Transport, force: bool
) -> None:
    """A new run that holds the prepared extract; nothing is left behind when it cannot be."""
    from topicmc.corpora import prepare, wikipedia_extract

    share = machine.share(transport)
    if transport.is_root:
        with speaking_of(run_path.parent):
            run_path.parent.mkdir(parents=True, exist_ok=True)
            temporary = TemporaryDirectory(prefix=f".{run_path.name}-", dir=run_path.parent)
        with temporary as folder:
            corpus = prepare([wikipedia_extract()], Path(folder) / EMBEDDED, seed=0)
            config = checked(config, corpus, transport, share)
            run = _create(run_path, config, corpus, EMBEDDED, force)
            with speaking_of(run.path):
                shutil.rmtree(run.path / EMBEDDED, ignore_errors=True)
                corpus.path.rename(run.path / EMBEDDED)
    transport.barrier()


def _create(
    run_path: Path, config: TrainConfig, corpus: Corpus, location: str, force: bool
) -> RunDirectory:
    facts = {
        "topicmc": __version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "corpus": {
            "path": location,
            "fingerprint": corpus.fingerprint,
            "documents": corpus.n_docs,
            "tokens": corpus.n_tokens,
            "words": corpus.n_words,
        },
        "config": config.as_dict(),
    }
    words = corpus.vocabulary
    run = RunDirectory.create(run_path, facts, force)
    run.update_facts(vocabulary=run.write_vocabulary(words))
    return run


def verify_share(corpus: Corpus, config: TrainConfig, transport: Transport) -> None:
    """Reads the shards of this process's workers, and the held-out documents, against their
    checksums; DataError names the file that is damaged."""
    ranges = partition(corpus.shard_sizes, config.workers)
    shards = {shard for worker in transport.workers for shard, _, _ in ranges[worker]}
    corpus.check(sorted(shards))


def resume(
    run_path: Path, changes: Mapping[str, Any], transport: Transport, corpus_path: Path | None
) -> tuple[TrainConfig, Corpus, RunDirectory]:
    """An existing run with its corpus, and its settings with ``changes`` made.

    Raises UsageError when a change would make it another run, DataError when the corpus is not the
    one that the run began with.
    """
    run = RunDirectory.open(run_path)
    facts = run.facts()
    try:
        config = TrainConfig.from_dict(facts["config"])
    except UsageError as error:
        raise DataError(f"{run.path / 'run.json'}: {error}") from None
    for name, value in changes.items():
        if name not in RESUMABLE and value != getattr(config, name):
            raise UsageError(
                f"--{name.replace('_', '-')} {value}: the run in {run_path} began with"
                f" {getattr(config, name)}, which --resume cannot change; start a new run instead"
            )
    corpus = open_corpus(run, corpus_path)
    config = on_workers(config, transport.n_workers)
    if any(name in changes for name in ("updates", "epochs", "time_budget")):
        config = replace(config, updates=None, epochs=None, time_budget=None)
    config = replace(config, **changes)
    config = checked(config, corpus, transport)
    verify_share(corpus, config, transport)
    if transport.is_root:
        remove_temporaries(run.path)
        run.update_facts(config=config.as_dict())
        if corpus_path is not None:
            run.update_facts(corpus={**facts["corpus"], "path": str(Path(corpus_path).resolve())})
    transport.barrier()
    return config, corpus, run


def finish(run: RunDirectory, update: int) -> list[Topic]:
    """Writes the ``topics.json`` of a run that has ended; returns its topics, largest first."""
    phi, share, _ = posterior_mean(run)
    topics = describe(phi, share, run.vocabulary())
    described = [topic.as_dict() for topic in topics]
    write_json(run.path / "topics.json", {"format": 1, "update": update, "topics": described})
    return topics


def on_workers(config: TrainConfig, n_workers: int) -> TrainConfig:
    """The settings with another number of workers: each still holds at most one chain of
    minibatches, so such chains beyond their number are given up."""
    if n_workers == config.workers or config.sampler == "adlda":
        return replace(config, workers=n_workers)
    chains = min(config.chains, n_workers)
    return replace(config, workers=n_workers, chains=chains, groups=min(config.groups, chains))


def workers_of(run_path: Path) -> int | None:
    """How many workers the run in a directory last had; None where there is no run."""
    if not (Path(run_path) / "run.json").is_file():
        return None
    return RunDirectory.open(run_path).facts()["config"].get("workers")


def open_corpus(run: RunDirectory, corpus_path: Path | None = None) -> Corpus:
    """The corpus of a run, from where it was or from ``corpus_path``; DataError unless the same."""
    facts = run.facts()["corpus"]
    path = Path(corpus_path) if corpus_path is not None else run.path / facts["path"]
    if corpus_path is None and not path.exists():
        raise DataError(
            f"{path}: the corpus of the run in {run.path} is not there any more; name its new"
            " place on the command line, as CORPUS to train and with --corpus elsewhere"
        )
    corpus = Corpus.open(path)
    if corpus.fingerprint != facts["fingerprint"]:
        raise DataError(
            f"{path}: this corpus has changed since the run in {run.path} was made (fingerprint"
            f" {corpus.fingerprint[:12]}, not {facts['fingerprint'][:12]}); restore it or start a"
            " new run"
        )
    return corpus


def checked(
    config: TrainConfig, corpus: Corpus, transport: Transport, share: machine.Share | None = None
) -> TrainConfig:
    """The settings resolved for a corpus; UsageError when memory or corpus cannot bear them.

    Collective, unless the ``share`` of the machine is given.
    """
    share = share or machine.share(transport)
    threads = share.cores if config.threads == AUTO else config.threads
    config = replace(resolve(config, **_bounds(corpus, transport, share)), threads=threads)
    needed = memory_needed(config, corpus.n_words, corpus.n_tokens)
    needed *= len(transport.workers) * share.processes
    available = available_memory()
    if available is not None and needed > available:
        raise UsageError(
            f"--topics {config.topics} over {corpus.n_words:,} words needs about"
            f" {needed / 1e9:.1f} GB of memory and {available / 1e9:.1f} GB are free; use fewer"
            " topics or prune the vocabulary"
        )
    return config


def memory_needed(config: TrainConfig, n_words: int, n_tokens: int) -> int:
    """Bytes that one worker's chain needs: θ, a copy in flight, and the rows of a minibatch (the
    topics and counts of its distinct words, at most all of them). Collapsed samplers hold counts in
    their place, and the word and topic of every token of theirs, unless these are in files."""
    needed = 4 * n_words * config.topics * 5
    if config.sampler in COLLAPSED or config.remember:
        of_tokens = token_bytes(n_words, config.topics) * n_tokens // config.workers
        needed += min(of_tokens, 2 * IN_MEMORY)
    return needed


def _bounds(corpus: Corpus, transport: Transport, share: machine.Share) -> dict[str, Any]:
    """What settings are decided by: the size of a corpus, and what each worker has, if those of a
    process share what it has."""
    memory, hosted = share.least_memory, len(transport.workers)
    return {
        "n_docs": corpus.n_docs,
        "n_tokens": corpus.n_tokens,
        "n_words": corpus.n_words,
        "cores": max(1, share.least_cores // hosted),
        "memory": None if memory is None else memory // hosted,
    }


def choice(config: TrainConfig, corpus: Corpus, transport: Transport) -> str | None:
    """What ``--sampler auto`` comes to on a corpus and why, in a line; None if it was not left."""
    if config.sampler != "auto":
        return None
    sampler, why = choose(config, **_bounds(corpus, transport, machine.share(transport)))
    return f"--sampler auto: {sampler}, {why}"


def versions() -> dict[str, str]:
    """What a result depends on: Python and the numerical packages."""
    packages = ("numpy", "numba", "scipy", "gensim")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}
