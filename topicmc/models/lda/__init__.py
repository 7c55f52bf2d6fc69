"""Latent Dirichlet allocation: documents, statistics, start, defaults and evaluation."""
