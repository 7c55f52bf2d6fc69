"""NumPy: a folder with ``phi.npy`` (K × W float64, rows sum to 1), ``alpha.npy`` (K) and
``vocabulary.txt``, whose lines are the words in the order of the columns."""

from __future__ import annotations

from pathlib import Path

from topicmc.export.source import Source
from topicmc.storage.arrays import save_array
from topicmc.storage.files import write_words


def write(source: Source, folder: Path) -> None:
    """Writes the files into ``folder``."""
    topics = source.topics
    for name, array in topics.arrays().items():
        with (folder / f"{name}.npy").open("wb") as stream:
            save_array(stream, array)
    write_words(folder / "vocabulary.txt", topics.vocabulary)
    source.name_indices(folder)
