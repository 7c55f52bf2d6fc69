"""Settings of ``topicmc train``, from its options and the file of ``--config``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from topicmc.cli.training import check_length
from topicmc.errors import UsageError
from topicmc.models.lda.settings import TrainConfig
from topicmc.models.mixture.settings import MixtureConfig
from topicmc.settings.values import AUTO, MAX_WORKERS, parse_duration


def settings_of(
    given: dict[str, Any],
    config_file: Path | None,
    check: Callable[[dict[str, Any]], None] | None = None,
) -> dict[str, Any]:
    """Options over the config file; names of options that were not given are absent. ``check``
    raises UsageError for those that cannot be [of LDA]."""
    check = check or _check
    settings = _from_toml(config_file, check) if config_file is not None else {}
    settings.update({name: value for name, value in given.items() if value is not None})
    settings = _converted(settings)
    check_length(settings)
    check(settings)
    return settings


def _check(settings: dict[str, Any]) -> None:
    """UsageError for a setting that no number of workers bears: mpiexec may know theirs better."""
    TrainConfig.from_dict({"workers": MAX_WORKERS, **settings})


def _from_toml(path: Path, check: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    import tomllib

    from topicmc.errors import DataError

    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path}: not a TOML file ({error})") from None
    settings = {_field(name): value for name, value in settings.items()}
    both = (*fields(MixtureConfig), *fields(TrainConfig))
    kinds = {field.name: str(field.type) for field in both}
    for name, value in settings.items():
        if name not in kinds:
            raise UsageError(f"{path}: unknown setting {name!r}; see topicmc train --help")
        has_file = name in ("alpha", "seeds")
        told_later = has_file or "str" in kinds[name] or "bool" in kinds[name]
        text_is_fine = told_later or name == "time_budget" or value == AUTO
        if isinstance(value, str) and not text_is_fine:
            raise UsageError(f"{path}: {name} = {value!r} is not a number")
    try:
        check(_converted(settings))
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    return settings


def _field(name: str) -> str:
    """What a setting is called that has the name of an option; from is a word of Python."""
    return "from_run" if name == "from" else name.replace("-", "_")


def _converted(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings as they are kept: the time budget in seconds, the intervals as text, places from
    the root, and what files hold of seeds and α."""
    from topicmc.models.lda.priors.given import read_alpha
    from topicmc.models.lda.priors.seed_files import read_seeds
    from topicmc.models.lda.priors.seed_settings import checked_seeds
    from topicmc.storage.files import real_path

    settings = dict(settings)
    for name, option in (("from_run", "--from"), ("topic_prior", "--topic-prior")):
        if isinstance(settings.get(name), str | Path):
            if "\0" in str(settings[name]):
                raise UsageError(f"{option}: holds a character that no path can; mend it")
            settings[name] = str(real_path(Path(settings[name])))
    if isinstance(settings.get("seeds"), str | Path):
        settings["seeds"] = read_seeds(Path(settings["seeds"]))
    elif isinstance(settings.get("seeds"), dict):  # as runs have them, so that they are the same
        settings["seeds"] = checked_seeds(settings["seeds"])
    if isinstance(settings.get("alpha"), str) and settings["alpha"] != AUTO:
        settings["alpha"] = read_alpha(settings["alpha"])
    if "time_budget" in settings:
        settings["time_budget"] = parse_duration(settings["time_budget"], "--time-budget")
    for name in ("evaluate_every", "checkpoint_every"):
        if name in settings:
            settings[name] = str(settings[name])
    return settings
