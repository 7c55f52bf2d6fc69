"""Which reader a source needs."""

import codecs
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from encodings.aliases import aliases
from pathlib import Path
from typing import Any

from topicmc.corpora.readers.detect import detect, endings_of, suffix_format
from topicmc.corpora.readers.docword import DocwordReader
from topicmc.corpora.readers.jsonl import JsonLinesReader
from topicmc.corpora.readers.ldac import LdaCReader
from topicmc.corpora.readers.matrix_market import MatrixMarketReader
from topicmc.corpora.readers.npz import NpzReader
from topicmc.corpora.readers.parquet import ParquetReader
from topicmc.corpora.readers.records import ALL, NONE, Fields
from topicmc.corpora.readers.svmlight import SvmlightReader
from topicmc.corpora.readers.table import DELIMITERS, CsvReader
from topicmc.corpora.readers.text import TextReader, text_files
from topicmc.corpora.readers.wikipedia import WikipediaReader
from topicmc.corpora.streams import require_file
from topicmc.errors import DataError, UsageError

ID_READERS: dict[str, Callable[[Path], Any]] = {
    "docword": DocwordReader,
    "npz": NpzReader,
    "mm": MatrixMarketReader,
    "ldac": LdaCReader,
    "svmlight": SvmlightReader,
}
GAPPED = ("docword", "mm")  # empty documents have no line, but a number
FIELD_READERS: dict[str, Callable[[Path, Fields], Any]] = {
    "jsonl": JsonLinesReader,
    "csv": CsvReader,
    "parquet": ParquetReader,
}
_RECORD_READERS: dict[str, Callable[[Path, Fields], Any]] = {
    "text": TextReader,
    "wikipedia": WikipediaReader,
    **FIELD_READERS,
}
FORMATS = (*ID_READERS, *_RECORD_READERS)
_ENCODED = ("text", "jsonl", "csv")
_NAMED = {"tab": "\t", "comma": ",", "semicolon": ";", "bar": "|", "\\t": "\t"}  # delimiters
_TIMESTAMP = "timestamp"  # what the time of a revision is called in a dump


def open_sources(paths: Sequence[Path], format: str, fields: Fields) -> tuple[str, list[Any]]:
    """The format, found out when it is ``auto``, and a reader for each file, or folder of texts."""
    if not paths:
        raise UsageError("No source is given: name a file or a folder")
    fields = _checked(fields)
    paths = [file for path in paths for file in _files_of(path, format)]
    for path in paths:
        if not (path.is_dir() and format in ("auto", "text")):
            require_file(path)
    if format == "auto":
        format = _common_format(paths, fields)
    if format not in FORMATS:
        raise UsageError(f"--format {format}: it is one of auto, {', '.join(FORMATS)}")
    _check_fields(format, fields)
    if format in ID_READERS:
        readers = [ID_READERS[format](path) for path in paths]
    else:
        readers = [_RECORD_READERS[format](path, fields) for path in paths]
    if format == "svmlight":
        SvmlightReader.read_together(readers, fields.first_index)
    if format == "jsonl":
        JsonLinesReader.read_together(readers)
    return format, readers


def _files_of(path: Path, format: str) -> list[Path]:
    """The path itself, or, of a folder of tables, its files of that format, which all have unless
    it is asked for. DataError where it is asked for, and none has it."""
    if not path.is_dir() or format not in ("auto", *FIELD_READERS):
        return [path]
    formats = _formats_in(path)
    asked = format != "auto"
    if not asked and len(set(formats.values())) == 1:
        format = next(iter(formats.values())) or "text"
    files = [file for file, own in formats.items() if own == format]
    if asked and not files:
        endings = " or ".join(f"*{ending}" for ending in endings_of(format))
        raise DataError(f"{path} holds no file named {endings}: name the files themselves")
    return files if files and format in FIELD_READERS else [path]


def files_left_out(paths: Sequence[Path], format: str) -> list[Path]:
    """The files in folders of tables that are not read, as their names speak for no table of that
    format."""
    folders = [path for path in paths if path.is_dir()] if format in FIELD_READERS else []
    formats = (_formats_in(folder) for folder in folders)
    return [file for found in formats for file, own in found.items() if own != format]


def _formats_in(folder: Path) -> dict[Path, str | None]:
    """What the names of its files speak for; empty ones, as Spark leaves, may speak for nothing."""
    formats = {file: suffix_format(file) for file in text_files(folder)}
    return {file: own for file, own in formats.items() if own or file.stat().st_size}


def delimiter_of(given: str | None, *marks: str) -> str | None:
    """The character that parts columns, given as itself or by its name, or one of some longer
    ``marks``; None as it is. UsageError when it is neither."""
    delimiter = None if given is None else _NAMED.get(given, given)
    if delimiter is None or delimiter in marks:
        return delimiter
    if len(delimiter) != 1 or delimiter in '"\r\n\0':
        raise UsageError(
            f"--delimiter {given!r}: give one character, or {', '.join([*marks, *_NAMED][:-1])}"
        )
    return delimiter


def _checked(fields: Fields) -> Fields:
    """With an encoding that Python knows, None for UTF-8, and one character as delimiter and as
    quote, if they are given."""
    delimiter = delimiter_of(fields.delimiter)
    quote, parting = fields.quote, (delimiter or DELIMITERS) + " \r\n\0"
    if quote is not None and quote != NONE and (len(quote) != 1 or quote in parting):
        raise UsageError(f"--quote {quote!r}: give one character that parts no columns, or none")
    name = fields.encoding
    try:
        encoding = None if name is None else codecs.lookup(name).name
        "".encode(encoding or "utf-8")
    except (LookupError, UnicodeError, ValueError):
        close = get_close_matches(name or "", aliases.keys() - {name}, n=1, cutoff=0.8)
        hint = f"did you mean {close[0].replace('_', '-')}?" if close else "try cp1252 or utf-16"
        raise UsageError(f"--encoding {name}: there is no such encoding; {hint}") from None
    encoding = None if encoding in ("utf-8", "utf-8-sig") else encoding
    return fields._replace(delimiter=delimiter, encoding=encoding)


def _check_fields(format: str, fields: Fields) -> None:
    """UsageError when something is asked of a format that it does not have."""
    for option, name, formats in (
        ("encoding", fields.encoding, _ENCODED),
        ("delimiter", fields.delimiter, ("csv",)),
        ("quote", fields.quote, ("csv",)),
    ):
        if name is not None and format not in formats and option not in fields.optional:
            raise UsageError(
                f"--{option} {name}: it goes with {', '.join(formats)}; this is {format}, so leave"
                " it out"
            )
    asked = [*fields.required]
    if fields.field is not None and "field" not in fields.optional:
        asked.append(("field", fields.field))
    if fields.tokens is not None and format not in ID_READERS:
        asked.append(("tokens", fields.tokens))
    if {"tokens", "field"} <= dict(asked).keys():
        raise UsageError("--tokens and --field exclude each other: give one")
    if fields.columns == ALL and "keep" not in fields.optional:
        asked.append(("keep", "all"))
    if format == "wikipedia":
        asked = [pair for pair in asked if pair != ("time", _TIMESTAMP)]
    if format in FIELD_READERS or not asked:
        return
    option, name = asked[0]
    known = f"only {', '.join(FIELD_READERS)} have fields, this is {format}; leave it out"
    if format == "wikipedia" and option == "time":
        known = f"the time of an article is its {_TIMESTAMP}; give that"
    raise UsageError(f"--{option} {name}: {known}")


def _common_format(paths: Sequence[Path], fields: Fields) -> str:
    asked = fields.asked
    # JSON Lines and Parquet, which have fields too, are known by their content.
    is_table = fields.required or asked.get("field") or asked.get("delimiter") or asked.get("quote")
    likely = "csv" if is_table else fields.likely
    formats = [detect(path, asked.get("encoding"), likely) for path in paths]
    for path, format in zip(paths, formats, strict=True):
        if format != formats[0]:
            raise DataError(
                f"{path} looks like {format}, {paths[0]} like {formats[0]}: sources of one corpus "
                "share a format; pass --format or prepare them apart"
            )
    return formats[0]


def source_size(paths: Sequence[Path]) -> int:
    """Bytes on disk, for the progress bar; none of pipes."""
    files = [f for path in paths for f in (path.rglob("*") if path.is_dir() else [path])]
    return sum(file.stat().st_size for file in files if file.is_file())
