"""Chains that learn from minibatches: D-SGLD's target for LDA, and how such chains begin."""
