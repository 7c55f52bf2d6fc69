"""Ranks that were given different things, as on machines with files of their own, end with one
sentence, and before anything is trained."""

import subprocess
from functools import partial
from pathlib import Path

import pytest
from synthetic import lda_documents, write_docword
from test_mpi_training import COMMON, command, in_process

from topicmc.corpora import Corpus, prepare

# Ranks that wait keep a core busy: one such test at a time.
pytestmark = pytest.mark.xdist_group("mpi")


def refused(*jobs):
    """What two ranks say, of which each has a command of its own."""
    first, second = jobs
    done = subprocess.run([*first, ":", *second[1:]], capture_output=True, text=True, timeout=60)
    told = done.stdout + done.stderr
    assert done.returncode == 2, told
    assert told.count("Error: ") == 1 and "Traceback" not in told, told
    return told


@pytest.fixture(scope="module")
def stale_corpus(tmp_path_factory) -> Corpus:
    """As many documents and words, but others are held out."""
    folder = tmp_path_factory.mktemp("stale")
    source = write_docword(folder, lda_documents(330, 120, 5, seed=1), 120)
    return prepare([source], folder / "corpus", n_heldout=30, n_shards=3, seed=5)


@pytest.mark.parametrize("settings", [COMMON, {"model": "mixture", "updates": 5}])
def test_a_copy_of_the_corpus_that_is_another(small_corpus, stale_corpus, tmp_path: Path, settings):
    job = partial(command, 1, tmp_path / "run", **settings)
    told = refused(job(corpus=small_corpus), job(corpus=stale_corpus))
    assert "Error: CORPUS: not the same on rank 1 (" in told
    assert not (tmp_path / "run").exists()


def test_settings_that_differ(small_corpus, tmp_path: Path):
    """As by a file of settings; the number of threads may, and where machines have a file."""
    job = partial(command, 1, tmp_path / "run", corpus=small_corpus)
    other = {"alpha": 0.2, "seed": 4, "threads": 2, "topic_prior": "there.npy"}
    told = refused(job(**COMMON, alpha=0.1, topic_prior="here.npy"), job(**COMMON | other))
    assert "Error: --seed, --alpha: not the same on rank 1 (" in told
    assert not (tmp_path / "run").exists()


def test_a_folder_that_is_not_shared(small_corpus, tmp_path: Path):
    """A new run, and one that goes on, of which the second rank sees none, or another."""
    here, there = tmp_path / "here", tmp_path / "there"
    settings = COMMON | {"updates": 8}
    told = refused(*(command(1, run, corpus=small_corpus, **settings) for run in (here, there)))
    assert f"Error: -o {here}: not the same folder on rank 1 (" in told
    assert not there.exists()
    in_process(there, small_corpus, 2, **settings | {"seed": 4})
    told = refused(*(command(1, run, "--resume") for run in (here, there)))
    assert f"Error: -o {here}: not the same folder on rank 1 (" in told
    told = refused(*(command(1, there, "--resume", updates=n) for n in (12, 16)))
    assert "Error: --updates: not the same on rank 1 (" in told
