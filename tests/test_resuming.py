"""The clock of a run is sweeps, documents and trajectories, on any number of workers: a resumed run
goes on with the clock, the priors, the start and the samples that it was stopped with."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from synthetic import lda_documents, write_docword
from trained import StopAfter, begun, kept_bits, resumed

from topicmc.engine.loop import Training
from topicmc.engine.transport.local import LocalTransport
from topicmc.errors import UsageError
from topicmc.host.interrupts import Interrupt
from topicmc.host.machine import available_cores
from topicmc.models.lda import jobs
from topicmc.models.lda.minibatches.target import CHAINS
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.settings import TrainConfig

BASE = TrainConfig(
    topics=5, seed=3, threads=1, balance=False, batch_size=15, trajectory=2, learn="both",
    alpha=0.5, beta=0.3, evaluate_every="10m", checkpoint_every="10m", samples=8,
)  # fmt: skip
START, LEARNT_FROM, EPOCHS = 10, 8, 24  # sweeps
SAMPLERS = {
    "adlda": {"sampler": "adlda", "start_sweeps": START, "epochs": float(EPOCHS)},
    "adlda, plain": {
        "sampler": "adlda", "start_sweeps": START, "epochs": float(EPOCHS), "start": "plain",
    },
    "adlda, consensus": {
        "sampler": "adlda", "start_sweeps": START, "epochs": float(EPOCHS), "start": "consensus",
    },
    "adlda, two chains": {
        "sampler": "adlda", "start_sweeps": START, "epochs": float(EPOCHS), "chains": 2,
    },
    "asynclda": {"sampler": "asynclda", "start_sweeps": START, "epochs": float(EPOCHS)},
    "scir kept": {
        "sampler": "scir", "remember": True, "start_sweeps": START, "epochs": float(EPOCHS),
    },
    "scir kept, consensus": {
        "sampler": "scir", "remember": True, "start_sweeps": START, "epochs": float(EPOCHS),
        "start": "consensus",
    },
    "sgrld kept": {
        "sampler": "sgrld", "remember": True, "start_sweeps": START, "epochs": float(EPOCHS),
    },
    "scir": {"sampler": "scir", "anneal_updates": 20, "updates": 48},
    "sgrld": {"sampler": "sgrld", "anneal_updates": 20, "updates": 48},
}  # fmt: skip
PHASES = {"start": 0.25, "learning": 0.9, "after": 1.5}
"""Where the run is stopped, in lengths of its start."""


class Stand(NamedTuple):
    """What must not change when a run goes on on another number of workers."""

    position: int
    burn_in: bool
    documents: int
    alpha: list[float]
    beta: float
    beta_factor: float


def length_of_start(training: Training) -> int:
    config = training.config
    if config.keeps_assignments:
        return config.start_sweeps
    return max(config.anneal_updates, config.average_until) // config.trajectory


def stand(training: Training) -> Stand:
    method, config = training.method, training.config
    members = getattr(method, "_members", [method])
    if config.keeps_assignments:
        first = members[0]
        alpha, beta = first.alpha, first.prior.base
        worker = next(iter(first.workers.values()))
        factor = first.schedule.beta_factor(worker.update)
    else:
        chain = next(iter(method.held[CHAINS].values()))
        alpha, beta = chain.alpha, chain.beta
        factor = method.target.updates._sampler(chain).prior.base / beta
    documents = int(training.drawn[0])
    return Stand(method.position, method.in_burn_in, documents, list(alpha), beta, factor)


def go(training: Training, rounds: int) -> None:
    training.train(StopAfter(rounds))


@pytest.mark.parametrize(
    ("before", "after", "phase"),
    [(*n, phase) for n in ((1, 4), (4, 1)) for phase in PHASES]
    + [(1, 1, "after"), (2, 3, "learning")],
)
@pytest.mark.parametrize("name", SAMPLERS)
def test_a_resumed_run_goes_on_where_it_was(small_corpus, tmp_path, name, before, after, phase):
    """Clock, β in force, burn-in, priors and samples; and the rest of the run is trained, no more
    and no less, with samples of the second half alone."""
    config = replace(BASE, **SAMPLERS[name], workers=before)
    training = begun(config, small_corpus, tmp_path / "run")
    start = length_of_start(training)
    while training.method.position < PHASES[phase] * start:
        training._round()
    training._checkpoint()
    was, run = stand(training), TopicRun.open(tmp_path / "run")
    kept = [(e["position"], e["chain"], e["burn_in"]) for e in run.sample_index()]
    assert was.burn_in == (phase != "after")

    training = resumed(tmp_path / "run", after)
    now = stand(training)
    assert length_of_start(training) == start
    if before == after:
        assert now == was
    else:  # a sweep that had begun is counted as made; chains beyond the workers are given up
        assert was.position <= now.position <= was.position + 1
        np.testing.assert_allclose(now[3:5][0], was[3:5][0])
        assert now.documents == was.documents and now.beta == was.beta
        assert now.beta_factor <= was.beta_factor <= now.beta_factor * 1.8
    assert now.burn_in == was.burn_in or now.position >= start
    chains = training.config.chains
    now_kept = [(e["position"], e["chain"], e["burn_in"]) for e in run.sample_index()]
    assert now_kept == kept

    training.train(Interrupt())
    end = training.method.position
    assert not training.method.in_burn_in
    samples = run.sample_index()
    positions = {entry["position"] for entry in samples}
    assert all(not entry["burn_in"] for entry in samples)
    assert min(positions) > max(start, end // 2) and max(positions) <= end
    assert len(positions) >= 3
    assert {entry["chain"] for entry in samples} >= set(range(min(chains, before)))
    if training.config.keeps_assignments:
        passes = int(training.drawn[0]) / small_corpus.n_docs / chains
        assert EPOCHS <= passes <= EPOCHS + 1.1
        assert run.metrics()[-1]["sweep"] >= EPOCHS - 1
    else:
        assert training.update == 48

    if phase != "after":
        return
    more = {"epochs": 2.0 * EPOCHS} if training.config.keeps_assignments else {"updates": 96}
    training = resumed(tmp_path / "run", after, **more)
    training.train(Interrupt())
    if training.config.keeps_assignments:
        passes = int(training.drawn[0]) / small_corpus.n_docs / chains
        assert 2 * EPOCHS <= passes <= 2 * EPOCHS + 1.1
    else:
        assert training.update == 96


@pytest.mark.parametrize("name", SAMPLERS)
def test_burn_in_is_one_interval_from_the_beginning(small_corpus, tmp_path, name):
    """And priors are learned within it alone, towards the end, with any start."""
    config = replace(BASE, **SAMPLERS[name], workers=2)
    training = begun(config, small_corpus, tmp_path / "run")
    start = length_of_start(training)
    story = [stand(training)]
    while training.method.position < 2 * start:
        training._round()
        story.append(stand(training))
    flags = [moment.burn_in for moment in story]
    assert flags == sorted(flags, reverse=True) and flags[0] and not flags[-1]
    assert flags.count(True) >= start
    betas = [moment.beta for moment in story]
    first, last = betas.index(next(b for b in betas if b != betas[0])), betas.index(betas[-1])
    assert LEARNT_FROM / START * start - 1 <= story[first].position
    assert story[last].position <= start + 1
    assert betas[-1] < betas[0]
    run = TopicRun.open(tmp_path / "run")
    for entry in [entry for entry in run.sample_index() if entry["chain"] == 0]:
        assert entry["beta"] == betas[-1]
        np.testing.assert_allclose(entry["alpha"], story[-1].alpha)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", [name for name in SAMPLERS if "consensus" not in name])
def test_the_last_state_of_the_start_is_no_sample(small_corpus, tmp_path, name, workers):
    """The start has made it. That of a run which ends there stands in until a longer one has a
    sample."""
    config = replace(BASE, **SAMPLERS[name], workers=workers, samples=64)
    training = begun(config, small_corpus, tmp_path / "run")
    start, run = length_of_start(training), TopicRun.open(tmp_path / "run")
    while training.method.position < start:
        training._round()
    training._checkpoint()
    assert run.is_starting() and {e["position"] for e in run.sample_index()} == {start}
    while training.method.position < start + 2:
        training._round()
    assert min(entry["position"] for entry in run.sample_index()) == start + 1
    assert not run.is_starting()
    assert all(line["burn_in"] == (line["position"] <= start) for line in run.trace())


@pytest.mark.parametrize("start", [{}, {"start": "subset", "start_documents": 70}])
def test_a_run_whose_target_was_blocks_ends_where_it_would_have(small_corpus, tmp_path, start):
    """`--updates` of a sampler that sweeps are blocks on each worker; on fewer workers they are
    more, for as many sweeps, of which those of a start draw some of the documents."""
    more = {"epochs": None, "updates": 60, **start}
    config = replace(BASE, **SAMPLERS["adlda"] | more, workers=4)
    whole = begun(config, small_corpus, tmp_path / "whole")
    whole.train(Interrupt())
    passes = int(whole.drawn[0]) / small_corpus.n_docs
    assert whole.method.schedule.passes(60) == pytest.approx(passes, abs=0.2)
    go(begun(config, small_corpus, tmp_path / "run"), 6)
    training = resumed(tmp_path / "run", 1)
    training.train(Interrupt())
    assert passes - 0.2 <= int(training.drawn[0]) / small_corpus.n_docs <= passes + 1.1


def test_what_was_kept_after_the_checkpoint_is_forgotten_on_other_workers(small_corpus, tmp_path):
    """Killed at the end of a sweep, with a checkpoint within it: on other workers the run goes on
    from that end, but what was kept there is of another state, and its file's name comes again."""
    training = begun(replace(BASE, **SAMPLERS["adlda"]), small_corpus, tmp_path / "run")
    while training.method.position < START + 5:
        training._round()
    training._round()
    training._checkpoint()
    rounds = training.rounds
    while training.method.position < START + 6:
        training._round()
    run = TopicRun.open(tmp_path / "run")
    assert run.sample_index()[-1]["round"] > rounds and run.trace()[-1]["round"] > rounds

    training = resumed(tmp_path / "run", 4)
    assert training.method.position == START + 6
    for kept in (run.sample_index(), run.trace()):
        assert kept and max(entry["round"] for entry in kept) <= rounds
    training.train(Interrupt())
    entries = run.sample_index()
    assert len({entry["file"] for entry in entries}) == len(entries)
    for entry in entries:
        run.read_sample(entry)  # as its checksum says


@pytest.mark.parametrize("length", [{}, {"epochs": None, "time_budget": 600.0}])
def test_blocks_are_those_of_as_many_workers_as_go_on(small_corpus, tmp_path, length):
    """Where none were asked for."""

    def started(name, workers=1, **blocks):
        config = replace(BASE, **{**SAMPLERS["adlda"], **length, "workers": workers, **blocks})
        path, transport = tmp_path / name, LocalTransport(workers)
        return blocks_of(jobs.start(config, small_corpus.path, path, transport)[0])

    def blocks_of(config):
        return config.batch_size, config.trajectory

    def gone_on(name, workers):
        return blocks_of(jobs.resume(tmp_path / name, {}, LocalTransport(workers), None)[0])

    left_open = {"batch_size": "auto", "trajectory": "auto"}
    one, four = started("one", **left_open), started("four", 4, **left_open)
    assert one != four
    assert [gone_on("one", workers) for workers in (1, 4, 1)] == [one, four, one]
    told = started("told")
    assert gone_on("told", 4) == told == (15, 2)


def test_a_command_may_be_repeated(small_corpus, tmp_path):
    """As the script of a cluster does, on fewer ranks too: what it leaves open is what the run has,
    and what had to become something else does not come back."""
    told = {"topics": 5, "chains": 4, "groups": 2, "batch_size": 1_000_000}
    config = replace(BASE, **SAMPLERS["scir"], **told, workers=4)
    begun = jobs.start(config, small_corpus.path, tmp_path / "run", LocalTransport(4))[0]
    assert (begun.chains, begun.groups, begun.batch_size) == (4, 2, small_corpus.n_docs // 4)
    for sampler in ("scir", "auto", "auto"):
        again = {**told, "sampler": sampler, "start": "auto", "learn": "both", "beta": 0.3}
        config = jobs.resume(tmp_path / "run", again, LocalTransport(2), None)[0]
        assert (config.chains, config.groups) == (2, 1)
        assert config.batch_size == small_corpus.n_docs // 2
    for other in ({"batch_size": 7}, {"chains": 3}, {"sampler": "adlda"}, {"beta": 0.2}):
        with pytest.raises(UsageError, match="began with"):
            jobs.resume(tmp_path / "run", other, LocalTransport(2), None)
    with pytest.raises(UsageError, match="learns beta"):
        jobs.resume(tmp_path / "run", {"learn": "auto", "beta": 0.3}, LocalTransport(2), None)


def test_a_command_may_be_repeated_after_one_without_options(small_corpus, tmp_path):
    """Chains and averages that a resume on fewer ranks has given up are what the run began with."""
    told = {"chains": 4, "groups": 2, "average_until": 2}
    config = replace(BASE, **SAMPLERS["scir"], **told, workers=4)
    jobs.start(config, small_corpus.path, tmp_path / "run", LocalTransport(4))
    for n in (2, 1):
        jobs.resume(tmp_path / "run", {}, LocalTransport(n), None)
        again = jobs.resume(tmp_path / "run", told, LocalTransport(n), None)[0]
        assert (again.chains, again.groups) == (n, 1)


def test_blocks_that_more_workers_cut_down_may_be_told_again(small_corpus, tmp_path):
    config = replace(BASE, **SAMPLERS["adlda"], batch_size=100)
    jobs.start(config, small_corpus.path, tmp_path / "run", LocalTransport(1))
    assert jobs.resume(tmp_path / "run", {}, LocalTransport(4), None)[0].batch_size <= 75
    for workers in (4, 1):
        jobs.resume(tmp_path / "run", {"batch_size": 100}, LocalTransport(workers), None)
    with pytest.raises(UsageError, match="--batch-size 80"):
        jobs.resume(tmp_path / "run", {"batch_size": 80}, LocalTransport(1), None)


@pytest.mark.parametrize("name", ["adlda", "scir"])
def test_blocks_that_more_workers_cut_down_grow_back(small_corpus, tmp_path, name):
    config, path = replace(BASE, **SAMPLERS[name] | {"batch_size": 250}), tmp_path / "run"
    found = [jobs.start(config, small_corpus.path, path, LocalTransport(1))[0].batch_size]
    for workers, told in ((4, {}), (2, {"batch_size": 75}), (2, {}), (1, {})):
        found.append(jobs.resume(path, told, LocalTransport(workers), None)[0].batch_size)
    assert found == [250, 75, 75, 75, 250]


@pytest.mark.parametrize(
    ("name", "blocks"),
    [
        ("batch_size", {"batch_size": "auto"}),
        ("trajectory", {"batch_size": 5, "trajectory": "auto"}),
    ],
)
def test_blocks_that_nobody_set_are_not_told_again(small_corpus, tmp_path, name, blocks):
    """Once they are those of other workers."""
    path, config = tmp_path / "run", replace(BASE, **SAMPLERS["adlda"] | blocks)
    one = getattr(jobs.start(config, small_corpus.path, path, LocalTransport(1))[0], name)
    four = getattr(jobs.resume(path, {}, LocalTransport(4), None)[0], name)
    assert one != four
    with pytest.raises(UsageError, match=f"{one}: .* began with {four}"):
        jobs.resume(path, {name: one}, LocalTransport(4), None)


@pytest.mark.parametrize("groups", [4, 1])
@pytest.mark.parametrize("names", [(), ("chains", "groups")])
def test_chains_are_not_given_up_by_a_job_that_saved_nothing(small_corpus, tmp_path, names, groups):
    """One on a single worker, by mistake, that was killed while it compiled: neither chains nor
    their averages."""
    config = replace(BASE, **SAMPLERS["scir"], chains=4, groups=groups, workers=4)
    whole = begun(config, small_corpus, tmp_path / "whole")
    whole.train(Interrupt())
    go(begun(config, small_corpus, tmp_path / "run"), 6)
    alone = resumed(tmp_path / "run", 1).config
    assert (alone.chains, alone.groups, alone.average_until) == (1, 1, 0)
    training = resumed(tmp_path / "run", 4, **{name: getattr(config, name) for name in names})
    assert training.config.layout() == whole.config.layout()
    training.train(Interrupt())
    assert kept_bits(training.run) == kept_bits(whole.run)
    go(resumed(tmp_path / "run", 1, updates=96), 2)  # which saves
    assert resumed(tmp_path / "run", 4).config.chains == 1


@pytest.mark.parametrize("groups", [4, 1])
def test_chains_are_not_given_up_before_there_is_a_checkpoint(small_corpus, tmp_path, groups):
    config = replace(BASE, **SAMPLERS["scir"], chains=4, groups=groups, workers=4)
    layout = begun(config, small_corpus, tmp_path / "run").config.layout()
    assert resumed(tmp_path / "run", 1).config.chains == 1
    assert resumed(tmp_path / "run", 4).config.layout() == layout


@pytest.mark.parametrize(("groups", "updates", "told"), [(1, 4, 1), (4, 4, 0), (1, 40, 0)])
def test_a_start_that_was_meant_for_more_chains_is_told(
    small_corpus, tmp_path, groups, updates, told
):
    """That of chains which are averaged is shorter the more of them there are."""
    config = replace(BASE, **SAMPLERS["scir"], chains=4, groups=groups, workers=4)
    go(begun(config, small_corpus, tmp_path / "run"), updates // BASE.trajectory)
    run = jobs.resume(tmp_path / "run", {}, LocalTransport(1), None)[2]
    assert len(run.notices) == told
    assert all("20 updates, was meant for 4 chains" in notice for notice in run.notices)


def test_workers_that_do_not_wait_go_on_from_the_slowest(small_corpus, tmp_path):
    """Of two processes one has come past the start, the other has not."""
    config = replace(BASE, **SAMPLERS["asynclda"], workers=2)
    training = begun(config, small_corpus, tmp_path / "run")
    while training.method.position < START - 2:
        training._round()
    training._checkpoint()
    method, run, number = training.method, training.run, training.rounds
    manifest, made = dict(run.checkpoint().manifest), method.workers[0].update
    files = {"samples.json": manifest.pop("files")["samples.json"]}
    for worker, update in enumerate([made, made + 5 * method.schedule.per_sweep]):
        own = {"updates": {str(worker): update}, "swept": method.schedule.swept(update)}
        z = {f"z-{worker:03d}": method.workers[worker].sampler.z}
        facts = {**method.facts(), **own}
        files |= run.write_checkpoint_part(number, f"rank-{worker:03d}", z, facts)
    run.commit_checkpoint(number, files, manifest)
    after = resumed(tmp_path / "run", 3).method
    assert after.in_burn_in and after.position == np.ceil(method.schedule.swept(made))


def test_no_round_is_evaluated_twice_on_other_workers(small_corpus, tmp_path):
    """One worker has made more updates than each of four, and so more evaluations seem due."""
    config = replace(BASE, **SAMPLERS["adlda"], workers=4, evaluate_every="30")
    begun(config, small_corpus, tmp_path / "run").train(Interrupt())
    resumed(tmp_path / "run", 1, epochs=2.0 * EPOCHS).train(Interrupt())
    rounds = [record["round"] for record in TopicRun.open(tmp_path / "run").metrics()]
    assert len(set(rounds)) == len(rounds) > 2


def test_workers_are_those_of_the_transport(small_corpus, tmp_path):
    """Else some would train nothing, and nobody would know."""
    with pytest.raises(UsageError, match="workers"):
        jobs.start(replace(BASE, workers=2), small_corpus.path, tmp_path / "run", LocalTransport(1))


def test_nothing_is_trained_twice(small_corpus, tmp_path):
    """A finished run that is resumed as it is makes no round and keeps its samples."""
    config = replace(BASE, **SAMPLERS["adlda"])
    begun(config, small_corpus, tmp_path / "run").train(Interrupt())
    run = TopicRun.open(tmp_path / "run")
    bits, rounds = kept_bits(run), run.metrics()[-1]["round"]
    training = resumed(tmp_path / "run", 1)
    training.train(Interrupt())
    assert training.rounds == rounds and kept_bits(run) == bits


def test_a_run_knows_the_extract_that_it_holds_as_its_own(tmp_path, monkeypatch):
    """However it is named, so that it is found where the run is moved, and goes with the run."""
    source = write_docword(tmp_path, lda_documents(60, 30, 3, seed=1), 30)
    monkeypatch.setattr("topicmc.corpora.wikipedia_extract", lambda: source)
    config, path = replace(BASE, **SAMPLERS["adlda"]), tmp_path / "run"
    jobs.start(config, None, path, LocalTransport())
    jobs.resume(path, {}, LocalTransport(), path / "corpus")
    path = path.rename(tmp_path / "moved")
    jobs.resume(path, {}, LocalTransport(), None)
    jobs.start(config, path / "corpus", path, LocalTransport(), force=True)
    assert TopicRun.open(path).facts()["corpus"]["path"] == "corpus"
    jobs.start(config, None, path, LocalTransport(), force=True)


@pytest.mark.parametrize(("asked", "threads"), [("auto", available_cores()), (7, 7)])
def test_a_run_goes_on_with_the_cores_there_are(small_corpus, tmp_path, asked, threads):
    """Unless it was told how many threads it has."""
    config = replace(BASE, **(SAMPLERS["scir"] | {"threads": asked, "updates": 4}))
    begun(config, small_corpus, tmp_path / "run").train(Interrupt())
    run = TopicRun.open(tmp_path / "run")
    run.update_facts(config={**run.facts()["config"], "threads": 7})  # as on another machine
    assert resumed(tmp_path / "run", 1, updates=6).config.threads == threads
    assert resumed(tmp_path / "run", 1, updates=8, threads=3).config.threads == 3
    assert resumed(tmp_path / "run", 1, updates=9).config.threads == 3
