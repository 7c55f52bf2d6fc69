"""Learning the Dirichlet priors α (one value for each topic) and β, the base of the topics' b_kw.

The priors that make the counts likeliest, topics and mixes integrated out, are fixed points of

    α_k ← α_k Σ_d [ψ(n_dk + α_k) − ψ(α_k)] / Σ_d [ψ(n_d + Σα) − ψ(Σα)],
    β   ← β Σ_kw [ψ(n_kw + b_kw) − ψ(b_kw)] / (W Σ_k [ψ(n_k + B_k) − ψ(B_k)]),   b_kw = β + a_kw,

(Minka 2000, eqn 55; his bound on the likelihood holds for β with a_kw given, by the concavity of
log(β + a_kw)). A step of rate ρ goes that share of the way, so that noisy counts of a few documents
are averaged over many steps: the factor is right in the mean over minibatches, also where it is 0,
for a topic that some of them lack. On a logarithmic scale such a topic would lose its prior. Taking
the likeliest priors and sampling the rest is empirical Bayes: the spread of the samples knows
nothing of the priors' own.

References
----------
Minka, T. (2000). Estimating a Dirichlet distribution. Technical report, MIT.
Wallach, H., Mimno, D. and McCallum, A. (2009). Rethinking LDA: why priors matter. NIPS 22.
"""

import numpy as np
from scipy.special import digamma

from topicmc.kernels.histograms import bin_sizes, level_histogram
from topicmc.kernels.threads import Threads
from topicmc.samplers.row_prior import RowPrior

BOUNDS = 1e-5, 100.0  # beyond, a prior no longer changes anything
_HALF = 0.5  # an expected count below is taken for none


def learned_alpha(
    alpha: np.ndarray, histogram: np.ndarray, *, rate: float = 1.0, steps: int = 1
) -> np.ndarray:
    """α float64 (K,) after some steps, given `mix_histogram` of the documents' assignments.

    A topic that no document has keeps its α when ``histogram`` is empty, else falls to the least.
    """
    sizes = bin_sizes()
    of_topics, of_lengths = histogram[:-1], histogram[-1]
    if not of_lengths.any():
        return alpha
    for _ in range(steps):  # sums without BLAS, whose order depends on the processor
        gained = digamma(sizes + alpha[:, None]) - digamma(alpha)[:, None]
        total = alpha.sum()
        shared = (of_lengths * (digamma(sizes + total) - digamma(total))).sum()
        alpha = _towards(alpha, (of_topics * gained).sum(axis=1) / shared, rate)
    return alpha


def learned_beta(
    prior: RowPrior,
    theta: np.ndarray,
    topic_sums: np.ndarray,
    totals: np.ndarray,
    *,
    rate: float = 1.0,
    steps: int = 1,
    threads: Threads | None = None,
) -> float:
    """β after some steps, given the topics and the tokens of each in the corpus, totals (K,).

    The counts are n_kw = φ_kw (n_k + B_k) − b_kw, φ_kw = θ_wk / topic_sums_k: those of the
    assignments where θ = n + b, else expected ones; where there are none β stays. theta float32
    (W, K).
    """
    if not totals.any():
        return prior.base
    n_words, n_topics = theta.shape
    scale = (totals + prior.totals(n_words, n_topics)) / topic_sums
    given = (scale, prior.base, _HALF, threads or Threads())
    histogram = level_histogram(theta, *given)
    counts = additions = np.zeros(0)
    if prior.additions is not None:
        words = prior.additions.words
        histogram -= level_histogram(theta[words], *given)
        additions = prior.additions.of(words)
        counts = np.rint(theta[words] * scale - prior.base - additions)
        additions, counts = additions[counts > 0], counts[counts > 0]
    sizes = bin_sizes()
    for _ in range(steps):
        beta = prior.base
        gained = (histogram * (digamma(sizes + beta) - digamma(beta))).sum()
        gained += (digamma(counts + beta + additions) - digamma(beta + additions)).sum()
        masses = prior.totals(n_words, n_topics)
        shared = n_words * (digamma(totals + masses) - digamma(masses)).sum()
        prior = prior.with_base(float(_towards(np.array(beta), gained / shared, rate)))
    return prior.base


def prior_metrics(learn: str, alpha: np.ndarray, beta: float) -> dict[str, float]:
    """What a metrics record says of learned priors: Σα, the range of α, and β."""
    if learn == "none":
        return {}
    return {
        "alpha_sum": float(alpha.sum()),
        "alpha_least": float(alpha.min()),
        "alpha_most": float(alpha.max()),
        "beta": float(beta),
    }


def _towards(value: np.ndarray, factor: np.ndarray, rate: float) -> np.ndarray:
    return np.clip((1 - rate) * value + rate * (value * factor), *BOUNDS)
