"""Threads that share out pieces of work: what an exception leaves undone."""

import threading
import time

import pytest

from topicmc.kernels.threads import Threads


@pytest.mark.parametrize("in_main", [True, False])
def test_after_an_exception_no_other_piece_is_begun(in_main):
    """Whoever raises it; pieces that others are at are finished."""
    both_work, begun = threading.Barrier(2, timeout=60), []

    def work(piece):
        begun.append(piece)
        if piece < 2:
            both_work.wait()
            if (threading.current_thread() is threading.main_thread()) == in_main:
                raise KeyError
        time.sleep(0.02)

    with pytest.raises(KeyError):
        Threads(2).run(work, 100)
    assert len(begun) < 100
