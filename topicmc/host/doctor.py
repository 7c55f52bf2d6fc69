"""Facts about the installation and the machine."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from topicmc.host.machine import available_cores, available_memory, in_units, mpiexec
from topicmc.host.version import VERSION

PACKAGES = ("numpy", "numba", "llvmlite", "scipy", "gensim", "pyarrow", "click", "mpi4py", "mpich")

TESTED = ("3.11", "3.13")
"""Versions of Python that the tests run on, all on Linux with x86-64 processors."""


def diagnose() -> dict[str, Any]:
    """Versions, cores, memory, MPI and the kernel cache, by name."""
    import llvmlite.binding as llvm

    facts: dict[str, Any] = {
        "topicmc": VERSION,
        "installed in": str(Path(__file__).parents[1]),
        "python": f"{platform.python_version()} ({sys.executable})",
        "tested on": f"Python {' and '.join(TESTED)}, on Linux with x86-64",
        "system": platform.platform(),
        "processor": llvm.get_host_cpu_name(),
        "cores": available_cores(),
        "memory free": _size(available_memory()),
    }
    for name in PACKAGES:
        facts[name] = _version(name)
    facts["mpiexec"] = str(mpiexec() or "none; pip install 'topicmc[mpi]' brings one")
    facts["kernel cache"] = _kernel_cache()
    return facts


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _size(n_bytes: int | None) -> str:
    return "unknown" if n_bytes is None else in_units(n_bytes)


def _kernel_cache() -> str:
    from topicmc.kernels.gather import gather

    place = gather.stats.cache_path  # of several folders numba takes one that it can write
    return "none" if place is None else f"{len(list(Path(place).glob('*.nbc')))} kernels in {place}"
