"""Threads over kernels that release the interpreter lock."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

_SIDE = 1 << 9  # of a square


class Threads:
    """A fixed number of threads that share out independent pieces of work.

    Kernels are compiled with ``nogil=True`` and write to disjoint outputs, or to sums of integers,
    so results never depend on the number of threads, nor on who does what.
    """

    def __init__(self, n_threads: int = 1) -> None:
        self.n_threads = n_threads
        self._pool = ThreadPoolExecutor(n_threads - 1) if n_threads > 1 else None

    def run(self, work: Callable[[int], None], n_pieces: int) -> None:
        """Calls ``work(i)`` for each i in ``range(n_pieces)``; an exception is raised, and no other
        piece is begun after it."""
        self.run_in_slots(lambda piece, _: work(piece), n_pieces)

    def run_over(self, work: Callable[[int, int, int], None], count: int, least: int) -> None:
        """Calls ``work(first, last, i)`` for ranges that make up ``range(count)``: one for each
        thread, numbered i, or fewer where they would be shorter than ``least``."""
        n = max(1, min(self.n_threads, count // least))
        self.run(lambda i: work(i * count // n, (i + 1) * count // n, i), n)

    def run_in_squares(self, work: Callable[[slice, slice], None], shape: tuple[int, ...]) -> None:
        """Calls ``work(rows, columns)`` for squares that make up a matrix (n, m): where one of two
        is transposed, caches hold what is read and what is written."""
        n_rows, n_columns = shape

        def across(i: int) -> None:
            rows = slice(i * _SIDE, min((i + 1) * _SIDE, n_rows))
            for first in range(0, n_columns, _SIDE):
                work(rows, slice(first, min(first + _SIDE, n_columns)))

        self.run(across, -(-n_rows // _SIDE))

    def run_in_slots(self, work: Callable[[int, int], None], n_pieces: int) -> None:
        """Calls ``work(i, slot)`` for each i in ``range(n_pieces)``; no two calls at the same time
        have the same slot, of ``n_threads``.

        The caller works too, and everyone takes the next piece when done with one: a thread that
        comes late, because its core is busy, does not block the others.
        """
        pieces = iter(range(n_pieces))

        def take(slot: int) -> None:
            try:
                for piece in pieces:
                    work(piece, slot)
            finally:
                for _ in pieces:  # left over by an exception: nobody begins them
                    pass

        others = range(1, min(self.n_threads, n_pieces))
        futures = [self._pool.submit(take, slot) for slot in others] if self._pool else []
        try:
            take(0)
        finally:
            late = [future for future in futures if not future.cancel()]
            errors = [error for future in late if (error := future.exception()) is not None]
        if errors:
            raise errors[0]
