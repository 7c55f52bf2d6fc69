"""Numba kernels: arrays in, arrays out; no I/O, no classes, no knowledge of the samplers.

Callers make the arrays, and kernels fill them by loops: for an assignment to a slice numba would
compile the text of its error messages, for seconds. `tests/test_compilation.py` watches that.
"""
