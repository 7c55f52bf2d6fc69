"""Numba kernels: arrays in, arrays out; no I/O, no knowledge of the samplers.

They assign no array to a slice, for which numba would compile the text of its error messages, for
seconds. `tests/test_compilation.py` watches that.
"""

from topicmc.kernels.cache import check

check()
