"""topicmc: large-scale topic modelling by stochastic-gradient MCMC.

Importing this package starts no MPI, compiles nothing and loads no heavy dependency; `LDA` is
imported when it is first asked for.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from topicmc.estimator import LDA

__version__ = "0.1.0"
__all__ = ["LDA", "__version__"]


def __getattr__(name: str) -> Any:
    if name == "LDA":
        from topicmc.estimator import LDA

        return LDA
    raise AttributeError(f"module 'topicmc' has no attribute {name!r}")
