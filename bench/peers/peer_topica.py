"""topica: MALLET's collapsed Gibbs sampling (SparseLDA), or WarpLDA, in Rust.

``sparse`` is its default and runs on several threads; ``warp``, which it recommends for speed from
K ≈ 50, uses one core whatever it is given. α, and β with it, are optimised every 10 sweeps after
20, as MALLET's documentation has it: topica's own default of 200 sweeps before the first time is
beyond most budgets. With α learned, φ averaged over samples, which topica offers, is kept too.

The clock counts ``fit``, on a corpus that is made before. A fit can be neither looked into nor gone
on with, so each budget has its own. It makes ``iters`` sweeps and then ``sample_interval`` more for
each sample.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

import numpy as np
from marks import N_SAMPLES, Marks, Settings, token_lists


def train(corpus, settings: Settings, marks: Marks, sampler: str, learn: bool) -> None:
    """A fit for each budget; a second one when the first falls short."""
    import topica

    documents = topica.Corpus.from_documents(
        list(token_lists(corpus)), vocabulary=list(corpus.vocabulary)
    )
    column = {word: w for w, word in enumerate(corpus.vocabulary)}

    def fit(iters: int, **more: Any) -> tuple[float, np.ndarray, np.ndarray | None]:
        model = topica.LDA(
            settings.topics,
            alpha_sum=settings.alpha * settings.topics,
            beta=settings.beta,
            optimize_interval=10 if learn else 0,
            burn_in=20,
            seed=settings.seed + 1,
            num_threads=settings.threads,
            sampler=sampler,
        )
        sampling = {"num_samples": 1, "sample_interval": 1, "progress": False, **more}
        start = time.perf_counter()
        model.fit(documents, iters=iters, keep_theta_draws=False, check_every=10**9, **sampling)
        seconds = time.perf_counter() - start
        phi = np.zeros((settings.topics, corpus.n_words))
        phi[:, [column[word] for word in model.vocabulary]] = model.topic_word
        return seconds, phi, np.asarray(model.alpha, float) if learn else None

    timetable = _timetable(fit, marks.budgets[-1])
    slowness = 1.0  # of a fit beside the one of the timetable, which being watched has slowed down
    for budget in marks.budgets:
        for _ in range(2):
            sweeps = max(1, int(np.searchsorted(timetable, budget / slowness)))
            outcome = fit(sweeps - 1)
            slowness = outcome[0] / timetable[sweeps]
            if outcome[0] > 0.95 * budget:
                break
        marks.take_for(budget, *outcome, sweeps=sweeps)
    if learn:
        interval = max(1, sweeps // (2 * N_SAMPLES))
        first = max(0, sweeps - interval * N_SAMPLES)
        marks.take_mean(*fit(first, num_samples=N_SAMPLES, sample_interval=interval))


def _timetable(fit, budget: float) -> np.ndarray:
    """Seconds after 0, 1, 2, … sweeps, from a fit that is aborted when the budget is up; thereafter
    as if all were like the last."""
    ends = [0.0]
    start = time.perf_counter()

    def progress(*_) -> None:
        ends.append(time.perf_counter() - start)
        if ends[-1] >= budget:
            raise KeyboardInterrupt  # the only exception that topica lets through

    with suppress(KeyboardInterrupt):
        fit(10**6, progress=progress, progress_interval=1)
    later = np.arange(1, 3 * len(ends)) * (ends[-1] - ends[-2])
    return np.concatenate([ends, ends[-1] + later])
