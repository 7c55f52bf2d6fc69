"""Held-out perplexity by document completion: the one estimator for every model.

In each held-out document a seeded random 90 % of the tokens is observed and 10 % scored. The topic
mix η̂ comes from Gibbs sweeps on the observed part with φ fixed, η̂_k = (mean n_dk + α_k) / Σ. Then

    perplexity = exp(−mean log p̄(w)),   p̄(w) = mean over samples of Σ_k η̂_dk φ_kw

over all scored tokens: with several posterior samples the probabilities are averaged, inside the
logarithm. With one sample it is the single-sample perplexity.
"""

from __future__ import annotations

import numpy as np

from topicmc.corpora.documents import from_entries
from topicmc.errors import DataError
from topicmc.kernels.assignments import sample_assignments
from topicmc.kernels.gibbs import topic_rows
from topicmc.kernels.padding import padded_topics
from topicmc.kernels.random import stream_key
from topicmc.kernels.threads import Threads
from topicmc.models.heldout import Split
from topicmc.models.lda.mixes import Mixer

SWEEPS = 50
BURN_IN = 20
_CHUNK = 8_192  # scored tokens whose probabilities are formed at a time


def token_probabilities(
    split: Split,
    theta: np.ndarray,
    topic_sums: np.ndarray,
    alpha: np.ndarray,
    *,
    seed: int,
    threads: Threads,
    sweeps: int = SWEEPS,
    burn_in: int = BURN_IN,
) -> np.ndarray:
    """p(w) = Σ_k η̂_dk φ_kw of each scored token under one sample: float64 (T,).

    Args:
        split: from `topicmc.models.heldout.split_documents`.
        theta: float32 (W, K), φ_kw = θ_wk / topic_sums_k.
        topic_sums: float64 (K,).
        alpha: float64 (K,).
        seed: of the Gibbs sweeps; the same φ and seed give the same figures.
        threads: who works; it does not change the result.
        sweeps: Gibbs sweeps over the observed tokens, of which ``burn_in`` are not averaged.
    """
    n_topics = theta.shape[1]
    batch = split.observed
    doc_topic = np.zeros((len(batch.doc_ids), n_topics))
    if len(batch.tokens):
        result = sample_assignments(
            batch,
            topic_rows(theta, topic_sums, batch.words, threads),
            padded_topics(alpha),
            sweeps=sweeps,
            burn_in=burn_in,
            key=stream_key(seed, "evaluation"),
            update=0,
            threads=threads,
            want_word_topic=False,
            want_doc_topic=True,
        )
        assert result.doc_topic is not None
        doc_topic = result.doc_topic[:, :n_topics] / result.scale
    mix = doc_topic + alpha
    mix /= mix.sum(axis=1, keepdims=True)
    mix /= topic_sums
    probabilities = np.empty(split.n_scored)
    step = max(1, _CHUNK * 100 // n_topics)
    for start in range(0, split.n_scored, step):
        piece = slice(start, start + step)
        probabilities[piece] = np.einsum(
            "tk,tk->t", mix[split.scored_doc[piece]], theta[split.scored_word[piece]]
        )
    return probabilities


def plug_in_probabilities(split: Split, phi: np.ndarray, mixer: Mixer) -> np.ndarray:
    """p(w) of each scored token under the posterior mean φ (K, W) of the topics, with η̂ by CVB0 in
    place of Gibbs sweeps: float64 (T,). The mixer is one of φ."""
    batch = split.observed
    tokens = batch.words[batch.tokens].astype(np.int64)
    lengths = np.diff(batch.offsets)
    observed = from_entries(lengths, tokens, np.ones(len(tokens), np.int64))[0]
    probabilities = np.empty(split.n_scored)
    for start in range(0, observed.n_docs, mixer.block):
        stop = min(start + mixer.block, observed.n_docs)
        mix = mixer.mixes(observed.part(start, stop))
        first, last = np.searchsorted(split.scored_doc, [start, stop])
        for at in range(first, last, _CHUNK):
            piece = slice(at, min(at + _CHUNK, last))
            words = phi[:, split.scored_word[piece]]
            probabilities[piece] = np.einsum(
                "tk,kt->t", mix[split.scored_doc[piece] - start], words
            )
    return probabilities


def perplexity(probabilities: np.ndarray) -> float:
    """exp(−mean log p) over scored tokens (natural logarithm)."""
    with np.errstate(divide="ignore"):
        return float(np.exp(-np.mean(np.log(probabilities))))


def check_topics(phi: np.ndarray, n_words: int, name: str) -> np.ndarray:
    """A K × W matrix of topics from elsewhere, rows scaled to sum to one.

    Raises DataError, naming the file, unless it is a finite, non-negative K × W matrix for a
    vocabulary of ``n_words`` words in which every topic has positive mass.
    """
    if phi.ndim != 2 or not np.issubdtype(phi.dtype, np.number) or np.iscomplexobj(phi):
        raise DataError(
            f"{name}: holds {phi.dtype} of shape {phi.shape}, not a K × W matrix of numbers"
        )
    if phi.shape[1] != n_words:
        hint = "; transpose it" if phi.shape[0] == n_words else ""
        raise DataError(
            f"{name}: has {phi.shape[1]:,} columns, but the vocabulary has {n_words:,} words{hint}"
        )
    phi = phi.astype(np.float64)
    if not np.isfinite(phi).all() or (phi < 0).any():
        raise DataError(f"{name}: has negative or non-finite entries; topics are probabilities")
    totals = phi.sum(axis=1, keepdims=True)
    if (totals <= 0).any():
        raise DataError(f"{name}: topic {int(np.argmin(totals))} is all zeros; remove it")
    phi /= totals
    return phi
