"""Topics to compare, wherever they come from: a run, or another system's matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from topicmc.host.machine import available_cores
from topicmc.kernels.threads import Threads
from topicmc.models.heldout import Split
from topicmc.models.lda.completion import check_topics, token_probabilities
from topicmc.models.lda.draws import draw_of, keeps_counts
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.samples import alpha_of, newest_of, posterior_mean, samples_of
from topicmc.models.lda.scoring import SPLIT_SEED
from topicmc.models.mixture.completion import token_probabilities as completed
from topicmc.models.mixture.matching import central
from topicmc.models.mixture.run import MixtureRun
from topicmc.posterior.passes import one_by_one
from topicmc.posterior.truncation import at_rest
from topicmc.storage.arrays import read_array
from topicmc.storage.runs import RunDirectory
from topicmc.topics.labels import Labels


class Model:
    """Topics under a name.

    Attributes:
        name: as a person would call it.
        words: the words that it knows, W of them.
        phi: the topics that are described and matched, float64 (K, W), rows sum to one.
        share: each topic's share of the tokens, float64 (K,).
        labels: numbers and names of the topics.
        facts: how it was trained, as far as that is known.
        corpus: the fingerprint of the corpus that it was trained on, None where unknown.
        unfinished: whether it has no samples proper yet.
        newest: which of its samples are the newest of their chain.
        of_means: whether its samples are means of φ given the topics of all tokens, and not draws
            of φ; None where they are neither.
        origin: the run that it goes on from, None where it began on its own.
    """

    corpus: str | None = None
    unfinished = False
    newest: Sequence[int] = (0,)
    of_means: bool | None = None
    origin: Path | None = None

    def __init__(
        self, name: str, words: Sequence[str], phi: np.ndarray, share: np.ndarray | None = None
    ) -> None:
        self.name = name
        self.words = words
        self.phi = phi
        self.labels = Labels.plain(len(phi))
        self.share = np.full(len(phi), 1 / len(phi)) if share is None else share
        self.facts: dict[str, Any] = {}

    def samples(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """θ, float32 (W, K), and α, float64 (K,), of each sample; perplexity averages over what
        they predict."""
        raise NotImplementedError

    def scores(
        self, split: Split, columns: np.ndarray, ids: np.ndarray, n_words: int, threads: Threads
    ) -> list[np.ndarray]:
        """p of each scored token under each sample, float64 (T,) each, topics being rescaled to the
        words that count: ``columns`` of the model, ``ids`` of a corpus of ``n_words``."""
        found = []
        for theta, alpha in self.samples():
            if _are_all(columns, len(theta)) and _are_all(ids, n_words):
                common = np.ascontiguousarray(theta)
            else:
                common = np.zeros((n_words, theta.shape[1]), np.float32)
                common[ids] = theta[columns]
            sums = common.sum(axis=0, dtype=np.float64)
            sums[sums == 0] = 1  # a topic without any of these words predicts none of them
            found.append(
                token_probabilities(split, common, sums, alpha, seed=SPLIT_SEED, threads=threads)
            )
        return found

    def draws(self) -> Iterator[np.ndarray]:
        """θ, float32 (W, K), of each sample of the first chain that is scored, as a draw from the
        posterior; none where nothing is known of how sure the topics are."""
        return iter(())


class RunModel(Model):
    """A run: described by the posterior mean of its first chain, scored by the samples past the
    point at which their chain came to rest.

    Raises DataError when there is no run, it has no samples yet, or one is damaged.
    """

    def __init__(self, path: Path) -> None:
        self._run = run = TopicRun.open(path)
        self._entries = samples_of(run)
        mean = posterior_mean(run)
        super().__init__(str(path), run.vocabulary(), mean.phi, mean.share)
        self.labels = Labels.of(run)
        self.corpus = run.facts()["corpus"]["fingerprint"]
        self._scored = at_rest(run, self._entries)
        self.newest = [self._scored.index(entry) for entry in newest_of(self._scored)]
        self.unfinished = any(entry["burn_in"] for entry in self._entries)
        self.of_means = keeps_counts(run.facts()["config"])
        origin = run.facts()["config"].get("from_run")
        self.origin = Path(origin) if origin else None
        self.facts = _facts(run, len({entry["chain"] for entry in self._entries}))

    def samples(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for entry in one_by_one(self._scored):
            yield self._run.read_sample(entry), alpha_of(self._run, entry)

    def draws(self) -> Iterator[np.ndarray]:
        threads = Threads(available_cores())
        first = [entry for entry in self._scored if entry["chain"] == 0 and not entry["burn_in"]]
        for entry in one_by_one(first):
            yield draw_of(self._run, entry, threads)


def _facts(run: RunDirectory, n_chains: int) -> dict[str, Any]:
    """How a run was trained."""
    config, record = run.facts()["config"], (run.metrics() or [{}])[-1]
    seconds, tokens = record.get("seconds"), record.get("tokens")
    return {
        "sampler": config["sampler"],
        "chains": n_chains,
        "updates": record.get("update"),
        "seconds": seconds,
        "tokens_per_second": round(tokens / seconds) if tokens and seconds else None,
        "threads": config["workers"] * config["threads"],
    }


class MixtureModel(Model):
    """A run of a mixture: its ``groups`` are those of its central sample, its score is of all
    samples, whose ``partitions`` of the documents are int32 (D,) each.

    Raises as `RunModel`.
    """

    def __init__(self, path: Path) -> None:
        self._run = run = MixtureRun.open(path)
        self._entries = entries = list(run.states_to_read())
        self.partitions = [run.read_sample(entry).groups for entry in one_by_one(entries)]
        self.groups = central(run)
        share = self.groups.sizes / self.groups.sizes.sum()
        super().__init__(str(path), run.vocabulary(), self.groups.phi, share)
        self.labels = Labels.of_groups(run, len(self.phi))
        self.corpus = run.facts()["corpus"]["fingerprint"]
        self.newest = [entries.index(entry) for entry in newest_of(entries)]
        self.unfinished = any(entry["burn_in"] for entry in entries)
        self.facts = _facts(run, len({entry["chain"] for entry in entries}))

    def scores(
        self, split: Split, columns: np.ndarray, ids: np.ndarray, n_words: int, threads: Threads
    ) -> list[np.ndarray]:
        read = self._run.read_sample
        entries = one_by_one(self._entries)
        return [completed(split, read(entry), columns, ids) for entry in entries]


class MatrixModel(Model):
    """A K × W matrix in the .npy file ``path`` (str or Path), columns in the order of ``words``;
    topics count as equally large. Words that are in no topic are unknown to it.

    Raises DataError unless it holds finite, non-negative topics over so many words.
    """

    def __init__(self, path: Path | str, words: Sequence[str], alpha: float) -> None:
        phi = check_topics(read_array(Path(path)), len(words), str(path))
        has = np.zeros(phi.shape[1], bool)
        for topic in phi:
            has |= topic.astype(np.float32) > 0  # as they are scored
        known = np.flatnonzero(has)
        phi = phi if has.all() else phi[:, known]
        super().__init__(str(path), [words[w] for w in known.tolist()], phi)
        self._alpha = np.full(len(phi), alpha)

    def samples(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        yield self.phi.T.astype(np.float32), self._alpha


def restricted(phi: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Topics (K, W) over some of the words only, rows scaled to sum to one again; as they are over
    all. A topic without any of these words is left all zero: it is unlike every other."""
    if _are_all(columns, phi.shape[1]):
        return phi
    phi = np.take(phi, columns, axis=1)
    totals = phi.sum(axis=1, keepdims=True)
    phi /= np.where(totals > 0, totals, 1)
    return phi


def _are_all(places: np.ndarray, n: int) -> bool:
    """Whether these are 0 to n − 1."""
    return len(places) == n and bool((places == np.arange(n)).all())
