"""Groups of a mixture as NumPy files: a folder with ``phi.npy`` (K × W float64, rows sum to 1),
``weights.npy`` (K float64, ω), ``groups.npy`` (D int32, of each training document) and
``vocabulary.txt``."""

from __future__ import annotations

from pathlib import Path

from topicmc.errors import UsageError
from topicmc.export.npy import write_vocabulary
from topicmc.export.places import check_free, staging
from topicmc.models.mixture.matching import central
from topicmc.models.mixture.run import MixtureRun
from topicmc.storage.files import save_array

FILES = ("phi.npy", "weights.npy", "groups.npy", "vocabulary.txt")


def write_groups(run: MixtureRun, format: str, path: Path, force: bool = False) -> list[Path]:
    """Writes the groups of `central`, whole or not at all, and returns the files written.

    Raises UsageError for a format that has no place for a mixture, or when something is at
    ``path`` that must not be replaced; DataError when the run is damaged, or the disk is full.
    """
    if format != "npy":
        raise UsageError(
            f"--to {format}: files of that format hold topics that documents mix, and {run.path} is"
            " a mixture, one group a document; use --to npy, or topicmc topics --json"
        )
    check_free(path, format, FILES, force)
    groups = central(run)
    phi = groups.phi / groups.phi.sum(axis=1, keepdims=True)
    with staging(path, is_folder=True) as folder:
        arrays = {"phi": phi, "weights": groups.weights, "groups": groups.groups}
        for name, array in arrays.items():
            with (folder / f"{name}.npy").open("wb") as stream:
                save_array(stream, array)
        write_vocabulary(folder / "vocabulary.txt", run.vocabulary())
    return [path / name for name in sorted(FILES)]
