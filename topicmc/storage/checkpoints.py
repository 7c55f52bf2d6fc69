"""The checkpoints of a run: the newest, and the one before it in case that is damaged some day.

    current.json      the manifest of the newest: its folder, checksums of all its files, totals
    previous.json     that of the one before
    round-000000012/  the files of one; samples.json among them is the index of samples as it was

A checkpoint counts once its manifest has been renamed into place, when every file of it has been
synced and read back. Only then are those before these two deleted. What a killed process has left
of an unfinished one is deleted when the run goes on.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from topicmc.errors import DataError
from topicmc.settings.values import MAX_WORKERS
from topicmc.storage.arrays import read_array, write_array
from topicmc.storage.fields import SHA256, Record
from topicmc.storage.files import (
    checksum,
    own_checksum,
    read_back,
    read_json,
    sync_folder,
    user_errors_for,
    within,
    write_json,
)

FORMAT = 2  # of a manifest
CURRENT, PREVIOUS = "current.json", "previous.json"
INDEX = "samples"  # what is no process's part of a checkpoint, but the index of samples
_FILE = r"[a-z0-9]+(-[a-z0-9]+)*\.(npy|json)"


class Checkpoint:
    """A committed checkpoint: lazily read, every file checked against the manifest."""

    def __init__(self, root: Path, manifest: Mapping[str, Any]) -> None:
        self.manifest = manifest
        self.folder = root / manifest["folder"]

    def array(self, key: str, mmap: bool = False) -> np.ndarray:
        """One array, mapped if so wished; DataError when it is missing or damaged."""
        name = f"{key}.npy"
        return read_array(within(self.folder.parent, self.folder / name), self._sum(name), mmap)

    def length(self, key: str) -> int:
        """Of one array along its first axis, by its header alone; DataError when it is missing or
        no array."""
        path = within(self.folder.parent, self.folder / f"{key}.npy")
        return len(read_array(path, mmap=True))

    def facts(self, name: str) -> Any:
        """One part's JSON; DataError when it is missing or damaged."""
        path = within(self.folder.parent, self.folder / f"{name}.json")
        self._check(path)
        return read_json(path)

    def parts(self) -> Iterator[str]:
        """Names of the JSON parts of the processes."""
        names = (name.removesuffix(".json") for name in self.manifest["files"] if ".json" in name)
        return (name for name in names if name != INDEX)

    def layout(self) -> dict[str, Any]:
        """The settings of the job that wrote it that `DsgldSettings.layout` names; nothing where an
        earlier version did. DataError when they are none."""
        if "layout" not in self.manifest:
            return {}
        layout = Record(self.folder.parent / CURRENT, self.manifest).record("layout")
        names = ("workers", "chains", "groups")
        told = {name: layout.whole(name, least=1, most=MAX_WORKERS) for name in names}
        return {**told, "average_until": layout.whole("average_until")}

    def verify(self) -> None:
        """Reads every file, some at the same time; DataError names one that is missing or
        damaged."""
        root = self.folder.parent
        places = [within(root, self.folder / name) for name in self.manifest["files"]]
        with ThreadPoolExecutor() as pool:
            for _ in pool.map(self._check, places):
                pass

    def _check(self, path: Path) -> None:
        if checksum(path) != self._sum(path.name):
            raise DataError(f"{path}: damaged; restore it, or start again with --force")

    def _sum(self, name: str) -> str:
        return self.manifest["files"][name]


@contextmanager
def believed(checkpoint: Checkpoint) -> Iterator[None]:
    """A block that takes over the state of a checkpoint: what is not even a state of its run, in
    spite of checksums that fit, is a DataError."""
    from numba.core.errors import NumbaError

    try:
        yield
    except (
        LookupError, ValueError, TypeError, AttributeError, OverflowError, StopIteration, NumbaError
    ) as error:  # fmt: skip
        what = f"{type(error).__name__}: {error}".splitlines()[0]
        raise DataError(
            f"{checkpoint.folder}: holds no state of this run ({what}); start again with --force"
        ) from error


def folder_of(root: Path, round_number: int) -> Path:
    """Where the files of the checkpoint of a round are."""
    return root / f"round-{round_number:09d}"


def write_part(
    folder: Path, name: str, arrays: Mapping[str, np.ndarray], facts: Any
) -> dict[str, str]:
    """One process's part of a checkpoint; returns the checksums of its files by name. Then the
    disk has them: they have been read back. DataError when it has something else."""
    with user_errors_for(folder):
        folder.mkdir(parents=True, exist_ok=True)
    checksums = {}
    for key, array in arrays.items():
        checksums[f"{key}.npy"] = write_array(folder / f"{key}.npy", array)
    write_json(folder / f"{name}.json", facts, indent=None)  # there may be millions of numbers
    checksums[f"{name}.json"] = checksum(folder / f"{name}.json")
    for file, digest in checksums.items():
        read_back(folder / file, digest)
    return checksums


def commit(
    root: Path, round_number: int, checksums: Mapping[str, str], facts: Mapping[str, Any]
) -> None:
    """Makes a written checkpoint the newest, keeps the one before, deletes older ones."""
    folder = folder_of(root, round_number)
    with user_errors_for(root):
        sync_folder(root)
    before = _sound_manifest(root / CURRENT)
    if before is not None and before["folder"] != folder.name:
        write_json(root / PREVIOUS, before)
    files = {"round": round_number, "folder": folder.name, "files": dict(checksums)}
    manifest = {"format": FORMAT, **files, **facts}
    write_json(root / CURRENT, {**manifest, "checksum": own_checksum(manifest)})
    _delete_others(root)


def _delete_others(root: Path) -> None:
    """Deletes what is neither in the newest checkpoint nor in the one before it; DataError when the
    manifest of the newest is damaged."""
    manifests = _manifest(root / CURRENT), _sound_manifest(root / PREVIOUS)
    kept = {manifest["folder"] for manifest in manifests if manifest is not None}
    for folder in root.glob("round-*"):
        if folder.name not in kept:
            shutil.rmtree(folder, ignore_errors=True)


def newest(root: Path) -> Checkpoint | None:
    """The checkpoint to resume from, or None when none was ever written."""
    manifest = _manifest(root / CURRENT)
    return None if manifest is None else Checkpoint(root, manifest)


def both(root: Path) -> list[Checkpoint]:
    """The newest checkpoint and the one before it, as far as there are; DataError when a manifest
    is damaged, or cannot be read now."""
    manifests = [_manifest(root / name) for name in (CURRENT, PREVIOUS)]
    return [Checkpoint(root, manifest) for manifest in manifests if manifest is not None]


def recover(root: Path) -> str | None:
    """Reads the newest checkpoint; where it is damaged and the one before is sound, that becomes
    the newest. Deletes what is in neither. Returns a sentence that says so, or None. DataError when
    neither is sound."""
    notice = _fall_back(root)
    _delete_others(root)
    return notice


def _fall_back(root: Path) -> str | None:
    try:
        current = newest(root)
        if current is not None:
            current.verify()
            return None
        damage = DataError(f"{root / CURRENT}: no such file")
    except DataError as error:
        damage = error
    if not (root / PREVIOUS).exists():
        if (root / CURRENT).exists():
            raise damage
        return None
    try:
        manifest = _manifest(root / PREVIOUS)
        assert manifest is not None
        Checkpoint(root, manifest).verify()
    except DataError:
        raise damage from None
    write_json(root / CURRENT, manifest)
    what = str(damage).partition(";")[0]
    return (
        f"{what}; the run goes on from the checkpoint before it, of round {manifest['round']:,},"
        " which is sound"
    )


def _manifest(path: Path) -> dict[str, Any] | None:
    """A manifest whose fields can be true; None when there is none."""
    if not path.exists():
        return None
    manifest = Record(path, read_json(within(path.parent, path)))
    written = manifest.value.get("checksum")  # earlier versions have none
    if written is not None and written != own_checksum(manifest.value):
        raise DataError(f"{path}: changed or damaged, its checksum is wrong; restore it")
    number = manifest.whole("round", most=10**12)
    manifest.text("folder", folder_of(Path(), number).name)
    manifest.record("files").texts(_FILE, SHA256)
    for name in {"documents", "tokens", "ratings", "states_scored"} & manifest.value.keys():
        manifest.whole(name)
    for name in {"seconds", "evaluating"} & manifest.value.keys():
        manifest.number(name, least=0)
    if "record" in manifest:
        record = manifest.record("record")
        for name in {"round", "update"} & record.value.keys():
            record.whole(name)
        if "seconds" in record:
            record.number("seconds", least=0)
    return manifest.value


def _sound_manifest(path: Path) -> dict[str, Any] | None:
    """None also where it is damaged: of no use, and no reason not to write another."""
    try:
        return _manifest(path)
    except DataError:
        return None
