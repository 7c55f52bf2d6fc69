"""What every timed bench asks of the machine, that nothing else runs on it, and what it records.

A bench refuses to start above a 1-minute load of `MOST`, unless it is told ``--anyway``; told
``--wait`` it waits. The load, whether it was told so, and the date are kept with its results, with
the machine and the versions.
"""

import argparse
import os
import platform
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

MOST = 0.5
_IDLE = 0.1  # cores; as much may be busy when a bench's own load is still in the mean
_LOOKS = 5.0  # seconds in which busy cores are counted
_PATIENCE = 300.0  # seconds in which a bench's own load must have gone
_PROGRAM = ("topicmc", "cli", "corpora", "bench/**/*.py")
_LIBRARIES = ("numpy", "scipy", "numba")


def add_option(parser: argparse.ArgumentParser) -> None:
    """``--anyway`` and ``--wait``."""
    parser.add_argument(
        "--anyway", action="store_true", help=f"measure though the 1-minute load is above {MOST}"
    )
    parser.add_argument(
        "--wait",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="wait so long until the machine is quiet, rather than refuse at once",
    )


def conditions(anyway: bool, patience: float = 0.0) -> dict[str, Any]:
    """Load and date, to be kept with the results.

    Ends the program where the load is too high. With ``patience``, seconds, it waits first: until
    the load has gone down, or no core is busy any more, as the load also is of what has ended.
    ``busy``, the cores that were, is kept with the load then.
    """
    end = time.monotonic() + patience
    found: dict[str, Any] = {}
    while (load := os.getloadavg()[0]) > MOST and not anyway:
        if time.monotonic() >= end:
            sys.exit(
                f"the 1-minute load is {load:.2f}, and figures are worth something up to {MOST}:"
                " wait, stop what else runs, or give --wait or --anyway"
            )
        if (busy := busy_cores(_LOOKS)) <= _IDLE:
            found["busy"] = round(busy, 2)
            break
    return {"load": round(load, 2), **found, "anyway": anyway, "date": time.strftime("%Y-%m-%d")}


def again(anyway: bool) -> dict[str, Any]:
    """`conditions` between measurements, when the load of the one before goes down."""
    return conditions(anyway, _PATIENCE)


def at_start(options: argparse.Namespace) -> dict[str, Any]:
    """`conditions` as the options of the command line ask for them."""
    return conditions(options.anyway, options.wait)


def record(found: dict[str, Any], *packages: str) -> dict[str, Any]:
    """All that is to be kept with results: ``found`` by `conditions`, the machine, and the versions
    of Python, what everybody uses, topicmc and further packages."""
    known = {package: version_of(package) for package in ("topicmc", *packages)}
    return {**found, "machine": machine(), "versions": {**versions(), **known}}


def start(options: argparse.Namespace, *packages: str) -> None:
    """`record` of a bench that prints its results: printed before them."""
    told = record(at_start(options), *packages)
    print(f"1-minute load {told['load']:.2f}{', --anyway' * told['anyway']}, {told['date']}")
    print(f"{told['machine']['processor']}, {told['machine']['cores']} cores")
    print(", ".join(f"{name} {v}" for name, v in told["versions"].items()), flush=True)


def busy_cores(seconds: float) -> float:
    """How many cores are busy in so many seconds, in the mean; infinite where nobody says."""
    try:
        before = _jiffies()
        time.sleep(seconds)
        after = _jiffies()
    except OSError:
        return float("inf")
    return (after - before) / os.sysconf("SC_CLK_TCK") / seconds


def _jiffies() -> int:
    """Of all cores since the start of the system, but for idle ones and those that wait."""
    fields = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:9]
    user, nice, system, _idle, _iowait, *interrupts = map(int, fields)
    return user + nice + system + sum(interrupts)


def machine() -> dict[str, Any]:
    """Processor, cores, memory and system."""
    names = _of_proc("/proc/cpuinfo", "model name")
    memory = _of_proc("/proc/meminfo", "MemTotal")
    return {
        "processor": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "memory": memory[0] if memory else None,
        "system": f"{platform.system()} {platform.machine()}",
    }


def _of_proc(path: str, name: str) -> list[str]:
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    return [line.partition(":")[2].strip() for line in lines if line.startswith(name)]


def versions() -> dict[str, str]:
    """Of Python and what everybody uses."""
    return {"python": platform.python_version(), **{name: version(name) for name in _LIBRARIES}}


def version_of(package: str) -> str | None:
    """Of a package, None if it is not installed; for topicmc with the commit, where known."""
    try:
        known = version(package)
    except PackageNotFoundError:
        return None
    return f"{known} {commit}".strip() if package == "topicmc" and (commit := _commit()) else known


def _commit() -> str:
    """The commit, and whether the program, not its results or pages, differs from it."""
    commit = _git("rev-parse", "--short", "HEAD")
    changed = _git("status", "--porcelain", "-uno", "--", *_PROGRAM)
    return commit + "-dirty" * bool(changed)


def _git(*arguments: str) -> str:
    command = ["git", *arguments]
    root = Path(__file__).parents[1]
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip()
