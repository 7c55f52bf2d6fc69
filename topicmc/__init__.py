"""topicmc: large-scale topic modelling by Markov chain Monte Carlo.

Importing this package starts no MPI, compiles nothing and loads no heavy dependency; what it offers
is imported when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from topicmc.host.version import VERSION as __version__

if TYPE_CHECKING:
    from topicmc.estimator import LDA
    from topicmc.estimator.factors import MatrixFactorization

_PLACES = {
    "LDA": "topicmc.estimator",
    "MatrixFactorization": "topicmc.estimator.factors",
}
__all__ = ["LDA", "MatrixFactorization", "__version__"]


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    raise AttributeError(f"module 'topicmc' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
