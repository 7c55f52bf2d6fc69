"""What another interpreter compiles for AD-LDA: on an empty cache it takes about as long as what
draws in the order of words."""

from contextlib import AbstractContextManager, nullcontext

import numpy as np

from topicmc.corpora.documents import from_entries
from topicmc.host.elsewhere import compiled_elsewhere
from topicmc.kernels import gibbs
from topicmc.kernels.assignments import is_sparse
from topicmc.kernels.collapsed import assignment_dtype, empty_counts
from topicmc.kernels.histograms import mix_histogram
from topicmc.kernels.joint import log_mixes, log_words
from topicmc.kernels.padding import padded_topics
from topicmc.kernels.threads import Threads
from topicmc.models.lda.mixes import Mixer
from topicmc.models.lda.settings import Resolved
from topicmc.samplers.row_prior import RowPrior


def compiling_documents(
    config: Resolved, prior: RowPrior, tokens: np.ndarray
) -> AbstractContextManager[None]:
    """Has another interpreter compile what draws documents one after another and what reads them,
    while the block compiles what draws in the order of words. As
    `topicmc.samplers.scir.compiling_moves`, and not of so many topics that other kernels draw."""
    if config.workers > 1 or prior.additions is not None or is_sparse(config.topics, "counts"):
        return nullcontext()
    return compiled_elsewhere(gibbs._sample, compile_documents, config.topics, tokens.dtype.name)


def compile_documents(n_topics: int, token_type: str) -> None:
    """Compiles the kernels that draw documents one after another, that learn α, and that trace a
    chain, under a prior of topics that is one number."""
    prior, alpha, threads = RowPrior(0.1), np.full(n_topics, 0.1), Threads()
    offsets, docs = np.array([0, 2]), np.zeros(1, np.int64)
    tokens, z = np.zeros(2, token_type), np.zeros(2, assignment_dtype(n_topics))
    counts = empty_counts(1, n_topics)
    gibbs.redraw(
        docs, offsets, tokens, z, *counts, padded_topics(alpha), prior.rows(1, n_topics),
        counted=False, key=np.uint64(0), update=0, threads=threads,
    )  # fmt: skip
    documents, _ = from_entries(np.array([2]), tokens.astype(np.int64), np.ones(2, np.int64))
    Mixer(np.ones((n_topics, 1)), alpha, threads).mixes(documents)
    mix_histogram(offsets[:-1], np.diff(offsets), z, n_topics)
    log_mixes(offsets, z, docs, alpha)
    log_words(*counts, prior.rows(1, len(counts[1]), np.float64), threads)
