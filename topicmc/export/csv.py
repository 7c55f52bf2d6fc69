"""CSV: a row for each topic and word of its likeliest, topic after topic, likeliest words first."""

from __future__ import annotations

import csv
from pathlib import Path

from topicmc.export.source import Source
from topicmc.topics.ranking import top

COLUMNS = ("topic", "share", "alpha", "rank", "word", "probability")


def write(source: Source, path: Path) -> None:
    """Writes the file."""
    topics = source.topics
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(COLUMNS)
        for k, words in enumerate(top(topics.phi, source.n_words())):
            facts = [k, float(topics.share[k]), float(topics.alpha[k])]
            for rank, w in enumerate(words, start=1):
                writer.writerow([*facts, rank, topics.vocabulary[w], float(topics.phi[k, w])])
