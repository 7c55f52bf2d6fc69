"""Samplers of the topic-word parameters, one page each beside its equation."""
