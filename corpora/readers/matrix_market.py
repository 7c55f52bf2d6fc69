"""Matrix Market coordinate files: rows are documents, columns are words, both from 1."""

from collections.abc import Iterator
from pathlib import Path

from topicmc.corpora.documents import Documents
from topicmc.corpora.readers import Tally
from topicmc.corpora.readers.fields import header_numbers, quoted_bytes
from topicmc.corpora.readers.triplets import Header, triplet_blocks
from topicmc.corpora.streams import Stream
from topicmc.errors import DataError

_FIELDS = (b"integer", b"unsigned-integer", b"real", b"double", b"pattern")


class MatrixMarketReader:
    """https://math.nist.gov/MatrixMarket/formats.html; entries must be grouped by row, as gensim's
    ``MmCorpus.serialize`` and ``scipy.io.mmwrite`` of a CSR matrix write them."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def blocks(self, n_words: int, tally: Tally, *, gaps: bool = False) -> Iterator[Documents]:
        with Stream(self.path) as stream:
            field = self._field(stream.readline())
            number, line = 2, stream.readline()
            while line.startswith(b"%") or (line and not line.strip()):
                number, line = number + 1, stream.readline()
            wanted = ["rows", "columns", "entries"]
            n_docs, width, n_entries = header_numbers(self.path, number, line.split(), wanted)
            if width != n_words:
                raise DataError(
                    f"{self.path}, line {number}: {width} columns, but its vocabulary has "
                    f"{n_words} words; give the vocabulary that belongs to it by --vocab, and let "
                    "rows be documents"
                )
            header = Header(
                self.path,
                n_docs,
                width,
                n_entries,
                columns=2 if field == b"pattern" else 3,
                real=field in (b"real", b"double"),
                gaps=gaps,
            )
            yield from triplet_blocks(stream, header, number + 1, tally)

    def _field(self, line: bytes) -> bytes:
        words = line.lower().split()
        if words[:3] != [b"%%matrixmarket", b"matrix", b"coordinate"] or len(words) != 5:
            raise DataError(
                f"{self.path}, line 1: {quoted_bytes(line.strip())} where '%%MatrixMarket matrix "
                "coordinate …' should stand; check --format"
            )
        if words[3] not in _FIELDS or words[4] != b"general":
            raise DataError(
                f"{self.path}, line 1: a {words[3].decode('utf-8', 'replace')} "
                f"{words[4].decode('utf-8', 'replace')} matrix cannot hold word counts; "
                "write it as integer general"
            )
        return words[3]
