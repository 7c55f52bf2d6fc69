"""Starting MPI ranks without being asked to type mpiexec."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import IO

from topicmc.engine.transport.open import launched_size
from topicmc.errors import UsageError
from topicmc.host.interrupts import endings
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
    """Runs ``topicmc`` with ``arguments`` on so many ranks, here or on the nodes of a Slurm job;
    returns its status.

    SIGINT and SIGTERM are passed on, and SIGHUP as SIGTERM, so that the ranks write a checkpoint
    and stop. What they tell a terminal goes through this process: mpiexec would end them at once
    where it has closed.
    """
    # -P: what lies in the current folder must not stand in for the installed package.
    command = [find_mpiexec(), "-n", str(n_workers), sys.executable, "-P", "-m", "topicmc.cli"]
    passed = {signal.SIGINT: signal.SIGINT, **dict.fromkeys(endings(), signal.SIGTERM)}
    job: list[subprocess.Popen[bytes]] = []  # when it has begun
    early: list[int] = []

    def pass_on(signum: int, frame: object) -> None:
        if job:
            job[0].send_signal(passed[signal.Signals(signum)])
        else:
            early.append(signum)

    previous = {s: signal.signal(s, pass_on) for s in passed}
    try:
        pipes = [subprocess.PIPE if os.isatty(target) else None for target in (1, 2)]
        # mpiexec takes all of stdin for the first rank, and a script that a shell reads there, too.
        is_read = {"-", "/dev/stdin", "/dev/fd/0"} & set(arguments)
        stdin = None if is_read else subprocess.DEVNULL
        # A session of its own: the terminal's Ctrl-C comes here once, not to every rank as well.
        job.append(
            subprocess.Popen(
                [*command, *arguments],
                stdin=stdin,
                stdout=pipes[0],
                stderr=pipes[1],
                start_new_session=True,
            )
        )
        for signum in early:
            pass_on(signum, None)
        told = [
            threading.Thread(target=_copy, args=(source, target), daemon=True)
            for source, target in ((job[0].stdout, 1), (job[0].stderr, 2))
            if source is not None
        ]
        for thread in told:
            thread.start()
        status = job[0].wait()
        for thread in told:
            thread.join(1.0)  # the rest, unless something that outlives mpiexec keeps the pipe
        return status if status >= 0 else 128 - status  # of a signal that ended mpiexec
    finally:
        for signum, handler in previous.items():
            signal.signal(signum, handler)


def _copy(source: IO[bytes], target: int) -> None:
    """Passes bytes on to a file by its number; they are lost where that takes none any more."""
    while data := os.read(source.fileno(), 1 << 16):
        with suppress(OSError):
            while data:
                data = data[os.write(target, data) :]
