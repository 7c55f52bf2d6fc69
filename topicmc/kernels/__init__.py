"""Numba kernels: arrays in, arrays out; no I/O, no classes, no knowledge of the samplers."""
