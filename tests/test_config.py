"""Settings: every bad value is refused with a sentence, and resolving leaves nothing open."""

import re

import pytest

from topicmc.cli.configuration import settings_of
from topicmc.engine.clock import Due
from topicmc.errors import UsageError
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.planning.chain_defaults import expected_updates
from topicmc.models.lda.planning.defaults import resolve
from topicmc.models.lda.priors.given import read_alpha
from topicmc.models.lda.settings import Resolved, TrainConfig
from topicmc.settings.values import Interval, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("10m", 600), ("2h", 7200), ("1.5m", 90), (" 5 s ", 5)]
)
def test_durations(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "ten", "10", "-5s", "0s", "5d", "1e3s"])
def test_bad_durations_name_the_option(text):
    with pytest.raises(UsageError, match="--time-budget.*not a duration"):
        parse_duration(text, "--time-budget")


def test_intervals_are_time_or_updates():
    assert Interval.parse("10s") == Interval(seconds=10.0)
    assert Interval.parse("500") == Interval(updates=500)
    with pytest.raises(UsageError):
        Interval.parse("0")


@pytest.mark.parametrize(
    ("settings", "interval"),
    [
        ({"time_budget": 20.0}, Interval(seconds=0.5)),
        ({"time_budget": 86_400.0}, Interval(seconds=60.0)),
        ({"updates": 601}, Interval(seconds=60.0, updates=16)),
        ({"updates": 3, "time_budget": 60.0}, Interval(seconds=1.5, updates=1)),
        ({"updates": 601, "evaluate_every": "7"}, Interval(updates=7)),
        ({"time_budget": 20.0, "evaluate_every": "10s"}, Interval(seconds=10.0)),
    ],
)
def test_a_run_is_evaluated_forty_times_unless_told_otherwise(settings, interval):
    assert TrainConfig(**settings).evaluation_interval(settings.get("updates")) == interval


def test_what_is_due_by_time_and_by_updates():
    due = Due(Interval(seconds=10.0, updates=4), seconds=0.0, updates=0)
    moments = [(3.0, 1), (6.0, 4), (11.0, 5), (12.0, 7), (21.0, 8), (22.0, 9), (45.0, 10)]
    assert [due(*at) for at in moments] == [False, True, True, False, True, False, True]


@pytest.mark.parametrize(
    ("setting", "option"),
    [
        ({"topics": 1}, "--topics 1"),
        ({"topics": 70_000}, "--topics"),
        ({"alpha": 0.0}, "--alpha"),
        ({"alpha": float("nan")}, "--alpha"),
        ({"alpha": [0.1, "auto"]}, "--alpha 'auto' is not a number"),
        ({"beta": 0.0}, "--beta"),
        ({"step_decay": 2.0}, "--step-decay"),
        ({"batch_size": 0}, "--batch-size"),
        ({"sweeps": 5, "burn_in": 5}, "--burn-in 5 leaves none"),
        ({"updates": 0}, "--updates"),
        ({"epochs": -1.0}, "--epochs"),
        ({"evaluate_every": "soon"}, "--evaluate-every"),
        ({"sampler": "scir", "workers": 2, "chains": 3}, "--chains 3"),
        ({"workers": 4, "chains": 2, "groups": 3}, "--groups 3"),
        ({"sampler": "vb"}, "--sampler"),
        ({"seed": -1}, "--seed"),
    ],
)
def test_bad_settings_name_the_option(setting, option):
    with pytest.raises(UsageError, match=option):
        TrainConfig(**setting)


def test_resolving_leaves_no_auto_and_round_trips():
    config = resolve(TrainConfig(), Extent(94_095, 11_561_909, 1000))
    left = {name for name, value in config.as_dict().items() if value == "auto"}
    assert left == {"evaluate_every", "checkpoint_every", "anneal_updates", "start_documents"}
    assert Resolved.from_dict(config.as_dict()) == config
    assert resolve(config, Extent(94_095, 11_561_909, 1000)) == config


def test_unknown_settings_are_named():
    with pytest.raises(UsageError, match="'topic'"):
        TrainConfig.from_dict({"topic": 5})


def test_more_topics_than_the_corpus_can_bear():
    with pytest.raises(UsageError, match="can bear: use at most 10"):
        resolve(TrainConfig(topics=11), Extent(20, 100, 1000))


@pytest.mark.parametrize(
    ("n_docs", "n_tokens", "topics"),
    [(3, 25, 2), (3, 150, 15), (3, 1_000, 20), (5_000, 50_000, 50), (10_000, 60_000, 100)],
)
def test_how_many_topics_there_are_unless_told(n_docs, n_tokens, topics):
    assert resolve(TrainConfig(), Extent(n_docs, n_tokens, 40)).topics == topics


@pytest.mark.parametrize(("name", "text"), [("alpha.json", "[0.1]"), ("alpha.txt", "0.1\n")])
def test_a_file_of_one_number_is_that_of_every_topic(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert read_alpha(str(tmp_path / name)) == 0.1


def test_the_greatest_weight_of_a_seed_is_said():
    with pytest.raises(UsageError, match="the weight 10000000.0 is no .* 0 and up to 1,000,000;"):
        TrainConfig(seeds={"sea": [["fish", 1e7]]})


@pytest.mark.parametrize(("workers", "chains", "updates"), [(1, 1, 200), (4, 4, 50), (4, 2, 100)])
def test_epochs_become_updates(workers, chains, updates):
    """All chains together visit so many documents, whatever their number."""
    config = resolve(
        TrainConfig(sampler="scir", epochs=2, batch_size=10, workers=workers, chains=chains),
        Extent(1000, 100_000, 1000),
    )
    assert expected_updates(config, 1000) == updates


def test_an_annealed_start_ends_after_the_same_documents():
    """Whether one chain sees them, or the chains of one group do."""

    def documents(workers, groups):
        config = resolve(
            TrainConfig(workers=workers, groups=groups, batch_size=10, time_budget=60.0),
            Extent(1000, 100_000, 1000),
        )
        return config.anneal_updates * config.batch_size * workers / groups

    assert documents(1, 1) == documents(4, 1) == documents(4, 2) == documents(4, 4)


def test_a_batch_fits_into_a_workers_share():
    config = resolve(TrainConfig(batch_size=500, workers=4), Extent(1000, 100_000, 1000))
    assert config.batch_size == 250


@pytest.mark.parametrize(
    ("name", "value", "most"),
    [
        ("epochs", 1e308, "1e+18"),
        ("epochs", float("inf"), "1e+18"),
        ("updates", 10**30, "1e+18"),
        ("time_budget", 1e300, "1e+18"),
    ],
)
def test_no_run_is_too_long_to_reckon_with(name, value, most):
    told = f"--{name.replace('_', '-')} {value} is out of range: it must be above 0 and at most"
    with pytest.raises(UsageError, match=re.escape(f"{told} {most}")):
        TrainConfig(**{name: value})
    for sampler in ("adlda", "scir"):
        longest = TrainConfig(topics=5, sampler=sampler, **{name: int(float(most))})
        resolve(longest, Extent(1000, 100_000, 1000))


@pytest.mark.parametrize("name", ["step_size", "step_offset"])
def test_no_setting_is_infinite(name):
    with pytest.raises(UsageError, match=f"--{name.replace('_', '-')} inf is out of range.*finite"):
        TrainConfig(**{name: float("inf")})
    with pytest.raises(UsageError, match=f"--{name.replace('_', '-')} 10+ is out of range"):
        TrainConfig(**{name: 10**400})  # which TOML and JSON have


def test_a_file_may_name_the_run_to_go_on_from(tmp_path):
    """By the name of the option, ``--from``."""
    file, run = tmp_path / "settings.toml", tmp_path.resolve() / "first"
    file.write_text(f'from = "{run}"\ntopics = 3\n')
    assert settings_of({}, file) == {"from_run": str(run), "topics": 3}


def test_seeds_in_a_file_are_those_of_the_run_that_it_made(tmp_path):
    """So that the same command goes on with it."""
    file = tmp_path / "settings.toml"
    file.write_text('[seeds]\nsport = ["match", ["team", 2]]\n')
    settings = settings_of({}, file)
    assert settings["seeds"] == TrainConfig(**settings).seeds
