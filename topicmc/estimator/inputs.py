"""What `LDA` is given to read, as documents in the words of a vocabulary."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.utils.validation import validate_data

from topicmc.corpora import Corpus, Documents
from topicmc.corpora.documents import from_entries, kept_lengths, remap, select
from topicmc.corpora.offsets import offsets
from topicmc.corpora.text.vocabulary import ids_in
from topicmc.estimator.kinds import check_once, check_tokens, is_missing, is_none, kind, rows_of
from topicmc.estimator.warning import warn
from topicmc.kernels.batch import MOST_TOKENS

_MOST = (1 << 31) - 1


def first(model: Any, X: Any) -> Documents:
    """The documents that a model is first given, from `rows_of`, other than a corpus; sets what it
    knows of words: n_features_in_, feature_names_in_ and vocabulary_."""
    given = vocabulary_of(model.vocabulary)
    how = kind(X)
    words: list[str] | None
    if how == "matrix":
        documents = from_matrix(_checked(model, X, reset=True))
        names = getattr(model, "feature_names_in_", None)
        words = given
        if given is None and names is not None:
            words = [str(name) for name in names]
        _note(model, words, model.n_features_in_, keep_names=True)
    elif how == "tokens":
        documents, words = from_tokens(X, given)
        _note(model, words, len(words))
    else:
        documents, n_words = from_bags(X)
        if given is not None and n_words > len(given):
            raise ValueError(f"X holds the id {n_words - 1}, and vocabulary has {len(given)} words")
        _note(model, given, n_words if given is None else len(given))
    return documents


def first_corpus(model: Any, X: Any) -> Corpus:
    """The same for a prepared corpus, opened and found sound."""
    corpus = _sound(X)
    _note(model, corpus.vocabulary, corpus.n_words)
    return corpus


def again(model: Any, X: Any, *, heldout: bool = False) -> Iterator[Documents]:
    """Documents in the words of a model that knows some; others are left out. Of a corpus those of
    training, shard by shard, or, with ``heldout``, those held out if it has any."""
    X = rows_of(X)
    how = kind(X)
    if how == "matrix":
        yield from_matrix(_checked(model, X, reset=False))
    elif how == "bags" or _are_empty(X):
        yield from_bags(X, model.n_features_in_)[0]
    elif model.vocabulary_ is None:
        raise ValueError(
            "the model knows columns without names, so it cannot read words: give vocabulary"
        )
    elif how == "tokens":
        yield from_tokens(X, model.vocabulary_)[0]
    else:
        yield from of_corpus(model, _sound(X), heldout=heldout)


def of_corpus(model: Any, corpus: Corpus, *, heldout: bool = False) -> Iterator[Documents]:
    """The same of a corpus that was found sound."""
    new_ids = ids_in(model.vocabulary_, corpus.vocabulary)
    use_heldout = heldout and corpus.n_heldout > 0
    parts = [corpus.heldout] if use_heldout else map(corpus.shard, range(corpus.n_shards))
    for part in parts:
        yield remap(part, new_ids)


def _are_empty(X: Any) -> bool:
    """Whether X is documents without words, be they lists of tokens or bags."""
    return not isinstance(X, str | Path | Corpus) and all(
        isinstance(document, Sized) and not isinstance(document, str) and not len(document)
        for document in X
    )


def vocabulary_of(vocabulary: Any) -> list[str] | None:
    """A list of words from a list, from a set, sorted as CountVectorizer has it, or from a mapping:
    of ids to words, such as a gensim Dictionary, or of words to ids, such as CountVectorizer's
    ``vocabulary_``."""
    if vocabulary is None:
        return None
    if isinstance(vocabulary, str):
        raise ValueError("vocabulary is a text: give a list of words")
    if isinstance(vocabulary, set | frozenset):  # the order of a set is another in each process
        vocabulary = sorted(vocabulary, key=str)
    if isinstance(vocabulary, Mapping):  # a Series has keys, too, and is none
        by_id = vocabulary
        if all(isinstance(key, str) for key in vocabulary):
            by_id = {vocabulary[word]: word for word in vocabulary}
        if set(by_id) != set(range(len(vocabulary))):
            raise ValueError("vocabulary must have the ids 0, 1, 2 … of its words")
        vocabulary = [by_id[i] for i in range(len(vocabulary))]
    given = list(vocabulary)
    for place, word in enumerate(given):
        if is_missing(word):
            raise ValueError(f"vocabulary[{place}] is {word}: give a word as str")
    words = [str(word) for word in given]
    if len(set(words)) < len(words):
        raise ValueError("vocabulary holds a word twice")
    return words


def _note(model: Any, words: list[str] | None, n_words: int, keep_names: bool = False) -> None:
    if words is not None and len(words) != n_words:
        raise ValueError(f"vocabulary has {len(words)} words, and X has {n_words} columns")
    if n_words < 2:
        raise ValueError(f"X has n_features = {n_words}: topics need at least two words")
    if not keep_names and hasattr(model, "feature_names_in_"):
        del model.feature_names_in_
    model.n_features_in_ = n_words
    model.vocabulary_ = words


def _checked(model: Any, X: Any, reset: bool) -> Any:
    """X found sound; sparse matrices become CSR."""
    if issparse(X) and X.format != "csr" and X.dtype.kind in "biu":
        # To make CSR of COO adds up entries that stand twice, in the type that they have.
        X = X.astype(np.int64, copy=False)
    try:
        return validate_data(
            model,
            X,
            reset=reset,
            accept_sparse="csr",
            accept_large_sparse=True,
            ensure_non_negative=True,
        )
    except (TypeError, ValueError):
        _refuse_words(X)
        raise


def _refuse_words(X: Any) -> None:
    """TypeError where X, which cannot be a matrix, is lists with words or None in them, or pandas's
    NA: it names the first value that is no word, or the first None where there are no words.
    ValueError for rows of several lengths."""
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 2:
        X = X.tolist()
    if not isinstance(X, list | tuple):
        return
    number = next((number for number, row in enumerate(X) if is_none(row)), None)
    if number is not None:
        raise TypeError(f"X[{number}] is {X[number]}: give a row of counts, or of words") from None
    rows = [(number, row) for number, row in enumerate(X) if isinstance(row, Iterable)]
    types = {type(value) for _, row in rows for value in row}
    if any(issubclass(one, str) for one in types):
        for number, row in enumerate(X):
            _tokens(number, row)
    for number, row in rows:
        for place, value in enumerate(row):
            if is_none(value):
                raise TypeError(
                    f"X[{number}][{place}] is {value}: give a count, 0 for none, or a word as str"
                ) from None
            if isinstance(value, list | tuple):
                raise TypeError(
                    f"X[{number}][{place}] is {value!r:.40}: give a count, or a bag of words as"
                    " tuples (id, count)"
                ) from None
    sizes = [(number, len(row)) for number, row in rows if isinstance(row, Sized)]
    for number, size in sizes:
        if size != sizes[0][1]:
            raise ValueError(
                f"X[{number}] has {size} values and X[{sizes[0][0]}] has {sizes[0][1]}: give as"
                " many counts in each row, or lists of words as str"
            ) from None


def _sound(X: str | Path | Corpus) -> Corpus:
    corpus = X if isinstance(X, Corpus) else Corpus.open(X)
    corpus.check(range(corpus.n_shards))
    return corpus


def from_matrix(X: Any) -> Documents:
    """The rows of a checked matrix, dense or CSR: counts, floats where there are fractions."""
    if X.dtype == np.float16:  # which no sparse matrix of SciPy can be
        X = X.astype(np.float32)
    matrix = csr_array(X, copy=True)
    if matrix.dtype.kind != "f":  # sums of what stands twice may need more bits
        matrix = matrix.astype(np.int64, copy=False)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    counts = matrix.data
    _check_most(counts)
    if counts.dtype.kind != "f" or (counts == np.rint(counts)).all():
        counts = counts.astype(np.uint32)
    return Documents(matrix.indptr.astype(np.int64), matrix.indices.astype(np.uint32), counts)


def from_tokens(
    X: Iterable[Sequence[str]], words: list[str] | None = None
) -> tuple[Documents, list[str]]:
    """Lists of tokens, and the words of their ids: those given, or all there are, by the alphabet.
    Tokens that are not among the words are left out. TypeError for one that is no text."""
    if words is None:
        found = {w for number, document in enumerate(X) for w in _tokens(number, document)}
        words = sorted(map(str, found))  # out of arrays they are NumPy's
    index = {word: i for i, word in enumerate(words)}
    counted = (
        Counter(index[word] for word in _tokens(number, document) if word in index)
        for number, document in enumerate(X)
    )
    return _documents(bag.items() for bag in counted), words


def _tokens(number: int, document: Any) -> Any:
    """The tokens of a document; TypeError names the place of one that is no text."""
    tokens = check_tokens(number, document)
    if not all(issubclass(one, str) for one in set(map(type, tokens))):
        place, token = next((i, t) for i, t in enumerate(tokens) if not isinstance(t, str))
        raise TypeError(
            f"X[{number}][{place}] is the token {token!r:.40}, which is no text: give words as str"
        ) from None
    return tokens


def from_bags(
    X: Iterable[Iterable[tuple[int, float]]], n_words: int | None = None
) -> tuple[Documents, int]:
    """gensim's bags of words, (id, count) pairs, and the number of words: that given, or one more
    than the largest id. Larger ids are left out."""
    most = _MOST if n_words is None else n_words
    try:
        documents = _documents(
            ((i, n) for i, n in check_once(number, bag) if n != 0 and i < most)
            for number, bag in enumerate(X)
        )
    except (TypeError, ValueError):
        for number, bag in enumerate(X):
            _check_pairs(number, bag)
        raise
    if n_words is None:
        n_words = int(documents.word_ids.max()) + 1 if documents.n_entries else 0
    return documents, n_words


def _check_pairs(number: int, bag: Any) -> None:
    """TypeError names what is no pair of an id and a count in a bag of words."""
    for pair in check_once(number, bag) if isinstance(bag, Iterable) else [bag]:
        is_pair = isinstance(pair, Sequence) and len(pair) == 2
        if not is_pair or not isinstance(pair[0], Integral) or not isinstance(pair[1], Real):
            raise TypeError(
                f"X[{number}] holds {pair!r:.40}: give bags of words as pairs (id, count)"
            ) from None
        if pair[1] != pair[1]:
            raise ValueError(f"X[{number}] holds {pair}: give a count in place of NaN") from None


def _documents(bags: Iterable[Iterable[tuple[int, float]]]) -> Documents:
    lengths, ids, counts = array("q"), array("q"), array("d")
    for bag in bags:
        before = len(ids)
        for i, n in bag:
            ids.append(i)
            counts.append(n)
        lengths.append(len(ids) - before)
    values = np.array(counts)
    if min(ids, default=0) < 0 or (values < 0).any():
        raise ValueError("X holds a negative id or count")
    _check_most(values)
    if (values != np.rint(values)).any():
        raise ValueError("X holds fractions, as of a TfidfModel: give bags of counts")
    numbers = np.array(lengths, np.int64), np.array(ids, np.int64), values.astype(np.int64)
    return from_entries(*numbers)[0]


def _check_most(counts: np.ndarray) -> None:
    most = counts.max(initial=0)
    if most > _MOST:
        raise ValueError(f"X holds a count of {most:g}, and {_MOST} is the most")


def whole(documents: Documents, seed: int) -> Documents:
    """The documents with whole counts: a fraction becomes a token with its own probability, so that
    counts are right in the mean. Says so in a UserWarning where there are any. ValueError for a
    document of more tokens than samplers count."""
    counts = documents.counts
    if counts.dtype.kind == "f":
        warn(
            "X holds fractions, and topics are made of whole tokens: fractions are rounded up or"
            " down at random, right in the mean. Give counts, not weights such as tf-idf.",
            UserWarning,
        )
        below = np.floor(counts)
        drawn = below + (np.random.default_rng(seed).random(len(counts)) < counts - below)
        kept = drawn > 0
        lengths = kept_lengths(documents, kept)
        documents = Documents(
            offsets(lengths), documents.word_ids[kept], drawn[kept].astype(np.uint32)
        )
    longest = int(documents.sizes.max(initial=0))
    if longest > MOST_TOKENS:
        raise ValueError(
            f"X holds a document of {longest:,} tokens, and {MOST_TOKENS:,} are the most that a"
            " sampler counts exactly: split it, or divide its counts"
        )
    return documents


def filled(documents: Documents) -> Documents:
    """Without those that hold no word; ValueError when that leaves none."""
    if documents.n_entries == 0:
        raise ValueError("X holds no words to train on")
    return select(documents, documents.lengths > 0)
