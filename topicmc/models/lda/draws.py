"""Kept samples as draws from the posterior, whatever the sampler.

Samplers that keep the topic of every token store θ_wk = n_kw + b_kw, the mean of θ given the
topics: states alone would vary less than the posterior does. Given them φ_k has a Dirichlet law,
and independent θ_wk ~ Gamma(n_kw + b_kw) divided by their sums are a draw from it: the stationary
law of CIR, so that a move over an infinite time makes one. Other samplers store draws.

The random numbers of a draw are named by the settings that a run keeps for life, the fingerprint of
its corpus, the chain and the place of the sample in it: the same run gives the same draws whenever
it is asked, and others are independent of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from topicmc.kernels.cir import cir_blocks
from topicmc.kernels.padding import padded_size
from topicmc.kernels.prior import no_prior
from topicmc.kernels.random import stream_key
from topicmc.kernels.threads import Threads
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.settings import keeps_assignments
from topicmc.samplers.state import blockwise
from topicmc.settings.values import MAX_WORKERS
from topicmc.storage.fields import Record

_SINCE = ("seeds", "seed_weight", "topic_prior", "from_run")  # for life, where they are given
_FOR_LIFE = ("seed", "sampler", "topics", "alpha", "beta", "remember", "learn", "start")


def draw_of(run: TopicRun, entry: Mapping[str, Any], threads: Threads) -> np.ndarray:
    """θ of one index entry as a draw from the posterior: float32 (W, K).

    Raises DataError when its file is missing or damaged.
    """
    theta, facts = run.read_state(entry), run.facts()
    if keeps_counts(facts["config"]):
        key = key_of(facts["config"], facts["corpus"], {**entry, "chain": chain_of(run, entry)})
        theta = gamma_draw(theta, key, threads)
    return run.viewed(theta, entry)


def chain_of(run: TopicRun, entry: Mapping[str, Any]) -> int:
    """The number of the chain that an index entry is of; of a model that was saved in the run that
    it was read from. Raises DataError when ``run.json`` is damaged."""
    facts = run.facts()
    if "chain" not in facts:
        return entry["chain"]
    return Record(run.path / "run.json", facts).whole("chain", most=MAX_WORKERS)


def keeps_counts(config: Mapping[str, Any]) -> bool:
    """Whether a run with these settings keeps n_kw + b_kw as samples, and not draws."""
    return keeps_assignments(config["sampler"], config.get("remember"))


def gamma_draw(shapes: np.ndarray, key: np.uint64, threads: Threads) -> np.ndarray:
    """Independent gamma variables of some shapes, float32 (W, K), and scale one, in place of the
    shapes where these may be written over: float32, at least `topicmc.kernels.simplex.FLOOR`. Of
    shapes far below 1 many would be no float32 above 0, and a document may hold no word but such.
    """
    theta = np.require(shapes, np.float32, ["C", "W"])
    n_words, n_topics = theta.shape
    words = np.arange(n_words, dtype=np.int32)
    forever, prior = np.full(n_words, np.inf), no_prior(padded_size(n_topics))
    blockwise(
        cir_blocks, theta, words, forever, words, theta, prior, 1.0, key, np.uint32(0),
        threads=threads,
    )  # fmt: skip
    return theta


def key_of(
    config: Mapping[str, Any], corpus: Mapping[str, Any], entry: Mapping[str, Any]
) -> np.uint64:
    """Names the random numbers of the draw at one index entry of a run with these settings, whose
    ``run.json`` says this of its corpus."""
    settings = [config.get(name) for name in _FOR_LIFE]
    settings += [config[name] for name in _SINCE if config.get(name) is not None]
    place = entry["chain"], entry.get("position", entry["round"])
    identity = json.dumps([settings, corpus.get("fingerprint"), *place])
    return stream_key(config["seed"], f"draw {identity}", entry["chain"])
