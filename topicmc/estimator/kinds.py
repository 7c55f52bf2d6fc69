"""What `LDA` is given as X: a corpus, a matrix, lists of tokens, or bags of words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from topicmc.corpora import Corpus

_ONCE = "{} can be read only once: give a list"
_TEXTS = "X holds texts{}: give a list of tokens for each, or use CountVectorizer"


def rows_of(X: Any) -> Any:
    """X, or the list of its rows: those of a Series or an array of objects, such as a column of a
    data frame, of a frame of one such column, and of an array of words."""
    shape: tuple[int, ...] = getattr(X, "shape", ())
    is_dense = hasattr(X, "__array__") and not hasattr(X, "tocsr")
    if len(shape) == 1 and is_dense:
        rows = list(X)
        return rows if isinstance(_telling(rows), Iterable) else X
    if shape[1:] == (1,) and is_dense:
        rows = list(np.asarray(X, dtype=object)[:, 0])
        first = _telling(rows)
        return rows if isinstance(first, Iterable) and not isinstance(first, str) else X
    if len(shape) == 2 and shape[1] > 1 and isinstance(X, np.ndarray) and _has_text(X[:1]):
        return X.tolist()
    return X


def kind(X: Any) -> str:
    """What X, from `rows_of`, is: "corpus", "matrix", "tokens" or "bags". TypeError for what cannot
    be read."""
    if isinstance(X, str | Path | Corpus):
        return "corpus"
    if hasattr(X, "__array__") or hasattr(X, "tocsr") or not isinstance(X, Iterable):
        _refuse_texts(X)
        return "matrix"
    if isinstance(X, Iterator):
        raise TypeError(_ONCE.format("X") + ", or a corpus that can be read again")
    first = next((check_once(i, doc) for i, doc in enumerate(X) if _filled(doc)), ())
    if isinstance(first, str):
        raise TypeError(_TEXTS.format(""))
    element = next(iter(first), "") if isinstance(first, Iterable) else first
    if isinstance(element, str):
        return "tokens"
    if not isinstance(element, tuple):
        return "matrix"
    are_texts = [isinstance(part, str) for part in element]
    if all(are_texts) if len(element) == 2 else any(are_texts):
        check_words([element])  # as of bigrams
    return "bags" if len(element) == 2 else "matrix"


def check_tokens(number: int, document: Any) -> Any:
    """A document of lists of tokens; an error names its place where it is none."""
    if isinstance(document, str):
        raise TypeError(
            f"X[{number}] is a text, {_brief(document)}, and others are lists of tokens: cut it"
            " into tokens too"
        )
    if is_missing(document) or not isinstance(document, Iterable):
        raise TypeError(
            f"X[{number}] is {_brief(document)}: give a list of tokens, an empty one where there is"
            " no text"
        )
    return check_once(number, document)


def check_once(number: int, document: Any) -> Any:
    """A document; TypeError where it is gone once it has been read, or its counts would be."""
    if isinstance(document, Iterator):
        raise TypeError(_ONCE.format(f"X[{number}]"))
    if isinstance(document, Mapping):
        raise TypeError(
            f"X[{number}] is a mapping: use DictVectorizer, or give a list of tokens or of pairs"
            " (id, count)"
        )
    return document


def check_words(words: Iterable[Any]) -> None:
    """TypeError unless all are texts."""
    for word in words:
        if not isinstance(word, str):
            raise TypeError(
                f"X holds the token {_brief(word)}, which is no text: give words as str"
            )


def _refuse_texts(X: Any) -> None:
    if len(getattr(X, "shape", ())) != 2 or hasattr(X, "tocsr") or not _has_text(X[:1]):
        return
    row = np.asarray(X[:1], dtype=object)[0]
    names = list(getattr(X, "columns", range(len(row))))
    column = next(name for name, value in zip(names, row, strict=True) if isinstance(value, str))
    raise TypeError(_TEXTS.format(f" in column {column!r}"))


def _has_text(X: Any) -> bool:
    values = np.asarray(X)
    return values.dtype.kind in "OU" and any(isinstance(value, str) for value in values.flat)


def _telling(rows: list[Any]) -> Any:
    """The row that tells what all are: the first that is not empty, or else the first that is not
    missing, or else a number."""
    there = [row for row in rows if not is_missing(row)]
    return next(filter(_filled, there), there[0] if there else 0.0)


def _filled(document: Any) -> bool:
    return not is_missing(document) and (not hasattr(document, "__len__") or len(document) > 0)


def is_missing(value: Any) -> bool:
    """None, NaN, or pandas's NA."""
    return is_none(value) or (isinstance(value, float) and value != value)


def is_none(value: Any) -> bool:
    """None, or pandas's NA."""
    return value is None or type(value).__name__ == "NAType"


def _brief(value: Any) -> str:
    told = repr(value)
    return told if len(told) <= 40 else f"{told[:40]}…"
