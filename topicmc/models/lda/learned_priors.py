"""Learning the Dirichlet priors α (one value for each topic) and β (one for all words).

The priors that make the counts likeliest, topics and mixes integrated out, are fixed points of

    α_k ← α_k Σ_d [ψ(n_dk + α_k) − ψ(α_k)] / Σ_d [ψ(n_d + Σα) − ψ(Σα)],
    β   ← β Σ_kw [ψ(n_kw + β) − ψ(β)] / (W Σ_k [ψ(n_k + W β) − ψ(W β)])

(Minka 2000, eqn 55). A step of rate ρ goes that share of the way on the logarithmic scale, so that
noisy counts of a few documents can be averaged over many steps. Taking the likeliest priors and
sampling the rest is empirical Bayes: the spread of the samples knows nothing of the priors' own.

References
----------
Minka, T. (2000). Estimating a Dirichlet distribution. Technical report, MIT.
Wallach, H., Mimno, D. and McCallum, A. (2009). Rethinking LDA: why priors matter. NIPS 22.
"""

import numpy as np
from scipy.special import digamma

from topicmc.kernels.histograms import bin_sizes, level_histogram

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
    beta: float,
    theta: np.ndarray,
    topic_sums: np.ndarray,
    totals: np.ndarray,
    *,
    rate: float = 1.0,
    steps: int = 1,
) -> float:
    """β after some steps, given the topics and the tokens of each in the corpus, totals (K,).

    The counts are n_kw = φ_kw (n_k + W β) − β, φ_kw = θ_wk / topic_sums_k: those of the assignments
    where θ = n + β, else expected ones. theta float32 (W, K).
    """
    n_words = len(theta)
    scale = (totals + n_words * beta) / topic_sums
    histogram = level_histogram(theta, scale, beta, _HALF)
    sizes = bin_sizes()
    for _ in range(steps):
        gained = (histogram * (digamma(sizes + beta) - digamma(beta))).sum()
        mass = n_words * beta
        shared = n_words * (digamma(totals + mass) - digamma(mass)).sum()
        beta = float(_towards(np.array(beta), gained / shared, rate))
    return beta


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
    return np.clip(value * np.maximum(factor, BOUNDS[0]) ** rate, *BOUNDS)
