"""Latent Dirichlet allocation: settings, jobs, runs and their memory, perplexity, topic mixes."""
