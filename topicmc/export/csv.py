"""CSV: a row for each topic and word, topic after topic, likeliest words first."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from topicmc.export.source import Source

COLUMNS = ("topic", "share", "alpha", "rank", "word", "probability")


def write(source: Source, path: Path) -> None:
    """Writes the file."""
    topics = source.topics
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(COLUMNS)
        for k, row in enumerate(topics.phi):
            facts = [k, float(topics.share[k]), float(topics.alpha[k])]
            for rank, w in enumerate(np.argsort(-row, kind="stable"), start=1):
                writer.writerow([*facts, rank, topics.vocabulary[w], float(row[w])])
