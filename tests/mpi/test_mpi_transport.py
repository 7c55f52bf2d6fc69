"""Real ranks: the same bits as in one process, honest counts, and a sure end when a rank fails."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import mpi_jobs
import pytest

from topicmc.engine.transport.local import LocalTransport

# Ranks that wait keep a core busy: one such test at a time.
pytestmark = pytest.mark.xdist_group("mpi")

pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install 'topicmc[mpi]'")
_beside = Path(sys.executable).with_name("mpiexec")
MPIEXEC = str(_beside) if _beside.exists() else shutil.which("mpiexec")
if MPIEXEC is None:
    pytest.skip("no mpiexec: pip install 'topicmc[mpi]'", allow_module_level=True)


def ranks(n, *job):
    command = [MPIEXEC, "-n", str(n), sys.executable, mpi_jobs.__file__, *map(str, job)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)


@pytest.mark.parametrize(("n", "piece_bytes"), [(2, 1 << 30), (3, 1 << 30), (4, 1000)])
def test_the_same_bits_as_in_one_process(n, piece_bytes, tmp_path):
    """A sum in another order, a state swapped or stale, or a piece lost would change a digest."""
    done = ranks(n, "same", tmp_path / "story.json", piece_bytes)
    assert done.returncode == 0, done.stderr
    over_mpi = json.loads((tmp_path / "story.json").read_text(encoding="utf-8"))
    for case, story, local in zip(
        mpi_jobs.CASES, over_mpi, mpi_jobs.all_cases(LocalTransport(n)), strict=True
    ):
        # Over MPI, digests come rank by rank: a chain's own order is that of its rounds.
        assert {int(c): sorted(d) for c, d in story.items()} == {
            c: sorted(d) for c, d in local.items()
        }, case
        assert all(len(digests) == 2 * case[2] for digests in local.values())


@pytest.mark.parametrize("n", [2, 4])
@pytest.mark.parametrize("job", ["collectives", "bytes", "waits"])
def test_collectives(n, job):
    done = ranks(n, job)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("fine") == n


@pytest.mark.parametrize(
    ("how", "status", "message"),
    [
        ("raise", 1, "ZeroDivisionError: one rank divided by zero"),
        ("data", 3, "Error: shards/00001/counts.npy is short"),
        ("everywhere", 3, "Error: shards/00000/counts.npy is short"),
        ("sigkill", 9, "signal 9"),
    ],
)
def test_a_rank_that_fails_ends_the_job(how, status, message):
    """The ranks that wait ignore SIGTERM, as ranks that write checkpoints on signals do."""
    start = time.monotonic()
    done = ranks(3, "fails", how)
    assert time.monotonic() - start < 10
    assert done.returncode == status
    assert (done.stdout + done.stderr).count(message) == 1
