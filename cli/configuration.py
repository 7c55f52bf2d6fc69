"""Settings of ``topicmc train``, from its options and the file of ``--config``."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import fields
from pathlib import Path
from typing import Any

from topicmc.cli.training import check_length
from topicmc.errors import DataError, UsageError
from topicmc.models.lda.settings import TrainConfig
from topicmc.models.mixture.settings import MixtureConfig
from topicmc.settings.groups import LENGTHS
from topicmc.settings.values import AUTO, MAX_WORKERS, option, parse_duration
from topicmc.storage.files import read_text, real_path

_COMMAND_ONLY = (
    "output", "model", "transport", "slow", "resume", "force", "progress", "dry_run", "json",
    "config",
)  # fmt: skip


def settings_of(
    given: dict[str, Any],
    config_file: Path | None,
    check: Callable[[dict[str, Any]], None] | None = None,
) -> dict[str, Any]:
    """Options over the config file, and a length over all lengths of the file; names of options
    that were not given are absent. ``check`` raises UsageError for those that cannot be [of LDA].
    The error names the file, unless the options alone are refused for the same reason."""
    check = check or _check
    told = _converted({name: value for name, value in given.items() if value is not None})
    instead = {*told, *(() if told.keys().isdisjoint(LENGTHS) else LENGTHS)}
    kept = _from_toml(config_file, instead) if config_file is not None else {}
    settings = {**kept, **told}
    refusal = _refusal(settings, check)
    if refusal is not None:
        is_of_options = refusal == _refusal(told, check)
        raise UsageError(refusal if is_of_options else f"{config_file}: {refusal}")
    return settings


def _refusal(settings: dict[str, Any], check: Callable[[dict[str, Any]], None]) -> str | None:
    """Why settings cannot be; None where they can."""
    try:
        check_length(settings)
        check(settings)
    except UsageError as error:
        return str(error)
    return None


def _check(settings: dict[str, Any]) -> None:
    """UsageError for a setting that no number of workers bears: mpiexec may know theirs better."""
    TrainConfig.from_dict({"workers": MAX_WORKERS, **settings})


def _from_toml(path: Path, instead: Collection[str]) -> dict[str, Any]:
    """The settings of a file, but those that are told ``instead``."""
    import tomllib

    try:
        content = tomllib.loads(read_text(path, "--config"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"--config {path}: not a TOML file ({error})") from None
    known = {field.name for kind in (MixtureConfig, TrainConfig) for field in fields(kind)}
    settings: dict[str, Any] = {}
    for key, value in content.items():
        name = _field(key)
        if name in _COMMAND_ONLY:
            raise UsageError(
                f"{path}: {option(name)} is for the command line only; leave it out of the file"
            )
        if name not in known:
            raise UsageError(f"{path}: unknown setting {name!r}; see topicmc train --help")
        if name in settings:
            raise UsageError(f"{path}: {option(name)} is there in two spellings; keep one")
        settings[name] = value
    try:
        return _converted({name: value for name, value in settings.items() if name not in instead})
    except (DataError, UsageError) as error:
        raise type(error)(f"{path}: {error}") from None


def _field(name: str) -> str:
    """What a setting is called that has the name of an option; from is a word of Python."""
    return "from_run" if name == "from" else name.replace("-", "_")


def _converted(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings as they are kept: the time budget in seconds, the intervals as text, places from
    the root, and what files hold of seeds and α."""
    from topicmc.models.lda.priors.given import read_alpha
    from topicmc.models.lda.priors.seed_files import read_seeds
    from topicmc.models.lda.priors.seed_settings import checked_seeds

    settings = dict(settings)
    for name in ("from_run", "topic_prior"):
        if isinstance(settings.get(name), str | Path):
            if "\0" in str(settings[name]):
                raise UsageError(f"{option(name)}: holds a character that no path can; mend it")
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
