"""What groups of documents have of topics: by hand where nobody doubts which token is whose, at its
level where nothing depends on the groups, and what cannot be asked."""

import csv

import numpy as np
import pytest
from fake_runs import gamma_samples, make_run
from scipy.stats import t
from synthetic import lda_documents

from topicmc.corpora import prepare
from topicmc.errors import UsageError
from topicmc.kernels.threads import Threads
from topicmc.topics.editing import Edits, edit
from topicmc.topics.effects import change_of, effects_of, groups_of, rows_of
from topicmc.topics.uncertainty import posterior_of

ONE = Threads(1)
LETTERS = "abcdefghijklmnopqrstuvwxyz"
OPTIONS = {"min_df": 0, "max_df": 1.0, "stopwords": "none", "n_heldout": 0}


def name_of(word: int) -> str:
    return f"w{LETTERS[word // 26]}{LETTERS[word % 26]}"


def corpus_of(folder, documents, columns, **options):
    """Of lists of word numbers, with columns of a table."""
    path = folder / "table.csv"
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["text", *columns])
        for document, *row in zip(documents, *columns.values(), strict=True):
            writer.writerow([" ".join(map(name_of, document)), *row])
    return prepare(path, folder / "corpus", columns=list(columns), **OPTIONS, **options)


def effects(posterior, corpus, by):
    return effects_of(posterior, corpus, groups_of(corpus, by), ONE)


def run_of(folder, corpus, phi, n=8, seed=1, chains=1):
    """A run whose samples are all of topics φ (K, W) by the numbers of words, in chains."""
    numbers = [LETTERS.index(w[1]) * 26 + LETTERS.index(w[2]) for w in corpus.vocabulary]
    shapes = 1000 * phi[:, numbers].T
    generator = np.random.default_rng(seed)
    samples = {c: [x + 1e-6 for x in gamma_samples(shapes, n, generator)] for c in range(chains)}
    return make_run(folder / "run", samples, chains=chains, groups=chains)


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """90 documents over two topics without a common word, of three groups and some without; and
    tokens (D, 2) by topic."""
    folder, generator = tmp_path_factory.mktemp("known"), np.random.default_rng(3)
    group = generator.permutation(np.repeat(["10", "9", "11", "", "few"], [30, 30, 20, 7, 3]))
    usual = {"9": 0.2, "10": 0.5, "11": 0.7, "": 0.5, "few": 0.5}
    tokens = np.array(
        [np.random.default_rng(i).multinomial(5 + i, [usual[g], 1 - usual[g]])
         for i, g in enumerate(group)]
    )  # fmt: skip
    documents = [[*generator.integers(0, 10, a), *generator.integers(10, 20, b)] for a, b in tokens]
    corpus = corpus_of(folder, documents, {"group": group, "other": ["x"] * 90})
    phi = np.kron(np.eye(2), np.full(10, 0.1))
    order = corpus.rows - 1  # of the table
    return corpus, posterior_of([run_of(folder, corpus, phi)]), group[order], tokens[order]


def test_by_hand(known):
    corpus, posterior, group, tokens = known
    found = effects(posterior, corpus, "group")
    # "few" is no number, so that there is no order.
    assert (found.groups.names, found.change) == (["10", "11", "9"], None)
    assert (found.groups.left_out, found.groups.n_without) == ([("few", 3)], 7)
    assert len(found.groups.numbers) == 90

    lengths = tokens.sum(axis=1)

    def errors(chosen):
        own, sizes = tokens[chosen], lengths[chosen]
        share = own.sum(axis=0) / sizes.sum()
        return share, ((own - sizes[:, None] * share) ** 2).sum(axis=0)

    known_groups = np.isin(group, found.groups.names)
    usual = sum(errors(group == name)[1] for name in found.groups.names) * known_groups.sum()
    usual = usual / (known_groups.sum() - 3) / (lengths[known_groups] ** 2).sum()

    def told(chosen):
        (share, squares), n, sizes = errors(chosen), chosen.sum(), lengths[chosen]
        squares = np.maximum(n / (n - 1) * squares, usual * (sizes**2).sum())
        return share, squares / sizes.sum() ** 2, n

    for g, name in enumerate(found.groups.names):
        share, v, n = told(group == name)
        half = t.ppf(0.95, n - 1) * np.sqrt(v)
        np.testing.assert_allclose(found.share.mean[:, g], share, rtol=1e-6)
        np.testing.assert_allclose(found.share.high[:, g] - share, half, rtol=1e-3)
        np.testing.assert_allclose(share - found.share.low[:, g], half, rtol=1e-3)
        rest, v_rest, n_rest = told(known_groups & (group != name))
        half = np.sqrt(half**2 + t.ppf(0.95, n_rest - 1) ** 2 * v_rest)
        np.testing.assert_allclose(found.difference.mean[:, g], share - rest, rtol=1e-6)
        np.testing.assert_allclose(found.difference.high[:, g], share - rest + half, rtol=1e-3)
        np.testing.assert_allclose(found.difference.low[:, g], share - rest - half, rtol=1e-3)
        assert found.documents[g] == n and found.tokens[g] == tokens[group == name].sum()
    assert found.difference.is_apart[:, 1:].all()
    (row, *_), k = rows_of(found, 0), 0
    assert row["group"] == "10" and row["share"] == found.share.mean[k, 0]
    assert row["difference_low"] == found.difference.low[k, 0] and change_of(found, 0) == {}


def test_groups_that_lack_a_rare_topic_by_chance(tmp_path):
    """Of 12 topics each document is of one, and a third of the groups of 12 documents has none of a
    topic: by the documents of the group alone its share would be 0 for sure."""
    generator = np.random.default_rng(4)
    documents = [generator.integers(5 * k, 5 * k + 5, 20) for k in generator.integers(0, 12, 240)]
    group = generator.permutation(np.repeat([f"g{i}" for i in range(20)], 12))
    corpus = corpus_of(tmp_path, documents, {"group": group})
    phi = np.kron(np.eye(12), np.full(5, 0.2))
    found = effects(posterior_of([run_of(tmp_path, corpus, phi)]), corpus, "group")
    lacking = found.share.mean == 0
    assert lacking.mean() > 0.2 and (found.share.high[lacking] > 0.05).all()
    assert not found.difference.is_apart[lacking].any()
    assert found.difference.is_apart.mean() < 0.1


def test_a_view_shows_sums_of_topics(tmp_path):
    """Shares of two topics of three are 1 less that of the third, and so are as sure."""
    generator = np.random.default_rng(5)
    documents = [
        np.concatenate([generator.integers(10 * k, 10 * k + 10, n) for k, n in enumerate(of)])
        for of in generator.multinomial(30, generator.dirichlet(np.ones(3), 60))
    ]
    corpus = corpus_of(tmp_path, documents, {"half": ["one", "other"] * 30})
    run = run_of(tmp_path, corpus, np.kron(np.eye(3), np.full(10, 0.1)))
    view = edit(run, Edits(merges=[(0, 2)]), tmp_path / "view")
    whole, found = (effects(posterior_of([shown]), corpus, "half") for shown in (run, view))
    both = whole.share.mean[0] + whole.share.mean[2]
    np.testing.assert_allclose(found.share.mean, [both, whole.share.mean[1]], rtol=1e-9)
    halves = found.share.high - found.share.mean
    np.testing.assert_allclose(halves[0], halves[1], rtol=1e-3)
    np.testing.assert_allclose(found.difference.low[0], -found.difference.high[1], rtol=1e-6)


def test_numbers_have_an_order(tmp_path):
    """And so a change from the first to the last, of which a topic has more."""
    generator = np.random.default_rng(1)
    years = np.repeat(["9", "10", "101"], 20)
    documents = [
        generator.integers(0, 10, 30) if generator.random() < p else generator.integers(10, 20, 30)
        for p in np.repeat([0.1, 0.5, 0.9], 20)
    ]
    corpus = corpus_of(tmp_path, documents, {"year": years})
    phi = np.kron(np.eye(2), np.full(10, 0.1))
    posterior = posterior_of([run_of(tmp_path, corpus, phi, chains=2)])
    found = effects(posterior, corpus, "year")
    assert found.groups.names == ["9", "10", "101"]
    expected = found.share.mean[:, 2] - found.share.mean[:, 0]
    np.testing.assert_allclose(found.change.mean, expected, rtol=1e-6)
    assert found.change.low[0] > 0 > found.change.high[1]
    assert change_of(found, 0)["change_low"] == found.change.low[0]


def test_intervals_hold_zero_where_nothing_depends_on_the_groups(tmp_path):
    """Of 60 random columns of two values about one in ten of 240 differences is marked: 24, with a
    standard deviation of some 6 as topics of a column go together. 5 or 48 and more come up once in
    a thousand. If tokens counted as drawn on their own, more than half would be marked."""
    generator = np.random.default_rng(7)
    documents = lda_documents(400, 120, 4, seed=6)
    columns = {f"c{i}": generator.choice(["yes", "no"], 400) for i in range(60)}
    corpus = corpus_of(tmp_path, documents, columns)
    phi = np.random.default_rng(6).dirichlet(np.full(120, 0.05), 4)  # of these documents
    posterior = posterior_of([run_of(tmp_path, corpus, phi)])
    marked = sum(
        effects(posterior, corpus, name).difference.is_apart[:, 0].sum() for name in columns
    )
    assert 5 < marked < 48


def test_periods_of_time(tmp_path):
    generator = np.random.default_rng(1)
    days = [f"20{18 + i // 15}-0{1 + i % 9}-01" for i in range(60)]
    documents = [generator.integers(0, 20, 30) for _ in range(60)]
    corpus = corpus_of(tmp_path, documents, {"year": ["x"] * 60, "day": days}, time="day")
    posterior = posterior_of([run_of(tmp_path, corpus, np.kron(np.eye(2), np.full(10, 0.1)))])
    found = effects(posterior, corpus, "year")  # not the column of that name
    assert found.groups.names == ["2018", "2019", "2020", "2021"] and found.change is not None
    assert found.documents.tolist() == [15] * 4


@pytest.mark.parametrize(
    ("by", "told"),
    [
        ("grup", "--by grup: the corpus keeps no such column; did you mean group\\?"),
        ("xyz", "it keeps group, other"),
        (
            "other",
            r"--by other: of its values \(1\) only 1 are in 10 documents or more",
        ),
        ("month", "no such column"),
    ],
)
def test_what_cannot_be_asked(known, by, told):
    corpus, posterior, *_ = known
    with pytest.raises(UsageError, match=told):
        effects(posterior, corpus, by)


def test_a_column_of_too_many_values(known, monkeypatch):
    corpus, posterior, *_ = known
    monkeypatch.setattr("topicmc.topics.effects.MOST_GROUPS", 3)
    with pytest.raises(UsageError, match="--by group: has 4 values, and 3 are the most"):
        effects(posterior, corpus, "group")


def test_a_corpus_without_columns(small_corpus, known):
    with pytest.raises(UsageError, match="--by party: the corpus keeps no columns; prepare it wi"):
        groups_of(small_corpus, "party")
    with pytest.raises(UsageError, match="--by year: the corpus knows no times"):
        groups_of(small_corpus, "year")
