"""The corpora of runs: what a run keeps of the one that it was made on, and that found again."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from topicmc.corpora.remembered import told_of
from topicmc.corpora.store import Corpus
from topicmc.errors import DataError
from topicmc.storage.files import read_json, real_path, unreadable
from topicmc.storage.runs import RunDirectory

NO_CORPUS = "documents in memory"  # in the place of a corpus, of runs that `LDA.save` writes
EMBEDDED = "corpus"  # the built-in extract is prepared inside the run directory
PACKAGES = ("scipy", "gensim")
"""What results depend on, besides the packages that every run names."""


def corpus_facts(corpus: Corpus, location: str) -> dict[str, Any]:
    """What a run keeps of its corpus, so that `open_corpus` knows it again, and new documents are
    read as its own were."""
    return {
        "path": location,
        "fingerprint": corpus.fingerprint,
        "documents": corpus.n_docs,
        "tokens": corpus.n_tokens,
        "words": corpus.n_words,
        **{k: v for k, v in corpus.provenance.items() if k == "tokenizer"},
        "reading": told_of(corpus),
    }


def open_corpus(run: RunDirectory, corpus_path: Path | None = None) -> Corpus:
    """The corpus of a run, from where it was or from ``corpus_path``; DataError unless it is the
    same, also where nobody may look: a run may name the corpus of someone else."""
    facts = run.facts()["corpus"]
    path = Path(corpus_path) if corpus_path is not None else run.path / facts["path"]
    if corpus_path is None and facts["path"] == NO_CORPUS:
        raise DataError(
            f"{run.path}: was saved by a program that had the documents in memory; prepare them as"
            " a corpus, and train on that"
        )
    try:
        if corpus_path is None and not path.exists():
            raise DataError(
                f"{path}: the corpus of the run in {run.path} is not there any more; name its new"
                " place on the command line, as CORPUS to train and with --corpus elsewhere"
            )
        corpus = Corpus.open(path)
    except OSError as error:
        raise unreadable(path, error) from None
    if corpus.fingerprint != facts["fingerprint"]:
        raise DataError(
            f"{path}: this corpus has changed since the run in {run.path} was made (fingerprint"
            f" {corpus.fingerprint[:12]}, not {facts['fingerprint'][:12]}); restore it or start a"
            " new run"
        )
    return corpus


def holds_extract(run_path: Path) -> bool:
    """Whether a run is there that says that its corpus is the extract, which it holds."""
    with suppress(DataError):
        return read_json(run_path / "run.json", corpus=dict)["corpus"].get("path") == EMBEDDED
    return False


def place_of(corpus_path: Path, run_path: Path) -> str:
    """What a run says of where its corpus is: an absolute path, or `EMBEDDED` where that is the
    extract that the run there holds."""
    place = real_path(corpus_path)
    is_own = place == real_path(run_path / EMBEDDED) and holds_extract(run_path)
    return EMBEDDED if is_own else str(place)


def corpus_facts_of(run: RunDirectory, corpus_path: Path | None) -> dict[str, Any]:
    """What ``run.json`` is to say of the corpus of a run that goes on, which `open_corpus` has
    found."""
    facts = run.facts()["corpus"]
    return facts if corpus_path is None else {**facts, "path": place_of(corpus_path, run.path)}
