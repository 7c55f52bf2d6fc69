"""Passes over kept samples, which take long where these are large, and who hears how far one is."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Sample = TypeVar("Sample")
Tell = Callable[[int, int], None]
_tell: ContextVar[Tell] = ContextVar("_tell", default=lambda done, total: None)


@contextmanager
def told_of_samples(tell: Tell) -> Iterator[None]:
    """A block in which ``tell`` hears how many samples of a pass are done, and of how many: before
    each, and at the end of the pass."""
    token = _tell.set(tell)
    try:
        yield
    finally:
        _tell.reset(token)


def one_by_one(samples: Sequence[Sample]) -> Iterator[Sample]:
    """A pass over samples, or what stands for them."""
    for done, sample in enumerate(samples):
        _tell.get()(done, len(samples))
        yield sample
    _tell.get()(len(samples), len(samples))
