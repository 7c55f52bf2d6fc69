"""The run directory: what a training run leaves behind and resumes from.

    run.json          format version, resolved configuration, versions, corpus fingerprint, and a
                      checksum of itself
    vocabulary.txt    word w is on line w + 1, so that topics can be read without the corpus
    metrics.jsonl     one object per evaluation
    samples/          kept posterior samples of θ, one .npy per chain and round, and an index
    checkpoint/       the newest state of every worker, with a manifest of checksums
    topics.json       the topics, written when training ends

Every file is written under a temporary name and renamed, so that stopping at any moment leaves the
previous one whole.
"""

from __future__ import annotations

import errno
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
    own_checksum,
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
        """A new run directory holding ``run.json``.  UsageError as `check_free` has it."""
        cls.check_free(path, force)
        run = cls(path)
        with speaking_of(run.path):
            run._clear()
            run.path.mkdir(parents=True, exist_ok=True)
            run._write_facts({"format": FORMAT, **facts})
            (run.path / "samples").mkdir()
            (run.path / "checkpoint").mkdir()
        run.write_sample_index([])
        return run

    @staticmethod
    def check_free(path: Path, force: bool = False) -> None:
        """UsageError where a new run must not be written: a file is there, something that is not a
        run, or, without ``force``, a run."""
        path = Path(path)
        if not path.exists():
            return
        if not path.is_dir():
            raise UsageError(f"{path}: is a file; give a directory that does not exist yet")
        if not any(path.iterdir()):
            return
        if not force:
            raise UsageError(
                f"{path}: exists already; add --resume to go on with it, --force to overwrite it,"
                " or give another -o"
            )
        if not (path / "run.json").is_file():
            raise UsageError(f"{path}: is not a run directory, so --force leaves it alone")

    @classmethod
    def open(cls, path: Path) -> RunDirectory:
        """An existing run.  DataError when there is none, it is damaged, or a newer version wrote
        it."""
        run = cls(path)
        if not (run.path / "run.json").is_file():
            raise DataError(f"{path}: no run here (run.json is missing); check the path")
        version = read_json(run.path / "run.json", format=int)["format"]
        if version != FORMAT:
            raise DataError(
                f"{run.path / 'run.json'}: written in format {version!r}, this topicmc reads"
                f" format {FORMAT}; use the topicmc version that made the run"
            )
        run.facts()
        return run

    def _clear(self) -> None:
        for name in ("samples", "checkpoint"):
            if (self.path / name).exists():
                shutil.rmtree(self.path / name)
        for name in ("metrics.jsonl", "topics.json", "vocabulary.txt", "run.json"):
            (self.path / name).unlink(missing_ok=True)

    def facts(self) -> dict[str, Any]:
        """The content of ``run.json``; DataError when it is damaged, or was changed by hand. Runs
        of earlier versions have no checksum there."""
        path = self.path / "run.json"
        facts = read_json(path, config=dict, corpus=dict)
        written = facts.pop("checksum", None)
        if written is not None and written != own_checksum(facts):
            raise DataError(
                f"{path}: changed or damaged, its checksum is wrong; restore it, and change"
                " settings by topicmc train --resume"
            )
        return facts

    def update_facts(self, **changes: Any) -> None:
        """Rewrites ``run.json`` with some values changed."""
        self._write_facts({**self.facts(), **changes})

    def _write_facts(self, facts: Mapping[str, Any]) -> None:
        write_json(self.path / "run.json", {**facts, "checksum": own_checksum(facts)})

    # ---- vocabulary

    def write_vocabulary(self, words: list[str]) -> str:
        """Writes ``vocabulary.txt`` and returns its checksum, which belongs into ``run.json``."""
        path = self.path / "vocabulary.txt"
        with replacing(path) as stream:
            stream.writelines(word + "\n" for word in words)
        return checksum(path)

    def vocabulary(self) -> list[str]:
        """The words in the order of θ's rows; DataError when the file is missing or damaged."""
        path = self.path / "vocabulary.txt"
        if not path.is_file() or checksum(path) != self.facts().get("vocabulary"):
            raise DataError(
                f"{path}: missing or damaged; copy vocabulary.txt from the corpus of the run"
            )
        return path.read_text(encoding="utf-8").split("\n")[:-1]

    # ---- metrics

    def append_metrics(self, record: Mapping[str, Any]) -> None:
        """Adds one line to ``metrics.jsonl`` in a single write."""
        line = (json.dumps(record) + "\n").encode()
        path = self.path / "metrics.jsonl"
        with speaking_of(path):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                if os.write(descriptor, line) < len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
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
        return read_json(self.path / "samples" / "index.json", samples=list)["samples"]

    def is_starting(self) -> bool:
        """Whether there is no posterior sample yet, only a state of the start."""
        return all(entry["burn_in"] for entry in self.sample_index())

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
            folder.mkdir(parents=True, exist_ok=True)
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
        if not path.exists():
            return None
        manifest = read_json(path, round=int, folder=str, files=dict)
        return Checkpoint(self.path / "checkpoint", manifest)


class Checkpoint:
    """A committed checkpoint: lazily read, every file checked against the manifest."""

    def __init__(self, folder: Path, manifest: Mapping[str, Any]) -> None:
        self.manifest = manifest
        self.folder = folder / manifest["folder"]

    def array(self, key: str, mmap: bool = False) -> np.ndarray:
        """One array, mapped if so wished; DataError when it is missing or damaged."""
        return read_array(self.folder / f"{key}.npy", self._expected(f"{key}.npy"), mmap)

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
