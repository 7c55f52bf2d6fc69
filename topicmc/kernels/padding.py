"""Topics padded to whole vectors, as kernels work on 16 topics at a time; and arrays that begin at
a cache line."""

from collections.abc import Callable

import numpy as np
from numpy.typing import DTypeLike

LANES = 16


def padded_size(n_topics: int) -> int:
    """Kp: the number of topics rounded up to a multiple of 16."""
    return -(-n_topics // LANES) * LANES


def padded_topics(values: np.ndarray) -> np.ndarray:
    """float32 (Kp,) from a vector over topics, zero in the padding."""
    padded = np.zeros(padded_size(len(values)), np.float32)
    padded[: len(values)] = values
    return padded


def aligned_zeros(shape: int | tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
    """Zeros that start at a cache line, so that no vector of a row straddles two."""
    return _aligned(np.zeros, shape, dtype)


def aligned_empty(shape: int | tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
    """As `aligned_zeros`, with whatever was there: threads write it sooner than one clears it."""
    return _aligned(np.empty, shape, dtype)


def _aligned(
    make: Callable[..., np.ndarray], shape: int | tuple[int, ...], dtype: DTypeLike
) -> np.ndarray:
    n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = make(n_bytes + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + n_bytes].view(dtype).reshape(shape)
