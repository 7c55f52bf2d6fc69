"""Kept samples as draws from the posterior, whatever the sampler.

Samplers that keep the topic of every token store θ_wk = n_kw + b_kw, the mean of θ given the
topics: states alone would vary less than the posterior does. Given them φ_k has a Dirichlet law,
and independent θ_wk ~ Gamma(n_kw + b_kw) divided by their sums are a draw from it. Other samplers
store draws.

The random numbers of a draw are named by the settings that a run keeps for life, the fingerprint of
its corpus, the chain and the place of the sample in it: the same run gives the same draws whenever
it is asked, and others are independent of them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.settings import COLLAPSED

LEAST = np.float32(1e-30)
"""What a weight is drawn as at least: of shapes far below 1 many draws are no float32 above 0, and
a document may hold no word but such ones."""
_SINCE = ("seeds", "seed_weight", "topic_prior", "from_run")  # for life, where they are given
_FOR_LIFE = ("seed", "sampler", "topics", "alpha", "beta", "remember", "learn", "start")


def draw_of(run: TopicRun, entry: Mapping[str, Any]) -> np.ndarray:
    """θ of one index entry as a draw from the posterior: float32 (W, K).

    Raises DataError when its file is missing or damaged.
    """
    theta = run.read_state(entry)
    if keeps_counts(run.facts()["config"]):
        theta = gamma_draw(theta, _generator(run, entry))
    return run.viewed(theta, entry)


def keeps_counts(config: Mapping[str, Any]) -> bool:
    """Whether a run with these settings keeps n_kw + b_kw as samples, and not draws."""
    return config["sampler"] in COLLAPSED or bool(config.get("remember"))


def gamma_draw(shapes: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Independent gamma variables of some shapes and scale one, at least `LEAST`: float32."""
    drawn = generator.standard_gamma(shapes, dtype=np.float32)
    return np.maximum(drawn, LEAST, out=drawn)


def _generator(run: TopicRun, entry: Mapping[str, Any]) -> np.random.Generator:
    facts = run.facts()
    config = facts["config"]
    settings = [config.get(name) for name in _FOR_LIFE]
    settings += [config[name] for name in _SINCE if config.get(name) is not None]
    place = entry["chain"], entry.get("position", entry["round"])
    identity = json.dumps([settings, facts["corpus"].get("fingerprint"), *place])
    return np.random.default_rng(list(hashlib.sha256(identity.encode()).digest()))
