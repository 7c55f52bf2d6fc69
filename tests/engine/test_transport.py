"""The in-process transport and the choice between transports; the MPI ones are in tests/mpi."""

import os
import re
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

from topicmc.engine.transport import launch, mpi
from topicmc.engine.transport.base import abort_on_error, mean_into
from topicmc.engine.transport.local import LocalTransport
from topicmc.engine.transport.mpi import MpiTable
from topicmc.engine.transport.open import launched_size, open_transport
from topicmc.errors import DataError, UsageError, describe

LAUNCHER_VARIABLES = (
    "PMI_SIZE",
    "PMI_RANK",
    "PMIX_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "MV2_COMM_WORLD_SIZE",
    "SLURM_STEP_NUM_TASKS",
)


@pytest.fixture(autouse=True)
def no_launcher(monkeypatch):
    for name in LAUNCHER_VARIABLES:
        monkeypatch.delenv(name, raising=False)


def test_states_move_and_the_unnamed_stay():
    transport = LocalTransport(4)
    states = {w: (np.full(3, w, np.float32), np.array([w])) for w in (0, 1, 3)}
    now = transport.route(states, [(0, 2), (1, 0)])
    assert {w: int(state[1][0]) for w, state in now.items()} == {0: 1, 2: 0, 3: 3}


@pytest.mark.parametrize(
    "moves",
    [[(0, 1), (2, 1)], [(0, 1), (0, 2)], [(0, 9)], [(0, 1)], [(3, 2)]],
    ids=["meet", "split", "off the map", "onto one that stays", "from one that holds none"],
)
def test_moves_that_lose_a_chain_are_refused(moves):
    states = {w: (np.zeros(2, np.float32),) for w in (0, 1, 2)}
    with pytest.raises(ValueError, match="moves"):
        LocalTransport(4).route(states, moves)


def test_groups_are_averaged_in_place_and_apart():
    arrays = {w: np.full((2, 3), w, np.float32) for w in range(5)}
    LocalTransport(5).average(arrays, [[4, 0], [1], [2, 3]])
    assert [float(arrays[w].max()) for w in range(5)] == [2, 1, 2.5, 2.5, 2]


def test_means_are_summed_in_float64_in_the_order_given():
    """1e8 + 1 − 1e8 in float32 would lose the 1."""
    out = np.empty(70_000, np.float32)
    mean_into(out, [np.full(70_000, x, np.float32) for x in (1e8, 1, -1e8)])
    assert (out == np.float32(1 / 3)).all()


def test_values_come_by_worker():
    got = LocalTransport(3).gather({2: 5.0, 0: 1.0})
    np.testing.assert_array_equal(got, [1, np.nan, 5])


def test_auto_is_local_unless_ranks_were_started(monkeypatch):
    assert isinstance(open_transport("auto", 3), LocalTransport)
    assert open_transport("auto").n_workers == 1
    monkeypatch.setenv("PMI_SIZE", "4")
    assert launched_size() == 4
    with pytest.raises(UsageError, match="4 copies"):
        open_transport("local", 4)


def test_ranks_that_disagree_are_told(monkeypatch):
    monkeypatch.setattr(mpi, "MpiTransport", lambda: SimpleNamespace(n_processes=2))
    told = "--workers 3, but 2 MPI ranks are here: start with mpiexec -n 3"
    with pytest.raises(UsageError, match=told):
        open_transport("mpi", 3)
    monkeypatch.setenv("PMI_SIZE", "4")
    with pytest.raises(UsageError, match="mpiexec started 4 ranks, but mpi4py sees 2: they belong"):
        open_transport()


def test_of_two_mpi_libraries_the_mpiexec_that_fits_is_told(tmp_path, monkeypatch):
    """Never the one on the PATH, which may have started these ranks."""
    monkeypatch.setattr(mpi, "MpiTransport", lambda: SimpleNamespace(n_processes=1))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path / "system"))
    monkeypatch.setenv("PMI_SIZE", "4")
    (tmp_path / "system").mkdir()
    (tmp_path / "system" / "mpiexec").touch(mode=0o755)
    with pytest.raises(UsageError, match="use the mpiexec of mpi4py's own library or rebuild"):
        open_transport()
    (tmp_path / "mpiexec").touch(mode=0o755)
    with pytest.raises(UsageError, match=f"use {re.escape(str(tmp_path / 'mpiexec'))} or rebuild"):
        open_transport()


def test_unknown_transport():
    with pytest.raises(UsageError, match="auto, mpi or local"):
        open_transport("pigeon")


def test_without_mpi4py_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(UsageError, match=r"pip install 'topicmc\[mpi\]'"):
        open_transport("mpi")


def test_the_local_transport_never_imports_mpi():
    program = (
        "import sys; from topicmc.engine.transport.open import open_transport;"
        "open_transport('auto'); sys.exit('mpi4py' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-P", "-c", program], timeout=60).returncode == 0


@pytest.fixture
def mpiexec(tmp_path, monkeypatch):
    """What becomes mpiexec: a script for the shell."""
    place = tmp_path / "mpiexec"
    place.touch(mode=0o755)
    monkeypatch.setattr(launch, "find_mpiexec", lambda: str(place))
    return lambda script: place.write_text(f"#!/bin/sh\n{script}\n")


@pytest.mark.parametrize(("script", "status"), [("exit 3", 3), ("kill -9 $$", 137)])
def test_the_status_of_launched_ranks_is_as_a_shell_says_it(mpiexec, script, status):
    mpiexec(script)
    assert launch.launch(2, []) == status


def test_a_signal_while_ranks_are_launched_ends_them(mpiexec, monkeypatch):
    class Signalled(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            signal.raise_signal(signal.SIGTERM)

    mpiexec("exec sleep 20")
    monkeypatch.setattr(subprocess, "Popen", Signalled)
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        assert launch.launch(2, []) == 128 + signal.SIGTERM
    finally:
        signal.signal(signal.SIGTERM, before)


LAUNCH = """
import sys
from topicmc.engine.transport import launch
launch.find_mpiexec = lambda: sys.argv[1]
sys.exit(launch.launch(2, []))
"""


def test_ranks_end_as_they_should_where_the_terminal_has_closed(mpiexec, tmp_path):
    """mpiexec would end them at once if it could not write what they say."""
    begun = tmp_path / "begun"
    trap = "trap 'echo bye && exit 7; exit 1' TERM"
    mpiexec(f"{trap}; : > {begun}; for i in $(seq 99); do sleep 0.1; done")
    terminal, end = os.openpty()
    with subprocess.Popen(
        [sys.executable, "-P", "-c", LAUNCH, tmp_path / "mpiexec"],
        stdin=end, stdout=end, stderr=end,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),  # also under nohup
    ) as process:  # fmt: skip
        os.close(end)
        while process.poll() is None and not begun.exists():
            time.sleep(0.01)
        os.close(terminal)
        process.send_signal(signal.SIGHUP)
        assert process.wait(20) == 7


@pytest.mark.parametrize(("ratings", "left"), [("r.csv", "next\n"), ("-", ""), ("/dev/fd/0", "")])
def test_ranks_take_stdin_only_where_it_is_to_be_read(mpiexec, tmp_path, ratings, left):
    """In a loop of a shell it holds what is to be done next."""
    mpiexec("cat >&2")
    program = LAUNCH.replace("[]", f"[{ratings!r}]")
    script = '"$0" -P -c "$1" "$2"; exec cat'
    done = subprocess.run(
        ["sh", "-c", script, sys.executable, program, tmp_path / "mpiexec"],
        input="next\n", capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.stdout == left and done.stdout + done.stderr == "next\n"


def test_one_process_lets_errors_through():
    with pytest.raises(DataError), abort_on_error(LocalTransport(2)):
        raise DataError("no such file")


def test_what_a_job_ends_with_is_visible(capsys):
    transport = LocalTransport(2)
    transport.n_processes = 2
    with pytest.raises(SystemExit), abort_on_error(transport):
        raise DataError("a\x1b[2J: no corpus")
    assert capsys.readouterr().err == "Error: a\\x1b[2J: no corpus\n"


def test_errors_become_a_message_and_a_status():
    assert describe(DataError("x.npy is short")) == ("Error: x.npy is short", 3)
    assert describe(KeyboardInterrupt()) == ("interrupted", 130)
    assert describe(SystemExit(4)) == ("", 4)
    assert describe(SystemExit(None)) == ("", 0)
    denied = PermissionError(13, "Permission denied", "run/x.npy")
    assert describe(denied) == ("Error: run/x.npy: Permission denied", 1)
    assert describe(MemoryError("8 GB"))[0].startswith("Error: out of memory (8 GB); use fewer")
    message, status = describe(RuntimeError("boom"))
    assert (message.splitlines()[-1], status) == ("RuntimeError: boom", 1)


class SeparateWindow:
    """An MPI window of one rank in the separate memory model: what the rank stores and what
    operations see are two copies, which meet when an exclusive epoch ends, and when any begins."""

    LOCK_EXCLUSIVE, INT32_T, SUM, NO_OP = "exclusive", "int32", "sum", "no-op"

    def __init__(self) -> None:
        self.Win = self
        self._locked = None

    def Allocate(self, size, unit, comm):
        self._private = bytearray(b"\x55" * size)
        self._public = np.full(size // unit, 7, np.int32)
        return self

    def tomemory(self):
        return self._private

    def Lock(self, rank, kind="shared"):
        self._locked = kind

    def Unlock(self, rank):
        if self._locked == self.LOCK_EXCLUSIVE:
            self._public[:] = np.frombuffer(self._private, np.int32)

    def Lock_all(self):
        self.Lock(0)

    def Unlock_all(self):
        self.Unlock(0)

    def Free(self):
        pass

    def Get_accumulate(self, change, out, target, where, operation):
        first, n, _ = where
        out[0][:] = self._public[first : first + n]
        if operation == self.SUM:
            self._public[first : first + n] += change[0]


def test_a_shared_table_begins_with_zeros_in_the_separate_memory_model():
    """Plain stores outside an epoch would leave what the public copy held."""
    transport = LocalTransport(1)
    transport._mpi, transport._comm = SeparateWindow(), None
    table = MpiTable(transport, (2, 3))
    assert not table.read().any()
    out = np.empty((2, 3), np.int32)
    table.add(np.arange(6, dtype=np.int32).reshape(2, 3), out)
    assert out.tolist() == table.read().tolist() == [[0, 1, 2], [3, 4, 5]]
