"""How the topics of a report are cited."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from topicmc.samplers.registry import sampler_of

MODEL = (
    "Blei, D. M., Ng, A. Y. and Jordan, M. I. (2003). Latent Dirichlet allocation. Journal of"
    " Machine Learning Research 3, 993–1022."
)
_COLLAPSED = {
    "adlda": (
        "Newman, D., Asuncion, A., Smyth, P. and Welling, M. (2007). Distributed inference for"
        " latent Dirichlet allocation. Advances in Neural Information Processing Systems 20."
    ),
    "asynclda": (
        "Smola, A. and Narayanamurthy, S. (2010). An architecture for parallel topic models."
        " Proceedings of the VLDB Endowment 3, 703–710."
    ),
}
WORKERS = (
    "Ahn, S., Shahbaba, B. and Welling, M. (2014). Distributed stochastic gradient MCMC."
    " International Conference on Machine Learning 31."
)
RELEVANCE = (
    "Sievert, C. and Shirley, K. E. (2014). LDAvis: a method for visualizing and interpreting"
    " topics. Workshop on Interactive Language Learning, Visualization, and Interfaces."
)
MIXTURE = (
    "Baker, J. (2018). Large-scale Bayesian computation using stochastic gradient Markov chain"
    " Monte Carlo. PhD thesis, Lancaster University. Section 5.5.2.",
    "Walker, S. G. (2007). Sampling the Dirichlet mixture model with slices. Communications in"
    " Statistics: Simulation and Computation 36, 45–54.",
)
PARTITIONS = (
    "Dahl, D. B. (2005). Sequentially-allocated merge-split sampler for conjugate and nonconjugate"
    " Dirichlet process mixture models. Technical report, Texas A&M University.",
    "Neal, R. M. (2000). Markov chain sampling methods for Dirichlet process mixture models."
    " Journal of Computational and Graphical Statistics 9, 249–265.",
)
CENTRAL = (
    "Wade, S. and Ghahramani, Z. (2018). Bayesian cluster analysis: point estimation and credible"
    " balls. Bayesian Analysis 13, 559–626.",
    "Hennig, C. (2007). Cluster-wise assessment of cluster stability. Computational Statistics &"
    " Data Analysis 52, 258–271.",
)


def mixture_citation(runs: Sequence[dict[str, Any]], corpus: str) -> dict[str, Any]:
    """As `citation`, of mixtures."""
    text, papers = _made(f"Dirichlet-process mixture of {corpus}", runs)
    references = [*MIXTURE, *papers]
    if any(facts["config"]["counts"] == "all" for facts in runs):
        references += PARTITIONS
    return {"text": text, "references": [*references, *CENTRAL, RELEVANCE]}


def _made(what: str, runs: Sequence[dict[str, Any]]) -> tuple[str, list[str]]:
    """The sentence that says by which versions, samplers and seeds it was made; and the papers of
    the samplers."""
    configs = [facts["config"] for facts in runs]
    samplers = list(dict.fromkeys(config["sampler"] for config in configs))
    versions = " and ".join(dict.fromkeys(facts["topicmc"] for facts in runs))
    seeds = ", ".join(str(config["seed"]) for config in configs)
    papers = [_COLLAPSED.get(sampler) or sampler_of(sampler).paper for sampler in samplers]
    return f"{what} by topicmc {versions} ({', '.join(samplers)}; seed {seeds}).", papers


def citation(runs: Sequence[dict[str, Any]], corpus: str) -> dict[str, Any]:
    """A sentence that says what was done, by the content of ``run.json`` of each run, and the works
    that it rests on."""
    configs = [facts["config"] for facts in runs]
    what = f"Latent Dirichlet allocation of {corpus} with {configs[0]['topics']} topics"
    text, papers = _made(what, runs)
    references = [MODEL, *papers]
    if any(config["workers"] > 1 and config["sampler"] not in _COLLAPSED for config in configs):
        references.append(WORKERS)
    return {"text": text, "references": [*references, RELEVANCE]}
