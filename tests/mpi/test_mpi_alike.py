"""Ranks that were given different things, as on machines with files of their own, end with one
sentence, and before anything is trained."""

import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from synthetic import lda_documents, write_docword
from test_mpi_training import COMMON, command, finish, in_process

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


def two_priors(folder: Path, corpus: Corpus) -> tuple[Path, Path]:
    for number in (1, 2):
        np.save(folder / f"{number}.npy", np.full((5, corpus.n_words), 0.1 * number))
    return folder / "1.npy", folder / "2.npy"


def two_runs(folder: Path, corpus: Corpus) -> tuple[Path, Path]:
    runs = (
        in_process(folder / str(n), corpus, 1, **COMMON | {"seed": n}, updates=8) for n in (1, 2)
    )
    return next(runs), next(runs)


def a_run_that_trains_on(folder: Path, corpus: Corpus) -> tuple[Path, Path]:
    run = in_process(folder / "1", corpus, 1, **COMMON, updates=8)
    shutil.copytree(run, folder / "2")
    finish(None, folder / "2", "--resume", updates=16)
    return run, folder / "2"


@pytest.mark.parametrize(
    ("name", "made", "differ"),
    [
        ("topic-prior", two_priors, True),
        ("from", two_runs, True),
        ("from", a_run_that_trains_on, False),
    ],
)
def test_files_that_differ(small_corpus, tmp_path: Path, name, made, differ):
    """Wherever each rank has its own. A copy is no other file, and a run that trains on no other
    run: it is read by the first rank."""
    here, there = made(tmp_path, small_corpus)
    copy = tmp_path / f"copy{here.suffix}"
    (shutil.copytree if here.is_dir() else shutil.copy)(here, copy)
    job = partial(command, 1, tmp_path / "run", corpus=small_corpus)
    for other, named in ((copy, "--seed"), (there, f"--seed, --{name}" if differ else "--seed")):
        told = refused(job(**COMMON, **{name: here}), job(**COMMON | {"seed": 4, name: other}))
        assert f"Error: {named}: not the same on rank 1 (" in told
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("corpus", [True, False])
def test_versions_that_differ(small_corpus, tmp_path: Path, corpus):
    """Of the program, which may have other defaults: with a corpus, and on the built-in extract."""
    older = "from topicmc.host import version; version.VERSION = '0.0.9'; from topicmc.cli import "
    program = (sys.executable, "-P", "-c", f"{older}main; main()", "train")
    job = partial(command, 1, tmp_path / "run", corpus=small_corpus if corpus else None, **COMMON)
    told = refused(job(), job(program=program))
    assert "Error: the version of topicmc: not the same on rank 1 (" in told
    assert "install one on all machines" in told
    assert not (tmp_path / "run").exists()


def test_a_folder_that_is_not_shared(small_corpus, tmp_path: Path):
    """A new run, of which nothing is left; one in place of another, which stays; and one that goes
    on, of which the second rank has a copy."""
    here, there = tmp_path / "here", tmp_path / "there"
    settings = COMMON | {"updates": 8}

    def check(*more, **told_to) -> None:
        told = refused(*(command(1, run, *more, **told_to) for run in (here, there)))
        assert f"Error: -o {here}: not the same folder on rank 1 (" in told

    check(corpus=small_corpus, **settings)
    check(**settings)  # on the built-in extract
    assert list(tmp_path.iterdir()) == []
    in_process(here, small_corpus, 2, **settings | {"seed": 4})
    shutil.copytree(here, there)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    check("--force", corpus=small_corpus, **settings)
    check("--resume")
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    told = refused(*(command(1, there, "--resume", updates=n) for n in (12, 16)))
    assert "Error: --updates: not the same on rank 1 (" in told
