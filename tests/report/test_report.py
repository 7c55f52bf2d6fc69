"""What a report holds, before a browser sees it."""

import json
import re
import shlex
import weakref
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from naive_gibbs import enumerate_given_phi
from report_runs import HOSTILE, hostile_corpus, made_up_run
from scipy.stats import t
from synthetic import documents_of

from topicmc.corpora import Corpus, prepare
from topicmc.corpora.offsets import offsets
from topicmc.corpora.periods import periods, periods_of
from topicmc.errors import UsageError
from topicmc.inference.deviations import Sample
from topicmc.inference.mixes import representative_documents
from topicmc.kernels import batch as batches
from topicmc.kernels.gibbs import UNASSIGNED, topic_rows
from topicmc.kernels.threads import Threads
from topicmc.models.lda.draws import draw_of
from topicmc.models.lda.run import TopicRun
from topicmc.report.documents import pick
from topicmc.report.gather import gather
from topicmc.report.page import assemble, embedded
from topicmc.report.runs import by_folders, run_of
from topicmc.report.topics import CHART_WORDS, STEP, reachable
from topicmc.report.trends import trends_of
from topicmc.topics.editing import Edits, edit
from topicmc.topics.layout import plane
from topicmc.topics.prevalence import Draw, _batches, _counted, prevalence, randomly_chosen
from topicmc.topics.ranking import relevance, top
from topicmc.topics.reading import describe
from topicmc.topics.uncertainty import posterior_of, word_draws


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Corpus:
    return hostile_corpus(tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def run(corpus, tmp_path_factory):
    return made_up_run(tmp_path_factory.mktemp("run"), 4, corpus.vocabulary, corpus)


@pytest.fixture(scope="module")
def data(run, corpus):
    return gather([run], corpus, n_documents=3)


def counted(documents, draws, n_words):
    """The tokens of documents by topic, under one draw after the other."""
    arrays = documents.indptr, documents.word_ids, documents.counts
    batch = batches.gather(*arrays, np.arange(documents.n_docs), n_words)
    z = np.full(batch.n_tokens, UNASSIGNED)
    return [_counted(batch, draw, z, number, Threads(1)) for number, draw in enumerate(draws)]


def test_draws_of_a_view_beside_a_run_of_fewer_topics(corpus):
    """Each chain begins anew."""
    rng = np.random.default_rng(2)
    documents, draws = documents_of([{0: 30, 4: 10}, {2: 20}]), []
    for n, merged in ((60, lambda by: by.reshape(-1, 3, 20).sum(axis=1)), (20, lambda by: by)):
        theta = rng.gamma(np.ones((corpus.n_words, n))).astype(np.float32)
        draws.append(Draw(Sample(theta, theta.sum(axis=0), np.full(n, 0.1)), True, merged))
    for order in (draws, draws[::-1]):
        found = counted(documents, order, corpus.n_words)
        assert [tokens.sum(axis=1).tolist() for tokens in found] == [[40, 20]] * 2


def test_tokens_of_groups_are_those_of_their_documents(run, corpus, monkeypatch):
    """Of some documents at a time, which are in few of the groups; counts are whole numbers."""
    told = []

    def counting(batch, *rest):
        told.append((rest[2], batch.doc_ids, np.diff(batch.offsets), _counted(batch, *rest)))
        return told[-1][-1]

    monkeypatch.setattr("topicmc.topics.prevalence._counted", counting)
    monkeypatch.setattr("topicmc.topics.prevalence._BLOCK", 4 * 5)
    numbers = np.arange(corpus.n_docs)
    groups = numbers * 7 % 11
    found = prevalence(posterior_of([run]), corpus, numbers, groups, 11, Threads(1), True)
    tokens, own, cross = np.zeros((3, 4, 4, 11))
    for row, docs, lengths, counts in told:
        assert len(docs) <= 5
        for d, length, n in zip(docs, lengths, counts, strict=True):
            tokens[row, :, groups[d]] += n
            own[row, :, groups[d]] += n**2
            cross[row, :, groups[d]] += n * length
    np.testing.assert_array_equal(np.concatenate(found.tokens), tokens)
    np.testing.assert_array_equal(np.concatenate(found.moments.own), own)
    np.testing.assert_array_equal(np.concatenate(found.moments.cross), cross)


def test_a_trend_counts_tokens_however_strong_the_prior_is():
    """Of topics without a common word nobody doubts which token is whose."""
    theta = np.full((8, 2), 1e-20, np.float32)
    theta[:4, 0] = theta[4:, 1] = 1
    documents = documents_of([{0: 2, 5: 1}, {1: 3}, {6: 1, 7: 2}])
    sample = Sample(theta, theta.sum(axis=0), np.full(2, 5.0))
    (tokens,) = counted(documents, [Draw(sample, True, lambda by: by)], 8)
    assert tokens.tolist() == [[2, 1], [3, 0], [0, 3]]


def test_topics_of_tokens_are_drawn_given_alpha_and_the_other_tokens():
    """Of 3,000 documents of three words that could be of either topic: the tokens of the first in
    each of eight draws are, in the mean, those of the exact posterior (8 states), to 5.5 standard
    errors, which chance exceeds once in 10^6. Half as many documents change from one draw to the
    next as would between independent ones, or more."""
    theta = np.array([[0.6, 0.3], [0.3, 0.4], [0.1, 0.3]], np.float32)
    sample = Sample(theta, theta.sum(axis=0), np.array([0.2, 0.9]))
    draws = [Draw(sample, number == 0, lambda by: by) for number in range(8)]
    found = np.array(counted(documents_of([{0: 2, 1: 1}] * 3000), draws, 3))[:, :, 0]
    phi = (theta / theta.sum(axis=0))[[0, 0, 1]]
    states, p = enumerate_given_phi(phi, sample.alpha)
    held = (states == 0).sum(axis=1)
    mean = held @ p
    error = np.sqrt((held - mean) ** 2 @ p / 3000)
    assert (abs(found.mean(axis=1) - mean) < 5.5 * error).all()
    apart = 1 - (np.bincount(held, p) ** 2).sum()
    assert ((found[1:] != found[:-1]).mean(axis=1) > apart / 2).all()


def test_one_draw_is_held_at_a_time(run, corpus, monkeypatch):
    """Of all chains; all documents are read under it before the next is drawn."""
    drawn, held = [], []

    def drawing(*place):
        assert len(held) == len(drawn)
        assert all(theta() is None for theta in held)
        drawn.append(place)
        return draw_of(*place)

    def reading(theta, *rest):
        if len(held) < len(drawn):
            held.append(weakref.ref(theta))
        return topic_rows(theta, *rest)

    monkeypatch.setattr("topicmc.topics.prevalence.draw_of", drawing)
    monkeypatch.setattr("topicmc.topics.prevalence.topic_rows", reading)
    numbers = np.arange(corpus.n_docs)
    found = prevalence(posterior_of([run]), corpus, numbers, numbers % 2, 2, Threads(1))
    assert len(held) == len(drawn) == 4
    for tokens in found.tokens:
        np.testing.assert_allclose(tokens.sum(axis=1), np.tile(found.sizes, (2, 1)))
    assert found.sizes.sum() == corpus.n_tokens


def test_blocks_are_of_documents_that_are_read(small_corpus):
    numbers = np.arange(0, small_corpus.n_docs, 7)
    found = list(_batches(small_corpus, numbers, 10, small_corpus.n_words, Threads(1)))
    in_shards = np.diff(np.searchsorted(numbers, offsets(small_corpus.shard_sizes))).tolist()
    sizes = [min(10, n - first) for n in in_shards for first in range(0, n, 10)]
    assert [batch.n_docs for batch in found] == sizes
    places = np.concatenate([batch.doc_ids for batch in found])
    assert places.tolist() == list(range(len(numbers)))
    documents = pick(small_corpus, numbers)
    tokens = np.concatenate([batch.words[batch.tokens] for batch in found])
    np.testing.assert_array_equal(tokens, np.repeat(documents.word_ids, documents.counts))


def test_settings_are_told_in_plain_text(corpus, tmp_path):
    """Of paths, which readers need not know, the last name."""
    run = made_up_run(tmp_path, 4, corpus.vocabulary, corpus)
    seeds = {"Sport": {"match": 1.0, "team*": 2.0}, "Law": {"court": 1.0}}
    begun = {"seeds": seeds, "from_run": "/home/me/first", "topic_prior": "/home/me/prior.npy"}
    run.update_facts(config={**run.facts()["config"], **begun})
    settings = run_of(run, "run")["settings"]
    assert settings["seeds"] == "Sport: match, team* (× 2); Law: court"
    assert (settings["from run"], settings["topic prior"]) == ("first", "prior.npy")


# ---- the page


def test_no_word_can_leave_its_place_in_the_page(data):
    """The data is one script element without a "<": whatever a word holds, it ends nothing."""
    page = assemble({**data, "title": HOSTILE[0] + HOSTILE[6]})
    (inside,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert not re.search("[<>&\u2028\u2029]", inside)
    assert set(HOSTILE) <= set(json.loads(inside)["words"])
    assert page.count("<script") == 2
    assert "<title>&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#x27;`</title>" in page


def test_the_policy_forbids_the_network_and_foreign_scripts(data):
    page = assemble(data)
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"].startswith("'sha256-")
    assert "unsafe" not in policy
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", page)


def test_numbers_that_are_none_are_told_as_such(run):
    """JSON has no NaN; browsers would refuse the whole page."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        embedded({"a": float("nan")})
    alone = gather([run], None)
    json.loads(json.dumps(alone, allow_nan=False))
    assert alone["notes"]
    assert {topic["npmi"] for topic in alone["topics"]} == {None}


# ---- what is gathered


def test_every_word_that_the_slider_can_bring_up_is_there():
    """At each position the most relevant of all words are those of the words that are kept."""
    generator = np.random.default_rng(0)
    phi = generator.dirichlet(np.full(2000, 0.05), 6) + 1e-9
    share = generator.dirichlet(np.ones(6))
    shown = np.array([4, 0, 2])
    p_w = share @ phi
    kept = reachable(phi, p_w, shown)
    assert max(map(len, kept)) < 500
    for weight in np.linspace(0, 1, round(1 / STEP) + 1):
        scores = relevance(phi, p_w, weight)
        for k, words in zip(shown, kept, strict=True):
            assert set(np.argsort(-scores[k])[:CHART_WORDS]) <= set(words)


def test_words_that_are_never_relevant_are_not_ranked(monkeypatch):
    """The others are those that a ranking of all words has, equal and impossible ones too."""
    generator, weights = np.random.default_rng(1), np.linspace(0, 1, round(1 / STEP) + 1)[:, None]
    ranked = []

    def ranking(phi, p_w, weight):
        ranked.extend([phi.shape[1]] * np.ndim(weight))
        return relevance(phi, p_w, weight)

    monkeypatch.setattr("topicmc.report.topics.relevance", ranking)
    counts = generator.poisson(generator.gamma(0.05, 20, (5, 900)))
    for prior in (0, 0.01):
        phi = (counts + prior) / (counts + prior).sum(axis=1, keepdims=True)
        p_w = generator.dirichlet(np.ones(5)) @ phi
        kept = reachable(phi, p_w, np.arange(5))
        for row, words in zip(phi, kept, strict=True):
            best = np.unique(top(relevance(row[None], p_w, weights), CHART_WORDS))
            assert words.tolist() == best[np.argsort(-row[best], kind="stable")].tolist()
    assert max(ranked) < 900


def test_words_are_drawn_of_topics_that_are_shown(data, run, corpus, monkeypatch):
    asked = []

    def drawing(chain, words, *topics):
        asked.append(words.shape[0])
        return word_draws(chain, words, *topics)

    monkeypatch.setattr("topicmc.topics.uncertainty.word_draws", drawing)
    monkeypatch.setattr("topicmc.report.gather.MOST_TOPICS", 2)
    few = gather([run], corpus, n_documents=0)
    assert asked[0] == 2
    for mine, topic in zip(few["topics"], data["topics"][:2], strict=True):
        assert mine["number"] == topic["number"]
        for one, other in zip(mine["words"], topic["words"], strict=True):
            assert few["words"][one[0]] == data["words"][other[0]]
            assert one[1] == other[1] and one[4] == other[4]


def test_topics_come_with_the_numbers_of_the_posterior(data, run):
    from topicmc.topics.uncertainty import posterior_of

    posterior = posterior_of([run])
    assert [t["number"] for t in data["topics"]] == np.argsort(-posterior.share).tolist()
    for topic in data["topics"]:
        k = topic["number"]
        assert topic["share"][0] == pytest.approx(posterior.share[k], rel=1e-3)
        known = {word.word: word for word in posterior.words(k, 10)}
        rows = {data["words"][row[0]]: row[1:] for row in topic["words"]}
        for name, word in known.items():
            assert rows[name] == pytest.approx(word[2:], rel=1e-3)
        assert topic["stable"]
    assert data["overall"] == pytest.approx(posterior.share @ posterior.phi, rel=1e-3)
    spread = dict(data["spread"][0])
    assert sum(spread.values()) == pytest.approx(1, abs=0.03)


def test_facts_of_topics_are_those_that_describe_tells(data, run, corpus, monkeypatch):
    """Except for words by FREX, which the page does not show and so does not seek."""
    posterior = posterior_of([run])
    described = describe(
        posterior.phi, posterior.share, posterior.vocabulary,
        corpus=corpus, coherence=("npmi",), details=True,
    )  # fmt: skip
    known = {topic.number: topic for topic in described}
    for topic in data["topics"]:
        mine = known[topic["number"]]
        assert topic["near"] == [k for k, _ in mine.similar]
        assert topic["npmi"] == pytest.approx(mine.npmi, rel=1e-3)
        assert topic["exclusivity"] == pytest.approx(mine.exclusivity, rel=1e-3)
    monkeypatch.setattr("topicmc.topics.ranking.frex", None)
    assert gather([run], corpus)["topics"]


def test_runs_of_one_name_are_told_apart(run, corpus, tmp_path):
    other = made_up_run(tmp_path, 4, run.vocabulary(), corpus, seed=1)
    data = gather([run, other], None)
    assert [one["name"] for one in data["runs"]] == ["run (1)", "run (2)"]
    assert (data["chains"], data["samples"]) == (4, 8)
    assert [topic["found"] for topic in data["topics"]] == [4, 4, 4, 4]


def test_the_citation_names_the_versions_that_trained(run, corpus, tmp_path):
    other = made_up_run(tmp_path, 4, run.vocabulary(), corpus, seed=1)
    other.update_facts(topicmc="0.0.9")
    told = gather([run, other], None)["citation"]["text"]
    assert " by topicmc 0.1.0 and 0.0.9 (scir; seed 0, 1)." in told
    assert " by topicmc 0.1.0 (scir; seed 0)." in gather([run], None)["citation"]["text"]


def test_the_place_of_the_corpus_is_not_told(data, corpus):
    assert str(corpus.path.parent) not in json.dumps(data)


def test_the_place_of_runs_is_not_told(run, corpus, tmp_path):
    """Though the verdict says how to go on with them."""
    view = edit(run, Edits(labels={0: "News"}), tmp_path / "view")
    for told in (gather([run], None), gather([view], None)):
        assert told["verdict"]["converged"] is None
        assert "train -o run --resume" in told["verdict"]["sentence"]
        assert str(run.path.parent) not in json.dumps(told)
        assert str(tmp_path) not in json.dumps(told)


def test_runs_of_one_name_are_told_apart_without_their_paths(run, tmp_path):
    other = TopicRun(tmp_path / "o'brien" / "run")  # a path that a shell has to have quoted
    command = f"topicmc train -o {shlex.quote(str(other.path))} --resume"
    told = by_folders(f"{run.path} rises; continue training ({command})", [run, other])
    assert told == "run (1) rises; continue training (topicmc train -o 'run (2)' --resume)"
    assert by_folders("Converged of run", [TopicRun(Path("run"))]) == "Converged of run"


def test_uses_of_words_are_looked_at_in_blocks(data, run, monkeypatch):
    monkeypatch.setattr("topicmc.report.topics.BLOCK", 7)
    assert gather([run], None)["spread"] == data["spread"]


def test_ids_and_columns_are_told_with_the_documents_alone(tmp_path):
    """And the page says that it holds them."""
    words = [f"word{letter}" for letter in "abcdefghijkl"]
    texts = [" ".join((words + words)[i : i + 8]) for i in range(12)]
    rows = [f"patient-{i},secret-{i},{text}" for i, text in enumerate(texts)]
    (tmp_path / "t.csv").write_text("\n".join(["id,finding,text", *rows]))
    source = prepare(
        tmp_path / "t.csv", tmp_path / "corpus", id="id", columns=["finding"], n_heldout=0
    )
    run = made_up_run(tmp_path, 4, source.vocabulary, source)
    page, without = (assemble(gather([run], source, n_documents=n)) for n in (2, 0))
    assert "columns that were kept" in page
    assert "patient-" in page and "secret-" in page
    assert "patient-" not in without and "secret-" not in without


# ---- the map


def test_a_map_of_points_in_the_plane_is_their_picture():
    """Distances that fit into the plane after the least was taken off are kept, up to scale."""
    points = np.random.default_rng(1).normal(size=(12, 2)) * [3, 1]
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    others = ~np.eye(12, dtype=bool)
    # plane() takes 0.9 of the least distance off; with this much on top nothing is left of that.
    lifted = apart + others * 9 * apart[others].min()
    places = plane(lifted)
    found = np.linalg.norm(places[:, None] - places, axis=2)[others]
    assert np.corrcoef(found, apart[others])[0, 1] > 0.999
    assert np.abs(places).max() == 1
    assert np.ptp(places[:, 0]) == 2


@pytest.mark.parametrize("n", [1, 2, 3])
def test_maps_of_few_or_equal_topics(n):
    assert plane(1.0 - np.eye(n)).shape == (n, 2)
    assert np.isfinite(plane(np.zeros((n, n)))).all()


# ---- documents and times


def test_documents_are_picked_across_shards(small_corpus):
    numbers = np.array([299, 0, 150, 0])
    picked = pick(small_corpus, numbers)
    every = [
        small_corpus.shard(s).part(d, d + 1)
        for s in range(small_corpus.n_shards)
        for d in range(small_corpus.shard_sizes[s])
    ]
    for i, number in enumerate(numbers):
        np.testing.assert_array_equal(picked.part(i, i + 1).word_ids, every[number].word_ids)
        np.testing.assert_array_equal(picked.part(i, i + 1).counts, every[number].counts)


@pytest.mark.parametrize(
    ("first", "last", "unit", "n", "names"),
    [
        ("2020-01-30", "2020-02-02", "day", 4, ["2020-01-30", "2020-02-02"]),
        ("2019-11-30", "2020-02-02", "month", 4, ["2019-11", "2020-02"]),
        ("1969-06-01", "2020-02-02", "year", 52, ["1969", "2020"]),
        ("1811-06-01", "2020-02-02", "decade", 22, ["1810s", "2020s"]),
    ],
)
def test_periods_are_calendar_units(first, last, unit, n, names):
    times = np.array([last, "NaT", first], "datetime64[D]")
    found, index, all_names = periods(times)
    assert (found, len(all_names)) == (unit, n)
    assert [all_names[0], all_names[-1]] == names
    assert index.tolist() == [n - 1, -1, 0]


def test_the_unit_to_take_instead_is_one_that_can_be_taken():
    times = np.array(["1900-01-01", "2020-06-01"], "datetime64[D]")
    with pytest.raises(UsageError, match="--by day: makes more than 1,000 periods; use --by year"):
        periods(times, "day")
    assert periods(times, "year")[0] == "year"


def known(times, year):
    return int((times.astype("datetime64[Y]") == np.datetime64(str(year))).sum())


def test_a_trend_is_of_the_chains_that_found_the_topic(run, corpus, monkeypatch):
    """What the second chain has in place of topic 0 is another topic, and a chain in its start has
    no sample."""
    times = np.full(corpus.n_docs, np.datetime64("2001-07-01"))
    monkeypatch.setattr(corpus, "times", times)
    posterior, year = posterior_of([run]), periods_of(corpus, None)
    first, second = posterior.chains
    shown = np.arange(len(posterior.phi))

    def trends(*chains):
        _, rows = trends_of(replace(posterior, chains=chains), shown, corpus, year)
        return np.array(rows, float)[:, 0]

    alone, both = trends(first), trends(first, second)
    lacking = trends(first, replace(second, found=second.found & (shown > 0)))
    np.testing.assert_array_equal(lacking[0], alone[0])
    np.testing.assert_array_equal(lacking[1:], both[1:])
    assert (both[0] != alone[0]).all()
    np.testing.assert_array_equal(trends(first, replace(second, provisional=True)), alone)


def test_a_trend_is_of_the_tokens_of_each_period(run, corpus, monkeypatch):
    """Documents whose years follow the words of one topic make that topic's trend, and no document
    without a time enters."""
    posterior = posterior_of([run])
    numbers = representative_documents(posterior.phi, posterior.alpha, corpus, 20)
    chosen, others = numbers[np.argsort(-posterior.share)[:2]]
    times = np.array(["NaT"] * corpus.n_docs, "datetime64[D]")
    times[others] = np.datetime64("1950-07-01")
    times[chosen] = np.datetime64("2001-07-01")
    monkeypatch.setattr(corpus, "times", times)
    data = gather([run], corpus)
    assert data["periods"]["unit"] == "year"
    trends = np.array([topic["trend"] for topic in data["topics"]], float)
    assert trends.shape == (4, 52, 3)
    assert np.isnan(trends[:, 1:-1]).all()
    low, high = trends[:, [0, -1], 1], trends[:, [0, -1], 2]
    trends = trends[:, :, 0]
    assert (low < trends[:, [0, -1]]).all() and (trends[:, [0, -1]] < high).all()
    assert data["periods"]["documents"] == [known(times, 1950), *[0] * 50, known(times, 2001)]
    np.testing.assert_allclose(trends[:, [0, -1]].sum(axis=0), 1, rtol=1e-3)
    assert trends[0, -1] > 2 * trends[0, 0]
    assert trends[1, 0] > 2 * trends[1, -1]
    times[others[5:]] = "NaT"  # five documents of 1950 are too few
    assert gather([run], corpus)["periods"]["names"] == ["2001"]


def test_a_trend_of_some_of_many_documents_tells_what_the_others_leave_open(
    run, corpus, monkeypatch
):
    """By hand: the error of a ratio of sums, less the part of the documents that are read."""
    monkeypatch.setattr(corpus, "times", np.full(corpus.n_docs, np.datetime64("2001-07-01")))
    monkeypatch.setattr("topicmc.topics.prevalence.MOST_DOCUMENTS", 80)
    posterior = posterior_of([run])
    facts, rows = trends_of(posterior, np.arange(4), corpus, periods_of(corpus, None))
    assert facts["documents"] == [facts["dated"]] == [corpus.n_docs] and facts["read"] == 80

    numbers = randomly_chosen(np.arange(corpus.n_docs))
    of_documents = prevalence(posterior, corpus, numbers, np.arange(80), 80, Threads(1))
    n = of_documents.sizes
    shares = [tokens.sum(axis=2) / n.sum() for tokens in of_documents.tokens]
    errors = [
        ((tokens - share[:, :, None] * n) ** 2).sum(axis=2)
        for tokens, share in zip(of_documents.tokens, shares, strict=True)
    ]
    matrix = n[:, None] * (np.eye(80) - n / n.sum())  # of shares, which makes errors
    variance = posterior.mean(errors) / (matrix**2).sum() * (n**2).sum() / n.sum() ** 2
    freedom = (n**2).sum() ** 2 / (n**4).sum() - 1
    sampled = t.ppf(0.95, freedom) * np.sqrt(variance * (1 - 80 / corpus.n_docs))
    mean, low, high = posterior.pooled(shares)
    low, high = mean - np.hypot(mean - low, sampled), mean + np.hypot(high - mean, sampled)
    expected = np.clip([mean, low, high], 0, 1)
    np.testing.assert_allclose(np.array(rows, float)[:, 0].T, expected, rtol=2e-3)
