"""UCI bag of words: three header lines D, W, NNZ, then lines of "document word count" from 1."""

from collections.abc import Iterator
from pathlib import Path

from topicmc.corpora.documents import Documents
from topicmc.corpora.readers import Tally
from topicmc.corpora.readers.fields import header_numbers
from topicmc.corpora.readers.triplets import Header, triplet_blocks
from topicmc.corpora.streams import Stream
from topicmc.errors import DataError


class DocwordReader:
    """https://archive.ics.uci.edu/dataset/164/bag+of+words; documents must ascend."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def blocks(self, n_words: int, tally: Tally, *, gaps: bool = False) -> Iterator[Documents]:
        with Stream(self.path) as stream:
            n_docs, width, n_entries = (
                header_numbers(self.path, line, stream.readline().split(), [what])[0]
                for line, what in enumerate(("documents", "words", "entries"), start=1)
            )
            if width != n_words:
                raise DataError(
                    f"{self.path}, line 2: {width} words, but its vocabulary has {n_words}; "
                    "give the vocabulary that belongs to it with --vocab"
                )
            header = Header(self.path, n_docs, width, n_entries, gaps=gaps)
            yield from triplet_blocks(stream, header, 4, tally)
