"""What a run begins with that goes on from another (``train --from RUN``): the newest state of each
of its chains, over the words of the new corpus.

Words are matched by spelling. With φ of RUN over the words that both have, n tokens in the new
corpus and W words,

    θ_wk = (n_k + W β) φ_wk,    n_k = n · share_k,

with n_k K_0 / K in place of n_k, and n / K for a fresh topic, where RUN has K_0 < K topics. A word
that RUN lacks has the same probability in each of its topics, that of a word without tokens: its
first tokens go by the mix of their document. A topic beyond those of RUN begins as the mean of
these, with 1 / W for words that they lack, each word times an Exp(1) of its own. So it gets
documents that the others explain worse than chance would, and no two of such topics begin alike.

It is all kept in the new run's own folder, for RUN may change or vanish.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self
from unicodedata import normalize

import numpy as np

from topicmc.corpora import Corpus
from topicmc.corpora.text.vocabulary import spelled
from topicmc.engine.schedule import split_groups
from topicmc.errors import DataError, UsageError
from topicmc.kernels.draws import fill_exponential
from topicmc.kernels.padding import padded_size
from topicmc.kernels.random import stream_key
from topicmc.kernels.simplex import FLOOR
from topicmc.models.lda.encoding import Arrays, encode_weights
from topicmc.models.lda.priors.given import Given
from topicmc.models.lda.run import Draft, TopicRun
from topicmc.models.lda.samples import alpha_of, beta_of, newest_of, samples_of, share_of
from topicmc.models.lda.settings import LdaSettings, Resolved
from topicmc.samplers.row_prior import Additions
from topicmc.settings.values import AUTO, or_default

_GIVEN_BETA = ("none", "alpha")
GIVEN_SWEEPS = 3
"""Sweeps in which samplers that keep assignments draw given the topics of an origin: the first has
no counts to draw under, and in the others the mixes of the documents settle."""


class Origin:
    """What a run began with, read from its folder; one state is read at a time."""

    def __init__(self, run: TopicRun, config: Resolved, states: Sequence[dict[str, Any]]) -> None:
        self._run = run
        self._states = states
        # Chains that are averaged must have the same topics under each number.
        groups = config.chains if config.keeps_assignments else config.groups
        parts = enumerate(split_groups(config.chains, groups))
        self._of_chain = {c: i % len(states) for i, part in parts for c in part}

    @classmethod
    def of(cls, run: TopicRun, config: Resolved) -> Self | None:
        """That of a run; None where it began on its own."""
        told = run.facts().get("origin")
        return None if told is None else cls(run, config, told["states"])

    def alpha(self, chain: int) -> np.ndarray:
        """The prior of the mixes that a chain begins with: float64 (K,)."""
        return np.array(self._state(chain)["alpha"], np.float64)

    def beta(self, chain: int) -> float:
        """The prior of the topics that it begins with."""
        return float(self._state(chain)["beta"])

    def theta(self, chain: int) -> np.ndarray:
        """The topics that it begins with: float32 (W, K); DataError when the file is missing or
        damaged."""
        state = self._state(chain)
        return self._run.read_theta(self._run.path / state["file"], state["checksum"])

    def _state(self, chain: int) -> dict[str, Any]:
        return self._states[self._of_chain[chain]]


def padded_theta(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Topics float32 (W, K) for kernels: θ float32 (W, Kp) and its sums (Kp,)."""
    width = padded_size(theta.shape[1]) - theta.shape[1]
    theta = np.pad(theta, ((0, 0), (0, width)), constant_values=FLOOR)
    return theta, theta.sum(axis=0, dtype=np.float64)


def inherited(config: LdaSettings, corpus: Corpus) -> tuple[LdaSettings, Given]:
    """What the run that settings go on from knows of its topics beside θ: how many there are, where
    that was left to the program, their names, their seed words, and what its prior has over β for
    the words that this corpus has too. Where β was given below such a prior, it stays so. The
    settings say these numbers.

    Raises DataError when the run is none, has no samples, or has no words in common with the
    corpus; UsageError for fewer topics than it has.
    """
    assert config.from_run is not None
    run = origin_of(config.from_run)
    words, n_topics = run.vocabulary(), len(alpha_of(run, samples_of(run)[0]))
    config = replace(config, topics=or_default(config.topics, n_topics))
    if int(config.topics) < n_topics:
        raise UsageError(
            f"--topics {config.topics}: the run in {config.from_run} has {n_topics}, and all of"
            f" them go on; give {n_topics} or more, or leave it out"
        )
    rows = _rows(words, corpus)
    if (rows < 0).all():
        raise DataError(
            f"{config.from_run}: none of its {len(words):,} words is in {corpus.path}; were both"
            " prepared alike, in one language?"
        )
    labels = dict(run.labels)
    additions = run.prior(1.0).additions
    if additions is None:
        return config, Given(labels=labels)
    settings = run.facts()["config"]
    if config.beta == AUTO and config.learn == AUTO and settings.get("learn") in _GIVEN_BETA:
        config = replace(config, beta=settings["beta"])
    row_of = np.where(rows < 0, 0, additions.row_of[rows]).astype(np.int32)
    matrix = Additions(row_of, additions.values)
    return config, Given(matrix=matrix, labels=labels, inherited=run.seeds)


def origin_of(path: str) -> TopicRun:
    """The run, or view that names topics of one, to go on from; UsageError for a view whose topics
    would get other numbers."""
    run = TopicRun.open(Path(path))
    if run.view is not None and run.view.changes_topics:
        raise UsageError(
            f"--from {path}: is a view that merges or drops topics; go on from its run, --from"
            f" {run.path}"
        )
    return run


def draft(asked: LdaSettings, config: Resolved, corpus: Corpus) -> Draft:
    """What a new run with these settings begins with, α and β as learned there unless they were
    ``asked`` for. Raises DataError when the run that it goes on from is damaged; `inherited`
    comes before."""
    assert config.from_run is not None
    run = origin_of(config.from_run)
    words, entries = run.vocabulary(), samples_of(run)
    n_topics = len(alpha_of(run, entries[0]))
    rows = _rows(words, corpus)
    states: list[Arrays] = []
    told: list[dict[str, Any]] = []
    left_out = 0.0
    most = config.chains if config.keeps_assignments else config.groups
    for chain, entry in enumerate(newest_of(entries)[:most]):
        theta = run.read_sample(entry)
        share = share_of(run, entry, theta)
        beta = beta_of(run, entry) if asked.beta == AUTO else config.beta
        alpha = np.full(config.topics, config.alpha)
        if asked.alpha == AUTO:
            old = alpha_of(run, entry)
            alpha = np.append(old, np.full(config.topics - len(old), old.mean()))
        if chain == 0:
            left_out = _left_out(theta, share, rows)
        key = stream_key(config.seed, "fresh topics", chain)
        theta = carried(
            theta, share, rows, n_topics=config.topics, n_tokens=corpus.n_tokens, beta=beta, key=key
        )
        states.append(encode_weights(theta, most_tokens=0))
        told.append({"alpha": alpha.tolist(), "beta": beta})
    known = int((rows >= 0).sum())
    facts = {
        "run": config.from_run,
        "corpus": run.facts()["corpus"]["fingerprint"],
        "known": known,
        "new": len(rows) - known,
        "gone": len(words) - known,
        "left_out": left_out,
        "fresh": config.topics - n_topics,
        "states": told,
    }
    return Draft(states, facts)


def _rows(words: list[str], corpus: Corpus) -> np.ndarray:
    """int64 (W,): where each word of the corpus stands in ``words``, −1 where it does not."""
    index = spelled(words)
    found = (index.get(word, index.get(normalize("NFC", word), -1)) for word in corpus.vocabulary)
    return np.fromiter(found, np.int64)


def _left_out(theta: np.ndarray, share: np.ndarray, rows: np.ndarray) -> float:
    """The share of the tokens, by topics θ (W, K), of words that are in no row."""
    sums = theta.sum(axis=0, dtype=np.float64)
    kept = theta[rows[rows >= 0]].sum(axis=0, dtype=np.float64)
    return float(max(0.0, 1 - share @ (kept / sums)))


def carried(
    theta: np.ndarray,
    share: np.ndarray,
    rows: np.ndarray,
    *,
    n_topics: int,
    n_tokens: int,
    beta: float,
    key: np.uint64,
) -> np.ndarray:
    """θ of the module's head: float32 (W, n_topics).

    Args:
        theta: the state to carry over, float32 (W', K).
        share: its topics' shares of the tokens, float64 (K,).
        rows: int64 (W,), the row there of each word, −1 of a new one.
        n_topics: K, or more for fresh topics.
        n_tokens: of the new corpus.
        beta: the prior of the topics.
        key: of the random numbers of fresh topics.
    """
    n_words, n_old = len(rows), len(share)
    known = rows >= 0
    unseen = beta / (n_tokens / n_topics + n_words * beta)  # φ of a word without tokens
    made = np.full((n_words, n_topics), unseen, np.float32)
    old = theta[rows[known]]
    old = old / np.maximum(old.sum(axis=0, dtype=np.float64), FLOOR)
    made[known, :n_old] = old
    if n_topics > n_old:
        noise = np.empty((n_words, n_topics - n_old), np.float32)
        fill_exponential(noise.reshape(-1), key)
        mean_topic = np.full(n_words, 1 / n_words)
        # Not by BLAS, whose sums depend on the machine.
        mean_topic[known] = np.einsum("wk,k->w", old, share) * known.mean()
        made[:, n_old:] = mean_topic[:, None] * noise
    sizes = np.full(n_topics, n_tokens / n_topics)
    sizes[:n_old] = share * n_tokens * n_old / n_topics
    made *= (sizes + n_words * beta).astype(np.float32)
    return np.maximum(made, FLOOR, out=made)
