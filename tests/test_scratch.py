"""Large arrays lie in files that have no name."""

import errno
import os
import re
from pathlib import Path

import numpy as np
import pytest

from topicmc.engine.transport.local import LocalTransport
from topicmc.errors import DataError
from topicmc.estimator import factors, fitting
from topicmc.estimator.factors import MatrixFactorization
from topicmc.host import machine
from topicmc.models.lda import model
from topicmc.storage import arrays, scratch
from topicmc.storage.scratch import scratch_array


def anonymous() -> int:
    """Bytes of this process's memory that no file stands behind."""
    status = Path("/proc/self/status")
    if not status.exists():
        pytest.skip("the system does not say how much memory is in use")
    return int(re.search(r"RssAnon:\s+(\d+) kB", status.read_text())[1]) << 10


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_large_arrays_take_no_memory_of_their_own(tmp_path, dtype):
    """And small ones do: what is measured would be seen."""
    n = 2 * scratch.IN_MEMORY
    for folder, least, most in ((tmp_path, 0, n // 4), (None, n // 2, np.inf)):
        before = anonymous()
        array = scratch_array(n, dtype, folder)
        assert array.dtype == dtype and array.shape == (n,) and not array.any()
        array[:] = 7
        assert least <= anonymous() - before <= most
        assert list(tmp_path.iterdir()) == []
        assert array.min() == 7
        del array


def test_kernels_see_the_same_kind_of_array(tmp_path, monkeypatch):
    """Else each would be compiled twice."""
    from numba import typeof

    monkeypatch.setattr(scratch, "IN_MEMORY", 0)
    assert typeof(scratch_array(3, np.uint8, tmp_path)) == typeof(np.zeros(3, np.uint8))
    assert scratch_array(0, np.uint8, tmp_path).shape == (0,)


@pytest.mark.parametrize(
    ("folder", "named", "in_memory", "found"),
    [
        ("tmp", False, [], "tmp"),
        ("tmp", False, ["tmp"], "disk"),
        ("tmp", False, ["tmp", "disk"], "tmp"),  # a machine without disks
        ("tmp", True, ["tmp"], "tmp"),
        ("own", True, ["own", "tmp"], "own"),
    ],
)
def test_large_files_lie_on_a_disk_where_nobody_has_said_otherwise(
    tmp_path, monkeypatch, folder, named, in_memory, found
):
    for name in ("tmp", "disk", "own"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(scratch, "_USUAL", tmp_path / "tmp")
    monkeypatch.setattr(scratch, "_ON_DISK", tmp_path / "disk")
    monkeypatch.setattr(scratch, "gettempdir", lambda: str(tmp_path / folder))
    monkeypatch.delenv("TMPDIR", raising=False)
    if named:
        monkeypatch.setenv("TMPDIR", str(tmp_path / folder))
    monkeypatch.setattr(scratch, "lies_in_memory", lambda folder: folder.name in in_memory)
    assert scratch.aside() == tmp_path / found


@pytest.mark.parametrize(
    ("processes", "in_memory", "is_local"),
    [(1, False, True), (1, True, False), (2, False, False)],
)
def test_that_of_several_machines_lies_on_a_disk_of_each(
    tmp_path, monkeypatch, processes, in_memory, is_local
):
    """Of two processes one or both are on this machine."""
    share = machine.Share(1, processes, 1, None)
    monkeypatch.setattr(machine, "share", lambda transport: share)
    monkeypatch.setattr(machine, "lies_in_memory", lambda folder: in_memory)
    transport = LocalTransport(2)
    transport.n_processes = 2
    assert model._scratch(tmp_path, transport) == (scratch.aside() if is_local else tmp_path)


def test_where_the_folder_for_temporary_files_is_full_the_way_out_is_told(tmp_path, monkeypatch):
    """Of what nobody has named."""

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(scratch, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(scratch, "IN_MEMORY", 0)
    monkeypatch.setattr(scratch, "_reserve", full)
    monkeypatch.setattr(fitting, "_write", lambda *_: arrays.write_array(tmp_path / "x", full))
    monkeypatch.setattr(arrays, "save_array", full)
    with pytest.raises(DataError, match="no space left.* TMPDIR"):
        scratch_array(3, np.uint8, scratch.aside())
    with pytest.raises(DataError, match="no space left.*run again$"):
        scratch_array(3, np.uint8, tmp_path.parent)
    with pytest.raises(DataError, match="no space left.* TMPDIR"), fitting.written(None, 1):
        pass
    monkeypatch.setattr(factors, "run_on", fitting._write)
    with pytest.raises(DataError, match="no space left.* TMPDIR"):
        MatrixFactorization().fit([["a", "b"], ["c", "d"]], [1.0, 2.0])
