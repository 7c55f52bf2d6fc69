"""Runs whose samples and metrics are drawn from known laws instead of being trained."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from topicmc.runs import RunDirectory

SETTINGS = {"sampler": "scir", "alpha": 0.1, "beta": 0.01, "samples": 8, "time_budget": None,
            "epochs": None, "updates": 100}  # fmt: skip


def make_run(
    path: Path,
    samples: dict[int, Sequence[np.ndarray]],
    scores: Sequence[Sequence[float]] | None = None,
    burn_in: bool = False,
    **settings,
) -> RunDirectory:
    """A run with the samples θ (W × K) of each chain, and for each evaluation since burn-in the
    chains' log-likelihoods (None: nothing is held out)."""
    n_words, n_topics = next(iter(samples.values()))[0].shape
    config = {**SETTINGS, "topics": n_topics, **settings}
    run = RunDirectory.create(path, {"config": config, "corpus": {"tokens": 1000}})
    words = [f"word{w:03d}" for w in range(n_words)]
    run.update_facts(vocabulary=run.write_vocabulary(words))
    entries = [
        {**run.keep_sample(chain, number, theta.astype(np.float32)), "burn_in": burn_in}
        for chain, thetas in samples.items()
        for number, theta in enumerate(thetas, start=100)
    ]
    run.write_sample_index(entries)
    for i, score in enumerate(scores if scores is not None else [None]):
        run.append_metrics(
            {"round": 1000 + i, "update": 1000 + i, "seconds": float(i), "perplexity": 10.0,
             "perplexity_averaged": None, "log_likelihood": score, "step_size": 0.5}
        )  # fmt: skip
    return run


def gamma_samples(shapes: np.ndarray, n: int, generator: np.random.Generator) -> list[np.ndarray]:
    """Draws of θ (W × K) whose entries are independent gamma variables of some shapes."""
    return [generator.gamma(shapes) for _ in range(n)]


def topic_shapes(n_words: int, n_topics: int, seed: int = 0) -> np.ndarray:
    """Shapes (W × K) of topics that are far apart, with weights of some tens for their words."""
    generator = np.random.default_rng(seed)
    return 0.05 + 40.0 * n_words * generator.dirichlet(np.full(n_words, 0.2), n_topics).T
