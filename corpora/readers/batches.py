"""Raw documents in batches: what one worker process counts at a time."""

from collections.abc import Iterable, Iterator

_MAX_TEXTS = 1000
_MAX_LETTERS = 1 << 19


def batches(texts: Iterable[str]) -> Iterator[list[str]]:
    """Lists of up to 1,000 texts or about half a million letters."""
    batch: list[str] = []
    n_letters = 0
    for text in texts:
        batch.append(text)
        n_letters += len(text)
        if len(batch) == _MAX_TEXTS or n_letters >= _MAX_LETTERS:
            yield batch
            batch, n_letters = [], 0
    if batch:
        yield batch
