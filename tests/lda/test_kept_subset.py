"""A start on a subset of samplers that keep assignments: which documents, what the chain goes on
with, and where it suits."""

from dataclasses import replace

import numpy as np
import pytest
from trained import StopAfter, kept_bits, opened, parted, train

from topicmc.errors import UsageError
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.memory import Sizes, terms
from topicmc.models.lda.planning.defaults import resolve
from topicmc.models.lda.planning.pace import Machine, Pace
from topicmc.models.lda.planning.plan import ENOUGH_SAMPLES, expected_samples, work_of_start
from topicmc.models.lda.planning.starts import BURN_IN_SHARE, LEAST_START, SUBSET_SWEEPS, Members
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.settings import TrainConfig

DOCUMENTS, SWEEPS = 100, 12
CONFIG = TrainConfig(
    topics=5, sampler="adlda", start="subset", start_documents=DOCUMENTS, start_sweeps=SWEEPS,
    epochs=18.0, alpha=0.3, beta=0.1, seed=3, threads=1, batch_size=75, evaluate_every="10m",
    checkpoint_every="10m",
)  # fmt: skip
KEPT = ("scir", "sgrld")
ON_SUBSET = SWEEPS - LEAST_START
ARXIV = Extent(93_095, 11_439_595, 20_367)
PUBMED = Extent(8_200_000, 730_000_000, 39_987)
PACE = Pace(16e-9, 0.0, 7e-9)


def kept(sampler, **given):
    remember = True if sampler in KEPT else "auto"  # collapsed samplers always do
    return replace(CONFIG, sampler=sampler, remember=remember, **given)


def chosen(size, **given):
    config = TrainConfig(**{"topics": 100, "sampler": "adlda", **given})
    return resolve(config, size, Machine(2, pace=PACE))


@pytest.mark.parametrize("workers", [1, 3])
def test_which_documents_are_drawn(small_corpus, monkeypatch, workers):
    """More and more of the subset, then the same in each sweep, then all; whoever holds them."""
    monkeypatch.setattr("topicmc.models.lda.planning.starts.FIRST_TOKENS", 100)
    monkeypatch.setattr("topicmc.models.lda.planning.starts.FIRST_WORD_TOKENS", 1)
    n_sweeps, on_subset = 20, 20 - LEAST_START
    found = opened(replace(CONFIG, workers=workers, start_sweeps=n_sweeps), small_corpus)
    sweeps: dict[int, list[int]] = {}
    for worker in found.workers.values():
        for update in range(found.schedule.after(n_sweeps)):
            docs = worker.documents(update, 1) + worker.sampler.first_id
            sweeps.setdefault(found.schedule.position(update), []).extend(docs.tolist())
    sizes = [len(docs) for docs in sweeps.values()]
    assert [len(set(docs)) for docs in sweeps.values()] == sizes
    subset = set(sweeps[on_subset - 1])
    assert abs(len(subset) - DOCUMENTS) < 5 * np.sqrt(DOCUMENTS)
    assert sizes[0] < 0.7 * len(subset) and sizes[:on_subset] == sorted(sizes[:on_subset])
    assert [n < len(subset) for n in sizes[on_subset - 4 : on_subset]] == [True] + [False] * 3
    assert sizes[on_subset:] == [small_corpus.n_docs] * LEAST_START
    factors = [found.schedule.beta_factor(found.schedule.after(s)) for s in range(n_sweeps)]
    assert factors[0] == pytest.approx(10) and factors == sorted(factors, reverse=True)
    assert factors[on_subset:] == [1.0] * LEAST_START


@pytest.mark.parametrize("sampler", ["adlda", *KEPT])
@pytest.mark.parametrize("workers", [1, 2])
def test_the_chain_goes_on_with_the_topics_of_the_subset(small_corpus, sampler, workers):
    """All documents are first drawn given θ_wk = n_kw + b_kw, with the counts over the subset."""
    found = opened(kept(sampler, workers=workers), small_corpus)
    while found.position < ON_SUBSET:
        assert found.in_burn_in and found._topics(found.position) is None
        assert "on a subset" in found.metrics().values()
        found.round()
    counts = found.reconciliation.counts()[:, :5].copy()
    assert 0 < counts.sum() < 0.6 * small_corpus.n_tokens
    found.round()
    theta, sums = found._topics(found.position)
    np.testing.assert_allclose(theta[:, :5], counts + 0.1, rtol=1e-6)
    np.testing.assert_allclose(sums[:5], (counts + 0.1).sum(axis=0), rtol=1e-6)
    while found.position < ON_SUBSET + 1:
        found.round()
    assert found.reconciliation.counts().sum() == small_corpus.n_tokens
    while found.position < ON_SUBSET + 3:
        found.round()
    assert found.start_topics._given is None and found.start_topics.members == []
    assert found.in_burn_in


def test_priors_are_learned_on_the_subset(small_corpus):
    """At the end of it, when annealing is nearly over; and on, until the start is over."""
    found = opened(replace(CONFIG, learn="both", start_sweeps=30), small_corpus)
    learned = []
    while found.position < 32:
        before, alpha = found.position, found.alpha.copy()
        found.round()
        if not np.array_equal(found.alpha, alpha):
            learned.append(before)
    assert learned == [*range(23, 30)]
    assert found.prior.base != CONFIG.beta


def test_topics_keep_their_number(small_corpus, tmp_path):
    """Words are given to topics by their prior: seeds hold through the subset."""
    seeds = {f"topic {k}": [small_corpus.vocabulary[k]] for k in (0, 1)}
    told = replace(CONFIG, seeds=seeds, seed_weight=500.0)
    found, _ = train(told, small_corpus, tmp_path / "seeded")
    theta = found.read_sample(found.sample_index()[-1])
    assert theta[0].argmax() == 0 and theta[1].argmax() == 1


def test_no_state_of_the_start_is_a_sample(small_corpus, tmp_path):
    run, outcome = train(CONFIG, small_corpus, tmp_path / "run")
    positions = [entry["position"] for entry in run.sample_index()]
    assert outcome.samples > 0 and min(positions) > SWEEPS
    short, _ = train(replace(CONFIG, epochs=5.0), small_corpus, tmp_path / "short")
    assert [entry["burn_in"] for entry in short.sample_index()] == [True]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("sampler", ["adlda", "scir"])
def test_a_resumed_run_has_the_bits_of_an_uninterrupted_one(
    small_corpus, tmp_path, sampler, workers
):
    """β is learned before all documents join, and on while they are drawn given topics."""
    config = kept(sampler, workers=workers, learn="both", start_sweeps=30, epochs=20.0)
    whole, _ = train(config, small_corpus, tmp_path / "whole")
    places = (1, 14, 33, 36, 50, 54, 57, 65, 71, 98, 100, 103, 106, 110, 118)
    for run in parted(config, small_corpus, tmp_path, places):
        assert kept_bits(run) == kept_bits(whole) != []


@pytest.mark.parametrize("rounds", [9, 30, 40])
@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 1)])
def test_it_goes_on_on_another_number_of_workers(small_corpus, tmp_path, rounds, before, after):
    config = replace(CONFIG, workers=before)
    train(config, small_corpus, tmp_path / "run", StopAfter(rounds))
    run, outcome = train(
        replace(config, workers=after), small_corpus, tmp_path / "run", resume=True
    )
    assert outcome.samples > 0
    assert min(entry["position"] for entry in run.sample_index()) > SWEEPS


@pytest.mark.parametrize("sampler", ["adlda", "scir"])
def test_threads_change_nothing(small_corpus, tmp_path, sampler):
    config = kept(sampler)
    runs = [train(replace(config, threads=n), small_corpus, tmp_path / str(n))[0] for n in (1, 2)]
    assert kept_bits(runs[0]) == kept_bits(runs[1])


def test_chains_have_subsets_of_their_own(small_corpus, tmp_path):
    found = opened(replace(CONFIG, chains=2), small_corpus)
    first, second = (
        {int(d) for u in range(8) for d in member.workers[0].documents(u, 1)}
        for member in found._members
    )
    assert len(first & second) < 0.8 * len(first)
    run, outcome = train(replace(CONFIG, chains=2, epochs=36.0), small_corpus, tmp_path / "run")
    assert isinstance(run, TopicRun) and outcome.samples > 0


def test_it_is_chosen_where_all_documents_cannot_join_slowly():
    minutes = chosen(PUBMED, time_budget=240.0)
    assert (minutes.start, minutes.start_sweeps) == ("subset", SUBSET_SWEEPS + LEAST_START)
    assert 31e6 < minutes.start_documents * 89 < 33e6
    more = chosen(PUBMED, time_budget=480.0)
    assert LEAST_START < more.start_sweeps - SUBSET_SWEEPS < 20
    assert work_of_start(more, PUBMED).cost <= BURN_IN_SHARE * 480 / (730e6 * 16e-9)
    hours = chosen(PUBMED, time_budget=36_000.0, start="subset")
    assert hours.start_sweeps == SUBSET_SWEEPS + 60
    for size, given in (
        (PUBMED, {"time_budget": 30.0}),  # too few documents would fit in
        (PUBMED, {"time_budget": 240.0, "start": "grow"}),
        (PUBMED, {"time_budget": 240.0, "start_sweeps": 20}),
        (PUBMED, {"time_budget": 240.0, "sampler": "asynclda", "workers": 2}),
        (PUBMED, {"time_budget": 240.0, "anneal_updates": 500}),
        (PUBMED, {"time_budget": 3_600.0}),  # all documents can join slowly
        (PUBMED, {"time_budget": 80.0}),  # nothing would be left for samples
        (ARXIV, {"time_budget": 5.0}),
    ):
        config = chosen(size, **given)
        assert (config.start, config.start_documents) == ("grow", "auto"), given
    told = chosen(ARXIV, start="subset", epochs=100.0)
    assert told.start_documents == round(93_095 / 4)
    again = resolve(TrainConfig(**minutes.as_dict()), PUBMED)
    assert (again.start_sweeps, again.start_documents) == (105, minutes.start_documents)


def test_a_smaller_subset_does_where_sweeps_are_few():
    """Of 3 million tokens in runs of 18 sweeps and fewer over all documents, in proportion to the
    sweeps up to 6 in 36; so a longer run has no worse a start."""
    for millions in (60, 98):
        size = Extent(11_111 * millions, millions * 10**6, 7_000)
        found = {n: chosen(size, time_budget=0.016 * millions * n) for n in range(8, 37)}
        share = {n: 90 * c.start_documents for n, c in found.items() if c.start == "subset"}
        assert list(share) == list(range(min(share), max(share) + 1)) and min(share) < 18
        assert all(tokens > 0.99e6 * max(3, n / 6) for n, tokens in share.items())
        assert sorted(share.values()) == list(share.values())
        assert share[min(share)] < 4e6


def test_a_start_that_is_chosen_can_be_asked_for():
    """As when a run is resumed: one on a few long documents is not chosen."""
    size = Extent(600, 60_000_000, 7_000)
    config = chosen(size, time_budget=16 * 60e6 * 16e-9)
    assert config.start == "grow"
    assert resolve(TrainConfig(**config.as_dict()), size).start == "grow"


def test_what_it_costs():
    """The sum of the shares of the documents that take part, of which those of sweeps in which
    documents join take half as long again; and the plan counts it in."""
    config = chosen(PUBMED, time_budget=240.0)
    share = config.start_documents / PUBMED.n_docs
    members = Members.on_subset(105, share, PUBMED, 100)
    assert (members.number, members.end) == (1, SUBSET_SWEEPS)
    shares = [members.share(sweep) for sweep in range(105)]
    assert shares[99] == share and shares[100:] == [1.0] * 5
    assert work_of_start(config, PUBMED).draws == pytest.approx(sum(shares))
    cost = sum(shares) + sum(s for s in shares if s < share) / 2
    assert work_of_start(config, PUBMED).cost == pytest.approx(cost)
    plenty, brief = (
        expected_samples(replace(config, time_budget=seconds), PUBMED, PACE)
        for seconds in (240.0, 11.7 * (cost - 1))
    )
    assert (plenty > ENOUGH_SAMPLES, brief) == (True, 0)
    short = Members.on_subset(3, share, PUBMED, 100)
    assert (short.number, short.sweeps) == (1, 1)


def test_its_memory_is_stated():
    sizes = Sizes(*PUBMED, 0, 0, 0, 0, 0, 0)._replace(
        n_words=PUBMED.n_words, n_tokens=PUBMED.n_tokens, id_bytes=2
    )
    config = chosen(PUBMED, time_budget=240.0)
    found = {term.name: term for term in terms(config, sizes, 1)}
    tokens = config.start_documents / PUBMED.n_docs * PUBMED.n_tokens
    assert found["orders of the subset by word"].n_bytes == pytest.approx(2 * tokens)
    assert found["words and topics of a block"].n_bytes == pytest.approx(3 * tokens / 4)
    assert found["counts over the subset, and its topics"].n_bytes == 4 * 39_987 * (200 + 112)
    other = chosen(PUBMED, time_budget=240.0, start="grow")
    assert not any("subset" in term.name for term in terms(other, sizes, 1))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"start": "subset", "sampler": "asynclda", "workers": 2}, "--start subset is not of"),
        ({"start_documents": 500}, "--start-documents is of --start subset"),
        ({"start": "subset", "start_documents": 5}, "--start-documents 5 have too few tokens"),
        ({"start": "subset", "start_documents": 20}, "give 50 or more"),
    ],
)
def test_what_it_does_not_go_with(given, said):
    with pytest.raises(UsageError, match=said):
        chosen(ARXIV, **given)
