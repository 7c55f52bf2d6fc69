"""SVMlight: each line a document, "label index:count … # comment"; labels are passed over."""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from topicmc.corpora.documents import Documents
from topicmc.corpora.readers import Tally
from topicmc.corpora.readers.fields import quoted_bytes
from topicmc.corpora.readers.pairs import pair_blocks
from topicmc.corpora.streams import Stream, line_blocks
from topicmc.errors import DataError

_LABEL = re.compile(rb"[-+]?[\d.]+([eE][-+]?\d+)?(,[-+]?[\d.]+([eE][-+]?\d+)?)*")
_INDEX_ZERO, _COMMENT = re.compile(rb"(?:\A|\s)0+:"), re.compile(rb"#[^\n]*")


class SvmlightReader:
    """Indices start at 1, as the format has it, unless some index of the files that are read
    together is 0, or they are known to start there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._indices = _Indices([path], None)

    @property
    def first_index(self) -> int:
        """0 or 1."""
        return self._indices.first

    def blocks(self, n_words: int, tally: Tally) -> Iterator[Documents]:
        return pair_blocks(self.path, _split, n_words, tally, base=self.first_index, real=True)

    @staticmethod
    def read_together(readers: "Sequence[SvmlightReader]", first_index: int | None) -> None:
        """Lets some readers number words alike, from ``first_index`` on if that is known."""
        indices = _Indices([reader.path for reader in readers], first_index)
        for reader in readers:
            reader._indices = indices


class _Indices:
    """Of some files."""

    def __init__(self, paths: Sequence[Path], known: int | None) -> None:
        self._paths = paths
        self._known = known

    @cached_property
    def first(self) -> int:
        return 0 if self._known == 0 or any(map(_has_zero, self._paths)) else 1


def _has_zero(path: Path) -> bool:
    with Stream(path) as stream:
        blocks = (_COMMENT.sub(b"", block) for block in line_blocks(stream))
        return any(map(_INDEX_ZERO.search, blocks))


def _split(line: bytes, where: str) -> list[bytes] | None:
    fields = line.partition(b"#")[0].split()
    if not fields:
        return None
    if b":" not in fields[0]:
        label = fields.pop(0)
        if not _LABEL.fullmatch(label):
            raise DataError(
                f"{where}: {quoted_bytes(label)} where a label should stand; mend the line"
            )
    return [field for field in fields if not field.startswith(b"qid:")]
