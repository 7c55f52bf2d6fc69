"""What a process may use of its machine: cores and memory, shared with others of the same job. And
what any process of the program takes of that memory, whatever it trains."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from topicmc.errors import UsageError

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
        cores: the cores that it may run on, shared out among the processes that may run on the same
            ones; or fewer, if its control group allows the time of fewer to each of its processes.
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
    mine = [boot() or platform.node(), sorted(usable_cores()), *_memory(), *_quota()]
    everyone = transport.exchange(mine)
    shares = [_share(everyone, rank) for rank in range(len(everyone))]
    cores, processes, _ = shares[transport.rank]
    known = [memory for _, _, memory in shares if memory is not None]
    return Share(
        cores, processes, min(cores for cores, _, _ in shares), min(known) if known else None
    )


def _share(everyone: list[list], rank: int) -> tuple[int, int, int | None]:
    machine, cores, memory, group, quota, payer = everyone[rank]
    here = [rest for where, *rest in everyone if where == machine]
    own = len(cores) // sum(bool(set(others) & set(cores)) for others, *_ in here)
    if quota is not None:
        own = min(own, quota // sum(its == payer for *_, its in here))
    processes = sum(group in (None, its) for _, _, its, *_ in here)
    return max(1, own), processes, memory and memory // processes


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
    """The number of cores that this process may run on, but no more than its control groups allow
    it the time of: more threads would use that up sooner, and stand still."""
    return min([len(usable_cores()), *(limit for _, limit in core_limits())])


def core_limits(membership: Path = _MEMBERSHIP, root: Path = _MOUNT) -> Iterator[tuple[Path, int]]:
    """As `group_limits`, of processor time: the folders, and the cores whose time they allow it,
    rounded up, so that none is lost."""
    for folder, is_new in _groups("cpu", membership, root):
        with suppress(OSError, ValueError, ZeroDivisionError):  # ValueError: "max"
            if is_new:
                quota, period = map(int, (folder / "cpu.max").read_text().split())
            else:
                quota = int((folder / "cpu.cfs_quota_us").read_text())  # -1: any time
                period = int((folder / "cpu.cfs_period_us").read_text())
            if quota > 0:
                yield folder, -(-quota // period)


def _quota() -> tuple[int | None, list[int] | None]:
    """The least of `core_limits`, and the control group that it is of; None where there is none."""
    return _least([*core_limits()])


def _least(limits: Sequence[tuple[Path | None, int]]) -> tuple[int | None, list[int] | None]:
    """The least of some limits, of equals the outermost; and device and inode of the control group
    that it is of, which are the same in all containers; None where there is none."""
    group, least = min(reversed(limits), key=lambda limit: limit[1], default=(None, None))
    with suppress(OSError):  # it is gone
        if group is not None:
            facts = group.stat()
            return least, [facts.st_dev, facts.st_ino]
    return least, None


def lies_in_memory(folder: Path) -> bool:
    """Whether the files of a folder are memory, as those of a tmpfs; False where the system does
    not say."""
    with suppress(OSError):
        device = folder.stat().st_dev
        number = f"{os.major(device)}:{os.minor(device)}"
        for line in Path("/proc/self/mountinfo").read_text(errors="replace").splitlines():
            fields = line.split(" ")
            if fields[2] == number:
                return fields[fields.index("-") + 1] in ("tmpfs", "ramfs")
    return False


def _memory() -> tuple[int | None, list[int] | None]:
    """Bytes of memory of the machine, or of its part that this process is confined to, and the
    control group that confines it; None where the system does not say, or none does."""
    limits: list[tuple[Path | None, int]] = [*group_limits()]
    with suppress(ValueError, OSError, AttributeError):
        limits.append((None, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")))
    return _least(limits)


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


def too_little(needed: int, processes: int) -> int | None:
    """The bytes of memory that can be had now, if so many processes of a job need more, with room
    to compile kernels; None if they do not, or the system does not say."""
    free = available_memory()
    return free if free is not None and needed > free - processes * COMPILING else None


def in_units(n_bytes: float) -> str:
    """As people say how many."""
    for unit in ("B", "kB", "MB", "GB"):
        if n_bytes < 1000:
            return f"{n_bytes:.0f} {unit}" if unit == "B" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.1f} TB"


def check_room(needed: float, what: str, remedy: str) -> None:
    """UsageError, which says for ``what`` and the remedy, where so many bytes cannot be had now."""
    free = available_memory()
    if free is not None and needed > free:
        raise UsageError(
            f"{what} need about {in_units(needed)} of memory, and {in_units(free)} are free;"
            f" {remedy}"
        )


def group_limits(membership: Path = _MEMBERSHIP, root: Path = _MOUNT) -> Iterator[tuple[Path, int]]:
    """Linux control groups of this process, and those above them: their folders, and the bytes that
    they allow it."""
    return ((folder, limit) for folder, _, limit in _memory_groups(membership, root))


def group_room(membership: Path = _MEMBERSHIP, root: Path = _MOUNT) -> Iterator[int]:
    """Bytes that are left of each of these limits."""
    for folder, names, limit in _memory_groups(membership, root):
        yield max(0, limit - _used(folder, names))


def _memory_groups(membership: Path, root: Path) -> Iterator[tuple[Path, _Names, int]]:
    """The groups that have a limit: their folders, how their files are called, and the limit."""
    for folder, is_new in _groups("memory", membership, root):
        names = _VERSION_2 if is_new else _VERSION_1
        with suppress(OSError):
            text = (folder / names.limit).read_text().strip()
            if text.isdigit():  # or "max"
                yield folder, names, int(text)


def _groups(controller: str, membership: Path, root: Path) -> Iterator[tuple[Path, bool]]:
    """The folders of the groups by which a controller may limit this process, each before the one
    above it, and whether they are of version 2 of control groups."""
    lines = []
    with suppress(OSError):
        lines = membership.read_text(errors="surrogateescape").splitlines()
    for line in lines:
        number, controllers, path = line.split(":", 2)
        if number == "0":
            top = root
        elif controller in controllers.split(","):
            top = root / controller
        else:
            continue
        group = top / path.lstrip("/")
        for folder in (group, *group.parents):
            yield folder, number == "0"
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
