"""Values of the tokens of documents that lie apart, to one place and back."""

from numba import njit


@njit(nogil=True, cache=True)
def gather(docs, offsets, values, out):
    """Copies values[offsets[d] : offsets[d + 1]] of each document to ``out``, one after another."""
    n = 0
    for d in docs:
        for i in range(offsets[d], offsets[d + 1]):
            out[n] = values[i]
            n += 1


@njit(nogil=True, cache=True)
def scatter(docs, offsets, mine, values):
    """Copies back what `gather` has copied."""
    n = 0
    for d in docs:
        for i in range(offsets[d], offsets[d + 1]):
            values[i] = mine[n]
            n += 1
