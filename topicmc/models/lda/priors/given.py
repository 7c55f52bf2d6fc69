"""Priors that are given: of the mixes a number for each topic, of the topics a matrix K × W.

A matrix says the prior b_kw of topics and words that it lists; others have β. It is a file:

    .npy    all of it, float (K, W), its columns in the order of the vocabulary
    .npz    the same in one array, or a sparse matrix of SciPy
    .mtx    Matrix Market, dense or sparse
    .csv    the columns topic, word and prior; or K rows of W numbers

Entries that a sparse matrix does not store, and words that a table does not name, are not listed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np

from topicmc.corpora.readers.npz import DAMAGE
from topicmc.errors import DataError, UsageError
from topicmc.host.machine import available_memory, check_room, in_units
from topicmc.models.lda.planning.defaults import default_beta
from topicmc.models.lda.priors.seed_settings import Seeds
from topicmc.models.lda.priors.seeds import SeedWords, found_in
from topicmc.models.lda.settings import (
    LEAST_PRIOR,
    MAX_TOPICS,
    MOST_PRIOR,
    LdaSettings,
    Resolved,
)
from topicmc.samplers.row_prior import Additions
from topicmc.settings.values import AUTO
from topicmc.storage.arrays import load_array
from topicmc.storage.fields import quoted
from topicmc.storage.files import is_file, read_text
from topicmc.storage.handwritten import parse_csv, parse_number, rows_below


@dataclass(frozen=True)
class Given:
    """What is given of the prior of the topics.

    Attributes:
        seeds: words of topics.
        matrix: or what a matrix has over β.
        labels: names of topics by number.
        inherited: the seed words of a run that is gone on from.
        remarks: what there is to say of it.
    """

    seeds: SeedWords | None = None
    matrix: Additions | None = None
    labels: dict[int, str] = field(default_factory=dict)
    inherited: Seeds = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    @property
    def n_rows(self) -> int:
        """Rows of additions."""
        if self.seeds is not None:
            return 1 + len(set().union(*self.seeds.weights))
        return 0 if self.matrix is None else len(self.matrix.values)

    def additions(self, config: Resolved, n_words: int) -> Additions | None:
        """What is added to β under resolved settings."""
        if self.seeds is None:
            return None if self.matrix is None else self.matrix.for_topics(config.topics)
        assert config.seed_weight is not None
        return self.seeds.additions(n_words, config.topics, config.seed_weight)

    def remarks_on(self, config: Resolved, n_words: int, n_tokens: int) -> list[str]:
        """The remarks, and one of seeds that outweigh the data."""
        told, additions = list(self.remarks), self.additions(config, n_words)
        if self.seeds is not None and additions is not None:
            k = int(additions.totals.argmax())
            if additions.totals[k] > n_tokens / config.topics:
                told.append(
                    f"the seeds of topic {self.seeds.names[k]} weigh {additions.totals[k]:,.0f}"
                    f" tokens, more than the {n_tokens / config.topics:,.0f} of a topic of mean"
                    " size: the data can hardly refuse them; lower --seed-weight, or the weights in"
                    " --seeds, which are multiples of it"
                )
        return told


def given_prior(
    config: LdaSettings, vocabulary: Sequence[str], n_tokens: int
) -> tuple[LdaSettings, Given]:
    """What is given by ``config.seeds`` and ``config.topic_prior`` in the words of a corpus of so
    many tokens, and the settings with what follows from it.

    Raises UsageError for seeds that the vocabulary has none of, and for another number of topics;
    DataError for a file that cannot be read, or holds no prior.
    """
    if config.seeds is not None:
        seeds = found_in(config.seeds, vocabulary)
        told = seeds.remark()
        labels = dict(enumerate(seeds.names))
        return config, Given(seeds, labels=labels, remarks=() if told is None else (told,))
    if config.topic_prior is None:
        return config, Given()
    path = Path(config.topic_prior)
    where = f"--topic-prior {path}"
    n_words, usual = len(vocabulary), config.beta
    if usual == AUTO:
        usual = default_beta(n_words, n_tokens)
    listed = _read(path, vocabulary)
    n_topics, columns = listed.shape
    if columns != n_words:
        raise DataError(
            f"{where}: is {n_topics} × {columns}, and the vocabulary has {n_words} words; give a"
            " row for each topic and a column for each word"
        )
    if config.topics not in (AUTO, n_topics):
        raise UsageError(
            f"{where}: is of {n_topics} topics, and --topics is {config.topics}; give as many, or"
            " leave it out"
        )
    if n_topics < 2:
        raise DataError(f"{where}: is of {n_topics} topic, and a topic model needs at least 2")
    if isinstance(listed, np.ndarray) and config.beta != AUTO:
        raise UsageError(f"--beta {config.beta}: {path} says the prior of every topic and word")
    base, additions = over_base(listed, float(usual), where)
    return replace(config, topics=n_topics, beta=base), Given(matrix=additions)


def over_base(listed: Any, usual: float, where: str) -> tuple[float, Additions]:
    """The least prior, and what words have over it, of a matrix (K, W) from somewhere. What a
    sparse one does not list has the ``usual`` prior. DataError unless all are positive numbers, of
    `LEAST_PRIOR` at least."""
    priors = listed.ravel() if isinstance(listed, np.ndarray) else listed.data
    if not ((priors >= LEAST_PRIOR) & (priors <= MOST_PRIOR)).all():  # NaN is neither
        raise DataError(
            f"{where}: a prior is a positive number, from {LEAST_PRIOR:g} to {MOST_PRIOR:g}; leave"
            " out what has that of --beta"
        )
    n_topics, n_words = listed.shape
    if isinstance(listed, np.ndarray):
        base, words, values = float(listed.min()), np.arange(n_words), listed.T
    else:
        base, by_word = min(usual, float(listed.data.min(initial=usual))), listed.tocsc()
        words = np.arange(n_words) if base < usual else np.flatnonzero(np.diff(by_word.indptr))
        _check_room(len(words), n_topics, where)
        values = np.full((len(words), n_topics), usual)
        cells = by_word[:, words].tocoo()
        values[cells.col, cells.row] = cells.data
    return base, Additions.of_words(words, values - base, n_words)


def _check_room(n_words: int, n_topics: int, where: str) -> None:
    """UsageError where there is no memory for so many priors, and two copies of them."""
    check_room(
        3 * 8 * n_words * n_topics,
        f"{where}: priors of {n_words:,} words in {n_topics:,} topics",
        "list none below --beta, and fewer words",
    )


def _read(path: Path, vocabulary: Sequence[str]) -> Any:
    """What is listed, float64 (K, W): an array of all, or a sparse matrix. DataError when the file
    holds neither."""
    from scipy import sparse
    from scipy.io import mmread

    suffix, where = path.suffix.lower(), f"--topic-prior {path}"
    if suffix not in (".npy", ".npz", ".mtx", ".csv"):
        raise DataError(f"{where}: a prior is in a file named .npy, .npz, .mtx or .csv; rename it")
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "no such file"
        raise DataError(f"{where}: {what}; check the path")
    try:
        if suffix == ".csv":
            found = _of_csv(read_text(path, "--topic-prior"), vocabulary)
        elif suffix == ".npy":
            found = load_array(path, mmap=False)
        elif suffix == ".mtx":
            found = mmread(path, spmatrix=False)
        else:
            found = _of_npz(path)
        if found.ndim == 2 and found.shape[0] > MAX_TOPICS:
            raise ValueError(
                f"it has {found.shape[0]} rows, and there are {MAX_TOPICS} topics at most"
            )
        if sparse.issparse(found):
            return sparse.csr_array(found).astype(np.float64)
        found = np.asarray(found, np.float64)
        if found.ndim != 2 or not found.size:
            raise ValueError(f"it holds an array {found.shape}, not one of topics and words")
        return found
    except DAMAGE as error:
        raise DataError(f"{where}: cannot be read as {suffix[1:].upper()} ({error})") from None


def _of_npz(path: Path) -> Any:
    from scipy import sparse

    with ZipFile(path) as archive:
        size, free = sum(member.file_size for member in archive.infolist()), available_memory()
    if free is not None and size > free:
        raise ValueError(f"it unfolds to {in_units(size)}, and {in_units(free)} are free")
    with np.load(path, allow_pickle=False) as stored:
        if "format" in stored.files:
            return sparse.load_npz(path)
        if len(stored.files) != 1:
            raise ValueError(f"it holds {len(stored.files)} arrays; leave one")
        return stored[stored.files[0]]


def _of_csv(text: str, vocabulary: Sequence[str]) -> Any:
    from scipy import sparse

    rows, names = parse_csv(text), ("topic", "word", "prior")
    if not rows or not {*names} <= {name.lower() for name in rows[0]}:
        return np.array([[parse_number(cell) for cell in row] for row in rows if row])
    places = {word: w for w, word in enumerate(vocabulary)}
    cells: dict[tuple[int, int], float] = {}
    for number, row in rows_below(rows, *names):
        topic, word, prior = (row.get(name, "") for name in names)
        place = places.get(word)
        if place is None:
            raise ValueError(f"row {number}: {quoted(word)} is not in the vocabulary; leave it out")
        if not topic.isdecimal() or len(topic) > 9 or (int(topic), place) in cells:
            raise ValueError(f"row {number}: {quoted(topic)} is no topic, or has that word already")
        cells[int(topic), place] = parse_number(prior)
    if not cells:
        raise ValueError("it lists no priors")
    topics, words = zip(*cells, strict=True)
    shape = (max(topics) + 1, len(vocabulary))  # no memory yet
    return sparse.coo_array((list(cells.values()), (topics, words)), shape=shape)


def read_alpha(text: str) -> float | list[float]:
    """α from a number, numbers with commas between, or a file of them: ``.npy``, ``.json``, or
    text with a number a line. UsageError for anything else, DataError for a file of none."""
    try:
        numbers = [parse_number(part) for part in text.split(",")]
        return numbers[0] if len(numbers) == 1 else numbers
    except ValueError:
        path = Path(text)
    where = f"--alpha {path}"
    if not is_file(path):
        raise UsageError(f"{where}: is no number, no numbers with commas between them, and no file")
    try:
        if path.suffix.lower() == ".npy":
            found = load_array(path, mmap=False)
        elif path.suffix.lower() == ".json":
            found = np.array(json.loads(read_text(path, "--alpha")))
        else:
            found = np.array([parse_number(x) for x in read_text(path, "--alpha").split()])
        if found.ndim != 1 or not len(found) or found.dtype.kind not in "iuf":
            raise ValueError("it holds no list of numbers")
    except (OSError, ValueError, TypeError, RecursionError, EOFError, MemoryError) as error:
        raise DataError(
            f"{where}: cannot be read as α ({error}); give a number for each topic"
        ) from None
    numbers = found.astype(np.float64).tolist()
    return numbers[0] if len(numbers) == 1 else numbers
