"""Latent Dirichlet allocation: settings, jobs and runs, starts, minibatch chains, perplexity."""
