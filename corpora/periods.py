"""The times of documents, cut into periods of the calendar."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from topicmc.corpora.store import Corpus
from topicmc.errors import UsageError

MOST_PERIODS = 60
"""Periods, where their length is not given;"""
MOST_ASKED = 1000
"""and where it is."""
UNITS = {"day": "D", "month": "M", "year": "Y", "decade": "10Y"}


def prepare_again(option: str) -> str:
    """The way to metadata that a corpus lacks, which does not make another corpus of it."""
    return (
        f"prepare the same sources again in the same way, and with {option} (runs on them stay"
        " good)"
    )


class Periods(NamedTuple):
    """The unit of periods, the period of each document, int64 (D,), −1 of none, and the names of
    the periods."""

    unit: str
    of: np.ndarray
    names: list[str]


def periods_of(corpus: Corpus, by: str | None) -> Periods | None:
    """The periods of a corpus; None when it knows no times. UsageError when ``by`` cannot cut its
    times."""
    times = corpus.times
    if times is None or np.isnat(times).all():
        if by is not None:
            again = prepare_again("--time FIELD")
            raise UsageError(f"--by {by}: the corpus knows no times; {again}")
        return None
    return periods(times, by)


def periods(times: np.ndarray, by: str | None = None) -> Periods:
    """The periods of ``times`` (datetime64, some of them known) by the unit ``by``, or by the
    finest that cuts them into at most `MOST_PERIODS`, or else decades. UsageError when ``by`` makes
    more than `MOST_ASKED`, and a coarser unit does not."""
    known = ~np.isnat(times)
    units, most = list(UNITS), MOST_PERIODS
    if by is not None:
        units, most = units[units.index(by) :], MOST_ASKED
    for unit in units:
        rounded = times.astype(f"datetime64[{UNITS[unit]}]")
        first, last = rounded[known].min(), rounded[known].max()
        count = int((last - first).astype(np.int64)) + 1
        if count <= most:
            break
    if by is not None and unit != by:
        raise UsageError(f"--by {by}: makes more than {most:,} periods; use --by {unit}")
    index = np.where(known, (rounded - first).astype(np.int64), -1)
    suffix = "s" if unit == "decade" else ""
    return Periods(unit, index, [f"{begin}{suffix}" for begin in first + np.arange(count)])
