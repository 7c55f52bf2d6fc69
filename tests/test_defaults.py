"""What ``--sampler auto`` comes to: for laptops, large corpora, little time, and slow networks."""

from contextlib import nullcontext

import pytest

from topicmc.errors import UsageError
from topicmc.models.lda.collapsed.defaults import blocks_of_sweep
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.planning.defaults import needs_pace, resolve
from topicmc.models.lda.planning.other_workers import on_workers
from topicmc.models.lda.planning.pace import Machine
from topicmc.models.lda.planning.sampler_choice import check_honoured, choose, token_bytes
from topicmc.models.lda.settings import TrainConfig

ARXIV = Extent(93_095, 11_439_595, 20_367)
WIKIPEDIA = Extent(6_000_000, 3_500_000_000, 100_000)
LAPTOP = Machine(2, 16 * 10**9)
NODE = Machine(16, 64 * 10**9)


@pytest.mark.parametrize(
    ("corpus", "machine", "settings", "sampler", "why"),
    [
        (ARXIV, LAPTOP, {}, "adlda", "those of 11.4 million tokens fit in memory"),
        (ARXIV, LAPTOP, {"time_budget": 10.0}, "adlda", "allows for some 42 sweeps"),
        (ARXIV, LAPTOP, {"time_budget": 0.5}, "scir", "the time is too short for sweeps"),
        (ARXIV, LAPTOP._replace(memory=10**7), {}, "scir", "too much memory"),
        (ARXIV, LAPTOP._replace(memory=None), {}, "adlda", "fit in memory"),
        (WIKIPEDIA, LAPTOP, {}, "scir", "too much memory"),
        (WIKIPEDIA, LAPTOP._replace(memory=None), {}, "scir", "too much memory"),
        # Two ranks share the laptop; then a cluster, and what is too much for its network.
        (ARXIV, Machine(1, 8 * 10**9), {"workers": 2}, "adlda", "fit in memory"),
        (WIKIPEDIA, NODE, {"workers": 8, "time_budget": 3600.0}, "adlda", "allows for some"),
        (WIKIPEDIA, NODE, {"workers": 8, "time_budget": 10.0}, "scir", "mostly exchange counts"),
        (ARXIV, NODE, {"workers": 64, "time_budget": 2.0}, "scir", "64 workers would mostly"),
        (ARXIV, LAPTOP, {"workers": 2, "groups": 1}, "scir", "--groups is a setting"),
        (ARXIV, LAPTOP, {"chains": 2, "time_budget": 20.0}, "adlda", "allows for some 42 sweeps"),
        (ARXIV, LAPTOP, {"time_budget": 5.0}, "scir", "the time is too short for sweeps"),
        # A chain of minibatches needs a worker of its own.
        (ARXIV, LAPTOP, {"chains": 2, "time_budget": 8.0}, "adlda", "a worker holds one minibatch"),
        (WIKIPEDIA, LAPTOP, {"chains": 4}, "adlda", "a worker holds one minibatch"),
        (ARXIV, LAPTOP, {"workers": 2, "schedule": "permute"}, "scir", "--schedule is a setting"),
        (ARXIV, LAPTOP, {"schedule": "permute"}, "adlda", "fit in memory"),
        (ARXIV, LAPTOP, {"remember": True}, "scir", "--remember is a setting"),
        (ARXIV, LAPTOP, {"start": "stream"}, "scir", "--start stream is a setting"),
        (ARXIV, LAPTOP, {"start": "grow", "time_budget": 0.5}, "adlda", "--start grow is of"),
        (WIKIPEDIA, LAPTOP, {"start": "consensus"}, "adlda", "--start consensus is of"),
    ],
)
def test_the_sampler_that_suits(corpus, machine, settings, sampler, why):
    config = TrainConfig(**{"topics": 100, **settings})
    found, reason = choose(config, corpus, machine)
    assert found == sampler, reason
    assert why in reason
    assert ("keeps the topic of every token" in reason) == (sampler == "adlda")
    assert resolve(config, corpus, machine).sampler == sampler


@pytest.mark.parametrize(
    ("corpus", "settings", "kept"),
    [
        (ARXIV, {}, True),
        (ARXIV, {"epochs": 50.0}, True),
        (ARXIV, {"time_budget": 10.0}, True),
        (ARXIV, {"start": "grow"}, True),
        (WIKIPEDIA, {"start": "consensus"}, True),
        (ARXIV, {"remember": False}, False),
        (ARXIV, {"estimate": "plain"}, False),
        (ARXIV, {"estimate": "cv"}, False),
        (ARXIV, {"sampler": "sgrld"}, False),
        (ARXIV, {"sampler": "sgrld", "remember": True}, True),
        (WIKIPEDIA, {}, False),
        (WIKIPEDIA, {"remember": True}, True),
        (ARXIV, {"time_budget": 5.0}, False),  # too short for sweeps
        (ARXIV, {"workers": 2}, False),
        (ARXIV, {"workers": 2, "estimate": "remembered"}, True),
        (ARXIV, {"from_run": "run"}, True),
        # Settings of minibatches.
        (ARXIV, {"batch_size": 500}, False),
        (ARXIV, {"updates": 500}, False),
        (ARXIV, {"step_size": 0.5}, False),
        (ARXIV, {"start": "stream"}, False),
        (ARXIV, {"start_documents": 30_000}, False),
        (ARXIV, {"trajectory": 10}, False),
        (ARXIV, {"anneal_updates": 10}, False),
    ],
)
def test_scir_remembers_where_nothing_speaks_against_it(corpus, settings, kept):
    config = TrainConfig(**{"topics": 100, "sampler": "scir", **settings})
    resolved = resolve(config, corpus, LAPTOP)
    assert resolved.remember is kept
    assert resolved.estimate == ("remembered" if kept else settings.get("estimate", "plain"))
    check_honoured(config, resolved)


@pytest.mark.parametrize(
    ("settings", "needed"),
    [
        ({"sampler": "adlda"}, True),
        ({"sampler": "adlda", "start_sweeps": 20}, False),
        ({"sampler": "sgrld", "anneal_updates": 20}, False),
        ({"sampler": "scir", "remember": True, "start_sweeps": 20}, False),
        ({"sampler": "scir"}, True),
        ({"anneal_updates": 20}, True),
        # How large a subset is follows from the time that its sweeps take.
        ({"sampler": "adlda", "start": "subset", "start_sweeps": 60}, True),
        ({"sampler": "adlda", "start": "subset", "start_sweeps": 60, "start_documents": 9}, False),
        ({"sampler": "scir", "remember": False, "start_sweeps": 60, "anneal_updates": 9}, True),
    ],
)
def test_the_machine_is_measured_where_something_rests_on_it(settings, needed):
    assert needs_pace(TrainConfig(topics=100, time_budget=9.0, **settings)) == needed
    assert not needs_pace(TrainConfig(topics=100, **settings))


def test_auto_that_takes_scir_takes_minibatches():
    for corpus, settings in ((ARXIV, {"time_budget": 5.0}), (WIKIPEDIA, {})):
        found = resolve(TrainConfig(topics=100, **settings), corpus, LAPTOP)
        assert (found.sampler, found.remember) == ("scir", False)


def test_workers_remember_together_what_one_cannot():
    machine = Machine(2, 2 * token_bytes(20_367, 100) * ARXIV.n_tokens - 1)
    assert choose(TrainConfig(topics=100), ARXIV, machine)[0] == "scir"
    machine = machine._replace(memory=machine.memory // 4)
    assert choose(TrainConfig(topics=100, workers=2), ARXIV, machine)[0] == "scir"
    assert choose(TrainConfig(topics=100, workers=5), ARXIV, machine)[0] == "adlda"


@pytest.mark.parametrize(("n_words", "n_topics", "n"), [(65_536, 255, 3), (65_537, 256, 6)])
def test_bytes_of_a_token(n_words, n_topics, n):
    assert token_bytes(n_words, n_topics) == n


@pytest.mark.parametrize(
    ("settings", "refused"),
    [
        ({"sampler": "adlda", "step_size": 0.1}, "--step-size"),
        ({"sampler": "adlda", "sweeps": 3}, "--sweeps"),
        ({"sampler": "asynclda", "schedule": "permute"}, "--schedule"),
        ({"sampler": "scir", "remember": True, "burn_in": 2}, "--burn-in"),
        ({"sampler": "scir", "remember": True, "step_size": 2.0}, None),
        ({"sampler": "scir", "step_size": 0.1, "sweeps": 3}, None),
        ({"sampler": "scir", "workers": 3, "schedule": "permute"}, None),
        ({"sampler": "scir", "schedule": "permute"}, "--schedule permute: .* there is one"),
        ({"schedule": "permute"}, "--schedule permute: .* there is one"),
        ({"learn": "none", "learn_until": "end"}, "--learn-until end: no prior is learned"),
        ({"alpha": 0.1, "beta": 0.1, "learn_until": "end"}, "--learn-until end: no prior"),
        ({"learn_until": "end"}, None),
        ({"step_size": 0.1, "sweeps": 3}, None),
        ({"sampler": "adlda", "start_sweeps": 30, "anneal_updates": 500}, "both say how long"),
        ({"sampler": "adlda", "start_sweeps": 1, "start": "consensus"}, "--start-sweeps 1 has"),
        ({"sampler": "scir", "average_until": 50}, "--average-until 50: there are no chains"),
        ({"sampler": "scir", "workers": 2, "groups": 2, "average_until": 50}, "--average-until"),
        ({"sampler": "scir", "workers": 2, "average_until": 50}, None),
        ({"sampler": "adlda", "remember": False}, "--no-remember.*: adlda keeps the topic"),
        ({"sampler": "asynclda", "estimate": "plain"}, "--estimate plain: asynclda keeps"),
        ({"sampler": "adlda", "remember": True}, None),
        ({"sampler": "asynclda", "estimate": "remembered"}, None),
    ],
)
def test_a_setting_that_the_sampler_cannot_honour_is_refused(settings, refused):
    asked = TrainConfig(**settings)
    resolved = resolve(asked, Extent(1000, 100_000, 1000))
    with pytest.raises(UsageError, match=refused) if refused else nullcontext():
        check_honoured(asked, resolved)


def test_chains_that_are_not_averaged_take_no_part_in_averaging():
    config = TrainConfig(sampler="scir", workers=2, groups=2, average_until=50)
    resolved = resolve(config, Extent(1000, 100_000, 1000))
    assert resolved.average_until == 0
    with pytest.raises(UsageError, match="--average-until -1 is out of range"):
        TrainConfig(average_until=-1)


@pytest.mark.parametrize(
    ("chains", "groups", "on", "left"),
    [(4, 1, 3, 1), (4, 4, 3, 3), (4, 2, 2, 1), (4, 2, 3, None), (6, 2, 3, 1), (6, 3, 4, 2)],
)
def test_groups_of_chains_that_go_on_are_those_that_they_were_in(chains, groups, on, left):
    config = TrainConfig(sampler="scir", workers=chains, chains=chains, groups=groups)
    if left is None:
        with pytest.raises(UsageError, match=r"would be mixed; go on with 1, 2 or 4"):
            on_workers(config, on)
    else:
        assert (on_workers(config, on).chains, on_workers(config, on).groups) == (on, left)


def test_the_weight_of_a_start_is_of_sgrld_alone():
    size = Extent(1000, 100_000, 1000)
    for sampler in ("scir", "adlda", "auto"):
        with pytest.raises(UsageError, match="it is of --sampler sgrld"):
            resolve(TrainConfig(sampler=sampler, start_weight=1.0), size)
    steps = [
        resolve(TrainConfig(sampler="sgrld", beta=0.01, start_weight=weight), size).step_size
        for weight in (None, 0.01, 1.0)
    ]
    assert steps[0] == steps[1] == pytest.approx(steps[2] / 100)  # relative steps stay as they are


def test_what_is_given_of_topics_is_not_held_fast_by_a_start_without_noise():
    size = Extent(1000, 100_000, 1000)
    seeds = {"sea": {"3": 1.0}}
    starts = [
        resolve(TrainConfig(sampler="scir", remember=False, beta=0.1, **given), size).start
        for given in (
            {},
            {"seeds": seeds},
            {"topic_prior": "prior.npy"},
            {"seeds": seeds, "start": "stream"},
        )
    ]
    assert starts == ["stream", "anneal", "anneal", "stream"]


@pytest.mark.parametrize(
    ("n_tokens", "n_blocks"),
    [(195_000, 4), (1_200_000, 10), (3_000_000, 16), (11_400_000, 22.8), (730_000_000, 64)],
)
def test_blocks_of_a_sweep(n_tokens, n_blocks):
    """Few, but of so many tokens that a thread is kept busy, and no larger than helps."""
    assert blocks_of_sweep(n_tokens) == n_blocks


@pytest.mark.parametrize(
    ("settings", "beta"),
    [
        ({}, 0.01),
        ({"learn": "beta"}, 0.01),
        ({"alpha": 0.1}, 0.01),
        ({"sampler": "scir", "remember": True}, 0.01),
        ({"sampler": "scir", "remember": False}, 0.07),
        ({"learn": "none"}, 0.07),
        ({"learn": "alpha"}, 0.07),
        ({"beta": 0.3}, 0.3),
        ({"beta": 0.3, "learn": "both"}, 0.3),
    ],
)
def test_where_beta_begins(settings, beta):
    """A prior that kept assignments teach begins small; one that stays suits sparse words."""
    corpus = Extent(1000, 100_000, 7000)
    config = TrainConfig(**{"topics": 20, "sampler": "adlda", **settings})
    assert resolve(config, corpus, LAPTOP).beta == beta
