"""What a process may use of its machine: cores and memory, shared with others of the same job. And
what any process of the program takes of that memory, whatever it trains."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

PROGRAM = 88_000_000
"""Bytes of a process: Python, the libraries, the compiled kernels, and what the allocator keeps."""
MPI = 8_000_000
"""More of a process among several."""
COMPILING = 75_000_000
"""More while kernels are compiled, once after installation."""
_MEMBERSHIP, _MOUNT = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


class _Names(NamedTuple):
    """What a version of control groups calls its files, and fields of ``memory.stat``."""

    limit: str
    used: str
    spare: tuple[str, ...]


_VERSION_1 = _Names(
    "memory.limit_in_bytes", "memory.usage_in_bytes", ("total_inactive_file", "total_active_file")
)
_VERSION_2 = _Names("memory.max", "memory.current", ("inactive_file", "active_file"))


class Processes(Protocol):
    """What is asked of a transport by those who know no other part of one."""

    rank: int
    is_root: bool

    def exchange(self, obj: Any) -> list[Any]:
        """One JSON-able object per process, on every process."""


@dataclass(frozen=True)
class Share:
    """What one process of a job has for itself.

    Attributes:
        cores: the cores that it may run on, shared out among those that run on the same ones.
        processes: how many share its memory: those of the machine, or, where a control group allows
            less, those of that group.
        least_cores: the cores of the process that has fewest.
        least_memory: bytes of memory of the one that has least, None where no system says. The
            least are the same on every process, so that all can decide alike.
    """

    cores: int
    processes: int
    least_cores: int
    least_memory: int | None


def share(transport: Processes) -> Share:
    """What this process has; collective, for the launcher may not say who is where."""
    everyone = transport.exchange([boot() or platform.node(), sorted(usable_cores()), *_memory()])
    shares = [_share(everyone, rank) for rank in range(len(everyone))]
    cores, processes, _ = shares[transport.rank]
    known = [memory for _, _, memory in shares if memory is not None]
    return Share(
        cores, processes, min(cores for cores, _, _ in shares), min(known) if known else None
    )


def _share(everyone: list[list], rank: int) -> tuple[int, int, int | None]:
    machine, cores, memory, group = everyone[rank]
    here = [(set(others), its) for where, others, _, its in everyone if where == machine]
    sharing = sum(bool(others & set(cores)) for others, _ in here)
    processes = sum(group in (None, its) for _, its in here)
    return max(1, len(cores) // sharing), processes, memory and memory // processes


def boot() -> str:
    """What names the running system, the same in its containers; "" where it does not say."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return ""


def own_mpiexec() -> Path | None:
    """mpiexec beside this Python, of the MPI from wheels; None if there is none."""
    beside = Path(sys.executable).with_name("mpiexec")
    return beside if beside.exists() else None


def mpiexec() -> Path | None:
    """`own_mpiexec`, else that on the PATH; None if there is none."""
    found = own_mpiexec() or shutil.which("mpiexec")
    return None if found is None else Path(found)


def usable_cores() -> set[int]:
    """The numbers of the cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


def available_cores() -> int:
    """The number of cores that this process may run on."""
    return len(usable_cores())


def total_memory() -> int | None:
    """Bytes of memory of the machine, or of its part that this process is confined to; None where
    the system does not say."""
    return _memory()[0]


def _memory() -> tuple[int | None, list[int] | None]:
    """`total_memory`, and device and inode of the control group that it is of; None where it is the
    whole machine's."""
    limits: list[tuple[int, Path | None]] = [(limit, group) for group, limit in group_limits()]
    with suppress(ValueError, OSError, AttributeError):
        limits.append((os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), None))
    if not limits:
        return None, None
    least, group = min(reversed(limits), key=lambda limit: limit[0])  # of equals the outermost
    if group is not None:
        with suppress(OSError):
            facts = group.stat()
            return least, [facts.st_dev, facts.st_ino]
    return least, None


def available_memory() -> int | None:
    """Bytes of memory that can be had now, or None where the system does not say."""
    limits = list(group_room())
    with suppress(OSError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return min([*limits, int(line.split()[1]) * 1024])
    with suppress(ValueError, OSError, AttributeError):
        limits.append(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(limits, default=None)


def group_limits(membership: Path = _MEMBERSHIP, root: Path = _MOUNT) -> Iterator[tuple[Path, int]]:
    """Linux control groups of this process, and those above them: their folders, and the bytes that
    they allow it."""
    return ((folder, limit) for folder, _, limit in _groups(membership, root))


def group_room(membership: Path = _MEMBERSHIP, root: Path = _MOUNT) -> Iterator[int]:
    """Bytes that are left of each of these limits."""
    for folder, names, limit in _groups(membership, root):
        yield max(0, limit - _used(folder, names))


def _groups(membership: Path, root: Path) -> Iterator[tuple[Path, _Names, int]]:
    """The groups that have a limit: their folders, how their files are called, and the limit."""
    lines = []
    with suppress(OSError):
        lines = membership.read_text().splitlines()
    for line in lines:
        number, controllers, path = line.split(":", 2)
        if number == "0":
            top, names = root, _VERSION_2
        elif "memory" in controllers.split(","):
            top, names = root / "memory", _VERSION_1
        else:
            continue
        group = top / path.lstrip("/")
        for folder in (group, *group.parents):
            with suppress(OSError):
                text = (folder / names.limit).read_text().strip()
                if text.isdigit():  # or "max"
                    yield folder, names, int(text)
            if folder == top:
                break


def _used(folder: Path, names: _Names) -> int:
    """Bytes that a group uses, without copies of files, which make room; 0 where the system does
    not say."""
    used = spare = 0
    with suppress(OSError, ValueError):
        used = int((folder / names.used).read_text())
        fields = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        spare = sum(int(fields.get(name, 0)) for name in names.spare)
    return max(0, used - spare)
