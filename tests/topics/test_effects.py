"""What groups of documents have of topics: by hand where nobody doubts which token is whose, at its
level where nothing depends on the groups, and what cannot be asked."""

import csv
from types import SimpleNamespace

import numpy as np
import pytest
from fake_runs import gamma_samples, make_run
from scipy.stats import t
from synthetic import lda_documents

from topicmc.corpora import prepare
from topicmc.errors import UsageError
from topicmc.kernels.threads import Threads
from topicmc.topics.document_groups import groups_of
from topicmc.topics.editing import Edits, edit
from topicmc.topics.effects import (
    Sums,
    _difference,
    change_of,
    effects_of,
    rows_of,
)
from topicmc.topics.prevalence import Moments, Prevalence
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
        """Shares, squared errors, and what these are expected to be where each document's share of
        a topic has variance 1: errors are a matrix times the shares."""
        own, sizes = tokens[chosen], lengths[chosen]
        share = own.sum(axis=0) / sizes.sum()
        matrix = sizes[:, None] * (np.eye(len(sizes)) - sizes / sizes.sum())
        return share, ((own - sizes[:, None] * share) ** 2).sum(axis=0), (matrix**2).sum()

    def freedom(chosen):
        squares = lengths[chosen] ** 2.0
        return squares.sum() ** 2 / (squares**2).sum() - 1

    known_groups = np.isin(group, found.groups.names)
    members = [group == name for name in found.groups.names]
    _, squares, expected = zip(*map(errors, members), strict=True)
    usual = sum(squares) / sum(expected)

    def told(chosen):
        share, squares, expected = errors(chosen)
        sizes, factor = lengths[chosen], t.ppf(0.95, freedom(chosen)) ** 2
        variance = np.maximum(squares / expected, usual) * (sizes**2).sum() / sizes.sum() ** 2
        return share, factor * variance, chosen.sum()

    for g, name in enumerate(found.groups.names):
        share, v, n = told(group == name)
        half = np.sqrt(v)
        np.testing.assert_allclose(found.share.mean[:, g], share, rtol=1e-6)
        np.testing.assert_allclose(found.share.high[:, g] - share, half, rtol=1e-3)
        np.testing.assert_allclose(share - found.share.low[:, g], half, rtol=1e-3)
        rest, v_rest, _ = told(known_groups & (group != name))
        half = np.sqrt(half**2 + v_rest)
        np.testing.assert_allclose(found.difference.mean[:, g], share - rest, rtol=1e-6)
        np.testing.assert_allclose(found.difference.high[:, g], share - rest + half, rtol=1e-3)
        np.testing.assert_allclose(found.difference.low[:, g], share - rest - half, rtol=1e-3)
        assert found.documents[g] == n and found.tokens[g] == tokens[group == name].sum()
    assert found.difference.is_apart[:, 1:].all()
    (row, *_), k = rows_of(found, 0), 0
    assert row["group"] == "10" and row["share"] == found.share.mean[k, 0]
    assert row["difference_low"] == found.difference.low[k, 0] and change_of(found, 0) == {}


@pytest.mark.parametrize("n_books", [0, 12])
def test_groups_that_lack_a_rare_topic_by_chance(tmp_path, n_books):
    """Of 12 topics each document is of one, and a third of the groups of 12 documents has none of a
    topic: by the documents of the group alone its share would be 0 for sure. So it would be by the
    errors of all documents, where one more group is of 12 that are long and of all topics alike."""
    generator = np.random.default_rng(4)
    documents = [generator.integers(5 * k, 5 * k + 5, 20) for k in generator.integers(0, 12, 240)]
    group = generator.permutation(np.repeat([f"g{i}" for i in range(20)], 12))
    documents += [generator.integers(0, 60, 500) for _ in range(n_books)]
    corpus = corpus_of(tmp_path, documents, {"group": [*group, *["books"] * n_books]})
    phi = np.kron(np.eye(12), np.full(5, 0.2))
    found = effects(posterior_of([run_of(tmp_path, corpus, phi)]), corpus, "group")
    lacking = found.share.mean == 0
    assert lacking.mean() > 0.2 and (found.share.high[lacking] > 0.05).all()
    assert not found.difference.is_apart[lacking].any()
    assert found.difference.is_apart.mean() < 0.1


def sums_by(lengths, shares) -> Sums:
    """Of groups of documents that are so long and have these shares of topics: of each group
    float64 (K, n)."""
    sizes = [np.array(of_group, float) for of_group in lengths]
    tokens = [n * of_group for n, of_group in zip(sizes, shares, strict=True)]

    def of_groups(values):
        return np.stack([of_group.sum(axis=-1) for of_group in values], axis=-1)

    moments = Moments(
        own=[of_groups(x**2 for x in tokens)[None]],
        cross=[of_groups(x * n for x, n in zip(tokens, sizes, strict=True))[None]],
        squares=of_groups(n**2 for n in sizes),
        cubes=of_groups(n**3 for n in sizes),
        fourths=of_groups(n**4 for n in sizes),
    )
    found = Prevalence([of_groups(tokens)[None]], of_groups(sizes), moments)
    return Sums.of(found, np.array([len(n) for n in sizes]))


def sums_of(lengths, n_topics: int) -> Sums:
    """The same of shares that are independent draws of a uniform law."""
    generator = np.random.default_rng(8)
    return sums_by(lengths, [generator.random((n_topics, len(of_group))) for of_group in lengths])


SURE = SimpleNamespace(
    level=0.9,
    mean=lambda chains: chains[0][0],
    half_width=lambda chains: np.zeros(chains[0].shape[1:]),
)
"""What a posterior of one draw makes of values (1, K, …), at which nobody doubts."""


def test_doubt_about_topics_adds_to_that_about_documents():
    """By hand, in a difference of groups and in the change from one to another."""
    sums = sums_of([[10] * 400, [7] * 300], 5)
    doubt = SimpleNamespace(
        level=0.9, mean=SURE.mean, half_width=lambda chains: np.full(chains[0].shape[1:], 0.02)
    )
    sampled = t.ppf(0.95, sums.freedom) ** 2 * sums.variances()[0][0]
    for one, other in ((sums, sums.others()), (sums.only([1]), sums.only([0]))):
        found = _difference(doubt, one, other)
        half = np.sqrt(0.02**2 + sampled.sum(axis=1))[:, None]
        assert half.max() < 0.1  # far from where intervals end
        np.testing.assert_allclose(found.mean, one.shares[0][0] - other.shares[0][0])
        np.testing.assert_allclose(found.high - found.mean, np.broadcast_to(half, found.mean.shape))
        np.testing.assert_allclose(found.mean - found.low, found.high - found.mean)


@pytest.mark.parametrize(("n_letters", "n_books"), [(5, 1), (1, 5), (1, 1)])
def test_short_documents_beside_long_ones_that_vary_less(n_letters, n_books):
    """Groups of 40 letters, each of one of many topics, and of 12 books, whose shares differ sixty
    times less. A topic that 2, 5, 10 or 30 % of the letters are of is lacking in 45, 13, 1 and 0 %
    of the groups; 90 % intervals are to mark no more than 10 % of the differences of letters. By
    the laws of binomial and χ² variables they mark 9 % at most, and 11 % of 4,000 topics come up
    once in 100,000 times. By the letters' own errors and those of all documents those that lack the
    topic would all be marked: 45 and 14 % of the first two."""
    generator = np.random.default_rng(10)
    means = np.repeat([0.02, 0.05, 0.1, 0.3], 4000)[:, None]
    spread = np.sqrt(means * (1 - means)) / 60
    letters = [(generator.random((16_000, 40)) < means).astype(float) for _ in range(n_letters)]
    books = [means + spread * generator.normal(size=(16_000, 12)) for _ in range(n_books)]
    lengths = [[20] * 40] * n_letters + [[100_000] * 12] * n_books
    sums = sums_by(lengths, letters + books)
    apart = _difference(SURE, sums, sums.others()).is_apart[:, :n_letters]
    marked = apart.reshape(4, -1).mean(axis=1)
    assert (marked < 0.11).all()
    assert marked[3] > 0.03  # nor do intervals hold everything


def test_intervals_of_long_documents_are_not_those_of_short_ones():
    """Whatever groups of short documents are beside them: a variance of shares that is pooled over
    all groups by degrees of freedom would make them sixty times as wide."""
    generator = np.random.default_rng(11)
    letters = [(generator.random((4000, 40)) < 0.1).astype(float) for _ in range(5)]
    books = 0.1 + 0.005 * generator.normal(size=(4000, 12))
    sums = sums_by([[20] * 40] * 5 + [[100_000] * 12], [*letters, books])
    own, variances = sums.own[0][0, :, -1] * sums.weights[-1], sums.variances()[0][0, :, -1]
    assert 1 <= variances.mean() / own.mean() < 1.5  # the greatest of three estimates


@pytest.mark.parametrize(
    "lengths",
    [
        [[100_000, *[100] * 9]],
        [[100_000, *[100] * 9], [1000] * 100],
        [[2**i for i in range(12)]],
        [[2**i for i in range(12)], [3] * 20, [1, 1, 1000]],
    ],
)
def test_variances_are_those_of_shares_however_long_documents_are(lengths):
    """Over 4,000 topics the mean of what is told of one group, or usual of several, is the variance
    of the groups' shares. The ratio of the two has a standard error of 0.02 to 0.03, and is off by
    0.15 less than once in 100,000 times. With D / (D − 1) in place of Σ N² / c it is 0.0001, 0.01,
    0.5 and 0.4."""
    sums = sums_of(lengths, 4000)
    weights = [np.sum(np.square(of, dtype=float)) / sum(of) ** 2 for of in lengths]
    expected = sums.usual[0].mean() * np.array(weights)
    np.testing.assert_allclose(sums.shares[0][0].var(axis=0), expected, rtol=0.15)
    np.testing.assert_allclose(sums.weights, weights)


@pytest.mark.parametrize("n_long", [1, 2, 5, 10])
def test_intervals_of_groups_in_which_few_documents_have_nearly_all_tokens(n_long):
    """Of 4,000 topics 90 % intervals of a group's share, by its own errors, hold the mean of the
    shares' law in some 90 %. It is 86 % of two uniform shares; 84 % come up there by chance once in
    100,000 times. With D − 1 degrees of freedom it would be 65 %."""
    sums = sums_of([[100_000] * n_long + [100] * (10 - n_long)], 4000)
    variances = sums.own[0][0, :, 0] * sums.weights
    half = t.ppf(0.95, sums.freedom) * np.sqrt(variances)
    assert (np.abs(sums.shares[0][0, :, 0] - 0.5) < half).mean() > 0.84
    np.testing.assert_allclose(sums.freedom, max(1, n_long - 1), rtol=1e-4)


def test_what_others_have_is_not_lost_beside_a_group_of_far_more():
    sums = sums_of([[10**7] * 12, [10] * 12, [12] * 12], 3)
    others, fourths = sums.others(), 12 * (10**4 + 12**4)
    np.testing.assert_allclose(others.found.moments.fourths[0], fourths)
    np.testing.assert_allclose(others.freedom[0], (12 * (10**2 + 12**2)) ** 2 / fourths - 1)


def test_nothing_is_told_of_a_group_without_tokens():
    sums = sums_of([[0] * 10, [3] * 20, [5] * 20], 3)
    others = sums_of([[0] * 10, [3] * 20], 3).others()
    assert np.isnan(sums.weights).tolist() == [True, False, False]
    assert np.isnan(others.weights).tolist() == [False, True]
    assert np.isfinite(sums.usual).all()


def test_a_long_document_is_one_document(tmp_path):
    """Whoever writes, a document has the share 0.5 ± 0.29 of the topic. One author has a book of
    1,000 tokens and nine notes of 5, another 100 letters of 20: the share of the first is nearly
    that of the book, and no surer. None of 60 such pairs is marked, as the interval of what is said
    by one document reaches as far as a difference can, and no further. Were errors compared with
    Σ N² in place of c, and D − 1 the degrees of freedom, some 45 would be. The widths are those of
    50 % intervals, which do not reach so far."""
    generator = np.random.default_rng(9)
    kinds = {"book": (1000, 30), "letter": (20, 200), "note": (5, 200)}
    lengths = np.concatenate([np.full(n, length) for length, n in kinds.values()])
    shares = [generator.permutation(np.arange(n) + 0.5) / n for _, n in kinds.values()]
    first = np.rint(lengths * np.concatenate(shares)).astype(int)
    documents = [
        [*generator.integers(0, 10, a), *generator.integers(10, 20, n - a)]
        for a, n in zip(first, lengths, strict=True)
    ]
    columns = {}
    for i in range(60):
        columns[f"c{i}"] = author = np.full(len(documents), "", "<U5")
        author[[i % 30, *generator.choice(np.arange(230, 430), 9, replace=False)]] = "one"
        author[generator.choice(np.arange(30, 230), 100, replace=False)] = "other"
    corpus = corpus_of(tmp_path, documents, columns)
    run = run_of(tmp_path, corpus, np.kron(np.eye(2), np.full(10, 0.1)))
    posterior = posterior_of([run])
    found = [effects(posterior, corpus, name) for name in columns]
    assert {tuple(one.documents.tolist()) for one in found} == {(10, 100)}
    assert not any(one.difference.is_apart[0, 0] for one in found)
    ends = {(one.difference.low[0, 0], one.difference.high[0, 0]) for one in found}
    assert ends == {(-1, 1)}
    posterior = posterior_of([run], level=0.5)
    found = [effects(posterior, corpus, f"c{i}").difference for i in range(30)]  # each book once
    halves = [(one.high[0, 0] - one.low[0, 0]) / 2 for one in found]
    known = t.ppf(0.75, 1) * np.sqrt(1 / 12) * np.sqrt(1000**2 + 9 * 5**2) / 1045
    assert 0.95 < np.mean(halves) / known < 1.3  # the greater of two estimates is 15 % too wide


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


def test_groups_that_memory_is_too_small_for(known, monkeypatch):
    """Twelve arrays of 8 draws, 3 groups and 2 topics."""
    corpus, posterior, *_ = known
    free = [12 * 8 * 8 * 3 * 2]
    monkeypatch.setattr("topicmc.host.machine.available_memory", lambda: free[0])
    assert effects(posterior, corpus, "group").groups.names == ["10", "11", "9"]
    free[0] -= 1
    with pytest.raises(
        UsageError,
        match="--by group: 3 groups of 2 topics need about 4.6 kB of memory, and 4.6 kB are free",
    ):
        effects(posterior, corpus, "group")


def test_periods_of_time(tmp_path):
    generator = np.random.default_rng(1)
    days = [f"20{18 + i // 15}-0{1 + i % 9}-01" for i in range(60)]
    documents = [generator.integers(0, 20, 30) for _ in range(60)]
    corpus = corpus_of(tmp_path, documents, {"year": ["x"] * 60, "day": days}, time="day")
    posterior = posterior_of([run_of(tmp_path, corpus, np.kron(np.eye(2), np.full(10, 0.1)))])
    found = effects(posterior, corpus, "year")  # not the column of that name
    assert found.groups.names == ["2018", "2019", "2020", "2021"] and found.change is not None
    assert found.documents.tolist() == [15] * 4


def test_periods_without_a_document_are_no_values(tmp_path):
    generator = np.random.default_rng(1)
    days = [f"{year}-{month:02}-05" for year in (2018, 2020) for month in range(1, 13)]
    days += ["2021-03-05"] * 3
    documents = [generator.integers(0, 20, 30) for _ in days]
    corpus = corpus_of(tmp_path, documents, {"day": days}, time="day")
    groups = groups_of(corpus, "year")
    assert (groups.names, groups.left_out) == (["2018", "2020"], [("2021", 3)])
    told = r"--by month: of its values \(25\) only 0 are in 10 documents or more, .*; use --by year"
    with pytest.raises(UsageError, match=told):
        groups_of(corpus, "month")


def test_of_many_documents_some_are_read_at_random(tmp_path, monkeypatch):
    """And so both of two kinds that take turns."""
    generator = np.random.default_rng(1)
    documents = [generator.integers(0, 20, 30) for _ in range(120)]
    columns = {"role": ["question", "answer"] * 60, "few": ["x"] * 8 + ["y"] * 112}
    corpus = corpus_of(tmp_path, documents, columns)
    monkeypatch.setattr("topicmc.topics.prevalence.MOST_DOCUMENTS", 60)
    groups = groups_of(corpus, "role")
    assert groups.names == ["answer", "question"] and groups.left_out == []
    assert len(groups.numbers) == 60 and (np.diff(groups.numbers) > 0).all()
    assert np.bincount(groups.of, minlength=2).min() > 15
    with pytest.raises(UsageError, match="only 1 is in 10 documents or more of those read, and"):
        groups_of(corpus, "few")


def test_values_that_begin_alike_are_groups_of_their_own(tmp_path):
    generator = np.random.default_rng(1)
    documents = [generator.integers(0, 20, 30) for _ in range(30)]
    names = [250 * "x" + end for end in "ab"]
    corpus = corpus_of(tmp_path, documents, {"place": names * 15})
    groups = groups_of(corpus, "place")
    assert groups.names == names and np.bincount(groups.of).tolist() == [15, 15]


@pytest.mark.parametrize(
    ("by", "told"),
    [
        ("grup", "--by grup: the corpus keeps no such column; did you mean group\\?"),
        ("xyz", "it keeps group, other"),
        (
            "other",
            r"--by other: of its values \(1\) only 1 is in 10 documents .*; name another column$",
        ),
        ("month", "no such column"),
    ],
)
def test_what_cannot_be_asked(known, by, told):
    corpus, posterior, *_ = known
    with pytest.raises(UsageError, match=told):
        effects(posterior, corpus, by)


def test_a_column_of_too_many_values(monkeypatch):
    """No more of them are read, which may be whole texts."""

    class Columns:
        def __getitem__(self, number: int) -> dict[str, str]:
            assert number <= 3
            return {"text": f"text {number}"}

    monkeypatch.setattr("topicmc.topics.document_groups.MOST_GROUPS", 3)
    corpus = SimpleNamespace(columns=Columns(), n_docs=10)
    with pytest.raises(UsageError, match="--by text: has more than 3 values; name a column of fe"):
        groups_of(corpus, "text")


def test_codes_with_underscores_are_no_numbers(tmp_path):
    generator = np.random.default_rng(1)
    documents = [generator.integers(0, 20, 30) for _ in range(30)]
    corpus = corpus_of(tmp_path, documents, {"section": ["1_2", "1_10"] * 15})
    groups = groups_of(corpus, "section")
    assert (groups.names, groups.is_ordered) == (["1_10", "1_2"], False)


def test_a_corpus_without_columns(small_corpus, monkeypatch):
    """Periods are named if they can be asked for."""
    told, again = "--by party: the corpus keeps no columns; ", "prepare the same sources again in"
    way = rf"{again} the same way, and with --keep party \(runs on them stay good\)$"
    with pytest.raises(UsageError, match=told + way):
        groups_of(small_corpus, "party")
    with pytest.raises(UsageError, match=f"--by year: the corpus knows no times; {again}.*--time"):
        groups_of(small_corpus, "year")
    times = np.full(small_corpus.n_docs, np.datetime64("2001-07-01"))
    monkeypatch.setattr(small_corpus, "times", times)
    periods = r"name a period \(day, month, year, decade\), or "
    with pytest.raises(UsageError, match=told + periods + way):
        groups_of(small_corpus, "party")


def test_a_column_of_dates_leads_to_periods(tmp_path, monkeypatch):
    days = [f"2001-01-{day:02}" for day in range(1, 31)]
    codes = [f"a-{number}" for number in range(30)]
    documents = [np.arange(5)] * 30
    corpus = corpus_of(tmp_path, documents, {"date": days, "code": codes})
    way = r"; use --by year; for that prepare the same sources .*, and with --time date \("
    with pytest.raises(UsageError, match=r"--by date: of its values \(30\) only 0 are .*" + way):
        groups_of(corpus, "date")
    with pytest.raises(UsageError, match="; name another column$"):
        groups_of(corpus, "code")
    monkeypatch.setattr("topicmc.topics.document_groups.MOST_GROUPS", 3)
    with pytest.raises(UsageError, match="--by date: has more than 3 values" + way):
        groups_of(corpus, "date")
    monkeypatch.setattr(corpus, "times", np.full(30, np.datetime64("2001-07-01")))
    with pytest.raises(UsageError, match="--by date: has more than 3 values; use --by year$"):
        groups_of(corpus, "date")
