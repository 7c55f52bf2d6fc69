"""What `LDA` knows of its samples beside their φ, and runs on disk that hold as much."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from topicmc.corpora.of_runs import EMBEDDED, NO_CORPUS, PACKAGES, holds_extract
from topicmc.engine.transport.local import LocalTransport
from topicmc.errors import DataError, UsageError
from topicmc.estimator.incremental import Stream
from topicmc.export.places import staging
from topicmc.models.lda.draws import keeps_counts, key_of
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.planning.defaults import resolve
from topicmc.models.lda.planning.plan import passes
from topicmc.models.lda.priors.seed_settings import checked_seeds
from topicmc.models.lda.run import STREAM, TopicRun
from topicmc.models.lda.samples import alpha_of, beta_of, read_running_mean, samples_of, share_of
from topicmc.models.lda.settings import TrainConfig
from topicmc.posterior.traces import trace_alone
from topicmc.posterior.truncation import at_rest
from topicmc.samplers.registry import sampler_of
from topicmc.samplers.row_prior import Additions, RowPrior
from topicmc.samplers.state import Chain, is_finite, sum_topics
from topicmc.settings.values import MAX_WORKERS
from topicmc.storage.fields import SHA256
from topicmc.storage.fields import Record as Fields
from topicmc.storage.files import real_path, write_arrays
from topicmc.storage.lease import NAME as LEASE
from topicmc.storage.lease import held
from topicmc.storage.run_fields import settings_in
from topicmc.storage.runs import made_by
from topicmc.topics.reading import write_topics

_MOST_UPDATES = 2**31  # of a chain: random numbers are named by them in 32 bits
_MOST_SEED = 2**63 - 1


class Visits(NamedTuple):
    """Documents that a model has learned from.

    fitted    those of `fit`
    passes    of `fit` over them
    streamed  those of `partial_fit` since
    """

    fitted: int = 0
    passes: float = 0.0
    streamed: int = 0

    @property
    def seen(self) -> int:
        """All of them."""
        return self.fitted + self.streamed


@dataclass
class Record:
    """Of the kept samples of one chain.

    Attributes:
        phis: φ of each, float32 (K, W), in a list or an array.
        sums: float64 (S, K), Σ_w θ_wk of each.
        entries: as in the index of a run, without files; each with its α, β and shares.
        config: the settings, resolved.
        corpus: what ``run.json`` says of it.
        passes: over the documents so far.
        metrics: the lines of a run of this chain alone; none of one of several chains, whose
            metrics are of all.
        trace: the lines of a run of this chain alone.
        additions: to the prior of the topics.
        labels: names of topics by number.
        inherited: seeds that topics have from another run, which the settings do not say.
        n_at_rest: of how many of the newest samples means are made
            (`topicmc.posterior.truncation`); None: of all.
        mean: φ float64 (K, W) and the topics' shares (K,) by the running mean of the chain
            (`topicmc.samplers.running_mean`); None where it keeps none.
        chain: its number in the run that it was first read from, by which its draws are named.
        stream: what `partial_fit` goes on with; None of a chain of `fit` or of a run.
        visits: the documents that `fit` and `partial_fit` have seen.
        parameters: those of `LDA` that `partial_fit` goes by and ``config`` does not say.
    """

    phis: list[np.ndarray] | np.ndarray
    sums: np.ndarray
    entries: list[dict[str, Any]]
    config: dict[str, Any]
    corpus: dict[str, Any]
    passes: float
    metrics: list[dict[str, Any]] = field(default_factory=list)
    trace: list[dict[str, Any]] = field(default_factory=list)
    additions: Additions | None = None
    labels: dict[int, str] = field(default_factory=dict)
    inherited: dict[str, Any] = field(default_factory=dict)
    n_at_rest: int | None = None
    mean: tuple[np.ndarray, np.ndarray] | None = None
    chain: int = 0
    stream: Stream | None = None
    visits: Visits = field(default_factory=Visits)
    parameters: dict[str, int | None] = field(default_factory=dict)

    def name(self, seeds: Any, weight: float | None) -> None:
        """Takes down the seeds that the topics began with, if any, and names them so."""
        if seeds is not None:
            self.config |= {"seeds": checked_seeds(seeds), "seed_weight": weight}
            self.labels = dict(enumerate(seeds))

    @property
    def samples(self) -> np.ndarray:
        """φ of all: float32 (S, K, W); those of a stream are put together when first asked for."""
        return self.phis if isinstance(self.phis, np.ndarray) else self._together

    @cached_property
    def _together(self) -> np.ndarray:
        """Those of a list, which then holds views of them: there is one copy, and it is the
        stream's."""
        together = np.empty((len(self.phis), *self.phis[0].shape), np.float32)
        for place, phi in enumerate(self.phis):
            together[place] = phi
            self.phis[place] = together[place]
        return together

    def __getstate__(self) -> dict[str, Any]:
        """The samples once: a pickle would hold an array and its views each by itself."""
        state = {name: value for name, value in vars(self).items() if name != "_together"}
        return state if self.stream is None else {**state, "phis": self.stream.samples}

    @cached_property
    def phi(self) -> np.ndarray:
        """The posterior mean of φ: float64 (K, W), rows sum to one."""
        if self.mean is not None:
            return self.mean[0]
        mean = self.samples[self.at_rest].mean(axis=0, dtype=np.float64)
        mean /= mean.sum(axis=1, keepdims=True)
        return mean

    @property
    def is_starting(self) -> bool:
        """Whether the start was not over, so that there is no posterior sample."""
        return all(entry["burn_in"] for entry in self.entries)

    def key_of_draw(self, i: int) -> np.uint64:
        """Names the random numbers of the draw at a sample."""
        return key_of(self.config, self.corpus, {**self.entries[i], "chain": self.chain})

    def sums_for_scir(self) -> list[np.ndarray]:
        """Σ_w θ_wk of each sample as SCIR has it, a topic's tokens and its prior: float64 (K,).
        SGRLD on minibatches leaves that sum to the prior alone."""
        if keeps_counts(self.config) or not sampler_of(self.config["sampler"]).free_scale:
            return list(self.sums)
        prior = self.prior.totals(self.corpus["words"], self.sums.shape[1])
        return [np.array(e["share"]) * self.corpus["tokens"] + prior for e in self.entries]

    @property
    def at_rest(self) -> slice:
        """Where the samples are that means are made of."""
        return slice(-(self.n_at_rest or len(self.entries)), None)

    @property
    def alphas(self) -> np.ndarray:
        """The priors of the mixes: float64 (S, K)."""
        return np.array([entry["alpha"] for entry in self.entries], np.float64)

    @property
    def prior(self) -> RowPrior:
        """The prior of the topics, over the mean of its base."""
        betas = [entry["beta"] for entry in self.entries[self.at_rest]]
        return RowPrior(float(np.mean(betas)), self.additions)


def read(run: TopicRun, chain: int = 0) -> Record:
    """A chain of a run.

    Raises UsageError when the run has no such chain, DataError when it has no samples yet or a file
    is damaged.
    """
    facts, index, samples = run.facts(), samples_of(run), samples_of(run, chain)
    corpus = facts["corpus"]
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
    record = Record(
        phis,
        np.stack(sums),
        entries,
        facts["config"],
        corpus,
        _passes_of(run),
        additions=run.additions(),
        labels=dict(run.labels),
        inherited=facts.get("seeds") or {},
        trace=trace_alone(run, chain),
        n_at_rest=len(at_rest(run, samples)),
        mean=read_running_mean(run, samples[-1]),
    )
    if all(entry["chain"] == 0 for entry in index):
        record.metrics = run.metrics()
    record.chain, record.visits = chain, Visits(corpus.get("documents", 1), record.passes)
    _read_model(Fields(run.path / "run.json", facts), record)
    if "stream" in facts:
        _read_stream(run, record)
    return record


def _read_model(facts: Fields, record: Record) -> None:
    """What only a model that was saved says: whose draws it has, and what `partial_fit` goes by.
    Earlier versions said the latter of a stream alone."""
    if "visits" in facts:
        record.chain = facts.whole("chain", most=MAX_WORKERS)
        seen, given = facts.record("visits"), facts.record("parameters")
    elif "stream" in facts:
        seen = facts.record("stream")
        given = seen.record("parameters")
    else:
        return
    record.visits = Visits(
        seen.whole("fitted"), seen.number("passes", least=0), seen.whole("streamed")
    )
    record.parameters = {
        name: given.whole(name, least=1)
        for name in ("total_samples", "batch_size")
        if given.value.get(name) is not None
    }


def _read_stream(run: TopicRun, record: Record) -> None:
    """Has a record go on as the one that was written did."""
    facts = Fields(run.path / "run.json", run.facts())
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


def _write_stream(run: TopicRun, record: Record, stream: Stream) -> None:
    """The chain as it is, which need not be one of its samples, and where it stands."""
    place = {name: getattr(stream, name) for name in ("start", "first", "position")}
    run.update_facts(
        stream={
            "checksum": write_arrays(run.path / STREAM, {"theta": stream.chain.theta}),
            "update": stream.chain.update,
            **place,
        }
    )


def _passes_of(run: TopicRun) -> float:
    """As a model that was saved has it, or by what the run last said."""
    facts, metrics = run.facts(), run.metrics()
    if "passes" in facts:
        return facts["passes"]
    visited = metrics[-1].get("documents", 0) if metrics else 0
    n_docs = facts["corpus"].get("documents", 1)
    return visited / n_docs / passes(settings_in(run.path / "run.json", facts, TrainConfig))


def of_stream(stream: Stream, n_docs: int, n_passes: float) -> Record:
    """What a stream knows of its samples, after so many passes over ``n_docs`` documents."""
    n_words, n_topics = stream.chain.theta.shape
    prior, alpha = stream.prior.totals(n_words, n_topics).sum(), stream.alpha.tolist()
    n_tokens = max(10 * n_topics, round(float(stream.sums[-1].sum() - prior)))
    config = TrainConfig(
        topics=n_topics,
        sampler="scir",
        alpha=alpha[0] if len(set(alpha)) == 1 else alpha,
        beta=stream.prior.base,
        updates=max(1, stream.position),
        samples=stream.n_samples,
        seed=stream.seed,
    )
    size = {"documents": n_docs, "tokens": n_tokens, "words": n_words}
    entries = [
        {
            "chain": 0,
            "round": position,
            "position": position,
            "burn_in": stream.is_starting,
            "alpha": alpha,
            "beta": stream.prior.base,
        }
        for position in stream.positions
    ]
    return Record(
        stream.samples,
        np.stack(stream.sums),
        entries,
        resolve(config, Extent(n_docs, n_tokens, n_words)).as_dict(),
        {"path": NO_CORPUS, "fingerprint": "none", "tokenizer": None, **size},
        n_passes,
        additions=stream.prior.additions,
        stream=stream,
    )


def columns_of(run: TopicRun) -> list[str] | None:
    """The names of the columns by which a model that was saved knows a data frame, if it does;
    DataError when they are damaged."""
    facts = Fields(run.path / "run.json", run.facts())
    if "columns" not in facts:
        return None
    return run.vocabulary() if facts.value["columns"] is True else facts.strings("columns")


def write(
    record: Record, words: list[str], path: Path, force: bool, columns: list[str] | None = None
) -> None:
    """A run directory, whole or not at all. ``columns`` are the names by which the model knows the
    columns of a data frame, if it does.

    Raises ValueError for words that no line can hold, UsageError where ``path`` is taken.
    """
    odd = next((word for word in words if "\n" in word or "\r" in word or not _encodes(word)), None)
    if odd is not None:
        raise ValueError(f"the word {odd!r} cannot stand on a line of text: leave it out")
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
            _write_stream(run, record, record.stream)
        for line in record.metrics:
            run.append_metrics(line)
        for line in record.trace:
            run.append_trace(line)
        last = record.metrics[-1] if record.metrics else {}
        write_topics(run, last.get("update", entries[-1]["round"]))


def _check_place(path: Path, force: bool) -> None:
    """UsageError where a run must not be written, as `TopicRun.check_free` has it, or a folder
    holds what is no part of one, which would be lost with it."""
    TopicRun.check_free(path, force)
    own = [*TopicRun.files, *TopicRun.drafts(), *TopicRun.folders, f"{LEASE}*", f".{LEASE}.*.tmp"]
    if holds_extract(path):
        own.append(EMBEDDED)
    for name in sorted(child.name for child in path.iterdir()) if path.is_dir() else []:
        if not any(fnmatch(name, pattern) for pattern in own):
            raise UsageError(
                f"{path}: holds {name}, which is no part of a run, so it is left alone; give"
                " another path"
            )


def _encodes(word: str) -> bool:
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True
