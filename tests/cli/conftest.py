"""A command to call, and a small finished run to look at, copy and damage."""

from contextlib import contextmanager
from pathlib import Path

import pytest
from shell import LENGTH, SETTINGS, Command, copy_of, topicmc

from topicmc.models.lda.run import TopicRun
from topicmc.storage import files


@pytest.fixture
def command(capfd) -> Command:
    return Command(capfd)


@pytest.fixture
def latecomer(monkeypatch) -> None:
    """While a file is written, another comes to its place."""
    plain = files.atomic_write

    @contextmanager
    def late(path, mode="w"):
        with plain(path, mode) as stream:
            path.write_text("theirs")
            yield stream

    monkeypatch.setattr(files, "atomic_write", late)


@pytest.fixture(scope="session")
def finished(small_corpus, tmp_path_factory) -> Path:
    """A run of 12 updates, 4 of them its start, with its corpus beside it; not to be changed."""
    folder = tmp_path_factory.mktemp("finished")
    copy_of(small_corpus.path, folder / "corpus")
    done = topicmc("train", "corpus", "-o", "run", *SETTINGS, *LENGTH, cwd=folder)
    assert done.status == 0, done.stderr
    return folder


@pytest.fixture
def run(finished, tmp_path, monkeypatch) -> Path:
    """A copy of the finished run in the current folder; its corpus lies in ``corpus``."""
    monkeypatch.chdir(copy_of(finished, tmp_path / "work"))
    run = TopicRun(Path("run"))
    corpus = {**run.facts()["corpus"], "path": str(tmp_path / "work" / "corpus")}
    run.update_facts(corpus=corpus)
    return run.path
