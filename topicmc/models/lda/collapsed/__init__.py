"""Samplers of LDA that keep the topic of every token."""
