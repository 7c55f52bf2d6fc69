"""Topic mixes: where they are known exactly, near the exact posterior, and never dependent on what
must not matter."""

import itertools
import tracemalloc

import numpy as np
import pytest
from fake_runs import gamma_samples, make_run, topic_shapes
from scipy.special import gammaln
from synthetic import documents_of

from topicmc import LDA
from topicmc.corpora import Documents
from topicmc.corpora.reading import Known, Reading
from topicmc.inference import mixes as inference
from topicmc.inference.deviations import Sample, deviations
from topicmc.inference.facts import Totals, free_names
from topicmc.inference.mixes import infer_under, representative_documents
from topicmc.kernels import mixes
from topicmc.kernels.padding import padded_size, padded_topics
from topicmc.kernels.threads import Threads
from topicmc.models.lda import mixes as lda_mixes
from topicmc.models.lda.mixes import Mixer
from topicmc.storage import scratch

ONE = Threads(1)


def random_documents(n_docs: int, n_words: int, seed: int = 0) -> Documents:
    """Some of them empty."""
    generator = np.random.default_rng(seed)
    rows = [generator.integers(n_words, size=generator.integers(0, 60)) for _ in range(n_docs)]
    counted = (np.unique(row, return_counts=True) for row in rows)
    return documents_of([dict(zip(*map(list, pair), strict=True)) for pair in counted])


def random_topics(n_topics: int, n_words: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    phi = generator.dirichlet(np.full(n_words, 0.1), n_topics)
    return phi, generator.uniform(0.05, 0.5, n_topics)


def mix_of(phi, documents, alpha) -> np.ndarray:
    """Of documents, or of a stream of them, some at a time."""
    mixer = Mixer(np.asarray(phi), np.asarray(alpha), ONE)
    stream = [documents] if isinstance(documents, Documents) else documents
    return np.concatenate([mixer.mixes(part) for part in lda_mixes.parts(stream, mixer.block)])


# --- the mixes ------------------------------------------------------------------------------------


def naive_counts(row: dict[int, int], phi, alpha, n_sweeps: int) -> np.ndarray:
    """CVB0 in float64, a token type at a time; returns α + n."""
    shares = {word: np.zeros(len(alpha)) for word in row}
    sums = alpha.copy()
    for _ in range(n_sweeps):
        for word in sorted(row):
            new = (sums - shares[word]) * phi[:, word]
            new /= new.sum()
            sums += row[word] * (new - shares[word])
            shares[word] = new
    return sums


@pytest.mark.parametrize("n_topics", [2, 16, 37])
def test_the_kernel_agrees_with_its_slow_twin(n_topics):
    phi, alpha = random_topics(n_topics, 40)
    documents = random_documents(60, 40)
    rows = np.zeros((40, padded_size(n_topics)), np.float32)
    rows[:, :n_topics] = phi.T
    arrays = documents.indptr, documents.word_ids, documents.counts
    for n_sweeps in (1, 7):
        found = mixes.expected_counts(
            *arrays, rows, padded_topics(alpha), ONE, max_sweeps=n_sweeps, tolerance=0.0
        )
        assert (found[:, n_topics:] == 0).all()
        for d, (start, stop) in enumerate(itertools.pairwise(documents.indptr)):
            row = dict(zip(documents.word_ids[start:stop].tolist(),
                           documents.counts[start:stop].tolist(), strict=True))  # fmt: skip
            expected = naive_counts(row, phi, alpha, n_sweeps)
            np.testing.assert_allclose(found[d, :n_topics], expected, rtol=1e-4, atol=1e-5)


def test_a_document_is_done_when_it_has_settled():
    """The default tolerance stops early, and close to where 200 sweeps end."""
    phi, alpha = random_topics(20, 200)
    documents = random_documents(200, 200)
    mixer = Mixer(phi, alpha, ONE)
    settled = mixer.mixes(documents)
    arrays = documents.indptr, documents.word_ids, documents.counts
    rows = np.zeros((200, 32), np.float32)
    rows[:, :20] = phi.T
    long = mixes.expected_counts(
        *arrays, rows, padded_topics(alpha), ONE, max_sweeps=200, tolerance=0.0
    )[:, :20]
    long /= long.sum(axis=1, keepdims=True)
    distance = np.abs(settled - long).sum(axis=1) / 2
    assert 0 < distance.mean() < 0.02


def test_disjoint_topics_give_the_exact_mix():
    phi = np.zeros((2, 20))
    phi[0, :10] = phi[1, 10:] = 0.1
    mix = mix_of(phi, documents_of([{0: 3, 5: 4}, {1: 2, 15: 6}]), [0.5, 0.25])
    np.testing.assert_allclose(mix, [[7.5 / 7.75, 0.25 / 7.75], [2.5 / 8.75, 6.25 / 8.75]], 1e-6)


def test_the_least_shares_of_topics():
    """A word that a topic all but lacks is as one that it lacks, unless all others lack it."""
    phi = np.zeros((2, 20))
    phi[0, :10] = phi[1, 10:19] = 0.1
    phi[1, 19] = 1e-36
    mix = mix_of(phi, documents_of([{0: 3, 19: 4}]), [0.5, 0.25])
    np.testing.assert_allclose(mix, [[3.5 / 7.75, 4.25 / 7.75]], 1e-6)
    phi[1, 0] = 1e-36
    assert (mix_of(phi, documents_of([{0: 3, 19: 4}]), [0.5, 0.25]) == mix).all()


def exact_mix(row: dict[int, int], phi, alpha) -> tuple[np.ndarray, np.ndarray]:
    """Posterior mean and variance of η by summing over all assignments of the tokens."""
    tokens = np.repeat(list(row), list(row.values()))
    n_topics, n = len(alpha), len(tokens)
    every = np.array(list(itertools.product(range(n_topics), repeat=n)))
    counts = np.stack([(every == k).sum(axis=1) for k in range(n_topics)], axis=1)
    log_weight = gammaln(counts + alpha).sum(axis=1) + np.log(phi[every, tokens]).sum(axis=1)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    size = n + alpha.sum()
    means = (counts + alpha) / size
    mean = weight @ means
    within = weight @ (means * (1 - means) / (size + 1))
    return mean, within + weight @ (means - mean) ** 2


PHI = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.2, 0.6, 0.2]])
ALPHA = np.array([0.3, 0.2, 0.4])


def test_mixes_are_near_the_exact_posterior_means():
    """CVB0 is an approximation: on short documents off by 0.03 in the mean; leaving a word's own
    share in the counts makes that 0.05."""
    rows = [{0: a, 1: b, 2: c} for a, b, c in itertools.product((0, 1, 3), (0, 2), (1, 2))]
    rows = [{word: n for word, n in row.items() if n} for row in rows]
    found = mix_of(PHI, documents_of(rows), ALPHA)
    exact = np.array([exact_mix(row, PHI, ALPHA)[0] for row in rows])
    assert np.abs(found - exact).mean() < 0.03


def test_an_empty_document_has_the_mean_of_the_prior():
    phi, alpha = random_topics(6, 30)
    mix = mix_of(phi, documents_of([{}, {3: 2}, {}]), alpha)
    np.testing.assert_allclose(mix[[0, 2]], np.tile(alpha / alpha.sum(), (2, 1)), rtol=1e-6)


def test_words_that_no_topic_knows_are_left_out():
    phi, alpha = random_topics(4, 10)
    phi[:, 7] = 0
    with_it, without = documents_of([{1: 2, 7: 5}]), documents_of([{1: 2}])
    assert (mix_of(phi, with_it, alpha) == mix_of(phi, without, alpha)).all()


def test_mixes_stay_positive_under_tiny_priors():
    phi, _ = random_topics(5, 30)
    mix = mix_of(phi, documents_of([dict.fromkeys(range(30), 40000)]), np.full(5, 1e-5))
    assert (mix > 0).all() and np.isclose(mix.sum(), 1)


def test_a_mix_depends_on_its_document_alone(monkeypatch):
    phi, alpha = random_topics(9, 50)
    documents = random_documents(300, 50)
    whole = mix_of(phi, documents, alpha)
    np.testing.assert_allclose(whole.sum(axis=1), 1, rtol=1e-12)
    parts = [documents.part(start, start + 1) for start in range(300)]
    assert (mix_of(phi, parts, alpha) == whole).all()
    assert (Mixer(phi, alpha, Threads(3)).mixes(documents) == whole).all()
    monkeypatch.setattr(lda_mixes, "_BLOCK_DOCUMENTS", 7)
    assert (mix_of(phi, documents, alpha) == whole).all()


def test_the_table_of_words_is_made_a_square_at_a_time(monkeypatch):
    """Of φ as float32, transposed; numbers below those that processors are fast with are raised,
    but for 0."""
    phi, alpha = random_topics(20, 50)
    phi[3, :4] = 0, 1e-40, 1e-30, 1e-20
    expected = np.zeros((50, padded_size(20)), np.float32)
    expected[:, :20] = phi.T
    expected[(expected > 0) & (expected < 1e-25)] = 1e-25
    for side in (7, 512):
        monkeypatch.setattr("topicmc.kernels.threads._SIDE", side)
        np.testing.assert_array_equal(Mixer(phi, alpha, Threads(2))._by_word(phi), expected)


def test_few_documents_make_no_table_of_all_words():
    """But get the same bits; and of many of them it is made once."""
    phi, alpha = random_topics(9, 20_000)
    documents = random_documents(200, 20_000)  # of some 6,000 entries; 2,500 are looked up
    whole = Mixer(phi, alpha, ONE).mixes(documents)
    Mixer(phi, alpha, ONE).mixes(documents.part(0, 5))  # which may compile
    tracemalloc.start()
    try:
        mixer = Mixer(phi, alpha, ONE)
        first = mixer.mixes(documents.part(0, 5))
        assert tracemalloc.get_traced_memory()[1] < phi.size
    finally:
        tracemalloc.stop()
    parts = [mixer.mixes(documents.part(start, start + 5)) for start in range(5, 200, 5)]
    assert (np.concatenate([first, *parts]) == whole).all()
    assert mixer._table is not None


def test_a_word_beyond_the_topics_is_an_error():
    phi, alpha = random_topics(3, 10)
    with pytest.raises(IndexError, match="word id 10 is not below 10"):
        mix_of(phi, documents_of([{10: 1}]), alpha)


# --- how sure they are ----------------------------------------------------------------------------


def sample(phi, alpha) -> Sample:
    theta = np.ascontiguousarray(np.asarray(phi).T, np.float32) * np.float32(50)
    return Sample(theta, theta.sum(axis=0, dtype=np.float64), np.asarray(alpha))


def test_deviations_agree_with_the_exact_posterior():
    """The mean of 600 estimates of the variance, under one sample and under two.

    The estimates scatter by 20 to 30 %, their mean by 1.2 % at most, and draws that resemble each
    other make it 3 % too small, so that less than one seed in 1e4 fails at 8 %; the seed is fixed.
    Without the variance between draws it would be 76 % too small, without the second sample 10 %.
    """
    row = {0: 3, 1: 1, 2: 3}
    documents = documents_of([row] * 600)
    other = PHI[[2, 0, 1]]
    one, two = exact_mix(row, PHI, ALPHA), exact_mix(row, other, ALPHA)
    both = (one[1] + two[1]) / 2 + (one[0] - two[0]) ** 2 / 2
    for phis, exact in (([PHI], one[1]), ([PHI, other], both)):
        samples = [sample(phi, ALPHA) for phi in phis]
        found = deviations(documents, samples, seed=3, first=0, threads=ONE)
        np.testing.assert_allclose((found**2).mean(axis=0), exact, rtol=0.08)


def exact_variance(counts: tuple[int, int], phis: np.ndarray) -> float:
    """Of η_0 given how often a document holds two words, α = (1, 1), averaged over draws of two
    topics (R, 2, 2): by summing over how many of each word are of the first topic."""
    first = np.array(list(itertools.product(*(range(n + 1) for n in counts))))
    second, size = np.array(counts) - first, sum(counts) + 2
    of_topic = 1 + first.sum(axis=1)
    log_weight = gammaln(of_topic) + gammaln(size - of_topic)
    log_weight -= (gammaln(first + 1) + gammaln(second + 1)).sum(axis=1)
    log_phi = np.log(phis)
    weight = log_phi[:, 0] @ first.T + log_phi[:, 1] @ second.T + log_weight
    weight = np.exp(weight - weight.max(axis=1, keepdims=True))
    weight /= weight.sum(axis=1, keepdims=True)
    mix = of_topic / size
    means = weight @ mix
    return float((weight @ (mix**2 + mix * (1 - mix) / (size + 1))).mean() - means.mean() ** 2)


@pytest.mark.parametrize("sampler", ["adlda", "scir"])
def test_topics_are_drawn_for_samplers_that_keep_counts(tmp_path, sampler):
    """Of a document that is long, under topics that few tokens speak for: most of its doubt is
    about φ, and under E[φ] in place of draws the variance would be 0.42 times the exact one.

    The mean of 30 estimates is 0.92 times the exact variance, because draws resemble each other,
    with a standard error of 0.05: less than 0.65 or more than 1.25 once in 10^6 seeds.
    """
    counts = np.array([[8.0, 2.0], [2.0, 8.0]])
    documents = documents_of([{0: 20, 1: 20}])
    found = []
    for seed in range(30):
        settings = {"sampler": sampler, "alpha": 1.0, "remember": True, "seed": seed}
        run = make_run(tmp_path / f"run-{seed}", {0: [counts] * 32}, **settings)
        reading = Reading(iter([Known(documents, np.zeros(1, np.int64))]))
        (rows,) = infer_under(run, reading, Totals(), sd=True, seed=seed, threads=ONE)
        found.append(rows.sd[0] ** 2)
    phis = np.random.default_rng(4).gamma(np.broadcast_to(counts.T, (20_000, 2, 2)))
    exact = exact_variance((20, 20), phis / phis.sum(axis=2, keepdims=True))
    assert 0.65 < np.mean(found) / exact < 1.25


def test_the_estimator_draws_topics_too():
    """The same document under the same counts, in place of those that it was fitted to."""
    model = LDA(2, sampler="adlda", max_iter=20, random_state=0, n_jobs=1).fit(np.eye(2) * 20)
    phi = np.array([[0.8, 0.2], [0.2, 0.8]], np.float32)
    model._record.phis, model.doc_topic_prior_ = np.broadcast_to(phi, (32, 2, 2)), np.ones(2)
    model._record.sums = np.full((32, 2), 10.0)
    entry = {"alpha": np.ones(2), "burn_in": False}
    model._record.entries = [{**entry, "round": i} for i in range(32)]
    found = []
    for seed in range(30):
        model._seed = model._record.config["seed"] = seed
        found.append(model.transform([[20, 20]], return_std=True)[1][0] ** 2)
    phis = np.random.default_rng(4).gamma(np.broadcast_to(10 * phi, (20_000, 2, 2)))
    exact = exact_variance((20, 20), phis / phis.sum(axis=2, keepdims=True))
    assert 0.65 < np.mean(found) / exact < 1.25


def test_large_draws_lie_in_files(tmp_path, monkeypatch):
    """And are the same there, for the estimator too."""
    run = make_run(tmp_path / "run", {0: [np.ones((40, 3))] * 3}, sampler="adlda")
    run.update_facts(passes=1.0)
    model, documents = LDA.from_run(run.path), [["word001", "word002"]]
    before = inference.drawn_samples(run, 0, Threads())
    sure = model.transform(documents, return_std=True)[1]
    made = []

    def scratch_array(n, *rest):
        made.append(n)
        return scratch.scratch_array(n, *rest)

    monkeypatch.setattr(inference, "scratch_array", scratch_array)
    monkeypatch.setattr(inference, "IN_MEMORY", 0)
    monkeypatch.setattr(scratch, "IN_MEMORY", 0)
    after = inference.drawn_samples(run, 0, Threads())
    assert len(before) == len(after) == 3
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one.theta, other.theta)
        np.testing.assert_array_equal(one.sums, other.sums)
    np.testing.assert_array_equal(model.transform(documents, return_std=True)[1], sure)
    assert made == [120] * 6


def test_deviations_are_keyed_by_the_number_of_the_document():
    phi, alpha = random_topics(5, 30)
    samples = [sample(phi, alpha), sample(random_topics(5, 30, seed=1)[0], alpha)]
    documents = random_documents(40, 30)
    whole = deviations(documents, samples, seed=1, first=0, threads=ONE)
    assert (deviations(documents, samples, seed=1, first=0, threads=Threads(3)) == whole).all()
    part = deviations(documents.part(25, 40), samples, seed=1, first=25, threads=ONE)
    assert (part == whole[25:]).all()
    assert (deviations(documents, samples, seed=2, first=0, threads=ONE) != whole).any()


def test_later_blocks_have_the_deviations_of_their_own_documents(tmp_path, monkeypatch):
    """And not the random numbers of the first."""
    samples = gamma_samples(topic_shapes(30, 5), 3, np.random.default_rng(6))
    run, documents = make_run(tmp_path / "run", {0: samples}), random_documents(40, 30)

    def found() -> np.ndarray:
        reading = Reading(iter([Known(documents, np.zeros(40, np.int64))]))
        rows = infer_under(run, reading, Totals(), sd=True, threads=ONE)
        return np.concatenate([of_block.sd for of_block in rows])

    whole = found()
    monkeypatch.setattr(lda_mixes, "_BLOCK_DOCUMENTS", 16)
    assert (found() == whole).all()


def test_an_empty_document_has_the_deviation_of_the_prior():
    phi, alpha = random_topics(5, 30)
    mean, total = alpha / alpha.sum(), alpha.sum()
    found = deviations(documents_of([{}]), [sample(phi, alpha)], seed=0, first=0, threads=ONE)
    np.testing.assert_allclose(found[0], np.sqrt(mean * (1 - mean) / (total + 1)), rtol=1e-5)


# --- representative documents ---------------------------------------------------------------------


@pytest.fixture
def topics(small_corpus):
    return random_topics(5, small_corpus.n_words)


def test_representative_documents_have_the_largest_shares(small_corpus, topics, monkeypatch):
    shards = [small_corpus.shard(number) for number in range(small_corpus.n_shards)]
    shares = mix_of(topics[0], shards, topics[1])
    monkeypatch.setattr(lda_mixes, "_BLOCK_DOCUMENTS", 37)
    found = representative_documents(*topics, small_corpus, 6)
    assert (found == np.argsort(-shares, axis=0, kind="stable")[:6].T).all()
    everyone = representative_documents(*topics, small_corpus, 10_000)
    assert (np.sort(everyone) == np.arange(small_corpus.n_docs)).all()


def test_of_a_large_corpus_every_so_many_documents_are_looked_at(small_corpus, topics, monkeypatch):
    shards = [small_corpus.shard(number) for number in range(small_corpus.n_shards)]
    shares = mix_of(topics[0], shards, topics[1])[::3]
    monkeypatch.setattr(lda_mixes, "_BLOCK_DOCUMENTS", 20)
    monkeypatch.setattr(inference, "_MOST_TOKENS", small_corpus.n_tokens // 3 + 1)
    found = representative_documents(*topics, small_corpus, 4)
    assert (found == 3 * np.argsort(-shares, axis=0, kind="stable")[:4].T).all()


def test_columns_of_sources_give_way_to_those_of_mixes():
    names = ["row", "row_", "topic_0", "sd_3", "topic_3_Sport", "year"]
    assert free_names(names) == {
        "row": "row_", "row_": "row__", "topic_0": "_topic_0", "sd_3": "_sd_3",
        "topic_3_Sport": "_topic_3_Sport", "year": "year",
    }  # fmt: skip


def test_documents_of_a_view_are_mixed_under_all_topics(small_corpus, topics):
    """As `topicmc infer` has them: what was dropped has its share of a document."""
    shards = [small_corpus.shard(number) for number in range(small_corpus.n_shards)]
    shares = mix_of(topics[0], shards, topics[1])[:, [3, 0]]
    found = representative_documents(*topics, small_corpus, 6, shown=lambda mix: mix[:, [3, 0]])
    assert (found == np.argsort(-shares, axis=0, kind="stable")[:6].T).all()
