"""CSV of what groups of documents have of each topic: a row for each topic and group."""

from __future__ import annotations

import csv
from pathlib import Path

from topicmc.storage.files import new_file
from topicmc.topics.effects import Effects, rows_of
from topicmc.topics.uncertainty import Posterior


def write_effects(effects: Effects, posterior: Posterior, path: Path, force: bool = False) -> None:
    """Writes the file; what cannot be told is left blank. UsageError where, without ``force``, a
    file is there."""
    labels = posterior.labels
    with new_file(path, force=force) as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["topic", "label", *rows_of(effects, 0)[0]])
        for k, number in enumerate(labels.numbers):
            for row in rows_of(effects, k):
                writer.writerow([number, labels.name(k) or "", *row.values()])
