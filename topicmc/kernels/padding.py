"""Topics padded to whole vectors: kernels work on 16 topics at a time."""

import numpy as np

LANES = 16


def padded_size(n_topics: int) -> int:
    """Kp: the number of topics rounded up to a multiple of 16."""
    return -(-n_topics // LANES) * LANES


def padded_topics(values: np.ndarray) -> np.ndarray:
    """float32 (Kp,) from a vector over topics, zero in the padding."""
    padded = np.zeros(padded_size(len(values)), np.float32)
    padded[: len(values)] = values
    return padded
