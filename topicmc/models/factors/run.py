"""The run directory of matrix factorisation: that of any model, and

    ratings.npz    the ratings with the ids of users and items, and which are held out

A kept state is the arrays users, items, user_precision, item_precision and tau
(`topicmc.models.factors.rows.Factors`). A run needs no other file: neither to go on nor to predict.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from topicmc.corpora.strings import Strings
from topicmc.engine.progress import Reached, ended_converged, last_evaluation, reached
from topicmc.errors import DataError
from topicmc.models.factors.data import RatingData
from topicmc.models.factors.ratings import Ratings, Scale
from topicmc.models.factors.rows import Factors
from topicmc.models.factors.settings import Resolved
from topicmc.storage.arrays import read_arrays, write_arrays
from topicmc.storage.fields import SHA256, Record
from topicmc.storage.run_fields import settings_in
from topicmc.storage.runs import RunDirectory

_RATINGS = "ratings.npz"
_PRECISIONS = ("user_precision", "item_precision", "tau")
_ARRAYS = ("users", "items", *_PRECISIONS)
_LEAST = 1e-300  # of what is divided by


class FactorRun(RunDirectory):
    """A run of matrix factorisation on disk.  Open one with `create` or `open`."""

    model: ClassVar[str | None] = "factors"
    command: ClassVar[str] = "topicmc factors"
    counted: ClassVar[tuple[str, ...]] = ("ratings",)
    figure: ClassVar[str] = "rmse"
    precision: ClassVar[str] = ".4f"
    files: ClassVar[tuple[str, ...]] = (*RunDirectory.files, _RATINGS)

    @classmethod
    def create(
        cls, path: Path, facts: Mapping[str, Any], data: RatingData, force: bool = False
    ) -> Self:
        """A new run directory with its ratings. UsageError as `check_free` has it."""
        with cls._made(path, force) as run:
            ratings, scale = data.ratings, data.scale
            checksum = write_arrays(
                run.path / _RATINGS,
                {
                    "users": ratings.users,
                    "items": ratings.items,
                    "values": ratings.values,
                    "heldout": data.heldout,
                    "user_ids": data.user_ids.text,
                    "user_offsets": data.user_ids.offsets,
                    "item_ids": data.item_ids.text,
                    "item_offsets": data.item_ids.offsets,
                },
            )
            about = {
                "checksum": checksum,
                "users": ratings.n_users,
                "items": ratings.n_items,
                "training": int((~data.heldout).sum()),
                "heldout": int(data.heldout.sum()),
                "mean": scale.mean,
                "deviation": scale.deviation,
                "low": scale.low,
                "high": scale.high,
            }
            run._write_facts({**facts, "ratings": {**facts.get("ratings", {}), **about}})
        return run

    def _check_facts(self, path: Path, facts: Any) -> None:
        super()._check_facts(path, facts)
        about = Record(path, facts).record("ratings")
        about.text("checksum", SHA256)
        for name in ("users", "items", "training"):
            about.whole(name, least=1, most=2**31 - 1)
        about.whole("heldout", most=2**31 - 1)
        for name in ("mean", "low", "high"):
            about.number(name)
        about.number("deviation", least=_LEAST)
        if "scale_given" in about:
            about.flag("scale_given")
        settings_in(path, facts, Resolved)

    def config(self) -> Resolved:
        """The settings of the run; DataError when they are none."""
        return settings_in(self.path / "run.json", self.facts(), Resolved)

    def reached(self) -> Reached | None:
        """How far the run has come; None where it never said."""
        last = last_evaluation(self)
        if last is None:
            return None
        config = self.config()
        epoch = self.facts()["ratings"]["training"] * config.chains
        if "epochs" in last:  # passes of each chain: others may have been given up since
            last = {**last, "ratings": last["epochs"] * epoch}
        at, update = reached(self, last, config, epoch), last["update"]
        of_start = update / config.start(update / (last.get("epochs") or math.inf))
        return at._replace(of_start=of_start, has_converged=ended_converged(self, config))

    def scale(self) -> Scale:
        """The scale of the ratings."""
        about = self.facts()["ratings"]
        return Scale(*(float(about[name]) for name in ("mean", "deviation", "low", "high")))

    def has_given_scale(self) -> bool:
        """Whether the least and the greatest rating were given, and not found. Runs of earlier
        versions do not say, and count as if they were not."""
        return self.facts()["ratings"].get("scale_given", False)

    def data(self) -> RatingData:
        """The ratings; DataError when the file is missing or damaged, or cannot be."""
        path, about = self.path / _RATINGS, self.facts()["ratings"]
        stored = read_arrays(path, about["checksum"])
        n, sizes = about["training"] + about["heldout"], (about["users"], about["items"])
        try:
            users, items = (_array(stored, name, np.int32, n) for name in ("users", "items"))
            for numbers, size in zip((users, items), sizes, strict=True):
                if len(numbers) and not 0 <= numbers.min() <= numbers.max() < size:
                    raise ValueError(f"a number beyond {size}")
            values = _array(stored, "values", np.float32, n)
            heldout = _array(stored, "heldout", np.bool_, n)
            user_ids = _ids(stored, "user", sizes[0])
            item_ids = _ids(stored, "item", sizes[1])
            if heldout.sum() != about["heldout"] or not np.isfinite(values).all():
                raise ValueError("its numbers are not those of run.json")
        except (KeyError, ValueError) as error:
            raise DataError(f"{path}: holds no ratings ({error}); restore it") from None
        ratings = Ratings(users, items, values, *sizes)
        return RatingData(ratings, heldout, user_ids, item_ids, self.scale())

    def read_sample(self, entry: Mapping[str, Any]) -> Factors:
        """The state of one index entry; DataError when it is missing, damaged or none of this
        run."""
        path, about = self.place_of_sample(entry), self.facts()["ratings"]
        width = self.facts()["config"]["factors"] + 1
        shapes = ((about["users"], width), (about["items"], width), (width,), (width,), ())
        stored = read_arrays(path, entry["checksum"])
        dtypes = (np.float32, np.float32, np.float64, np.float64, np.float64)
        for name, shape, dtype in zip(_ARRAYS, shapes, dtypes, strict=True):
            found = stored.get(name)
            if found is None or found.shape != shape or found.dtype != dtype:
                raise DataError(f"{path}: {name} is missing or is not {shape}; remake the run")
            if not np.isfinite(found).all():
                raise DataError(f"{path}: {name} holds what is no number; remake the run")
            if name in _PRECISIONS and (found < _LEAST).any():
                raise DataError(f"{path}: {name} holds what is no precision; remake the run")
        users, items, user_precision, item_precision, tau = (stored[name] for name in _ARRAYS)
        return Factors(entry["chain"], users, items, user_precision, item_precision, float(tau))

    def write_state(self, state: Factors, round_number: int) -> dict[str, Any]:
        """Writes the state of a chain; its index entry."""
        arrays = {name: np.asarray(getattr(state, name)) for name in _ARRAYS}
        return self.write_sample(state.index, round_number, arrays)


def _array(stored: Mapping[str, np.ndarray], name: str, dtype: Any, size: int) -> np.ndarray:
    found = stored[name]
    if found.shape != (size,) or found.dtype != dtype:
        raise ValueError(f"{name} is {found.dtype} {found.shape}")
    return found


def _ids(stored: Mapping[str, np.ndarray], side: str, size: int) -> Strings:
    offsets = _array(stored, f"{side}_offsets", np.int64, size + 1)
    text = _array(stored, f"{side}_ids", np.uint8, int(offsets[-1]))
    if offsets[0] != 0 or (offsets[1:] < offsets[:-1]).any():  # differences may wrap
        raise ValueError(f"{side}_offsets do not rise")
    text.tobytes().decode()  # ValueError unless it is text
    if (text[offsets[:-1][np.diff(offsets) > 0]] & 0xC0 == 0x80).any():
        raise ValueError(f"{side}_offsets lie inside characters")
    return Strings(text, offsets)
