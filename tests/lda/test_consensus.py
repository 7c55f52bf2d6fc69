"""A consensus start: what members have in common, when they begin, and where it is chosen."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from trained import StopAfter, kept_bits, opened, parted, train

from topicmc.errors import DataError, UsageError
from topicmc.models.lda.collapsed.consensus import _roots, _ward, consensus, seconds_to_compare
from topicmc.models.lda.collapsed.growing import Schedule
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.planning.defaults import resolve
from topicmc.models.lda.planning.pace import Machine, Pace
from topicmc.models.lda.planning.plan import work_of_start
from topicmc.models.lda.planning.starts import BURN_IN_SHARE
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.settings import TrainConfig
from topicmc.storage.files import checksum, own_checksum

CONFIG = TrainConfig(
    topics=5, sampler="adlda", start="consensus", start_sweeps=30, epochs=45.0, alpha=0.3, beta=0.1,
    seed=3, threads=1, batch_size=150, evaluate_every="10m", checkpoint_every="10m",
)  # fmt: skip
KEPT = ("scir", "sgrld")
OF_MEMBER, POOLED = 2, 20  # sweeps of each of the ten, and of all, in a start of 30
KOS = Extent(3_087, 422_250, 6_906)
ARXIV = Extent(93_095, 11_439_595, 20_367)
PUBMED = Extent(8_200_000, 730_000_000, 39_987)


def test_members_of_blocks_of_one_document_begin_at_topics_of_their_own(small_corpus):
    """A fifth of the tokens begin alike, by chance: within 3 standard errors (of 9,000 tokens)."""
    found = opened(replace(CONFIG, batch_size=1, beta=50.0, alpha=50.0), small_corpus)
    firsts = []
    while len(firsts) < 2:
        found.round()
        if found.sweep == len(firsts) * OF_MEMBER + 1:
            firsts.append(found.samplers[0].z.copy())
    assert (firsts[0] == firsts[1]).mean() < 0.3


def counted(found) -> np.ndarray:
    """What the tokens' topics come to, over all workers."""
    total = np.zeros(found.reconciliation.counts().shape, np.int64)
    for sampler in found.samplers.values():
        known = sampler.z != sampler.unassigned
        np.add.at(total, (sampler.tokens[known], sampler.z[known]), 1)
    return total


def planted(generator) -> np.ndarray:
    return generator.dirichlet(np.full(60, 0.1), 6).T * np.array([900, 700, 500, 400, 300, 200])


def test_consensus_is_the_mean_of_like_topics():
    """Members hold Poisson counts of six topics, each in an order of its own: the means come out,
    within 6 of their standard errors (false failure < 1e-6)."""
    generator = np.random.default_rng(1)
    truth = planted(generator)
    members = [
        generator.poisson(truth)[:, generator.permutation(6)].astype(np.int32) for _ in range(10)
    ]
    found = consensus(members, 0.01)
    assert found.dtype == np.float32 and found.flags.c_contiguous
    apart = np.abs(truth[:, :, None] - found[:, None, :]).sum(axis=0)
    rows, columns = linear_sum_assignment(apart)
    errors = found[:, columns] - 0.01 - truth[:, rows]
    assert (np.abs(errors) <= 6 * np.sqrt((truth[:, rows] + 1) / 10)).all()


def test_no_topic_of_a_member_is_lost():
    """Each has one group: all counts are in the sums."""
    generator = np.random.default_rng(2)
    members = [generator.poisson(planted(generator)).astype(np.int32) for _ in range(4)]
    found = consensus(members, 0.5) - 0.5
    np.testing.assert_allclose(found.sum(axis=1), np.sum(members, axis=(0, 2)) / 4, rtol=1e-5)


def naive_consensus(members, beta):
    """All sums and all products made anew whenever topics have moved."""
    counts = np.concatenate([member.T for member in members])
    n_topics, roots = members[0].shape[1], _roots(counts, beta)
    group = _ward(roots, n_topics)
    for _ in range(20):
        sums = np.stack([counts[group == g].sum(axis=0) for g in range(n_topics)])
        before, group = group, (roots @ _roots(sums, beta).T).argmax(axis=1)
        if (group == before).all():
            break
    sums = np.stack([counts[group == g].sum(axis=0) for g in range(n_topics)])
    return (sums.T / len(members) + beta).astype(np.float32)


def test_topics_move_as_if_all_were_made_anew():
    """Topics of few and of many tokens, of members that are alike and of others: some topics leave
    Ward's groups, up to three times."""
    generator = np.random.default_rng(4)
    for alike in (30.0, 1.0, 0.1, 0.0):
        truth = generator.dirichlet(np.full(300, 0.1), 12).T
        own = generator.dirichlet(np.full(300, 0.1), (8, 12)).transpose(0, 2, 1)
        sizes = generator.gamma(0.5, 2000, (8, 1, 12)) + 5
        counts = generator.poisson(sizes * (alike * truth + own) / (alike + 1))
        members = list(counts.astype(np.int32))
        np.testing.assert_array_equal(consensus(members, 0.1), naive_consensus(members, 0.1))


def test_topics_without_tokens_are_pooled_too():
    members = [np.zeros((9, 4), np.int32) for _ in range(3)]
    members[0][:, 1] = 7
    found = consensus(members, 0.1)
    assert found.shape == (9, 4) and (found >= np.float32(0.1)).all()
    assert np.isfinite(found).all() and found.max() == pytest.approx(7 / 3 + 0.1)


def test_products_of_roots_are_exact_in_any_order():
    counts = np.random.default_rng(3).poisson(0.7, (40, 5000))
    roots = _roots(counts, 0.01)
    assert np.array_equal(roots, np.rint(roots))
    exact = roots.astype(np.int64)
    np.testing.assert_array_equal((roots @ roots.T).astype(np.int64), exact @ exact.T)


def test_members_share_four_fifths_of_the_start(small_corpus):
    schedule = opened(CONFIG, small_corpus).schedule
    assert isinstance(schedule, Schedule)
    assert (schedule.members.number, schedule.given) == (10, range(POOLED, POOLED + 3))
    begins = [schedule.members.begins(sweep) for sweep in range(45)]
    assert begins == [OF_MEMBER * (s // OF_MEMBER) for s in range(POOLED)] + [POOLED] * 25
    assert [schedule.is_start(position) for position in (0, 30, 31)] == [True, True, False]
    assert schedule.beta_factor(0) == 1 and schedule.share(0) == 1
    assert not any(schedule.learns(sweep, sweep + 1) for sweep in range(45))


@pytest.mark.parametrize(("sweeps", "learnt"), [(30, range(23, 30)), (25, range(20, 25))])
def test_priors_are_learned_from_the_chain_alone(small_corpus, sweeps, learnt):
    """Members end after 20 sweeps of both; annealing would end after 24, or after 20."""
    config = replace(CONFIG, learn="both", start_sweeps=sweeps)
    schedule = opened(config, small_corpus).schedule
    assert schedule.given.start == POOLED
    assert [s for s in range(45) if schedule.learns(s, s + 1)] == list(learnt)


@pytest.mark.parametrize(("sweeps", "members"), [(1, 0), (2, 1), (5, 4), (13, 10)])
def test_a_short_start_has_fewer_members_and_no_state_of_it_is_a_sample(
    small_corpus, sweeps, members
):
    schedule = opened(replace(CONFIG, start_sweeps=sweeps), small_corpus).schedule
    assert schedule.members.number == members
    assert schedule.given.start == members and len(schedule.given) == 3 * (members > 0)
    assert schedule.is_start(schedule.given.stop - 1) or members == 0
    assert schedule.is_start(max(sweeps, schedule.given.stop))
    assert not schedule.is_start(max(sweeps, schedule.given.stop) + 1)


@pytest.mark.parametrize("workers", [1, 3])
def test_members_begin_at_random_and_the_chain_with_what_they_have_in_common(small_corpus, workers):
    found = opened(replace(CONFIG, workers=workers, batch_size=100), small_corpus)
    last: list[np.ndarray] = []
    while found.position < POOLED:
        if found.position % OF_MEMBER == 0:
            last.append(counted(found))
        before = found.position
        while found.position == before:
            found.round()
        counts = found.reconciliation.counts()
        np.testing.assert_array_equal(counts, counted(found))
        assert counts.sum() == small_corpus.n_tokens
        for sampler in found.samplers.values():
            np.testing.assert_array_equal(sampler.topic_totals, counts.sum(axis=0))
    assert len(found.start_topics.members) == 9
    last.append(counted(found))
    found.round()
    assert len(found.start_topics.members) == 10
    for member, counts in zip(found.start_topics.members, last[1:], strict=True):
        np.testing.assert_array_equal(member, counts[:, :5])
    expected = consensus(found.start_topics.members, 0.1)
    np.testing.assert_array_equal(found._topics(POOLED)[0][:, :5], expected)
    saved = found.arrays()  # which are no copies
    for i, member in enumerate(found.start_topics.members):
        assert saved[f"member-{i:03d}"] is member
    while found.position < POOLED + 3:
        found.round()
    assert found.start_topics.members == [] and found._topics(POOLED + 3) is None


def test_metrics_say_which_member_was_drawn(small_corpus):
    found = opened(CONFIG, small_corpus)
    for _ in range(2 * POOLED):  # two rounds a sweep
        found.round()
        number = -(-found.update // (2 * OF_MEMBER))
        assert found.metrics()["stage"] == f"short chain {number} of 10"
    found.round()
    assert found.position == POOLED and "stage" not in found.metrics()


def test_a_member_knows_nothing_of_the_one_before(small_corpus):
    """After its first sweep topics are level: of 5 with some 1/5 of the tokens each, far apart from
    what they were."""
    found = opened(replace(CONFIG, batch_size=10), small_corpus)
    while found.position < OF_MEMBER + 1:
        found.round()
    share = found.reconciliation.counts()[:, :5].sum(axis=0) / small_corpus.n_tokens
    assert np.abs(share - 0.2).max() < 6 * np.sqrt(0.16 / small_corpus.n_tokens)  # at random
    phi = found.reconciliation.counts()[:, :5] / small_corpus.n_tokens / share
    assert np.abs(phi - phi.mean(axis=1, keepdims=True)).max() < 0.02


@pytest.mark.parametrize(
    "more",
    [{}, {"chains": 2, "threads": 2}, *({"sampler": s, "remember": True} for s in KEPT)],
    ids=["one chain", "two chains", *KEPT],
)
def test_a_resumed_start_has_the_bits_of_an_uninterrupted_one(small_corpus, tmp_path, more):
    config = replace(CONFIG, **more)
    whole, _ = train(config, small_corpus, tmp_path / "whole")
    for run in parted(config, small_corpus, tmp_path, (1, 4, 9, 39, 40, 41, 44, 46, 60)):
        assert kept_bits(run) == kept_bits(whole) != []
        assert min(entry["position"] for entry in run.sample_index()) > 30


def seal(folder):
    """Writes the checksums of the files of a checkpoint, some of which were changed."""
    place = folder.parent / "current.json"
    manifest = json.loads(place.read_text())
    manifest["files"] = {path.name: checksum(path) for path in folder.iterdir()}
    place.write_text(json.dumps({**manifest, "checksum": own_checksum(manifest)}))


@pytest.mark.parametrize(
    "change", [lambda m: m[..., :-1], lambda m: m.astype(np.int64), lambda m: m[0]]
)
def test_members_that_are_none_are_no_state(small_corpus, tmp_path, change):
    train(CONFIG, small_corpus, tmp_path / "run", StopAfter(9))
    path = next((tmp_path / "run" / "checkpoint").glob("round-*/member-001.npy"))
    np.save(path, change(np.load(path)))
    seal(path.parent)
    with pytest.raises(DataError, match="holds no state of this run .*a member is int"):
        train(CONFIG, small_corpus, tmp_path / "run", resume=True)


@pytest.fixture(scope="module")
def whole(small_corpus, tmp_path_factory) -> TopicRun:
    """A run that was not stopped."""
    return train(CONFIG, small_corpus, tmp_path_factory.mktemp("whole") / "run")[0]


def test_members_that_an_earlier_version_saved_go_on(small_corpus, tmp_path, whole):
    """Which were in one array."""
    train(CONFIG, small_corpus, tmp_path / "run", StopAfter(9))
    paths = sorted((tmp_path / "run" / "checkpoint").glob("round-*/member-*.npy"))
    folder = paths[0].parent
    np.save(folder / "members.npy", np.array([np.load(path) for path in paths]))
    for path in paths:
        path.unlink()
    facts = json.loads((folder / "rank-000.json").read_text())
    assert (facts["members"], facts.pop("apart")) == (len(paths), True) == (2, True)
    (folder / "rank-000.json").write_text(json.dumps(facts))
    seal(folder)
    run, _ = train(CONFIG, small_corpus, tmp_path / "run", resume=True)
    assert kept_bits(run) == kept_bits(whole) != []


@pytest.fixture
def growing(monkeypatch):
    """Members of five sweeps, that begin with a tenth of the documents."""
    monkeypatch.setattr("topicmc.models.lda.planning.starts.FIRST_TOKENS", 600)
    monkeypatch.setattr("topicmc.models.lda.planning.starts.FIRST_WORD_TOKENS", 1)
    return replace(CONFIG, topics=2, start_sweeps=63, epochs=70.0)


def test_members_grow_on_a_large_corpus(small_corpus, growing):
    """Each from a share of the documents to all, by one factor, while β falls; documents of the
    first sweeps of all members are of all of the corpus, and no member begins with those of
    another."""
    config = replace(growing, batch_size=small_corpus.n_docs)
    found = opened(config, small_corpus)
    schedule, worker = found.schedule, found.workers[0]
    assert (schedule.members.number, schedule.members.sweeps) == (10, 5)
    begun = []
    for sweep in range(63):
        update = schedule.after(sweep)
        docs = np.concatenate(
            [worker.documents(u, 1) for u in range(update, schedule.after(sweep + 1))]
        )
        share = (
            1.0 if sweep >= 50 else min(1.0, schedule.members.growth.first ** (1 - sweep % 5 / 4))
        )
        assert schedule.share(update) == pytest.approx(share)
        assert len(docs) == len(set(docs)) == pytest.approx(share * small_corpus.n_docs, abs=25)
        beta = 1.0 if sweep >= 50 else 10.0 ** (1 - sweep % 5 / 5)
        assert schedule.beta_factor(update) == pytest.approx(beta)
        if sweep < 50 and sweep % 5 == 0:
            begun.append(set(docs))
    assert 0.05 < schedule.members.growth.first < 0.15
    assert sum(map(len, begun)) < 1.6 * len(set.union(*begun))
    assert len(set.union(*begun)) > 0.6 * small_corpus.n_docs


def test_what_members_have_in_common_is_the_same_after_beta_was_learned(small_corpus, tmp_path):
    """While tokens are drawn given it, β is learned already in a start of fifty sweeps."""
    config = replace(CONFIG, start_sweeps=50, epochs=65.0, learn="both")
    whole, _ = train(config, small_corpus, tmp_path / "whole")
    for run in parted(config, small_corpus, tmp_path, range(81, 87)):
        assert kept_bits(run) == kept_bits(whole) != []


def test_a_resumed_start_whose_members_grow_has_the_same_bits(small_corpus, tmp_path, growing):
    whole, _ = train(growing, small_corpus, tmp_path / "whole")
    for run in parted(growing, small_corpus, tmp_path, (3, 30, 61, 103)):
        assert kept_bits(run) == kept_bits(whole) != []


@pytest.mark.parametrize("rounds", range(15, 21))
def test_a_growing_member_goes_on_with_other_workers(small_corpus, tmp_path, growing, rounds):
    """Also within its last sweep, the rest of which is left out: some documents have no topic when
    the next member begins."""
    train(growing, small_corpus, tmp_path / "run", StopAfter(rounds))
    config = replace(growing, workers=3)
    run, _ = train(config, small_corpus, tmp_path / "run", resume=True)
    assert min(entry["position"] for entry in run.sample_index()) > 63


@pytest.mark.parametrize(
    ("rounds", "members"), [(5, 0), (49, 0), (250, 4), (251, 5), (504, 10), (650, 0)]
)
def test_a_run_of_a_version_whose_members_did_not_grow_goes_on(
    small_corpus, tmp_path, monkeypatch, growing, rounds, members
):
    """With the next sweep, and as many sweeps of the start left as there were."""
    config = replace(growing, batch_size=30)  # ten rounds a sweep
    with monkeypatch.context() as before:
        before.setattr("topicmc.models.lda.planning.starts._WORTH_GROWING", 0.0)
        train(config, small_corpus, tmp_path / "run", StopAfter(rounds))
    method = opened(config, small_corpus)
    told = method.restore(TopicRun.open(tmp_path / "run").checkpoint())
    assert told is not None and "by a version whose starts" in told
    assert (method.position, len(method.start_topics.members)) == (-(-rounds // 10), members)
    run, _ = train(config, small_corpus, tmp_path / "run", resume=True)
    assert min(entry["position"] for entry in run.sample_index()) > 63
    assert run.metrics()[-1]["sweep"] >= 70


def test_threads_change_nothing(small_corpus, tmp_path, whole):
    run, _ = train(replace(CONFIG, threads=2), small_corpus, tmp_path / "run")
    assert kept_bits(run) == kept_bits(whole)


def test_it_is_chosen_where_sweeps_are_cheap():
    def chosen(size, memory=None, **given):
        asked = TrainConfig(**{"topics": 50, "sampler": "adlda", **given})
        config = resolve(asked, size, Machine(memory=memory))
        return config.start, config.start_sweeps

    assert chosen(KOS) == ("consensus", 1250)
    assert chosen(KOS, epochs=1000.0) == ("consensus", 450)
    assert chosen(KOS, epochs=500.0) == ("consensus", 225)
    assert chosen(KOS, epochs=440.0) == ("grow", 80)
    assert chosen(KOS, time_budget=1.0)[0] == "grow"
    assert chosen(KOS, time_budget=6.5)[0] == "grow"  # 430 sweeps fit
    assert chosen(KOS, time_budget=7.0)[0] == "consensus"
    assert chosen(KOS, time_budget=60.0)[0] == "consensus"
    assert chosen(KOS, sampler="auto") == ("consensus", 1250)
    assert chosen(KOS, sampler="scir") == ("consensus", 1250)
    # A sweep of it takes longer, as it moves θ more often.
    assert chosen(KOS, sampler="sgrld", remember=True) == ("consensus", 751)
    assert chosen(ARXIV, topics=100, epochs=440.0)[0] == "grow"  # documents would join too fast
    assert chosen(ARXIV, topics=100, epochs=600.0)[0] == "consensus"
    assert chosen(PUBMED, topics=100, epochs=600.0)[0] == "grow"
    assert chosen(PUBMED, topics=100, epochs=1200.0)[0] == "consensus"
    wide = KOS._replace(n_words=400_000)  # 8 GB
    assert chosen(wide, 40 * 10**9, topics=100)[0] == "consensus"
    assert chosen(wide, 30 * 10**9, topics=100)[0] == "grow"
    for other in (
        {"sampler": "asynclda"}, {"alpha": [0.1] * 50},
        {"seeds": {"sea": {"3": 1.0}}}, {"topic_prior": "prior.npy", "learn": "alpha"},
        {"start_sweeps": 80},
        {"topics": 250},
    ):  # fmt: skip
        assert chosen(KOS, **other)[0] == "grow", other
    assert chosen(KOS, start="consensus", start_sweeps=80) == ("consensus", 80)


def test_the_time_to_compare_members_is_part_of_the_start():
    """100 topics of 20,000 words take as long as 40 sweeps over few documents."""
    size = Extent(9_000, 450_000, 20_000)
    config = TrainConfig(topics=100, sampler="adlda", time_budget=20.0)
    machine = Machine(2, pace=Pace(17e-9, 0.0, 7e-9))
    sweep = 17e-9 * size.n_tokens
    compared = seconds_to_compare(size.n_words, 100)
    assert 0.5 < compared < 1
    planned = resolve(config, size, machine)
    assert planned.start == "consensus"
    taken = work_of_start(planned, size).cost * sweep + compared
    assert BURN_IN_SHARE * 20.0 - 2 * sweep < taken <= BURN_IN_SHARE * 20.0
    short = resolve(replace(config, time_budget=4.0), size, machine)
    assert short.start == "grow"


def test_a_run_without_a_length_takes_half_a_minute_of_two_cores_whatever_there_is():
    """36 ns a token and topic at K = 50, 42 at K = 100, by two threads."""
    for size, topics, first in ((KOS, 50, 3000), (ARXIV, 100, 150), (KOS, 20, 3000)):
        for cores in (1, 2, 64):
            config = resolve(TrainConfig(topics=topics), size, Machine(cores))
            assert (config.until, config.epochs) == ("converged", 3 * first)
    size = Extent(20_000, 2_000_000, 10_000)
    one, two = (resolve(TrainConfig(topics=50, chains=n), size) for n in (1, 2))
    assert one.epochs == 3 * round(30 / (2_000_000 * 18e-9))
    assert two.epochs == pytest.approx(one.epochs / 2, abs=2)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sampler": "asynclda"}, "--start consensus is not of --sampler asynclda"),
        ({"sampler": "scir", "remember": False}, "--start consensus needs --sampler adlda"),
        ({"sampler": "sgrld"}, "--start consensus needs --sampler adlda"),
        ({"alpha": [0.1] * 50}, "--alpha tells them apart"),
        ({"seeds": {"sea": {"3": 1.0}}}, "--seeds tells them apart"),
        ({"topic_prior": "prior.npy", "learn": "alpha"}, "--topic-prior tells them apart"),
    ],
)
def test_what_it_cannot_honour_is_refused(given, message):
    config = TrainConfig(**{"sampler": "adlda", "topics": 50, "start": "consensus", **given})
    with pytest.raises(UsageError, match=message):
        resolve(config, KOS)
