"""What is said and done while kernels are compiled."""

import gc
import threading

import pytest

from topicmc.engine import compiling


def test_garbage_is_looked_for_less_often_until_it_is_over():
    before = gc.get_threshold()
    with pytest.raises(ValueError, match="broken"), compiling.compiling(None):
        assert gc.get_threshold() > before
        raise ValueError("broken")
    assert gc.get_threshold() == before


def test_whoever_compiles_last_puts_back_what_the_first_has_found():
    """In whatever order threads begin and end."""
    before = gc.get_threshold()
    one, other = compiling.compiling(None), compiling.compiling(None)
    for step in (one.__enter__, other.__enter__, lambda: one.__exit__(None, None, None)):
        step()
        assert gc.get_threshold() > before
    other.__exit__(None, None, None)
    assert gc.get_threshold() == before


def test_it_is_said_when_it_takes_long(monkeypatch):
    told = []
    with compiling.compiling(told.append):
        pass
    monkeypatch.setattr(compiling, "_ANNOUNCE_AFTER", 0.01)
    said = threading.Event()
    with compiling.compiling(lambda text: (told.append(text), said.set())):
        assert said.wait(30)
    assert told == [compiling._TEXT]
