"""Starting MPI ranks without being asked to type mpiexec."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence

from topicmc.engine.transport.open import launched_size
from topicmc.errors import UsageError
from topicmc.host.machine import mpiexec


def find_mpiexec() -> str:
    """`topicmc.host.machine.mpiexec`; UsageError if there is none."""
    found = mpiexec()
    if found is None:
        raise UsageError(
            "--workers needs mpiexec, which is not installed: pip install 'topicmc[mpi]', or run"
            " all workers in one process with --transport local"
        )
    return str(found)


def must_launch(n_workers: int, transport: str) -> bool:
    """Whether ranks are asked for that have not been started."""
    return n_workers > 1 and transport != "local" and launched_size() == 1


def launch(n_workers: int, arguments: Sequence[str]) -> int:
    """Runs ``topicmc`` with ``arguments`` on so many ranks of this machine; returns its status.

    SIGINT and SIGTERM are passed on, so that the ranks write a checkpoint and stop.
    """
    # -P: what lies in the current folder must not stand in for the installed package.
    command = [find_mpiexec(), "-n", str(n_workers), sys.executable, "-P", "-m", "topicmc.cli"]
    # A session of its own: the terminal's Ctrl-C comes here once, not to every rank as well.
    process = subprocess.Popen([*command, *arguments], start_new_session=True)

    def pass_on(signum: int, frame: object) -> None:
        process.send_signal(signum)

    previous = {s: signal.signal(s, pass_on) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        return process.wait()
    finally:
        for signum, handler in previous.items():
            signal.signal(signum, handler)
