"""CSV: a row for each topic and word of its likeliest, topic after topic, likeliest words first."""

from __future__ import annotations

import csv
from pathlib import Path

from topicmc.export.source import Source
from topicmc.topics.ranking import top

WORD = ("rank", "word", "probability")  # after the facts of the topic
LABEL = "label"  # the last column, where topics have names


def write(source: Source, path: Path) -> None:
    """Writes the file."""
    topics, n = source.topics, source.n_words()
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        labels = topics.labels
        last = [LABEL] if labels.names else []
        writer.writerow([*topics.facts(0), *WORD, *last])
        for k in range(len(topics.phi)):
            (words,) = top(topics.phi[k : k + 1], n)
            facts = topics.facts(k).values()
            named = [labels.name(k) or ""] if labels.names else []
            for rank, w in enumerate(words, start=1):
                word = topics.vocabulary[w], float(topics.phi[k, w])
                writer.writerow([*facts, rank, *word, *named])
