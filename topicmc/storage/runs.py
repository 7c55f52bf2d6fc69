"""The run directory: what a training run leaves behind and resumes from.

    run.json          format version, resolved configuration, versions, corpus fingerprint, and a
                      checksum of itself
    metrics.jsonl     one object per evaluation
    trace.jsonl       one object per recorded position: label-free scalars of every chain's state
    samples/          kept states of each chain, one .npz per chain and round, and an index
    checkpoint/       the state of every worker, the newest and the one before, each with a
                      manifest of checksums
    lease.json        who is writing here, while somebody is (`topicmc.storage.lease`)

Every file is written under a temporary name, synced and renamed, so that stopping at any moment
leaves the previous one whole. ``run.json`` is written last: without it there is no run. What a run
of one model has besides, and what its states are, is in the folder of that model.
"""

from __future__ import annotations

import json
import math
import platform
import shlex
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from topicmc.errors import DataError, UsageError
from topicmc.host.version import VERSION
from topicmc.storage import checkpoints, lines
from topicmc.storage.arrays import write_arrays
from topicmc.storage.checkpoints import Checkpoint
from topicmc.storage.files import (
    JsonObject,
    atomic_write,
    check_no_source,
    own_checksum,
    read_json,
    real_path,
    sync_file,
    sync_folder,
    user_errors_for,
    within,
    write_json,
)
from topicmc.storage.lease import NAME as LEASE
from topicmc.storage.lease import Lease, is_of_lease
from topicmc.storage.run_fields import check_facts, check_line, check_samples

# Of run.json; raised when an older version would misread a run. See also
# `topicmc.models.lda.run.PRIOR_FORMAT`.
FORMAT = 2
READS = 1, 2, 3  # formats; `topicmc.models.lda.formats` says what the first one meant
INDEX_FORMAT = 2  # of samples/index.json
FIRST_MODEL = "lda"  # of runs that name none
OUTLIVES = 2.0  # seconds by which a file of a sample outlives its entry in the index, in training


def made_by(*packages: str) -> dict[str, Any]:
    """What is kept of the program that makes a run: its version, the date, and the versions of
    Python and of the packages that results depend on."""
    return {
        "topicmc": VERSION,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "numba", *packages)},
        },
    }


def files_of(entries: Iterable[Mapping[str, Any]]) -> list[str]:
    """The files that index entries name: of each its state, and with the newest of a chain its
    mean, if it keeps one."""
    both = [part for entry in entries for part in (entry, entry.get("mean"))]
    return [part["file"] for part in both if part is not None]


def by_chain(entries: Iterable[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The index entries of each chain."""
    chains: dict[int, list[dict[str, Any]]] = {}
    for entry in entries:
        chains.setdefault(entry["chain"], []).append(entry)
    return list(chains.values())


def of_each_chain(
    entries: Sequence[dict[str, Any]],
    choose: Callable[[list[dict[str, Any]]], Iterable[dict[str, Any]]],
) -> list[dict[str, Any]]:
    """The index entries that are chosen of those of their chain, in their order."""
    chosen = {id(entry) for own in by_chain(entries) for entry in choose(own)}
    return [entry for entry in entries if id(entry) in chosen]


class RunDirectory:
    """A run on disk.  `open` opens one; what makes one is the ``create`` of its model."""

    model: ClassVar[str | None] = None
    """The model whose runs these are, as ``run.json`` names it; None: any."""
    command: ClassVar[str] = "topicmc"
    """What trains and reads runs of that model."""
    counted: ClassVar[tuple[str, ...]] = ()
    """What its metrics count of the data."""
    figure: ClassVar[str] = ""
    """What its metrics call the score on held-out data."""
    precision: ClassVar[str] = ""
    """The format in which people read that score."""
    files: ClassVar[tuple[str, ...]] = ("run.json", "metrics.jsonl", "trace.jsonl")
    """Names of its files; some are patterns."""
    folders: ClassVar[tuple[str, ...]] = ("samples", "checkpoint")

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self.lease: Lease | None = None  # of the process that writes here
        self.notices: list[str] = []  # sentences about what was found, for who resumes
        self._dropped: dict[str, float] = {}  # files of samples, and since when no index names them
        self._named: dict[str, set[str]] = {}  # those that checkpoints name, by index checksum
        self._texts: dict[str, tuple[Any, str]] = {}  # index entries by their files, and as JSON

    # ---- creation and opening

    @classmethod
    @contextmanager
    def _made(cls, path: Path, force: bool) -> Iterator[Self]:
        """A new run directory, which the block gives what its model has besides, and last its
        ``run.json``. If it cannot, nothing of the run is left. Raises as `check_free` does."""
        cls.check_free(path, force)
        run = cls(path)
        try:
            with user_errors_for(run.path):
                run._clear()
                run.path.mkdir(parents=True, exist_ok=True)
                for name in cls.folders:
                    (run.path / name).mkdir()
                sync_folder(run.path.parent)
            run.write_sample_index([])
            yield run
        except BaseException:
            with suppress(OSError):
                run._clear()
            raise

    @classmethod
    def last_had(cls, path: Path) -> tuple[int | None, str]:
        """How many workers the run in a directory last had, and how they talked; None and auto
        where nothing says so."""
        if not (Path(path) / "run.json").is_file():
            return None, "auto"
        facts = cls.open(path).facts()
        return facts["config"].get("workers"), facts.get("transport", "auto")

    @classmethod
    def check_free(cls, path: Path, force: bool = False) -> None:
        """UsageError where a new run must not be written: a file is there, something that is not a
        run, one of another model, or, without ``force``, a run. One that was killed while it was
        being made left its lease behind, or a draft of it, and no ``run.json``: that place is
        free."""
        path = Path(path)
        if not path.exists():
            return
        if not path.is_dir():
            raise UsageError(f"{path}: is a file; give a directory that does not exist yet")
        is_run = (path / "run.json").is_file()
        names = [child.name for child in path.iterdir()]
        if not is_run and (LEASE in names or all(map(is_of_lease, names))):
            return
        if not is_run:
            raise UsageError(f"{path}: exists and is not a run; give another path")
        if not force:
            raise UsageError(
                f"{path}: exists already; add --resume to go on with it, --force to overwrite it,"
                " or give another -o"
            )
        with suppress(DataError):  # what is damaged may be replaced
            model = read_json(path / "run.json", config=dict).get("model", FIRST_MODEL)
            if cls.model not in (None, model):
                raise UsageError(
                    f"{path}: is a run of the model {model!r}, which is not replaced; give another"
                    " path"
                )

    @classmethod
    def open(cls, path: Path) -> Self:
        """An existing run.  DataError when there is none, it is damaged, a newer version wrote it,
        or it is of another model."""
        run = cls(path)
        if not (run.path / "run.json").is_file():
            raise DataError(f"{path}: no run here (run.json is missing); check the path")
        for child in sorted(run.path.iterdir()):
            if child.name != "corpus":  # which is only read, and may lie anywhere
                within(run.path, child)
        version = read_json(run.path / "run.json", format=int)["format"]
        if version not in READS:
            raise DataError(
                f"{run.path / 'run.json'}: written in format {version!r}, this topicmc reads"
                f" formats {READS[0]} to {READS[-1]}; use the topicmc version that made the run"
            )
        run._adopt(run.facts())
        return run

    def check_no_part(self, path: Path, corpus: Path | None = None) -> None:
        """UsageError where an output would take the place of a file of the run, or lie among its
        samples and checkpoints, or in its corpus: where that was, or ``corpus``. A run that lies in
        its corpus may have outputs beside its files, too."""
        places = [self.path / name for name in (*self.folders, LEASE)]
        known = self.facts().get("corpus", {}).get("path")
        corpora = [self.path / known] if known else []
        corpora += [] if corpus is None else [Path(corpus)]
        own = real_path(self.path)
        if real_path(path).is_relative_to(own):
            corpora = [place for place in corpora if not own.is_relative_to(real_path(place))]
        check_no_source(path, [*self._places_of_files(), *places, *corpora])

    def _adopt(self, facts: Mapping[str, Any]) -> None:
        """Takes note of what is in ``run.json``; DataError when readers need more."""

    @property
    def resume_command(self) -> str:
        """What to type to go on with it; where its corpus is gone, or nobody may look, CORPUS
        stands for the new place of it."""
        corpus, named = self.facts().get("corpus", {}).get("path", ""), "CORPUS "
        with suppress(OSError):  # where nobody may look
            if (self.path / corpus).exists():
                named = ""
        return f"{self.command} train {named}-o {shlex.quote(str(self.path))} --resume"

    @classmethod
    def at(cls, run: Self | Path | str) -> Self:
        """A run itself, or the one at a path, opened."""
        return run if isinstance(run, cls) else cls.open(Path(run))  # type: ignore[arg-type]

    def _places_of_files(self) -> list[Path]:
        """Where its files lie, or would lie."""
        return [
            path
            for name in self.files
            for path in (self.path.glob(name) if "*" in name else [self.path / name])
        ]

    def _clear(self) -> None:
        for path in self._places_of_files():
            path.unlink(missing_ok=True)
        for name in self.folders:
            if (self.path / name).exists():
                shutil.rmtree(self.path / name)
        self.remove_temporaries()

    @classmethod
    def drafts(cls) -> tuple[str, ...]:
        """Patterns of what writers of its files leave that are killed."""
        return tuple(f".{name}.*.tmp" for name in cls.files)

    def remove_temporaries(self) -> None:
        """Deletes what writers of this run that were killed have left. What other commands are
        writing in its folder stays."""
        left = [path for pattern in self.drafts() for path in self.path.glob(pattern)]
        left += [path for name in self.folders for path in (self.path / name).rglob(".*.tmp")]
        for path in left:
            if not path.is_dir():
                path.unlink(missing_ok=True)

    def facts(self) -> dict[str, Any]:
        """The content of ``run.json``; DataError when it is damaged, or was changed by hand. Runs
        of earlier versions have no checksum there."""
        path = self.path / "run.json"
        facts = read_json(path, config=dict)
        written = facts.pop("checksum", None)
        if written is not None and written != own_checksum(facts):
            raise DataError(
                f"{path}: changed or damaged, its checksum is wrong; restore it, and change"
                f" settings by {self.command} train --resume"
            )
        model = facts.get("model", FIRST_MODEL)
        if self.model not in (None, model):
            raise DataError(
                f"{self.path}: is a run of the model {model!r}, which other commands read; see"
                " topicmc --help"
            )
        self._check_facts(path, facts)
        return facts

    def _check_facts(self, path: Path, facts: Any) -> None:
        check_facts(path, facts)

    def update_facts(self, **changes: Any) -> None:
        """Rewrites ``run.json`` with some values changed."""
        self._write_facts({**self.facts(), **changes})

    def _write_facts(self, facts: Mapping[str, Any]) -> None:
        named = {} if self.model in (None, FIRST_MODEL) else {"model": self.model}
        facts = {"format": FORMAT, **named, **facts}
        write_json(self.path / "run.json", {**facts, "checksum": own_checksum(facts)})

    # ---- metrics and trace

    def append_metrics(self, record: Mapping[str, Any]) -> None:
        """Adds one line to ``metrics.jsonl`` in a single write."""
        self._append_line("metrics.jsonl", record)

    def metrics(self) -> list[dict[str, Any]]:
        """All metrics so far; a last line cut short by a crash is left out."""
        path = self.path / "metrics.jsonl"
        return [JsonObject.of(path, record) for record in self._lines(path.name)]

    def rewind_metrics(self, round_number: int) -> None:
        """Forgets metrics recorded after a round: a resumed run will record them again."""
        self._rewind_lines("metrics.jsonl", round=round_number)

    def append_trace(self, record: Mapping[str, Any]) -> None:
        """Adds one line to ``trace.jsonl`` in a single write: a ``position``, and under ``chains``
        the scalars of each chain by name, which do not depend on how topics are numbered."""
        self._append_line("trace.jsonl", record)

    def trace(self) -> list[dict[str, Any]]:
        """The trace so far; a last line cut short by a crash is left out. Runs of earlier versions
        have none."""
        return self._lines("trace.jsonl")

    def rewind_trace(self, position: int, round_number: int) -> None:
        """Forgets what was recorded after a position, or after a round where that is known: a
        resumed run will record it again."""
        self._rewind_lines("trace.jsonl", position=position, round=round_number)

    def _append_line(self, name: str, record: Mapping[str, Any]) -> None:
        path = self.path / name
        with user_errors_for(path):
            self.check_lease()
        lines.append(path, record)

    def _lines(self, name: str) -> list[dict[str, Any]]:
        return lines.read(self.path / name, self._check_line)

    def _check_line(self, path: Path, number: int, record: Any) -> None:
        check_line(path, number, record, self.counted, self.figure)

    def _rewind_lines(self, name: str, **last: int) -> None:
        notice = lines.rewind(self.path / name, self._check_line, **last)
        if notice is not None:
            self.notices.append(notice)

    # ---- posterior samples

    def write_sample(
        self, chain: int, round_number: int, arrays: Mapping[str, np.ndarray]
    ) -> dict[str, Any]:
        """Writes one state as plain arrays and returns its index entry."""
        name = f"chain-{chain:03d}-round-{round_number:09d}.npz"
        checksum = write_arrays(self.path / "samples" / name, arrays)
        return {"chain": chain, "round": round_number, "file": name, "checksum": checksum}

    def write_sample_index(
        self, entries: list[dict[str, Any]], dropped: Iterable[str] = ()
    ) -> None:
        """Makes ``entries`` the kept samples. The files named ``dropped`` that these do not name
        are deleted by `delete_dropped`, or by the first call that comes `OUTLIVES` seconds later:
        until then who has read the index before may open them. Other files may be another
        process's, about to be entered."""
        self.check_lease()
        entries = sorted(entries, key=lambda entry: (entry["round"], entry["chain"]))
        texts = self._as_json(entries)
        with atomic_write(self.path / "samples" / "index.json") as stream:
            stream.write(f'{{"format": {INDEX_FORMAT}, "samples": [\n')
            stream.writelines(text if i == 0 else f",\n{text}" for i, text in enumerate(texts))
            stream.write("\n]}\n")
        named, now = set(files_of(entries)), time.monotonic()
        known = dict.fromkeys(dropped, now) | self._dropped
        self._dropped = {name: since for name, since in known.items() if name not in named}
        self.delete_dropped(now - OUTLIVES)

    def _as_json(self, entries: Iterable[Mapping[str, Any]]) -> list[str]:
        """Index entries as JSON. Those that stay from one index to the next become text once: of
        many topics an entry holds many numbers."""
        known, self._texts, texts = self._texts, {}, []
        for entry in entries:
            before, text = known.get(entry["file"], (None, ""))
            if before != entry:
                text = json.dumps(entry, ensure_ascii=False)
            self._texts[entry["file"]] = dict(entry), text
            texts.append(text)
        return texts

    def delete_dropped(self, until: float = math.inf) -> None:
        """Deletes the files that indices no longer name, if they were dropped ``until`` a time of
        the monotonic clock, in seconds. None of those is deleted that a checkpoint names: a run may
        go back to it."""
        late = {name for name, since in self._dropped.items() if since <= until}
        with suppress(DataError):  # nobody knows what a damaged one names
            for name in late - self._of_checkpoints() if late else ():
                (self.path / "samples" / name).unlink(missing_ok=True)
                del self._dropped[name]

    def _of_checkpoints(self) -> set[str]:
        """The files of samples that the two checkpoints name; each index is read once."""
        indices = {
            saved.manifest["files"].get(f"{checkpoints.INDEX}.json", ""): saved
            for saved in checkpoints.both(self._checkpoints)
        }
        self._named = {
            digest: self._named.get(digest) or set(files_of(self.samples_of(saved) or ()))
            for digest, saved in indices.items()
        }
        return set().union(*self._named.values())

    def sample_files(self) -> list[str]:
        """Names of all files of samples, in the index or not."""
        return [path.name for path in (self.path / "samples").glob("chain-*.np[yz]")]

    def sample_index(self) -> list[dict[str, Any]]:
        """The index entries of the kept samples, oldest first."""
        path = within(self.path, self.path / "samples" / "index.json")
        index = read_json(path, samples=list)
        check_samples(path, index)
        return self._entries(path, index)

    def _entries(self, path: Path, index: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The entries of an index, checked for what the model says of its states."""
        return index["samples"]

    def states_to_read(self) -> list[dict[str, Any]]:
        """Index entries of the samples, oldest first; DataError when there are none yet."""
        entries = self.sample_index()
        if not entries:
            told = f"no samples yet; continue training ({self.resume_command})"
            raise DataError(f"{self.path}: {told}")
        return entries

    def is_starting(self) -> bool:
        """Whether there is no posterior sample yet, but a state of the start."""
        index = self.sample_index()
        return bool(index) and all(entry["burn_in"] for entry in index)

    def place_of_sample(self, entry: Mapping[str, Any]) -> Path:
        """The file of an index entry; DataError when it leads out of the run, or is gone since the
        index was read, as the run trains."""
        name = entry["file"]
        path = within(self.path, self.path / "samples" / name)
        if not path.exists() and name not in files_of(self.sample_index()):
            raise DataError(
                f"{self.path}: has trained on since its samples were listed, and no longer keeps"
                f" {name}; try again now, or when training has ended"
            )
        return path

    # ---- checkpoints (`topicmc.storage.checkpoints`)

    @property
    def _checkpoints(self) -> Path:
        return self.path / "checkpoint"

    def write_checkpoint_part(
        self, round_number: int, name: str, arrays: Mapping[str, np.ndarray], facts: Any
    ) -> dict[str, str]:
        """One process's part of a checkpoint, on the disk when this returns; the checksums of its
        files by name."""
        folder = checkpoints.folder_of(self._checkpoints, round_number)
        return checkpoints.write_part(folder, name, arrays, facts)

    def check_lease(self) -> None:
        """TopicmcError when another process has taken the lease of this one."""
        if self.lease is not None:
            self.lease.check()

    def commit_checkpoint(
        self, round_number: int, checksums: Mapping[str, str], facts: Mapping[str, Any]
    ) -> None:
        """Makes a written checkpoint the one to resume from, when the disk has all lines of before.
        Errors as of `check_lease`."""
        self.check_lease()
        self._sync_lines()
        checkpoints.commit(self._checkpoints, round_number, checksums, facts)

    def _sync_lines(self) -> None:
        """Has the disk keep the lines of metrics and trace so far."""
        with user_errors_for(self.path):
            for path in (self.path / "metrics.jsonl", self.path / "trace.jsonl"):
                if path.exists():
                    sync_file(path)
            sync_folder(self.path)

    def checkpoint(self) -> Checkpoint | None:
        """The checkpoint to resume from, or None when the run never wrote one."""
        return checkpoints.newest(self._checkpoints)

    def samples_of(self, checkpoint: Checkpoint) -> list[dict[str, Any]] | None:
        """The index entries as they were when a checkpoint was written; None where an earlier
        version wrote it. DataError when they are damaged."""
        path = checkpoint.folder / f"{checkpoints.INDEX}.json"
        if path.name not in checkpoint.manifest["files"]:
            return None
        index = checkpoint.facts(checkpoints.INDEX)
        check_samples(path, index)
        return self._entries(path, index)

    def recover(self) -> None:
        """Falls back to the checkpoint before the newest, if that is damaged; ``notices`` say so.
        What an unfinished checkpoint left is deleted, so the caller holds the lease. DataError when
        both are damaged."""
        notice = checkpoints.recover(self._checkpoints)
        self.notices = [] if notice is None else [notice]
