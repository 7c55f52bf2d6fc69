"""Ratings with the ids of their users and items, split into those to train on and those held out.

Rows are numbered in the order of a hash of their ids, so that consecutive rows are a random sample.
Whether a rating is held out is a hash of its two ids: it does not depend on the seed of the run, on
the order of the file, or on what other ratings there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from topicmc.corpora.pipes import readable
from topicmc.corpora.strings import Strings
from topicmc.errors import DataError
from topicmc.kernels.factors import pair_uniforms
from topicmc.kernels.random import stream_key
from topicmc.models.factors.rating_columns import Columns
from topicmc.models.factors.rating_files import Table, read_ratings
from topicmc.models.factors.ratings import Ratings, Scale


@dataclass(frozen=True)
class RatingData:
    """All that a run knows of its ratings.

    ratings            as they were read
    heldout            bool (N,)
    user_ids, item_ids in the order of the rows
    scale              of the ratings that are trained on
    """

    ratings: Ratings
    heldout: np.ndarray
    user_ids: Strings
    item_ids: Strings
    scale: Scale

    @classmethod
    def of(
        cls, table: Table, heldout: float, low: float | None = None, high: float | None = None
    ) -> RatingData:
        """A table of ratings, of which about the fraction `heldout` is held out. DataError when
        nothing is left to train on."""
        users, user_ids, user_hashes = _numbered(table.users, table.user_ids)
        items, item_ids, item_hashes = _numbered(table.items, table.item_ids)
        ratings = Ratings(users, items, table.values, len(user_ids), len(item_ids))
        uniforms = np.empty(len(ratings))
        pair_uniforms(stream_key(0, "heldout"), user_hashes, item_hashes, users, items, uniforms)
        out = uniforms < heldout
        if out.all():
            raise DataError(
                f"{table.source}: of {len(out)} ratings none is left to train on; lower --heldout"
            )
        scale = Scale.of(table.values[~out], low, high)
        return cls(ratings, out, user_ids, item_ids, scale)

    @property
    def training(self) -> Ratings:
        """The ratings to train on, standardised."""
        kept = self.ratings.take(~self.heldout)
        values = self.scale.standardised(kept.values)
        return Ratings(kept.users, kept.items, values, kept.n_users, kept.n_items)

    @property
    def testing(self) -> Ratings:
        """The held-out ratings, as they were read, of users and items as `trained` has them."""
        found = self.ratings.take(self.heldout)
        users, items = self.trained(found.users, found.items)
        return replace(found, users=users, items=items)

    def trained(self, users: np.ndarray, items: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows of users and of items, int (n,), with −1 in place of those of which no rating is
        trained on: nothing is known of them but their prior."""
        of, kept = self.ratings, ~self.heldout
        n_of_users = np.bincount(of.users[kept], minlength=of.n_users)
        n_of_items = np.bincount(of.items[kept], minlength=of.n_items)
        return (
            np.where((users >= 0) & (n_of_users[users] > 0), users, -1),
            np.where((items >= 0) & (n_of_items[items] > 0), items, -1),
        )


@dataclass(frozen=True)
class RatingFile:
    """A file of ratings, and how it is read.

    path                            the file
    columns, delimiter, duplicates  as of `read_ratings`
    scale                           the least and the greatest rating there can be; None: as found
    heldout                         the fraction of the ratings that is held out
    """

    path: Path
    columns: Columns = Columns()  # noqa: RUF009, a tuple
    delimiter: str | None = None
    duplicates: str = "refuse"
    scale: tuple[float, float] | None = None
    heldout: float = 0.1

    def read(self) -> tuple[RatingData, dict[str, Any]]:
        """The ratings, and what ``run.json`` says of the file; errors as of `read_ratings` and
        `RatingData.of`."""
        low, high = self.scale or (None, None)
        with readable([self.path]) as sources:
            table = read_ratings(
                sources[0], self.columns, delimiter=self.delimiter, duplicates=self.duplicates,
                low=low, high=high,
            )  # fmt: skip
        about = {
            "path": str(self.path.resolve()),
            "columns": list(filter(None, table.columns)),
            "scale_given": self.scale is not None,
        }
        return RatingData.of(table, self.heldout, low, high), about


def _numbered(numbers: np.ndarray, ids: Sequence[str]) -> tuple[np.ndarray, Strings, np.ndarray]:
    """Rows renumbered in the order of the hashes of their ids; and ids and hashes, uint64, in that
    order."""
    hashes = np.array([_hash(id) for id in ids], np.uint64)
    order = np.argsort(hashes, kind="stable")
    rank = np.empty(len(ids), np.int32)
    rank[order] = np.arange(len(ids), dtype=np.int32)
    return rank[numbers], Strings.of(ids[i] for i in order), hashes[order]


def _hash(id: str) -> int:
    return int.from_bytes(blake2b(id.encode("utf-8", "surrogatepass"), digest_size=8).digest())
