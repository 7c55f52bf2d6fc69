"""Scratch space of a thread, kept from one call of a kernel to the next: small blocks would take as
long to prepare as to draw."""

import threading

import numpy as np
from numpy.typing import DTypeLike

from topicmc.kernels.padding import aligned_zeros

_LOCAL = threading.local()


def kept(name: str, size: int, dtype: DTypeLike) -> np.ndarray:
    """An array (size,) that starts at a cache line and holds whatever was left in it; of one name a
    thread has one at a time."""
    arrays = _LOCAL.__dict__
    if name not in arrays or len(arrays[name]) < size or arrays[name].dtype != dtype:
        arrays[name] = aligned_zeros(size, dtype)
    return arrays[name][:size]
