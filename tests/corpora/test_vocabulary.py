"""Vocabularies: pruning against a naive count, files in any order, bounded tables."""

from collections import Counter

import bags
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topicmc.corpora import prepare
from topicmc.corpora.text import vocabulary
from topicmc.corpora.text.stopwords import stop_words
from topicmc.corpora.text.tokenizer import Tokenizer
from topicmc.corpora.text.tokens import count_words
from topicmc.corpora.text.vocabulary import Pruning, WordTable, default_pruning
from topicmc.errors import DataError, UsageError

TEXTS = ["The cat and the dog", "A cat, a hat", "dog eats cat", "Der Hund", "zebra zebra zebra"]


def made(tmp_path, **options):
    (tmp_path / "x.txt").write_text("\n".join(TEXTS))
    return prepare(tmp_path / "x.txt", tmp_path / "out", force=True, n_heldout=0, **options)


@given(
    documents=st.lists(st.sets(st.sampled_from("abcdefgh")), min_size=1, max_size=30),
    min_df=st.integers(0, 6),
    max_df=st.floats(0.05, 1),
    keep=st.none() | st.integers(1, 8),
)
@settings(max_examples=100)
def test_pruning_is_what_it_says(documents, min_df, max_df, keep):
    words = list("hgfedcba")
    doc_freq = Counter(word for document in documents for word in document)
    pruning = Pruning(min_df, max_df, keep)
    mask = pruning.mask(words, np.array([doc_freq[w] for w in words]), len(documents))
    fit = [w for w in words if doc_freq[w] >= min_df and doc_freq[w] / len(documents) <= max_df]
    fit.sort(key=lambda word: (-doc_freq[word], word))
    assert {w for w, kept in zip(words, mask, strict=True) if kept} == set(fit[:keep])


@pytest.mark.parametrize(("share", "n_docs"), [(0.29, 100), (0.07, 1000), (0.3, 10), (1.0, 3)])
def test_words_of_exactly_the_largest_share_stay(share, n_docs):
    most = round(share * n_docs)
    mask = Pruning(max_df=share).mask(["a", "b"], np.array([most, most + 1]), n_docs)
    assert mask.tolist() == [True, False]


def test_options_prune_text(tmp_path):
    assert made(tmp_path, stopwords="none").vocabulary == sorted(
        {"the", "cat", "and", "dog", "hat", "eats", "der", "hund", "zebra"}
    )
    assert "the" not in made(tmp_path).vocabulary  # the default is english
    assert made(tmp_path, min_df=2).vocabulary == ["cat", "dog"]
    assert made(tmp_path, max_df=0.4, min_df=2).vocabulary == ["dog"]
    assert made(tmp_path, keep=1).vocabulary == ["cat"]
    (tmp_path / "stop").write_text("Cat\nhat\n")
    corpus = made(tmp_path, stopwords=str(tmp_path / "stop"))
    assert not {"cat", "hat"} & set(corpus.vocabulary)
    told = corpus.provenance
    assert told["documents_empty"] == 1  # "A cat, a hat"
    assert told["tokens_read"] - told["tokens_left_out"] == corpus.n_tokens


@pytest.mark.parametrize("between", [", ", " ", ";"])
def test_stop_words_that_are_all_in_a_line_are_refused(tmp_path, between):
    """As one word they would leave out nothing. Remarks and phrases do no harm."""
    line = between.join(["the", "a", "of", "and", "or", "in", "to", "by"])
    remark = "// of a friend: words that are to be left out of it\n"
    (tmp_path / "stop").write_text(f"{remark}research and development in new york\n{line}\n")
    with pytest.raises(DataError, match="stop, line 3: holds several words; give one a line"):
        stop_words(str(tmp_path / "stop"))
    with pytest.raises(UsageError, match="there is no file the, and no such language"):
        stop_words(",".join(100 * ["the"]))  # longer than the name of a file can be


def test_options_prune_ids_too(tmp_path):
    """Only when they are given: ids keep their vocabulary by default, unused words included."""
    written = [{0: 1, 1: 1}, {1: 1, 2: 1}, {1: 4}]
    bags.docword(tmp_path / "docword.x.txt", written, 4)
    (tmp_path / "vocab.x.txt").write_text("zebra\nthe\napple\nunused\n")
    plain = prepare(tmp_path / "docword.x.txt", tmp_path / "plain", n_heldout=0)
    assert plain.vocabulary == ["zebra", "the", "apple", "unused"]
    pruned = prepare(
        tmp_path / "docword.x.txt", tmp_path / "pruned", n_heldout=0, stopwords="english", min_df=1
    )
    assert pruned.vocabulary == ["zebra", "apple"]  # in the order of the file
    assert bags.training(pruned) == [{0: 1}, {1: 1}]
    assert pruned.provenance["documents_empty"] == 1
    assert pruned.provenance["words_left_out"] == 2


def test_ids_are_pruned_by_how_many_documents_hold_them(tmp_path):
    """However often they come there."""
    bags.docword(tmp_path / "docword.x.txt", [{0: 9, 1: 1}, {1: 1, 2: 3}, {1: 7}], 3)
    bags.write_vocabulary(tmp_path / "vocab.x.txt", 3)
    zero, one, two = bags.words(3)
    for kept, options in (([one], {"min_df": 2}), ([zero, two], {"min_df": 1, "max_df": 0.4})):
        corpus = prepare(
            tmp_path / "docword.x.txt", tmp_path / "out", n_heldout=0, force=True, **options
        )
        assert corpus.vocabulary == kept


def test_vocabulary_file_in_any_order(tmp_path):
    """The same counts by word; words of the file that do not occur stay."""
    words = ["zebra", "cat", "missing", "dog"]
    found = []
    for order in (words, words[::-1]):
        (tmp_path / "words").write_text("\n".join(order))
        corpus = made(tmp_path, vocab=tmp_path / "words")
        assert corpus.vocabulary == order
        found.append([{order[i]: n for i, n in bag.items()} for bag in bags.training(corpus)])
    expected = [{"cat": 1, "dog": 1}, {"cat": 1}, {"dog": 1, "cat": 1}, {"zebra": 3}]
    assert found == [expected, expected]
    assert corpus.provenance["tokens_read"] == 15
    assert corpus.provenance["tokens_left_out"] == 15 - 8


def test_tokens():
    tokenize = Tokenizer()
    assert tokenize("Don't: H2O, naïve_Ärzte 1984 x ПРИВЕТ") == ["don", "naïve", "ärzte", "привет"]
    assert tokenize("a" * 40 + " " + "a" * 41) == ["a" * 40]


@pytest.mark.parametrize("apostrophe", ["'", "\u2019"])
@pytest.mark.parametrize("more", [{}, {"tokenizer": Tokenizer(pattern=r"\S+")}])
def test_contractions_are_stop_words(tmp_path, apostrophe, more):
    """That are words where apostrophes may be in them."""
    text = "don't it's isn't we're i'm they'll o'neill\n"
    (tmp_path / "x.txt").write_text(text.replace("'", apostrophe), encoding="utf-8")
    options = {"tokenizer": Tokenizer(("apostrophes",)), "n_heldout": 0, **more}
    (word,) = prepare(tmp_path / "x.txt", tmp_path / "out", **options).vocabulary
    assert word.startswith("o") and word.endswith("neill")


def test_stop_words_leave_words_with_content():
    stop = stop_words("english")
    assert {"the", "and", "of", "which"} <= stop
    assert not {"computer", "system", "fire"} & stop
    assert stop_words("none") == frozenset()


@pytest.mark.parametrize(
    ("n_docs", "min_df"), [(20, 2), (149, 2), (150, 3), (249, 4), (250, 5), (10**7, 5)]
)
def test_default_pruning_is_mild(n_docs, min_df):
    """Next to none of a handful of documents."""
    assert default_pruning(n_docs) == Pruning(min_df, 0.5, 50_000, "english")
    assert default_pruning(1) == default_pruning(19) == Pruning(0, 1.0, None, "english")


def test_word_table_is_bounded_and_forgets_rare_words_only():
    table = WordTable(limit=100)
    rng = np.random.default_rng(0)
    for start in range(0, 3000, 30):
        rare = [f"rare{i}" for i in range(start, start + 30)]
        words = ["common", "frequent", *rng.permutation(rare)]
        table.add(words, np.ones(len(words), dtype=np.int64))
        assert len(table) <= 100
    words, ids, doc_freq, n_ids = table.columns()
    counts = dict(zip(words, doc_freq.tolist(), strict=True))
    assert counts["common"] == counts["frequent"] == 100
    assert len(words) + table.n_forgotten == 3002 == n_ids
    assert len(set(ids.tolist())) == len(ids) and ids.max() < n_ids


def test_word_table_has_no_room_for_words_that_are_forgotten(monkeypatch):
    """They keep their ids all the same, of which a spool holds so many."""
    table = WordTable(limit=100)
    rare = [[f"w{n}" for n in range(start, start + 1000)] for start in range(0, 50_000, 1000)]
    found = [table.add(words, np.ones(1000, dtype=np.int64)) for words in rare]
    assert np.concatenate(found).tolist() == [*range(50_000)]
    assert len(table._doc_freq) == len(table._ids) == 1 << 12
    monkeypatch.setattr(vocabulary, "_MAX_IDS", 50_001)
    table.add(["one"], np.array([1]))
    with pytest.raises(DataError, match="too many different words"):
        table.add(["two"], np.array([1]))


def test_words_of_a_batch_are_counted():
    texts = ["Red red blue", "tiny", "blue green GREEN red"]
    batch = count_words(texts, None, 2, None, Tokenizer())
    assert batch.words == ["red", "blue", "green"]
    assert batch.doc_freq.tolist() == [2, 2, 1]
    assert batch.lengths.tolist() == [2, 3]
    assert batch.word_ids.tolist() == [0, 1, 1, 2, 0]
    assert batch.counts.tolist() == [2, 1, 1, 2, 1]
    assert batch.passed_over == {"of under 2 words": 1}


def test_phrases_are_gensims(tmp_path):
    """Joined by the measure of gensim's own model over the same tokens."""
    from gensim.models import Phrases

    rng = np.random.default_rng(4)
    fillers = bags.words(300)
    lines = []
    for number in range(400):
        line = list(rng.choice(fillers, 20))
        if number % 4 == 0:
            line[5:7] = ["new", "york"]
        if number % 5 == 0:
            line[10:13] = ["bank", "of", "england"]
        lines.append(" ".join(line))
    (tmp_path / "x.txt").write_text("\n".join(lines) + "\n")
    corpus = prepare(tmp_path / "x.txt", tmp_path / "out", phrases=True, min_df=1, n_heldout=0)
    model = Phrases((line.split() for line in lines), connector_words=stop_words("english"))
    expected = set(model.export_phrases())
    assert {"new_york", "bank_of_england"} <= set(corpus.vocabulary)
    assert {w for w in corpus.vocabulary if "_" in w} <= expected
    assert corpus.provenance["phrases"] == len(expected)


def test_phrases_of_a_vocabulary_that_is_given_are_joined(tmp_path):
    (tmp_path / "words").write_text("cat_and_the_dog\nhat\ndog_eats\nhouse\n")
    corpus = made(tmp_path, vocab=tmp_path / "words", phrases=True)
    assert bags.training(corpus) == [{0: 1}, {1: 1}, {2: 1}]
    assert (corpus.provenance["phrases"], corpus.provenance["words_unused"]) == (2, 1)
    assert made(tmp_path, vocab=tmp_path / "words").provenance["words_unused"] == 3
    (tmp_path / "words").write_text("cat\nhat\n")
    with pytest.raises(UsageError, match="no word of the vocabulary is a phrase"):
        made(tmp_path, vocab=tmp_path / "words", phrases=True)


def test_word_ids_have_no_phrases(tmp_path):
    bags.docword(tmp_path / "docword.x.txt", [{0: 1}], 2)
    bags.write_vocabulary(tmp_path / "vocab.x.txt", 2)
    with pytest.raises(UsageError, match="--phrases goes with text, and this is docword"):
        prepare(tmp_path / "docword.x.txt", tmp_path / "out", phrases=True)
