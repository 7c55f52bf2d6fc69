"""Kernels that another process compiles."""

import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest
from numba import njit

from topicmc.host import elsewhere


def nothing():
    """What an interpreter can find in no module of ours: it fails there."""


@pytest.fixture
def kernel(tmp_path):
    return SimpleNamespace(py_func=nothing, stats=SimpleNamespace(cache_path=str(tmp_path)))


@pytest.fixture
def started(monkeypatch):
    processes = []

    class Process(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__([sys.executable, "-c", "import time; time.sleep(60)"], **options)
            processes.append(self)

    monkeypatch.setattr(elsewhere.subprocess, "Popen", Process)
    monkeypatch.setattr(elsewhere, "available_cores", lambda: 2)
    monkeypatch.setattr(elsewhere, "available_memory", lambda: 10**10)
    return processes


def test_an_error_ends_the_process(kernel, started):
    with pytest.raises(KeyboardInterrupt), elsewhere.compiled_elsewhere(kernel, nothing):
        assert started[0].poll() is None
        raise KeyboardInterrupt
    assert started[0].returncode == -signal.SIGKILL


def test_what_an_outer_block_has_compiled_is_waited_for(kernel, started, monkeypatch):
    with elsewhere.compiled_elsewhere(kernel, nothing):
        waited = []
        monkeypatch.setattr(started[0], "wait", lambda: waited.append(True))
        with elsewhere.compiled_elsewhere(kernel, nothing):
            assert waited == []
        assert (len(started), waited) == (1, [True])
    with elsewhere.compiled_elsewhere(kernel, nothing):
        started[1].kill()
    assert len(started) == 2


@pytest.mark.parametrize("missing", ["cores", "memory", "interpreter", "need"])
def test_no_process_where_it_would_not_help(kernel, started, monkeypatch, tmp_path, missing):
    if missing == "cores":
        monkeypatch.setattr(elsewhere, "available_cores", lambda: 1)
    elif missing == "memory":
        monkeypatch.setattr(elsewhere, "available_memory", lambda: 10**8)
    elif missing == "interpreter":
        monkeypatch.setattr(sys, "executable", "")
    else:
        line = nothing.__code__.co_firstlineno
        (tmp_path / f"test_elsewhere.nothing-{line}.py311.nbi").touch()
    with elsewhere.compiled_elsewhere(kernel, nothing):
        pass
    assert started == []


@pytest.mark.parametrize("executable", [sys.executable, "/nowhere/python"])
def test_a_process_that_fails_is_no_failure(kernel, monkeypatch, executable):
    """Of an interpreter that finds nothing to call, and of one that cannot be started."""
    monkeypatch.setattr(elsewhere, "available_cores", lambda: 2)
    monkeypatch.setattr(elsewhere, "available_memory", lambda: None)
    monkeypatch.setattr(sys, "executable", executable)
    with elsewhere.compiled_elsewhere(kernel, nothing):
        done = True
    assert done


def test_a_kernel_of_the_cache_is_found(tmp_path, monkeypatch):
    """By the name that numba gives its index."""
    source = tmp_path / "cached_kernel.py"
    code = "from numba import njit\n\n\n@njit(cache=True)\ndef one(x):\n    return x + 1\n"
    source.write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    from cached_kernel import one

    assert not elsewhere._is_cached(one)
    one(1)
    assert elsewhere._is_cached(one)
    assert not elsewhere._is_cached(njit(nothing))
