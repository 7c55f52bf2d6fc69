"""What `LDA` reads: columns of token lists, what is no list of tokens, and vocabularies."""

import numpy as np
import pytest
from fitting_cases import COUNTS, QUICK, TEXTS, TOKENS, WORDS
from sklearn.exceptions import ConvergenceWarning

from topicmc import LDA


def columns():
    pd = pytest.importorskip("pandas")
    objects = np.empty(40, object)
    objects[:] = TOKENS
    return {
        "series": pd.Series(TOKENS),
        "series of arrays": pd.Series([np.array(tokens) for tokens in TOKENS]),
        "object array": objects,
        "another index": pd.Series([tuple(tokens) for tokens in TOKENS], index=range(7, 47)),
        "frame": pd.Series(TOKENS).to_frame("tokens"),
    }


@pytest.mark.parametrize(
    "name", ["series", "series of arrays", "object array", "another index", "frame"]
)
def test_columns_of_token_lists(fitted, name):
    X = columns()[name]
    model = LDA(**QUICK).fit(X)
    assert (model.samples_ == fitted.samples_).all()
    assert {type(word) for word in model.vocabulary_} == {str}
    assert (fitted.transform(X) == fitted.transform(TOKENS)).all()
    streamed = LDA(2, vocabulary=WORDS, random_state=0, n_jobs=1)
    with pytest.warns(ConvergenceWarning):
        assert streamed.partial_fit(X).vocabulary_ == WORDS
    with pytest.raises(ValueError, match=r"give LDA\(vocabulary="):
        LDA(2).partial_fit(X)


def test_texts_in_any_wrapping_are_told_from_tokens():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"id": range(40), "text": TEXTS})
    for X in (frame["text"], np.array(TEXTS), np.array(TEXTS, object), pd.Series([None, *TEXTS])):
        with pytest.raises(TypeError, match=r"X holds texts: .* use CountVectorizer"):
            LDA(**QUICK).fit(X)
    with pytest.raises(TypeError, match="holds texts in column 'text'"):
        LDA(**QUICK).fit(frame)


@pytest.mark.parametrize(
    ("odd", "complaint"),
    [("raw text", r"X\[40\] is a text, 'raw text'"), (None, r"X\[40\] is None"),
     (float("nan"), r"X\[40\] is nan"),
     ([1, 2], r"X\[40\]\[0\] is the token 1, which is no text"),
     (["tea", None], r"X\[40\]\[1\] is the token None, which is no text"),
     (["tea", "rain", float("nan")], r"X\[40\]\[2\] is the token nan, which is no text"),
     ([["tea"]], r"X\[40\]\[0\] is the token \['tea'\], which is no text")],
)  # fmt: skip
def test_a_row_that_is_no_list_of_tokens_is_named(fitted, odd, complaint):
    """Also where the words are known, of which others are left out."""
    for call in (LDA(**QUICK).fit, LDA(**QUICK, vocabulary=WORDS).fit, fitted.transform):
        with pytest.raises(TypeError, match=complaint):
            call([*TOKENS, odd])


@pytest.mark.parametrize(
    ("X", "place", "token"),
    [([[None, "tea"], ["rain"]], "[0][0]", "None"),
     ([[], [0.5, "tea"]], "[1][0]", "0.5"), ([[float("nan"), "tea"]], "[0][0]", "nan")],
)  # fmt: skip
def test_a_first_token_that_is_no_text_is_named(fitted, X, place, token):
    for call in (LDA(**QUICK).fit, fitted.transform):
        with pytest.raises(TypeError) as caught:
            call(X)
        told = f"X{place} is the token {token}, which is no text: give words as str"
        assert str(caught.value) == told


@pytest.mark.parametrize(
    ("X", "place"),
    [([[None]], "[0][0]"), ([[1, None]], "[0][1]"), ([[1, 2], [None, 0.5]], "[1][0]")],
)
def test_none_among_numbers_is_named(fitted, X, place):
    """And pandas's NA."""
    for call in (LDA(**QUICK).fit, fitted.transform):
        with pytest.raises(TypeError) as caught:
            call(X)
        assert str(caught.value) == f"X{place} is None: give a count, 0 for none, or a word as str"
        with pytest.raises(TypeError, match=r"X\[1\] is None: give a row of counts"):
            call([[1, 2], None])
        pd = pytest.importorskip("pandas")
        with pytest.raises(TypeError, match=r"^X\[1\]\[0\] is <NA>: give a count, 0 for none"):
            call([[1, 2], [pd.NA, 2]])


@pytest.mark.parametrize(
    ("bag", "told"),
    [([(0, None)], r"\(0, None\)"), ([(1, 1), (None, 2)], r"\(None, 2\)"), ([(2,)], r"\(2,\)"),
     ([(0, "2")], r"\(0, '2'\)"), ([(0, 1), 3], "3"), (None, "None"), (["tea"], "'tea'")],
)  # fmt: skip
def test_what_is_no_pair_in_bags_of_words_is_named(fitted, bag, told):
    X = [[(0, 1), (1, 2)], bag]
    for call in (LDA(**QUICK, vocabulary=WORDS).fit, fitted.transform):
        with pytest.raises(TypeError, match=rf"^X\[1\] holds {told}: give bags of words as pairs"):
            call(X)
        with pytest.raises(TypeError, match=r"^X\[0\] holds \('tea', 2\): give bags of words"):
            call([[("tea", 2), ("rain", 1)]])
        with pytest.raises(ValueError, match=r"X\[0\] holds \(0, nan\): give a count"):
            call([[(0, float("nan"))]])


def test_lists_of_numbers_are_a_matrix(fitted):
    assert (fitted.transform(COUNTS.tolist()) == fitted.transform(COUNTS)).all()
    for X, complaint in (([[1, float("nan")]], "contains NaN"), ([1, 2], "Expected 2D array")):
        with pytest.raises(ValueError, match=complaint):
            LDA(**QUICK).fit(X)


def test_pairs_of_words_are_no_bags(fitted):
    """As nltk gives bigrams."""
    for call in (LDA(**QUICK).fit, fitted.transform):
        with pytest.raises(TypeError, match=r"the token \('new', 'york'\), which is no text"):
            call([[("new", "york"), ("tea", "cup")]])


@pytest.mark.parametrize(
    ("X", "kind", "told"),
    [([[[0, 2], [1, 1]]], TypeError, r"X\[0\]\[0\] is \[0, 2\]: .* a bag of words as tuples"),
     ([[("a", 1, 2)]], TypeError, r"X holds the token \('a', 1, 2\), which is no text"),
     (np.array([[1, 2], [None, 1]]), TypeError, r"X\[1\]\[0\] is None: give a count"),
     ([[1, 2], [], [1, 2]], ValueError, r"X\[1\] has 0 values and X\[0\] has 2: give as many")],
)  # fmt: skip
def test_what_is_no_matrix_is_told_what_it_lacks(X, kind, told):
    with pytest.raises(kind, match=told):
        LDA(**QUICK).fit(X)


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_vocabulary_lacks_no_word(tmp_path, missing):
    words = [*WORDS[:1], missing, *WORDS[2:]]
    with pytest.raises(ValueError, match=rf"^vocabulary\[1\] is {missing}: give a word as str"):
        LDA(**QUICK, vocabulary=words).fit(TOKENS)
    with pytest.raises(ValueError, match=rf"^vocabulary\[\d+\] is {missing}"):
        LDA(**QUICK, vocabulary={*words}).fit(TOKENS)
    with pytest.raises(ValueError, match=r"^vocabulary\[1\] is"):
        LDA(**QUICK).fit(COUNTS).save(tmp_path / "run", vocabulary=words)


def test_the_vocabulary_of_count_vectorizer():
    model = LDA(**QUICK, vocabulary={"rain": 1, "tea": 0, "milk": 2}).fit(TOKENS)
    assert model.vocabulary_ == ["tea", "rain", "milk"]


def test_a_series_of_words_is_read_in_its_order():
    """Whatever its index."""
    pd = pytest.importorskip("pandas")
    for index in (range(len(WORDS))[::-1], range(3, 3 + len(WORDS)), WORDS[::-1]):
        words = pd.Series(WORDS, index=index)
        assert LDA(**QUICK, vocabulary=words).fit(TOKENS).vocabulary_ == WORDS
    for gaps in ({1: "tea", 2: "rain"}, {"tea": 1, "rain": 2}):
        with pytest.raises(ValueError, match="must have the ids 0, 1, 2"):
            LDA(**QUICK, vocabulary=gaps).fit(TOKENS)


def test_a_set_of_words_is_sorted():
    assert LDA(**QUICK, vocabulary={"tea", "rain", "milk"}).fit(TOKENS).vocabulary_ == [
        "milk", "rain", "tea",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="vocabulary is a text"):
        LDA(**QUICK, vocabulary="tea").fit(TOKENS)


def test_a_batch_without_known_words_leaves_the_topics(own, fitted):
    assert (own.partial_fit([["unheard"]]).components_ == fitted.components_).all()
    with pytest.raises(ValueError, match="no words to train on"):
        LDA(**QUICK, vocabulary=WORDS).partial_fit([["unheard"]])


def test_documents_are_mixed_a_block_at_a_time(fitted, monkeypatch):
    """As at once, with deviations of their own."""
    whole = fitted.transform(TOKENS, return_std=True)
    monkeypatch.setattr("topicmc.models.lda.mixes._BLOCK_DOCUMENTS", 16)
    np.testing.assert_array_equal(fitted.transform(TOKENS, return_std=True), whole)


def test_a_document_of_more_tokens_than_are_counted_is_refused(fitted):
    """By `fit`, and by what draws the topics of tokens afterwards; means need no tokens."""
    long = COUNTS.astype(np.int64)
    long[3, WORDS.index("rain")] = 2**24
    calls = (
        LDA(**QUICK).fit,
        LDA(**QUICK).partial_fit,
        fitted.score,
        lambda X: fitted.transform(X, return_std=True),
    )
    for call in calls:
        with pytest.raises(ValueError, match="a document of 16,777,217 tokens, and 16,777,216"):
            call(long)
    assert fitted.transform(long).shape == (40, 2)
