"""Which reader a source needs, and where its vocabulary is."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from topicmc.corpora.readers.detect import bare_name, detect
from topicmc.corpora.readers.docword import DocwordReader
from topicmc.corpora.readers.jsonl import JsonLinesReader
from topicmc.corpora.readers.ldac import LdaCReader
from topicmc.corpora.readers.matrix_market import MatrixMarketReader
from topicmc.corpora.readers.npz import NpzReader
from topicmc.corpora.readers.parquet import ParquetReader
from topicmc.corpora.readers.svmlight import SvmlightReader
from topicmc.corpora.readers.table import CsvReader
from topicmc.corpora.readers.text import TextReader
from topicmc.corpora.readers.wikipedia import WikipediaReader
from topicmc.corpora.streams import SUFFIXES, require_file
from topicmc.errors import DataError, UsageError

ID_READERS: dict[str, Callable[[Path], Any]] = {
    "docword": DocwordReader,
    "npz": NpzReader,
    "mm": MatrixMarketReader,
    "ldac": LdaCReader,
    "svmlight": SvmlightReader,
}
TEXT_READERS: dict[str, Callable[[Path], Any]] = {
    "text": TextReader,
    "wikipedia": WikipediaReader,
}
FIELD_READERS: dict[str, Callable[[Path, str | None], Any]] = {
    "jsonl": JsonLinesReader,
    "csv": CsvReader,
    "parquet": ParquetReader,
}
FORMATS = (*ID_READERS, *TEXT_READERS, *FIELD_READERS)


def open_sources(paths: Sequence[Path], format: str, field: str | None) -> tuple[str, list[Any]]:
    """The format, found out when it is ``auto``, and a reader for each path."""
    if not paths:
        raise UsageError("No source is given: name a file or a folder.")
    for path in paths:
        if not (path.is_dir() and format in ("auto", "text")):
            require_file(path)
    if format == "auto":
        format = _common_format(paths)
    if format not in FORMATS:
        raise UsageError(f"--format {format}: it is one of auto, {', '.join(FORMATS)}.")
    if format in FIELD_READERS:
        return format, [FIELD_READERS[format](path, field) for path in paths]
    if field is not None:
        fields = ", ".join(FIELD_READERS)
        raise UsageError(f"--field {field}: only {fields} have fields, this is {format}.")
    return format, [(ID_READERS | TEXT_READERS)[format](path) for path in paths]


def _common_format(paths: Sequence[Path]) -> str:
    formats = [detect(path) for path in paths]
    for path, format in zip(paths, formats, strict=True):
        if format != formats[0]:
            raise DataError(
                f"{path} looks like {format}, {paths[0]} like {formats[0]}: sources of one corpus "
                "share a format; pass --format or prepare them apart."
            )
    return formats[0]


def source_size(paths: Sequence[Path]) -> int:
    """Bytes on disk, for the progress bar."""
    files = [f for path in paths for f in (path.rglob("*") if path.is_dir() else [path])]
    return sum(file.stat().st_size for file in files if file.is_file())


def find_vocabulary(path: Path) -> Path:
    """The vocabulary that lies beside a file of word ids; DataError when there is none."""
    bare = bare_name(path)
    stem = Path(bare).stem
    names = [bare.replace("docword", "vocab", 1)] if bare.startswith("docword") else []
    names += [f"vocab.{stem}.txt", f"{stem}.vocab", f"{stem}.vocab.txt", "vocab.txt"]
    for name in names:
        for suffix in ("", *SUFFIXES):
            if (candidate := path.with_name(name + suffix)).is_file():
                return candidate
    raise DataError(
        f"{path} holds word ids and no vocabulary lies beside it ({names[0]} or vocab.txt): "
        "give a file with one word a line by --vocab."
    )
