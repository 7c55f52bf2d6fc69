"""A start on a subset of the documents: which, what minibatches begin with, and where it suits."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from trained import StopAfter, kept_bits, opened, parted, train

from topicmc.engine.transport.local import LocalTransport
from topicmc.errors import DataError, UsageError
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.memory import Sizes, terms
from topicmc.models.lda.minibatches.subset import SubsetStart, _tokens
from topicmc.models.lda.minibatches.target import CHAINS
from topicmc.models.lda.model import look_of
from topicmc.models.lda.planning.defaults import resolve
from topicmc.models.lda.planning.pace import Machine, Pace
from topicmc.models.lda.planning.plan import expected_samples
from topicmc.models.lda.planning.starts import (
    SUBSET_SWEEPS,
    subset_documents,
    subset_draws,
)
from topicmc.models.lda.settings import TrainConfig
from topicmc.models.lda.workers import expand
from topicmc.storage.files import own_checksum

DOCUMENTS, SWEEPS, BURN_IN = 70, 6, 8
CONFIG = TrainConfig(
    topics=5, sampler="scir", start="subset", start_documents=DOCUMENTS, start_sweeps=SWEEPS,
    anneal_updates=BURN_IN, updates=SWEEPS + 24, batch_size=20, trajectory=1, alpha=0.3, beta=0.1,
    seed=3, threads=1, balance=False, evaluate_every="10m", checkpoint_every="10m",
)  # fmt: skip
ARXIV = Extent(93_095, 11_439_595, 20_367)
PUBMED = Extent(8_200_000, 730_000_000, 39_987)


@pytest.mark.parametrize("workers", [1, 3])
def test_the_subset_is_spread_over_the_corpus_whoever_holds_it(small_corpus, workers):
    """Every so many documents, whole; each worker has those of its share, one after another."""
    shards = [(s, 0, n) for s, n in enumerate(small_corpus.shard_sizes) if n]
    offsets, tokens, _ = expand(small_corpus, shards)
    wanted = [d * small_corpus.n_docs // DOCUMENTS for d in range(DOCUMENTS)]
    expected = np.concatenate([tokens[offsets[d] : offsets[d + 1]] for d in wanted])
    parts = _tokens(small_corpus, DOCUMENTS, workers, LocalTransport(workers))
    assert np.array_equal(np.concatenate([parts[w][1] for w in range(workers)]), expected)
    assert parts[0][1].dtype == tokens.dtype
    before = 0
    for worker in range(workers):
        own_offsets, own, first = parts[worker]
        assert first == before and own_offsets[-1] == len(own) and own_offsets[0] == 0
        before += len(own_offsets) - 1
    lengths = np.concatenate([np.diff(parts[w][0]) for w in range(workers)])
    assert lengths.tolist() == [int(offsets[d + 1] - offsets[d]) for d in wanted]


@pytest.mark.parametrize("workers", [1, 2])
def test_chains_begin_with_the_topics_of_the_subset(small_corpus, workers):
    """θ_wk = (n · share_k + W β) φ_wk, with n the tokens of the corpus, in every chain."""
    found = opened(replace(CONFIG, workers=workers, learn="both"), small_corpus)
    assert isinstance(found, SubsetStart)
    beginnings, chains = [], found._chains

    def noted(beginning):
        begun = chains(beginning)
        beginnings.append((first.reconciliation.counts().copy(), first.prior.base, begun))
        return begun

    found._chains, first = noted, found._first
    while found.position < SWEEPS:
        assert found.in_burn_in and found.update == found.position
        found.round()
    (counts, beta, begun), n_words = beginnings[0], small_corpus.n_words
    counts = counts[:, :5].astype(float)
    phi = (counts + beta) / (counts.sum(axis=0) + n_words * beta)
    sizes = small_corpus.n_tokens * counts.sum(axis=0) / counts.sum()
    held = list(begun.held[CHAINS].values())
    assert len(held) == workers and (found.position, found.update) == (SWEEPS, SWEEPS)
    for chain in held:
        np.testing.assert_allclose(chain.theta, phi * (sizes + n_words * beta), rtol=1e-5)
        np.testing.assert_allclose(chain.topic_sums, sizes + n_words * beta, rtol=1e-5)
        np.testing.assert_array_equal(chain.alpha, first.alpha)
        assert chain.beta == beta != CONFIG.beta
    assert held[0].theta.base is None or len({id(chain.theta) for chain in held}) == workers
    assert found._first is None and found.in_burn_in
    assert begun.target._origin is None  # as large as a state


def test_no_state_of_the_subset_or_before_its_burn_in_is_a_sample(small_corpus, tmp_path):
    run, outcome = train(CONFIG, small_corpus, tmp_path / "run")
    positions = [entry["position"] for entry in run.sample_index()]
    assert outcome.update == CONFIG.updates and max(positions) == CONFIG.updates
    assert min(positions) > SWEEPS + BURN_IN
    for updates in (SWEEPS - 1, SWEEPS + BURN_IN - 1):
        cut, _ = train(replace(CONFIG, updates=updates), small_corpus, tmp_path / str(updates))
        assert [entry["burn_in"] for entry in cut.sample_index()] == [True]
    joints = [record for record in run.trace() if "log joint" in record["chains"]["0"]]
    assert joints == []  # of other tokens than those of the corpus


@pytest.mark.parametrize("workers", [1, 2])
def test_a_resumed_run_has_the_bits_of_an_uninterrupted_one(small_corpus, tmp_path, workers):
    config = replace(CONFIG, workers=workers, learn="both", trajectory=2)
    whole, _ = train(config, small_corpus, tmp_path / "whole")
    for run in parted(config, small_corpus, tmp_path, (1, 5, 23, 24, 25, 30)):
        assert kept_bits(run) == kept_bits(whole) != []


@pytest.mark.parametrize("rounds", [5, 30])
@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 1)])
def test_it_goes_on_on_another_number_of_workers(small_corpus, tmp_path, rounds, before, after):
    config = replace(CONFIG, workers=before)
    train(config, small_corpus, tmp_path / "run", StopAfter(rounds))
    run, outcome = train(
        replace(config, workers=after), small_corpus, tmp_path / "run", resume=True
    )
    assert outcome.samples > 0
    assert min(entry["position"] for entry in run.sample_index()) > SWEEPS + BURN_IN


def test_a_run_that_is_past_the_subset_does_not_gather_it_again(
    small_corpus, tmp_path, monkeypatch
):
    train(CONFIG, small_corpus, tmp_path / "run", StopAfter(30))
    gathered = []
    monkeypatch.setattr(
        "topicmc.models.lda.minibatches.subset._tokens", lambda *_: gathered.append(1)
    )
    _, outcome = train(CONFIG, small_corpus, tmp_path / "run", resume=True)
    assert outcome.update == CONFIG.updates and gathered == []


def test_threads_change_nothing(small_corpus, tmp_path):
    runs = [train(replace(CONFIG, threads=n), small_corpus, tmp_path / str(n))[0] for n in (1, 2)]
    assert kept_bits(runs[0]) == kept_bits(runs[1])


def chosen(size, memory=None, **given):
    config = TrainConfig(**{"topics": 100, "sampler": "scir", "remember": False, **given})
    return resolve(config, size, Machine(2, memory))


def test_it_is_chosen_where_the_corpus_is_large():
    minutes = chosen(PUBMED, time_budget=600.0)
    assert (minutes.start, minutes.start_sweeps) == ("subset", SUBSET_SWEEPS)
    tokens = minutes.start_documents * 89
    assert 31e6 < tokens < 33e6
    fewer = chosen(PUBMED, time_budget=50.0).start_documents
    assert 10e6 < fewer * 89 < 14e6
    assert chosen(ARXIV, time_budget=600.0).start_documents == ARXIV.n_docs
    for size, given in (
        (PUBMED, {"time_budget": 7.0}),  # too few documents would fit in
        (ARXIV, {"time_budget": 7.0}),
        (PUBMED, {"time_budget": 600.0, "start": "stream"}),
        (PUBMED, {"time_budget": 600.0, "anneal_updates": 50}),
        (PUBMED, {"time_budget": 600.0, "workers": 2, "groups": 2}),
    ):
        config = chosen(size, **given)
        assert config.start == "stream", given
        assert (config.start_sweeps, config.start_documents) == ("auto", "auto")
    assert chosen(PUBMED, time_budget=600.0, sampler="sgrld").start == "plain"
    assert chosen(PUBMED, 300_000_000, time_budget=600.0).start_documents * 89 < 1e7
    told = chosen(ARXIV, start="subset", start_sweeps=30)
    assert (told.start_sweeps, told.start_documents) == (30, ARXIV.n_docs)
    short = chosen(ARXIV, start="subset", time_budget=5.0)
    assert 8_000 < short.start_documents < 12_000  # though that is few
    assert chosen(ARXIV, start_documents=200_000).start_documents == ARXIV.n_docs
    again = resolve(TrainConfig(**minutes.as_dict()), PUBMED)
    assert (again.step_size, again.start_documents) == (minutes.step_size, minutes.start_documents)


def test_its_memory_is_stated():
    """Words and topics of the tokens in two bytes each, their order in two more, and counts."""
    config = chosen(PUBMED, time_budget=600.0, topics=500)
    sizes = Sizes(*PUBMED, 0, 0, 0, 0, 0, 0)._replace(
        n_words=PUBMED.n_words, n_tokens=PUBMED.n_tokens, id_bytes=2
    )
    found = {term.name: term for term in terms(config, sizes, 1)}
    tokens = config.start_documents / PUBMED.n_docs * PUBMED.n_tokens
    assert found["tokens of the subset, and their topics"].n_bytes == 8 * tokens
    assert found["counts over the subset"].n_bytes == 4 * PUBMED.n_words * 512
    assert {found[name].phase for name in found if "subset" in name} == {"starting"}
    other = chosen(PUBMED, time_budget=600.0, topics=500, start="stream")
    assert not any("subset" in term.name for term in terms(other, sizes, 1))


def test_the_subset_is_the_largest_that_fits_in():
    for within in (1.2e9, 1.3e9, 1.7e9):
        documents = subset_documents(within, 100, (0, np.inf), PUBMED, 100)
        draws = [subset_draws(n, 100, PUBMED, 100) for n in (documents, round(1.16 * documents))]
        assert draws[0] <= within < draws[1]
    assert subset_draws(0, 100, PUBMED, 100) == 0


def test_the_smallest_subset_is_tried_too():
    """And not only sizes 15 % apart from the largest, which may miss it by as much."""
    least = 1.1 * 32e6 / 1.15**10
    documents = math.ceil(least * PUBMED.n_docs / PUBMED.n_tokens)
    within = subset_draws(documents, 100, PUBMED, 100)
    assert subset_documents(within, 100, (least, np.inf), PUBMED, 100) == documents
    assert subset_documents(0.99 * within, 100, (least, np.inf), PUBMED, 100) == 0
    assert subset_documents(np.inf, 100, (33e6, np.inf), PUBMED, 100) == 0
    fixed = subset_documents(np.inf, 100, (5e6, 5e6), PUBMED, 100)
    assert fixed == math.ceil(5e6 * PUBMED.n_docs / PUBMED.n_tokens)


def test_a_run_of_few_updates_or_epochs_does_not_end_on_the_subset():
    """A sweep over the subset is an update, and its documents are drawn."""
    assert chosen(PUBMED, updates=199).start == "stream"
    few = chosen(PUBMED, updates=200)
    assert (few.start, few.start_sweeps, few.anneal_updates) == ("subset", 100, 66)
    assert chosen(PUBMED).start == "subset"
    assert chosen(PUBMED, epochs=1.0).start == "stream"
    many = chosen(PUBMED, epochs=5.0)
    drawn = subset_draws(many.start_documents, many.start_sweeps, PUBMED, 100)
    assert many.start == "subset" and 1.3 < drawn / PUBMED.n_tokens <= 5 / 3
    large = chosen(PUBMED, epochs=2.0, batch_size=100_000)
    drawn = subset_draws(large.start_documents, large.start_sweeps, PUBMED, 100)
    left = (2 - drawn / PUBMED.n_tokens) * PUBMED.n_docs / large.batch_size
    assert large.anneal_updates == int(2 / 3 * left) < 100


@pytest.mark.parametrize(
    ("n_words", "topics", "short", "enough"),
    [(20_000, 100, 9, 11), (80_000, 100, 11, 16), (20_000, 500, 28, 48)],
)
def test_the_smallest_subset_of_minibatches_grows_with_words_and_topics(
    n_words, topics, short, enough
):
    size = Extent(3_000_000, 150_000_000, n_words)
    starts = [chosen(size, topics=topics, time_budget=float(s)).start for s in (short, enough)]
    assert starts == ["stream", "subset"]


def test_burn_in_leaves_a_third_of_the_time_for_samples():
    """Half for the subset, and three tenths of the rest for the updates after it."""
    config = chosen(PUBMED, time_budget=100.0)
    pace = Pace.reckoned(config, PUBMED.n_words, 2)
    drawn = subset_draws(config.start_documents, 100, PUBMED, 100)
    tokens = config.batch_size * PUBMED.n_tokens / PUBMED.n_docs
    update = pace.minibatch_update(tokens, config.sweeps, 100 * PUBMED.n_words)
    start = drawn * pace.token(config) + config.anneal_updates * update
    assert 60 < start <= 65


def test_what_was_asked_for_begins_on_the_smallest_where_none_fits():
    """Ten tokens for each topic."""
    for asked in ({"start": "subset"}, {"start_sweeps": 100}):
        config = chosen(ARXIV, topics=400, epochs=0.1, **asked)
        assert (config.start, config.start_sweeps) == ("subset", 100)
        assert config.start_documents == math.ceil(4_000 * ARXIV.n_docs / ARXIV.n_tokens)


@pytest.mark.parametrize(("updates", "trajectory", "samples"), [(SWEEPS + 24, 1, 15), (40, 2, 12)])
def test_what_is_expected_is_what_is_kept(small_corpus, tmp_path, updates, trajectory, samples):
    """Sweeps over the subset are positions, as trajectories are."""
    size = Extent.of(small_corpus)
    config = resolve(replace(CONFIG, updates=updates, trajectory=trajectory), size)
    pace = Pace.reckoned(config, small_corpus.n_words, 1)
    _, outcome = train(config, small_corpus, tmp_path / "run")
    assert expected_samples(config, size, pace) == outcome.samples == samples


def test_sweeps_over_the_subset_leave_no_sample():
    config = chosen(ARXIV, start="subset", updates=110)
    pace = Pace.reckoned(config, ARXIV.n_words, 2)
    assert expected_samples(config, ARXIV, pace) == 0
    epochs = replace(config, updates=None, epochs=0.9)
    assert expected_samples(epochs, ARXIV, pace) == 0


def test_what_is_expected_counts_the_subset_in():
    config = chosen(PUBMED, time_budget=600.0)
    pace = Pace.reckoned(config, PUBMED.n_words, 2)
    more = replace(config, start="stream", start_sweeps="auto", start_documents="auto")
    fewer, samples = (expected_samples(c, PUBMED, pace) for c in (config, more))
    assert 0 < fewer <= samples
    short = replace(config, time_budget=10.0)  # in which a start that is cut leaves too little
    assert expected_samples(short, PUBMED, pace) == 0
    looks = [look_of(replace(c, time_budget=None, updates=400), 10**6) for c in (config, more)]
    assert looks == [2 * (SUBSET_SWEEPS + config.anneal_updates), 2 * config.anneal_updates]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"start": "anneal", "start_sweeps": 5}, "--start-sweeps is of samplers that keep"),
        ({"start": "plain", "start_documents": 5}, "--start-documents is of samplers that keep"),
        ({"start": "subset", "workers": 2, "groups": 2}, "--start subset gives every chain"),
        ({"start": "stream", "start_documents": 5}, "--start-documents is of samplers that keep"),
        ({"start_documents": 5}, "--start-documents 5 have too few tokens for 100 topics"),
        ({"start_documents": 0}, "--start-documents"),
    ],
)
def test_what_it_does_not_go_with(given, said):
    with pytest.raises(UsageError, match=said):
        chosen(ARXIV, **given)


def test_a_checkpoint_without_parts_is_refused(small_corpus, tmp_path):
    train(CONFIG, small_corpus, tmp_path / "run", StopAfter(8))
    place = tmp_path / "run" / "checkpoint" / "current.json"
    manifest = json.loads(place.read_text()) | {"files": {}}
    place.write_text(json.dumps(manifest | {"checksum": own_checksum(manifest)}))
    with pytest.raises(DataError, match="holds no state of this run"):
        train(CONFIG, small_corpus, tmp_path / "run", resume=True)


def test_the_smallest_subset_trains(small_corpus, tmp_path):
    """Its documents have ten tokens for each topic in the mean, and so now and then fewer."""
    mean = small_corpus.n_tokens / small_corpus.n_docs
    number, topics = next(
        (n, topics)
        for n in range(2, 70)
        for topics in range(2, 60)
        if len(_tokens(small_corpus, n, 1, LocalTransport(1))[0][1]) < 10 * topics <= mean * n
    )
    config = replace(CONFIG, topics=topics, start_documents=number)
    _, outcome = train(config, small_corpus, tmp_path / "run")
    assert outcome.update == CONFIG.updates
