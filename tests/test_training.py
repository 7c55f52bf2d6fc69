"""The loop: the same bits whatever the threads and the interruptions, and topics worth having."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from trained import StopAfter, begun, ended, kept_bits, resumed, train

from topicmc.engine import clock
from topicmc.engine.dsgld import Dsgld
from topicmc.engine.listeners import Silent
from topicmc.engine.loop import Training
from topicmc.engine.transport.local import LocalTransport
from topicmc.errors import DataError, UsageError
from topicmc.host.interrupts import Interrupt
from topicmc.kernels.threads import Threads
from topicmc.models.lda import jobs
from topicmc.models.lda.evaluation import HeldOut
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.samples import posterior_mean
from topicmc.models.lda.scoring import score_run
from topicmc.models.lda.settings import TrainConfig
from topicmc.report.runs import run_of
from topicmc.storage import checkpoints
from topicmc.storage.runs import files_of
from topicmc.topics.compare.models import RunModel
from topicmc.topics.diagnostics import evaluations

SMALL = TrainConfig(
    sampler="scir",
    topics=5,
    batch_size=40,
    sweeps=4,
    updates=40,
    anneal_updates=12,
    evaluate_every="15",
    checkpoint_every="7",
    seed=3,
    threads=1,
)


@pytest.mark.parametrize("remember", [False, True])
def test_sgrld_begins_with_the_weight_that_is_asked_for(small_corpus, tmp_path, remember):
    """The steps of the papers are meant for Σ_w θ_wk ≈ W. After an update of next to no length the
    sums are those of the start: of K W = 600 Exp(1) draws, within 6 standard errors of W."""
    config = replace(
        SMALL, sampler="sgrld", updates=1, step_size=1e-12, beta=1e-4, learn="none", start="plain",
        remember=remember,
    )  # fmt: skip
    if remember:
        config = replace(config, sweeps="auto", anneal_updates="auto")
    for weight in (1.0, None):
        told = replace(config, start_weight=weight)
        run, _ = train(told, small_corpus, tmp_path / str(weight))
        sums = sum(np.load(p)[:, :5].sum() for p in run.path.glob("checkpoint/round-*/theta*.npy"))
        expected = (weight or 0.01) * small_corpus.n_words * 5
        assert abs(sums / expected - 1) < 6 / (small_corpus.n_words * 5) ** 0.5


def checkpoint_bits(run: TopicRun) -> dict[str, str]:
    checkpoint = run.checkpoint()
    assert checkpoint is not None
    return {k: v for k, v in checkpoint.manifest["files"].items() if k.startswith("theta")}


@pytest.mark.parametrize("sampler", ["scir", "sgrld"])
def test_training_finds_the_topics(small_corpus, tmp_path, sampler):
    """Uniform guessing has a perplexity near 120; the true topics near 40."""
    config = replace(SMALL, sampler=sampler, updates=150)
    run, outcome = train(config, small_corpus, tmp_path / "run")
    assert outcome.score_averaged < 65
    assert [record["update"] for record in run.metrics()] == [*range(15, 151, 15)]
    phi, share, _, _ = posterior_mean(run)
    assert phi.shape == (5, 120)
    np.testing.assert_allclose(phi.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(share.sum(), 1, atol=1e-12)


@pytest.mark.parametrize("sampler", ["scir", "sgrld"])
@pytest.mark.parametrize("workers", [1, 3])
def test_the_same_bits_for_any_number_of_threads(small_corpus, tmp_path, sampler, workers):
    config = replace(SMALL, sampler=sampler, workers=workers, trajectory=2, balance=False)
    one, _ = train(config, small_corpus, tmp_path / "one")
    two, _ = train(replace(config, threads=3), small_corpus, tmp_path / "three")
    assert kept_bits(one) == kept_bits(two)
    assert checkpoint_bits(one) == checkpoint_bits(two)


@pytest.mark.parametrize("sampler", ["scir", "sgrld"])
@pytest.mark.parametrize("workers", [1, 3])
def test_an_interrupted_run_equals_one_that_was_not(small_corpus, tmp_path, sampler, workers):
    config = replace(
        SMALL, sampler=sampler, workers=workers, trajectory=2, balance=False,
        schedule="permute" if workers > 1 else "rotate",
    )  # fmt: skip
    whole, _ = train(config, small_corpus, tmp_path / "whole")
    run, outcome = train(config, small_corpus, tmp_path / "run", StopAfter(5))
    assert outcome.interrupted and outcome.update == 10
    run, outcome = train(config, small_corpus, tmp_path / "run", StopAfter(6), resume=True)
    assert outcome.interrupted and outcome.update == 22
    run, outcome = train(config, small_corpus, tmp_path / "run", resume=True)
    assert not outcome.interrupted
    assert kept_bits(run) == kept_bits(whole)
    assert checkpoint_bits(run) == checkpoint_bits(whole)
    figures = [(r["update"], r["perplexity"], r["perplexity_averaged"]) for r in run.metrics()]
    assert figures == [
        (r["update"], r["perplexity"], r["perplexity_averaged"]) for r in whole.metrics()
    ]


@pytest.fixture
def takes(monkeypatch):
    """Says how many seconds a method takes by the clock of the engine, on which nothing else takes
    any."""
    now = [0.0]
    monkeypatch.setattr(clock, "time", SimpleNamespace(perf_counter=lambda: now[0]))

    def takes(owner, name, seconds):
        usual = getattr(owner, name)

        def slowly(*arguments, **named):
            now[0] += seconds
            return usual(*arguments, **named)

        monkeypatch.setattr(owner, name, slowly)

    return takes


def test_evaluations_that_nobody_asked_for_cost_little_and_change_nothing(
    small_corpus, tmp_path, monkeypatch, takes
):
    """Forty where they take no time; where each takes as long as a round, far fewer."""
    config = replace(SMALL, evaluate_every="auto")
    always, _ = train(config, small_corpus, tmp_path / "always")
    assert [record["update"] for record in always.metrics()] == [*range(1, 41)]
    monkeypatch.setattr("topicmc.engine.loop.EVALUATION_SECONDS", 0.0)
    takes(Dsgld, "round", 0.1)
    takes(HeldOut, "of_chains", 0.1)
    run, outcome = train(config, small_corpus, tmp_path / "run")
    evaluations = len(run.metrics())
    assert outcome.seconds == pytest.approx(4) and evaluations > 6
    assert (evaluations - 3) * 0.1 <= 0.15 * 4  # the first, the last, and one over
    assert kept_bits(run) == kept_bits(always)
    explicit, _ = train(replace(config, evaluate_every="2"), small_corpus, tmp_path / "explicit")
    assert len(explicit.metrics()) == 20


def test_fewer_samples_are_scored_where_there_are_many_weights(small_corpus):
    """A weight is worth half a draw, of 200 million: 32 samples are scored, 16 and 4."""
    nobody = (np.zeros(0), LocalTransport(1), Threads())
    found = [HeldOut(None, small_corpus, k, *nobody).most_averaged for k in (5, 200_000, 10**7)]
    assert small_corpus.n_words == 120
    assert found[0] > 32 and found[1:] == [16, 4]


def test_samples_that_are_dear_to_score_are_thinned_and_wait_for_the_end(
    small_corpus, tmp_path, monkeypatch, takes
):
    """The states are shown all along; of many kept samples a few are scored, spread evenly."""
    config = replace(SMALL, samples=16)
    monkeypatch.setattr("topicmc.models.lda.evaluation._DRAWS", 0)
    few, outcome = train(config, small_corpus, tmp_path / "few")
    positions = [entry["position"] for entry in few.sample_index()]
    assert (outcome.samples, len(positions), outcome.averaged_over) == (10, 10, 3)
    assert few.metrics()[-1]["averaged_over"] == 3
    monkeypatch.setattr("topicmc.engine.loop.EVALUATION_SECONDS", 0.1)
    takes(Dsgld, "round", 0.1)
    takes(HeldOut, "_score", 0.2)
    auto, ended = train(replace(config, evaluate_every="auto"), small_corpus, tmp_path / "auto")
    records = auto.metrics()
    assert [record["averaged_over"] for record in records if record["samples"]][-2:] == [0, 3]
    assert ended.score_averaged == outcome.score_averaged
    monkeypatch.setattr(Training, "_affordable", lambda self, states=0: states == 0)
    due, _ = train(replace(config, evaluate_every="10"), small_corpus, tmp_path / "due")
    assert [record["averaged_over"] for record in due.metrics()] == [0, 0, 0, 3]
    shown = run_of(due, "due")["metrics"]["perplexity_averaged"]  # of those that were averaged
    assert shown[:3] == [None] * 3 and shown[3] > 0
    assert len(evaluations([due])["perplexity_averaged"]) == 1


@pytest.mark.parametrize("chains", [1, 2])
def test_scores_are_averaged_over_samples_at_rest(small_corpus, tmp_path, monkeypatch, chains):
    """While it trains, by `evaluate` and by `compare`."""
    rule = {}
    for module in ("engine.samples", "models.lda.scoring", "topics.compare.models"):
        monkeypatch.setattr(f"topicmc.{module}.at_rest", lambda run, entries: rule["of"](entries))
    several = {"workers": chains, "chains": chains, "groups": chains}
    for number, of in enumerate((lambda entries: entries[-3:], lambda entries: entries)):
        rule["of"] = of
        config = replace(SMALL, samples=16, **several)
        run, outcome = train(config, small_corpus, tmp_path / str(number))
        score = score_run(run, small_corpus, run.vocabulary(), Threads())
        model = RunModel(run.path)
        n = 3 if number == 0 else score.samples
        assert outcome.samples == score.samples > 3
        assert (outcome.averaged_over, score.averaged_over, len(list(model.samples()))) == (n,) * 3
        assert sorted(model.newest) == list(range(n))[-chains:]
        assert score.perplexity_averaged == pytest.approx(outcome.score_averaged, rel=1e-3)
        told = run.metrics()[-1]
        assert len(told["log_likelihood"]) == chains
        assert told["perplexity"] == pytest.approx(np.exp(-np.mean(told["log_likelihood"])), 1e-9)


def test_other_seeds_give_other_topics(small_corpus, tmp_path):
    one, _ = train(SMALL, small_corpus, tmp_path / "one")
    two, _ = train(replace(SMALL, seed=4), small_corpus, tmp_path / "two")
    assert kept_bits(one) != kept_bits(two)


def test_work_lost_after_a_checkpoint_is_done_again(small_corpus, tmp_path):
    """As after kill -9: samples and metrics past the checkpoint are drawn again."""
    whole, _ = train(SMALL, small_corpus, tmp_path / "whole")
    run, _ = train(SMALL, small_corpus, tmp_path / "run", StopAfter(14))
    stray = {**run.keep_sample(0, 16, np.ones((120, 5), np.float32)), "burn_in": False}
    run.write_sample_index([*run.sample_index(), stray])
    run.append_metrics({"round": 15, "update": 15, "perplexity": 1.0})
    run, _ = train(SMALL, small_corpus, tmp_path / "run", resume=True)
    assert kept_bits(run) == kept_bits(whole)
    assert len(run.metrics()) == len(whole.metrics())


def test_samples_of_before_a_checkpoint_are_not_lost(small_corpus, tmp_path):
    """As after kill -9 at nearly twice the update of the checkpoint, when most of those have made
    room: later evaluations are those of an uninterrupted run."""

    class Killed(Silent):
        def progress(self, status):
            if status.update == 38:
                raise KeyboardInterrupt

    config = replace(SMALL, anneal_updates=5, evaluate_every="10", checkpoint_every="20")
    whole, _ = train(config, small_corpus, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        ended(begun(config, small_corpus, tmp_path / "run", Killed()))
    run, _ = train(config, small_corpus, tmp_path / "run", resume=True)
    assert kept_bits(run) == kept_bits(whole)
    names = ("update", "samples", "averaged_over", "perplexity_averaged")
    lines, expected = ([[row[n] for n in names] for row in of.metrics()] for of in (run, whole))
    assert lines == expected and [row[0] for row in lines] == [10, 20, 30, 40]


def test_a_signal_while_a_state_is_scored_is_seen_at_once(small_corpus, tmp_path):
    interrupt = Interrupt()

    class Signalled(Silent):
        def evaluated(self, record):
            interrupt.requested = True

    whole, _ = train(SMALL, small_corpus, tmp_path / "whole")
    outcome = begun(SMALL, small_corpus, tmp_path / "run", Signalled()).train(interrupt)
    assert outcome.interrupted and outcome.update == 15
    run, _ = train(SMALL, small_corpus, tmp_path / "run", resume=True)
    assert kept_bits(run) == kept_bits(whole)


def test_no_round_is_evaluated_twice(small_corpus, tmp_path):
    """Killed after an evaluation that had been due when the run was interrupted; and resumed when
    there is nothing left to do."""
    config = replace(SMALL, checkpoint_every="8")
    train(config, small_corpus, tmp_path / "run", StopAfter(15))
    resumed(tmp_path / "run")._evaluate()
    for _ in range(2):
        run, _ = train(config, small_corpus, tmp_path / "run", resume=True)
    assert [record["round"] for record in run.metrics()] == [15, 30, 40]


@pytest.mark.parametrize("interrupt", [None, StopAfter(14)])
def test_files_that_no_index_names_are_gone_when_training_ends(small_corpus, tmp_path, interrupt):
    run, _ = train(SMALL, small_corpus, tmp_path / "run", interrupt)
    named = set(files_of(run.sample_index()))
    for checkpoint in checkpoints.both(run.path / "checkpoint"):  # to which it may go back
        named |= set(files_of(run.samples_of(checkpoint)))
    assert sorted(run.sample_files()) == sorted(named)


def test_a_document_that_is_too_long_is_refused_before_anything_is_written(
    small_corpus, tmp_path, monkeypatch
):
    monkeypatch.setattr("topicmc.kernels.batch.MOST_TOKENS", 9)
    with pytest.raises(DataError, match="a document has .* that a sampler counts exactly"):
        jobs.start(SMALL, small_corpus.path, tmp_path / "run", LocalTransport(1))
    assert not (tmp_path / "run").exists()


def test_resuming_does_not_change_the_model(small_corpus, tmp_path):
    train(SMALL, small_corpus, tmp_path / "run", StopAfter(2))
    with pytest.raises(UsageError, match=r"--topics 7.*began with 5"):
        jobs.resume(tmp_path / "run", {"topics": 7}, LocalTransport(), None)


def test_words_that_wait_change_nothing_for_who_reads_when(small_corpus, tmp_path):
    """Minibatches of two documents hold few of the words. Checkpoints, evaluations and samples see
    the others brought up to date; the chain goes on as if nobody had looked."""
    config = replace(SMALL, batch_size=2, sampler="scir", anneal_updates=5)
    whole, _ = train(config, small_corpus, tmp_path / "whole")
    checkpoint = whole.checkpoint()
    assert "moved-at-000.npy" in checkpoint.manifest["files"]
    often = replace(config, evaluate_every="1", checkpoint_every="1")
    watched, _ = train(often, small_corpus, tmp_path / "watched")
    assert kept_bits(watched) == kept_bits(whole)
    train(config, small_corpus, tmp_path / "run", StopAfter(17))
    run, _ = train(config, small_corpus, tmp_path / "run", resume=True)
    assert kept_bits(run) == kept_bits(whole)
    assert checkpoint_bits(run) == checkpoint_bits(watched) == checkpoint_bits(whole)
    newest = whole.read_sample(whole.sample_index()[-1])
    assert (newest != checkpoint.array("theta-000")).any()


@pytest.mark.parametrize("sampler", ["scir", "sgrld", "adlda"])
@pytest.mark.parametrize("workers", [1, 2])
def test_priors_are_learned_while_the_chain_starts(small_corpus, tmp_path, sampler, workers):
    """From α = 1 down towards the 0.2 that the documents were drawn with, and β from 0.5 towards
    0.05; then they stay, and every sample has the same."""
    config = replace(SMALL, sampler=sampler, workers=workers, alpha=1.0, beta=0.5, updates=160)
    config = replace(config, learn="both", anneal_updates=120, average_until=None, samples=4)
    if sampler == "adlda":
        config = replace(config, sweeps="auto", burn_in="auto")
    run, _ = train(config, small_corpus, tmp_path / "run")
    samples = run.sample_index()
    assert all(entry["alpha"] == samples[0]["alpha"] for entry in samples)
    alpha = np.array(samples[0]["alpha"])
    assert len(alpha) == 5 and 0.05 < alpha.mean() < 0.6 and np.ptp(alpha) > 0
    assert run.metrics()[-1]["beta"] < 0.4
    fixed, _ = train(replace(config, learn="none"), small_corpus, tmp_path / "fixed")
    assert fixed.metrics()[-1]["perplexity"] > run.metrics()[-1]["perplexity"]
