"""Models of `LDA` on disk: run directories that hold as much as a `Record`."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np

from topicmc.corpora.of_runs import EMBEDDED, NO_CORPUS, PACKAGES, holds_extract
from topicmc.engine.transport.local import LocalTransport
from topicmc.errors import DataError, UsageError
from topicmc.estimator.incremental import Stream
from topicmc.estimator.parameters import PRIORS
from topicmc.estimator.stored import Record, Visits
from topicmc.export.places import staging
from topicmc.host.machine import check_room
from topicmc.models.lda.draws import keeps_counts
from topicmc.models.lda.planning.plan import draws_per_epoch
from topicmc.models.lda.run import STREAM, TopicRun
from topicmc.models.lda.samples import alpha_of, beta_of, read_running_mean, samples_of, share_of
from topicmc.models.lda.settings import TrainConfig
from topicmc.posterior.traces import trace_alone
from topicmc.posterior.truncation import at_rest
from topicmc.samplers.row_prior import Additions, RowPrior
from topicmc.samplers.state import Chain, is_finite, sum_topics
from topicmc.settings.values import MAX_WORKERS
from topicmc.storage.arrays import write_arrays
from topicmc.storage.fields import SHA256
from topicmc.storage.fields import Record as Fields
from topicmc.storage.files import check_elsewhere, real_path
from topicmc.storage.lease import NAME as LEASE
from topicmc.storage.lease import held
from topicmc.storage.runs import made_by
from topicmc.storage.staging import clear_up
from topicmc.topics.reading import write_topics

_MOST_UPDATES = 2**31  # of a chain: random numbers are named by them in 32 bits
_MOST_SEED = 2**63 - 1


def read(run: TopicRun, chain: int = 0) -> Record:
    """A chain of a run.

    Raises UsageError when the run has no such chain, DataError when it has no samples yet or a file
    is damaged.
    """
    facts, index, samples = run.facts(), samples_of(run), samples_of(run, chain)
    told, corpus = Fields(run.path / "run.json", facts), facts["corpus"]
    if corpus["path"] != NO_CORPUS:  # as of one that the run holds
        corpus["path"] = str(real_path(run.path / corpus["path"]))
    entries, sums, phis = [], [], np.empty(0, np.float32)
    for place, entry in enumerate(samples):
        theta = run.read_sample(entry)
        sums.append(theta.sum(axis=0, dtype=np.float64))
        if place == 0:
            phis = np.empty((len(samples), *theta.shape[::-1]), np.float32)
        np.divide(theta.T, sums[-1].astype(np.float32)[:, None], out=phis[place])
        known: dict[str, Any] = {
            name: entry[name] for name in ("round", "position") if name in entry
        }
        entries.append(
            {
                "chain": 0,
                **known,
                "burn_in": entry["burn_in"],
                "alpha": alpha_of(run, entry).tolist(),
                "beta": beta_of(run, entry),
                "share": share_of(run, entry, theta).tolist(),
            }
        )
    additions = run.additions()
    if additions is not None and run.view is not None:  # which numbers topics as the first chain
        additions = Additions(additions.row_of, run.view.summed(additions.values, chain))
    record = Record(
        phis,
        np.stack(sums),
        entries,
        facts["config"],
        corpus,
        _passes_of(run, facts),
        additions=additions,
        labels=dict(run.labels),
        inherited=facts.get("seeds") or {},
        trace=trace_alone(run, chain),
        n_at_rest=len(at_rest(run, samples)),
        mean=read_running_mean(run, samples[-1]),
    )
    if all(entry["chain"] == 0 for entry in index):
        record.metrics = run.metrics()
    record.chain, record.visits = chain, Visits(corpus.get("documents", 1), record.passes)
    _read_model(told, record)
    if "stream" in told:
        _read_stream(run, told, record)
    return record


def of_samples(number: int, n_topics: int, n_words: int) -> float:
    """Bytes of so many samples of topics all together, with one as it is read, or their mean in
    float64."""
    return 4.0 * (number + 2) * n_topics * n_words


def check_memory(run: TopicRun, chain: int, n_words: int) -> None:
    """UsageError where memory is too small for all samples of a chain; else errors as of `read`."""
    number, n_topics = len(samples_of(run, chain)), run.n_topics
    check_room(
        of_samples(number, n_topics, n_words),
        f"{run.path}: {number} samples of {n_topics:,} topics over {n_words:,} words",
        "topicmc.models.lda.samples.posterior_mean holds one at a time",
    )


def _read_model(facts: Fields, record: Record) -> None:
    """What only a model that was saved says: whose draws it has, and what `partial_fit` goes by."""
    if "visits" not in facts:
        return
    record.chain = facts.whole("chain", most=MAX_WORKERS)
    seen, given = facts.record("visits"), facts.record("parameters")
    record.visits = Visits(
        seen.whole("fitted"), seen.number("passes", least=0), seen.whole("streamed")
    )
    record.parameters = {
        name: given.whole(name, least=1)
        for name in ("total_samples", "batch_size")
        if given.value.get(name) is not None
    }
    if "sampler" in given:  # of a stream, whose settings are not those that were asked for
        record.parameters["sampler"] = given.text("sampler", "[a-z]+")
        record.parameters |= {name: None for name in PRIORS if name in given}


def _read_stream(run: TopicRun, facts: Fields, record: Record) -> None:
    """Has a record go on as the one that was written did."""
    told, config = facts.record("stream"), facts.record("config")
    theta = run.read_theta(run.path / STREAM, told.text("checksum", SHA256))
    place = {
        name: told.whole(name, most=_MOST_UPDATES)
        for name in ("update", "start", "first", "position")
    }
    chain = Chain(0, theta, sum_topics(theta), place.pop("update"))
    if not is_finite(chain):
        raise DataError(f"{run.path / STREAM}: holds a topic without weight; restore or remake it")
    record.stream = Stream(
        chain,
        record.alphas[-1],
        RowPrior(record.entries[-1]["beta"], record.additions),
        config.whole("samples", least=1),
        config.whole("seed", most=_MOST_SEED),
        **place,
        positions=[entry["round"] for entry in record.entries],
        samples=list(record.phis),
        sums=list(record.sums),
    )


def _passes_of(run: TopicRun, facts: dict[str, Any]) -> float:
    """As a model that was saved has it, or by what the run last said."""
    if "passes" in facts:
        return facts["passes"]
    metrics = run.metrics()
    visited = metrics[-1].get("documents", 0) if metrics else 0
    n_docs = facts["corpus"].get("documents", 1)
    return visited / n_docs / draws_per_epoch(TrainConfig.from_dict(facts["config"]))


def length_of(record: Record) -> float | None:
    """The passes that a chain of a run was to make; None where that was to end otherwise, and of a
    stream, which has no end."""
    config = TrainConfig.from_dict(record.config)
    if record.stream is not None or config.until == "converged":  # what is told is only its cap
        return None
    if config.epochs is not None:
        return config.epochs if config.keeps_assignments else config.epochs / config.chains
    if config.updates is None or config.keeps_assignments:  # of a version that did not say epochs
        return None
    return config.updates * config.batch_size / record.corpus["documents"]


def columns_of(run: TopicRun, words: list[str]) -> list[str] | None:
    """The names of the columns by which a model that was saved knows a data frame, if it does:
    its ``words``, or others. DataError when they are damaged."""
    facts = Fields(run.path / "run.json", run.facts())
    if "columns" not in facts:
        return None
    return words if facts.value["columns"] is True else facts.strings("columns")


def write(
    record: Record, words: list[str], path: Path, force: bool, columns: list[str] | None = None
) -> None:
    """A run directory, whole or not at all. ``columns`` are the names by which the model knows the
    columns of a data frame, if it does.

    Raises ValueError for words that no line can hold, UsageError where ``path`` is taken.
    """
    check_lines(words)
    clear_up(path)
    if not force and (path / "run.json").is_file():
        raise UsageError(f"{path}: a run is there already; give another path, or force=True")
    _check_place(path, force)
    corpus = Path(record.corpus["path"])
    if corpus.is_relative_to(real_path(path)) and corpus.exists():
        raise UsageError(
            f"{path}: the run there holds the corpus that the model was made on, which would be"
            " lost; give another path"
        )
    facts: dict[str, Any] = {
        **made_by(*PACKAGES),
        "corpus": record.corpus,
        "config": record.config,
        "saved": True,
        "passes": record.passes,
        "chain": record.chain,
        "visits": record.visits._asdict(),
        "parameters": record.parameters,
    }
    if columns is not None:
        facts["columns"] = columns == words or columns
    if record.labels:
        facts["labels"] = {str(k): name for k, name in record.labels.items()}
    if record.inherited:
        facts["seeds"] = record.inherited
    taken = held(path, LocalTransport()) if path.exists() else nullcontext()
    with taken, staging(path, is_folder=True) as place:
        run = TopicRun.create(place, facts, words=words, additions=record.additions)
        entries = []
        for entry, phi, sums in zip(record.entries, record.phis, record.sums, strict=True):
            theta = np.ascontiguousarray(phi.T) * sums.astype(np.float32)
            beta = entry["beta"] if keeps_counts(record.config) else None
            kept = run.keep_sample(0, entry["round"], theta, beta=beta)
            entries.append({**entry, **kept})
        if record.mean is not None:
            phi, share = record.mean
            theta = np.ascontiguousarray(phi.T * record.sums[-1], np.float32)
            mean = run.keep_mean(0, entries[-1]["round"], theta, most_tokens=np.inf)
            entries[-1] |= {"mean": {**mean, "share": share.tolist()}}
        run.write_sample_index(entries)
        if record.stream is not None:
            _write_stream(run, record.stream)
        for line in record.metrics:
            run.append_metrics(line)
        for line in record.trace:
            run.append_trace(line)
        last = record.metrics[-1] if record.metrics else {}
        write_topics(run, last.get("update", entries[-1]["round"]))


def _write_stream(run: TopicRun, stream: Stream) -> None:
    """The chain as it is, which need not be one of its samples, and where it stands."""
    place = {name: getattr(stream, name) for name in ("start", "first", "position")}
    run.update_facts(
        stream={
            "checksum": write_arrays(run.path / STREAM, {"theta": stream.chain.theta}),
            "update": stream.chain.update,
            **place,
        }
    )


def _check_place(path: Path, force: bool) -> None:
    """UsageError where a run must not be written, as `TopicRun.check_free` has it, or a folder
    holds what is no part of one, which would be lost with it, or is or holds the current one."""
    TopicRun.check_free(path, force)
    check_elsewhere(path)
    own = [*TopicRun.files, *TopicRun.drafts(), *TopicRun.folders, f"{LEASE}*", f".{LEASE}.*.tmp"]
    if holds_extract(path):
        own.append(EMBEDDED)
    for name in sorted(child.name for child in path.iterdir()) if path.is_dir() else []:
        if not any(fnmatch(name, pattern) for pattern in own):
            raise UsageError(
                f"{path}: holds {name}, which is no part of a run, so it is left alone; give"
                " another path"
            )


def check_lines(words: Iterable[str]) -> None:
    """ValueError for a word that cannot stand on a line of a vocabulary."""
    odd = next((word for word in words if "\n" in word or "\r" in word or not _encodes(word)), None)
    if odd is not None:
        raise ValueError(f"the word {odd!r} cannot stand on a line of text: leave it out")


def _encodes(word: str) -> bool:
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True
