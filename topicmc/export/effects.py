"""CSV of what groups of documents have of each topic: a row for each topic and group."""

from __future__ import annotations

import csv
from pathlib import Path

from topicmc.storage.files import atomic_write, user_errors_for
from topicmc.topics.effects import Effects, rows_of
from topicmc.topics.uncertainty import Posterior


def write_effects(effects: Effects, posterior: Posterior, path: Path) -> None:
    """Writes the file; what cannot be told is left blank."""
    labels = posterior.labels
    with user_errors_for(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["topic", "label", *rows_of(effects, 0)[0]])
        for k, number in enumerate(labels.numbers):
            for row in rows_of(effects, k):
                writer.writerow([number, labels.name(k) or "", *row.values()])
