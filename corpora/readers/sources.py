"""Which reader a source needs, and where its vocabulary is."""

from collections.abc import Callable, Sequence
from pathlib import Path

from topicmc.corpora.readers import IdReader, TextReader
from topicmc.corpora.readers.docword import DocwordReader
from topicmc.corpora.readers.npz import NpzReader
from topicmc.corpora.streams import SUFFIXES

from topicmc.errors import DataError

ID_READERS: dict[str, Callable[[Path], IdReader]] = {
    "docword": DocwordReader,
    "npz": NpzReader,
}


def bare_name(path: Path) -> str:
    """The file name without a suffix of compression."""
    return path.stem if path.suffix in SUFFIXES else path.name


def find_vocabulary(path: Path) -> Path:
    """The vocabulary that lies beside a file of word ids; DataError when there is none."""
    stem = Path(bare_name(path)).stem
    own = bare_name(path).replace("docword", "vocab", 1)
    names = [own] if own.startswith("vocab") else []
    names += [f"vocab.{stem}.txt", f"{stem}.vocab", f"{stem}.vocab.txt", "vocab.txt"]
    for name in names:
        for suffix in ("", *SUFFIXES):
            if (candidate := path.with_name(name + suffix)).is_file():
                return candidate
    raise DataError(
        f"{path} holds word ids and no vocabulary lies beside it ({names[0]}): "
        "give a file with one word a line by --vocab."
    )


def open_sources(
    paths: Sequence[Path], format: str, field: str | None
) -> tuple[str, list[IdReader | TextReader]]:
    """The format, found out when it is ``auto``, and a reader for each path."""
    if format == "auto":
        format = "npz" if paths[0].suffix == ".npz" else "docword"
    return format, [ID_READERS[format](path) for path in paths]
