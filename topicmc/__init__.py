"""topicmc: large-scale topic modelling by stochastic-gradient MCMC.

Importing this package starts no MPI, compiles nothing and loads no heavy dependency.
"""

__version__ = "0.1.0"
