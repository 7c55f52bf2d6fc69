"""A model that is fitted once for all tests that read it."""

import pickle

import pytest
from fitting_cases import QUICK, TOKENS

from topicmc import LDA


@pytest.fixture(scope="session")
def fitted() -> LDA:
    return LDA(**QUICK).fit(TOKENS)


@pytest.fixture
def own(fitted) -> LDA:
    """A copy that a test may change."""
    return pickle.loads(pickle.dumps(fitted))
