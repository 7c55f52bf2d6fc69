"""A time budget holds a start and samples, on any machine; where it cannot, that is said before."""

import math
from dataclasses import replace

import pytest
from trained import train

from topicmc.engine.transport.local import LocalTransport
from topicmc.models.lda import jobs
from topicmc.models.lda.collapsed.worker import CollapsedWorker
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.partition import DocumentRange
from topicmc.models.lda.planning import calibration
from topicmc.models.lda.planning.calibration import measured
from topicmc.models.lda.planning.defaults import resolve
from topicmc.models.lda.planning.pace import Machine, Pace
from topicmc.models.lda.planning.plan import (
    ENOUGH_SAMPLES,
    expected_samples,
    remarks,
    seconds_of_sweeps,
    work_of_start,
)
from topicmc.models.lda.planning.planned import planned
from topicmc.models.lda.planning.sampler_choice import GROWTH_SHARE, SUBSET_LEAST
from topicmc.models.lda.planning.starts import (
    ANNEALED_SHARE,
    GROWTH,
    LEAST_START,
    NO_GROWTH,
    SUBSET_SWEEPS,
    Growth,
    Members,
    longest_consensus,
    longest_start,
    run_of_slow_growth,
    start_within,
    start_work,
    usual_subset,
)
from topicmc.models.lda.settings import TrainConfig

ARXIV = Extent(93_095, 11_439_595, 20_367)
PUBMED = Extent(8_200_000, 730_000_000, 39_987)
USUAL = 21e-9  # seconds a token, two threads, K = 100
BUDGET = TrainConfig(topics=100, threads=2)


@pytest.mark.parametrize("slower", [0.2, 1.0, 3.0, 20.0])
@pytest.mark.parametrize("seconds", [5.0, 10.0, 60.0, 600.0, 36_000.0])
@pytest.mark.parametrize("corpus", [ARXIV, PUBMED])
@pytest.mark.parametrize("chains", [1, 2])
def test_a_budget_holds_a_start_and_samples_on_any_machine(corpus, seconds, slower, chains):
    """Whenever AD-LDA is chosen for it; else minibatches, or a word that it is too short."""
    pace = Pace(slower * USUAL, 0.0, slower * 7e-9)
    asked = replace(BUDGET, time_budget=seconds, chains=chains, sampler="auto")
    sweeps = seconds / (chains * corpus.n_tokens * slower * USUAL)
    least = GROWTH_SHARE * run_of_slow_growth(corpus, 100)
    if usual_subset(sweeps, corpus, 100):
        least = min(least, SUBSET_LEAST)
    machine = Machine(2, 10**11, pace)
    config = resolve(asked, corpus, machine)
    samples = expected_samples(config, corpus, pace)
    told = remarks(asked, config, corpus, machine)
    # Two chains of minibatches need two workers.
    assert (config.sampler == "adlda") == (sweeps >= least or chains == 2)
    assert (samples < ENOUGH_SAMPLES) == any("past the start" in remark for remark in told)
    if sweeps >= least:
        cost = work_of_start(config, corpus).cost
        assert samples >= ENOUGH_SAMPLES
        shortest = config.start_sweeps in (LEAST_START, SUBSET_SWEEPS + LEAST_START)
        assert shortest or cost <= ANNEALED_SHARE * sweeps


@pytest.mark.parametrize(
    "told",
    [
        {"sampler": "adlda", "start": "grow", "start_sweeps": 110},
        {"sampler": "scir", "remember": False, "start_documents": 90_000, "anneal_updates": 1_000},
        {"sampler": "scir", "remember": False, "start": "stream", "anneal_updates": 1_000},
    ],
)
def test_what_is_expected_knows_that_a_start_is_cut(told):
    """One that would take all of a time budget leaves some of it, but for its last sweeps."""
    pace = Pace(USUAL, 0.0, 7e-9)
    config = resolve(replace(BUDGET, time_budget=12.0, **told), ARXIV, Machine(2, pace=pace))
    assert expected_samples(config, ARXIV, pace) >= ENOUGH_SAMPLES
    if told["sampler"] == "adlda":
        assert work_of_start(config, ARXIV).cost * USUAL * ARXIV.n_tokens > 2 * 12.0


@pytest.mark.parametrize(("sweeps", "start"), [(100, 60), (18, 10), (12, 6)])
def test_a_growing_start_takes_three_fifths_but_leaves_eight_sweeps_or_a_half(sweeps, start):
    assert start_within(sweeps, 100) == pytest.approx(start)


@pytest.mark.parametrize(("start", "share"), [("grow", 0.6), ("anneal", 0.6), ("plain", 0.45)])
def test_what_a_start_takes_of_a_time_budget(start, share):
    """In a run with time for a hundred sweeps; lengths are some 15 % apart."""
    pace = Pace(1 / ARXIV.n_tokens, 0.0, 7e-9)
    asked = replace(BUDGET, sampler="adlda", start=start, time_budget=100.0)
    config = resolve(asked, ARXIV, Machine(2, pace=pace))
    longer = replace(config, start_sweeps=math.ceil(1.2 * config.start_sweeps))
    assert work_of_start(config, ARXIV).cost <= 100 * share < work_of_start(longer, ARXIV).cost


@pytest.mark.parametrize(
    ("start", "epochs", "sweeps"),
    [("grow", 32, 32), ("grow", 200, 80), ("anneal", 50, 35), ("plain", 32, 16), ("grow", 4, 5)],
)
def test_the_start_of_so_many_epochs(start, epochs, sweeps):
    """Of 32 a growing one may draw 22.4: its first 18 sweeps draw 7.4, and 14 follow, not 15."""
    asked = replace(BUDGET, sampler="adlda", start=start, epochs=epochs)
    config = resolve(asked, ARXIV, Machine(2))
    assert config.start_sweeps == sweeps


def test_minibatches_are_ahead_where_few_sweeps_fit_with_many_topics():
    """Seen with 1,000 topics on two threads: minibatches for 10 s, AD-LDA from 14 s on."""
    asked = replace(BUDGET, topics=1_000, sampler="auto")
    for seconds, sampler in ((10.0, "scir"), (14.0, "adlda")):
        timed = replace(asked, time_budget=seconds)
        config = resolve(timed, ARXIV, Machine(2, pace=Pace(58e-9, 0.0, 7e-9)))
        assert config.sampler == sampler


def test_the_starts_that_were_seen_to_be_ahead():
    """On two threads, K = 100: abstracts by AD-LDA in 6 s, 23 sweeps of its start growing, and not
    in less; a million generated documents on a subset in 20 and 40 s, and growing in 80 as well."""
    pace = Pace(16e-9, 0.0, 7e-9)
    million = Extent(999_000, 49_972_487, 20_000)
    for corpus, seconds, sampler, start in (
        (ARXIV, 4.5, "scir", "stream"), (ARXIV, 6.0, "adlda", "grow"),
        (ARXIV, 60.0, "adlda", "grow"),
        (million, 20.0, "adlda", "subset"), (million, 40.0, "adlda", "subset"),
        (million, 80.0, "adlda", "grow"),
    ):  # fmt: skip
        timed = replace(BUDGET, sampler="auto", time_budget=seconds)
        config = resolve(timed, corpus, Machine(2, 10**11, pace))
        assert (config.sampler, config.start) == (sampler, start), seconds


@pytest.mark.parametrize(("topics", "share"), [(1_000, 0.6), (2_000, 10 / 28), (10_000, 10 / 28)])
def test_starts_with_thousands_of_topics_leave_time_for_sweeps(topics, share):
    """In a run with time for 28 sweeps: 18 of them."""
    asked = replace(BUDGET, topics=topics, time_budget=20.0)
    pace = Pace(20 / (28 * ARXIV.n_tokens), 0.0, 7e-9)
    config = resolve(asked, ARXIV, Machine(2, pace=pace))
    assert config.start == "grow"
    longer = replace(config, start_sweeps=math.ceil(1.2 * config.start_sweeps))
    assert work_of_start(config, ARXIV).cost <= share * 28 < work_of_start(longer, ARXIV).cost


@pytest.mark.parametrize(
    ("topics", "draw", "seconds", "sampler"),
    [
        (1_000, 58e-9, 1.25, "adlda"), (1_000, 58e-9, 2.5, "scir"), (2_000, 80e-9, 2.5, "adlda"),
        (2_000, 80e-9, 5.0, "scir"), (2_000, 80e-9, 10.0, "scir"), (10_000, 200e-9, 5.0, "adlda"),
        (10_000, 200e-9, 40.0, "adlda"),
    ],
)  # fmt: skip
def test_minibatches_that_would_leave_topics_empty_are_not_taken(topics, draw, seconds, sampler):
    """Seen on two threads; 10,000 topics by minibatches had 12,990 after 1.4 s and 6,660 after 11,
    where the frequencies of words alone have 3,280."""
    timed = replace(BUDGET, topics=topics, sampler="auto", time_budget=seconds)
    config = resolve(timed, ARXIV, Machine(2, pace=Pace(draw, 0.0, 7e-9)))
    assert config.sampler == sampler


@pytest.mark.parametrize(
    ("size", "seconds"),
    [
        (Extent(400, 60_000_000, 100_000), 20.0), (Extent(1_000, 100_000_000, 100_000), 30.0),
        (Extent(200, 20_000_000, 60_000), 7.0), (Extent(3, 3_000_000, 40_000), 1.0),
        (Extent(3_000, 600_000, 20_000), 0.2), (Extent(20_000, 2_000_000, 50_000), 0.7),
    ],
)  # fmt: skip
def test_minibatches_that_would_come_to_no_sample_are_not_taken(size, seconds):
    """They are a large part of the corpus; some would come after a start on a subset."""
    pace = Pace(20e-9, 0.0, 7e-9)
    asked, machine = TrainConfig(time_budget=seconds), Machine(2, 10**11, pace)
    config = resolve(asked, size, machine)
    assert config.sampler == "adlda"
    assert expected_samples(config, size, pace) >= ENOUGH_SAMPLES
    minibatches = resolve(replace(asked, sampler="scir", remember=False), size, machine)
    assert expected_samples(minibatches, size, pace) == 0


def test_moves_take_their_part_of_a_sweep():
    """Tokens are drawn in 78 ms, and θ makes a move of 40 million weights in 300; in half of a
    short run, which a start leaves at least, that is 3 sweeps."""
    size, machine = Extent(20_000, 2_000_000, 100_000), Machine(2)
    asked = TrainConfig(topics=400, sampler="scir", remember=True, time_budget=2.5)
    config = resolve(asked, size, machine)
    pace = machine.usual_pace(config, size.n_words)
    assert seconds_of_sweeps(config, size, pace) == pytest.approx((0.078, 0.378))
    plain = replace(config, start="plain")  # in which θ moves from the beginning
    assert seconds_of_sweeps(plain, size, pace) == pytest.approx((0.378, 0.378))
    (told,) = remarks(asked, config, size, machine)
    assert "long enough for 3 posterior samples" in told
    collapsed = replace(asked, sampler="adlda", remember="auto")
    assert remarks(collapsed, resolve(collapsed, size, machine), size, machine) == []
    untimed = resolve(replace(asked, topics=100, time_budget=None), size, machine)
    assert untimed.epochs == 3 * round(30 / 0.117)


def test_moves_of_some_samplers_come_more_often():
    """Of SGRLD after 0.3 tokens a weight, here after each of 16 blocks; of SCIR after 3."""
    size, machine = Extent(20_000, 7_000_000, 20_000), Machine(2)
    for sampler, n_moves in (("sgrld", 16), ("scir", 16 / 14)):
        asked = TrainConfig(topics=100, sampler=sampler, remember=True, epochs=9.0)
        config = resolve(asked, size, machine)
        pace = machine.usual_pace(config, size.n_words)
        drawn, moved = seconds_of_sweeps(config, size, pace)
        assert moved - drawn == pytest.approx(n_moves * 0.015)


def test_the_sampler_that_was_seen_to_end_in_its_start():
    """730 million tokens, 25 minutes: AD-LDA whose documents join slowly; five: AD-LDA that starts
    on a subset; three: minibatches, which are ahead of that for some 13 sweeps. Documents that join
    fast were seen to find poor topics."""
    pace = Pace(USUAL, 0.0, 7e-9)
    long = resolve(replace(BUDGET, time_budget=1500.0), PUBMED, Machine(2, pace=pace))
    assert long.sampler == "adlda"
    assert Growth.over(long.start_sweeps, PUBMED, 100).factor == pytest.approx(GROWTH)
    five = resolve(replace(BUDGET, time_budget=300.0), PUBMED, Machine(2, pace=pace))
    assert (five.sampler, five.start) == ("adlda", "subset")
    three = resolve(replace(BUDGET, time_budget=180.0), PUBMED, Machine(2, pace=pace))
    assert three.sampler == "scir"
    for config in (five, three):
        assert expected_samples(config, PUBMED, pace) >= ENOUGH_SAMPLES


@pytest.mark.parametrize("millions", [40, 50, 60, 70, 85, 100, 730])
def test_a_longer_run_does_not_fall_back_to_minibatches(millions):
    size = Extent(11_200 * millions, millions * 10**6, 7_000)
    machine = Machine(2, pace=Pace(USUAL, 0.0, 7e-9))
    samplers = [
        resolve(replace(BUDGET, time_budget=0.021 * millions * n), size, machine).sampler
        for n in range(8, 60)
    ]
    assert samplers == sorted(samplers, reverse=True) and set(samplers) == {"scir", "adlda"}


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"time_budget": 0.2, "sampler": "adlda"}, "--time-budget 0.2s is too short for any"),
        ({"time_budget": 1.0, "sampler": "adlda"}, "--time-budget 1s is long enough for "),
        ({"epochs": 2.0, "sampler": "adlda"}, "--epochs 2 is too short for any posterior sample"),
        ({"updates": 10, "sampler": "scir"}, "--updates 10 is too short for any posterior sample"),
    ],
)
def test_what_is_too_short_is_said(settings, sentence):
    asked, machine = replace(BUDGET, **settings), Machine(2, pace=Pace(USUAL, 0.0, 7e-9))
    config = resolve(asked, ARXIV, machine)
    (told,) = remarks(asked, config, ARXIV, machine)
    assert sentence in told


def test_what_growing_costs():
    """The sum of the shares of the documents that take part, of which those of sweeps in which
    documents join take half as long again; all of them where nothing grows."""
    size = Extent(1, 10_000_000, 1000)
    growth = Growth.over(40, size, 100)
    assert growth.first == 0.09 and growth.share(39) == 1
    shares = [growth.share(sweep) for sweep in range(40)]
    for sweeps in (1, 7, 40):
        drawn = shares[:sweeps]
        assert growth.work(sweeps).draws == pytest.approx(sum(drawn))
        joining = sum(share for share in drawn if share < 1)
        assert growth.work(sweeps).cost == pytest.approx(sum(drawn) + joining / 2)
    assert NO_GROWTH.work(40) == (40, 40)
    for within in (1.0, 9.0, 40.0, 1000.0):
        sweeps = longest_start("grow", within, 160, size, 100)
        assert 1 <= sweeps <= 160
        assert sweeps == 1 or Growth.over(sweeps, size, 100).work(sweeps).cost <= within


@pytest.mark.parametrize(
    ("sweeps", "n_topics", "n_words", "tokens"),
    [
        (5, 10, 1000, 90_000), (5, 100, 1000, 900_000), (40, 400, 1000, 3_600_000),
        (30, 400, 1000, 2_700_000), (5, 400, 1000, 1_800_000), (5, 400, 40_000, 3_000_000),
    ],
)  # fmt: skip
def test_what_a_growing_start_begins_with(sweeps, n_topics, n_words, tokens):
    growth = Growth.over(sweeps, Extent(1, 10_000_000, n_words), n_topics)
    assert growth.first == pytest.approx(tokens / 10_000_000)


@pytest.mark.parametrize("n_tokens", [500_000, 10_000_000])
@pytest.mark.parametrize("sweeps", [1, 13, 200, 1250])
def test_what_a_consensus_start_costs(n_tokens, sweeps):
    """The sum of the shares of the documents that take part, half as much again while they join."""
    size = Extent(1, n_tokens, 1000)
    members = Members.of(sweeps, size, 100)
    shares = [members.share(sweep) for sweep in range(sweeps)]
    assert start_work("consensus", sweeps, size, 100).draws == pytest.approx(sum(shares))
    cost = sum(share * (1.5 if share < 1 else 1) for share in shares)
    assert start_work("consensus", sweeps, size, 100).cost == pytest.approx(cost)
    assert sum(shares) == sweeps or n_tokens > 900_000
    if members.sweeps > 1:
        assert shares[members.sweeps - 1] == shares[members.end - 1] == 1
    found = longest_consensus(cost, 1250, size, 100)
    assert start_work("consensus", found, size, 100).cost <= cost + 1e-9
    assert 0.9 * sweeps - 1 <= found <= sweeps


def test_the_plan_is_made_once_and_kept(small_corpus, tmp_path):
    """A run that goes on with a longer budget has the start that it began with."""
    config = TrainConfig(topics=5, sampler="adlda", time_budget=4.0, threads=1, seed=1)
    run, _ = train(config, small_corpus, tmp_path / "run")
    began = run.facts()
    assert began["plan"]["pace"]["draw"] > 0
    samples = [entry for entry in run.sample_index() if not entry["burn_in"]]
    assert len(samples) >= ENOUGH_SAMPLES
    # On a busy machine the start leaves sweeps out, and ends before so many were made.
    started = [record["position"] for record in run.metrics() if record["burn_in"]]
    assert min(entry["position"] for entry in samples) > max(started, default=0)
    config, _, run = jobs.resume(tmp_path / "run", {"time_budget": 50.0}, LocalTransport(), None)
    assert config.start_sweeps == began["config"]["start_sweeps"]
    assert run.facts()["plan"] == began["plan"]


@pytest.mark.parametrize("workers", [1, 2])
def test_the_pace_that_is_measured(small_corpus, workers):
    """Between a nanosecond and some microseconds a token, whatever this machine is."""
    config = TrainConfig(topics=5, workers=workers, batch_size=40)
    pace = measured(small_corpus, config, 1, LocalTransport(workers))
    assert 1e-9 < pace.draw < 1e-4
    assert pace.hosted == workers and pace.exchange == 0


@pytest.mark.parametrize("one_by_one", [False, True])
def test_the_pace_is_that_of_the_blocks_that_are_drawn(small_corpus, monkeypatch, one_by_one):
    """A run on some 400,000 tokens takes a sixth longer in its four blocks than in one. Blocks of
    one document have a kernel of their own, which draws all those of a round."""
    drawn = []

    def draw(self, docs, *_, **given):
        assert given["one_by_one"] == one_by_one
        drawn.append((given["sweep"], docs[0], len(docs)))

    monkeypatch.setattr(CollapsedWorker, "draw", draw)
    sizes = {"batch_size": 1, "trajectory": 40} if one_by_one else {"batch_size": 40}
    measured(small_corpus, TrainConfig(topics=5, **sizes), 1, LocalTransport(1))
    n_docs = small_corpus.n_docs
    blocks = [(first, min(40, n_docs - first)) for first in range(0, n_docs, 40)]
    assert drawn[: 2 * len(blocks)] == [(sweep, *block) for sweep in (0, 1) for block in blocks]


def test_the_pace_is_taken_over_all_ranges_of_a_worker(small_corpus, monkeypatch):
    """The first may be a few documents at the edge of a shard."""
    drawn = []
    ranges = [[DocumentRange(0, 97, 100), DocumentRange(1, 0, 60)]]
    monkeypatch.setattr(CollapsedWorker, "draw", lambda self, docs, *_, **__: drawn.extend(docs))
    monkeypatch.setattr(calibration, "share_out", lambda *_: ranges)
    measured(small_corpus, TrainConfig(topics=5, batch_size=40), 1, LocalTransport(1))
    assert max(drawn) == 62


def test_processes_with_other_threads_come_to_one_pace(small_corpus, monkeypatch):
    """Each value is that of the slowest."""
    monkeypatch.setattr(LocalTransport, "exchange", lambda self, own: [own, [0.25, 3.0, 0.5]])
    config = TrainConfig(topics=5, batch_size=40)
    for threads in (1, 2):
        pace = measured(small_corpus, config, threads, LocalTransport(1))
        assert (pace.draw, pace.exchange, pace.move) == (0.25, 3.0, 0.5)


def test_the_pace_is_taken_for_a_while(small_corpus, monkeypatch):
    """A fiftieth of the budget, 0.6 s at most; five times at least. By this clock all that is timed
    takes a 64th of a second."""
    sweeps = []

    def sweep(self, docs, *_, **given):
        sweeps.append(given["sweep"])

    def taken(budget):
        sweeps.clear()
        config = TrainConfig(topics=5, batch_size=1000, time_budget=budget)
        measured(small_corpus, config, 1, LocalTransport(1))
        return sweeps.count(2)

    clock = iter(range(1 << 20))
    monkeypatch.setattr(CollapsedWorker, "draw", sweep)
    monkeypatch.setattr(calibration.time, "perf_counter", lambda: next(clock) / 64)
    assert [taken(budget) for budget in (None, 1.0, 10.0, 1e4)] == [5, 5, 13, 39]


def test_more_topics_than_documents_are_remarked_on(small_corpus):
    plan = planned(TrainConfig(topics=301, epochs=9.0), small_corpus, LocalTransport(1))
    assert any(told.startswith("301 topics are more than there are documents (300)")
               for told in plan.remarks)  # fmt: skip
    plan = planned(TrainConfig(topics=300, epochs=9.0), small_corpus, LocalTransport(1))
    assert not any("documents" in told for told in plan.remarks)
