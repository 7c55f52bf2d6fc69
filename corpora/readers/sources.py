"""Which reader a source needs, and where its vocabulary is."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from topicmc.corpora.readers.detect import bare_name, detect
from topicmc.corpora.readers.docword import DocwordReader
from topicmc.corpora.readers.jsonl import JsonLinesReader
from topicmc.corpora.readers.ldac import LdaCReader
from topicmc.corpora.readers.matrix_market import MatrixMarketReader
from topicmc.corpora.readers.named_fields import FieldReader, Fields
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
GAPPED = ("docword", "mm")  # empty documents have no line, but a number
FIELD_READERS: dict[str, Callable[[Path, Fields], FieldReader]] = {
    "jsonl": JsonLinesReader,
    "csv": CsvReader,
    "parquet": ParquetReader,
}
FORMATS = (*ID_READERS, "text", "wikipedia", *FIELD_READERS)
_TIMESTAMP = "timestamp"  # what the time of a revision is called in a dump


def open_sources(
    paths: Sequence[Path],
    format: str,
    field: str | None,
    title: str | None = None,
    time: str | None = None,
    tokens: str | None = None,
) -> tuple[str, list[Any]]:
    """The format, found out when it is ``auto``, and a reader for each path. Field, title, time and
    tokens are those of `Fields`."""
    if not paths:
        raise UsageError("No source is given: name a file or a folder.")
    for path in paths:
        if not (path.is_dir() and format in ("auto", "text")):
            require_file(path)
    if format == "auto":
        format = _common_format(paths)
    if format not in FORMATS:
        raise UsageError(f"--format {format}: it is one of auto, {', '.join(FORMATS)}.")
    fields = Fields(field, title, time, tokens)
    _check_fields(format, fields)
    return format, [_reader(format, path, fields) for path in paths]


def _reader(format: str, path: Path, fields: Fields) -> Any:
    if format in FIELD_READERS:
        return FIELD_READERS[format](path, fields)
    if format == "wikipedia":
        return WikipediaReader(path, fields.has_titles, fields.time is not None)
    if format == "text":
        return TextReader(path, fields.has_titles)
    return ID_READERS[format](path)


def _check_fields(format: str, fields: Fields) -> None:
    """UsageError when a field is asked of a format that has none."""
    asked = dict(fields.required)
    if fields.field is not None:
        asked["field"] = fields.field
    if fields.tokens is not None and format not in ID_READERS:
        asked["tokens"] = fields.tokens
    if format == "wikipedia" and fields.time == _TIMESTAMP:
        del asked["time"]
    if {"tokens", "field"} <= asked.keys():
        raise UsageError("--tokens and --field exclude each other: give one.")
    if format in FIELD_READERS or not asked:
        return
    option, name = next(iter(asked.items()))
    known = f"only {', '.join(FIELD_READERS)} have fields, this is {format}"
    if format == "wikipedia" and option == "time":
        known = f"the time of an article is its {_TIMESTAMP}"
    raise UsageError(f"--{option} {name}: {known}.")


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
