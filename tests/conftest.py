"""A small corpus with known topics, prepared once for all tests that train; and which tests are
slow, which are skipped once the minutes of ``SLOW_TEST_MINUTES`` are over."""

import os
import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from synthetic import lda_documents, write_docword

from topicmc.corpora import Corpus, prepare

BEGAN = time.monotonic()
# The examples of a property are the same in every run, however long a busy machine takes for them.
settings.register_profile(
    "tests", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("tests")


@pytest.fixture(scope="session")
def small_corpus(tmp_path_factory) -> Corpus:
    """300 documents over 120 words from 5 topics; 30 more are held out."""
    folder = tmp_path_factory.mktemp("small")
    source = write_docword(folder, lda_documents(330, 120, 5, seed=1), 120)
    return prepare([source], folder / "corpus", n_heldout=30, n_shards=3, seed=4)


def pytest_configure(config):
    """Before there are workers: arviz writes a file when it is first imported in a day, and those
    that begin together take it from each other."""
    if not hasattr(config, "workerinput"):
        with suppress(ImportError):
            import arviz  # noqa: F401


def pytest_collection_modifyitems(items):
    """Marks the tests of ``slow.txt``, which holds how their names begin."""
    folder = Path(__file__).parent
    slow = tuple((folder / "slow.txt").read_text().split())
    for item in items:
        if item.path.is_relative_to(folder):
            name = f"{item.path.relative_to(folder).as_posix()}::{item.name}"
            if name.startswith(slow):
                item.add_marker(pytest.mark.slow)


def pytest_runtest_setup(item):
    """Slow machines are told apart here: the fast tests all run, and slow ones while there is
    time."""
    minutes = os.environ.get("SLOW_TEST_MINUTES")
    if minutes and "slow" in item.keywords and time.monotonic() - BEGAN > 60 * float(minutes):
        pytest.skip(f"slow, and the {minutes} minutes for slow tests are over on this machine")
