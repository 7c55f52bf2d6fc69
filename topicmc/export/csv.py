"""CSV: a row for each topic and word of its likeliest, topic after topic, likeliest words first."""

from __future__ import annotations

import csv
from pathlib import Path

from topicmc.export.source import Source
from topicmc.topics.ranking import top

COLUMNS = ("topic", "share", "alpha", "rank", "word", "probability")
LABEL = "label"  # the last column, where topics have names


def write(source: Source, path: Path) -> None:
    """Writes the file."""
    topics = source.topics
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        labels = topics.labels
        writer.writerow([*COLUMNS, LABEL] if labels.names else COLUMNS)
        for k, words in enumerate(top(topics.phi, source.n_words())):
            facts = [labels.numbers[k], float(topics.share[k]), float(topics.alpha[k])]
            named = [labels.name(k) or ""] if labels.names else []
            for rank, w in enumerate(words, start=1):
                word = topics.vocabulary[w], float(topics.phi[k, w])
                writer.writerow([*facts, rank, *word, *named])
