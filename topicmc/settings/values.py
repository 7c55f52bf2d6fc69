"""Values of settings: what they may be, and what stands for one that is left to the program."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from topicmc.errors import UsageError

AUTO: Any = "auto"  # in place of a value that will be decided
LEARN = ("none", "alpha", "beta", "both")
MAX_WORKERS = 100_000


@dataclass(frozen=True)
class Interval:
    """How often something happens: every so many training seconds, or every so many updates, or
    both."""

    seconds: float | None = None
    updates: int | None = None

    @classmethod
    def parse(cls, text: str | int | float, option: str = "interval") -> Interval:
        """``"10s"``, ``"5m"``, ``"2h"``: training time; ``"500"``: updates; else UsageError."""
        text = str(text).strip()
        if re.fullmatch(r"[0-9]{1,18}", text) and int(text) > 0:
            return cls(updates=int(text))
        return cls(seconds=parse_duration(text, option))


def parse_duration(text: str | int | float, option: str = "duration") -> float:
    """Seconds from ``"90s"``, ``"10m"``, ``"2h"``.  Raises UsageError naming the option."""
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(s|m|h)\s*", str(text))
    if not match or float(match[1]) <= 0:
        raise UsageError(f"{option}: {text!r} is not a duration; write for example 90s, 10m or 2h")
    return float(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2]]


def option(name: str) -> str:
    """The flag of a setting; ``from`` alone is no name in Python."""
    return "--from" if name == "from_run" else "--" + name.replace("_", "-")


def or_default(value: Any, default: Any) -> Any:
    """A setting, or its default where it was left to the program."""
    return default if value == AUTO else value


def learns(prior: str, learn: str) -> bool:
    """Whether a value of --learn has α ("alpha") or β ("beta") learned."""
    return learn in (prior, "both")


_KINDS: dict[str, tuple[type, str]] = {
    "int": (Integral, "a whole number"),
    "float": (Real, "a number"),
    "str": (str, "text"),
    "bool": (bool, "true or false"),
    "dict[str,": (Mapping, "an object"),
}


def of_type(name: str, value: Any, annotation: str, default: Any) -> None:
    """UsageError unless ``value`` is of the annotated type, or the default, as "auto" or None."""
    kind, wanted = _KINDS[annotation.partition(" ")[0]]
    is_default = value is None if default is None else isinstance(value, str) and value == default
    truth = isinstance(value, bool) and kind is not bool
    if not is_default and (truth or not isinstance(value, kind)):
        raise UsageError(f"{name} {value!r} is not {wanted}")


def one_of(name: str, value: str, choices: tuple[str, ...]) -> None:
    """UsageError unless the value is one of the choices; ``name`` is the option."""
    if value not in choices:
        raise UsageError(f"{name} {value!r} is not one of {', '.join(choices)}")


def in_range(
    name: str, value: Any, low: float, high: float, why: str = "", exclusive: bool = False
) -> None:
    """UsageError unless the value is left open, or a number within the bounds; ``why`` is told."""
    if value == AUTO:
        return
    too_low, is_finite = value <= low if exclusive else value < low, _is_finite(value)
    if too_low or value > high or not is_finite:
        bound = f"above {low:g}" if exclusive else f"at least {low:g}"
        if high != float("inf"):
            bound += f" and at most {high:g}"
        elif not is_finite:
            bound += " and finite"
        reason = f" ({why})" if why else ""
        raise UsageError(f"{name} {value} is out of range: it must be {bound}{reason}")


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number of some hundred digits
        return False
