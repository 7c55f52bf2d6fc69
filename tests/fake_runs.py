"""Runs whose samples, metrics and traces are drawn from known laws instead of being trained."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy.signal import lfilter

from topicmc.models.lda.run import TopicRun

SETTINGS = {"sampler": "scir", "alpha": 0.1, "beta": 0.01, "samples": 32, "time_budget": None,
            "epochs": None, "updates": 100, "seed": 0}  # fmt: skip


def make_run(
    path: Path,
    samples: dict[int, Sequence[np.ndarray]],
    scores: Sequence[Sequence[float]] | None = None,
    burn_in: bool = False,
    *,
    trace: Mapping[str, np.ndarray] | None = None,
    fingerprint: str = "a corpus",
    **settings,
) -> TopicRun:
    """A run with the samples θ (W × K) of each chain; for each evaluation since burn-in the chains'
    log-likelihoods (None: nothing is held out); and of each scalar of the trace, if there is one,
    the draws (C, n) past burn-in of the chains."""
    n_words, n_topics = next(iter(samples.values()))[0].shape
    config = {**SETTINGS, "topics": n_topics, **settings}
    corpus = {"tokens": 1000, "fingerprint": fingerprint, "path": "corpus"}
    run = TopicRun.create(path, {"config": config, "corpus": corpus})
    (path / "corpus").mkdir()
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
    if trace is not None:
        record_trace(run, trace, sorted(samples))
    return run


def record_trace(run: TopicRun, trace: Mapping[str, np.ndarray], chains: Sequence[int]) -> None:
    """Adds draws (C, n) past burn-in, preceded by as many of the start, which are far off."""
    n = len(next(iter(trace.values()))[0])
    for i in range(-n, n):
        values = {
            str(chain): {name: draws[c][i] if i >= 0 else 1e6 for name, draws in trace.items()}
            for c, chain in enumerate(chains)
        }
        run.append_trace(
            {"position": n + 1 + i, "round": n + 1 + i, "seconds": 1.0, "burn_in": i < 0,
             "chains": values}
        )  # fmt: skip


def autoregression(
    correlation: float, shape: Sequence[int], generator: np.random.Generator
) -> np.ndarray:
    """Draws along the last axis of a stationary autoregression with mean 0 and variance 1."""
    noise = generator.normal(size=(*shape[:-1], shape[-1] + 1)) * np.sqrt(1 - correlation**2)
    noise[..., 0] /= np.sqrt(1 - correlation**2)
    return lfilter([1], [1, -correlation], noise)[..., 1:]


def gamma_samples(shapes: np.ndarray, n: int, generator: np.random.Generator) -> list[np.ndarray]:
    """Draws of θ (W × K) whose entries are independent gamma variables of some shapes."""
    return [generator.gamma(shapes) for _ in range(n)]


def topic_shapes(n_words: int, n_topics: int, seed: int = 0) -> np.ndarray:
    """Shapes (W × K) of topics that are far apart, with weights of some tens for their words."""
    generator = np.random.default_rng(seed)
    return 0.05 + 40.0 * n_words * generator.dirichlet(np.full(n_words, 0.2), n_topics).T
