"""Numbers of a chain's state that do not depend on how it numbers its topics, for its trace.

They are: the log joint of words and assignments, where assignments are kept; the log likelihood of
a token of some held-out documents, whose mixes are set by CVB0, which draws no random numbers; and
the shares of the tokens of the largest, the median and the smallest topic.
"""

from __future__ import annotations

import numpy as np

from topicmc.corpora import Corpus
from topicmc.corpora.documents import Documents, remap
from topicmc.kernels.threads import Threads
from topicmc.models.lda.mixes import Mixer
from topicmc.posterior.running import RUNNING, WEIGHT
from topicmc.posterior.traces import LOG_LIKELIHOOD
from topicmc.samplers.row_prior import RowPrior
from topicmc.samplers.running_mean import MeanChain
from topicmc.samplers.state import Chain, sum_topics

_DOCUMENTS, TRACED_WORDS = 100, 5_000  # held out, whose likelihood is recorded, at most


class Scalars:
    """What is traced of a chain.

    Args:
        corpus: an open corpus.
        threads: the threads of this process.
    """

    def __init__(self, corpus: Corpus, threads: Threads) -> None:
        self._threads = threads
        few = traced(corpus.heldout)
        self.words = np.unique(few.word_ids)
        """int64 (n,): those of the documents."""
        new_ids = np.full(corpus.n_words, -1)
        new_ids[self.words] = np.arange(len(self.words))
        self._documents = remap(few, new_ids)

    def of(self, chain: Chain, joint: float | None, prior: RowPrior) -> dict[str, float]:
        """By name; ``joint`` is the log joint of a chain that keeps assignments, and ``prior`` that
        of the topics. Of a chain that keeps a running mean also the log likelihood under that, and
        what it weighs (`topicmc.posterior.running`). The chain may have θ of `words` alone, unless
        it keeps a mean."""
        scalars = {} if joint is None else {"log joint": joint}
        if self._documents.n_docs:
            assert chain.alpha is not None
            alpha, sums = chain.alpha, chain.topic_sums
            scalars[LOG_LIKELIHOOD] = self._log_likelihood(chain.theta, sums, alpha)
            if isinstance(chain, MeanChain) and chain.weight_sum > 0:
                scalars[RUNNING] = self._log_likelihood(*self._running_mean(chain, prior), alpha)
                scalars[WEIGHT] = chain.weight_sum
        if chain.share is not None:
            ranked = np.sort(chain.share)
            names = ("largest share", "median share", "smallest share")
            ranks = (-1, len(ranked) // 2, 0)
            scalars |= {name: float(ranked[i]) for name, i in zip(names, ranks, strict=True)}
        return scalars

    def _running_mean(self, chain: MeanChain, prior: RowPrior) -> tuple[np.ndarray, np.ndarray]:
        """The running mean of θ, of the documents' words alone, float32 (n, K), and its sums over
        all words, float64 (K,)."""
        assert chain.counts_sum is not None
        rows = chain.counts_sum[self.words] * np.float32(1 / chain.weight_sum)
        prior.add_to(rows, self.words)
        sums = sum_topics(chain.counts_sum, self._threads) / chain.weight_sum
        return rows, sums + prior.totals(*chain.theta.shape)

    def _log_likelihood(
        self, theta: np.ndarray, topic_sums: np.ndarray, alpha: np.ndarray
    ) -> float:
        """The mean log p of a token of the documents, Σ_k η̂_dk φ_kw, given all of them."""
        documents = self._documents
        rows = theta if len(theta) == len(self.words) else theta[self.words]
        phi = rows / topic_sums  # (n, K)
        mixes = Mixer(phi.T, alpha, self._threads).mixes(documents)
        likelihoods = np.empty(len(documents.word_ids))
        for d in range(documents.n_docs):
            here = slice(documents.indptr[d], documents.indptr[d + 1])
            # Not by BLAS, whose order of summation depends on the processor.
            likelihoods[here] = np.einsum("ek,k->e", phi[documents.word_ids[here]], mixes[d])
        return float((documents.counts * np.log(likelihoods)).sum()) / documents.n_tokens


def traced(heldout: Documents) -> Documents:
    """The held-out documents whose likelihood is recorded: the first hundred at most, and no more
    than have `TRACED_WORDS` entries together; a first one that has more is cut."""
    ends = np.searchsorted(np.cumsum(heldout.lengths), TRACED_WORDS, side="right")
    few = heldout.part(0, min(heldout.n_docs, _DOCUMENTS, max(1, int(ends))))
    n = min(few.n_entries, TRACED_WORDS)
    return Documents(np.minimum(few.indptr, n), few.word_ids[:n], few.counts[:n])
