"""The format of a source, by its content first and its name second."""

import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

from topicmc.corpora.pipes import local
from topicmc.corpora.readers.npz import DAMAGE
from topicmc.corpora.readers.text import text_files
from topicmc.corpora.streams import (
    FROM_PDF,
    FROM_RTF,
    FROM_TAR,
    PARQUET,
    PDF,
    RTF,
    SUFFIXES,
    Stream,
    compression,
    is_tar,
    require_file,
)
from topicmc.errors import DataError, UsageError

_LABELLED = re.compile(r"[-+]?[\d.,eE+-]+(\s+(qid|\d+):[\d.eE+-]+)*\s*(#.*)?")
_OFFICE = {"[Content_Types].xml", "mimetype"}  # of Microsoft and of OpenDocument
_OLE = b"\xd0\xcf\x11\xe0"  # of Microsoft, before 2007
_ZIP = b"PK\x03\x04"
_LOOK = 5  # files of a folder whose content is looked at
_TABLES = ("csv", "jsonl", "parquet")
_FROM_OFFICE = (
    "is of Excel, Word or the like: save a table as CSV (UTF-8), or a text as plain text (UTF-8)"
)
_SUFFIXES = {
    ".npz": "npz",
    ".mtx": "mm",
    ".mm": "mm",
    ".ldac": "ldac",
    ".svmlight": "svmlight",
    ".svm": "svmlight",
    ".libsvm": "svmlight",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",  # as Spark names it
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".xml": "wikipedia",
    ".txt": "text",
    ".text": "text",
}


def bare_name(path: Path) -> str:
    """The file name without a suffix of compression."""
    return path.stem if path.suffix.lower() in SUFFIXES else path.name


def suffix_format(path: Path) -> str | None:
    """The format that the name of a file speaks for."""
    return _SUFFIXES.get(Path(bare_name(path)).suffix.lower())


def endings_of(format: str) -> list[str]:
    """How names end that speak for a format."""
    return [suffix for suffix, own in _SUFFIXES.items() if own == format]


def detect(path: Path, encoding: str | None = None, likely: str | None = None) -> str:
    """The name of the format, ``likely`` where neither content nor name tells it; DataError, which
    names --format, when there is none."""
    if path.is_dir():
        if (path / "corpus.json").is_file():
            raise UsageError(f"{path} is a prepared corpus already: train on it")
        _check_folder(path)
        return "text"
    require_file(path)
    found = _by_content(path, encoding) or suffix_format(path)
    if found is None and "pages-articles" in path.name:
        found = "wikipedia"
    if found or likely:
        return found or likely or ""
    raise DataError(
        f"{path}: its format is not clear from name or content; pass --format, for instance csv"
    )


def _head(path: Path, encoding: str | None = None) -> bytes:
    with Stream(path, encoding) as stream:
        return stream.read(1 << 16)


def _check_folder(folder: Path) -> None:
    """A folder of data files is not a folder of texts: the first files tell, and the names of
    tables."""
    for number, path in enumerate(text_files(folder)):
        found = _by_content(path) if number < _LOOK else None
        named = suffix_format(path)
        if found or named in _TABLES:
            way = "give the file itself" if found else f"pass --format {named} for all that are"
            raise DataError(
                f"{path} looks like {found or named}: {way}, or --format text if each file "
                f"of {folder} is a document"
            )


def _by_content(path: Path, encoding: str | None = None) -> str | None:
    head = _head(path, encoding)
    if head.startswith((_ZIP, PARQUET)) and (packed := compression(path)):
        raise DataError(f"{path} is compressed by {packed}: unpack it first")
    if head.startswith(_ZIP):
        return _of_archive(path)
    if head.startswith(_OLE):
        raise DataError(f"{path} {_FROM_OFFICE}")
    if head.startswith(PDF):
        raise DataError(f"{path} is a PDF: {FROM_PDF}")
    if head.startswith(RTF):
        raise DataError(f"{path} is RTF: {FROM_RTF}")
    if is_tar(head):
        raise DataError(f"{path} is a tar archive: {FROM_TAR}")
    if head.startswith(PARQUET):
        return "parquet"
    lines = head.decode("utf-8", "replace").split("\n")
    if len(lines) > 1 and len(head) > 1 << 15:  # less than was asked for, where a mark was dropped
        lines.pop()  # cut in the middle
    lines = [line.strip() for line in lines]
    tests: dict[str, Callable[[list[str]], bool]] = {
        "mm": lambda lines: lines[0].lower().startswith("%%matrixmarket"),
        "wikipedia": lambda lines: any("<mediawiki" in line for line in lines[:5]),
        "docword": _is_docword,
        "jsonl": _is_json,
        "ldac": _is_ldac,
        "svmlight": _is_svmlight,
    }
    return next((name for name, test in tests.items() if any(lines) and test(lines)), None)


def _of_archive(path: Path) -> str:
    """What a zip archive is that holds arrays, or is damaged; DataError for any other."""
    try:
        with zipfile.ZipFile(local(path)) as archive:
            names = archive.namelist()
    except DAMAGE:
        return "npz"  # whose reader says what is wrong
    if any(name.endswith(".npy") for name in names):
        return "npz"
    if _OFFICE.intersection(names):
        raise DataError(f"{path} {_FROM_OFFICE}")
    raise DataError(f"{path} is a zip archive: unpack it first")


def _some(lines: list[str]) -> list[str]:
    return [line for line in lines if line and not line.startswith("#")][:20] or [""]


def _is_docword(lines: list[str]) -> bool:
    head = [line.split() for line in lines[:4]]
    widths = [len(fields) for fields in head]
    return widths in ([1, 1, 1, 3], [1, 1, 1, 0], [1, 1, 1]) and all(
        re.fullmatch(r"[0-9]+", field) for fields in head[:3] for field in fields
    )


def _is_json(lines: list[str]) -> bool:
    first = next(line for line in lines if line)
    if not first.startswith("{"):
        return False
    try:
        return isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        return False


def _is_ldac(lines: list[str]) -> bool:
    """Each line announces how many pairs follow: an SVMlight label would do so by chance only."""
    for line in _some(lines):
        fields = line.split()
        pairs = fields[1:]
        if not fields or not re.fullmatch(r"[0-9]{1,9}", fields[0]) or int(fields[0]) != len(pairs):
            return False
        if not all(re.fullmatch(r"[0-9]+:[0-9]+", pair) for pair in pairs):
            return False
    return True


def _is_svmlight(lines: list[str]) -> bool:
    found = [_LABELLED.fullmatch(line) for line in _some(lines)]
    return all(found) and any(match and match[1] for match in found)
