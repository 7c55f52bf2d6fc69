"""Topics of runs, and samples of factors, as files that other programs read.

A module of this package that `FORMATS` names has a function ``write(source, path)``. Some also
make the object itself that a library knows: of topics, as `Source.topics` has them,
`gensim.lda_model`, `sklearn.latent_dirichlet_allocation` and `pyldavis.prepared_data`; of runs
`arviz.inference_data`.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from topicmc.errors import UsageError

if TYPE_CHECKING:
    from topicmc.export.source import Source


class Format(NamedTuple):
    """What there is to know of a format.

    Attributes:
        takes: the options that mean something to it, as fields of `Source`.
        files: patterns of the names in the folder that it writes; a single file if there are none.
        suffixes: how the name of the file ends, if it has a suffix.
        mixtures: whether it can hold groups of a mixture, each of whose documents has one.
    """

    takes: frozenset[str] = frozenset({"chain"})
    files: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = ()
    mixtures: bool = True


FORMATS = {
    "npy": Format(
        files=(
            *("phi.npy", "alpha.npy", "vocabulary.txt", "topics.csv"),
            *("weights.npy", "groups.npy"),  # of mixtures
        )
    ),
    "csv": Format(takes=frozenset({"chain", "words"}), suffixes=(".csv",)),
    "jsonl": Format(takes=frozenset({"chain", "words"}), suffixes=(".jsonl", ".ndjson")),
    "parquet": Format(takes=frozenset({"chain", "words"}), suffixes=(".parquet",)),
    "gensim": Format(files=("model", "model.*", "topics.csv"), mixtures=False),
    "sklearn": Format(files=("model.skops", "vocabulary.txt", "topics.csv"), mixtures=False),
    "mallet": Format(
        takes=frozenset({"chain", "corpus", "threads"}),
        files=("state.gz", "topic-keys.txt", "topic-word-weights.txt", "topics.csv"),
    ),
    "pyldavis": Format(suffixes=(".json", ".html", ".htm")),
    "arviz": Format(takes=frozenset({"runs", "words"}), suffixes=(".nc",)),
}


def export(source: Source, format: str, path: Path | str, force: bool = False) -> list[Path]:
    """Writes topics to ``path`` (str or Path), whole or not at all, and returns the files written.

    Raises UsageError when the format is unknown, an option means nothing to it, its library is not
    installed, the name speaks of another format, or something is at ``path`` that must not be
    replaced; DataError when a run or its corpus is damaged, or the disk is full.
    """
    from topicmc.export.places import check_free, staging
    from topicmc.models.views import NAME as VIEW
    from topicmc.storage.files import check_no_source

    path = Path(path)
    if format not in FORMATS:
        raise UsageError(f"--to {format!r} is not one of {', '.join(FORMATS)}")
    source.check(format)
    kind = FORMATS[format]
    for option in sorted(source.given() - kind.takes):
        told = "several RUNs do" if option == "runs" else f"--{option} does"
        raise UsageError(f"{told} not go with --to {format}; leave it out")
    check_free(path, format, kind.files, force)
    if path.suffix and kind.suffixes and path.suffix.lower() not in kind.suffixes:
        known = " or ".join(kind.suffixes)
        raise UsageError(f"-o {path}: the name of a file of --to {format} ends in {known}")
    for run in source.runs:
        run.check_no_part(path, source.corpus)
        check_no_source(path, [run.place / VIEW])  # also where there is none yet
    write = import_module(f"topicmc.export.{format}").write
    with staging(path, is_folder=bool(kind.files)) as target:
        write(source, target)
        names = sorted(file.name for file in target.iterdir()) if kind.files else []
    return [path / name for name in names] or [path]
