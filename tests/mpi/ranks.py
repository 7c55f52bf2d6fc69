"""Commands on real ranks; imported by tests, which are skipped where there is no MPI."""

import subprocess
import sys

import pytest

from topicmc.engine.transport.launch import find_mpiexec
from topicmc.errors import UsageError

pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install 'topicmc[mpi]'")
try:
    MPIEXEC = find_mpiexec()
except UsageError as error:
    pytest.skip(str(error), allow_module_level=True)


def topicmc(*arguments, ranks=None):
    """A command that must succeed, on so many ranks; without mpiexec when that is None."""
    launcher = [] if ranks is None else [MPIEXEC, "-n", ranks]
    call = map(str, (*launcher, sys.executable, "-P", "-m", "topicmc.cli", *arguments))
    done = subprocess.run([*call], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
