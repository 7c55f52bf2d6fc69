"""Priors of topics and mixes: as they are given, by seed words, and learned."""
