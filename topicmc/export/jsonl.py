"""JSON Lines: a topic a line, with its likeliest words and their probabilities."""

from __future__ import annotations

import json
from pathlib import Path

from topicmc.export.source import Source
from topicmc.topics.ranking import top


def write(source: Source, path: Path) -> None:
    """Writes the file."""
    topics, n = source.topics, source.n_words()
    with path.open("w", encoding="utf-8") as stream:
        for k in range(len(topics.phi)):
            (likeliest,) = top(topics.phi[k : k + 1], n)
            record = {
                **topics.facts(k),
                "top_words": [topics.vocabulary[w] for w in likeliest],
                "probabilities": topics.phi[k, likeliest].tolist(),
            }
            if topics.labels.name(k) is not None:
                record["label"] = topics.labels.name(k)
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")
