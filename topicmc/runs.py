"""The run directory: what a training run leaves behind and resumes from.

    run.json          format version, resolved configuration, versions, corpus fingerprint
    metrics.jsonl     one object per evaluation
    samples/          kept posterior samples of θ, one .npy per chain and round, and an index
    checkpoint/       the newest state of every worker, with a manifest of checksums
    topics.json       the topics, written when training ends

Every file is written under a temporary name and renamed, so that stopping at any moment leaves the
previous one whole.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from topicmc.errors import DataError, UsageError
from topicmc.files import (
    checksum,
    read_array,
    read_json,
    replacing,
    speaking_of,
    write_array,
    write_json,
)

FORMAT = 1


class RunDirectory:
    """A run on disk.  Open one with `create` or `open`."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path)

    # ---- creation and opening

    @classmethod
    def create(cls, path: Path, facts: Mapping[str, Any], force: bool = False) -> RunDirectory:
        """A new run directory holding ``run.json``.  UsageError when one is there and not force."""
        run = cls(path)
        if run.path.exists():
            if not run.path.is_dir():
                raise UsageError(f"{path}: is a file; give a directory that does not exist yet")
            if any(run.path.iterdir()):
                if not force:
                    raise UsageError(
                        f"{path}: exists already; add --resume to go on with it, --force to"
                        " overwrite it, or give another -o"
                    )
                if not (run.path / "run.json").is_file():
                    raise UsageError(f"{path}: is not a run directory, so --force leaves it alone")
                run._clear()
        with speaking_of(run.path):
            run.path.mkdir(parents=True, exist_ok=True)
            (run.path / "samples").mkdir(exist_ok=True)
            (run.path / "checkpoint").mkdir(exist_ok=True)
        write_json(run.path / "run.json", {"format": FORMAT, **facts})
        return run

    @classmethod
    def open(cls, path: Path) -> RunDirectory:
        """An existing run.  DataError when there is none or a newer version wrote it."""
        run = cls(path)
        if not (run.path / "run.json").is_file():
            raise DataError(f"{path}: no run here (run.json is missing); check the path")
        version = run.facts().get("format")
        if version != FORMAT:
            raise DataError(
                f"{run.path / 'run.json'}: written in format {version!r}, this topicmc reads"
                f" format {FORMAT}; use the topicmc version that made the run"
            )
        return run

    def _clear(self) -> None:
        for name in ("samples", "checkpoint"):
            shutil.rmtree(self.path / name, ignore_errors=True)
        for name in ("metrics.jsonl", "topics.json", "run.json"):
            (self.path / name).unlink(missing_ok=True)

    def facts(self) -> dict[str, Any]:
        """The content of ``run.json``."""
        return read_json(self.path / "run.json")

    def update_facts(self, **changes: Any) -> None:
        """Rewrites ``run.json`` with some values changed."""
        write_json(self.path / "run.json", {**self.facts(), **changes})

    # ---- metrics

    def append_metrics(self, record: Mapping[str, Any]) -> None:
        """Adds one line to ``metrics.jsonl`` in a single write."""
        line = (json.dumps(record) + "\n").encode()
        path = self.path / "metrics.jsonl"
        with speaking_of(path):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                os.write(descriptor, line)
            finally:
                os.close(descriptor)

    def metrics(self) -> list[dict[str, Any]]:
        """All metrics so far; a last line cut short by a crash is left out."""
        path = self.path / "metrics.jsonl"
        if not path.exists():
            return []
        records = []
        lines = path.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, start=1):
            try:
                records.append(json.loads(line))
            except ValueError:
                if number == len(lines):
                    break
                raise DataError(f"{path}, line {number}: not JSON; restore or remake it") from None
        return records

    def rewind_metrics(self, round_number: int) -> None:
        """Forgets metrics recorded after a round: a resumed run will record them again."""
        kept = [record for record in self.metrics() if record["round"] <= round_number]
        with replacing(self.path / "metrics.jsonl") as stream:
            stream.writelines(json.dumps(record) + "\n" for record in kept)

    # ---- posterior samples

    def sample_path(self, chain: int, round_number: int) -> Path:
        """Where the sample of a chain after a round lies."""
        return self.path / "samples" / f"chain-{chain:03d}-round-{round_number:09d}.npy"

    def keep_sample(self, chain: int, round_number: int, theta: np.ndarray) -> dict[str, Any]:
        """Writes one sample of θ (W × K float32) and returns its index entry."""
        path = self.sample_path(chain, round_number)
        return {
            "chain": chain,
            "round": round_number,
            "file": path.name,
            "checksum": write_array(path, theta),
        }

    def write_sample_index(self, entries: list[dict[str, Any]]) -> None:
        """Makes ``entries`` the kept samples, and deletes the files of all others."""
        entries = sorted(entries, key=lambda entry: (entry["round"], entry["chain"]))
        write_json(self.path / "samples" / "index.json", {"format": FORMAT, "samples": entries})
        kept = {entry["file"] for entry in entries}
        for path in (self.path / "samples").glob("chain-*.npy"):
            if path.name not in kept:
                path.unlink(missing_ok=True)

    def sample_index(self) -> list[dict[str, Any]]:
        """The index entries of the kept samples, oldest first."""
        path = self.path / "samples" / "index.json"
        return read_json(path)["samples"] if path.exists() else []

    def read_sample(self, entry: Mapping[str, Any]) -> np.ndarray:
        """θ of one index entry, W × K float32; DataError when missing or damaged."""
        return read_array(self.path / "samples" / entry["file"], entry["checksum"])

    # ---- checkpoints

    def checkpoint_folder(self, round_number: int) -> Path:
        """Where the files of the checkpoint of a round are written before it is committed."""
        return self.path / "checkpoint" / f"round-{round_number:09d}"

    def write_checkpoint_part(
        self, round_number: int, name: str, arrays: Mapping[str, np.ndarray], facts: Any
    ) -> dict[str, str]:
        """One process's part of a checkpoint; returns the checksums of its files by name."""
        folder = self.checkpoint_folder(round_number)
        with speaking_of(folder):
            folder.mkdir(exist_ok=True)
        checksums = {}
        for key, array in arrays.items():
            checksums[f"{key}.npy"] = write_array(folder / f"{key}.npy", array)
        write_json(folder / f"{name}.json", facts)
        checksums[f"{name}.json"] = checksum(folder / f"{name}.json")
        return checksums

    def commit_checkpoint(
        self, round_number: int, checksums: Mapping[str, str], facts: Mapping[str, Any]
    ) -> None:
        """Makes a written checkpoint the one to resume from, then deletes older ones."""
        folder = self.checkpoint_folder(round_number)
        write_json(
            self.path / "checkpoint" / "current.json",
            {
                "format": FORMAT,
                "round": round_number,
                "folder": folder.name,
                "files": dict(checksums),
                **facts,
            },
        )
        for other in (self.path / "checkpoint").glob("round-*"):
            if other.name != folder.name:
                shutil.rmtree(other, ignore_errors=True)

    def checkpoint(self) -> Checkpoint | None:
        """The checkpoint to resume from, or None when the run never wrote one."""
        path = self.path / "checkpoint" / "current.json"
        return Checkpoint(self.path / "checkpoint", read_json(path)) if path.exists() else None


class Checkpoint:
    """A committed checkpoint: lazily read, every file checked against the manifest."""

    def __init__(self, folder: Path, manifest: Mapping[str, Any]) -> None:
        self.manifest = manifest
        self.folder = folder / manifest["folder"]

    def array(self, key: str) -> np.ndarray:
        """One array; DataError when it is missing or damaged."""
        return read_array(self.folder / f"{key}.npy", self._expected(f"{key}.npy"))

    def facts(self, name: str) -> Any:
        """One part's JSON; DataError when it is missing or damaged."""
        path = self.folder / f"{name}.json"
        if not path.is_file() or checksum(path) != self._expected(path.name):
            raise DataError(f"{path}: missing or damaged; restore it, or start again with --force")
        return read_json(path)

    def parts(self) -> Iterator[str]:
        """Names of the JSON parts."""
        return (name.removesuffix(".json") for name in self.manifest["files"] if ".json" in name)

    def _expected(self, name: str) -> str:
        try:
            return self.manifest["files"][name]
        except KeyError:
            raise DataError(f"{self.folder}: the checkpoint has no {name}") from None
