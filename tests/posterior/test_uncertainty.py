"""Topics are matched across chains, and what is said of them holds: for runs whose samples are
drawn from a known law, and for runs that do not agree."""

from itertools import permutations

import numpy as np
import pytest
from fake_runs import gamma_samples, make_run, topic_shapes
from scipy.stats import beta as beta_law

from topicmc.errors import UsageError
from topicmc.models.lda.draws import draw_of
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.samples import planned_mean, posterior_mean
from topicmc.posterior.coverage import Coverage
from topicmc.posterior.intervals import half_width
from topicmc.topics.chains import _match, memory_of
from topicmc.topics.diagnostics import diagnose
from topicmc.topics.editing import Edits, edit
from topicmc.topics.matching import SAME, assign, distances, match_topics
from topicmc.topics.reading import write_topics
from topicmc.topics.uncertainty import posterior_of

K, W = 6, 80
SHAPES = topic_shapes(W, K)
ORDER = np.array([3, 0, 5, 1, 4, 2])  # the second run's numbers of the first one's topics


def two_runs(tmp_path, second=None, **settings):
    """Runs that sample the same posterior, the second with its topics in another order."""
    generator = np.random.default_rng(3)
    shuffled = np.empty_like(SHAPES)
    shuffled[:, ORDER] = SHAPES if second is None else second
    return [
        make_run(tmp_path / name, {0: gamma_samples(shapes, 8, generator)}, seed=seed, **settings)
        for seed, (name, shapes) in enumerate((("a", SHAPES), ("b", shuffled)))
    ]


def test_distances_of_known_topics():
    topics = np.array([[1.0, 0, 0], [0, 1.0, 0], [0.5, 0.5, 0]])
    expected = np.sqrt(1 - np.sqrt([[1, 0, 0.5], [0, 1, 0.5], [0.5, 0.5, 1]]))
    np.testing.assert_allclose(distances(topics, topics), expected, atol=1e-8)
    divergence = 1.5 - 0.75 * np.log2(3)  # of (1, 0) from (1/2, 1/2), by hand
    found = distances(topics, topics, "jensen-shannon")
    expected = np.sqrt([[0, 1, divergence], [1, 0, divergence], [divergence, divergence, 0]])
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_distances_of_some_words_at_a_time(monkeypatch):
    generator = np.random.default_rng(0)
    one, other = generator.dirichlet(np.full(W, 0.2), (2, K))
    whole, own = distances(one, other), distances(one, one)
    monkeypatch.setattr("topicmc.topics.matching._WORDS", 7)
    np.testing.assert_allclose(distances(one, other), whole, rtol=1e-12)
    np.testing.assert_allclose(distances(one, one), own, atol=1e-7)


def test_the_assignment_is_the_best_of_all():
    for seed in range(20):
        apart = np.random.default_rng(seed).random((5, 5))
        best = min(permutations(range(5)), key=lambda order: apart[range(5), order].sum())
        assert assign(apart).tolist() == list(best)


def test_a_known_permutation_is_recovered():
    generator = np.random.default_rng(0)
    reference = generator.dirichlet(np.full(W, 0.2), K)
    other = np.empty_like(reference)
    other[ORDER] = 0.9 * reference + 0.1 / W
    for measure in ("hellinger", "jensen-shannon"):
        order, distance = match_topics(reference, other, measure)
        assert order.tolist() == ORDER.tolist()
        assert (distance < 0.4).all()
    order, distance = match_topics(reference, other[:4])
    assert sorted(order) == [-1, -1, 0, 1, 2, 3]
    assert (np.isnan(distance) == (order == -1)).all()


def test_runs_that_sample_one_posterior_agree(tmp_path):
    """90 % intervals from 8 samples of one run hold the other's samples at that rate. Over 120
    intervals its standard error is 0.008: this fails by chance once in 5,000."""
    posterior = posterior_of(two_runs(tmp_path))
    assert (posterior.n_chains, posterior.n_samples) == (2, 16)
    assert posterior.chains[1].order.tolist() == ORDER.tolist()
    assert posterior.stable.all()
    np.testing.assert_allclose(posterior.phi, (SHAPES / SHAPES.sum(axis=0)).T, atol=0.01)
    found = posterior.coverage()
    assert found.stable_samples == pytest.approx(0.9, abs=0.03)
    assert found.stable_means > 0.93
    assert posterior.remark().endswith("as they should.")


def test_each_sample_is_read_once(tmp_path, monkeypatch):
    """For words, however many are asked for first, and for what chains say of each other's."""
    runs, read = two_runs(tmp_path), []

    def reading(*place):
        read.append(place)
        return draw_of(*place)

    monkeypatch.setattr("topicmc.topics.uncertainty.draw_of", reading)
    posterior = posterior_of(runs)
    assert len(posterior.as_dict(0, 40)["words"]) == 40
    found, _ = posterior.coverage(), posterior.remark()
    assert len(read) == 16
    assert posterior_of(runs).coverage() == found


def test_topics_that_memory_is_too_small_to_read(tmp_path, monkeypatch):
    run = make_run(tmp_path / "a", {0: [SHAPES]})
    run.update_facts(corpus={**run.facts()["corpus"], "words": W})
    run, free = TopicRun.open(run.path), [memory_of(W, K, K, 1)]
    monkeypatch.setattr("topicmc.host.machine.available_memory", lambda: free[0])
    assert posterior_of([run]).n_chains == 1
    free[0] -= 1
    with pytest.raises(UsageError, match=r"a: 6 topics over 80 words need about \S+ kB of memory"):
        posterior_of([run])


def test_means_that_memory_is_too_small_for(tmp_path, monkeypatch):
    """φ in float64 and θ; of a view θ twice. Training has planned for them at its end."""
    run = make_run(tmp_path / "a", {0: [SHAPES]})
    run.update_facts(corpus={**run.facts()["corpus"], "words": W})
    run, free = TopicRun.open(run.path), [0]
    view = edit(run, Edits(drops=[0, 1, 2, 3]), tmp_path / "view")
    monkeypatch.setattr("topicmc.host.machine.available_memory", lambda: free[0])
    for shown, n, told in ((run, 3 * K, "a: 6 topics"), (view, 2 * 2 + K + 2, "view: 2 topics")):
        free[0] = 4 * W * n
        expected = posterior_mean(shown).phi
        free[0] -= 1
        with pytest.raises(UsageError, match=rf"{told} over 80 words need about \S+ kB of memory"):
            posterior_mean(shown)
        np.testing.assert_array_equal(planned_mean(shown).phi, expected)
    write_topics(run, 1)


def test_intervals_of_some_topics_are_those_among_all(tmp_path, monkeypatch):
    """Bit for bit; and refused where memory is too small for nine bytes a word and sample."""
    posterior = posterior_of(two_runs(tmp_path))
    words, some = np.random.default_rng(1).integers(0, W, (K, 7)), np.array([4, 0, 3])
    every, mine = posterior.intervals(words), posterior.intervals(words[some], some)
    for field, of_all in every._asdict().items():
        np.testing.assert_array_equal(getattr(mine, field), of_all[some])
    assert not np.isnan(every.low).any()
    free = [9 * 16 * 3 * 7]
    monkeypatch.setattr("topicmc.host.machine.available_memory", lambda: free[0])
    posterior.intervals(words[some], some)
    free[0] -= 1
    with pytest.raises(UsageError, match="7 words of 3 topics in 16 samples need about"):
        posterior.intervals(words[some], some)
    with pytest.raises(UsageError, match="30 words of 6 topics in 16 samples need about"):
        posterior.words(0)


def test_what_is_told_of_each_topic_is_made_once(tmp_path):
    posterior = posterior_of(two_runs(tmp_path))
    for name in ("stable", "distance", "_sampled"):
        assert getattr(posterior, name) is getattr(posterior, name)


def test_of_a_view_memory_has_to_hold_all_topics_of_its_run(tmp_path, monkeypatch):
    """As they are read, before some of them are dropped."""
    run = make_run(tmp_path / "a", {0: [SHAPES]})
    run.update_facts(corpus={**run.facts()["corpus"], "words": W})
    view = edit(TopicRun.open(run.path), Edits(drops=[0, 1, 2, 3]), tmp_path / "view")
    free = [memory_of(W, 2, K, 1)]
    monkeypatch.setattr("topicmc.host.machine.available_memory", lambda: free[0])
    assert posterior_of([view]).n_chains == 1
    free[0] -= 1
    with pytest.raises(UsageError, match="view: 2 topics over 80 words need about"):
        posterior_of([view])


def test_intervals_that_are_too_narrow_are_noticed(tmp_path):
    """A planted bug: each chain hardly moves from where it began."""
    generator = np.random.default_rng(5)
    runs = []
    for seed, name in enumerate(("a", "b")):
        start = generator.gamma(SHAPES)
        near = [start * generator.normal(1, 0.01, SHAPES.shape) for _ in range(8)]
        runs.append(make_run(tmp_path / name, {0: near}, seed=seed))
    posterior = posterior_of(runs)
    assert posterior.stable.all()
    assert posterior.coverage().stable_means < 0.5
    told = posterior.remark()
    assert "Intervals are too narrow: of stable topics, 90% intervals" in told
    assert told.endswith("the chains that have found it, and are wider where these are several.")


@pytest.mark.parametrize("rates", [(0.9, 0.77), (0.77, 0.9)])
def test_intervals_have_to_hold_samples_and_means(rates):
    assert Coverage(0.9, *rates, *rates).sentence().startswith("Intervals are too narrow")
    assert Coverage(0.9, 0.9, 0.86, *rates).sentence().endswith("as they should.")


def test_intervals_are_the_same_however_many_topics_are_made_together(tmp_path, monkeypatch):
    runs = two_runs(tmp_path)
    whole = posterior_of(runs)
    monkeypatch.setattr("topicmc.topics.uncertainty._BLOCK", 2)
    parts = posterior_of(runs)
    np.testing.assert_array_equal(parts.share_low, whole.share_low)
    assert [parts.words(k) for k in range(K)] == [whole.words(k) for k in range(K)]


def test_a_topic_that_one_chain_has_not_found(tmp_path):
    other = SHAPES.copy()
    other[:, 2] = topic_shapes(W, 1, seed=9)[:, 0]
    runs = two_runs(tmp_path, second=other)
    posterior, alone = posterior_of(runs), posterior_of(runs[:1])
    assert posterior.stable.tolist() == [k != 2 for k in range(K)]
    assert posterior.distance[2] > 0.5
    # What is said of it rests on the first chain: a mean of two topics would be neither.
    np.testing.assert_allclose(posterior.phi[2], alone.phi[2])
    assert posterior.words(2) == alone.words(2)
    assert posterior.words(1) != alone.words(1)


def test_half_widths_are_by_the_chains_that_found_a_topic(tmp_path):
    other = SHAPES.copy()
    other[:, 2] = topic_shapes(W, 1, seed=9)[:, 0]
    posterior = posterior_of(two_runs(tmp_path, second=other), level=0.8)
    generator = np.random.default_rng(4)
    values = [generator.normal(mean, size=(8, K, 3)) for mean in (0, 2)]
    found = posterior.half_width(values)
    for k in range(K):
        mine = [of_chain[:, [k]] for of_chain in (values[:1] if k == 2 else values)]
        np.testing.assert_allclose(found[[k]], half_width(mine, 0.8))
    assert (found[2] < found[[0, 1, 3, 4, 5]].min(axis=0)).all()


@pytest.mark.parametrize("early", [0, 1])
def test_a_chain_in_its_start_says_nothing_where_another_has_samples(tmp_path, early):
    runs = two_runs(tmp_path)
    index = [{**entry, "burn_in": True} for entry in runs[early].sample_index()[:1]]
    runs[early].write_sample_index(index)
    posterior, alone = posterior_of(runs), posterior_of(runs[1 - early : 2 - early])
    order = posterior.believed[0].order
    for name in ("phi", "share", "share_low", "share_high"):
        np.testing.assert_allclose(getattr(posterior, name), getattr(alone, name)[order])
    assert (posterior.n_chains, posterior.n_samples) == (1, 8) and not posterior.stable.any()
    assert posterior.as_dict(0)["found"] == 1 and posterior.as_dict(0)["stable"] is None
    assert np.isnan(posterior.coverage().all_means)
    assert "No posterior sample yet" in posterior.remark()


def test_states_of_the_start_stand_in_where_there_is_no_sample(tmp_path):
    runs = two_runs(tmp_path)
    for run in runs:
        run.write_sample_index([{**entry, "burn_in": True} for entry in run.sample_index()[:1]])
    posterior = posterior_of(runs)
    assert posterior.n_chains == 2 and not posterior.stable.any()
    told = posterior.as_dict(0)
    assert (told["found"], told["stable"]) == (2, None)  # which nobody knows before there are any
    assert not any("not found by all" in flag for flag in diagnose(runs).flags)
    assert np.isfinite(posterior.phi).all() and np.isnan(posterior.share_low).all()


def test_intervals_of_collapsed_samples_are_those_of_their_dirichlet(tmp_path):
    """Counts that never change leave φ its Dirichlet law. Of 60 words the intervals, each of 16
    draws, hold 0.9 of it in the mean: standard error 0.007, by chance once in 10,000."""
    run = make_run(tmp_path / "a", {0: [SHAPES.astype(np.float32)] * 16}, sampler="adlda")
    posterior = posterior_of([run])
    totals = SHAPES.sum(axis=0)
    held = []
    for k in range(K):
        for word in posterior.words(k):
            law = beta_law(SHAPES[word.w, k], totals[k] - SHAPES[word.w, k])
            held.append(law.cdf(word.high) - law.cdf(word.low))
            assert word.mean == pytest.approx(SHAPES[word.w, k] / totals[k], rel=1e-5)
    assert np.mean(held) == pytest.approx(0.9, abs=0.03)


def test_no_share_is_above_one(tmp_path):
    """Two chains that differ make a wide interval, which would end at 130 % here."""
    runs = two_runs(tmp_path)
    for run, share in zip(runs, (0.5, 0.6), strict=True):
        shares = np.full(K, (1 - share) / (K - 1))
        shares[0 if run is runs[0] else ORDER[0]] = share
        run.write_sample_index([{**e, "share": shares.tolist()} for e in run.sample_index()])
    posterior = posterior_of(runs)
    assert posterior.stable.all() and posterior.share[0] == pytest.approx(0.55)
    assert posterior.share_high[0] == 1 and 0 < posterior.share_low[0] < 0.5
    assert (posterior.share_high[1:] < 1).all()


def test_the_probability_to_be_a_top_word(tmp_path):
    theta = np.full((20, 2), 1.0)
    theta[:10] = 100.0
    swapped = theta.copy()
    swapped[[9, 10]] = swapped[[10, 9]]
    posterior = posterior_of([make_run(tmp_path / "a", {0: [theta, theta, theta, swapped]})])
    words = {word.w: word for word in posterior.words(0, 20)}
    assert len(words) == 20
    assert [words[w].in_top for w in (0, 9, 10, 11)] == [1.0, 0.75, 0.25, 0.0]
    assert [word.w for word in posterior.words(1, 3)] == [0, 1, 2]


def test_one_chain_knows_of_no_other(tmp_path):
    run = make_run(tmp_path / "a", {0: [SHAPES]})
    posterior = posterior_of([run])
    assert not posterior.stable.any()
    assert np.isnan(posterior.distance).all()
    assert np.isnan(posterior.coverage().all_means)
    told = posterior.as_dict(0)
    assert (told["stable"], told["distance"], told["share_low"]) == (None, None, None)
    assert "one chain" in posterior.remark()


def test_chains_of_one_run_are_matched_too(tmp_path):
    generator = np.random.default_rng(3)
    chains = {0: gamma_samples(SHAPES, 4, generator), 2: gamma_samples(SHAPES, 2, generator)}
    posterior = posterior_of([make_run(tmp_path / "a", chains)])
    assert [len(chain.entries) for chain in posterior.chains] == [4, 2]
    assert posterior.stable.all()
    drawn = np.array([theta / theta.sum(axis=0) for of in chains.values() for theta in of])
    np.testing.assert_allclose(posterior.phi, drawn.mean(axis=0).T, 1e-5, 1e-9)  # all count alike
    shares = np.concatenate([chain.share for chain in posterior.chains])
    np.testing.assert_allclose(posterior.share, shares.mean(axis=0))


def test_of_two_topics_that_are_like_one_the_nearer_has_found_it():
    """The other is matched to what is left, which is near it and nearer another."""
    reference = np.random.default_rng(4).dirichlet(np.full(W, 0.5), 3)
    reference[2] = 0.8 * reference[1] + 0.2 * reference[2]
    mine = reference.copy()
    mine[2] = 0.95 * reference[1] + 0.05 * reference[2]
    order, distance, found = _match(reference, mine)
    assert order.tolist() == [0, 1, 2] and (distance < SAME).all()
    assert found.tolist() == [True, True, False]


def test_runs_that_do_not_go_together_are_refused(tmp_path):
    first = make_run(tmp_path / "a", {0: [SHAPES]})
    fewer = make_run(tmp_path / "b", {0: [SHAPES[:, :3]]})
    others = make_run(tmp_path / "c", {0: [SHAPES[:50]]})
    with pytest.raises(UsageError, match="b: has 3 topics and .*a has 6"):
        posterior_of([first, fewer])
    with pytest.raises(UsageError, match="c: has another vocabulary"):
        posterior_of([first, others])
    grown = make_run(tmp_path / "d", {0: [SHAPES + 1]}, seed=1)
    grown.update_facts(corpus={**grown.facts()["corpus"], "tokens": 1001})
    with pytest.raises(UsageError, match="d: was trained on another corpus .* `topicmc compare`"):
        posterior_of([first, grown])
    in_other_shards = make_run(tmp_path / "e", {0: [SHAPES + 2]}, fingerprint="another", seed=2)
    assert posterior_of([first, in_other_shards]).n_chains == 2
    with pytest.raises(UsageError, match="--level 90"):
        posterior_of([first], level=90)


def test_runs_that_were_given_other_priors_are_refused(tmp_path):
    """A prior that is learned goes with any, for chains learn their own."""
    first = make_run(tmp_path / "first", {0: [SHAPES]})
    given = {
        "alpha": {"alpha": 0.2},
        "beta": {"beta": 0.5, "learn": "alpha"},
        "learned": {"alpha": 0.2, "beta": 0.5, "learn": "both"},
    }
    runs = {
        name: make_run(tmp_path / name, {0: [SHAPES + 1]}, seed=1, **settings)
        for name, settings in given.items()
    }
    for name in ("alpha", "beta"):
        with pytest.raises(UsageError, match=f"{name}: was given another prior than .*first; `top"):
            posterior_of([first, runs[name]])
    runs["alpha"].update_facts(stream={})  # by `LDA.partial_fit`, with what `fit` has learned
    for name in ("learned", "alpha"):
        assert posterior_of([first, runs[name]]).n_chains == 2
    runs["learned"].update_facts(prior=f"sha256:{0:064x}")
    with pytest.raises(UsageError, match="learned: was given another prior"):
        posterior_of([first, runs["learned"]])


def test_a_run_made_again_by_the_same_seed_is_no_other_chain(tmp_path):
    """By chance two seeds may keep equal counts of a small corpus; one seed keeps them by law, and
    a longer run may share only some."""
    first = make_run(tmp_path / "a", {0: [SHAPES, SHAPES + 1]}, seed=1)
    again = make_run(tmp_path / "b", {0: [SHAPES + 1, SHAPES + 2]}, seed=1)
    other = make_run(tmp_path / "c", {0: [SHAPES, SHAPES + 1]}, seed=2)
    with pytest.raises(UsageError, match="b: has the same samples as .*a; .* another --seed"):
        posterior_of([first, again])
    assert posterior_of([first, other]).n_chains == 2
