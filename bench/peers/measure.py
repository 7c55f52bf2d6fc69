"""Trains one contender on one corpus with one seed, in a process of its own, and scores it.

Started by `__main__`; the task is a JSON object in the first argument. Each point is printed as a
line of JSON as soon as it is known. Contenders that go on are scored when they have ended, so that
their training is not interrupted by it; the others after each budget.
"""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from marks import Kept, Marks, Settings

from topicmc.corpora import Corpus
from topicmc.kernels.threads import Threads
from topicmc.models.heldout import split_documents
from topicmc.models.lda.completion import perplexity, token_probabilities
from topicmc.models.lda.scoring import SPLIT_SEED


class Evaluator:
    """The estimator of `topicmc evaluate --topics-file`, with its split and seed, for any α."""

    def __init__(self, corpus: Corpus, threads: int) -> None:
        self._split = split_documents(corpus.heldout, seed=SPLIT_SEED)
        self._threads = Threads(threads)

    def probabilities(self, phi: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        """float64 (T,): p of each scored token under φ (K × W) and α (K)."""
        phi = phi.astype(np.float64)
        phi /= phi.sum(axis=1, keepdims=True)
        return token_probabilities(
            self._split,
            np.ascontiguousarray(phi.T, np.float32),
            np.ones(len(phi)),
            alpha,
            seed=SPLIT_SEED,
            threads=self._threads,
        )


class Scores:
    """Scores what is kept, now or when training has ended, and prints the points.

    Of a contender that has learned α, topics are scored under its own α, and also, as
    ``perplexity_given_alpha``, under that of the settings.
    """

    def __init__(self, evaluator: Evaluator, settings: Settings, now: bool) -> None:
        self._evaluator = evaluator
        self._given = np.full(settings.topics, settings.alpha)
        self._now = now
        self._waiting: list[Kept] = []
        self._samples: list[np.ndarray] = []

    def receive(self, kept: Kept) -> None:
        if self._now and not kept.sample:
            self._print(self._points(kept))
        else:
            self._waiting.append(kept)

    def close(self) -> None:
        """Scores what waits. The averaged perplexity belongs to the longest budget."""
        points = [point for kept in self._waiting for point in self._points(kept)]
        if self._samples:
            averaged = perplexity(np.mean(self._samples, axis=0))
            last = points[-1] if points else self._last
            last |= {"perplexity_averaged": averaged, "samples": len(self._samples)}
            points = points or [last]
        self._print(points)

    def _points(self, kept: Kept) -> list[dict]:
        phi = np.load(kept.file)
        kept.file.unlink()
        scored = self._evaluator.probabilities(
            phi, self._given if kept.alpha is None else kept.alpha
        )
        if kept.sample:
            self._samples.append(scored)
        if not kept.budgets:
            return []
        facts = {"seconds": round(kept.seconds, 3), "perplexity": perplexity(scored), **kept.facts}
        if kept.alpha is not None:
            facts["perplexity_given_alpha"] = perplexity(
                self._evaluator.probabilities(phi, self._given)
            )
        return [{"budget": budget, **facts} for budget in kept.budgets]

    def _print(self, points: list[dict]) -> None:
        for point in points:
            self._last = point
            print(json.dumps(point), flush=True)


def main() -> None:
    task = json.loads(sys.argv[1])
    warnings.simplefilter("ignore")
    settings = Settings(**task["settings"])
    corpus = Corpus.open(Path(task["corpus"]))
    train = importlib.import_module(task["trainer"]).train
    scores = Scores(Evaluator(corpus, settings.threads), settings, now=task["by_budget"])
    with tempfile.TemporaryDirectory() as folder:
        sampled = settings.unit == "s" and not task["by_budget"]
        marks = Marks(task["budgets"], settings.unit, Path(folder), scores.receive, sampled)
        train(corpus, settings, marks, **task["options"])
        scores.close()


if __name__ == "__main__":
    main()
