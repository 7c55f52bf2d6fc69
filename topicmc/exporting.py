"""Topics of a run in files that other programs read."""

from __future__ import annotations

import csv
import json
from contextlib import suppress
from pathlib import Path

import numpy as np

from topicmc.errors import UsageError
from topicmc.files import replacing, save_array, speaking_of

FORMATS = ("npy", "csv", "jsonl")


def export_topics(
    phi: np.ndarray,
    alpha: np.ndarray,
    share: np.ndarray,
    vocabulary: list[str],
    path: Path,
    format: str,
    force: bool = False,
) -> list[Path]:
    """Writes topics and returns the files written.

    ``npy``: a folder with ``phi.npy`` (K × W float64, rows sum to 1), ``alpha.npy`` (K) and
    ``vocabulary.txt``. ``csv``: one row for each topic and word, likeliest words first. ``jsonl``:
    one topic a line with the probabilities of all words in vocabulary order.
    """
    writers = {"npy": _npy, "csv": _csv, "jsonl": _jsonl}
    if format not in writers:
        raise UsageError(f"--to {format!r} is not one of {', '.join(FORMATS)}")
    is_folder = format == "npy"
    if path.exists() and path.is_dir() != is_folder:
        kinds = ("a file", "a folder") if is_folder else ("a folder", "a file")
        raise UsageError(f"{path}: is {kinds[0]}, and --to {format} writes {kinds[1]}; change -o")
    occupied = path.exists() and (path.is_file() or any(path.iterdir()))
    if occupied and not force:
        raise UsageError(f"{path}: exists already; add --force to overwrite it, or give another -o")
    folder = path if is_folder else path.parent
    is_new = not folder.exists()
    with speaking_of(path):
        folder.mkdir(parents=True, exist_ok=True)
    try:
        return writers[format](phi, alpha, share, vocabulary, path)
    except BaseException:
        if is_new:
            with suppress(OSError):
                folder.rmdir()
        raise


def _npy(phi, alpha, share, vocabulary, folder: Path) -> list[Path]:
    paths = [folder / name for name in ("phi.npy", "alpha.npy", "vocabulary.txt")]
    with replacing(paths[0], "wb") as first, replacing(paths[1], "wb") as second:
        save_array(first, phi)
        save_array(second, alpha)
        with replacing(paths[2]) as third:
            third.writelines(word + "\n" for word in vocabulary)
        first.flush()
        second.flush()
    return paths


def _csv(phi, alpha, share, vocabulary, path: Path) -> list[Path]:
    with replacing(path) as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["topic", "share", "alpha", "rank", "word", "probability"])
        for k, row in enumerate(phi):
            facts = [k, float(share[k]), float(alpha[k])]
            for rank, w in enumerate(np.argsort(-row, kind="stable"), start=1):
                writer.writerow([*facts, rank, vocabulary[w], float(row[w])])
    return [path]


def _jsonl(phi, alpha, share, vocabulary, path: Path) -> list[Path]:
    with replacing(path) as stream:
        for k, row in enumerate(phi):
            top = np.argsort(-row, kind="stable")[:20]
            record = {
                "topic": k,
                "share": float(share[k]),
                "alpha": float(alpha[k]),
                "top_words": [vocabulary[w] for w in top],
                "probabilities": row.tolist(),
            }
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")
    return [path]
