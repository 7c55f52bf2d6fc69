"""Held-out perplexity: the estimator, its use during a run, and for finished ones."""
