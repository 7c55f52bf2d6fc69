"""Samplers of the topic-word parameters, one page each beside its equation.

A sampler is a frozen value with a `move` that takes a chain one update further, in place, given the
expected counts of a minibatch. Samplers differ only in the move.
"""
