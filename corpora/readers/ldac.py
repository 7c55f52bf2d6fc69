"""LDA-C (Blei): each line a document, "M id:count id:count …" with M pairs and ids from 0."""

from collections.abc import Iterator
from pathlib import Path

from topicmc.corpora.documents import Documents
from topicmc.corpora.readers import Tally
from topicmc.corpora.readers.fields import whole
from topicmc.corpora.readers.pairs import pair_blocks
from topicmc.errors import DataError


class LdaCReader:
    def __init__(self, path: Path) -> None:
        self.path = path

    def blocks(self, n_words: int, tally: Tally) -> Iterator[Documents]:
        return pair_blocks(self.path, _split, n_words, tally, base=0)


def _split(line: bytes, where: str) -> list[bytes] | None:
    fields = line.split()
    if not fields:
        return None
    stated = whole(fields[0], where, "number of words")
    if stated != len(fields) - 1:
        raise DataError(
            f"{where}: {stated} words announced, {len(fields) - 1} follow; mend the line"
        )
    return fields[1:]
