"""Documents in groups, by the values of a column or by periods."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from topicmc.corpora import Corpus
from topicmc.corpora.metadata import parse_day
from topicmc.corpora.naming import whole_line
from topicmc.corpora.periods import UNITS, periods_of, prepare_again
from topicmc.errors import UsageError
from topicmc.topics.prevalence import LEAST_DOCUMENTS, randomly_chosen

MOST_GROUPS = 1000
_MOST_NAMED = 12  # columns, in a message


@dataclass(frozen=True)
class Groups:
    """Documents in groups.

    Attributes:
        by: the field, or the unit of time.
        names: of the groups of which `LEAST_DOCUMENTS` are read, by value where all are numbers;
            whole, in a line each.
        is_ordered: whether they have an order.
        numbers: of the documents that are read, int64 (n,), ascending.
        of: int64 (n,), the group of each, −1 of none.
        n_without: documents that were read and have no value.
        left_out: names of groups of fewer, and how many of their documents are read.
    """

    by: str
    names: list[str]
    is_ordered: bool
    numbers: np.ndarray
    of: np.ndarray
    n_without: int
    left_out: list[tuple[str, int]]


def groups_of(corpus: Corpus, by: str) -> Groups:
    """The values of a column that `prepare --keep` kept; or with "day", "month", "year" or "decade"
    periods, where the corpus has times.

    Raises UsageError for a column that is not kept, one of more than `MOST_GROUPS` values, and
    where fewer than two have `LEAST_DOCUMENTS` documents.
    """
    numbers = randomly_chosen(np.arange(corpus.n_docs))
    codes, names, is_ordered = _values(corpus, by, numbers)
    counted = np.bincount(codes[codes >= 0], minlength=len(names))
    enough = counted >= LEAST_DOCUMENTS
    if enough.sum() < 2:
        read = " of those read" if len(numbers) < corpus.n_docs else ""
        some = "1 is" if enough.any() else "0 are"
        raise UsageError(
            f"--by {by}: of its values ({np.count_nonzero(counted):,}) only {some} in"
            f" {LEAST_DOCUMENTS} documents or more{read}, and it takes two to compare;"
            f" {_in_its_place(corpus, by, numbers, names)}"
        )
    place = np.where(enough, np.cumsum(enough) - 1, -1)
    return Groups(
        by,
        [name for name, told in zip(names, enough, strict=True) if told],
        is_ordered,
        numbers,
        np.append(place, -1)[codes],
        int((codes < 0).sum()),
        [(names[g], int(counted[g])) for g in np.flatnonzero((counted > 0) & ~enough)],
    )


def _values(corpus: Corpus, by: str, numbers: np.ndarray) -> tuple[np.ndarray, list[str], bool]:
    """The number of the value of each of some documents, int64 (n,), −1 of none, the values, and
    whether these have an order."""
    if _are_periods(corpus, by):
        found = periods_of(corpus, by)
        assert found is not None
        return found.of[numbers], found.names, True
    columns = corpus.columns
    if columns is None:
        periods = f"name a period ({', '.join(UNITS)}), or " if _has_times(corpus) else ""
        again = prepare_again(f"--keep {by}")
        raise UsageError(f"--by {by}: the corpus keeps no columns; {periods}{again}")
    known: Counter[str] = Counter()
    seen: dict[str, int] = {}
    codes = np.full(len(numbers), -1)
    for place, number in enumerate(numbers.tolist()):
        row = columns[number]
        known.update(row.keys())
        value = row.get(by)
        if value is not None and (line := whole_line(value)):
            codes[place] = seen.setdefault(line, len(seen))
            if len(seen) > MOST_GROUPS:  # before all are held, which may be texts
                fewer = "name a column of fewer values, such as a party"
                told = _by_year(corpus, by) if _are_dates(seen) else fewer
                raise UsageError(f"--by {by}: has more than {MOST_GROUPS:,} values; {told}")
    if by not in known:
        raise UsageError(_unknown(by, list(known), _has_times(corpus)))
    names, is_ordered = _in_order(set(seen))
    order = np.argsort([seen[name] for name in names])
    return np.append(order, -1)[codes], names, is_ordered


def _has_times(corpus: Corpus) -> bool:
    return corpus.times is not None and not np.isnat(corpus.times).all()


def _are_periods(corpus: Corpus, by: str) -> bool:
    """Of a corpus without times the names of periods are columns, if it has any."""
    return by in UNITS and (_has_times(corpus) or corpus.columns is None)


def _are_dates(values: Iterable[str]) -> bool:
    """Whether all are dates; years alone may be numbers of anything."""
    try:
        return all("-" in value and parse_day(value) is not None for value in values)
    except ValueError:
        return False


def _by_year(corpus: Corpus, by: str) -> str:
    """What to name in place of a column of dates."""
    again = "" if _has_times(corpus) else f"; for that {prepare_again(f'--time {by}')}"
    return f"use --by year{again}"


def _in_its_place(corpus: Corpus, by: str, numbers: np.ndarray, names: Sequence[str]) -> str:
    """What to name where too few values are in enough documents: the next longer period of which
    two are, if there is one."""
    units = list(UNITS)
    longer = units[units.index(by) + 1 :] if _are_periods(corpus, by) else []
    for unit in longer:
        codes, *_ = _values(corpus, unit, numbers)
        if np.count_nonzero(np.bincount(codes[codes >= 0]) >= LEAST_DOCUMENTS) > 1:
            return f"use --by {unit}"
    if not _are_periods(corpus, by) and names and _are_dates(names):
        return _by_year(corpus, by)
    return "name another column"


def _unknown(by: str, names: Sequence[str], has_times: bool) -> str:
    close = get_close_matches(by, [*names, *UNITS] if has_times else names, n=1)
    known = ", ".join(names[:_MOST_NAMED]) + ", …" * (len(names) > _MOST_NAMED)
    times = f", and times: {', '.join(UNITS)}" if has_times else ""
    hint = f"it keeps {known}{times}; for others {prepare_again(f'--keep {by}')}"
    if close:
        hint = f"did you mean {close[0]}?"
    if by in UNITS:
        hint = f"for periods {prepare_again('--time FIELD')}"
    return f"--by {by}: the corpus keeps no such column; {hint}"


def _in_order(values: set[str]) -> tuple[list[str], bool]:
    """By value where all are numbers, and by name otherwise. Codes as 1_10 are no numbers, though
    Python reads them."""
    try:
        numbers = {value: float(value.replace("_", "x")) for value in values}
    except ValueError:
        return sorted(values, key=lambda name: (name.casefold(), name)), False
    if not all(map(math.isfinite, numbers.values())):
        return sorted(values), False
    return sorted(values, key=lambda value: (numbers[value], value)), True
