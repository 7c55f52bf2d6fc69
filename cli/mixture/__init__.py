"""Mixtures: what the commands of topic models do with them."""
