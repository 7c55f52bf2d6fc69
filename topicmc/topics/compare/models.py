"""Topics to compare, wherever they come from: a run, or another system's matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from topicmc.models.lda.completion import check_topics
from topicmc.models.lda.draws import draw_of
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.samples import alpha_of, newest_of, posterior_mean, samples_of
from topicmc.storage.files import read_array
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
        origin: the run that it goes on from, None where it began on its own.
    """

    corpus: str | None = None
    unfinished = False
    newest: Sequence[int] = (0,)
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

    def draws(self) -> Iterator[np.ndarray]:
        """θ, float32 (W, K), of each sample of the first chain as a draw from the posterior; none
        where nothing is known of how sure the topics are."""
        return iter(())


class RunModel(Model):
    """A run: described by the posterior mean of its first chain, scored by all its samples.

    Raises DataError when there is no run, it has no samples yet, or one is damaged.
    """

    def __init__(self, path: Path) -> None:
        self._run = run = TopicRun.open(path)
        self._entries = samples_of(run)
        mean = posterior_mean(run)
        super().__init__(str(path), run.vocabulary(), mean.phi, mean.share)
        self.labels = Labels.of(run)
        self.corpus = run.facts()["corpus"]["fingerprint"]
        self.newest = [self._entries.index(entry) for entry in newest_of(self._entries)]
        self.unfinished = any(entry["burn_in"] for entry in self._entries)
        config = run.facts()["config"]
        self.origin = Path(config["from_run"]) if config.get("from_run") else None
        record = (run.metrics() or [{}])[-1]
        seconds, tokens = record.get("seconds"), record.get("tokens")
        self.facts = {
            "sampler": config["sampler"],
            "chains": len({entry["chain"] for entry in self._entries}),
            "updates": record.get("update"),
            "seconds": seconds,
            "tokens_per_second": round(tokens / seconds) if tokens and seconds else None,
            "threads": config["workers"] * config["threads"],
        }

    def samples(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for entry in self._entries:
            yield self._run.read_sample(entry), alpha_of(self._run, entry)

    def draws(self) -> Iterator[np.ndarray]:
        for entry in self._entries:
            if entry["chain"] == 0 and not entry["burn_in"]:
                yield draw_of(self._run, entry)


class MatrixModel(Model):
    """A K × W matrix in a .npy file, columns in the order of ``words``; topics count as equally
    large. Words that are in no topic are unknown to it.

    Raises DataError unless it holds finite, non-negative topics over so many words.
    """

    def __init__(self, path: Path, words: Sequence[str], alpha: float) -> None:
        phi = check_topics(read_array(path), len(words), str(path))
        known = np.flatnonzero((phi > 0).any(axis=0))
        super().__init__(str(path), [words[w] for w in known.tolist()], phi[:, known])
        self._alpha = np.full(len(phi), alpha)

    def samples(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        yield self.phi.T.astype(np.float32), self._alpha


def restricted(phi: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Topics (K, W) over some of the words only, rows scaled to sum to one again. A topic without
    any of these words is left all zero: it is unlike every other."""
    phi = phi[:, columns]
    totals = phi.sum(axis=1, keepdims=True)
    return phi / np.where(totals > 0, totals, 1)
