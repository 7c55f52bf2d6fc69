"""``--config``: what the command line says takes the place of what the file says, before either is
judged."""

from dataclasses import fields
from pathlib import Path

import click
import pytest

from topicmc.cli.configuration import _COMMAND_ONLY, settings_of
from topicmc.cli.train import train
from topicmc.errors import TopicmcError
from topicmc.models.lda.settings import TrainConfig
from topicmc.models.mixture.settings import MixtureConfig


@pytest.fixture
def file(tmp_path, monkeypatch) -> Path:
    """The config file; seeds lie beside it."""
    monkeypatch.chdir(tmp_path)
    Path("seeds.toml").write_text('sport = ["match"]\n')
    return tmp_path / "settings.toml"


@pytest.mark.parametrize(
    ("content", "given"),
    [
        ("seed-weight = 5", {"seeds": "seeds.toml"}),
        ('seeds = "gone.toml"', {"seeds": "seeds.toml"}),
        ('start = "warm"', {"from_run": "run"}),
        ('sampler = "adlda"\nestimate = "cv"', {"sampler": "scir"}),
        ("topics = 10\nalpha = [1, 1, 1, 1, 1]", {"topics": 5}),
        ("sweeps = 5\nburn-in = 5", {"sweeps": 10}),
        ("topics = 1", {"topics": 5}),
        ('topics = "many"', {"topics": 5}),
    ],
)
def test_what_both_can_be_together_is_taken(file, content, given):
    file.write_text(content)
    settings = settings_of(given, file)
    assert settings_of(given, None).items() <= settings.items()
    assert TrainConfig(**settings)


def test_a_length_takes_the_place_of_all_lengths_of_the_file(file):
    file.write_text('updates = 100\ntime-budget = "10m"\nsamples = 5\n')
    assert settings_of({"epochs": 5.0}, file) == {"epochs": 5.0, "samples": 5}


@pytest.mark.parametrize(
    ("content", "given", "told"),
    [
        ("burn-in = 5", {"sweeps": 3}, "settings.toml: --burn-in 5 leaves none"),
        ('seeds = "gone.toml"', {}, "settings.toml: --seeds gone.toml: no such file"),
        ("topics = 5", {"topics": 1}, "^--topics 1 is out of range"),
        ("samples = 5", {"updates": 5, "epochs": 2.0}, "^--updates and --epochs both say"),
        (
            "updates = 5\nepochs = 2",
            {"topics": 5},
            "settings.toml: --updates and --epochs both say",
        ),
    ],
)
def test_the_file_is_named_where_it_is_to_blame(file, content, given, told):
    file.write_text(content)
    with pytest.raises(TopicmcError, match=told):
        settings_of(given, file)


def test_every_option_of_training_is_a_setting_or_known_to_be_none():
    flags = {flag for o in train.params if isinstance(o, click.Option) for flag in o.opts}
    names = {flag[2:].replace("-", "_") for flag in flags if flag.startswith("--")}
    settings = {field.name for kind in (TrainConfig, MixtureConfig) for field in fields(kind)}
    assert names - settings - {"from"} == set(_COMMAND_ONLY)
