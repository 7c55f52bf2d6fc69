"""Threads over kernels that release the interpreter lock."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor


class Threads:
    """A fixed number of threads that share out independent pieces of work.

    Kernels are compiled with ``nogil=True`` and write to disjoint outputs, so results never depend
    on the number of threads.
    """

    def __init__(self, n_threads: int = 1) -> None:
        self.n_threads = n_threads
        self._pool = ThreadPoolExecutor(n_threads) if n_threads > 1 else None

    def run(self, work: Callable[[int], None], n_pieces: int) -> None:
        """Calls ``work(i)`` for each i in ``range(n_pieces)``; the first exception is raised."""
        if self._pool is None or n_pieces == 1:
            for piece in range(n_pieces):
                work(piece)
        else:
            for future in [self._pool.submit(work, piece) for piece in range(n_pieces)]:
                future.result()
