"""Plain text in UTF-8: a folder of files, one document each, or a file of one document a line."""

import os
from collections.abc import Iterator
from pathlib import Path

from topicmc.corpora.readers import Tally
from topicmc.corpora.readers.records import Fields, Record, RecordReader
from topicmc.corpora.streams import (
    FROM_RTF,
    FROM_TAR,
    RTF,
    TO_LINE_FEEDS,
    decode,
    is_tar,
    numbered_lines,
)
from topicmc.errors import DataError

_MAX_FILE = 1 << 26


class TextReader(RecordReader):
    """The title and the id of a file are its path in the folder; a line has none."""

    def __init__(self, path: Path, fields: Fields | None = None) -> None:
        super().__init__(path, fields)
        if path.is_dir():
            self.unit = "file"

    def records(self, tally: Tally) -> Iterator[Record]:
        return self._files(tally) if self.path.is_dir() else self._lines(tally)

    def _lines(self, tally: Tally) -> Iterator[Record]:
        number, line = 0, ""
        with self.stream(self.path) as stream:
            for number, line in numbered_lines(stream):
                tally.n_read += 1
                tally.row = number
                tally.position = stream.position
                yield Record(line, row=number)
        if number == 1 and "\r" in line:  # all documents would be one
            raise DataError(
                f"{self.path}: its only line holds carriage returns; if they end lines,"
                f" {TO_LINE_FEEDS}, else to spaces"
            )

    def _files(self, tally: Tally) -> Iterator[Record]:
        paths = text_files(self.path)
        if not paths:
            raise DataError(f"{self.path} holds no files: give a folder of text files")
        for path in paths:
            with self.stream(path) as stream:
                raw = stream.read_all(_MAX_FILE)
            if raw.startswith(RTF):
                raise DataError(f"{path} is RTF: {FROM_RTF}")
            if is_tar(raw):
                raise DataError(f"{path} is a tar archive: {FROM_TAR}")
            tally.n_read += 1
            tally.row += 1
            tally.position += path.stat().st_size
            name = path.relative_to(self.path).as_posix()
            title = name if self.fields.has_titles else ""
            yield Record(_text(raw, path), title, row=tally.row, id=name)


def text_files(folder: Path) -> list[Path]:
    """All files below folder by name, hidden ones and those in hidden folders left out. DataError
    for what cannot be read, or is a link to a folder or to nothing: it would be missing."""

    def fail(error: OSError) -> None:
        raise DataError(f"{error.filename}: {error.strerror}; let it be read, or hide it")

    found = []
    for root, folders, files in os.walk(folder, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".")]
        shown = [Path(root, name) for name in files if not name.startswith(".")]
        for path in [*(Path(root, name) for name in folders), *shown]:
            if path.is_symlink() and not path.is_file():
                what = "a folder" if path.is_dir() else "nothing that is there"
                raise DataError(
                    f"{path}: is a link to {what}, which is not followed; put the files themselves"
                    " there, or remove it"
                )
        found += [path for path in shown if path.is_file()]
    return sorted(found)


def _text(raw: bytes, path: Path) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        n_before = raw.count(b"\n", 0, error.start)
        return decode(raw.split(b"\n")[n_before], path, n_before + 1)
